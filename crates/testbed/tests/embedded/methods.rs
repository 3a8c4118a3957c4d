//! Tests of GET, HEAD, PUT, DELETE, OPTIONS and unsupported methods, without conditions.

use std::time::Duration;

use confute_testbed::embedded::{Config, TagStyle};

use super::client::{Client, correct, start};

#[test]
fn what_was_put_is_there_9_3_4() {
    let (_server, mut client) = correct();
    assert_eq!(client.get("/a").status, 404);
    let created = client.ask("PUT /a", "Content-Type: text/plain", "hello");
    assert_eq!(created.status, 201);
    let got = client.get("/a");
    assert_eq!((got.status, got.text(), got.field("content-type")), (200, "hello", Some("text/plain")));
    assert_eq!(got.tag(), created.tag());
    assert_eq!(got.field("last-modified"), created.field("last-modified"));
    let replaced = client.put("/a", "");
    assert_eq!(replaced.status, 204);
    assert_eq!(replaced.field("content-length"), None, "RFC 9110, 8.6");
    assert_ne!(replaced.tag(), created.tag());
    let got = client.get("/a");
    assert_eq!((got.status, got.text(), got.tag()), (200, "", replaced.tag()));
    assert_eq!(got.field("content-type"), Some("application/octet-stream"));
}

#[test]
fn head_is_get_without_content_9_3_2() {
    let (_server, mut client) = correct();
    client.put("/a", "hello");
    let (get, head) = (client.get("/a"), client.ask("HEAD /a", "", ""));
    let lines = |head: &str| head.lines().filter(|it| !it.starts_with("Date")).collect::<Vec<_>>().join("\n");
    assert_eq!(lines(&get.head), lines(&head.head));
    assert_eq!(client.ask("HEAD /b", "", "").status, 404);
    assert!(!client.hears_more());
}

#[test]
fn what_was_deleted_is_gone_9_3_5() {
    let (_server, mut client) = correct();
    assert_eq!(client.ask("DELETE /a", "", "").status, 404);
    client.put("/a", "hello");
    client.put("/b", "other");
    assert_eq!(client.ask("DELETE /a", "", "").status, 204);
    assert_eq!(client.get("/a").status, 404);
    assert_eq!(client.get("/b").text(), "other");
    assert_eq!(client.put("/a", "again").status, 201);
}

#[test]
fn options_and_methods_that_are_not_there_9_3_7_15_5_6() {
    let (_server, mut client) = correct();
    let allow = Some("GET, HEAD, PUT, DELETE, OPTIONS");
    for line in ["OPTIONS /a", "OPTIONS *"] {
        let answer = client.ask(line, "If-Match: \"no\"", "");
        assert_eq!((answer.status, answer.field("allow")), (204, allow), "conditions are ignored: 13.2.1");
    }
    for line in ["POST /a", "PATCH /a", "PROPFIND /a", "TRACE /a", "CONNECT test:80"] {
        let answer = client.ask(line, "", "content is read all the same");
        assert_eq!((answer.status, answer.field("allow")), (405, allow), "{line}");
    }
    assert_eq!(client.ask("BREW /pot", "", "").status, 501);
    assert_eq!(client.ask("get /a", "", "").status, 501, "methods are case-sensitive: 9.1");
    assert_eq!(client.ask("GET *", "", "").status, 400);
}

#[test]
fn targets_that_mean_the_same_4_2_3_and_9112_3_2_2() {
    let (_server, mut client) = correct();
    client.put("/a-b", "it");
    for path in ["/%61-b", "/a%2Db", "/a%2db", "http://elsewhere/a-b", "HTTP://elsewhere/a-b"] {
        assert_eq!(client.get(path).text(), "it", "{path}");
    }
    for path in ["/A-b", "/a-b/", "/a-b?", "/a-b?x"] {
        assert_eq!(client.get(path).status, 404, "{path}");
    }
    for path in ["/%6", "/%zz", "/a#b", "a", "ftp://elsewhere/a-b", "http:///a-b"] {
        assert_eq!(client.get(path).status, 400, "{path}");
    }
    assert_eq!(client.ask("PUT http://test?q", "", "q").status, 201);
    assert_eq!(client.get("/?q").text(), "q");
}

#[test]
fn puts_that_cannot_be_kept_are_refused_14_5_15_5_16() {
    let (_server, mut client) = correct();
    assert_eq!(client.ask("PUT /a", "Content-Range: bytes 0-1/5", "he").status, 400);
    assert_eq!(client.ask("PUT /a", "Content-Encoding: gzip", "he").status, 415);
    assert_eq!(client.get("/a").status, 404);
}

#[test]
fn long_content_comes_in_chunks_9112_7_1() {
    let (server, mut client) = correct();
    let long = "0123456789".repeat(20_000);
    client.put("/a", &long);
    let got = client.get("/a");
    assert_eq!((got.text(), got.field("content-length")), (&long[..], None));
    let head = client.ask("HEAD /a", "", "");
    assert_eq!(head.field("transfer-encoding"), Some("chunked"));
    let old = Client::to(server.addr()).raw("GET /a HTTP/1.0\r\n\r\n");
    assert!(
        old.ends_with(&format!("Connection: close\r\n\r\n{long}")),
        "HTTP/1.0 knows no chunks: 9112, 6.1"
    );
}

#[test]
fn tags_are_strong_or_weak_as_configured_8_8_3() {
    let tags = |style, wait| {
        let server = start(Config::default().tags(style));
        let mut client = Client::to(server.addr());
        let first = client.put("/a", "1").tag().to_owned();
        std::thread::sleep(wait);
        let now = client.get("/a").tag().to_owned();
        assert_eq!(first.trim_start_matches("W/"), now.trim_start_matches("W/"));
        let matched = client.ask("PUT /a", &format!("If-Match: {now}"), "2").status;
        (first.starts_with("W/"), now.starts_with("W/"), matched)
    };
    assert_eq!(tags(TagStyle::Strong, Duration::ZERO), (false, false, 204));
    assert_eq!(tags(TagStyle::Weak, Duration::ZERO), (true, true, 412));
    assert_eq!(tags(TagStyle::WeakAtFirst(Duration::from_secs(9)), Duration::ZERO), (true, true, 412));
    let soon = Duration::from_millis(50);
    assert_eq!(tags(TagStyle::WeakAtFirst(soon), 2 * soon), (true, false, 204));
}
