//! Tests of preconditions: RFC 9110, 13.

use std::sync::Barrier;
use std::thread;

use super::client::{Client, correct};

const LONG_AGO: &str = "Sat, 29 Oct 1994 19:43:31 GMT";
const FAR_AHEAD: &str = "Fri, 29 Oct 2094 19:43:31 GMT";

#[test]
fn if_match_13_1_1() {
    let (_server, mut client) = correct();
    assert_eq!(client.ask("PUT /a", "If-Match: *", "no").status, 412, "nothing there");
    assert_eq!(client.ask("PUT /a", "If-Match: \"x\"", "no").status, 412, "nothing there");
    assert_eq!(client.get("/a").status, 404);
    let mut tag = client.put("/a", "0").tag().to_owned();
    for (number, fields) in [
        "If-Match: *",
        "If-Match: TAG",
        "if-match: \"x\" , TAG",
        "If-Match: W/\"x\", TAG, \"y\"",
        "If-Match: \"x\"\nIf-Match: TAG",
        "If-Match: ,, TAG,",
    ]
    .iter()
    .enumerate()
    {
        let answer = client.ask("PUT /a", &fields.replace("TAG", &tag), &number.to_string());
        assert_eq!(answer.status, 204, "{fields}");
        tag = answer.tag().to_owned();
    }
    for fields in
        ["If-Match: \"x\"", "If-Match: W/TAG", "If-Match: \"x\", \"y\"", "If-Match:", "If-Match: TAGx"]
    {
        let fields = fields.replace("TAG", &tag);
        for line in ["PUT /a", "DELETE /a", "GET /a", "HEAD /a"] {
            assert_eq!(client.ask(line, &fields, "").status, 412, "{line} {fields}");
        }
    }
    assert_eq!(client.get("/a").text(), "5");
    assert_eq!(client.ask("GET /a", &format!("If-Match: {tag}"), "").text(), "5");
    assert_eq!(client.ask("DELETE /a", &format!("If-Match: {tag}"), "").status, 204);
}

#[test]
fn if_none_match_13_1_2() {
    let (_server, mut client) = correct();
    let created = client.ask("PUT /a", "If-None-Match: *", "1");
    assert_eq!(created.status, 201);
    let tag = created.tag().to_owned();
    for fields in [
        "If-None-Match: *",
        "If-None-Match: TAG",
        "If-None-Match: W/TAG",
        "If-None-Match: \"x\", W/TAG",
        "If-None-Match: \"x\"\nIf-None-Match: TAG",
    ] {
        let fields = fields.replace("TAG", &tag);
        for line in ["GET /a", "HEAD /a"] {
            let answer = client.ask(line, &fields, "");
            assert_eq!((answer.status, answer.tag()), (304, &tag[..]), "{line} {fields}");
        }
        for line in ["PUT /a", "DELETE /a"] {
            assert_eq!(client.ask(line, &fields, "2").status, 412, "{line} {fields}");
        }
    }
    assert_eq!(client.ask("GET /a", "If-None-Match: \"x\"", "").text(), "1");
    assert_eq!(client.ask("PUT /a", "If-None-Match: \"x\"", "2").status, 204);
    assert_eq!(client.ask("DELETE /a", "If-None-Match: \"x\"", "").status, 204);
}

#[test]
fn dates_13_1_3_and_13_1_4() {
    let (_server, mut client) = correct();
    let written = client.put("/a", "1").field("last-modified").unwrap().to_owned();
    for (field, date, status) in [
        ("If-Modified-Since", LONG_AGO, 200),
        ("If-Modified-Since", FAR_AHEAD, 304),
        ("If-Modified-Since", &written, 304),
        ("If-Modified-Since", "some day", 200),
        ("If-Unmodified-Since", LONG_AGO, 412),
        ("If-Unmodified-Since", FAR_AHEAD, 200),
        ("If-Unmodified-Since", &written, 200),
        ("If-Unmodified-Since", "0", 200),
    ] {
        assert_eq!(client.ask("GET /a", &format!("{field}: {date}"), "").status, status, "{field} {date}");
    }
    assert_eq!(
        client.ask("PUT /a", &format!("If-Modified-Since: {FAR_AHEAD}"), "2").status,
        204,
        "GET and HEAD only"
    );
    assert_eq!(client.ask("PUT /a", &format!("If-Unmodified-Since: {LONG_AGO}"), "3").status, 412);
    assert_eq!(
        client.ask("PUT /b", &format!("If-Unmodified-Since: {LONG_AGO}"), "3").status,
        201,
        "no date there"
    );
    assert_eq!(client.get("/a").text(), "2");
}

#[test]
fn precedence_13_2_2() {
    let (_server, mut client) = correct();
    let tag = client.put("/a", "1").tag().to_owned();
    for (line, fields, status) in [
        ("GET /a", format!("If-Match: {tag}\nIf-Unmodified-Since: {LONG_AGO}"), 200),
        ("GET /a", format!("If-Match: \"x\"\nIf-Unmodified-Since: {FAR_AHEAD}"), 412),
        ("GET /a", format!("If-None-Match: \"x\"\nIf-Modified-Since: {FAR_AHEAD}"), 200),
        ("GET /a", format!("If-None-Match: {tag}\nIf-Modified-Since: {LONG_AGO}"), 304),
        ("GET /a", format!("If-Match: {tag}\nIf-None-Match: {tag}"), 304),
        ("GET /a", format!("If-Match: \"x\"\nIf-None-Match: {tag}"), 412),
        ("GET /a", format!("If-None-Match: {tag}\nRange: bytes=0-0"), 304),
        ("GET /a", "If-Match: \"x\"\nRange: bytes=9-".to_owned(), 412),
        ("PUT /a", format!("If-Match: {tag}\nIf-None-Match: {tag}"), 412),
        ("PUT /a", format!("If-Match: {tag}\nIf-None-Match: \"x\""), 204),
    ] {
        assert_eq!(client.ask(line, &fields, "2").status, status, "{line} {fields}");
    }
}

#[test]
fn conditions_do_not_matter_where_the_answer_is_no_anyway_13_2_1() {
    let (_server, mut client) = correct();
    for fields in ["If-Match: *", "If-Match: \"x\"", "If-None-Match: *", "If-None-Match: \"x\""] {
        for line in ["GET /a", "HEAD /a", "DELETE /a"] {
            assert_eq!(client.ask(line, fields, "").status, 404, "{line} {fields}");
        }
        assert_eq!(client.ask("POST /a", fields, "").status, 405);
    }
}

/// Sends the same request from `count` clients at once and returns the number of 2xx responses.
pub(crate) fn winners(address: std::net::SocketAddr, count: usize, line: &str, fields: &str) -> usize {
    let barrier = Barrier::new(count);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                let mut client = Client::to(address);
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    let status = client.ask(line, fields, &format!("by {number}")).status;
                    usize::from((200..300).contains(&status))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

#[test]
fn of_many_at_once_one_wins_13_1_1_and_13_1_2() {
    let (server, mut client) = correct();
    for round in 0..20 {
        assert_eq!(winners(server.addr(), 16, &format!("PUT /{round}"), "If-None-Match: *"), 1);
        let tag = client.get(&format!("/{round}")).tag().to_owned();
        assert_eq!(winners(server.addr(), 16, &format!("PUT /{round}"), &format!("If-Match: {tag}")), 1);
        let tag = client.get(&format!("/{round}")).tag().to_owned();
        assert_eq!(winners(server.addr(), 16, &format!("DELETE /{round}"), &format!("If-Match: {tag}")), 1);
    }
}
