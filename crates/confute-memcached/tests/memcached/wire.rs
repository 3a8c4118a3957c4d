//! Encoding, and parsing in pieces of any size.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use confute_drive::Reader;
use confute_memcached::wire::{MOST_LINE, WireReader, write};
use confute_memcached::{Answer, Command, Message, ResponseLine, Store};

fn get(keys: &str, unique: bool) -> Message {
    let mut keys = keys.split(' ').map(Into::into);
    Command::Get { key: keys.next().unwrap(), more: keys.collect(), unique }.asked()
}

fn set(key: &str, data: &str) -> Message {
    Command::Store { how: Store::Set, key: key.into(), flags: 3, exptime: -1, data: data.into() }.asked()
}

fn lines(messages: Vec<Message>) -> Vec<ResponseLine> {
    let line = |message| match message {
        Message::Answer(Answer { line, .. }) => line,
        Message::Ask(_) => panic!("the reader reads answers"),
    };
    messages.into_iter().map(line).collect()
}

/// Returns the responses parsed after these requests, from input in pieces of this size.
fn read(asked: &[Message], bytes: &[u8], piece: usize) -> Vec<ResponseLine> {
    let mut reader = WireReader::default();
    asked.iter().for_each(|message| reader.sent(message));
    let mut messages = Vec::new();
    bytes.chunks(piece).for_each(|piece| reader.feed(piece, &mut messages));
    assert_eq!(reader.held(), 0);
    lines(messages)
}

fn written(messages: &[Message]) -> String {
    let mut bytes = Vec::new();
    messages.iter().for_each(|message| write(message, &mut bytes));
    String::from_utf8(bytes).unwrap()
}

fn value(key: &str, data: &str, unique: Option<&str>) -> ResponseLine {
    ResponseLine::Value { key: key.into(), flags: 3, data: data.into(), unique: unique.map(Into::into) }
}

#[test]
fn requests_as_the_protocol_has_them() {
    assert_eq!(written(&[get("a b c", true)]), "gets a b c\r\n");
    assert_eq!(written(&[get("a", false)]), "get a\r\n");
    assert_eq!(written(&[set("a", "x\r\ny")]), "set a 3 -1 4\r\nx\r\ny\r\n");
    let how = Store::Cas("17".into());
    let cas = Command::Store { how, key: "a".into(), flags: 0, exptime: 0, data: "".into() };
    assert_eq!(written(&[cas.clone().asked()]), "cas a 0 0 0 17\r\n\r\n");
    assert_eq!(written(&[cas.hushed()]), "cas a 0 0 0 17 noreply\r\n\r\n");
    assert_eq!(written(&[Command::Delete { key: "a".into() }.hushed()]), "delete a noreply\r\n");
    assert_eq!(written(&[Command::Count { key: "a".into(), up: false, by: 9 }.asked()]), "decr a 9\r\n");
    assert_eq!(written(&[Command::Touch { key: "a".into(), exptime: 5 }.asked()]), "touch a 5\r\n");
}

#[test]
fn pipelined_answers_cut_anywhere() {
    let asked = [
        set("a", "x"),
        get("a b c", true),
        Command::Delete { key: "a".into() }.hushed(),
        Command::Count { key: "a".into(), up: true, by: 1 }.asked(),
        get("a", false),
        Command::Touch { key: "a".into(), exptime: 0 }.asked(),
        set("b", "x"),
    ];
    let bytes =
        b"STORED\r\nVALUE c 3 7 12\r\nEND\r\n\r\n\r\nVALUE a 3 0 11\r\n\r\nEND\r\n10  \r\nEND\r\nTOUCHED\r\n\
        SERVER_ERROR out of memory\r\n";
    let wanted = [
        ResponseLine::Stored,
        value("a", "", Some("11")),
        ResponseLine::Miss,
        value("c", "END\r\n\r\n", Some("12")),
        ResponseLine::Number("10  ".into()),
        ResponseLine::Miss,
        ResponseLine::Touched,
        ResponseLine::ServerError(" out of memory".into()),
    ];
    for piece in 1..=bytes.len() {
        assert_eq!(read(&asked, bytes, piece), wanted, "{piece}");
    }
    // An error instead of items applies to every key.
    let failed = read(&asked[1..2], b"SERVER_ERROR\r\n", 3);
    assert_eq!(failed, vec![ResponseLine::ServerError("".into()); 3]);
}

#[test]
fn every_line() {
    let known: [(&[u8], ResponseLine); 10] = [
        (b"STORED", ResponseLine::Stored),
        (b"NOT_STORED", ResponseLine::NotStored),
        (b"EXISTS", ResponseLine::Exists),
        (b"NOT_FOUND", ResponseLine::NotFound),
        (b"DELETED", ResponseLine::Deleted),
        (b"TOUCHED", ResponseLine::Touched),
        (b"OK", ResponseLine::Ok),
        (b"ERROR", ResponseLine::Error),
        (b"CLIENT_ERROR bad  chunk ", ResponseLine::ClientError(" bad  chunk ".into())),
        (b"18446744073709551616", ResponseLine::Number("18446744073709551616".into())),
    ];
    for (bytes, line) in known {
        let bytes = [bytes, b"\r\n"].concat();
        assert_eq!(read(&[set("a", "x")], &bytes, 1), std::slice::from_ref(&line));
        // Parsing is lossless: the parsed line encodes to the same bytes.
        let mut again = Vec::new();
        write(&line.into(), &mut again);
        assert_eq!(again, bytes);
    }
}

#[test]
fn garbage_is_an_answer() {
    let asked = [set("a", "x"), set("b", "x")];
    for bad in [
        "STORD\r\n",
        "STORED\n",
        "stored\r\n",
        "\r\n",
        "12x\r\n",
        "END\r\n",
        "CLIENT_ERRORS\r\n",
        "\u{fe}\r\n",
    ] {
        let seen = read(&asked, &[bad.as_bytes(), b"STORED\r\n"].concat(), 1);
        assert_eq!(seen, [ResponseLine::Garbage(bad.into()), ResponseLine::Stored], "{bad:?}");
    }
    // There was no request.
    assert_eq!(
        read(&[], b"STORED\r\nwhat\r\n", 2),
        [ResponseLine::Stored, ResponseLine::Garbage("what\r\n".into())]
    );
}

#[test]
fn garbage_among_items() {
    let asked = [get("a b", false), set("c", "x")];
    let after =
        |bad: &str| read(&asked, &[bad.as_bytes(), b"VALUE b 3 1\r\nx\r\nEND\r\nSTORED\r\n"].concat(), 1);
    for bad in [
        "VALUE a 3\r\n",
        "VALUE a 3 01\r\n",
        "VALUE a  3 1\r\n",
        "VALUE a -3 1\r\n",
        "VALUE a 3 1 2 3\r\n",
        "value\r\n",
    ] {
        assert_eq!(
            after(bad),
            [ResponseLine::Garbage(bad.into()), value("b", "x", None), ResponseLine::Stored],
            "{bad:?}"
        );
    }
    // An item that was not requested, and one that comes twice.
    let seen = after("VALUE z 3 1\r\ny\r\n");
    assert_eq!(seen[1..], [value("b", "x", None), ResponseLine::Stored]);
    let seen = after("VALUE b 3 1\r\ny\r\n");
    assert_eq!(seen.len(), 3);
    assert!(matches!(&seen[0], ResponseLine::Garbage(_)));
    // Data longer than its stated length.
    let seen = read(&[get("a", false), set("c", "x")], b"VALUE a 3 1\r\nxy\r\nEND\r\nSTORED\r\n", 1);
    assert_eq!(seen.first(), Some(&ResponseLine::Garbage("VALUE a 3 1\r\n".into())));
    assert_eq!(seen.last(), Some(&ResponseLine::Stored));
}

#[test]
fn floods_are_cut() {
    let flood = vec![b'x'; 100_000];
    let mut reader = WireReader::default();
    reader.sent(&set("a", "x"));
    reader.sent(&set("a", "x"));
    let mut messages = Vec::new();
    for _ in 0..100 {
        reader.feed(&flood, &mut messages);
        assert!(reader.held() <= MOST_LINE);
    }
    reader.feed(b"\r\nSTORED\r\n", &mut messages);
    let seen = lines(messages);
    assert!(
        matches!(&seen[..], [ResponseLine::Garbage(start), ResponseLine::Stored] if start.len() == MOST_LINE),
        "{}",
        seen.len()
    );
    // A data block over the size limit.
    let mut messages = Vec::new();
    reader.sent(&get("a", false));
    reader.feed(b"VALUE a 0 99999999999\r\n", &mut messages);
    assert_eq!(lines(messages), [ResponseLine::Garbage("VALUE a 0 99999999999\r\n".into())]);
}

#[test]
fn messages_survive_being_written_to_a_file() {
    let data = (0..=255u8).collect::<Vec<u8>>();
    let line = ResponseLine::Value {
        key: "a".into(),
        flags: 1,
        data: data.as_slice().into(),
        unique: Some("5".into()),
    };
    for message in [line.into(), get("a b", true), set("a", "é\r\n"), ResponseLine::Miss.into()] {
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message, "{text}");
    }
}
