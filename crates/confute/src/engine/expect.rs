//! What the live hypotheses expect (the paper's Fig 12): for those who explain, and for those who decide what to ask next.

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
    /// What the hypotheses expect to come next on this connection, merged into classes; how many hypotheses there are;
    /// and whether some were left out.
    pub fn expectations(&mut self, conn: WireConn) -> (Vec<Expectation>, usize, bool) {
        self.catch_up();
        let spot = self.spot(conn);
        let owner = self.whole.or_else(|| self.lines.get(&conn.0).and_then(|line| line.part));
        let Some(part) = owner.and_then(|part| self.parts[part].as_mut()) else {
            return (Vec::new(), 0, false);
        };
        let (hypotheses, mut more) = part.survey(&self.world, 100);
        let mut classes: BTreeMap<Class, usize> = BTreeMap::new();
        for hypothesis in &hypotheses {
            // Where many rules are relaxed, each takes long.
            let pulse = Pulse { event: self.events, turns: self.world.tally.runs.get(), open: 0, bytes: 0 };
            if !classes.is_empty() && self.meter.options.watch.is_some_and(|watch| watch(&pulse)) {
                more = true;
                break;
            }
            let name = match spot {
                Spot::Client(conn) => Some(conn),
                Spot::Accepted(wire) => hypothesis.bound(wire),
            };
            // One that the server opened and nothing was seen on may be any that it opens.
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
        // What a rule requires says more than what is allowed besides.
        expected.sort_by_key(|one| one.rules.is_empty());
        (expected, hypotheses.len(), more)
    }

    /// How many different things the live hypotheses expect in answer to this message, were it sent now on a connection of
    /// its own: if more than one, the answer may tell them apart. A hypothesis that leaves open what the server chose counts
    /// for each choice on which the answer depends; an answer that is free anyway counts once. At most so many hypotheses
    /// are asked. 0 if nobody knows: while answers are awaited, or where the message concerns what was never talked about.
    pub fn disagreement(&mut self, message: Rc<Message>, most: usize) -> usize {
        if !self.verdict.is_unrefuted() || self.lag() > 0 {
            return 0;
        }
        // Neither the connection nor the number is one that will ever be used.
        let (conn, sent) = (Conn::client(u32::MAX), u32::MAX);
        let item = Incoming::Message(message);
        let foot = self.world.footprint(conn, &item);
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
        // By hypothesis, and by what it would have to know of what is hidden now.
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

/// What is expected, and by which rules.
type Class = (Option<String>, Vec<&'static str>);

fn class_of((then, head): &(Hypothesis, Outgoing)) -> Option<Class> {
    match &head.parcel {
        Parcel::Message(sent) => Some((Some(sent.describe(&then.facts)), names(&sent.by))),
        Parcel::Close => Some((Some("the connection closed".to_owned()), Vec::new())),
        Parcel::Verified => None,
    }
}

/// Each once: a turn may ask for the same rule more than once.
fn names(rules: &[&'static Rule]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for rule in rules {
        if !names.contains(&rule.name) {
            names.push(rule.name);
        }
    }
    names
}
