//! The shape of a violation: the messages of its smallest case, without names, tags and times.

use std::fmt::Write as _;

use confute::trace::Event;

use crate::{Violation, numbered};

/// Maximum number of events that a shape lists.
const MOST: usize = 40;

/// Returns the shape of the displayed case: for each message its first word (a method, a command, a status), with the
/// connection before it where that changes. Two cases of one bug have the same shape, although the server chose other
/// tags, unless shrinking ended elsewhere. A case that was not shrunk has no shape of its own.
pub fn shape(violation: &Violation) -> String {
    if !matches!(violation.shrunk, Some(Ok(_))) {
        return "not shrunk".to_owned();
    }
    let trace = violation.shown().trace;
    let places = numbered(trace);
    let (mut shape, mut conns) = (String::new(), Vec::new());
    let mut last = None;
    for place in places.iter().take(MOST) {
        let event = &trace[*place];
        let conn = event.conn().map(|conn| {
            let known = conns.iter().position(|one| *one == conn);
            known.unwrap_or_else(|| {
                conns.push(conn);
                conns.len() - 1
            })
        });
        if !shape.is_empty() {
            shape.push(' ');
        }
        if conn != last
            && let Some(conn) = conn
        {
            let _ = write!(shape, "c{conn}: ");
        }
        last = conn;
        shape.push_str(word(event));
    }
    if places.len() > MOST {
        let _ = write!(shape, " and {} more", places.len() - MOST);
    }
    shape
}

/// Returns the word for an event.
fn word(event: &Event<crate::MessageRecord>) -> &str {
    let first = |message: &str| {
        let end = message.find([' ', ',']).unwrap_or(message.len());
        end.min(24)
    };
    match event {
        Event::Sent(_, message) | Event::Received(_, message) => {
            let brief = message.brief.trim_start();
            brief.get(..first(brief)).unwrap_or("message")
        }
        Event::Closed(_) => "closed",
        Event::HungUp(_) => "hung-up",
        Event::Accepted(_) => "accepted",
        Event::Opened(_) => "opened",
        _ => "silence",
    }
}
