//! Histories of registers, key-value stores, counters and sets.

use std::sync::Arc;

use confute::history::{Edn, Entry, Phase};

use super::{Exchange, Misfit, Reading, item, items, misfit, number, simple, unknown};
use crate::{counter, kv, register, set};

/// Histories of gets, puts and appends.
pub static KV: Reading<kv::Message> = Reading {
    model: "key-value",
    has_keys: true,
    operations: "get, put and append",
    exchange: |entry, end| {
        let key: Arc<str> = match &entry.key {
            Some(Edn::Str(key)) => Arc::from(&**key),
            Some(other) => other.to_string().into(),
            None => return Err(misfit(entry, "an operation of the key-value model needs a :key")),
        };
        let request = match &*entry.f {
            "get" | "read" => kv::Message::Get(key),
            "put" | "write" => kv::Message::Put(key, text(entry)?.into()),
            "append" => kv::Message::Append(key, text(entry)?.into()),
            _ => return Err(unknown(&KV, entry)),
        };
        let reads = matches!(request, kv::Message::Get(_));
        simple(request, end, |end| {
            Ok(if reads { kv::Message::Value(text(end)?.into()) } else { kv::Message::Done })
        })
    },
};

/// Histories of reads, writes and compare-and-swaps on one register.
pub static REGISTER: Reading<register::Message> = Reading {
    model: "register",
    has_keys: false,
    operations: "read, write and cas",
    exchange: |entry, end| {
        use register::Message;
        let number = |entry: &Entry, value: &Edn| number("register", entry, value);
        match (&*entry.f, &entry.value) {
            ("read", _) => simple(Message::Read, end, |end| match &end.value {
                Edn::Nil => Ok(Message::Value(None)),
                value => Ok(Message::Value(Some(number(end, value)?))),
            }),
            ("write", value) => simple(Message::Write(number(entry, value)?), end, |_| Ok(Message::Written)),
            ("cas", Edn::Vector(pair)) if pair.len() == 2 => {
                let request = Message::Cas { from: number(entry, &pair[0])?, to: number(entry, &pair[1])? };
                match end {
                    // It returned, with "no". If there is an error, that is why it failed, and the comparison may
                    // never have been made.
                    Some(end) if end.phase == Phase::Fail && end.error.is_none() => {
                        Ok(Exchange::one(request, Some(Message::Swapped(false))))
                    }
                    _ => simple(request, end, |_| Ok(Message::Swapped(true))),
                }
            }
            ("cas", _) => Err(misfit(entry, "a cas needs [from to]")),
            _ => Err(unknown(&REGISTER, entry)),
        }
    },
};

/// Histories of additions and reads of one counter.
pub static COUNTER: Reading<counter::Message> = Reading {
    model: "counter",
    has_keys: false,
    operations: "add and read",
    exchange: |entry, end| {
        use counter::Message;
        let number = |entry: &Entry| number("counter", entry, &entry.value);
        match &*entry.f {
            "add" => simple(Message::Add(number(entry)?), end, |_| Ok(Message::Added)),
            "read" => simple(Message::Read, end, |end| Ok(Message::Value(number(end)?))),
            _ => Err(unknown(&COUNTER, entry)),
        }
    },
};

/// Histories of additions, removals, membership tests and reads of one set.
pub static SET: Reading<set::Message> =
    Reading {
        model: "set",
        has_keys: false,
        operations: "add, remove, contains and read",
        exchange: |entry, end| {
            use set::Message;
            let answer = |value: &Edn| match value {
                Edn::Bool(true) => Some(Message::Yes),
                Edn::Bool(false) => Some(Message::No),
                _ => None,
            };
            let element = || item(entry, &entry.value);
            match &*entry.f {
                "add" => simple(Message::Add(element()?), end, |end| {
                    Ok(answer(&end.value).unwrap_or(Message::Done))
                }),
                "remove" => simple(Message::Remove(element()?), end, |end| {
                    Ok(answer(&end.value).unwrap_or(Message::Done))
                }),
                "contains" => simple(Message::Contains(element()?), end, |end| {
                    answer(&end.value)
                        .ok_or_else(|| misfit(end, "a contains ends with the value true or false"))
                }),
                "read" => simple(Message::Read, end, |end| {
                    let mut elements = items(end, &end.value)?;
                    elements.sort();
                    Ok(Message::Elements(elements))
                }),
                _ => Err(unknown(&SET, entry)),
            }
        },
    };

fn text(entry: &Entry) -> Result<String, Misfit> {
    match &entry.value {
        Edn::Str(text) => Ok(text.to_string()),
        Edn::Nil => Ok(String::new()),
        Edn::Int(number) => Ok(number.to_string()),
        other => Err(misfit(entry, &format!("{other} is not a value of the key-value model"))),
    }
}
