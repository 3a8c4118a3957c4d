//! The part of a case around the event that no hypothesis explains, in the style of a compiler diagnostic.

use std::io::{self, Write};

use confute::check::Case;
use confute::trace::{Event, WireConn};

use confute_report::style::{BAD, NOTE};
use confute_report::text::{WIDTH, clip};

/// Number of events up to which a case is shown from its start.
const SHORT: usize = 12;

/// Draws the fatal event, the events before it, and a remark under it.
pub(crate) fn draw(
    case: &dyn Case,
    fatal: usize,
    remark: &str,
    in_full: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let places = places(case, fatal);
    let gutter = places.iter().map(|place| number(case, *place).len()).max().unwrap_or(1);
    let width = if in_full { usize::MAX } else { WIDTH.saturating_sub(gutter + 4) };
    writeln!(out, "{NOTE}{:gutter$} |{NOTE:#}", "")?;
    let mut last = None;
    for place in places {
        let Some(event) = case.event(place) else { continue };
        if last.is_some_and(|last| last + 1 < place) {
            writeln!(out, "{NOTE}{:>gutter$} :{NOTE:#}", "")?;
        }
        last = Some(place);
        let (head, message) = said(&event);
        let line = clip(&format!("{head}{message}"), width);
        writeln!(out, "{NOTE}{:>gutter$} |{NOTE:#} {line}", number(case, place))?;
        if place == fatal {
            let skip = if message.is_empty() { 0 } else { head.chars().count() };
            let mark = "^".repeat(line.chars().count().saturating_sub(skip).clamp(1, 40));
            writeln!(out, "{NOTE}{:gutter$} |{NOTE:#} {:skip$}{BAD}{mark} {remark}{BAD:#}", "", "")?;
        }
    }
    writeln!(out, "{NOTE}{:gutter$} |{NOTE:#}", "")
}

/// Returns the events to show: all of a short case, otherwise the fatal one and the request to which it may be the
/// response.
fn places(case: &dyn Case, fatal: usize) -> Vec<usize> {
    let speaks = |place: &usize| !matches!(case.event(*place), Some(Event::Opened(_)) | None);
    if fatal < SHORT {
        return (0..=fatal).filter(speaks).collect();
    }
    let conn = case.event(fatal).and_then(|event| event.conn());
    let mut places: Vec<usize> = request(case, fatal, conn).into_iter().collect();
    places.push(fatal);
    places
}

/// Returns the request to which the fatal event would be the response if responses came in order.
fn request(case: &dyn Case, fatal: usize, conn: Option<WireConn>) -> Option<usize> {
    let mut open = std::collections::VecDeque::new();
    for place in 0..fatal {
        match case.event(place) {
            Some(Event::Sent(on, _)) if Some(on) == conn => open.push_back(place),
            Some(Event::Received(on, _)) if Some(on) == conn => drop(open.pop_front()),
            _ => {}
        }
    }
    open.pop_front()
}

/// Returns the line in the file, or the number of the event if it has none.
fn number(case: &dyn Case, place: usize) -> String {
    case.line(place).unwrap_or(place + 1).to_string()
}

/// Formats an event, and returns its message separately.
pub(crate) fn said(event: &Event<String>) -> (String, &str) {
    let conn = event.conn().map_or(0, |WireConn(number)| number);
    match event {
        Event::Opened(_) => (format!("c{conn} opened"), ""),
        Event::Accepted(_) => (format!("c{conn} accepted"), ""),
        Event::Sent(_, message) => (format!("c{conn} sent      "), message),
        Event::Received(_, message) => (format!("c{conn} received  "), message),
        Event::Closed(_) => (format!("c{conn} closed by the server"), ""),
        Event::HungUp(_) => (format!("c{conn} hung up"), ""),
        _ => ("nothing more arrived".to_owned(), ""),
    }
}
