//! Results of reading given bytes: completeness, anomalies, unread rest.

use confute_http1::PieceKind::{Body, ChunkLine, FieldLine, HeadEnd, StartLine};
use confute_http1::{AnomalyKind, Ending, Limit, Read, ReaderLimits, RequestReader, Section};

use crate::common::{Outcome, TIGHT, kinds, outcome, response, responses};

#[test]
fn a_response_as_it_should_be() {
    let raw = response("GET", b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!((kinds(&raw), raw.is_complete()), (vec![], true));
    assert_eq!((raw.status(), raw.reason(), &*raw.content()), (Some(200), Some(&b"OK"[..]), &b"hello"[..]));
    assert_eq!(raw.start_line(), Some(&b"HTTP/1.1 200 OK\r\n"[..]));
    let pieces: Vec<_> = raw.pieces().iter().map(|piece| piece.kind).collect();
    assert_eq!(pieces, [StartLine, FieldLine, FieldLine, HeadEnd, Body]);
}

#[test]
fn chunks_with_extensions_and_trailers() {
    let text = b"HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b;\"\r\nhello\r\n1\r\n!\r\n00\r\nT: 1\r\nt: 2\r\n\r\n";
    let raw = response("GET", text);
    assert_eq!((kinds(&raw), raw.is_complete()), (vec![], true));
    assert_eq!(&*raw.content(), b"hello!");
    assert_eq!(raw.parts(ChunkLine).collect::<Vec<_>>(), [&b"5;a=\"b;\"\r\n"[..], b"1\r\n", b"00\r\n"]);
    assert_eq!(raw.trailers().combined("T").unwrap(), b"1, 2");
    assert_eq!(raw.fields().combined("T"), None);
}

#[test]
fn each_anomaly_is_listed() {
    let head = |text: &str| kinds(&response("HEAD", format!("{text}\r\n\r\n").as_bytes()));
    let field = |line: &str| head(&format!("HTTP/1.1 200 OK\r\n{line}"));
    assert_eq!(head("\r\n\r\nHTTP/1.1 200 OK"), [AnomalyKind::LeadingEmptyLine; 2]);
    assert_eq!(head("junk\r\n\r\nmoreHTTP/1.1 200 OK"), [AnomalyKind::Garbage { length: 12 }]);
    assert_eq!(
        head("\r\njunkHTTP/1.1 200 OK"),
        [AnomalyKind::LeadingEmptyLine, AnomalyKind::Garbage { length: 4 }]
    );
    assert_eq!(head("HTTP/1.1 200 O\rK"), [AnomalyKind::BareCr]);
    assert_eq!(head("HTTP/1.1 200 OK\r"), [AnomalyKind::BareCr]);
    assert_eq!(head("HTTP/1.1 200 OK\nA: b\nC: d"), [AnomalyKind::BareLf; 2]);
    assert_eq!(head("HTTP/1.1 200"), [AnomalyKind::MissingReason]);
    assert_eq!(field("A: b\r\n c"), [AnomalyKind::ObsFold]);
    assert_eq!(field(" A: b\r\n c: d\r\nE: f"), [AnomalyKind::SpaceBeforeFields, AnomalyKind::ObsFold]);
    assert_eq!(field("A : b"), [AnomalyKind::SpaceBeforeColon]);
    assert_eq!(field(": b"), [AnomalyKind::EmptyName]);
    assert_eq!(field("A\0@: b"), [AnomalyKind::BadNameByte(0)]);
    assert_eq!(field("A: b\0\u{1}"), [AnomalyKind::BadValueByte(0)]);
    assert_eq!(field("A: \u{7f}"), [AnomalyKind::BadValueByte(0x7f)]);
    assert_eq!(field("A: b\r c"), [AnomalyKind::BareCr]);
    assert_eq!(field("A"), [AnomalyKind::NoColon]);
    assert_eq!(field("A: \u{e9}\t!"), []);
    let chunks = |text: &str| {
        let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{text}");
        let outcome = outcome(responses("GET", ReaderLimits::default()), [text.as_bytes()]);
        (kinds(&outcome.messages[0]), outcome.messages[0].ending(), outcome.unread.len())
    };
    let kinds =
        vec![AnomalyKind::BareLf, AnomalyKind::ChunkEndsInLf, AnomalyKind::BareLf, AnomalyKind::BareLf];
    assert_eq!(chunks("1\na\n0\n\n"), (kinds, Ending::Complete, 0));
    assert_eq!(chunks("1 \r\na\r\n0\r\n\r\n"), (vec![AnomalyKind::OddSpacing], Ending::Complete, 0));
    assert_eq!(chunks("1;\r\na\r\n0\r\n\r\n"), (vec![AnomalyKind::BadChunkExtension], Ending::Complete, 0));
    assert_eq!(chunks("x\r\na\r\n0\r\n\r\n"), (vec![AnomalyKind::BadChunkSize], Ending::Unknown, 8));
    assert_eq!(chunks("1\r\nab\r\n0\r\n\r\n"), (vec![AnomalyKind::BadChunkTerminator], Ending::Unknown, 8));
    assert_eq!(chunks("1\r\na\rb0\r\n\r\n"), (vec![AnomalyKind::BadChunkTerminator], Ending::Unknown, 7));
}

#[test]
fn cut_off_is_not_complete() {
    let ending = |text: &str| {
        let raw = response("GET", format!("HTTP/1.1 200 OK\r\n{text}").as_bytes());
        assert!(
            raw.is_complete() || kinds(&raw).iter().any(|kind| matches!(kind, AnomalyKind::Truncated(_))),
            "{text}"
        );
        (raw.ending(), raw.content().into_owned())
    };
    assert_eq!(ending("A: b\r\n"), (Ending::Truncated(Section::Head), vec![]));
    assert_eq!(ending("A: b\r\n\r"), (Ending::Truncated(Section::Head), vec![]));
    assert_eq!(ending("Content-Length: 3\r\n\r\nab"), (Ending::Truncated(Section::Body), b"ab".to_vec()));
    let chunked = |text: &str| ending(&format!("Transfer-Encoding: chunked\r\n\r\n{text}"));
    for text in ["", "2", "2\r\n", "2\r\na", "2\r\nab", "2\r\nab\r", "2\r\nab\r\n", "2\r\nab\r\n0\r"] {
        assert_eq!(chunked(text).0, Ending::Truncated(Section::Chunks), "{text}");
    }
    assert_eq!(chunked("2\r\na").1, b"a");
    assert_eq!(chunked("0\r\n").0, Ending::Truncated(Section::Trailers));
    assert_eq!(chunked("0\r\nA: b\r\n\r").0, Ending::Truncated(Section::Trailers));
    assert_eq!(ending("\r\nabc"), (Ending::Complete, b"abc".to_vec()));
    let mut broken = responses("GET", ReaderLimits::default());
    broken.feed(b"HTTP/1.1 200 OK\r\n\r\nabc");
    assert_eq!(broken.read(), Read::NeedMore);
    broken.broken();
    let Read::Message(raw) = broken.read() else { panic!("no message") };
    assert_eq!(raw.ending(), Ending::Truncated(Section::Body));
}

#[test]
fn interim_responses_are_messages_of_their_own() {
    let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\
                HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let outcome = outcome(responses("HEAD GET", ReaderLimits::default()), [text.as_bytes()]);
    let read: Vec<_> = outcome.messages.iter().map(|raw| (raw.status().unwrap(), raw.is_interim())).collect();
    assert_eq!(read, [(100, true), (103, true), (200, false), (200, false)]);
    assert!(outcome.messages.iter().all(|raw| raw.anomalies().is_empty() && raw.is_complete()));
    assert_eq!(&*outcome.messages[3].content(), b"x");
}

#[test]
fn bytes_after_the_end() {
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    let read = |methods, text: &str| -> Vec<Vec<AnomalyKind>> {
        outcome(responses(methods, ReaderLimits::default()), [text.as_bytes()])
            .messages
            .iter()
            .map(kinds)
            .collect()
    };
    let cut = AnomalyKind::Truncated(Section::Head);
    assert_eq!(read("GET", &format!("{ok}{ok}")), [vec![], vec![AnomalyKind::BytesAfterEnd]]);
    assert_eq!(
        read("GET", &format!("{ok}!")),
        [vec![], vec![AnomalyKind::Garbage { length: 1 }, AnomalyKind::BytesAfterEnd, cut]]
    );
    // The body is too long; then the response to the next request follows.
    assert_eq!(read("GET GET", &format!("{ok}!!{ok}")), [vec![], vec![AnomalyKind::Garbage { length: 2 }]]);
    // Empty lines may be discarded.
    assert_eq!(read("GET", &format!("{ok}\r\n\r\n")), [vec![], vec![AnomalyKind::LeadingEmptyLine; 2]]);
    let last = ok.replace("\r\n\r\n", "\r\nConnection: x, Close\r\n\r\n");
    assert_eq!(read("GET GET", &format!("{last}{ok}")), [vec![], vec![AnomalyKind::BytesAfterClose]]);
    let old = ok.replace("/1.1", "/1.0");
    assert_eq!(read("GET GET", &format!("{old}{ok}")), [vec![], vec![AnomalyKind::BytesAfterClose]]);
    let kept = old.replace("\r\n\r\n", "\r\nConnection: Keep-Alive\r\n\r\n");
    assert_eq!(read("GET GET", &format!("{kept}{ok}")), [vec![], vec![]]);
    // The bytes after 101 belong to another protocol.
    let switched = outcome(
        responses("GET GET", ReaderLimits::default()),
        [&b"HTTP/1.1 101 Up\r\n\r\n\x81\x05hello"[..]],
    );
    assert_eq!((switched.messages.len(), &switched.unread[..]), (1, &b"\x81\x05hello"[..]));
}

#[test]
fn limits_end_reading() {
    let read = |text: &str| -> (Ending, usize, usize, u64) {
        let Outcome { messages, unread, dropped } = outcome(responses("GET", TIGHT), [text.as_bytes()]);
        let raw = messages.last().unwrap();
        assert!(
            raw.is_complete()
                || matches!(kinds(raw).last(), Some(AnomalyKind::TooLong(_) | AnomalyKind::TooManyAnomalies))
        );
        (raw.ending(), raw.bytes().len(), unread.len(), dropped)
    };
    let ok = "HTTP/1.1 200 OK\r\n";
    assert_eq!(read(&"x".repeat(200)), (Ending::TooLong(Limit::Head), 120, 30, 50));
    assert_eq!(read(&format!("{ok}A: {}", "x".repeat(200))).0, Ending::TooLong(Limit::Head));
    assert_eq!(read(&format!("{ok}{}\r\n", "A: b\r\n".repeat(5))).0, Ending::TooLong(Limit::Fields));
    assert_eq!(read(&format!("{ok}{}\r\n", "A: b\r\n".repeat(4))).0, Ending::Complete);
    assert_eq!(read(&format!("{ok}\r\n{}", "x".repeat(60))), (Ending::Complete, 79, 0, 0));
    assert_eq!(read(&format!("{ok}\r\n{}", "x".repeat(99))), (Ending::TooLong(Limit::Body), 79, 30, 9));
    let long = format!("{ok}Content-Length: 99999999999999999999999\r\n\r\n{}", "x".repeat(99));
    assert_eq!(read(&long).0, Ending::TooLong(Limit::Body));
    let chunked = format!("{ok}Transfer-Encoding: chunked\r\n\r\n");
    assert_eq!(read(&format!("{chunked}1;{}", "x".repeat(99))).0, Ending::TooLong(Limit::Body));
    assert_eq!(read(&format!("{chunked}{}", "1\r\nx\r\n".repeat(5))).0, Ending::TooLong(Limit::Chunks));
    assert_eq!(read(&format!("{chunked}0\r\n{}", "A: b\r\n".repeat(5))).0, Ending::TooLong(Limit::Fields));
    assert_eq!(read(&format!("{}{ok}\r\n", "\n".repeat(30))).0, Ending::Complete);
}

#[test]
fn requests() {
    let text =
        b"\r\nPUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhiGET * HTTP/1.1\r\nHost : x\r\n\r\n";
    let outcome = outcome(RequestReader::default(), [&text[..]]);
    let [put, get] = &outcome.messages[..] else { panic!("not two") };
    assert_eq!(kinds(put), [AnomalyKind::LeadingEmptyLine]);
    assert_eq!(
        (put.method(), put.target(), &*put.content()),
        (Some(&b"PUT"[..]), Some(&b"/a"[..]), &b"hi"[..])
    );
    assert_eq!(put.fields().only("host").as_deref(), Some(&b"x"[..]));
    // A server must reject this request; a client need not reject such a response.
    assert_eq!(kinds(get), [AnomalyKind::SpaceBeforeColon]);
}
