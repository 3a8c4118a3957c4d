//! A service of counters, with three rules that a wrong response can break.

use confute_test::prelude::*;

/// The messages of the service. Each is a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
pub enum Line {
    /// Adds one to a counter, and returns the sum.
    #[request("ADD {}")]
    Add(Name),
    /// Returns a counter.
    #[request("GET {}", reads)]
    Get(Name),
    /// The value of the counter.
    #[response("COUNT {}")]
    Count(i64),
    /// Bytes that are no response.
    #[unreadable]
    Odd(String),
}

/// Every addition counts.
pub const COUNTED: Rule =
    Rule::must("counters/counted", "An ADD adds one to the present count, and not to an older one.");
/// Additions are stored.
pub const STORED: Rule = Rule::must("counters/stored", "An ADD that was answered is stored.");
/// Reads are current.
pub const CURRENT: Rule = Rule {
    name: "counters/current",
    level: Level::Store,
    summary: "A GET returns the count after the latest ADD, and no older one.",
};

/// All counts that each counter had, in order. The last one is the present count.
const COUNTERS: Table<Name, Vec<i64>> = Table::new("counters");

/// The model of a correct server.
pub struct Counters;

impl ServerModel for Counters {
    type Msg = Line;
    type Out = Expected<Line>;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Line::Add(name) => {
                let cell = COUNTERS.edit(io, name)?;
                let mut counts = cell.get(io)?.unwrap_or_default();
                let old = if io.deviates(&COUNTED)? { any(io, &counts)? } else { last(&counts) };
                if !io.deviates(&STORED)? {
                    counts.push(old + 1);
                    cell.set(io, counts)?;
                }
                io.send(conn, Line::Count(old + 1))
            }
            Line::Get(name) => {
                let counts = COUNTERS.get(io, name)?.unwrap_or_default();
                let shown = if io.deviates(&CURRENT)? { any(io, &counts)? } else { last(&counts) };
                io.send(conn, Line::Count(shown))
            }
            _ => io.replies(0),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[COUNTED, STORED, CURRENT]
    }

    fn is_habitual(&self, rule: &Rule) -> bool {
        *rule == CURRENT // who reads an old copy once reads it again
    }
}

/// Returns the present count.
fn last(counts: &[i64]) -> i64 {
    counts.last().copied().unwrap_or(0)
}

/// Returns the present count or any older one; 0 is the count before the first ADD.
fn any(io: &mut Io<'_, Counters>, counts: &[i64]) -> Result<i64, Stop> {
    let place = io.choose(counts.len() + 1)?;
    Ok(counts.get(place).copied().unwrap_or(0))
}
