//! A correct Redis server.
//!
//! Commands are performed one after the other, each as a whole. A key is a cell, so requests for different keys are judged apart; the
//! keys that a connection watches are a cell of the connection.

mod answer;
mod command;
mod entry;
mod transaction;

use confute::lang::{Conn, Io, Rule, ServerModel, Table, Turn};
use confute_service::Name;

use crate::message::Redis;
use crate::rules;
pub use answer::Answer;
use command::perform;
use entry::Entry;

/// The keys.
const KEYS: Table<Name, Entry> = Table::new("keys");
/// The keys that each connection watches.
const WATCHED: Table<Conn, Vec<Name>> = Table::new("watched");

/// The model of a correct server.
#[derive(Clone, Copy, Debug, Default)]
pub struct RedisModel;

impl ServerModel for RedisModel {
    type Msg = Redis;
    type Out = Answer;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        if let Some(key) = request.key() {
            return single(io, conn, key, &request);
        }
        match &*request {
            Redis::Watch(key) => transaction::watch(io, conn, key),
            Redis::Unwatch => {
                WATCHED.edit(io, &conn)?.clear(io)?;
                io.send(conn, Redis::Ok)
            }
            Redis::Exec { commands, watched } => transaction::execute(io, conn, &commands.0, watched),
            Redis::Discard { commands, .. } => transaction::discard(io, conn, &commands.0),
            Redis::Incomplete => {
                let answer =
                    if io.deviates(&rules::BAD_COMMAND)? { Answer::Any } else { Answer::Error("ERR") };
                io.send(conn, answer)
            }
            Redis::Ping => io.send(conn, Redis::Simple("PONG".to_owned())),
            Redis::Info | Redis::Nap(_) => io.send(conn, Answer::Any),
            _ => io.replies(0),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        rules::ALL
    }
}

/// Performs a command on its own.
fn single(io: &mut Io<'_, RedisModel>, conn: Conn, key: &Name, command: &Redis) -> Turn {
    if command.only_reads() {
        let mut entry = KEYS.view(io, key)?.get(io)?.unwrap_or_default();
        let answer = perform(io, &mut entry, command)?;
        return io.send(conn, answer);
    }
    let cell = KEYS.edit(io, key)?;
    if let Redis::Set(_, text) = command {
        // It depends on nothing, so nothing is read.
        let is_lost = io.deviates(&rules::KEEPS_WRITES)?
            || (io.deviates(&rules::INCR_ATOMIC)? && cell.get(io)?.is_some_and(|entry| entry.is_counted));
        if !is_lost {
            let mut entry = Entry::default();
            entry.store(text);
            cell.set(io, entry)?;
        }
        return io.send(conn, Redis::Ok);
    }
    let before = cell.get(io)?;
    let mut entry = before.clone().unwrap_or_default();
    let answer = perform(io, &mut entry, command)?;
    if before.unwrap_or_default() != entry {
        cell.set(io, entry)?;
    }
    io.send(conn, answer)
}
