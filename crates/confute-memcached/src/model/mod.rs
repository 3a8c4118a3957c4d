//! The model: a correct memcached, one request per turn.
//!
//! A cell holds one item. Every item carries secrets: its `cas unique`, the time at which the server loses
//! it, and the time at which it expires, if it does. These times are never sent; a miss implies that the item
//! was gone before the response was received ([`Reply`]), and then no request sent later may find it. The
//! model therefore needs no internal turns, and a get only reads.
//!
//! The model allows everything that `protocol.txt` leaves open: a `SERVER_ERROR` at any time (the command was
//! not carried out; the item may be lost with it, as with any other request), blanks after a number that
//! became shorter, a touch that changes the `cas unique`, and equal `cas unique`s for different keys. It
//! assumes that the requests of one connection are handled in order, that the keys of one get are too, and
//! that a valid request with `noreply` gets no response at all, not even an error.

mod count;
mod item;
mod number;
mod reply;
mod store;

use confute::knowledge::Literal;
use confute::lang::{Conn, Formula, Io, Number, Rule, ServerModel, Slot, Stop, Sym, Table, Token, Turn};

use crate::message::{Command, Key, Message, Request, ResponseLine, Store};
use crate::rules;

pub(crate) use item::{Content, Entry, Item};
pub use reply::Reply;
pub(crate) use reply::{Say, There};

const ITEMS: Table<Key, Entry> = Table::new("items");

/// The model of a memcached server.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemcachedModel {
    /// `true` if the server is known to keep every item until it expires, and not to fail. The protocol does
    /// not promise this: if the setting is wrong for a server, correct behaviour is reported as a violation.
    pub keeps: bool,
}

/// State of the item that a request is about to change.
enum Found {
    /// The item exists.
    There(Item),
    /// The item existed, and the server lost it.
    Vanished(Item),
    /// The item was never stored, or was deleted.
    Absent,
    /// The server fails to carry out the request.
    Failed,
}

impl ServerModel for MemcachedModel {
    type Msg = Message;
    type Out = Reply;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        let Message::Ask(request) = &*message else { return io.replies(0) };
        if let Command::Get { key, unique, .. } = &request.command {
            return self.get(io, conn, request, key, *unique);
        }
        if request.noreply {
            io.replies(0)?;
        }
        let cell = ITEMS.edit(io, request.command.key())?;
        // As in memcached, a set that fails may remove the item: the model treats that as a lost item.
        let silent_failure = if self.keeps { &rules::NOREPLY_DONE } else { &rules::NOREPLY_SERVED };
        if request.noreply && io.deviates(silent_failure)? {
            return Ok(());
        }
        if !request.noreply && io.deviates(&rules::VALID_ACCEPTED)? {
            return io.send(conn, Reply::say(Say::Refused));
        }
        let turn = Change { model: self, conn, request, cell };
        match &request.command {
            Command::Get { .. } => Ok(()),
            Command::Store { how, flags, exptime, data, .. } => turn.store(io, how, *flags, *exptime, data),
            Command::Delete { .. } => turn.delete(io),
            Command::Count { up, by, .. } => turn.count(io, *up, *by),
            Command::Touch { exptime, .. } => turn.touch(io, *exptime),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        rules::ALL
    }
}

impl MemcachedModel {
    /// Returns `true` if the server may have lost this item, or the item may have expired.
    fn may_miss(self, item: &Item) -> bool {
        !self.keeps || item.dies.is_some()
    }

    fn get(self, io: &mut Io<'_, Self>, conn: Conn, request: &Request, key: &Key, unique: bool) -> Turn {
        let cell = ITEMS.view(io, key)?;
        if io.deviates(&rules::VALID_ACCEPTED)? {
            return io.send(conn, Reply::say(Say::Refused));
        }
        let Entry { item, old } = cell.get(io)?.unwrap_or_default();
        let Some(item) = item else {
            let phantom = io.deviates(&rules::NO_PHANTOMS)?;
            let say = if phantom { Say::AnyItem(key.clone()) } else { Say::ResponseLine(ResponseLine::Miss) };
            return answer(io, conn, request, Reply { tolerant: true, ..Reply::say(say) });
        };
        let may_miss = self.may_miss(&item);
        let content = (!io.deviates(&rules::GET_LATEST)?).then_some(item.content);
        let flags = (!io.deviates(&rules::FLAGS_KEPT)?).then_some(item.flags);
        let mut token = None;
        if unique && !io.deviates(&rules::CAS_STABLE)? {
            old.iter().try_for_each(|old| io.assume(different(old, &item.token)))?;
            token = Some(item.token);
        }
        let kept = !io.deviates(&rules::GONE_STAYS_GONE)?;
        let there =
            Some(There { gone: kept.then(|| item.gone.clone()), dies: item.dies, sent_at: request.sent_at });
        let say = Say::Item {
            key: key.clone(),
            content,
            flags,
            unique,
            token,
            gone: may_miss.then_some(item.gone),
        };
        answer(io, conn, request, Reply { tolerant: true, there, ..Reply::say(say) })
    }
}

/// Sends a response, which may be malformed by a deviation.
fn answer(io: &mut Io<'_, MemcachedModel>, conn: Conn, request: &Request, reply: Reply) -> Turn {
    if io.deviates(&rules::WELL_FORMED)? {
        return io.send(conn, Reply::say(Say::Garbled(request.command.clone())));
    }
    io.send(conn, reply)
}

/// The turn of a request that may change an item.
struct Change<'a> {
    model: &'a MemcachedModel,
    conn: Conn,
    request: &'a Request,
    cell: Slot<Entry>,
}

impl Change<'_> {
    /// Looks up the item. A server may fail, but not silently: silent failures are deviations from a rule of their own.
    fn look(&self, io: &mut Io<'_, MemcachedModel>) -> Result<(Found, Entry), Stop> {
        let mut entry = self.cell.get(io)?.unwrap_or_default();
        let quiet = self.request.noreply;
        if !self.model.keeps && !quiet && io.choose(2)? == 1 {
            return Ok((Found::Failed, entry));
        }
        let found = match entry.item.take() {
            None => Found::Absent,
            Some(item) if self.overwrites() || !self.model.may_miss(&item) => Found::There(item),
            Some(item) if io.choose(2)? == 0 => Found::There(item),
            Some(item) => Found::Vanished(item),
        };
        // No response will imply that the item existed when the request was sent, so that is assumed here.
        if let Found::There(item) = &found
            && quiet
            && !self.overwrites()
        {
            let sent = moment(self.request.sent_at);
            if !io.deviates(&rules::GONE_STAYS_GONE)? {
                io.assume(sent.less_than(&item.gone))?;
            }
            if let Some(dies) = &item.dies {
                io.assume(sent.less_than(dies))?;
            }
        }
        Ok((found, entry))
    }

    /// Returns `true` if the request has the same effect whether or not an item exists.
    fn overwrites(&self) -> bool {
        matches!(self.request.command, Command::Store { how: Store::Set, .. })
    }

    /// Writes the entry into the cell; an empty entry clears it.
    fn put(&self, io: &mut Io<'_, MemcachedModel>, entry: Entry) -> Turn {
        if entry == Entry::default() { self.cell.clear(io) } else { self.cell.set(io, entry) }
    }

    fn answer(&self, io: &mut Io<'_, MemcachedModel>, reply: Reply) -> Turn {
        if self.request.noreply { Ok(()) } else { answer(io, self.conn, self.request, reply) }
    }

    /// Returns a response which implies that the item existed.
    fn there(&self, io: &mut Io<'_, MemcachedModel>, item: &Item, say: Say) -> Result<Reply, Stop> {
        if self.request.noreply {
            return Ok(Reply::say(say));
        }
        let kept = !io.deviates(&rules::GONE_STAYS_GONE)?;
        let (gone, dies) = (kept.then(|| item.gone.clone()), item.dies.clone());
        let there = Some(There { gone, dies, sent_at: self.request.sent_at });
        Ok(Reply { there, ..Reply::say(say) })
    }

    /// Responds with a `SERVER_ERROR`.
    fn fail(&self, io: &mut Io<'_, MemcachedModel>) -> Turn {
        self.answer(io, Reply::say(Say::Failed))
    }

    fn delete(&self, io: &mut Io<'_, MemcachedModel>) -> Turn {
        let (found, entry) = self.look(io)?;
        match found {
            Found::There(item) => {
                let reply = self.there(io, &item, Say::ResponseLine(ResponseLine::Deleted))?;
                if !io.deviates(&rules::DELETE_REMOVES)? {
                    self.put(io, entry.followed(&item))?;
                }
                self.answer(io, reply)
            }
            Found::Vanished(item) => self.vanished(io, entry, &item, ResponseLine::NotFound),
            Found::Absent => {
                let claims = io.deviates(&rules::DELETE_CHECKED)?;
                self.nothing(io, if claims { ResponseLine::Deleted } else { ResponseLine::NotFound })
            }
            Found::Failed => self.fail(io),
        }
    }

    fn touch(&self, io: &mut Io<'_, MemcachedModel>, exptime: i64) -> Turn {
        let (found, entry) = self.look(io)?;
        match found {
            Found::There(item) => {
                let reply = self.there(io, &item, Say::ResponseLine(ResponseLine::Touched))?;
                // `protocol.txt` does not say whether a touch changes the `cas unique`: the fresh token may
                // equal the old one.
                let (token, gone) = (io.fresh()?, io.fresh()?);
                let next = Item { token, gone, dies: None, ..item.clone() };
                let (next, expires) = self.lives(io, next, exptime)?;
                let entry = if next.is_none() { entry.followed(&item) } else { entry };
                self.put(io, Entry { item: next, ..entry })?;
                self.answer(io, Reply { expires, ..reply })
            }
            Found::Vanished(item) => self.vanished(io, entry, &item, ResponseLine::NotFound),
            Found::Absent => {
                let claims = io.deviates(&rules::TOUCH_CHECKED)?;
                self.nothing(io, if claims { ResponseLine::Touched } else { ResponseLine::NotFound })
            }
            Found::Failed => self.fail(io),
        }
    }

    /// Responds that there is no item, and changes nothing.
    fn nothing(&self, io: &mut Io<'_, MemcachedModel>, line: ResponseLine) -> Turn {
        self.answer(io, Reply::say(Say::ResponseLine(line)))
    }

    /// Removes a lost item, and responds with a line which implies that it is gone.
    fn vanished(
        &self,
        io: &mut Io<'_, MemcachedModel>,
        entry: Entry,
        item: &Item,
        line: ResponseLine,
    ) -> Turn {
        self.put(io, entry.followed(item))?;
        self.answer(io, Reply { vanished: Some(item.gone.clone()), ..Reply::say(Say::ResponseLine(line)) })
    }
}

/// Returns a known time as a symbolic number.
fn moment(micros: u64) -> Sym<Number> {
    Sym::known(&i64::try_from(micros).unwrap_or(i64::MAX))
}

/// Returns the formula that two tokens differ.
fn different(one: &Sym<Token>, other: &Sym<Token>) -> Formula {
    Formula::Literal(Literal::Ne(one.term().clone(), other.term().clone()))
}
