//! Expectations of the live hypotheses (the paper's Fig 12), for explanations and for generators.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::Engine;
use super::budget::Pulse;
use crate::derive::hypothesis::{Delivery, Hypothesis, Outgoing, Parcel};
use crate::derive::unify::Spot;
use crate::erased::Message;
use crate::lang::{Conn, Incoming, Rule};
use crate::trace::WireConn;
use crate::verdict::Expectation;

impl Engine<'_> {
    /// Returns what the hypotheses expect next on this connection, merged into classes; the number of hypotheses; and
    /// `true` if some were left out.
    pub fn expectations(&mut self, conn: WireConn) -> (Vec<Expectation>, usize, bool) {
        self.catch_up();
        let spot = self.spot(conn);
        let owner = self.whole.or_else(|| self.connections.get(&conn.0).and_then(|state| state.part));
        let Some(part) = owner.and_then(|part| self.parts[part].as_mut()) else {
            return (Vec::new(), 0, false);
        };
        let (hypotheses, mut more) = part.survey(&self.world, 100);
        let mut classes: BTreeMap<Class, usize> = BTreeMap::new();
        for hypothesis in &hypotheses {
            // With many relaxed rules each hypothesis takes long.
            let pulse = Pulse { event: self.events, turns: self.world.tally.runs.get(), open: 0, bytes: 0 };
            if !classes.is_empty() && self.meter.options.watch.is_some_and(|watch| watch(&pulse)) {
                more = true;
                break;
            }
            let name = match spot {
                Spot::Client(conn) => Some(conn),
                Spot::Accepted(wire) => hypothesis.bound(wire),
            };
            // A connection that the server opened, with nothing observed on it yet, may be any of those that it
            // opens.
            let prospects = part.prospects(&self.world, hypothesis, name, self.events);
            let mut said: BTreeSet<Class> = prospects.iter().filter_map(class_of).collect();
            if said.is_empty() {
                said.insert((None, Vec::new()));
            }
            for class in said {
                *classes.entry(class).or_default() += 1;
            }
        }
        let mut expected: Vec<_> = classes
            .into_iter()
            .map(|((message, rules), hypotheses)| Expectation { message, rules, hypotheses })
            .collect();
        // An expectation that a rule requires is more informative than one that is merely allowed.
        expected.sort_by_key(|one| one.rules.is_empty());
        (expected, hypotheses.len(), more)
    }

    /// Returns the number of different responses that the live hypotheses expect to this message, were it sent now on
    /// a connection of its own: if more than one, the response may distinguish them. A hypothesis that leaves a
    /// choice of the server open counts once for each choice on which the response depends; a response that is free
    /// anyway counts once. At most `most` hypotheses are considered. Returns 0 if the number is unknown: while
    /// responses are awaited, or if the message concerns cells that no message has touched yet.
    pub fn disagreement(&mut self, message: Rc<Message>, most: usize) -> usize {
        if !self.verdict.is_unrefuted() || self.lag() > 0 {
            return 0;
        }
        // Neither this connection nor this number will ever be used by a real message.
        let (conn, sent) = (Conn::client(u32::MAX), u32::MAX);
        let item = Incoming::Message(message);
        let foot = self.world.footprint(conn, &item, sent, None);
        if foot.lists || !foot.creates.is_empty() {
            // Its footprint depends on the response.
            return 0;
        }
        let homes: BTreeSet<_> = foot.cells.iter().map(|(cell, _)| self.part_of.get(cell).copied()).collect();
        let home = match self.whole {
            None if foot.whole || homes.len() != 1 => None,
            None => homes.into_iter().next().flatten(),
            whole => whole,
        };
        let Some(part) = home.and_then(|home| self.parts[home].as_mut()) else { return 0 };
        let lane = self.world.lane_in(conn, sent);
        let delivery =
            Rc::new(Delivery { lane, place: self.events, ..Delivery::new(sent, u32::MAX, item, foot) });
        let (hypotheses, _) = part.survey(&self.world, most);
        // Expectations by hypothesis, and by the facts that it would need about what is hidden now.
        let mut worlds: BTreeMap<_, BTreeSet<Class>> = BTreeMap::new();
        for (number, mut hypothesis) in hypotheses.into_iter().take(most).enumerate() {
            self.world.admit(&mut hypothesis, &delivery);
            for prospect in part.prospects(&self.world, &hypothesis, Some(conn), self.events) {
                let mut known = prospect.0.facts.clone();
                known.forget(&|var| hypothesis.facts.mentions(var));
                worlds.entry((number, known.fingerprint())).or_default().extend(class_of(&prospect));
            }
        }
        worlds.values().collect::<BTreeSet<_>>().len()
    }
}

/// An expected message, with the rules that it follows from.
type Class = (Option<String>, Vec<&'static str>);

fn class_of((then, head): &(Hypothesis, Outgoing)) -> Option<Class> {
    match &head.parcel {
        Parcel::Message(sent) => Some((Some(sent.describe(&then.facts)), names(&sent.by))),
        Parcel::Close => Some((Some("the connection closed".to_owned()), Vec::new())),
        Parcel::Verified => None,
    }
}

/// Returns the name of each rule once: a turn may consult the same rule repeatedly.
fn names(rules: &[&'static Rule]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for rule in rules {
        if !names.contains(&rule.name) {
            names.push(rule.name);
        }
    }
    names
}
