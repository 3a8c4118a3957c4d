//! RESP: requests are arrays of strings, and a transaction is several of them.

use confute_service::wire::RespValue;
use confute_service::{Read, Wire, kind_of, texts};

use crate::message::{Batch, Redis};

/// The wire of Redis, RESP version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resp;

/// Returns the words of a command.
fn words(command: &Redis) -> Vec<String> {
    let mut words: Vec<String> = kind_of(command).word().split(' ').map(str::to_owned).collect();
    words.extend(texts(command));
    if matches!(command, Redis::LRange(_)) {
        words.extend(["0", "-1"].map(str::to_owned));
    }
    words
}

fn transaction(commands: &Batch, end: &str, bytes: &mut Vec<u8>) {
    RespValue::request(&["MULTI"], bytes);
    commands.0.iter().for_each(|command| RespValue::request(&words(command), bytes));
    RespValue::request(&[end], bytes);
}

/// Returns the response to a request. That to BLPOP names a key, which belongs to the case.
fn response(request: Option<&Redis>, response: Redis) -> Redis {
    match (request, response) {
        (Some(Redis::BlPop(..)), Redis::Array(Batch(pair))) => match pair.as_slice() {
            [Redis::Bulk(key), Redis::Bulk(element)] => Redis::Popped(key.as_str().into(), element.clone()),
            _ => Redis::Array(Batch(pair)),
        },
        (Some(Redis::Exec { commands, .. }), Redis::Array(Batch(results)))
            if results.len() == commands.0.len() =>
        {
            let results =
                commands.0.iter().zip(results).map(|(command, result)| response_to(command, result));
            Redis::Array(Batch(results.collect()))
        }
        (_, response) => response,
    }
}

fn response_to(command: &Redis, result: Redis) -> Redis {
    response(Some(command), result)
}

/// Returns the response of several values.
fn several(request: Option<&Redis>, values: Vec<Redis>) -> Redis {
    let timed = match (request, values.as_slice()) {
        (Some(Redis::Mortal(..)), [answer, time]) | (Some(Redis::Aged(_)), [time, answer]) => {
            clock(time).map(|millis| Redis::Timed(Batch(vec![answer.clone()]), millis))
        }
        _ => None,
    };
    timed.unwrap_or(Redis::Transaction(Batch(values)))
}

/// Returns the milliseconds in a response to TIME, which has seconds and microseconds.
fn clock(time: &Redis) -> Option<i64> {
    let Redis::Array(Batch(parts)) = time else { return None };
    let [Redis::Bulk(seconds), Redis::Bulk(micros)] = parts.as_slice() else { return None };
    let (seconds, micros) = (seconds.parse::<i64>().ok()?, micros.parse::<i64>().ok()?);
    seconds.checked_mul(1_000)?.checked_add(micros / 1_000)
}

/// Returns the message of a value.
fn message(value: RespValue) -> Redis {
    match value {
        RespValue::Simple(text) if text == "OK" => Redis::Ok,
        RespValue::Simple(text) => Redis::Simple(text),
        RespValue::Error(text) => Redis::Error(text),
        RespValue::Integer(number) => Redis::Integer(number),
        RespValue::Bulk(text) => Redis::Bulk(text),
        RespValue::Nil => Redis::Nil,
        RespValue::Array(values) => Redis::Array(Batch(values.into_iter().map(message).collect())),
    }
}

impl Wire<Redis> for Resp {
    fn encode(&self, request: &Redis, bytes: &mut Vec<u8>) {
        match request {
            // The order matters: the model relies on a clock that was read after the one and before the other.
            Redis::Mortal(..) => {
                RespValue::request(&words(request), bytes);
                RespValue::request(&["TIME"], bytes);
            }
            Redis::Aged(_) => {
                RespValue::request(&["TIME"], bytes);
                RespValue::request(&words(request), bytes);
            }
            Redis::Exec { commands, .. } => transaction(commands, "EXEC", bytes),
            Redis::Discard { commands, .. } => transaction(commands, "DISCARD", bytes),
            single => RespValue::request(&words(single), bytes),
        }
    }

    fn read(&self, bytes: &[u8], request: Option<&Redis>) -> Read<Redis> {
        let count = match request {
            Some(Redis::Exec { commands, .. } | Redis::Discard { commands, .. }) => {
                Some(commands.0.len() + 2)
            }
            Some(Redis::Mortal(..) | Redis::Aged(_)) => Some(2),
            _ => None,
        };
        let (mut messages, mut used) = (Vec::new(), 0);
        for _ in 0..count.unwrap_or(1) {
            match RespValue::read(&bytes[used..]) {
                Ok(None) => return Read::More,
                Ok(Some((value, length))) => {
                    messages.push(response(request, message(value)));
                    used += length;
                }
                // What follows cannot be told apart from it.
                Err(why) => return Read::Nonsense(why, bytes.len()),
            }
        }
        match (count, messages.pop()) {
            (None, Some(single)) => Read::Message(single, used),
            (_, last) => Read::Message(several(request, messages.into_iter().chain(last).collect()), used),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Timeout;

    #[test]
    fn requests_are_arrays_of_strings() {
        let mut bytes = Vec::new();
        Resp.encode(&Redis::BlPop("k".into(), Timeout(50)), &mut bytes);
        assert_eq!(bytes, b"*3\r\n$5\r\nBLPOP\r\n$1\r\nk\r\n$5\r\n0.050\r\n");
        bytes.clear();
        Resp.encode(&Redis::LRange("k".into()), &mut bytes);
        assert_eq!(bytes, b"*4\r\n$6\r\nLRANGE\r\n$1\r\nk\r\n$1\r\n0\r\n$2\r\n-1\r\n");
    }

    #[test]
    fn a_transaction_is_read_as_a_whole() {
        let commands = Batch(vec![Redis::Get("k".into()), Redis::Incr("k".into())]);
        let request = Redis::Exec { commands, watched: Vec::new() };
        let mut sent = Vec::new();
        Resp.encode(&request, &mut sent);
        assert_eq!(String::from_utf8(sent).unwrap().matches('*').count(), 4);
        let bytes = b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n$1\r\n7\r\n:8\r\n+OK\r\n";
        let queued = || Redis::Simple("QUEUED".to_owned());
        let results = Redis::Array(Batch(vec![Redis::Bulk("7".to_owned()), Redis::Integer(8)]));
        let all = Redis::Transaction(Batch(vec![Redis::Ok, queued(), queued(), results]));
        let whole = bytes.len() - 5;
        for cut in 0..whole {
            assert_eq!(Resp.read(&bytes[..cut], Some(&request)), Read::More, "{cut}");
        }
        assert_eq!(Resp.read(bytes, Some(&request)), Read::Message(all, whole));
        assert_eq!(Resp.read(&bytes[whole..], None), Read::Message(Redis::Ok, 5));
    }
}
