//! A short case as a ladder: a rail for each connection and one for the server, time going down.
//!
//! It needs no colour and fits in 80 columns up to about eight connections; longer messages are cut.

use std::io::{self, Write};

use confute::trace::{Event, WireConn};

use crate::style::{BAD, STRONG};
use crate::text::{WIDTH, clip};

/// Columns before the first rail, and between rails.
const MARGIN: usize = 6;
const GAP: usize = 5;

/// Draws the events, the last of which nothing explains.
pub(crate) fn draw(events: &[Event<String>], remark: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut conns: Vec<WireConn> = events.iter().filter_map(Event::conn).collect();
    conns.sort_unstable();
    conns.dedup();
    let ladder = Ladder { conns };
    writeln!(out, "{STRONG}{}{STRONG:#}", ladder.title())?;
    writeln!(out, "{}", ladder.rails().trim_end())?;
    let steps = events.iter().filter(|event| !matches!(event, Event::Opened(_)));
    for (number, event) in (1..).zip(steps) {
        writeln!(out, "{}", ladder.step(number, event).trim_end())?;
    }
    if let Some(Event::Received(_, message)) = events.last() {
        let left = WIDTH.saturating_sub(ladder.label() + 1 + remark.chars().count());
        let mark = "^".repeat(message.chars().count().min(ladder.room()).min(left));
        writeln!(out, "{:1$}{BAD}{mark} {remark}{BAD:#}", "", ladder.label())?;
    }
    Ok(())
}

struct Ladder {
    conns: Vec<WireConn>,
}

impl Ladder {
    const SERVER: usize = WIDTH - 4;

    fn rail(&self, conn: WireConn) -> usize {
        MARGIN + GAP * self.conns.iter().position(|listed| *listed == conn).unwrap_or(0)
    }

    /// Where messages are written: right of all rails but the server's.
    fn label(&self) -> usize {
        MARGIN + GAP * self.conns.len()
    }

    fn room(&self) -> usize {
        Self::SERVER.saturating_sub(self.label() + 5)
    }

    fn title(&self) -> String {
        let mut line = vec![' '; WIDTH];
        for conn in &self.conns {
            put(&mut line, self.rail(*conn), &format!("c{}", conn.0));
        }
        put(&mut line, Self::SERVER - 5, "server");
        line.into_iter().collect::<String>().trim_end().to_owned()
    }

    fn blank(&self) -> Vec<char> {
        let mut line = vec![' '; WIDTH];
        for conn in &self.conns {
            put(&mut line, self.rail(*conn), "│");
        }
        put(&mut line, Self::SERVER, "│");
        line
    }

    fn rails(&self) -> String {
        self.blank().into_iter().collect()
    }

    fn step(&self, number: usize, event: &Event<String>) -> String {
        let mut line = self.blank();
        put(&mut line, 1, &format!("{number:>3}"));
        let Some(conn) = event.conn() else {
            put(&mut line, self.label(), "(nothing more comes)");
            return line.into_iter().collect();
        };
        let rail = self.rail(conn);
        let message = match event {
            Event::Sent(_, message) | Event::Received(_, message) => message.as_str(),
            Event::HungUp(_) => "(hangs up)",
            Event::Closed(_) => "(closes)",
            _ => "(opens)",
        };
        for cell in &mut line[rail + 1..Self::SERVER] {
            *cell = if *cell == '│' { '┼' } else { '─' };
        }
        if matches!(event, Event::Received(..) | Event::Closed(_)) {
            put(&mut line, rail + 1, "<");
            put(&mut line, Self::SERVER, "┤");
        } else {
            put(&mut line, rail, "├");
            put(&mut line, Self::SERVER - 1, ">");
        }
        put(&mut line, self.label() - 1, &format!(" {} ", clip(message, self.room())));
        line.into_iter().collect()
    }
}

fn put(line: &mut [char], at: usize, text: &str) {
    for (cell, c) in line.iter_mut().skip(at).zip(text.chars()) {
        *cell = c;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_in_80_columns() {
        let (a, b) = (WireConn(0), WireConn(3));
        let events = [
            Event::Opened(a),
            Event::Sent(b, "get k0".to_owned()),
            Event::Sent(a, "put ".to_owned() + &"x".repeat(90)),
            Event::Received(b, "ok".to_owned()),
        ];
        let mut out = Vec::new();
        draw(&events, "why?", &mut out).unwrap();
        let drawn = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        assert!(drawn.lines().all(|line| line.chars().count() <= WIDTH), "{drawn}");
        let lines: Vec<&str> = drawn.lines().collect();
        assert!(lines[0].starts_with("      c0   c3 ") && lines[0].ends_with("server"), "{drawn}");
        assert!(lines[2].starts_with("   1  │    ├─── get k0 ─") && lines[2].ends_with("─>│"), "{drawn}");
        assert!(lines[3].starts_with("   2  ├────┼─── put xxx") && lines[3].contains("…"), "{drawn}");
        assert!(lines[4].starts_with("   3  │    │<── ok ─") && lines[4].ends_with("─┤"), "{drawn}");
        assert_eq!(lines[5].trim(), "^^ why?");
    }
}
