//! Tests of message framing: RFC 9112.

use std::thread::sleep;
use std::time::Duration;

use super::client::{Client, correct, request};

#[test]
fn pipelined_requests_are_answered_in_order_9_3_2() {
    let (_server, mut client) = correct();
    let mut bytes = String::new();
    for number in 0..50 {
        bytes += &request(&format!("PUT /{number}"), "", &format!("content {number}"));
        bytes += &request(&format!("GET /{number}"), "", "");
        bytes += &request(&format!("HEAD /{number}"), "", "");
        bytes += "\r\n";
    }
    client.send(&bytes);
    for number in 0..50 {
        assert_eq!(client.receive("PUT").unwrap().status, 201);
        assert_eq!(client.receive("GET").unwrap().text(), format!("content {number}"));
        assert_eq!(client.receive("HEAD").unwrap().status, 200);
    }
    assert!(!client.hears_more());
}

#[test]
fn requests_may_come_byte_by_byte_2_2() {
    let (_server, mut client) = correct();
    let bytes = request("PUT /a", "", "hello") + &request("GET /a", "", "");
    for byte in bytes.as_bytes() {
        client.send([*byte]);
    }
    assert_eq!(client.receive("PUT").unwrap().status, 201);
    assert_eq!(client.receive("GET").unwrap().text(), "hello");
}

#[test]
fn chunked_requests_with_extensions_and_trailers_7_1() {
    let (_server, mut client) = correct();
    let head = "PUT /a HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: Chunked\r\n\r\n";
    client.send(format!(
        "{head}5;a=\"b\"\r\nhello\r\n000000000000000000000001 ; x\r\n!\r\nA\r\n0123456789\r\n0\r\nX-Trailer: y\r\n\r\n"
    ));
    assert_eq!(client.receive("PUT").unwrap().status, 201);
    assert_eq!(client.get("/a").text(), "hello!0123456789");
    client.send(format!("{head}0\r\n\r\n"));
    assert_eq!(client.receive("PUT").unwrap().status, 204);
    assert_eq!(client.get("/a").text(), "");
}

#[test]
fn a_client_that_asks_first_is_encouraged_9110_10_1_1() {
    let (_server, mut client) = correct();
    client.send("PUT /a HTTP/1.1\r\nHost: test\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(client.receive("PUT").unwrap().status, 100);
    client.send("hello");
    assert_eq!(client.receive("PUT").unwrap().status, 201);
    assert_eq!(client.ask("GET /a", "Expect: 100-continue", "").text(), "hello", "no content, no 100");
    client.send("POST /a HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    let answer = client.receive("POST").unwrap();
    assert_eq!((answer.status, answer.field("connection")), (405, Some("close")));
    assert!(client.is_closed());
}

#[test]
fn a_connection_ends_when_asked_9_6() {
    let (server, mut client) = correct();
    let bytes = request("GET /a", "Connection: x, Close", "") + &request("PUT /b", "", "ignored");
    client.send(bytes);
    let answer = client.receive("GET").unwrap();
    assert_eq!((answer.status, answer.field("connection")), (404, Some("close")));
    assert!(client.is_closed());
    let mut client = Client::to(server.addr());
    assert_eq!(client.get("/b").status, 404, "what came after close is not performed");
    let old = Client::to(server.addr()).raw("GET /b HTTP/1.0\r\n\r\n");
    assert!(old.starts_with("HTTP/1.1 404 ") && old.contains("\r\nConnection: close\r\n"), "{old}");
}

/// Malformed requests: description, status that refuses the request before the connection closes, and bytes.
pub(crate) const REFUSED: &[(&str, u16, &str)] = &[
    ("no Host, 3.2", 400, "GET / HTTP/1.1\r\n\r\n"),
    ("two Hosts, 3.2", 400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
    ("a bad Host, 3.2", 400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
    ("space before colon, 5.1", 400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"),
    ("a folded line, 5.2", 400, "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n"),
    ("space before the first field, 2.2", 400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
    ("a field without name, 5", 400, "GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n"),
    ("a field without colon, 5", 400, "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n"),
    ("a control character, 9110 5.5", 400, "GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n"),
    ("a lone CR, 2.2", 400, "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n"),
    ("a lone LF, 2.2", 400, "GET / HTTP/1.1\nHost: a\n\n"),
    ("two spaces, 3", 400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("no version, 3", 400, "GET /\r\n\r\n"),
    ("not HTTP, 3", 400, "hello\r\n\r\n"),
    ("another version, 2.3", 505, "GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
    (
        "lengths that differ, 6.3",
        400,
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    ),
    (
        "a list of lengths that differ, 6.3",
        400,
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 2\r\n\r\nab",
    ),
    ("a length with sign, 6.3", 400, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na"),
    ("no length at all, 6.3", 400, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n"),
    (
        "too long, 9110 15.5.14",
        413,
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
    ),
    (
        "length beside chunks, 6.1",
        400,
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "not chunked in the end, 6.3",
        400,
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
    ),
    ("chunked twice, 6.1", 400, "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n"),
    ("an unknown coding, 6.1", 501, "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
    (
        "chunks in HTTP/1.0, 6.1",
        400,
        "PUT / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "a bad chunk size, 7.1",
        400,
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2x\r\nab\r\n0\r\n\r\n",
    ),
    (
        "a huge chunk, 7.1",
        400,
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n",
    ),
    (
        "more than 32 bits, 7.1",
        413,
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n100000002\r\nab\r\n0\r\n\r\n",
    ),
    (
        "a large chunk, 9110 15.5.14",
        413,
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
    ),
    (
        "a chunk without end, 7.1",
        400,
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n0\r\n\r\n",
    ),
];

#[test]
fn what_cannot_be_framed_is_refused_and_the_connection_closed() {
    let (server, mut witness) = correct();
    for (what, status, bytes) in REFUSED {
        let smuggled = request("PUT /smuggled", "", "x");
        let text = Client::to(server.addr()).raw(format!("{bytes}{smuggled}"));
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{what}: {text}");
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{what}: {text}");
        assert!(text.contains("\r\nConnection: close\r\n") && !text.ends_with('…'), "{what}: {text}");
        assert_eq!(witness.get("/smuggled").status, 404, "{what}");
    }
}

#[test]
fn lengths_that_agree_are_one_6_3() {
    let (_server, mut client) = correct();
    for fields in ["Content-Length: 2\r\nContent-Length: 2", "Content-Length: 2, 2", "Content-Length: 2 ,2"] {
        client.send(format!("PUT /a HTTP/1.1\r\nHost: \r\n{fields}\r\n\r\nab"));
        assert!(client.receive("PUT").unwrap().status < 300, "{fields}");
        assert_eq!(client.get("/a").text(), "ab");
    }
}

#[test]
fn half_a_request_changes_nothing_6_3() {
    let (server, mut witness) = correct();
    witness.put("/a", "whole");
    for bytes in [
        "PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf",
        "PUT /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ] {
        let mut client = Client::to(server.addr());
        client.send(bytes);
        drop(client);
    }
    sleep(Duration::from_millis(50));
    assert_eq!(witness.get("/a").text(), "whole");
}
