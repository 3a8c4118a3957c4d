//! Hostile input takes time proportional to its length, and no more memory than the limits allow.
//!
//! Time is measured against a deadline that a quadratic reader would miss by a factor of hundreds.

use std::time::{Duration, Instant};

use confute_http1::{Ending, Limit, Read, ReaderLimits};

use crate::common::responses;

const LENGTH: usize = 1 << 20;

/// Feeds `start` and repetitions of `again` byte by byte, reading after each. Returns the number of messages, and the
/// ending of the last one.
fn trickle(start: &str, again: &str, limits: ReaderLimits) -> (usize, Option<Ending>) {
    let mut reader = responses("GET", limits);
    let began = Instant::now();
    let (mut count, mut last, mut most) = (0, None, 0);
    for byte in start.bytes().chain(again.bytes().cycle().take(LENGTH)) {
        reader.feed(&[byte]);
        while let Read::Message(raw) = reader.read() {
            count += 1;
            last = Some(raw.ending());
        }
        most = most.max(reader.unread().len());
    }
    assert!(most <= limits.head.max(limits.body) + limits.unread + start.len());
    assert!(began.elapsed() < Duration::from_secs(20), "{start}{again}: {:?}", began.elapsed());
    (count, last)
}

#[test]
fn a_mebibyte_byte_by_byte() {
    let large = ReaderLimits { head: 4 << 20, fields: LENGTH, ..ReaderLimits::default() };
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (start, again) in [
        ("", "x"),
        ("", "\n"),
        ("", "\r\n"),
        ("", "HTTP"),
        ("HTTP/1.1 200 OK\r\n", "A: b\r\n"),
        ("HTTP/1.1 200 OK\r\nA:", " b\r\n"),
        ("HTTP/1.1 200 OK\r\nA:", "\r"),
        ("HTTP/1.1 200 OK\r\n\r\n", "x"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n", "x"),
        (chunked, "f"),
        (chunked, "8\r\n01234567\r\n"),
        (&format!("{chunked}1;"), "a=b;"),
        (&format!("{chunked}0\r\n"), "A: b\r\n"),
        (&format!("{chunked}0\r\nA: b\r\n"), " "),
    ] {
        assert_eq!(trickle(start, again, large).0, 0, "{start}{again}");
    }
    assert_eq!(trickle("", "HTTP/1.1 204 \r\n\r\n", large).0, LENGTH / 17);
}

#[test]
fn endless_input_is_given_up() {
    let limits = ReaderLimits { head: 1000, body: 1000, ..ReaderLimits::default() };
    let long = |limit| (1, Some(Ending::TooLong(limit)));
    assert_eq!(trickle("HTTP/1.1 200 OK\r\nA: ", "x", limits), long(Limit::Head));
    assert_eq!(trickle("HTTP/1.1 200 OK\r\n\r\n", "x", limits), long(Limit::Body));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(trickle(&format!("{chunked}1;"), "x", limits), long(Limit::Body));
    assert_eq!(trickle(chunked, "1\r\na\r\n", limits), long(Limit::Body));
}

#[test]
fn many_messages_at_once() {
    let count = 250_000;
    let mut reader = responses("", ReaderLimits::default());
    reader.feed(&b"HTTP/1.1 204 \r\n\r\n".repeat(count));
    let began = Instant::now();
    assert_eq!(std::iter::from_fn(|| matches!(reader.read(), Read::Message(_)).then_some(())).count(), count);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}
