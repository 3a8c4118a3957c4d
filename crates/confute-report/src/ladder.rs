//! A short case as a ladder diagram: a rail for each connection and one for the server, with time going down.
//!
//! The diagram needs no colour and fits in 80 columns; longer messages are truncated. If too many connections
//! have messages to leave room for the text, the name of the connection precedes each message instead of a rail.

use std::io::{self, Write};

use confute::trace::{Event, WireConn};
use confute_record::{numbered, with_messages};

use crate::style::{BAD, STRONG};
use crate::text::{WIDTH, clip, count};

/// Columns before the first rail; `GAP` is the distance between rails.
const MARGIN: usize = 6;
const GAP: usize = 5;
/// Minimum width of a truncated message, in columns: a shorter one is not informative.
const ROOM: usize = 24;

/// Draws the events, the last of which no hypothesis explains.
pub(crate) fn draw(events: &[Event<String>], remark: &str, out: &mut dyn Write) -> io::Result<()> {
    let ladder = Ladder::new(with_messages(events));
    if ladder.has_rails {
        writeln!(out, "{STRONG}{}{STRONG:#}", ladder.title())?;
        writeln!(out, "{}", ladder.rails().trim_end())?;
    }
    ladder.steps(events, (1..).zip(numbered(events)), remark, out)?;
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

/// Draws the events in at most this many lines, of which there have to be four. If there are too many, those that
/// `matter` are drawn, or else the last ones; the last is always drawn.
pub(crate) fn draw_within(
    lines: usize,
    events: &[Event<String>],
    matter: &[usize],
    remark: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let all: Vec<(usize, usize)> = (1..).zip(numbered(events)).collect();
    // The names of the connections, and the mark below the last message.
    let frame = 2;
    let mut drawn = all.clone();
    if all.len() + frame > lines {
        // One more line tells how many are left out.
        let room = lines.saturating_sub(frame + 1).max(1);
        let last = all.last().map(|(_, place)| *place);
        drawn.retain(|(_, place)| matter.contains(place) || Some(*place) == last);
        if matter.is_empty() || drawn.len() > room {
            drawn = all[all.len().saturating_sub(room)..].to_vec();
        }
    }
    let mut conns: Vec<WireConn> = drawn.iter().filter_map(|(_, place)| events[*place].conn()).collect();
    conns.sort_unstable();
    conns.dedup();
    let ladder = Ladder::new(conns);
    if ladder.has_rails {
        writeln!(out, "{STRONG}{}{STRONG:#}", ladder.title())?;
    }
    if drawn.len() < all.len() {
        let left = count((all.len() - drawn.len()) as u64, "message");
        writeln!(out, "{:1$}({left} not drawn)", "", MARGIN)?;
    }
    ladder.steps(events, drawn.into_iter(), remark, out)
}

struct Ladder {
    /// Connections of the events that are drawn, in order.
    conns: Vec<WireConn>,
    /// `true` if each connection has a rail.
    has_rails: bool,
}

impl Ladder {
    const SERVER: usize = WIDTH - 4;

    fn new(conns: Vec<WireConn>) -> Self {
        let is_narrow = |conn: &WireConn| name(*conn).len() < GAP;
        let ladder = Self { has_rails: conns.iter().all(is_narrow), conns };
        let has_rails = ladder.has_rails && ladder.label() + ROOM + 5 <= Self::SERVER;
        Self { has_rails, ..ladder }
    }

    fn rail(&self, conn: WireConn) -> usize {
        MARGIN + GAP * self.conns.iter().position(|listed| *listed == conn).unwrap_or(0)
    }

    /// Returns the column where messages begin: right of all rails except the server's, or of the names.
    fn label(&self) -> usize {
        if self.has_rails {
            return MARGIN + GAP * self.conns.len();
        }
        let widest = self.conns.iter().map(|conn| name(*conn).len()).max().unwrap_or(0);
        MARGIN + widest + 5
    }

    /// Returns the maximum length of a message.
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

    /// Writes events by number and place, and marks the last one.
    fn steps(
        &self,
        events: &[Event<String>],
        numbers: impl Iterator<Item = (usize, usize)>,
        remark: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for (number, place) in numbers {
            writeln!(out, "{}", self.step(number, &events[place]).trim_end())?;
        }
        if let Some(Event::Received(_, message)) = events.last() {
            let remark = clip(remark, WIDTH - self.label() - 2);
            let left = WIDTH - self.label() - 1 - remark.chars().count();
            let mark = "^".repeat(message.chars().count().min(self.room()).min(left));
            writeln!(out, "{:1$}{BAD}{mark} {remark}{BAD:#}", "", self.label())?;
        }
        Ok(())
    }

    fn step(&self, number: usize, event: &Event<String>) -> String {
        let mut line = self.blank();
        put(&mut line, 1, &format!("{number:>3}"));
        let Some(conn) = event.conn() else {
            put(&mut line, self.label(), "(nothing more arrives)");
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
        plain(&|out| draw(events, "why?", out))
    }

    fn plain(write: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> Vec<String> {
        let mut out = Vec::new();
        write(&mut out).unwrap();
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

    /// Returns any events on any number of connections.
    fn any(seed: u64) -> Vec<Event<String>> {
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
        events
    }

    /// However few lines there are, the last event is drawn, and the omitted ones are counted.
    #[test]
    fn any_case_fits_into_few_lines() {
        for seed in 0..3000 {
            let events = any(seed);
            let all = numbered(&events);
            let most = 4 + (seed % 13) as usize;
            let matter: Vec<usize> = all.iter().copied().filter(|place| place % 3 == 0).collect();
            let lines = plain(&|out| draw_within(most, &events, &matter, "why?", out));
            assert!(lines.len() <= most, "{seed}: {lines:#?}");
            let has = |number: usize| lines.iter().any(|line| line.starts_with(&format!(" {number:>3} ")));
            let drawn = (1..=all.len()).filter(|number| has(*number)).count();
            assert!(all.is_empty() || has(all.len()), "{seed}: {lines:#?}");
            let left = count((all.len() - drawn) as u64, "message");
            let told = lines.iter().any(|line| line.trim() == format!("({left} not drawn)"));
            assert_eq!(told, drawn < all.len(), "{seed}: {lines:#?}");
        }
    }

    #[test]
    fn what_matters_is_drawn_first() {
        let conn = |number: u32| WireConn(number % 3);
        let mut events: Vec<Event<String>> =
            (0..30).map(|number| Event::Sent(conn(number), format!("put k{number}"))).collect();
        events.push(Event::Received(conn(1), "ok".to_owned()));
        let lines = plain(&|out| draw_within(8, &events, &[4, 13, 30], "why?", out));
        // The other connections have no rail.
        assert!(lines[0].starts_with("      c1 ") && lines[0].ends_with("server"), "{lines:#?}");
        assert_eq!(lines[1].trim(), "(28 messages not drawn)");
        assert!(lines[2].starts_with("   5  ├─── put k4 ─"), "{lines:#?}");
        assert!(lines[3].starts_with("  14  ├─── put k13 ─"), "{lines:#?}");
        assert!(lines[4].starts_with("  31  │<── ok ─"), "{lines:#?}");
        assert_eq!((lines[5].trim(), lines.len()), ("^^ why?", 6));
    }

    /// For any numbers of connections and events, every drawn event has its own line and names its connection.
    #[test]
    fn any_case_fits() {
        for seed in 0..3000 {
            let events = any(seed);
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
