//! Tests of the reverse proxy: RFC 9110, 7.6.

use std::io::Write;
use std::net::TcpListener;
use std::thread::sleep;
use std::time::Duration;

use confute_testbed::embedded::{Config, Embedded, Upstream};

use super::client::{Client, Recorder, correct, request, start};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

pub(crate) fn before(recorder: &Recorder) -> (Embedded, Client) {
    let server = start(Config::default().proxy("/proxy/", recorder.address));
    let client = Client::to(server.addr());
    (server, client)
}

#[test]
fn the_origin_seen_through_the_proxy_is_the_origin() {
    let (origin, mut direct) = correct();
    let server = start(Config::default().proxy("/proxy/", origin.addr()));
    let mut client = Client::to(server.addr());
    let created = client.ask("PUT /proxy/a?x", "Content-Type: text/x", "hello");
    assert_eq!(created.status, 201);
    let (far, near) = (client.get("/proxy/a?x"), direct.get("/a?x"));
    assert_eq!((far.text(), far.tag(), far.field("content-type")), ("hello", near.tag(), Some("text/x")));
    assert_eq!(client.get("/a?x").status, 404, "the server's own store is another");
    let head = client.ask("HEAD /proxy/a?x", "", "");
    assert_eq!((head.status, head.field("content-length")), (200, Some("5")));
    let tag = format!("If-None-Match: {}", near.tag());
    assert_eq!(client.ask("GET /proxy/a?x", &tag, "").status, 304, "13.2.1: conditions are the origin's");
    assert_eq!(client.ask("PUT /proxy/a?x", &tag, "no").status, 412);
    assert_eq!(client.ask("GET /proxy/a?x", "Range: bytes=1-2", "").text(), "el");
    assert_eq!(client.ask("POST /proxy/a", "", "x").status, 405);
    assert_eq!(client.ask("DELETE /proxy/a?x", "", "").status, 204);
    assert_eq!(direct.get("/a?x").status, 404);
    let long = "0123456789".repeat(20_000);
    direct.put("/long", &long);
    assert_eq!(client.get("/proxy/long").text(), long, "chunks of the origin");
    assert_eq!(client.ask("HEAD /proxy/long", "", "").field("content-length"), None);
}

#[test]
fn what_is_forwarded_7_6_1_and_7_6_3() {
    let recorder = Recorder::saying(OK);
    let (server, mut client) = before(&recorder);
    let fields = "Connection: close-not, X-Hop\nx-hop: secret\nKeep-Alive: 1\nTE: trailers\nUpgrade: h2c\n\
                  Proxy-Connection: x\nX-End: kept\nVia: 1.0 fred\nMax-Forwards: 7";
    assert_eq!(client.ask("PATCH /proxy/a%2fb?c=d", fields, "body").text(), "ok");
    let (origin, port) = (recorder.address, server.addr().port());
    let expected = format!(
        "PATCH /a%2fb?c=d HTTP/1.1\r\nHost: {origin}\r\nX-End: kept\r\nVia: 1.0 fred\r\nMax-Forwards: 7\r\n\
         Via: 1.1 embedded:{port}\r\nContent-Length: 4\r\n\r\nbody",
    );
    assert_eq!(recorder.heard(), [expected]);
}

#[test]
fn chunked_requests_are_forwarded_with_length() {
    let recorder = Recorder::saying(OK);
    let (_server, mut client) = before(&recorder);
    client
        .send("POST /proxy/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(client.receive("POST").unwrap().text(), "ok");
    assert!(recorder.heard()[0].ends_with("Content-Length: 3\r\n\r\nabc"), "{:?}", recorder.heard());
}

#[test]
fn what_is_relayed_7_6_1() {
    let recorder = Recorder::saying(
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 299 Odd\r\nConnection: X-Hop\r\nX-Hop: secret\r\nX-End : \
         kept\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Trailer: y\r\n\r\n",
    );
    let (_server, mut client) = before(&recorder);
    client.send(request("GET /proxy/", "", ""));
    let hints = client.receive("GET").unwrap();
    assert_eq!(
        (hints.status, hints.field("link")),
        (103, Some("x")),
        "15.2: interim responses are forwarded"
    );
    let answer = client.receive("GET").unwrap();
    assert_eq!((answer.status, answer.text()), (299, "ok"));
    assert_eq!(answer.field("x-hop"), None);
    assert_eq!(answer.field("connection"), None);
    assert_eq!(answer.field("x-end"), Some("kept"), "9112, 5.1: space before the colon is removed");
    assert!(answer.field("via").unwrap().starts_with("1.1 embedded:"));
}

#[test]
fn max_forwards_7_6_2() {
    let recorder = Recorder::saying(OK);
    let (_server, mut client) = before(&recorder);
    let answer = client.ask("OPTIONS /proxy/a", "Max-Forwards: 0", "");
    assert_eq!(answer.status, 204);
    let answer = client.ask("TRACE /proxy/a", "Max-Forwards: 0\nX: y\nCookie: secret", "");
    assert_eq!(answer.text(), "TRACE /proxy/a HTTP/1.1\r\nHost: test\r\nMax-Forwards: 0\r\nX: y\r\n\r\n");
    assert_eq!(recorder.heard().len(), 0);
    client.ask("OPTIONS /proxy/a", "Max-Forwards: 5", "");
    assert!(recorder.heard()[0].contains("Max-Forwards: 4\r\n"));
}

#[test]
fn an_origin_that_is_not_there_is_502_and_one_that_is_mute_504() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = start(Config::default().proxy("/proxy/", nobody));
    let mut client = Client::to(server.addr());
    assert_eq!(client.get("/proxy/a").status, 502);
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let patience = Duration::from_millis(100);
    let upstream = Upstream { prefix: "/proxy".to_owned(), origin: mute.local_addr().unwrap(), patience };
    let server = start(Config { proxy: Some(upstream), ..Config::default() });
    let mut client = Client::to(server.addr());
    assert_eq!(client.get("/proxy/a").status, 504);
    assert_eq!(client.get("/a").status, 404, "the connection is as good as before");
}

#[test]
fn origins_that_talk_nonsense_are_502() {
    for answer in [
        "hello\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "",
    ] {
        let recorder = Recorder::start(move |_, stream| {
            let _ = stream.write_all(answer.as_bytes());
            false
        });
        let (_server, mut client) = before(&recorder);
        assert_eq!(client.get("/proxy/a").status, 502, "{answer:?}");
        assert_eq!(client.get("/a").status, 404);
    }
    let recorder =
        Recorder::start(|_, stream| stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nuntil the end").is_err());
    let (_server, mut client) = before(&recorder);
    assert_eq!(client.get("/proxy/a").text(), "until the end", "9112, 6.3: that is no nonsense");
}

#[test]
fn connections_to_the_origin_are_used_again_and_idempotent_requests_repeated_9_2_2() {
    // The second request on a connection gets no response.
    let recorder =
        Recorder::start(|number, stream| number % 2 == 0 && stream.write_all(OK.as_bytes()).is_ok());
    let (_server, mut client) = before(&recorder);
    assert_eq!(client.get("/proxy/1").status, 200);
    assert_eq!(client.get("/proxy/2").status, 200);
    assert_eq!(recorder.heard().len(), 3, "the second was sent twice");
    assert_eq!(client.ask("POST /proxy/3", "", "x").status, 502, "not idempotent, so not repeated");
    assert_eq!(recorder.heard().len(), 4);
}

#[test]
fn a_connection_the_origin_has_closed_is_not_used_again() {
    let recorder = Recorder::start(|_, stream| {
        let _ = stream.write_all(OK.as_bytes());
        false
    });
    let (_server, mut client) = before(&recorder);
    for number in 0..3 {
        assert_eq!(client.ask("POST /proxy/3", "", "x").status, 200);
        assert_eq!(recorder.heard().len(), number + 1);
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn loops_are_noticed_7_6() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap();
    drop(holder);
    let server = start(Config { port: port.port(), ..Config::default() }.proxy("/", port));
    let mut client = Client::to(server.addr());
    assert_eq!(client.get("/a").status, 502);
}

#[test]
fn a_proxy_makes_no_promises_for_the_origin_9110_10_1_1() {
    let recorder = Recorder::saying(OK);
    let (_server, mut client) = before(&recorder);
    client.send("PUT /proxy/a HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(client.receive("PUT").unwrap().status, 417);
    assert!(client.is_closed());
}
