//! Expectations of the model at the event that refutes a trace.

use std::rc::Rc;

use crate::engine::{Engine, Options, judge};
use crate::erased::{self, Message, Model, Shown};
use crate::lang::ServerModel;
use crate::network::Network;
use crate::trace::Event;
use crate::verdict::{Refutation, Verdict};

/// Adds to a refutation the messages that the surviving hypotheses expected instead of the observed one.
///
/// The refuting event is the first one that makes the trace unexplainable: the shortest refuted prefix ends in it.
pub fn explain<S: ServerModel>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
    refutation: &Refutation,
    options: &Options<'_>,
) -> Refutation
where
    S::Msg: Clone,
{
    explain_erased(model, network, &erased::events(events), refutation, options)
}

pub(crate) fn explain_erased(
    model: &dyn Model,
    network: &dyn Network,
    events: &[Event<Rc<Message>>],
    refutation: &Refutation,
    options: &Options<'_>,
) -> Refutation {
    // A refuted prefix stays refuted when it grows.
    let (mut explained, mut refuted) = (0, events.len());
    while refuted - explained > 1 {
        let middle = explained + (refuted - explained) / 2;
        match judge(model, network, &events[..middle], options) {
            Verdict::Refuted(_) => refuted = middle,
            Verdict::Unrefuted => explained = middle,
            Verdict::Inconclusive(_) => return refutation.clone(),
        }
    }
    let event = refuted.saturating_sub(1);
    let Some(fatal) = events.get(event) else { return refutation.clone() };
    let mut engine = Engine::new(model, network, options.clone());
    for event in &events[..event] {
        engine.observe(event.clone());
    }
    let (expected, hypotheses, more) = match fatal.conn() {
        Some(conn) if engine.verdict().is_unrefuted() => engine.expectations(conn),
        _ => (Vec::new(), 0, false),
    };
    let seen = match fatal {
        Event::Received(conn, message) => format!("{} on connection {}", Shown(&**message), conn.0),
        Event::Accepted(conn) => format!("connection {} opened by the server", conn.0),
        Event::Closed(conn) => format!("connection {} closed", conn.0),
        Event::Quiescent => "no more responses, although some were due".to_owned(),
        // An action of the tester is the refuting event if no server explains the events before it.
        Event::Sent(conn, message) => format!("{} sent on connection {}", Shown(&**message), conn.0),
        Event::Opened(conn) => format!("connection {} opened by the tester", conn.0),
        Event::HungUp(conn) => format!("connection {} closed by the tester", conn.0),
    };
    Refutation { event, seen, expected, hypotheses, more }
}
