//! Transactions and watched keys.

use confute::lang::{Conn, Io, Slot, Stop, Turn};
use confute_service::Name;

use super::answer::{self, Answer};
use super::command::perform;
use super::entry::Entry;
use super::{KEYS, RedisModel, WATCHED};
use crate::message::{Redis, Timeout};
use crate::rules;

/// Begins to watch a key. If the connection watches it already, nothing changes: a change that happened before still counts.
pub(super) fn watch(io: &mut Io<'_, RedisModel>, conn: Conn, key: &Name) -> Turn {
    let (watched, cell) = (WATCHED.edit(io, &conn)?, KEYS.edit(io, key)?);
    let mut keys = watched.get(io)?.unwrap_or_default();
    if !keys.contains(key) {
        keys.push(key.clone());
        watched.set(io, keys)?;
        cell.update(io, |entry| {
            let mut entry = entry.unwrap_or_default();
            entry.watch(conn);
            Some(entry)
        })?;
    }
    io.send(conn, Redis::Ok)
}

/// The open cell of a key, and its content, which the commands of a transaction change.
struct Open {
    key: Name,
    cell: Slot<Entry>,
    before: Entry,
    entry: Entry,
}

/// Opens the keys of a transaction, then reads them.
fn open(io: &mut Io<'_, RedisModel>, commands: &[Redis], watched: &[Name]) -> Result<Vec<Open>, Stop> {
    let mut cells: Vec<(Name, Slot<Entry>)> = Vec::new();
    for key in commands.iter().filter_map(Redis::key).chain(watched) {
        if cells.iter().all(|(other, _)| other != key) {
            cells.push((key.clone(), KEYS.edit(io, key)?));
        }
    }
    let read = |(key, cell): (Name, Slot<Entry>)| {
        let before = cell.get(io)?.unwrap_or_default();
        Ok(Open { key, cell, entry: before.clone(), before })
    };
    cells.into_iter().map(read).collect()
}

/// Returns the command as a transaction performs it: without waiting.
fn at_once(command: &Redis) -> Redis {
    match command {
        Redis::BlPop(key, Timeout::FOREVER) => Redis::BlPop(key.clone(), Timeout(1)),
        other => other.clone(),
    }
}

/// Performs the commands, and returns their results.
fn run(io: &mut Io<'_, RedisModel>, commands: &[Redis], keys: &mut [Open]) -> Result<Answer, Stop> {
    let is_torn = io.deviates(&rules::EXEC_ATOMIC)?;
    let mut results = Vec::new();
    for command in commands {
        let open = command.key().and_then(|key| keys.iter_mut().find(|open| open.key == *key));
        let result = match open {
            Some(open) => perform(io, &mut open.entry, &at_once(command))?,
            None => Answer::Any,
        };
        results.push(if is_torn { Answer::Any } else { result });
    }
    for open in keys.iter().filter(|open| open.entry != open.before) {
        open.cell.set(io, open.entry.clone())?;
    }
    Ok(Answer::Array(results))
}

/// Returns the responses to MULTI and to the commands, and `false` if one of the commands is refused.
fn begun(io: &mut Io<'_, RedisModel>, commands: &[Redis]) -> Result<(Vec<Answer>, bool), Stop> {
    let (mut answers, mut is_fine) = (vec![Redis::Ok.into()], true);
    for command in commands {
        let is_usable = *command != Redis::Incomplete || io.deviates(&rules::BAD_COMMAND)?;
        is_fine &= is_usable;
        answers.push(match command {
            Redis::Incomplete if is_usable => Answer::Any,
            Redis::Incomplete => Answer::Error("ERR"),
            _ => answer::queued(),
        });
    }
    Ok((answers, is_fine))
}

/// Executes a transaction, unless a watched key was changed.
pub(super) fn execute(io: &mut Io<'_, RedisModel>, conn: Conn, commands: &[Redis], watched: &[Name]) -> Turn {
    let own = WATCHED.edit(io, &conn)?;
    let mut keys = open(io, commands, watched)?;
    let watching = own.get(io)?.unwrap_or_default();
    if !watching.is_empty() {
        own.clear(io)?;
    }
    let (mut answers, is_fine) = begun(io, commands)?;
    let outcome = if is_fine && !is_aborted(io, conn, &watching, &keys)? {
        run(io, commands, &mut keys)?
    } else if is_fine {
        Redis::Nil.into()
    } else {
        Answer::Error("EXECABORT")
    };
    answers.push(outcome);
    io.send(conn, Answer::Transaction(answers))
}

/// Returns `true` if the transaction is not executed because of a watched key.
fn is_aborted(
    io: &mut Io<'_, RedisModel>,
    conn: Conn,
    watching: &[Name],
    keys: &[Open],
) -> Result<bool, Stop> {
    let mut is_known = true;
    let mut is_changed = false;
    for key in watching {
        match keys.iter().find(|open| open.key == *key) {
            Some(open) => {
                is_changed |= !open.entry.watchers.contains(&conn);
                // An expired key counts as changed, or not: that differs between versions.
                is_known &= !open.entry.may_expire();
            }
            // The script has left out a key, as may happen while it is made smaller.
            None => is_known = false,
        }
    }
    if is_changed {
        return Ok(!io.deviates(&rules::WATCH_ABORTS)?);
    }
    if !is_known {
        return Ok(io.choose(2)? == 1);
    }
    io.deviates(&rules::EXEC_RUNS)
}

/// Drops a transaction.
pub(super) fn discard(io: &mut Io<'_, RedisModel>, conn: Conn, commands: &[Redis]) -> Turn {
    let own = WATCHED.edit(io, &conn)?;
    let mut keys = open(io, commands, &[])?;
    own.clear(io)?;
    let (mut answers, _) = begun(io, commands)?;
    if io.deviates(&rules::DISCARD_DROPS)? {
        run(io, commands, &mut keys)?;
    }
    answers.push(Redis::Ok.into());
    io.send(conn, Answer::Transaction(answers))
}
