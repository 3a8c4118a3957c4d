//! Preparation of a run: checks whether the server supports `cas unique`, and plants a canary item whose loss
//! shows that the server has lost all its items.

use confute_drive::{Talk, Trouble};

use crate::ask::{Ask, StoreKind};
use crate::message::{Message, ResponseLine};
use crate::protocol::Memcached;
use crate::rules;

/// Rules that are waived for a server without `cas unique`: all of its values are 0, and no cas is granted.
const ABOUT_CAS: [&str; 2] = [rules::CAS_UNIQUE.name, rules::CAS_GRANTED.name];

/// The `cas unique` in responses of a server without cas (`memcached -C`).
const NONE: &str = "0";

/// Returns the names of the rules that are waived for this server.
pub(crate) fn waives(talk: &Talk<'_, Memcached>) -> Vec<&'static str> {
    // A server that cannot be reached is reported by the first case.
    if has_cas(talk).unwrap_or(true) { Vec::new() } else { ABOUT_CAS.to_vec() }
}

/// Describes the waived rules and the reason, for the report.
pub(crate) fn survey(talk: &Talk<'_, Memcached>) -> Vec<String> {
    if has_cas(talk).unwrap_or(true) {
        return Vec::new();
    }
    vec![format!(
        "the server has no cas (memcached -C): every cas unique is {NONE}; {} are not required",
        ABOUT_CAS.join(" and ")
    )]
}

/// Returns `true` if items have a `cas unique`, and `false` if it is 0 for two different values in a row. A
/// server that repeats any other value supports cas and violates a rule.
fn has_cas(talk: &Talk<'_, Memcached>) -> Result<bool, Trouble> {
    for data in ["a", "b"] {
        set(talk, data)?;
        if !matches!(get(talk)?, Some(ResponseLine::Value { unique: Some(unique), .. }) if *unique == *NONE) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Stores the canary. Returns `true` if the server confirmed it.
pub(crate) fn plant(talk: &Talk<'_, Memcached>) -> bool {
    set(talk, talk.name()).is_ok_and(|line| line == Some(ResponseLine::Stored))
}

/// Returns the canary as the server holds it now, or `None` if it is lost.
pub(crate) fn canary(talk: &Talk<'_, Memcached>) -> Result<Option<String>, Trouble> {
    match get(talk)? {
        Some(value @ ResponseLine::Value { .. }) => Ok(Some(value.to_string())),
        Some(ResponseLine::Miss) => Ok(None),
        Some(other) => Err(Trouble::Unprepared(format!("get is answered with {other}"))),
        None => Err(Trouble::Unprepared("get is not answered".to_owned())),
    }
}

fn set(talk: &Talk<'_, Memcached>, data: &str) -> Result<Option<ResponseLine>, Trouble> {
    let (how, data) = (StoreKind::Set, data.to_owned());
    answer(talk, &Ask::Store { how, key: 0, flags: 0, exptime: 0, data, token: None, noreply: false })
}

fn get(talk: &Talk<'_, Memcached>) -> Result<Option<ResponseLine>, Trouble> {
    answer(talk, &Ask::Get { keys: vec![0], unique: true })
}

fn answer(talk: &Talk<'_, Memcached>, ask: &Ask) -> Result<Option<ResponseLine>, Trouble> {
    Ok(talk.ask(ask, talk.name())?.into_iter().find_map(|message| match message {
        Message::Answer(answer) => Some(answer.line),
        Message::Ask(_) => None,
    }))
}
