//! Fabricated runs of any length, with hostile content.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use confute::lang::Level;
use confute::trace::{Event, WireConn};
use confute::{Diagnosis, Expectation, Refutation};
use confute_drive::{
    AnyMessage, ByteRecord, Conclusion, Counterexample, Figures, Finding, Outcome, Plan, Shrunk, Tally,
    Target, Trouble,
};
use confute_run::session::{Beside, Recorder};

use crate::Ran;
use crate::protocol::{Message, READ_CURRENT, SET_LASTS};
use crate::server::nobody;

/// Text that a hostile server might send.
pub(crate) const HOSTILE: &str =
    "</script></pre></title><img src=x onerror=\"document.title='owned'\">'\"&lt;<!--";

type Trace = Vec<Event<AnyMessage>>;

/// Returns a trace of this many messages over these connections, the last of which no hypothesis explains,
/// with times and bytes.
pub(crate) fn conversation(
    messages: usize,
    connections: u32,
    text: &str,
) -> (Trace, Vec<u64>, Vec<ByteRecord>) {
    let mut trace: Trace = (0..connections).map(|conn| Event::Opened(WireConn(conn))).collect();
    let mut micros = vec![0; connections as usize];
    let mut raw = Vec::new();
    let mut now = 120;
    let mut waiting: Vec<Option<usize>> = vec![None; connections as usize];
    for number in 0..messages {
        // A burst at intervals, so that requests overlap.
        let conn = WireConn(
            (number / 2 * 7 % connections as usize) as u32 ^ u32::from(number % 5 == 3 && connections > 1),
        );
        now += [40, 700, 90, 12_000, 300][number % 5];
        let key: Arc<str> = format!("case.{}{text}", number % 4).into();
        let slot = &mut waiting[conn.0 as usize];
        let sent = slot.is_none();
        let (message, bytes) = if sent {
            *slot = Some(number);
            (Message::Set(Arc::clone(&key), number as u32), format!("set {key} {number}\r\n"))
        } else {
            *slot = None;
            (Message::Odd(format!("ok {text}")), format!("ok {text}\n"))
        };
        micros.push(now);
        let at = if sent { now + 3 } else { now - 3 };
        raw.push(ByteRecord { conn, sent, micros: at, bytes: bytes.into_bytes() });
        let message = AnyMessage::new(message);
        trace.push(if sent { Event::Sent(conn, message) } else { Event::Received(conn, message) });
    }
    let conn = WireConn(0);
    for (sent, message, bytes) in [
        (true, Message::Get(format!("case.0{text}").into()), format!("get case.0{text}\n").into_bytes()),
        (false, Message::Value(7), [b"value 7\0\xff \x1b[31m", text.as_bytes(), b"\n"].concat()),
    ] {
        now += 2_500_000 * u64::from(!sent) + 400;
        micros.push(now);
        raw.push(ByteRecord { conn, sent, micros: now, bytes });
        let message = AnyMessage::new(message);
        trace.push(if sent { Event::Sent(conn, message) } else { Event::Received(conn, message) });
    }
    (trace, micros, raw)
}

/// Returns a finding from such a trace, shrunk to four messages or not.
pub(crate) fn finding(number: usize, messages: usize, connections: u32, text: &str, small: bool) -> Finding {
    let (trace, micros, raw) = conversation(messages, connections, text);
    let refutation = |events: usize| Refutation {
        event: events - 1,
        seen: format!("Value(7) on connection 0 {text}"),
        expected: vec![
            Expectation {
                message: Some(format!("Value(871020890) {text}")),
                rules: vec![READ_CURRENT.name],
                hypotheses: 3,
            },
            Expectation { message: None, rules: Vec::new(), hypotheses: 1 },
        ],
        hypotheses: 4,
        more: true,
    };
    let diagnoses = vec![Diagnosis { rules: vec![READ_CURRENT.name], deviations: 1, level: Level::Store }];
    let shrunk = small.then(|| {
        let (trace, micros, raw) = conversation(2, 1, text);
        Ok(Box::new(Shrunk {
            counterexample: Counterexample {
                name: "small".to_owned(),
                script: Vec::new(),
                refutation: refutation(trace.len()),
                trace,
                micros,
                raw,
            },
            diagnoses: diagnoses.clone(),
            level: Some(Level::Store),
            incomplete: false,
            requests: (messages / 2, 2),
            runs: 31,
            again: (9, 10),
            unfinished: false,
        }))
    });
    Finding {
        number,
        diagnoses,
        incomplete: false,
        level: Some(Level::Store),
        counterexample: Counterexample {
            name: format!("case {text}"),
            script: Vec::new(),
            refutation: refutation(trace.len()),
            trace,
            micros,
            raw,
        },
        case: 3,
        seed: 5,
        relaxed: Vec::new(),
        known: false,
        occurrences: Vec::new(),
        times: 12,
        proof: None,
        shrunk,
        experiment: None,
        excerpt: None,
    }
}

/// Returns a run with these findings.
pub(crate) fn run(findings: Vec<Finding>) -> Ran {
    let plan = Plan { seed: 42, ..Plan::new(Target::new(nobody())) };
    let figures = Figures {
        requests: 123_456,
        answers: 123_455,
        opened: 800,
        rules: BTreeSet::from([READ_CURRENT.name, SET_LASTS.name].map(str::to_owned)),
        ..Figures::default()
    };
    let outcome = Outcome {
        conclusion: Conclusion::Refuted,
        findings,
        troubles: vec![(Trouble::Unprepared(format!("something {HOSTILE}")), 3)],
        tally: Tally { cases: 400, unrefuted: 388, refuted: 12, ..Tally::default() },
        figures,
        elapsed: Duration::from_millis(30_012),
        relaxed: vec![READ_CURRENT.name],
        branches: vec![("get: value".to_owned(), 12_345), (format!("set {HOSTILE}"), 0)],
    };
    Ran { plan, outcome, recorder: Recorder::default(), beside: Beside::default() }
}
