//! Property tests: round trips, and arbitrary bytes.

use confute_http1::{Body, Chunk, Outgoing, ReaderLimits, RequestReader, split_list};
use confute_http1::{RangeSent, Tag};
use confute_http1::{date, text};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{check, kinds, outcome, responses};

fn token() -> impl Strategy<Value = Vec<u8>> {
    "[!#$%&'*+.^_`|~0-9A-Za-z-]{1,9}".prop_map(String::into_bytes)
}

/// Text without surrounding white space.
fn words() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(b' '), Just(b'\t'), b'!'..=b'~', 0x80_u8..], 0..20)
        .prop_map(|bytes| bytes.trim_ascii().to_vec())
}

fn fields() -> impl Strategy<Value = Vec<(Vec<u8>, Vec<u8>)>> {
    // The prefix avoids the fields that the writer sets itself.
    vec((token().prop_map(|name| [b"X-", &name[..]].concat()), words()), 0..6)
}

fn chunk() -> impl Strategy<Value = Chunk> {
    let extension = prop_oneof![Just(""), Just(";a"), Just(";a=b;c=\"d;\\\"\"")];
    (vec(any::<u8>(), 1..30), extension)
        .prop_map(|(data, extension)| Chunk { data, extensions: extension.as_bytes().to_vec() })
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        Just(Body::None),
        vec(any::<u8>(), 0..50).prop_map(Body::Sized),
        (vec(chunk(), 0..5), fields()).prop_map(|(chunks, trailers)| Body::Chunked(chunks, trailers)),
    ]
}

fn content(body: &Body) -> Vec<u8> {
    match body {
        Body::None | Body::Announced(_) => Vec::new(),
        Body::Sized(content) | Body::UntilClose(content) => content.clone(),
        Body::Chunked(chunks, _) => chunks.iter().flat_map(|chunk| chunk.data.clone()).collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_written_request_is_read(method in token(), target in "[!-~]{1,20}", fields in fields(), body in body()) {
        let start = Outgoing::request(&method, &target, "example.org:80").body(body.clone());
        let outgoing = fields.iter().fold(start, |outgoing, (name, value)| outgoing.field(name, value));
        let encoded = outgoing.encode().unwrap();
        let outcome = outcome(RequestReader::default(), [encoded.bytes(), encoded.bytes()]);
        prop_assert_eq!(outcome.messages.len(), 2);
        for raw in outcome.messages {
            prop_assert_eq!(kinds(&raw), []);
            prop_assert_eq!(raw.bytes(), encoded.bytes());
            prop_assert_eq!(raw.pieces(), encoded.pieces());
            prop_assert_eq!((raw.method(), raw.target()), (Some(&method[..]), Some(target.as_bytes())));
            let read: Vec<_> = raw.fields().iter().map(|field| (field.name.to_vec(), field.value.to_vec())).collect();
            prop_assert_eq!(&read[1..=fields.len()], &fields[..]);
            prop_assert_eq!(&*raw.content(), content(&body));
        }
    }

    #[test]
    fn a_written_response_is_read(status in 200_u16..600, reason in words(), fields in fields(), body in body()) {
        let is_bare = matches!(status, 204 | 304);
        let body = if is_bare { Body::None } else { body };
        let start = Outgoing::response(status, &reason).body(body.clone());
        let outgoing = fields.iter().fold(start, |outgoing, (name, value)| outgoing.field(name, value));
        let encoded = outgoing.encode().unwrap();
        let outcome = outcome(responses("GET PUT", ReaderLimits::default()), [encoded.bytes(), encoded.bytes()]);
        prop_assert_eq!(outcome.messages.len(), 2);
        for raw in outcome.messages {
            prop_assert_eq!(kinds(&raw), []);
            prop_assert_eq!(raw.pieces(), encoded.pieces());
            prop_assert_eq!((raw.status(), raw.reason().unwrap_or_default()), (Some(status), &reason[..]));
            prop_assert_eq!(&*raw.content(), content(&body));
            if let Body::Chunked(_, trailers) = &body {
                prop_assert_eq!(raw.trailers().iter().count(), trailers.len());
            }
        }
    }

    #[test]
    fn arbitrary_bytes(bytes in vec(any::<u8>(), 0..300), seed: u64) {
        check(&bytes, seed);
        let _ = (Tag::parse(&bytes), RangeSent::parse(&bytes), date::parse(&bytes));
        let elements: usize = split_list(&bytes).map(<[u8]>::len).sum();
        prop_assert!(elements <= bytes.len());
    }

    #[test]
    fn nearly_messages(parts in vec(prop::sample::select(&PARTS[..]), 0..25), seed: u64) {
        check(parts.concat().as_bytes(), seed);
    }

    #[test]
    fn nearly_dates(day in "(Sun|Sunday|Mon|Wednesday)", rest in ",? ?[0-9A-Za-z: -]{16,26}( GMT)?") {
        let _ = date::parse(format!("{day}{rest}").as_bytes());
    }

    #[test]
    fn tags_round_trip(weak: bool, opaque in vec(prop_oneof![Just(b'!'), b'#'..=b'~', 0x80_u8..], 0..9)) {
        let tag = Tag { weak, opaque: text::text(&opaque) };
        prop_assert_eq!(Tag::parse(&tag.to_bytes()), Some(tag));
    }
}

const PARTS: [&str; 34] = [
    "\r\n",
    "\r\n",
    "\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    ":",
    ",",
    ";",
    "0",
    "1",
    "5",
    "x",
    "\0",
    "\u{e9}",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 100 \r\n\r\n",
    "HTTP/1.0 204",
    "GET / HTTP/1.1\r\n",
    "PUT /a HTTP/1.0",
    "Content-Length: 5\r\n",
    "Content-Length: 3\r\n",
    "Content-Length: 0\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Connection: close\r\n",
    "A: b\r\n",
    "A : b\r\n",
    "5\r\nhello\r\n",
    "0\r\n\r\n",
    "1;a=\"b\"\r\n",
    "hello",
    "HTTP/1.1 ",
];
