//! A preview: the responses that a correct server may give to each kind of request, found by simulating the model.
//!
//! They are the branches that a run reports as reached or not. A branch that the preview misses is not counted; it changes no verdict.

use confute::lang::ServerModel;
use confute::network::Tcp;
use confute::random::Random;
use confute::simulate::Simulation;
use confute::trace::Event;
use confute_drive::{Exchange, Peer};

use super::{Draw, Mix, references};
use crate::message::Message;

/// Number of simulated requests.
const REQUESTS: usize = 1_000;
/// Number of simulated servers: choices that a model leaves open differ between them.
const SERVERS: u64 = 4;
/// Number of moves in which a simulated server answers, or never will.
const MOVES: usize = 64;
/// Number of requests without a new branch after which a simulated server has shown what it does. A state that grows with every
/// request, such as a list of objects, makes each one slower than the one before.
const QUIET: usize = 60;

impl<M: Message> Mix<M> {
    /// Returns the kinds of requests with the kinds of responses that a correct server may give, as indexes. Empty if the model
    /// cannot be simulated: a mistake in it is reported with its place once requests are judged.
    pub(crate) fn branches<S: ServerModel<Msg = M>>(&self, model: &S) -> Vec<(usize, usize)> {
        let mut branches = Vec::new();
        for seed in 0..SERVERS {
            self.simulate(model, seed, &mut branches);
        }
        branches.sort_unstable();
        branches
    }

    fn simulate<S: ServerModel<Msg = M>>(
        &self,
        model: &S,
        seed: u64,
        branches: &mut Vec<(usize, usize)>,
    ) -> Option<()> {
        let network = Tcp { breaks: false };
        let mut server = Simulation::new(model, &network, seed);
        let on = server.open();
        let mut random = Random::new(seed);
        let (mut past, mut marks) = (Vec::<Exchange<M, M>>::new(), 0);
        let mut quiet = 0;
        for step in 0..REQUESTS / SERVERS as usize {
            let mut pick = |bound| random.below(bound);
            let mut draw = Draw::new(&mut pick, self.names, None, marks);
            let mut ask = self.draw(&mut draw);
            marks = draw.marks();
            references::choose(&mut ask, self.weights, &past, &mut pick);
            let Some(request) = references::resolved(&ask, "preview", &past) else { continue };
            server.send(on, request.clone()).ok()?;
            let mut replies = Vec::new();
            for _ in 0..MOVES {
                if let Some(Event::Received(_, message)) = server.step().ok()? {
                    let branch = (request.kind(), message.kind());
                    if !branches.contains(&branch) {
                        branches.push(branch);
                        quiet = 0;
                    }
                    replies.push(message);
                }
                if server.is_idle() && !replies.is_empty() {
                    break;
                }
            }
            quiet += 1;
            let is_out_of_step = replies.is_empty() && !server.is_idle();
            if is_out_of_step || quiet > QUIET {
                // A response that comes later would be taken for that to the next request.
                break;
            }
            past.push(Exchange { step, on: Peer::Opened(0), ask, request, replies });
        }
        Some(())
    }
}
