//! The displayed part of a case: the events around the one that no hypothesis explains, with their times,
//! their bytes, and the numbers of open alternatives.

use std::collections::BTreeMap;

use confute::trace::{Event, WireConn};
use confute_record::{MessageRecord, Violation, numbered};

use super::bytes::{Bytes, by_event};
use super::{Most, clipped};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Sent,
    Received,
    Other,
}

/// One event of the scene.
pub(super) struct Row {
    /// Number of the event, as in all reports.
    pub(super) number: usize,
    pub(super) micros: Option<u64>,
    pub(super) kind: Kind,
    pub(super) conn: Option<WireConn>,
    /// `true` if the server opened the connection.
    pub(super) accepted: bool,
    pub(super) text: String,
    pub(super) json: Option<String>,
    pub(super) bytes: Option<Bytes>,
    /// Number of open alternatives after the event.
    pub(super) open: Option<usize>,
    /// `true` if no hypothesis explains the event.
    pub(super) fatal: bool,
}

impl Row {
    /// Returns the name of the connection.
    pub(super) fn lane(&self) -> String {
        self.conn.map_or_else(String::new, |conn| format!("c{}", conn.0))
    }
}

/// The rows between which a request was outstanding; `None` for an end outside of the scene.
pub(super) struct Span {
    pub(super) conn: WireConn,
    pub(super) from: Option<usize>,
    pub(super) to: Option<usize>,
    /// `true` if the span ends with a response.
    pub(super) answered: bool,
}

pub(super) struct Scene {
    pub(super) rows: Vec<Row>,
    pub(super) spans: Vec<Span>,
    /// Number of omitted events before the scene.
    pub(super) before: usize,
    pub(super) after: usize,
}

impl Scene {
    pub(super) fn new(finding: &Violation, most: &Most) -> Self {
        let case = finding.shown();
        let (trace, micros, raw, refutation) = (case.trace, case.micros, case.raw, case.refutation);
        let places = numbered(trace);
        let fatal = refutation.event.min(trace.len().saturating_sub(1));
        let at = places.iter().position(|place| *place >= fatal).unwrap_or(places.len());
        // A few events after it, if there are any.
        let end = (at + 1 + most.rows / 8).min(places.len());
        let start = end.saturating_sub(most.rows);
        let shown = &places[start..end];
        let accepted: Vec<WireConn> = trace
            .iter()
            .filter_map(|event| if let Event::Accepted(conn) = event { Some(*conn) } else { None })
            .collect();
        let mut bytes = by_event(trace, micros, raw, shown, most.bytes);
        let rows = shown.iter().enumerate().map(|(row, &place)| {
            let event = &trace[place];
            let (kind, text, json) = match event {
                Event::Sent(_, message) => (Kind::Sent, message.text.clone(), Some(message.json.to_string())),
                Event::Received(_, message) => {
                    (Kind::Received, message.text.clone(), Some(message.json.to_string()))
                }
                Event::Accepted(_) => (Kind::Other, "(the server opens)".to_owned(), None),
                Event::Closed(_) => (Kind::Other, "(the server closes)".to_owned(), None),
                Event::HungUp(_) => (Kind::Other, "(the connection ends)".to_owned(), None),
                _ => (Kind::Other, "(nothing more arrives)".to_owned(), None),
            };
            let conn = event.conn();
            Row {
                number: start + row + 1,
                micros: micros.get(place).copied(),
                kind,
                conn,
                accepted: conn.is_some_and(|conn| accepted.contains(&conn)),
                text: clipped(&text, most.text),
                json: json.map(|json| clipped(&json, most.text)),
                bytes: bytes.remove(&place),
                open: finding.open.get(place).copied(),
                fatal: place == fatal,
            }
        });
        let rows: Vec<Row> = rows.collect();
        let spans = spans(trace, shown);
        Self { rows, spans, before: start, after: places.len() - end }
    }
}

/// Returns the spans in which requests of the tester were outstanding. Responses come in order on a connection.
fn spans(trace: &[Event<MessageRecord>], shown: &[usize]) -> Vec<Span> {
    let mut waiting: BTreeMap<WireConn, Vec<(usize, u32)>> = BTreeMap::new();
    let mut apart: Vec<WireConn> = Vec::new();
    let mut all: Vec<(WireConn, usize, Option<usize>, bool)> = Vec::new();
    for (place, event) in trace.iter().enumerate() {
        let Some(conn) = event.conn() else { continue };
        match event {
            Event::Accepted(_) => apart.push(conn),
            _ if apart.contains(&conn) => {}
            Event::Sent(_, message) => match message.answers {
                0 => {}
                answers => waiting.entry(conn).or_default().push((place, answers)),
            },
            Event::Received(_, message) if message.completes => {
                let Some(line) = waiting.get_mut(&conn) else { continue };
                let Some((sent, answers)) = line.first_mut() else { continue };
                *answers -= 1;
                if *answers == 0 {
                    all.push((conn, *sent, Some(place), true));
                    line.remove(0);
                }
            }
            Event::Closed(_) | Event::HungUp(_) => {
                let left = waiting.remove(&conn).unwrap_or_default();
                all.extend(left.into_iter().map(|(sent, _)| (conn, sent, Some(place), false)));
            }
            _ => {}
        }
    }
    for (conn, line) in waiting {
        all.extend(line.into_iter().map(|(sent, _)| (conn, sent, None, false)));
    }
    let (Some(first), Some(last)) = (shown.first(), shown.last()) else { return Vec::new() };
    let in_sight = |(_, sent, end, _): &(_, usize, Option<usize>, _)| {
        sent <= last && end.is_none_or(|end| end >= *first)
    };
    let row = |place: usize| shown.binary_search(&place).ok();
    let mut spans: Vec<Span> = all
        .into_iter()
        .filter(in_sight)
        .map(|(conn, sent, end, answered)| {
            let to = end.and_then(row);
            Span { conn, from: row(sent), to, answered: answered && to.is_some() }
        })
        .collect();
    spans.sort_by_key(|span| span.from);
    spans
}
