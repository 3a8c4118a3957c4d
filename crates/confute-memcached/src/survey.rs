//! Finds out, before anything is judged, whether the server has `cas unique`s, and keeps something that shows that it has not
//! forgotten everything.

use confute_drive::{Talk, Trouble};

use crate::ask::{Ask, StoreKind};
use crate::message::{Line, Message};
use crate::protocol::Memcached;
use crate::rules;

/// What is asked of a server without `cas unique`s no more: all of them are 0, and no cas is granted.
const ABOUT_CAS: [&str; 2] = [rules::CAS_UNIQUE.name, rules::CAS_GRANTED.name];

/// The `cas unique` of a server that has none (`memcached -C`).
const NONE: &str = "0";

/// Which rules are not asked for.
pub(crate) fn waives(talk: &Talk<'_, Memcached>) -> Vec<&'static str> {
    // A server that cannot be asked is told of by its first case.
    if has_cas(talk).unwrap_or(true) { Vec::new() } else { ABOUT_CAS.to_vec() }
}

/// Says which, and why.
pub(crate) fn survey(talk: &Talk<'_, Memcached>) -> Vec<String> {
    if has_cas(talk).unwrap_or(true) {
        return Vec::new();
    }
    vec![format!(
        "the server has no cas (memcached -C): every cas unique is {NONE}; {} are not asked for",
        ABOUT_CAS.join(" and ")
    )]
}

/// Whether items have a `cas unique`: not if that of two different items in a row is 0. A server that repeats any other has
/// them, and is wrong.
fn has_cas(talk: &Talk<'_, Memcached>) -> Result<bool, Trouble> {
    for data in ["a", "b"] {
        set(talk, data)?;
        if !matches!(get(talk)?, Some(Line::Value { unique: Some(unique), .. }) if *unique == *NONE) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Stores a canary; whether that was done.
pub(crate) fn plant(talk: &Talk<'_, Memcached>) -> bool {
    set(talk, talk.name()).is_ok_and(|line| line == Some(Line::Stored))
}

/// How it looks.
pub(crate) fn canary(talk: &Talk<'_, Memcached>) -> Result<Option<String>, Trouble> {
    match get(talk)? {
        Some(value @ Line::Value { .. }) => Ok(Some(value.to_string())),
        Some(Line::Miss) => Ok(None),
        Some(other) => Err(Trouble::Unprepared(format!("get is answered with {other}"))),
        None => Err(Trouble::Unprepared("get is not answered".to_owned())),
    }
}

fn set(talk: &Talk<'_, Memcached>, data: &str) -> Result<Option<Line>, Trouble> {
    let (how, data) = (StoreKind::Set, data.to_owned());
    answer(talk, &Ask::Store { how, key: 0, flags: 0, exptime: 0, data, token: None, noreply: false })
}

fn get(talk: &Talk<'_, Memcached>) -> Result<Option<Line>, Trouble> {
    answer(talk, &Ask::Get { keys: vec![0], unique: true })
}

fn answer(talk: &Talk<'_, Memcached>, ask: &Ask) -> Result<Option<Line>, Trouble> {
    Ok(talk.ask(ask, talk.name())?.into_iter().find_map(|message| match message {
        Message::Answer(answer) => Some(answer.line),
        Message::Ask(_) => None,
    }))
}
