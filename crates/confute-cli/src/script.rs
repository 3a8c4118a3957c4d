//! What clients do, apart from what a server made of it: so that it can be done again, with less.
//!
//! A tag in a request is the server's, and may be another one the next time; a script therefore says "the tag of that
//! answer". Shrinking leaves out requests and conditions, runs the rest again, and keeps what is still refuted for the same reason:
//! the result is something that really happened.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use confute::lang::Mistake;
use confute::network::Tcp;
use confute::simulate::Simulation;
use confute::trace::{Event, WireConn};
use confute_models::conditional::{Conditional, Message, Tag};

/// How many moves of the simulated world to wait for an answer.
const PATIENCE: usize = 10_000;

pub(crate) type Events = Vec<Event<Message>>;

#[derive(Clone, Debug)]
pub(crate) struct Script {
    requests: Vec<Request>,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Request {
    conn: WireConn,
    message: Message,
    /// The request whose answer brought the tag that this one carries.
    tag_of: Option<usize>,
}

/// What clients do, by number of request.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send(usize),
    Await(usize),
}

impl Script {
    /// What the clients of this trace did.
    pub(crate) fn of(events: &Events) -> Self {
        let mut script = Script { requests: Vec::new(), steps: Vec::new() };
        let mut open: BTreeMap<WireConn, VecDeque<usize>> = BTreeMap::new();
        let mut origins: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        for event in events {
            match event {
                Event::Sent(conn, message) => {
                    let number = script.requests.len();
                    let tag_of = tag(message).and_then(|tag| origins.get(&tag.opaque).copied());
                    script.requests.push(Request { conn: *conn, message: message.clone(), tag_of });
                    script.steps.push(Step::Send(number));
                    open.entry(*conn).or_default().push_back(number);
                }
                Event::Received(conn, message) => {
                    let Some(number) = open.entry(*conn).or_default().pop_front() else { continue };
                    script.steps.push(Step::Await(number));
                    if let Message::Ok { tag, .. } = message {
                        origins.entry(Arc::clone(&tag.opaque)).or_insert(number);
                    }
                }
                _ => {}
            }
        }
        script.name_bodies();
        script
    }

    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Bodies are opaque, and different: short ones read better.
    fn name_bodies(&mut self) {
        let puts = self.requests.iter_mut().filter_map(|request| match &mut request.message {
            Message::Put { body, .. } => Some(body),
            _ => None,
        });
        for (number, body) in puts.enumerate() {
            let letter = char::from(b'a' + (number % 26) as u8);
            let again = number / 26;
            *body = if again == 0 { letter.to_string() } else { format!("{letter}{again}") }.into();
        }
    }

    /// The same without this request.
    fn without(&self, gone: usize) -> Self {
        let shift = |number: usize| number - usize::from(number > gone);
        let stays = |step: &Step| {
            let (Step::Send(number) | Step::Await(number)) = step;
            *number != gone
        };
        let mut requests = self.requests.clone();
        requests.remove(gone);
        for request in &mut requests {
            request.tag_of = request.tag_of.filter(|origin| *origin != gone).map(shift);
        }
        let steps = self.steps.iter().filter(|step| stays(step)).map(|step| match *step {
            Step::Send(number) => Step::Send(shift(number)),
            Step::Await(number) => Step::Await(shift(number)),
        });
        let mut less = Script { requests, steps: steps.collect() };
        less.name_bodies();
        less
    }

    /// Does it all again with a simulated server that always breaks this rule.
    pub(crate) fn run(&self, rule: &str, seed: u64) -> Result<Events, Mistake> {
        let network = Tcp::default();
        let mut simulation = Simulation::new(&Conditional, &network, seed).deviating(&[rule], 1);
        let (mut events, mut wires) = (Vec::new(), BTreeMap::new());
        // By connection, the requests under way; by request, the tag that came.
        let mut open: BTreeMap<WireConn, VecDeque<usize>> = BTreeMap::new();
        let mut answered: BTreeMap<usize, Option<Tag>> = BTreeMap::new();
        for step in &self.steps {
            let (Step::Send(number) | Step::Await(number)) = *step;
            let Request { conn, message, tag_of } = &self.requests[number];
            let wire = *wires.entry(*conn).or_insert_with(|| {
                let wire = simulation.open();
                events.push(Event::Opened(wire));
                wire
            });
            if let Step::Send(_) = step {
                let current = tag_of.and_then(|origin| answered.get(&origin).cloned().flatten());
                let message = with_tag(message, current);
                events.push(Event::Sent(wire, message.clone()));
                open.entry(wire).or_default().push_back(number);
                simulation.send(wire, message)?;
                continue;
            }
            for _ in 0..PATIENCE {
                if answered.contains_key(&number) {
                    break;
                }
                let Some(event) = simulation.step()? else { continue };
                if let Event::Received(wire, message) = &event
                    && let Some(number) = open.entry(*wire).or_default().pop_front()
                {
                    answered.insert(number, answer_tag(message));
                }
                events.push(event);
            }
        }
        Ok(events)
    }

    /// The fewest requests found that still come to what is wanted, and what was seen when they were made.
    pub(crate) fn shrink(
        mut self,
        rule: &str,
        seed: u64,
        wanted: &dyn Fn(&Events) -> bool,
    ) -> Result<Option<(Self, Events)>, Mistake> {
        // The network is as random as ever: give each script a few chances.
        let attempt = |script: &Script| -> Result<Option<Events>, Mistake> {
            for chance in 0..4 {
                let events = script.run(rule, seed.wrapping_add(chance))?;
                if wanted(&events) {
                    return Ok(Some(events));
                }
            }
            Ok(None)
        };
        let Some(mut events) = attempt(&self)? else { return Ok(None) };
        // Until a round over all requests changes nothing.
        let (mut at, mut since_change) = (0, 0);
        while since_change < self.requests.len() {
            at %= self.requests.len();
            let mut simpler = None;
            for script in [Some(self.without(at)), self.unconditional(at)].into_iter().flatten() {
                if let Some(seen) = attempt(&script)? {
                    simpler = Some((script, seen));
                    break;
                }
            }
            if let Some((script, seen)) = simpler {
                (self, events, since_change) = (script, seen, 0);
            } else {
                at += 1;
                since_change += 1;
            }
        }
        Ok(Some((self, events)))
    }

    /// The same without the condition of this request, if it has one.
    fn unconditional(&self, at: usize) -> Option<Self> {
        let mut script = self.clone();
        let request = &mut script.requests[at];
        tag(&request.message)?;
        request.tag_of = None;
        match &mut request.message {
            Message::Get { if_none_match: held, .. } | Message::Put { if_match: held, .. } => *held = None,
            _ => {}
        }
        Some(script)
    }
}

fn tag(message: &Message) -> Option<&Tag> {
    match message {
        Message::Get { if_none_match, .. } => if_none_match.as_ref(),
        Message::Put { if_match, .. } => if_match.as_ref(),
        _ => None,
    }
}

fn answer_tag(message: &Message) -> Option<Tag> {
    match message {
        Message::Ok { tag, .. } => Some(tag.clone()),
        _ => None,
    }
}

/// The message with this tag in place of its own, as weak as before.
fn with_tag(message: &Message, current: Option<Tag>) -> Message {
    let mut message = message.clone();
    let (Message::Get { if_none_match: held, .. } | Message::Put { if_match: held, .. }) = &mut message
    else {
        return message;
    };
    if let (Some(held), Some(current)) = (held, current) {
        held.opaque = current.opaque;
    }
    message
}
