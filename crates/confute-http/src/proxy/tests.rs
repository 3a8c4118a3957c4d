//! Tests of permitted and forbidden changes to forwarded messages.

use confute_drive::{Reader as _, Side};

use super::model::Mapping;
use super::{deviations, rules, spec};
use crate::decode::HttpReader;
use crate::message::{Field, Fields, Message, Method, Request, Response};
use crate::rules::RuleSet;

fn mapping() -> Mapping {
    Mapping {
        from: "/in/".to_owned(),
        to: "/".to_owned(),
        host: "gate:8080".to_owned(),
        origin: "10.0.0.1:9090".to_owned(),
    }
}

fn read(side: Side, method: &Method, bytes: &str) -> Message {
    let mut reader = HttpReader::new(side, true);
    let asked = Request { method: method.clone(), ..Request::default() };
    reader.sent(&asked.forwarding(|_| {}).into());
    let mut messages = Vec::new();
    reader.feed(bytes.replace('|', "\r\n").as_bytes(), &mut messages);
    reader.end(true, &mut messages);
    assert_eq!(messages.len(), 1, "{messages:?}");
    messages.remove(0)
}

fn request(bytes: &str) -> Request {
    let Message::Request(request) = read(Side::Accepted, &Method::Get, bytes) else { panic!("no request") };
    Request::clone(&request)
}

fn response(method: &Method, bytes: &str) -> Response {
    let Message::Response(response) = read(Side::Opened, method, bytes) else { panic!("no response") };
    Response::clone(&response)
}

pub(super) fn names(broken: RuleSet) -> String {
    let broken = rules::ALL.iter().filter(|rule| broken.has(RuleSet::of(rule))).map(|rule| rule.name);
    broken.collect::<Vec<_>>().join(" ")
}

/// Returns the rules that `seen` breaks as the forwarded form of `sent`.
fn forwarded(sent: &str, seen: &str) -> Option<String> {
    spec::forwarded(&request(sent), &request(seen), &mapping()).map(names)
}

#[test]
fn what_may_be_done_to_requests() {
    let sent = "PUT /in/a?b HTTP/1.1|Host: gate:8080|X-Confute: 1|Connection: X-Hop, TE|X-Hop: h|TE: trailers|\
                Keep-Alive: 7|X-End: a|X-End: b,c|If-Match: \"x\"|Via: 1.0 fred|Content-Length: 2||hi";
    for seen in [
        // No optional change.
        "PUT /a?b HTTP/1.1|Host: 10.0.0.1:9090|X-Confute: 1|X-End: a|X-End: b,c|If-Match: \"x\"|\
         Via: 1.0 fred, 1.1 me|Content-Length: 2||hi",
        // HTTP/1.0, other framing, combined field lines, additional fields, connection options of its own, the
        // client's Host.
        "PUT /a?b HTTP/1.0|Host: gate:8080|x-confute: 1|X-End: a, b, c|If-Match: \"x\"|Via: 1.0 fred|\
         Via: HTTP/1.1 me (x)|X-Forwarded-For: y|Connection: close, TE|TE: trailers|Content-Length: 2||hi",
        "PUT /a?b HTTP/1.1|Host: backend|X-Confute: 1|X-End: a,b,c|If-Match: \"x\"|Via: 1.0 fred, 1.1 me|\
         Transfer-Encoding: chunked||1|h|1|i|0||",
    ] {
        assert_eq!(forwarded(sent, seen).as_deref(), Some(""), "{seen}");
    }
    // Via may have another protocol name.
    let get = "GET /in/a HTTP/1.1|Host: gate:8080|X-Confute: 1||";
    let secure = "GET /a HTTP/1.1|Host: gate:8080|X-Confute: 1|Via: HTTPS/1.1 me||";
    assert_eq!(forwarded(get, secure).as_deref(), Some(""));
    // A cache may change the preconditions and Range; HTTP/1.0 does not require Host.
    let get = "GET /in/a HTTP/1.1|Host: gate:8080|X-Confute: 1|If-None-Match: \"x\"|Range: bytes=0-1||";
    assert_eq!(forwarded(get, "GET /a HTTP/1.0|X-Confute: 1|Via: 1.1 me||").as_deref(), Some(""));
    let other = "GET /a HTTP/1.1|Host: o|X-Confute: 2|Via: 1.1 me||";
    assert_eq!(forwarded(get, other), None, "another request");
}

#[test]
fn hosts_that_may_be_meant() {
    let judged = |client: &str, origin: &str, host: &str| {
        let mapping = Mapping { host: client.to_owned(), origin: origin.to_owned(), ..mapping() };
        let seen = request(&format!("GET /a HTTP/1.1|Host: {host}|X-Confute: 1|Via: 1.1 me||"));
        let sent = request("GET /in/a HTTP/1.1|Host: x|X-Confute: 1||");
        spec::forwarded(&sent, &seen, &mapping).map(names).unwrap()
    };
    // The gateway may know the origin by its own name.
    assert_eq!(judged("localhost:8080", "127.0.0.1:9090", "localhost:9090"), "");
    assert_eq!(judged("LocalHost:8080", "127.0.0.1:9090", "localhost:8080"), "");
    // The default ports, explicit or not.
    for (client, host) in [("gate", "gate:443"), ("gate:443", "gate"), ("gate", "gate:80"), ("gate", "gate:")]
    {
        assert_eq!(judged(client, "127.0.0.1:9090", host), "", "{client} {host}");
    }
    assert_eq!(judged("[::1]:8080", "[::1]:9090", "[::1]"), "gateway/host-port");
}

#[test]
fn what_may_not_be_done_to_requests() {
    let sent = "PUT /in/a?b HTTP/1.1|Host: gate:8080|X-Confute: 1|Connection: X-Hop, TE|X-Hop: h|TE: trailers|\
                Keep-Alive: 7|X-End: a|If-Match: \"x\"|Via: 1.0 fred|Content-Length: 2||hi";
    let right = "PUT /a?b HTTP/1.1|Host: 10.0.0.1:9090|X-Confute: 1|X-End: a|If-Match: \"x\"|\
                 Via: 1.0 fred, 1.1 me|Content-Length: 2||hi";
    let with = |from: &str, to: &str| forwarded(sent, &right.replace(from, to)).unwrap();
    assert_eq!(with("", ""), "");
    assert_eq!(with("X-End: a|", "X-End: a|X-Hop: h|"), "rfc9110-7.6.1/named-fields");
    assert_eq!(with("X-End: a|", "X-End: a|TE: trailers|"), "rfc9110-7.6.1/named-fields");
    assert_eq!(with("X-End: a|", "X-End: a|X-Hop: h|Connection: X-Hop|"), "rfc9110-7.6.1/connection");
    assert_eq!(with("X-End: a|", "X-End: a|Keep-Alive: 7|"), "rfc9110-7.6.1/known-fields");
    assert_eq!(with("X-End: a|", "X-End: a|Keep-Alive: 9|"), "", "its own");
    for via in ["", "Via: 1.0 fred|", "Via: 1.1 me|", "Via: 1.0 fred, 1.0 me|"] {
        assert_eq!(with("Via: 1.0 fred, 1.1 me|", via), "rfc9110-7.6.3/via", "{via}");
    }
    assert_eq!(with("If-Match: \"x\"|", ""), "rfc9110-13.2.1/conditions-forwarded");
    for host in ["Host: 10.0.0.1", "Host: gate", "Host: gate:8081"] {
        assert_eq!(with("Host: 10.0.0.1:9090", host), "gateway/host-port", "{host}");
    }
    for host in ["X: y", "Host: o|Host: o"] {
        assert_eq!(with("Host: 10.0.0.1:9090", host), "rfc9112-3.2/one-host", "{host}");
    }
    assert_eq!(with("PUT", "POST"), "gateway/method");
    assert_eq!(with("/a?b", "/a"), "gateway/target");
    assert_eq!(with("/a?b", "/in/a?b"), "gateway/target");
    assert_eq!(with("2||hi", "1||h"), "gateway/request-content");
    assert_eq!(with("X-End: a|", ""), "gateway/request-fields");
    assert_eq!(with("X-End: a|", "X-End: a|  b|"), "rfc9112-2.1/forwarded-grammar gateway/request-fields");
    assert_eq!(with("X-Confute: 1|", ""), "gateway/request-fields");
}

#[test]
fn forwarding_is_counted() {
    let sent =
        |left: &str| format!("OPTIONS /in/a HTTP/1.1|Host: gate:8080|X-Confute: 1|Max-Forwards: {left}||");
    let seen = |left: &str| format!("OPTIONS /a HTTP/1.1|Host: o|Via: 1.1 me|X-Confute: 1|{left}|");
    let judged = |before: &str, after: &str| forwarded(&sent(before), &seen(after)).unwrap();
    assert_eq!(judged("7", "Max-Forwards: 6|"), "");
    assert_eq!(judged("7", "Max-Forwards: 2|"), "", "its maximum");
    assert_eq!(judged("7", "Max-Forwards: 7|"), "rfc9110-7.6.2/updated");
    assert_eq!(judged("7", ""), "rfc9110-7.6.2/updated");
    assert_eq!(judged("0", "Max-Forwards: 0|"), "rfc9110-7.6.2/zero");
}

#[test]
fn what_becomes_of_answers() {
    let fields = vec![
        Field::new("X-Confute", "a1"),
        Field::new("Cache-Control", "no-store, no-transform"),
        Field::new("Connection", "X-Hop"),
        Field::new("X-Hop", "h"),
        Field::new("ETag", "\"t\""),
    ];
    let sent = Response { status: 200, body: "hello".into(), ..Response::default() };
    let sent = sent.forwarding(|part| part.fields = Fields(fields));
    let asked = request("GET /in/a HTTP/1.1|Host: gate:8080|X-Confute: 1||");
    let right = "HTTP/1.1 200 Fine|X-Confute: a1|Cache-Control: no-store, no-transform|ETag: \"t\"|Date: d|\
                 Content-Length: 5||hello";
    let judged = |asked: &Request, sent: &Response, bytes: &str| {
        names(spec::relayed(asked, sent, &response(&asked.method, bytes)))
    };
    let with = |from: &str, to: &str| judged(&asked, &sent, &right.replace(from, to));
    assert_eq!(with("", ""), "");
    assert_eq!(with("Content-Length: 5||hello", "Transfer-Encoding: chunked||5|hello|0||"), "");
    assert_eq!(with("Content-Length: 5||hello", "Connection: close||hello"), "");
    assert_eq!(with("no-store, no-transform", "private, no-store, No-Transform"), "");
    assert_eq!(with("no-store, no-transform", "no-store"), "gateway/response-fields");
    assert_eq!(with("Content-Length: 5||hello", "Content-Length: 5||hel"), "", "it broke off");
    assert_eq!(with("Content-Length: 5||hello", "Content-Length: 4||hell"), "rfc9111-5.2.2.6/no-transform");
    assert_eq!(with("hello", "hallo"), "rfc9111-5.2.2.6/no-transform");
    assert_eq!(with("200 Fine", "203 Fine"), "gateway/status");
    assert_eq!(with("ETag: \"t\"|", ""), "gateway/response-fields");
    assert_eq!(with("ETag: \"t\"|", "ETag: \"t\"|X-Hop: h|"), "rfc9110-7.6.1/named-fields");
    assert_eq!(with("a1", "a2"), "rfc9112-9.2/own-answer");
    assert_eq!(with("X-Confute: a1|", "X-Confute: a1|X-End : b|"), "rfc9112-2.1/grammar");
    // A gateway may omit interim responses, a proxy may not; both may omit trailer fields, but not merge them.
    let early = Response { interim: vec![103], ..sent.clone() };
    let through = Request { path: "http://origin/a".into(), ..asked.clone() };
    let hinted = format!("HTTP/1.1 103 Hint||{right}");
    assert_eq!((judged(&asked, &early, right), judged(&asked, &early, &hinted)), Default::default());
    assert_eq!(judged(&through, &early, right), "rfc9110-15.2/forwarded");
    assert_eq!((judged(&through, &early, &hinted), judged(&through, &sent, &hinted)), Default::default());
    let trailers = Fields(vec![Field::new("X-End-T", "t")]);
    let trailed = sent.clone().forwarding(|part| part.trailers = trailers);
    let chunked =
        right.replace("Content-Length: 5||hello", "Transfer-Encoding: chunked||5|hello|0|X-End-T: t||");
    assert_eq!((judged(&asked, &trailed, right), judged(&asked, &trailed, &chunked)), Default::default());
    let merged = right.replace("Date: d|", "X-End-T: t|");
    assert_eq!(judged(&asked, &trailed, &merged), "rfc9112-7.1.2/trailers-apart");
    let cut = sent.clone().forwarding(|part| part.cut = Some(100));
    let half = right.replace("Content-Length: 5||hello", "Content-Length: 5||he");
    assert_eq!(judged(&asked, &cut, &half), "");
    assert_eq!(judged(&asked, &cut, right), "gateway/failure-told");
    let ended = right.replace("Content-Length: 5||hello", "Content-Length: 2||he");
    assert_eq!(judged(&asked, &cut, &ended), "gateway/failure-told");
    assert_eq!(judged(&asked, &cut, "HTTP/1.1 200 Fine|Content-Length: 0||"), "gateway/failure-told");
    assert_eq!(judged(&asked, &cut, &half.replace("||he", "||ha")), "gateway/failure-told");
    // If the gateway forwards HEAD as GET, the origin's response has content, which is not sent to the client.
    let head = Request { method: "HEAD".into(), ..asked.clone() };
    assert_eq!(judged(&head, &sent, right.trim_end_matches("hello")), "");
    // A request with a URL within its path is not one to a proxy.
    let odd = Request { path: "/in/http://origin/a".into(), ..asked.clone() };
    assert_eq!(judged(&odd, &early, right), "");
    // A request that is not forwarded is redirected, refused, or, for OPTIONS, about the gateway itself.
    let kept =
        |asked: &Request, bytes: &str| deviations::kept(asked, &response(&asked.method, bytes)).map(names);
    let options = Request { method: "OPTIONS".into(), ..asked.clone() };
    let needless = Some("gateway/forwarded".to_owned());
    assert_eq!(kept(&options, "HTTP/1.1 204 Here|Allow: GET||"), needless);
    assert_eq!(kept(&asked, "HTTP/1.1 302 There|Location: /b|Content-Length: 0||"), needless);
    assert_eq!(kept(&asked, "HTTP/1.1 403 No|Content-Length: 0||"), needless);
    assert_eq!(kept(&asked, "HTTP/1.1 200 Here|Content-Length: 0||"), None);
    // A cache may evaluate the preconditions of the client.
    let conditional = request("GET /in/a HTTP/1.1|Host: gate:8080|X-Confute: 1|If-None-Match: \"t\"||");
    let not_modified = "HTTP/1.1 304 No|X-Confute: a1|Cache-Control: no-store, no-transform|ETag: \"t\"||";
    assert_eq!(judged(&conditional, &sent, not_modified), "");
}

#[test]
fn secrets_stay_out_of_messages() {
    let seen = request("GET /a HTTP/1.1|Host: o|Authorization: Basic abc|X-Api-Key: secret|X-Confute: 1||");
    let said = Message::from(seen).to_string();
    assert_eq!(said, "GET /a, Host: o, X-Confute: 1");
}
