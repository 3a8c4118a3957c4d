//! A short case as a ladder: a rail for each connection and one for the server, time going down.
//!
//! It needs no colour and fits in 80 columns; longer messages are cut. Where so many connections have messages that no room
//! would be left for these, the name of the connection stands in front of each message instead of a rail.

use std::io::{self, Write};

use confute::trace::{Event, WireConn};
use confute_record::{numbered, with_messages};

use crate::style::{BAD, STRONG};
use crate::text::{WIDTH, clip, count};

/// Columns before the first rail, and between rails.
const MARGIN: usize = 6;
const GAP: usize = 5;
/// A message that is cut to fewer columns says too little.
const ROOM: usize = 24;

/// Draws the events, the last of which nothing explains.
pub(crate) fn draw(events: &[Event<String>], remark: &str, out: &mut dyn Write) -> io::Result<()> {
    let ladder = Ladder::new(events);
    if ladder.has_rails {
        writeln!(out, "{STRONG}{}{STRONG:#}", ladder.title())?;
        writeln!(out, "{}", ladder.rails().trim_end())?;
    }
    for (number, place) in (1..).zip(numbered(events)) {
        writeln!(out, "{}", ladder.step(number, &events[place]).trim_end())?;
    }
    if let Some(Event::Received(_, message)) = events.last() {
        let remark = clip(remark, WIDTH - ladder.label() - 2);
        let left = WIDTH - ladder.label() - 1 - remark.chars().count();
        let mark = "^".repeat(message.chars().count().min(ladder.room()).min(left));
        writeln!(out, "{:1$}{BAD}{mark} {remark}{BAD:#}", "", ladder.label())?;
    }
    let mut idle: Vec<WireConn> = events.iter().filter_map(Event::conn).collect();
    idle.sort_unstable();
    idle.dedup();
    idle.retain(|conn| !ladder.conns.contains(conn));
    if !idle.is_empty() {
        let idle = count(idle.len() as u64, "connection");
        writeln!(out, "{:1$}(not drawn: {idle} without a message)", "", MARGIN)?;
    }
    Ok(())
}

struct Ladder {
    /// Those that have messages.
    conns: Vec<WireConn>,
    /// Each has a rail of its own.
    has_rails: bool,
}

impl Ladder {
    const SERVER: usize = WIDTH - 4;

    fn new(events: &[Event<String>]) -> Self {
        let conns = with_messages(events);
        let is_narrow = |conn: &WireConn| name(*conn).len() < GAP;
        let ladder = Self { has_rails: conns.iter().all(is_narrow), conns };
        let has_rails = ladder.has_rails && ladder.label() + ROOM + 5 <= Self::SERVER;
        Self { has_rails, ..ladder }
    }

    fn rail(&self, conn: WireConn) -> usize {
        MARGIN + GAP * self.conns.iter().position(|listed| *listed == conn).unwrap_or(0)
    }

    /// Where messages are written: right of all rails but the server's, or of the names.
    fn label(&self) -> usize {
        if self.has_rails {
            return MARGIN + GAP * self.conns.len();
        }
        let widest = self.conns.iter().map(|conn| name(*conn).len()).max().unwrap_or(0);
        MARGIN + widest + 5
    }

    /// How long a message may be.
    fn room(&self) -> usize {
        if self.has_rails { Self::SERVER.saturating_sub(self.label() + 5) } else { WIDTH - self.label() }
    }

    fn title(&self) -> String {
        let mut line = vec![' '; WIDTH];
        for conn in &self.conns {
            put(&mut line, self.rail(*conn), &name(*conn));
        }
        put(&mut line, Self::SERVER - 5, "server");
        line.into_iter().collect::<String>().trim_end().to_owned()
    }

    fn blank(&self) -> Vec<char> {
        let mut line = vec![' '; WIDTH];
        for conn in self.conns.iter().filter(|_| self.has_rails) {
            put(&mut line, self.rail(*conn), "│");
        }
        if self.has_rails {
            put(&mut line, Self::SERVER, "│");
        }
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
        let message = match event {
            Event::Sent(_, message) | Event::Received(_, message) => message.as_str(),
            Event::HungUp(_) => "(hangs up)",
            Event::Closed(_) => "(closes)",
            _ => "(opens)",
        };
        let message = clip(message, self.room());
        let from_server = matches!(event, Event::Received(..) | Event::Closed(_));
        if !self.has_rails {
            put(&mut line, MARGIN, &name(conn));
            put(&mut line, self.label() - 4, if from_server { "<──" } else { "──>" });
            put(&mut line, self.label(), &message);
            return line.into_iter().collect();
        }
        let rail = self.rail(conn);
        for cell in line.iter_mut().take(Self::SERVER).skip(rail + 1) {
            *cell = if *cell == '│' { '┼' } else { '─' };
        }
        if from_server {
            put(&mut line, rail + 1, "<");
            put(&mut line, Self::SERVER, "┤");
        } else {
            put(&mut line, rail, "├");
            put(&mut line, Self::SERVER - 1, ">");
        }
        put(&mut line, self.label() - 1, &format!(" {message} "));
        line.into_iter().collect()
    }
}

fn name(conn: WireConn) -> String {
    format!("c{}", conn.0)
}

fn put(line: &mut [char], at: usize, text: &str) {
    for (cell, c) in line.iter_mut().skip(at).zip(text.chars()) {
        *cell = c;
    }
}

#[cfg(test)]
mod tests {
    use confute::random::Random;

    use super::*;

    fn lines(events: &[Event<String>]) -> Vec<String> {
        let mut out = Vec::new();
        draw(events, "why?", &mut out).unwrap();
        let drawn = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        assert!(drawn.lines().all(|line| line.chars().count() <= WIDTH), "{drawn}");
        drawn.lines().map(str::to_owned).collect()
    }

    #[test]
    fn drawn_in_80_columns() {
        let (a, b) = (WireConn(0), WireConn(3));
        let events = [
            Event::Opened(a),
            Event::Sent(b, "get k0".to_owned()),
            Event::Sent(a, "put ".to_owned() + &"x".repeat(90)),
            Event::Received(b, "ok".to_owned()),
        ];
        let lines = lines(&events);
        assert!(lines[0].starts_with("      c0   c3 ") && lines[0].ends_with("server"), "{lines:#?}");
        assert!(lines[2].starts_with("   1  │    ├─── get k0 ─") && lines[2].ends_with("─>│"), "{lines:#?}");
        assert!(lines[3].starts_with("   2  ├────┼─── put xxx") && lines[3].contains("…"), "{lines:#?}");
        assert!(lines[4].starts_with("   3  │    │<── ok ─") && lines[4].ends_with("─┤"), "{lines:#?}");
        assert_eq!(lines[5].trim(), "^^ why?");
    }

    #[test]
    fn idle_connections_have_no_rail() {
        let mut events: Vec<Event<String>> = (0..20).map(|conn| Event::Opened(WireConn(conn))).collect();
        events.push(Event::Sent(WireConn(19), "get k0".to_owned()));
        events.push(Event::HungUp(WireConn(4)));
        events.push(Event::Received(WireConn(19), "ok".to_owned()));
        assert_eq!(numbered(&events), [20, 22]);
        let lines = lines(&events);
        assert!(lines[0].starts_with("      c19 ") && lines[0].ends_with("server"), "{lines:#?}");
        assert!(lines[3].starts_with("   2  │<── ok ─"), "{lines:#?}");
        assert_eq!(lines[5].trim(), "(not drawn: 19 connections without a message)");
        assert_eq!(lines.len(), 6);
    }

    #[test]
    fn many_connections_are_named() {
        let mut events: Vec<Event<String>> = (0..16)
            .map(|conn| Event::Sent(WireConn(conn), format!("put k{conn} {}", "x".repeat(90))))
            .collect();
        events.push(Event::Received(WireConn(7), "ok".to_owned()));
        let lines = lines(&events);
        assert!(lines[0].starts_with("   1  c0  ──> put k0 xxx") && lines[0].ends_with("…"), "{lines:#?}");
        assert_eq!(lines[16], "  17  c7  <── ok");
        assert_eq!(lines[17].trim(), "^^ why?");
        assert_eq!(lines[16].chars().position(|c| c == 'o'), lines[17].chars().position(|c| c == '^'));
    }

    /// Whatever the numbers of connections and events, every event that is drawn has its line, and says on which connection.
    #[test]
    fn any_case_fits() {
        for seed in 0..3000 {
            let mut random = Random::new(seed);
            let mut below = |bound| random.below(bound);
            let conns = 1 + below([2, 9, 20, 60, 100_000][(seed % 5) as usize]);
            let mut events: Vec<Event<String>> = Vec::new();
            for _ in 0..=below(40) {
                let conn = WireConn(below(conns) as u32);
                let longest = [8, 200][below(2) as usize];
                let message = "é".repeat(below(longest) as usize);
                events.push(match below(8) {
                    0 => Event::Opened(conn),
                    1 => Event::HungUp(conn),
                    2 => Event::Closed(conn),
                    3 => Event::Accepted(conn),
                    4 => Event::Quiescent,
                    5 | 6 => Event::Sent(conn, message),
                    _ => Event::Received(conn, message),
                });
            }
            let lines = lines(&events);
            for (number, place) in (1..).zip(numbered(&events)) {
                let begin = format!(" {number:>3} ");
                let line = lines.iter().find(|line| line.starts_with(&begin));
                let line = line.unwrap_or_else(|| panic!("{seed}: no line {number}: {lines:#?}"));
                let conn = events[place].conn().map_or(String::new(), name);
                assert!(lines[0].contains(&conn) || line.contains(&conn), "{seed}: {lines:#?}");
            }
        }
    }
}
