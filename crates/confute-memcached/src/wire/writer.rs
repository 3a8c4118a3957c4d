//! Encoder of messages: requests, and responses for servers in tests.

use crate::message::{Command, Message, Request, ResponseLine, Store};

/// Appends the bytes of a message.
pub fn write(message: &Message, bytes: &mut Vec<u8>) {
    match message {
        Message::Ask(request) => ask(request, bytes),
        Message::Answer(answer) => line(&answer.line, bytes),
    }
}

fn ask(request: &Request, bytes: &mut Vec<u8>) {
    let noreply = if request.noreply { " noreply" } else { "" };
    match &request.command {
        Command::Get { key, more, unique } => {
            bytes.extend(if *unique { &b"gets"[..] } else { b"get" });
            for key in std::iter::once(key).chain(more) {
                bytes.push(b' ');
                bytes.extend(key.as_bytes());
            }
            bytes.extend(b"\r\n");
        }
        Command::Store { how, key, flags, exptime, data } => {
            let name = how.name();
            bytes.extend(format!("{name} {key} {flags} {exptime} {}", data.len()).bytes());
            if let Store::Cas(unique) = how {
                bytes.extend(format!(" {unique}").bytes());
            }
            bytes.extend(format!("{noreply}\r\n").bytes());
            bytes.extend(data.bytes());
            bytes.extend(b"\r\n");
        }
        Command::Delete { key } => bytes.extend(format!("delete {key}{noreply}\r\n").bytes()),
        Command::Count { key, up, by } => {
            let name = if *up { "incr" } else { "decr" };
            bytes.extend(format!("{name} {key} {by}{noreply}\r\n").bytes());
        }
        Command::Touch { key, exptime } => {
            bytes.extend(format!("touch {key} {exptime}{noreply}\r\n").bytes());
        }
    }
}

fn line(line: &ResponseLine, bytes: &mut Vec<u8>) {
    let (word, rest): (&[u8], &[u8]) = match line {
        ResponseLine::Value { key, flags, data, unique } => {
            let unique = unique.as_ref().map_or_else(String::new, |unique| format!(" {unique}"));
            bytes.extend(format!("VALUE {key} {flags} {}{unique}\r\n", data.len()).bytes());
            (data.bytes(), b"")
        }
        ResponseLine::Miss => return,
        ResponseLine::Stored => (b"STORED", b""),
        ResponseLine::NotStored => (b"NOT_STORED", b""),
        ResponseLine::Exists => (b"EXISTS", b""),
        ResponseLine::NotFound => (b"NOT_FOUND", b""),
        ResponseLine::Deleted => (b"DELETED", b""),
        ResponseLine::Touched => (b"TOUCHED", b""),
        ResponseLine::Ok => (b"OK", b""),
        ResponseLine::Number(text) => (text.as_bytes(), b""),
        ResponseLine::Error => (b"ERROR", b""),
        ResponseLine::ClientError(text) => (b"CLIENT_ERROR", text.bytes()),
        ResponseLine::ServerError(text) => (b"SERVER_ERROR", text.bytes()),
        ResponseLine::Garbage(data) => return bytes.extend(data.bytes()),
    };
    bytes.extend(word);
    bytes.extend(rest);
    bytes.extend(b"\r\n");
}
