//! The storage commands.

use confute::lang::{Io, Number, Stop, Sym, Turn};

use super::{Change, Content, Entry, Found, Item, MemcachedModel, Reply, Say, different};
use crate::data::Data;
use crate::message::{ResponseLine, Store, Unique};
use crate::rules;

/// Largest expiration time, in seconds, that is relative; larger values are dates.
const MOST_SECONDS: i64 = 60 * 60 * 24 * 30;
/// Extra lifetime granted to an item, in seconds. The server's clock ticks once a second, "which makes
/// expiration time roughly +/- 1s", and a busy machine may be late.
const SLACK_SECONDS: i64 = 5;

/// Time by which an item is gone for certain: its expiration time is at most this many microseconds after the response.
pub(super) type Expires = Option<(Sym<Number>, i64)>;

impl Change<'_> {
    pub(super) fn store(
        &self,
        io: &mut Io<'_, MemcachedModel>,
        how: &Store,
        flags: u32,
        exptime: i64,
        data: &Data,
    ) -> Turn {
        let (found, entry) = self.look(io)?;
        let new = |io: &mut Io<'_, MemcachedModel>| -> Result<_, Stop> {
            let (token, gone) = (io.fresh()?, io.fresh()?);
            let item = Item { content: Content::Exact(data.clone()), flags, token, gone, dies: None };
            self.lives(io, item, exptime)
        };
        match (how, found) {
            (_, Found::Failed) => self.fail(io),
            (Store::Set, Found::There(item) | Found::Vanished(item)) => {
                // A set has the same effect whether or not the item existed.
                let (next, expires) = new(io)?;
                let entry = entry.followed(&item);
                self.replaced(
                    io,
                    entry,
                    next,
                    Reply { expires, ..Reply::say(Say::ResponseLine(ResponseLine::Stored)) },
                )
            }
            (Store::Set | Store::Add, Found::Absent) => {
                let (next, expires) = new(io)?;
                self.replaced(
                    io,
                    entry,
                    next,
                    Reply { expires, ..Reply::say(Say::ResponseLine(ResponseLine::Stored)) },
                )
            }
            (Store::Add, Found::Vanished(item)) => {
                let (next, expires) = new(io)?;
                let vanished = Some(item.gone.clone());
                let reply =
                    Reply { vanished, expires, ..Reply::say(Say::ResponseLine(ResponseLine::Stored)) };
                self.replaced(io, entry.followed(&item), next, reply)
            }
            (Store::Add, Found::There(item)) => {
                if io.deviates(&rules::ADD_CHECKED)? {
                    return self.overwrite(io, entry, &item, new);
                }
                let reply = self.there(io, &item, Say::ResponseLine(ResponseLine::NotStored))?;
                self.answer(io, reply)
            }
            (Store::Replace, Found::There(item)) => self.overwrite(io, entry, &item, new),
            (Store::Replace, Found::Absent) if io.deviates(&rules::REPLACE_CHECKED)? => {
                let (next, expires) = new(io)?;
                self.replaced(
                    io,
                    entry,
                    next,
                    Reply { expires, ..Reply::say(Say::ResponseLine(ResponseLine::Stored)) },
                )
            }
            (Store::Append | Store::Prepend, Found::Absent) if io.deviates(&rules::APPEND_CHECKED)? => {
                let (next, _) = new(io)?;
                self.replaced(io, entry, next, Reply::say(Say::ResponseLine(ResponseLine::Stored)))
            }
            (Store::Append | Store::Prepend, Found::There(item)) => self.join(io, how, entry, &item, data),
            (Store::Cas(given), Found::There(item)) => {
                if !self.grants(io, &entry, &item, given)? {
                    let reply = self.there(io, &item, Say::ResponseLine(ResponseLine::Exists))?;
                    return self.answer(io, reply);
                }
                self.overwrite(io, entry, &item, new)
            }
            (Store::Cas(_), Found::Vanished(item)) => self.vanished(io, entry, &item, ResponseLine::NotFound),
            (Store::Cas(_), Found::Absent) if io.deviates(&rules::CAS_CHECKED)? => {
                let (next, expires) = new(io)?;
                self.replaced(
                    io,
                    entry,
                    next,
                    Reply { expires, ..Reply::say(Say::ResponseLine(ResponseLine::Stored)) },
                )
            }
            (Store::Cas(_), Found::Absent) => self.nothing(io, ResponseLine::NotFound),
            (_, Found::Vanished(item)) => self.vanished(io, entry, &item, ResponseLine::NotStored),
            (_, Found::Absent) => self.nothing(io, ResponseLine::NotStored),
        }
    }

    /// Returns `true` if a cas succeeds.
    fn grants(
        &self,
        io: &mut Io<'_, MemcachedModel>,
        entry: &Entry,
        item: &Item,
        given: &Unique,
    ) -> Result<bool, Stop> {
        if !io.branch(item.token.is(given))? {
            return io.deviates(&rules::CAS_CHECKED);
        }
        let given = Sym::known(given);
        entry.old.iter().try_for_each(|old| io.assume(different(old, &given)))?;
        Ok(!io.deviates(&rules::CAS_GRANTED)?)
    }

    /// Stores over an existing item.
    fn overwrite(
        &self,
        io: &mut Io<'_, MemcachedModel>,
        entry: Entry,
        item: &Item,
        new: impl FnOnce(&mut Io<'_, MemcachedModel>) -> Result<(Option<Item>, Expires), Stop>,
    ) -> Turn {
        let reply = self.there(io, item, Say::ResponseLine(ResponseLine::Stored))?;
        let (next, expires) = new(io)?;
        self.replaced_over(io, entry, item, next, Reply { expires, ..reply })
    }

    /// Appends or prepends to the existing data.
    fn join(
        &self,
        io: &mut Io<'_, MemcachedModel>,
        how: &Store,
        entry: Entry,
        item: &Item,
        data: &Data,
    ) -> Turn {
        if !self.request.noreply && io.deviates(&rules::APPEND_TOLD)? {
            let reply = self.there(io, item, Say::ResponseLine(ResponseLine::NotStored))?;
            return self.answer(io, reply);
        }
        let reply = self.there(io, item, Say::ResponseLine(ResponseLine::Stored))?;
        let there = self.exact(io, &item.content)?;
        let content = if io.deviates(&rules::APPEND_KEEPS)? {
            data.clone()
        } else if *how == Store::Append {
            there.join(data)
        } else {
            data.join(&there)
        };
        let next = Item { content: Content::Exact(content), token: io.fresh()?, ..item.clone() };
        self.replaced_over(io, entry, item, Some(next), reply)
    }

    /// Returns the bytes of the content: if blanks may follow a number, some number of them.
    fn exact(&self, io: &mut Io<'_, MemcachedModel>, content: &Content) -> Result<Data, Stop> {
        Ok(match content {
            Content::Exact(data) => data.clone(),
            Content::Padded { number, width } => {
                let digits = number.to_string();
                let blanks = io.choose(width.saturating_sub(digits.len()) + 1)?;
                (digits + &" ".repeat(blanks)).into()
            }
        })
    }

    /// Replaces `item` by `next` and responds.
    pub(super) fn replaced_over(
        &self,
        io: &mut Io<'_, MemcachedModel>,
        entry: Entry,
        item: &Item,
        next: Option<Item>,
        reply: Reply,
    ) -> Turn {
        self.replaced(io, entry.followed(item), next, reply)
    }

    fn replaced(
        &self,
        io: &mut Io<'_, MemcachedModel>,
        mut entry: Entry,
        next: Option<Item>,
        reply: Reply,
    ) -> Turn {
        if next.is_some() && !entry.old.is_empty() && io.deviates(&rules::CAS_UNIQUE)? {
            entry.old.clear();
        }
        if self.request.noreply || !io.deviates(&rules::STORE_LASTS)? {
            self.put(io, Entry { item: next, ..entry })?;
        }
        self.answer(io, reply)
    }

    /// Returns the item with its lifetime from now on: none, until some time after the response, or unlimited.
    pub(super) fn lives(
        &self,
        io: &mut Io<'_, MemcachedModel>,
        item: Item,
        exptime: i64,
    ) -> Result<(Option<Item>, Expires), Stop> {
        if exptime == 0 || io.deviates(&rules::EXPIRES)? {
            return Ok((Some(item), None));
        }
        if exptime < 0 {
            return Ok((None, None));
        }
        if exptime > MOST_SECONDS {
            // Dates depend on the server's clock, so they are not checked.
            return Ok((Some(item), None));
        }
        let dies: Sym<Number> = io.fresh()?;
        let expires = Some((dies.clone(), (exptime + SLACK_SECONDS) * 1_000_000));
        Ok((Some(Item { dies: Some(dies), ..item }), expires))
    }
}
