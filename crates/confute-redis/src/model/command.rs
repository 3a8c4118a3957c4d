//! The commands on one key.

use confute::lang::{Io, Number, Stop, Turn};

use super::RedisModel;
use super::answer::Answer;
use super::entry::{Death, Entry, Value};
use crate::message::{Batch, Redis, Timeout};
use crate::rules;

type Performed = Result<Answer, Stop>;

/// Performs a command on the content of its key, and returns the response.
pub(crate) fn perform(io: &mut Io<'_, RedisModel>, entry: &mut Entry, command: &Redis) -> Performed {
    // The server looks at its clock when it likes: the moment at which a key expires is its choice.
    if entry.may_expire() && io.choose(2)? == 1 {
        lapse(io, entry)?;
    }
    if let Redis::Aged(_) = command {
        return aged(io, entry);
    }
    if entry.life.is_some() && entry.value.is_some() && io.deviates(&rules::KEEPS_UNTIL_EXPIRY)? {
        entry.remove();
    }
    match command {
        Redis::Get(_) => get(io, entry),
        Redis::Set(_, text) => set(io, entry, text),
        Redis::SetNx(_, text) => set_if_new(io, entry, text),
        Redis::GetSet(_, text) => {
            let answer = get(io, entry)?;
            if !matches!(entry.value, Some(Value::List(_))) {
                set(io, entry, text)?;
            }
            Ok(answer)
        }
        Redis::Append(_, text) => append(io, entry, text),
        Redis::Incr(_) => increment(io, entry),
        Redis::Del(_) => delete(io, entry),
        Redis::Expire(_, seconds) => Ok(expire(entry, *seconds)),
        Redis::Mortal(_, millis) => mortal(io, entry, *millis),
        Redis::Ttl(_) => ttl(io, entry),
        Redis::RPush(_, text) => push(io, entry, text, true),
        Redis::LPush(_, text) => push(io, entry, text, false),
        Redis::LPop(_) => pop(io, entry, false),
        Redis::BlPop(key, timeout) => Ok(match pop(io, entry, *timeout == Timeout::FOREVER)? {
            Answer::Is(Redis::Nil) => Redis::Nil.into(),
            other @ (Answer::Error(_) | Answer::Any) => other,
            popped => Answer::Popped(key.clone(), Box::new(popped)),
        }),
        Redis::LRange(_) => range(io, entry),
        _ => Ok(Answer::Any),
    }
}

/// The key expires. Redis 6.0.9 and later count that as a change of a watched key, earlier versions did not.
fn lapse(io: &mut Io<'_, RedisModel>, entry: &mut Entry) -> Turn {
    let stays = !entry.watchers.is_empty() && io.choose(2)? == 1;
    let watchers = if stays { std::mem::take(&mut entry.watchers) } else { Vec::new() };
    *entry = Entry { watchers, ..Entry::default() };
    Ok(())
}

/// Returns the error of a command for another type.
fn wrong_type(io: &mut Io<'_, RedisModel>) -> Performed {
    Ok(if io.deviates(&rules::WRONG_TYPE)? { Answer::Any } else { Answer::Error("WRONGTYPE") })
}

/// Returns `true` if the write that follows is lost because an INCR that is no single step overwrites it: it has read the value
/// before, and writes its own afterwards.
pub(crate) fn is_overwritten(io: &mut Io<'_, RedisModel>, entry: &Entry) -> Result<bool, Stop> {
    Ok(entry.is_counted && io.deviates(&rules::INCR_ATOMIC)?)
}

fn get(io: &mut Io<'_, RedisModel>, entry: &Entry) -> Performed {
    let answer = match &entry.value {
        Some(Value::List(_)) => return wrong_type(io),
        Some(Value::Text(text)) => Answer::bulk(Some(text.clone())),
        None => Answer::bulk(None),
    };
    Ok(if io.deviates(&rules::READS_LATEST)? { Answer::Any } else { answer })
}

fn set(io: &mut Io<'_, RedisModel>, entry: &mut Entry, text: &str) -> Performed {
    if !is_overwritten(io, entry)? && !io.deviates(&rules::KEEPS_WRITES)? {
        entry.store(text);
    }
    Ok(Redis::Ok.into())
}

fn set_if_new(io: &mut Io<'_, RedisModel>, entry: &mut Entry, text: &str) -> Performed {
    if entry.value.is_some() && !io.deviates(&rules::SETNX_ONLY_NEW)? {
        return Ok(Answer::integer(0));
    }
    set(io, entry, text)?;
    Ok(Answer::integer(1))
}

fn append(io: &mut Io<'_, RedisModel>, entry: &mut Entry, text: &str) -> Performed {
    let before = match &entry.value {
        Some(Value::List(_)) => return wrong_type(io),
        Some(Value::Text(before)) => before.as_str(),
        None => "",
    };
    let whole = format!("{before}{text}");
    let length = whole.len();
    // Whoever writes the whole in place of the addition loses what others added meanwhile.
    if !is_overwritten(io, entry)? && !io.deviates(&rules::APPEND_ATOMIC)? {
        entry.change(Value::Text(whole));
    }
    Ok(Answer::length(length))
}

fn increment(io: &mut Io<'_, RedisModel>, entry: &mut Entry) -> Performed {
    let before = match &entry.value {
        Some(Value::List(_)) => return wrong_type(io),
        Some(Value::Text(text)) => integer(text),
        None => Some(0),
    };
    let Some(after) = before.and_then(|number| number.checked_add(1)) else {
        return Ok(if io.deviates(&rules::NOT_AN_INTEGER)? { Answer::Any } else { Answer::Error("ERR") });
    };
    // Of two that read the same number one is lost.
    if !io.deviates(&rules::INCR_ATOMIC)? {
        entry.change(Value::Text(after.to_string()));
        entry.is_counted = true;
    }
    Ok(Answer::integer(after))
}

/// Returns the integer that a string is, if it is written as Redis writes it.
fn integer(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number: &i64| number.to_string() == text)
}

fn delete(io: &mut Io<'_, RedisModel>, entry: &mut Entry) -> Performed {
    let existed = i64::from(entry.value.is_some());
    if entry.value.is_some() && !is_overwritten(io, entry)? && !io.deviates(&rules::DEL_REMOVES)? {
        entry.remove();
    }
    Ok(Answer::integer(existed))
}

fn expire(entry: &mut Entry, seconds: u32) -> Answer {
    if entry.value.is_none() {
        return Answer::integer(0);
    }
    (entry.life, entry.dies) = (Some(seconds), None);
    entry.watchers.clear();
    Answer::integer(1)
}

/// Milliseconds that are granted to a key beyond its time to live, for a clock that is set.
const SLACK: i64 = 1_000;

/// Sets the time to live. The server's clock was read after that, so the key is gone when it shows the time to live more.
///
/// Only the clock of the server counts, because a key expires by it. The times at which the tester sends and receives would need to
/// be compared with it.
fn mortal(io: &mut Io<'_, RedisModel>, entry: &mut Entry, millis: u32) -> Performed {
    let from = io.fresh::<Number>()?;
    let is_ignored = entry.value.is_some() && io.deviates(&rules::EXPIRES)?;
    let answer = if is_ignored { Answer::integer(1) } else { expire(entry, millis.div_ceil(1_000)) };
    if entry.value.is_some() && !is_ignored {
        entry.dies = Some(Death { from: from.clone(), after: i64::from(millis) });
    }
    Ok(Answer::Timed(Box::new(answer), from))
}

/// Looks if the key exists. The server's clock was read before that.
fn aged(io: &mut Io<'_, RedisModel>, entry: &mut Entry) -> Performed {
    let now = io.fresh::<Number>()?;
    if let (Some(_), Some(Death { from, after })) = (&entry.value, &entry.dies) {
        io.assume(now.at_most(from, after + SLACK))?;
    }
    let is_old = io.deviates(&rules::READS_LATEST)?;
    let answer = if is_old { Answer::Any } else { Answer::integer(i64::from(entry.value.is_some())) };
    Ok(Answer::Timed(Box::new(answer), now))
}

fn ttl(io: &mut Io<'_, RedisModel>, entry: &Entry) -> Performed {
    let answer = match (&entry.value, entry.life) {
        (None, _) => Answer::integer(-2),
        (Some(_), None) => Answer::integer(-1),
        (Some(_), Some(seconds)) => Answer::UpTo(i64::from(seconds)),
    };
    Ok(if io.deviates(&rules::READS_LATEST)? { Answer::Any } else { answer })
}

fn push(io: &mut Io<'_, RedisModel>, entry: &mut Entry, text: &str, at_tail: bool) -> Performed {
    let mut list = match &entry.value {
        Some(Value::Text(_)) => return wrong_type(io),
        Some(Value::List(list)) => list.clone(),
        None => Vec::new(),
    };
    let is_wrong_end = io.deviates(&rules::LIST_ORDER)?;
    let place = if at_tail == is_wrong_end { 0 } else { list.len() };
    list.insert(place, text.to_owned());
    let length = list.len();
    if !io.deviates(&rules::KEEPS_WRITES)? {
        entry.change(Value::List(list));
    }
    Ok(Answer::length(length))
}

/// Takes the head of a list.
///
/// A BLPOP that waits is one that arrives when there is an element. Nothing that a client can observe tells the two apart: requests
/// take any time to arrive, and which of two waiting clients came first is known to the server only. So the model needs no list of
/// those who wait, and BLPOP touches its own key only. For the same reason a client that gets nothing arrived while the list was empty.
/// One without a timeout (`waits`) gets nothing for ever. If it waits when the key becomes a string, it goes on waiting.
fn pop(io: &mut Io<'_, RedisModel>, entry: &mut Entry, waits: bool) -> Performed {
    let mut list = match &entry.value {
        Some(Value::Text(_)) if waits && io.choose(2)? == 1 => return io.wait().map(|()| Answer::Any),
        Some(Value::Text(_)) => return wrong_type(io),
        Some(Value::List(list)) => list.clone(),
        None => Vec::new(),
    };
    if io.deviates(&rules::POPS_ONCE)? {
        // What is in the list is either taken twice, or its order is wrong, which is another rule.
        return Ok(match list.first() {
            Some(head) if io.choose(2)? == 0 => Answer::bulk(Some(head.clone())),
            _ => Answer::Other(list),
        });
    }
    if list.is_empty() || io.deviates(&rules::BLPOP_FINDS)? {
        return if waits { io.wait().map(|()| Answer::Any) } else { Ok(Answer::bulk(None)) };
    }
    let place =
        if list.len() > 1 && io.deviates(&rules::LIST_ORDER)? { 1 + io.choose(list.len() - 1)? } else { 0 };
    let head = list.remove(place);
    entry.change(Value::List(list));
    Ok(Answer::bulk(Some(head)))
}

fn range(io: &mut Io<'_, RedisModel>, entry: &Entry) -> Performed {
    let list = match &entry.value {
        Some(Value::Text(_)) => return wrong_type(io),
        Some(Value::List(list)) => list.as_slice(),
        None => &[],
    };
    let answer = Answer::Is(Redis::Array(Batch(list.iter().cloned().map(Redis::Bulk).collect())));
    Ok(if io.deviates(&rules::READS_LATEST)? { Answer::Any } else { answer })
}
