//! Histories of registers, key-value stores, counters and sets.

use std::sync::Arc;

use confute::history::{Edn, Entry, Misfit, Phase, Reading, Translated};

use super::{item, items, number};
use crate::{counter, kv, register, set};

/// Histories of gets, puts and appends.
pub static KV: Reading<kv::Message> = Reading {
    model: "key-value",
    has_keys: true,
    operations: "get, put and append",
    messages: |entry, end| {
        let key: Arc<str> = match &entry.key {
            Some(Edn::Str(key)) => Arc::from(&**key),
            Some(other) => other.to_string().into(),
            None => return Err(entry.misfit("an operation of the key-value model needs a :key")),
        };
        let request = match &*entry.f {
            "get" | "read" => kv::Message::Get(key),
            "put" | "write" => kv::Message::Put(key, text(entry)?.into()),
            "append" => kv::Message::Append(key, text(entry)?.into()),
            _ => return Err(KV.unknown(entry)),
        };
        let reads = matches!(request, kv::Message::Get(_));
        Translated::simple(request, end, |end| {
            Ok(if reads { kv::Message::Value(text(end)?.into()) } else { kv::Message::Done })
        })
    },
};

/// Histories of reads, writes and compare-and-swaps on one register.
pub static REGISTER: Reading<register::Message> = Reading {
    model: "register",
    has_keys: false,
    operations: "read, write and cas",
    messages: |entry, end| {
        use register::Message;
        let number = |entry: &Entry, value: &Edn| number("register", entry, value);
        match (&*entry.f, &entry.value) {
            ("read", _) => Translated::simple(Message::Read, end, |end| match &end.value {
                Edn::Nil => Ok(Message::Value(None)),
                value => Ok(Message::Value(Some(number(end, value)?))),
            }),
            ("write", value) => {
                Translated::simple(Message::Write(number(entry, value)?), end, |_| Ok(Message::Written))
            }
            ("cas", Edn::Vector(pair)) if pair.len() == 2 => {
                let request = Message::Cas { from: number(entry, &pair[0])?, to: number(entry, &pair[1])? };
                match end {
                    // It returned, with "no". If there is an error, that is why it failed, and the comparison may
                    // never have been made.
                    Some(end) if end.phase == Phase::Fail && end.error.is_none() => {
                        Ok(Translated::one(request, Some(Message::Swapped(false))))
                    }
                    _ => Translated::simple(request, end, |_| Ok(Message::Swapped(true))),
                }
            }
            ("cas", _) => Err(entry.misfit("a cas needs [from to]")),
            _ => Err(REGISTER.unknown(entry)),
        }
    },
};

/// Histories of additions and reads of one counter.
pub static COUNTER: Reading<counter::Message> = Reading {
    model: "counter",
    has_keys: false,
    operations: "add and read",
    messages: |entry, end| {
        use counter::Message;
        let number = |entry: &Entry| number("counter", entry, &entry.value);
        match &*entry.f {
            "add" => Translated::simple(Message::Add(number(entry)?), end, |_| Ok(Message::Added)),
            "read" => Translated::simple(Message::Read, end, |end| Ok(Message::Value(number(end)?))),
            _ => Err(COUNTER.unknown(entry)),
        }
    },
};

/// Histories of additions, removals, membership tests and reads of one set.
pub static SET: Reading<set::Message> = Reading {
    model: "set",
    has_keys: false,
    operations: "add, remove, contains and read",
    messages: |entry, end| {
        use set::Message;
        let answer = |value: &Edn| match value {
            Edn::Bool(true) => Some(Message::Yes),
            Edn::Bool(false) => Some(Message::No),
            _ => None,
        };
        let element = || item(entry, &entry.value);
        match &*entry.f {
            "add" => Translated::simple(Message::Add(element()?), end, |end| {
                Ok(answer(&end.value).unwrap_or(Message::Done))
            }),
            "remove" => Translated::simple(Message::Remove(element()?), end, |end| {
                Ok(answer(&end.value).unwrap_or(Message::Done))
            }),
            "contains" => Translated::simple(Message::Contains(element()?), end, |end| {
                answer(&end.value).ok_or_else(|| end.misfit("a contains ends with the value true or false"))
            }),
            "read" => Translated::simple(Message::Read, end, |end| {
                let mut elements = items(end, &end.value)?;
                elements.sort();
                Ok(Message::Elements(elements))
            }),
            _ => Err(SET.unknown(entry)),
        }
    },
};

fn text(entry: &Entry) -> Result<String, Misfit> {
    match &entry.value {
        Edn::Str(text) => Ok(text.to_string()),
        Edn::Nil => Ok(String::new()),
        Edn::Int(number) => Ok(number.to_string()),
        other => Err(entry.misfit(&format!("{other} is not a value of the key-value model"))),
    }
}
