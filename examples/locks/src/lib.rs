//! A service of counters and locks: messages, rules, and the model of a correct server.
//!
//! `tests/locks/main.rs` makes a tester of it, with a wire and traffic off the shelf; `tests/locks/server.rs` is the server, with
//! bugs to switch on.

use confute_test::prelude::*;

/// The messages of the service. Each is a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
pub enum Line {
    /// Adds one to a counter, and returns it.
    #[request("INCR {}")]
    Incr(Name),
    /// Returns a counter.
    #[request("GET {}", reads)]
    Get(Name),
    /// Takes a lock, and returns a token that unlocks it.
    #[request("LOCK {}")]
    Lock(Name),
    /// Gives a lock back.
    #[request("UNLOCK {} {}")]
    Unlock(Name, Secret),
    /// The value of a counter.
    #[response("COUNT {}")]
    Count(i64),
    /// The lock is taken; this is its token.
    #[response("TOKEN {}")]
    Locked(Secret),
    /// Somebody else has the lock.
    #[response("BUSY")]
    Busy,
    /// The lock is free again.
    #[response("FREE")]
    Unlocked,
    /// The token does not hold the lock.
    #[response("REFUSED")]
    Refused,
    /// Anything else.
    #[unreadable]
    Odd(String),
}

/// Every increment counts.
pub const COUNTS_ALL: Rule = Rule::must("locks/counts-all", "Every INCR adds one to its counter.");
/// A lock has one holder.
pub const ONE_HOLDER: Rule = Rule::must("locks/one-holder", "A lock that is held is not given to another.");
/// Tokens differ.
pub const NEW_TOKEN: Rule = Rule::must("locks/new-token", "No token of a lock is given twice.");
/// Only the holder unlocks.
pub const HOLDER_UNLOCKS: Rule = Rule::must("locks/holder-unlocks", "Only the token of the holder unlocks.");

const COUNTERS: Table<Name, i64> = Table::new("counters");
/// The token of the holder, if there is one, and all tokens so far.
const LOCKS: Table<Name, (Option<Secret>, Vec<Secret>)> = Table::new("locks");

/// The model of a correct server.
pub struct Locks;

impl ServerModel for Locks {
    type Msg = Line;
    type Out = Expected<Line>;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Line::Incr(name) => {
                let cell = COUNTERS.edit(io, name)?;
                let count = cell.get(io)?.unwrap_or(0) + 1;
                let lost = i64::from(io.deviates(&COUNTS_ALL)?);
                cell.set(io, count - lost)?;
                io.send(conn, Line::Count(count))
            }
            Line::Get(name) => {
                let count = COUNTERS.get(io, name)?.unwrap_or(0);
                io.send(conn, Line::Count(count))
            }
            Line::Lock(name) => {
                let cell = LOCKS.edit(io, name)?;
                let (holder, mut tokens) = cell.get(io)?.unwrap_or_default();
                if holder.is_some() && !io.deviates(&ONE_HOLDER)? {
                    return io.send(conn, Line::Busy);
                }
                let token = Secret::fresh(io)?;
                let repeats = io.deviates(&NEW_TOKEN)?;
                tokens.iter().filter(|_| !repeats).try_for_each(|old| io.assume(token.differs(old)))?;
                tokens.push(token.clone());
                cell.set(io, (Some(token.clone()), tokens))?;
                io.send(conn, Line::Locked(token))
            }
            Line::Unlock(name, token) => {
                let cell = LOCKS.edit(io, name)?;
                let (holder, tokens) = cell.get(io)?.unwrap_or_default();
                let is_holder = holder.map_or(Ok(false), |holder| io.branch(holder.equals(token)))?;
                if !is_holder && !io.deviates(&HOLDER_UNLOCKS)? {
                    return io.send(conn, Line::Refused);
                }
                cell.set(io, (None, tokens))?;
                io.send(conn, Line::Unlocked)
            }
            _ => io.replies(0),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[COUNTS_ALL, ONE_HOLDER, NEW_TOKEN, HOLDER_UNLOCKS]
    }
}
