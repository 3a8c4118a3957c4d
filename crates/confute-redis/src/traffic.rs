//! The requests of Redis, and the sequences of requests that belong together.
//!
//! The number of a key decides on its usual type: a counter, a string, or a list. Otherwise most requests would meet a key of
//! another type. Now and then a request ignores this.

use confute_service::{Draw, Mix, Name};

use crate::message::{Batch, Millis, Redis, Timeout};

/// Seconds of a time to live that no case reaches.
const LONG: u32 = 5_000;

/// Returns the traffic of a Redis server.
///
/// Transactions are sequences, also those that watch nothing: no request of another sequence comes between a WATCH and the EXEC that
/// names its key.
pub fn traffic() -> Mix<Redis> {
    Mix::new()
        .names(6)
        .kind(24, |draw| {
            let key = draw.name();
            command(draw, key)
        })
        .kind(1, |draw| draw.one_of(&[Redis::Incomplete, Redis::Ping]))
        .kind(2, |draw| {
            let key = draw.name();
            let is_list = usual_type(&key) == LIST;
            if is_list { Redis::BlPop(key, Timeout::FOREVER) } else { command(draw, key) }
        })
        .sequence(4, |draw| vec![Redis::Exec { commands: commands(draw), watched: Vec::new() }])
        .sequence(2, |draw| vec![Redis::Discard { commands: commands(draw), watched: Vec::new() }])
        .sequence(8, |draw| {
            // A look, and a write that depends on it.
            let key = draw.name();
            let writes = Batch(vec![command(draw, key.clone()), command(draw, key.clone())]);
            vec![Redis::Watch(key.clone()), look(&key), Redis::Exec { commands: writes, watched: vec![key] }]
        })
        .sequence(1, |draw| {
            let (one, other) = (draw.name(), draw.name());
            let (watched, commands) = (vec![one.clone(), other.clone()], commands(draw));
            vec![Redis::Watch(one), Redis::Watch(other), Redis::Exec { commands, watched }]
        })
        .sequence(1, |draw| {
            // A change of its own counts, too.
            let key = draw.name();
            let (own, commands, watched) = (command(draw, key.clone()), commands(draw), vec![key.clone()]);
            vec![Redis::Watch(key), own, Redis::Exec { commands, watched }]
        })
        .sequence(1, |draw| {
            let (key, commands) = (draw.name(), commands(draw));
            let watched = vec![key.clone()];
            let forgets = match draw.below(3) {
                0 => Redis::Unwatch,
                1 => Redis::Discard { commands: commands.clone(), watched: watched.clone() },
                _ => Redis::Watch(key.clone()),
            };
            vec![Redis::Watch(key), forgets, Redis::Exec { commands, watched }]
        })
        .last(Redis::Del)
}

/// Milliseconds of a short time to live, and of a nap that is longer than it by more than the model grants.
const SHORT: u32 = 20;
const NAP: Millis = Millis(1_200);

/// Returns the traffic with keys that expire while their connection takes a nap. A case takes longer for it.
pub fn expiring_traffic() -> Mix<Redis> {
    traffic().sequence(2, |draw| {
        let key = draw.name();
        let write = command(draw, key.clone());
        vec![write, Redis::Mortal(key.clone(), SHORT), Redis::Nap(NAP), Redis::Aged(key)]
    })
}

/// Returns a request that shows the content of a key.
fn look(key: &Name) -> Redis {
    if usual_type(key) == LIST { Redis::LRange(key.clone()) } else { Redis::Get(key.clone()) }
}

const COUNTER: u32 = 0;
const TEXT: u32 = 1;
const LIST: u32 = 2;

fn usual_type(key: &Name) -> u32 {
    key.script_number().unwrap_or_default() % 3
}

/// Returns commands of a transaction, which may be unusable.
fn commands(draw: &mut Draw<'_>) -> Batch {
    // Mostly on one key: every transaction on two makes them one part of the state.
    let (first, are_many) = (draw.name(), draw.below(4) == 3);
    let mut commands = Vec::new();
    for _ in 0..=draw.below(3) {
        let key = if are_many { draw.name() } else { first.clone() };
        commands.push(if draw.below(16) == 15 { Redis::Incomplete } else { command(draw, key) });
    }
    Batch(commands)
}

/// Returns a command on a key.
fn command(draw: &mut Draw<'_>, key: Name) -> Redis {
    let kind = if draw.below(16) == 15 { draw.below(3) as u32 } else { usual_type(&key) };
    match draw.below(32) {
        0 => return Redis::Expire(key, draw.one_of(&[LONG, LONG, LONG, 1])),
        1 => return Redis::Ttl(key),
        2 | 3 => return Redis::Del(key),
        _ => {}
    }
    match (kind, draw.below(16)) {
        (COUNTER, 0..=9) => Redis::Incr(key),
        (COUNTER, 10..=14) => Redis::Get(key),
        // Rarely anything else: an INCR that overwrites another write can be told less surely from a write that is lost.
        (COUNTER, _) => match draw.below(9) {
            0 => Redis::GetSet(key, number(draw)),
            1 => Redis::Append(key, draw.below(10).to_string()),
            2 => Redis::Set(key, number(draw)),
            _ => Redis::Incr(key),
        },
        (TEXT, 0..=4) => Redis::Get(key),
        (TEXT, 5..=8) => Redis::Set(key, draw.text()),
        (TEXT, 9 | 10) => Redis::SetNx(key, draw.text()),
        (TEXT, 11 | 12) => Redis::GetSet(key, draw.text()),
        (TEXT, _) => Redis::Append(key, draw.text()),
        (_, 0..=3) => Redis::RPush(key, element(draw)),
        (_, 4 | 5) => Redis::LPush(key, element(draw)),
        (_, 6..=9) => Redis::BlPop(key, draw.one_of(&[Timeout(5), Timeout(30)])),
        (_, 10) => Redis::LPop(key),
        _ => Redis::LRange(key),
    }
}

/// Returns an element of a list. Nearly all differ, so that one that comes again was given twice.
fn element(draw: &mut Draw<'_>) -> String {
    let text = draw.text();
    if text.starts_with('v') || draw.below(8) == 7 { text } else { draw.text() }
}

/// Returns the text of a number, sometimes of the largest one.
fn number(draw: &mut Draw<'_>) -> String {
    match draw.below(8) {
        0 => i64::MAX.to_string(),
        1 => format!("-{}", 1 + draw.below(5)),
        _ => draw.below(1_000).to_string(),
    }
}
