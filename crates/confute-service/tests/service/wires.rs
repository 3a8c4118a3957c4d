//! Wires: what they send, what they read, and what they say of nonsense.

use confute_drive::{Protocol as _, Reader as _, Side};
use confute_service::wire::{self, Json, Prefix, Words};
use confute_service::{Id, Message, Name, Read, Secret, Wire};

use super::messages::Line;

fn sent(wire: &impl Wire<Line>, message: &Line) -> String {
    let mut bytes = Vec::new();
    wire.encode(message, &mut bytes);
    bytes.escape_ascii().to_string()
}

fn put() -> Line {
    Line::Put { key: Name::from("k"), value: 7 }
}

fn stored() -> Line {
    Line::Stored { token: Secret::known(&"t".into()), version: Id::known(&-9) }
}

#[test]
fn requests_are_written() {
    assert_eq!(sent(&wire::lines(), &put()), r"PUT k 7\n");
    assert_eq!(sent(&wire::crlf_lines(), &put()), r"PUT k 7\r\n");
    assert_eq!(sent(&wire::json_lines("op"), &put()), r#"{\"key\":\"k\",\"op\":\"PUT\",\"value\":7}\n"#);
    assert_eq!(sent(&wire::frames(Prefix::U16, Words), &put()), r"\x00\x07PUT k 7");
    assert_eq!(
        sent(&wire::frames(Prefix::U32Le, Json { word: "op" }), &Line::Gone),
        r#"\r\x00\x00\x00{\"op\":\"GONE\"}"#
    );
    assert_eq!(sent(&wire::resp(), &put()), r"*3\r\n$3\r\nPUT\r\n$1\r\nk\r\n$1\r\n7\r\n");
}

/// Reads these bytes whole, and checks that no beginning of them is a message.
fn read(wire: &impl Wire<Line>, bytes: &[u8]) -> Read<Line> {
    for cut in 0..bytes.len() {
        assert_eq!(wire.read(&bytes[..cut], None), Read::More, "{}", bytes[..cut].escape_ascii());
    }
    let more = [bytes, b"more"].concat();
    let read = wire.read(&more, None);
    assert_eq!(read, wire.read(bytes, None));
    read
}

#[test]
fn responses_are_read_when_they_are_complete() {
    assert_eq!(read(&wire::lines(), b"OK t -9\n"), Read::Message(stored(), 8));
    assert_eq!(read(&wire::crlf_lines(), b"VALUE a b\r\n"), Read::Message(Line::Value("a b".to_owned()), 11));
    let json = br#"{"token": "t", "version": -9, "op": "OK", "more": null}
"#;
    assert_eq!(read(&wire::json_lines("op"), json), Read::Message(stored(), json.len()));
    assert_eq!(read(&wire::frames(Prefix::U8, Words), b"\x04GONE"), Read::Message(Line::Gone, 5));
}

fn nonsense(wire: &impl Wire<Line>, bytes: &[u8]) -> String {
    match wire.read(bytes, None) {
        Read::Nonsense(why, length) if length <= bytes.len() => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nonsense_has_a_reason_and_what_the_protocol_knows() {
    let known = "no response looks like this; the protocol has `OK {token} {version}`, `VALUE {}`, `GONE`";
    assert_eq!(nonsense(&wire::lines(), b"OK t\n"), known);
    assert_eq!(nonsense(&wire::lines(), b"OK t 09\n"), known, "a number has no zeros in front");
    assert_eq!(nonsense(&wire::lines(), b"GONE \n"), known);
    assert_eq!(nonsense(&wire::lines(), b"\xff\n"), "it is not UTF-8");
    assert!(nonsense(&wire::json_lines("op"), b"{]\n").starts_with("it is no JSON: "));
    assert!(nonsense(&wire::json_lines("op"), b"{\"op\":\"OK\"}\n").contains("`OK` with"));
    assert!(nonsense(&wire::resp(), b"?\r\n").contains("no type of RESP begins with `?`"));
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
#[message(crate = confute_service)]
enum Redis {
    #[request("SET {} {}")]
    Set(Name, String),
    #[response("+OK")]
    Ok,
    #[response(":{}")]
    Number(i64),
    #[response("_")]
    Nil,
    #[response("${}")]
    Bulk(String),
    #[response("-{}")]
    Error(String),
    #[unreadable]
    Odd(String),
}

#[test]
fn resp_has_types() {
    let wire = wire::resp();
    let mut bytes = Vec::new();
    wire.encode(&Redis::Set(Name::from("k"), "two words".to_owned()), &mut bytes);
    assert_eq!(bytes.escape_ascii().to_string(), r"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9\r\ntwo words\r\n");
    for (bytes, message) in [
        ("+OK\r\n", Redis::Ok),
        (":-5\r\n", Redis::Number(-5)),
        ("$-1\r\n", Redis::Nil),
        ("$2\r\n-1\r\n", Redis::Bulk("-1".to_owned())),
        ("$0\r\n\r\n", Redis::Bulk(String::new())),
        ("-ERR no\r\n", Redis::Error("ERR no".to_owned())),
    ] {
        for cut in 0..bytes.len() {
            assert_eq!(wire.read(&bytes.as_bytes()[..cut], None::<&Redis>), Read::More, "{cut} of {bytes}");
        }
        assert_eq!(wire.read(bytes.as_bytes(), None), Read::Message(message, bytes.len()));
    }
}

#[test]
fn a_field_that_would_not_be_sent_is_reported_first() {
    #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
    #[message(crate = confute_service)]
    enum Short {
        #[request("PUT {key}")]
        Put { key: Name, value: u32 },
        #[unreadable]
        Odd(String),
    }
    let why = Wire::<Short>::check(&wire::lines()).unwrap_err();
    assert!(why.contains("the template \"PUT {key}\" of Put leaves out field value"), "{why}");
    assert!(why.contains("Add `{value}` to the template, or use a wire of JSON"), "{why}");
    assert_eq!(Wire::<Short>::check(&wire::json_lines("op")), Ok(()));
}

/// A wire that takes no byte for a message, and reads for ever if nobody notices.
#[derive(Clone)]
struct Stuck;

impl Wire<Line> for Stuck {
    fn encode(&self, _: &Line, _: &mut Vec<u8>) {}
    fn read(&self, bytes: &[u8], _: Option<&Line>) -> Read<Line> {
        if bytes.starts_with(b"x") {
            Read::Message(Line::Gone, 0)
        } else {
            Read::Nonsense("no".to_owned(), 0)
        }
    }
}

#[test]
fn a_wire_that_makes_no_progress_is_stopped() {
    let read = |bytes: &[u8]| {
        let mut reader = confute_service::Service::new(super::messages::Silent, Stuck).reader(Side::Opened);
        let mut messages = Vec::new();
        reader.feed(bytes, &mut messages);
        assert_eq!(reader.held(), 0);
        messages.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(read(b"ab"), [r#"unreadable "a": no"#, r#"unreadable "b": no"#]);
    assert_eq!(
        read(b"xyz"),
        [r#"unreadable "xyz": the wire took 0 of 3 bytes for a message; correct its `read`"#]
    );
}
