//! A map that is called from threads: its calls, its rules, and the model of a correct one.
//!
//! `tests/cache/main.rs` tests a published crate and a small cache with it; `tests/cache/small.rs` is that cache, with races to switch on.

use confute_test::prelude::*;

/// A call of the map, or the value that it returns.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
pub enum Op {
    /// Returns the value of a key.
    #[request("get {}", reads)]
    Get(Name),
    /// Sets the value of a key, and returns the old one.
    #[request("put {} {}")]
    Put(Name, i64),
    /// Sets the value of a key that has none. Returns the value that the key has then.
    #[request("get_or_put {} {}")]
    GetOrPut(Name, i64),
    /// Adds to the value of a key, and returns the sum.
    #[request("add {} {}")]
    Add(Name, i64),
    /// Removes a key, and returns its value.
    #[request("remove {}")]
    Remove(Name),
    /// A value.
    #[response("{}")]
    Value(i64),
    /// There is no value.
    #[response("nothing")]
    Nothing,
    /// Not used: a call returns a value.
    #[unreadable]
    Odd(String),
}

impl From<Option<i64>> for Op {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Self::Nothing, Self::Value)
    }
}

/// Reads are fresh.
pub const FRESH: Rule = Rule::must("cache/fresh", "A read returns the latest value.");
/// One thread wins.
pub const ONE_WINNER: Rule = Rule::must("cache/one-winner", "Of calls that set a missing key one sets it.");
/// Additions are not lost.
pub const COUNTS_ALL: Rule = Rule::must("cache/counts-all", "Every addition counts.");

const VALUES: Table<Name, Versions<i64>> = Table::new("values");

/// The model of a correct map.
pub struct Map;

impl ServerModel for Map {
    type Msg = Op;
    type Out = Expected<Op>;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        let (Op::Get(key) | Op::Put(key, _) | Op::GetOrPut(key, _) | Op::Add(key, _) | Op::Remove(key)) =
            &*request
        else {
            return io.replies(0);
        };
        let cell = if let Op::Get(_) = *request { VALUES.view(io, key)? } else { VALUES.edit(io, key)? };
        let now = cell.get_now(io)?;
        let value = match *request {
            Op::Put(_, value) => {
                cell.replace(io, value, &FRESH)?;
                now
            }
            Op::GetOrPut(_, value) if now.is_none() || io.deviates(&ONE_WINNER)? => {
                cell.replace(io, value, &FRESH)?;
                Some(value)
            }
            Op::Add(_, more) => {
                let sum = now.unwrap_or(0) + more;
                if !io.deviates(&COUNTS_ALL)? {
                    cell.replace(io, sum, &FRESH)?;
                }
                Some(sum)
            }
            Op::Remove(_) => {
                cell.replace(io, None::<i64>, &FRESH)?;
                now
            }
            Op::Get(_) if io.deviates(&FRESH)? => cell.get_older(io)?,
            _ => now,
        };
        io.send(conn, Op::from(value))
    }

    fn rules(&self) -> &'static [Rule] {
        &[FRESH, ONE_WINNER, COUNTS_ALL]
    }
}
