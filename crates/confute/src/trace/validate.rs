//! Consistency of the events of a trace, independent of the model.
//!
//! The server is not judged: a rejected trace is one that no tester can have observed. A connection need not
//! have been opened first, because recorders may start late; but no event happens on a connection that the
//! tester closed, and nothing is received from one that the server closed.

use rustc_hash::FxHashMap;

use super::event::{Event, WireConn};

/// Error: an event on a connection that had ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line}: `{event}` on connection {}, which {} at line {ended_at}; \
     give each connection its own number, or correct the order of the events",
    conn.0,
    if *.by_server { "the server had closed" } else { "the tester had hung up" }
)]
pub struct Misuse {
    /// Line of the event, from 1.
    pub line: usize,
    /// Kind of the event, as written in the file.
    pub event: &'static str,
    /// Connection of the event.
    pub conn: WireConn,
    /// Line at which the connection ended.
    pub ended_at: usize,
    /// `true` if the server had closed the connection; `false` if the tester had.
    pub by_server: bool,
}

/// Checks events in memory; lines are counted as in a file, with the header as line 1.
pub fn validate<'a, M: 'a>(events: impl IntoIterator<Item = &'a Event<M>>) -> Result<(), Misuse> {
    let mut connections = Connections::default();
    events.into_iter().zip(2..).try_for_each(|(event, line)| connections.check(event, line))
}

/// Connections that have ended so far, with the lines of their ends.
#[derive(Debug, Default)]
pub(super) struct Connections {
    ended: FxHashMap<WireConn, Ends>,
}

#[derive(Debug, Default)]
struct Ends {
    closed: Option<usize>,
    hung_up: Option<usize>,
}

impl Connections {
    pub(super) fn check<M>(&mut self, event: &Event<M>, line: usize) -> Result<(), Misuse> {
        let (name, conn) = match event {
            Event::Opened(conn) => ("opened", *conn),
            Event::Accepted(conn) => ("accepted", *conn),
            Event::Sent(conn, _) => ("sent", *conn),
            Event::Received(conn, _) => ("received", *conn),
            Event::Closed(conn) => ("closed", *conn),
            Event::HungUp(conn) => ("hung_up", *conn),
            Event::Quiescent => return Ok(()),
        };
        if let Some(ends) = self.ended.get(&conn) {
            let misuse = |ended_at, by_server| Misuse { line, event: name, conn, ended_at, by_server };
            if let Some(earlier) = ends.hung_up {
                return Err(misuse(earlier, false));
            }
            if let (Some(earlier), Event::Received(..) | Event::Closed(_)) = (ends.closed, event) {
                return Err(misuse(earlier, true));
            }
        }
        match event {
            Event::Closed(_) => self.ended.entry(conn).or_default().closed = Some(line),
            Event::HungUp(_) => self.ended.entry(conn).or_default().hung_up = Some(line),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Event::{Closed, HungUp, Opened, Quiescent, Received, Sent};

    const A: WireConn = WireConn(0);
    const B: WireConn = WireConn(u32::MAX);

    #[test]
    fn sense() {
        assert_eq!(validate(&[Sent(A, 1), Opened(B), Received(A, 2), Quiescent]), Ok(()));
        // The tester may still send, or close, before it learns that the server has closed.
        assert_eq!(validate(&[Closed(A), Sent(A, 1), HungUp(A), Received(B, 1), Closed(B)]), Ok(()));
    }

    #[test]
    fn nonsense() {
        let after = |events: &[Event<u8>]| validate(events).map_err(|m| (m.line, m.ended_at, m.by_server));
        assert_eq!(after(&[Closed(A), Quiescent, Received(A, 1)]), Err((4, 2, true)));
        assert_eq!(after(&[Closed(A), Closed(A)]), Err((3, 2, true)));
        for event in [Sent(B, 1), Received(B, 1), Closed(B), HungUp(B), Opened(B), Event::Accepted(B)] {
            assert_eq!(after(&[HungUp(B), Sent(A, 1), event]), Err((4, 2, false)));
        }
        let misuse = validate(&[HungUp(A), Sent(A, 1)]).unwrap_err();
        assert!(
            misuse
                .to_string()
                .starts_with("line 3: `sent` on connection 0, which the tester had hung up at line 2")
        );
    }
}
