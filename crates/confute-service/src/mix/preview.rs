//! A preview: the responses that a correct server may give to each kind of request, found by simulating the model.
//!
//! They are the branches that a run reports as reached or not. A branch that the preview misses is not counted; it changes no verdict. It also
//! shows which requests wait, and which others wake them.

use confute::lang::ServerModel;
use confute::network::Tcp;
use confute::random::Random;
use confute::simulate::Simulation;
use confute::trace::{Event, WireConn};
use confute_drive::{Exchange, Peer};

use super::waiting::Waiting;
use super::{Draw, Mix, references};
use crate::message::{Message, Role, kind_of};

/// Number of simulated requests.
const REQUESTS: usize = 1_000;
/// Number of simulated servers: choices that a model leaves open differ between them.
const SERVERS: u64 = 4;
/// Number of moves in which a simulated server answers, or never will.
const MOVES: usize = 64;
/// Number of requests without a new branch after which a simulated server has shown what it does. A state that grows with every
/// request, such as a list of objects, makes each one slower than the one before.
const QUIET: usize = 60;

/// Number of requests that a simulated server may leave waiting.
const MOST_PARKED: usize = 3;

/// What the simulated servers have shown.
#[derive(Default)]
pub(crate) struct Preview {
    /// Kinds of requests with the kinds of their responses, as indexes.
    pub(crate) branches: Vec<(usize, usize)>,
    waiting: Waiting,
}

impl Preview {
    /// Notes a response. Returns `true` if it is new.
    fn answered(&mut self, request: usize, response: usize) -> bool {
        let branch = (request, response);
        let is_new = !self.branches.contains(&branch);
        self.branches.extend(is_new.then_some(branch));
        is_new
    }
}

impl<M: Message> Mix<M> {
    /// Returns what a correct server may do with these requests. Empty if the model cannot be simulated: a mistake in it is reported
    /// with its place once requests are judged.
    pub(crate) fn preview<S: ServerModel<Msg = M>>(&self, model: &S) -> Preview {
        let mut preview = Preview::default();
        for seed in 0..SERVERS {
            self.simulate(model, seed, &mut preview);
        }
        preview.branches.sort_unstable();
        preview
    }

    /// Returns the traffic with the knowledge of which requests wait, and which wake them.
    #[must_use]
    pub(crate) fn knowing(mut self, preview: &Preview) -> Self {
        self.waiting = preview.waiting.clone();
        self
    }

    fn simulate<S: ServerModel<Msg = M>>(&self, model: &S, seed: u64, preview: &mut Preview) -> Option<()> {
        let network = Tcp { breaks: false };
        let mut server = Simulation::new(model, &network, seed);
        let mut on = server.open();
        let mut random = Random::new(seed);
        let (mut past, mut marks) = (Vec::<Exchange<M, M>>::new(), 0);
        // Connections with the kinds of the requests that wait there.
        let mut parked: Vec<(WireConn, usize)> = Vec::new();
        let mut quiet = 0;
        for step in 0..REQUESTS / SERVERS as usize {
            let mut pick = |bound| random.below(bound);
            let mut draw = Draw::new(&mut pick, self.names, None, marks);
            let (place, mut ask) = self.draw_with_place(&mut draw);
            marks = draw.marks();
            if kind_of(&ask).waits && parked.len() >= MOST_PARKED {
                continue;
            }
            references::choose(&mut ask, self.weights, &past, &mut pick);
            let Some(request) = references::resolved(&ask, "preview", &past) else { continue };
            let kind = request.kind();
            server.send(on, request.clone()).ok()?;
            let mut replies = Vec::new();
            for _ in 0..MOVES {
                if let Some(Event::Received(from, message)) = server.step().ok()? {
                    let waiting = parked.iter().position(|(wire, _)| *wire == from);
                    let is_new = match waiting {
                        _ if kind_of(&message).role == Role::Push => false,
                        Some(waiting) => {
                            let (_, waiting) = parked.swap_remove(waiting);
                            preview.waiting.wakes(waiting, (place, kind))
                                | preview.answered(waiting, message.kind())
                        }
                        None => {
                            replies.push(message);
                            preview.answered(kind, replies[replies.len() - 1].kind())
                        }
                    };
                    quiet = if is_new { 0 } else { quiet };
                }
                if server.is_idle() && !replies.is_empty() {
                    break;
                }
            }
            quiet += 1;
            if replies.is_empty() && kind_of(&request).waits {
                // What comes next is sent on another connection.
                quiet = if preview.waiting.waits((place, kind)) { 0 } else { quiet };
                parked.push((on, kind));
                on = server.open();
            } else if (replies.is_empty() && !server.is_idle()) || quiet > QUIET {
                // A response that comes later would be taken for that to the next request.
                break;
            }
            past.push(Exchange { step, on: Peer::Opened(0), ask, request, replies });
        }
        Some(())
    }
}
