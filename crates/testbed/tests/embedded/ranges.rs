//! Tests of partial content: RFC 9110, 14.

use std::thread::sleep;
use std::time::Duration;

use super::client::correct;

#[test]
fn one_range_14_1_2_and_15_3_7_1() {
    let (_server, mut client) = correct();
    client.ask("PUT /a", "Content-Type: text/x", "0123456789");
    for (range, told, body) in [
        ("0-3", "0-3", "0123"),
        ("3-3", "3-3", "3"),
        ("7-", "7-9", "789"),
        ("7-99999999999999999999", "7-9", "789"),
        ("-2", "8-9", "89"),
        ("-99", "0-9", "0123456789"),
    ] {
        let answer = client.ask("GET /a", &format!("Range: bytes={range}"), "");
        assert_eq!((answer.status, answer.text()), (206, body), "{range}");
        assert_eq!(answer.field("content-range"), Some(&format!("bytes {told}/10")[..]));
        assert_eq!(answer.field("content-type"), Some("text/x"));
        assert!(answer.field("etag").is_some());
    }
}

#[test]
fn beyond_the_end_15_5_17() {
    let (_server, mut client) = correct();
    client.put("/a", "0123456789");
    for range in ["10-", "10-12", "99999999999999999999-", "-0"] {
        let answer = client.ask("GET /a", &format!("Range: bytes={range}"), "");
        assert_eq!((answer.status, answer.field("content-range")), (416, Some("bytes */10")), "{range}");
    }
}

#[test]
fn ranges_that_are_ignored_14_2() {
    let (_server, mut client) = correct();
    client.put("/a", "0123456789");
    for range in [
        "bytes=0-1,3-4",
        "bytes=5-3",
        "lines=0-1",
        "bytes=x-",
        "bytes=",
        "bytes",
        "bytes=0-0\nRange: bytes=1-1",
    ] {
        assert_eq!(client.ask("GET /a", &format!("Range: {range}"), "").text(), "0123456789", "{range}");
    }
    let head = client.ask("HEAD /a", "Range: bytes=0-1", "");
    assert_eq!((head.status, head.field("content-length")), (200, Some("10")));
    client.put("/empty", "");
    assert_eq!(client.ask("GET /empty", "Range: bytes=-1", "").status, 200);
}

#[test]
fn if_range_13_1_5() {
    let (_server, mut client) = correct();
    client.put("/a", "0123456789");
    let answer = client.put("/a", "abcdefghij");
    let (tag, date) = (answer.tag().to_owned(), answer.field("last-modified").unwrap().to_owned());
    let mut ask = |path: &str, value: &str| {
        client.ask(&format!("GET {path}"), &format!("Range: bytes=0-1\nIf-Range: {value}"), "").status
    };
    assert_eq!(ask("/a", &tag), 206);
    for value in ["\"x\"", &format!("W/{tag}"), "x", &date, "Sat, 29 Oct 1994 19:43:31 GMT"] {
        assert_eq!(ask("/a", value), 200, "{value}: a date is no good that two contents share");
    }
    let beyond = client.ask("GET /a", &format!("Range: bytes=99-\nIf-Range: {tag}"), "");
    assert_eq!(beyond.status, 200, "13.2.2, step 5: a range that does not apply is ignored");
    sleep(Duration::from_millis(1100));
    let date = client.put("/b", "0123456789").field("last-modified").unwrap().to_owned();
    sleep(Duration::from_millis(1100));
    let answer = client.ask("GET /b", &format!("Range: bytes=0-1\nIf-Range: {date}"), "");
    assert_eq!(answer.status, 206);
    assert_eq!(client.ask("GET /b", "If-Range: \"x\"", "").status, 200, "no Range, nothing to decide");
}
