//! For each rule about range requests, traces that violate it and traces that do not.

use confute_http::message::{IfRange, RangeSent, Request, Response, Span, Tag};

use crate::story::{Telling, get, head, ok, status, with};

fn ranged(span: Span) -> Request {
    Request { range: vec![span], ..get() }
}

fn part(body: &str, first: u64, last: u64, complete: u64) -> Response {
    let content_range = Some(RangeSent::Part(first, last, Some(complete)));
    Response { body: body.into(), content_range, ..status(206) }.tag("x")
}

#[test]
fn parts() {
    let with = || with("0123456789", "x");
    let four = || ranged(Span::Between(2, 5));
    with().ask(four(), part("2345", 2, 5, 10)).legal();
    with().ask(four(), ok("0123456789").tag("x")).legal();
    with().ask(four(), part("23", 2, 3, 10)).legal();
    with().ask(four(), part("234", 2, 5, 10)).breaks("rfc9110-15.3.7.1/part");
    with().ask(four(), part("2345", 2, 6, 10)).breaks("rfc9110-15.3.7.1/part");
    with().ask(ranged(Span::Last(3)), part("012", 7, 9, 10)).breaks("rfc9110-15.3.7.1/part");
    with().ask(ranged(Span::Last(3)), part("789", 7, 9, 10)).legal();
    with().ask(four(), part("2345", 2, 5, 11)).breaks("rfc9110-14.4/content-range");
    with().ask(four(), Response { body: "2345".into(), ..status(206) }).breaks("rfc9110-14.4/content-range");
    with()
        .ask(ranged(Span::From(20)), Response { content_range: Some(RangeSent::Invalid), ..status(206) })
        .breaks("rfc9110-14.4/content-range");
    with().ask(four(), part("01", 0, 1, 10)).breaks("rfc9110-14.2/asked");
}

#[test]
fn nothing_there() {
    let with = || with("0123456789", "x");
    let none = |length| Response { content_range: Some(RangeSent::Nothing(length)), ..status(416) };
    with().ask(ranged(Span::From(10)), none(10)).legal();
    with().ask(ranged(Span::From(10)), status(416)).legal();
    with().ask(ranged(Span::From(10)), ok("0123456789")).legal();
    with().ask(ranged(Span::From(10)), none(11)).breaks("rfc9110-14.4/content-range");
    with().ask(ranged(Span::From(9)), none(10)).breaks("rfc9110-15.5.17/unsatisfiable");
}

#[test]
fn head_has_no_parts() {
    let asked = Request { range: vec![Span::From(1)], ..head() };
    with("abc", "x").ask(asked.clone(), part("", 1, 2, 3)).breaks("rfc9110-14.2/only-get");
    with("abc", "x").ask(asked, status(200)).legal();
}

#[test]
fn if_range() {
    let with = || with("0123456789", "x");
    let asked = |tag| Request { if_range: Some(IfRange::Tag(tag)), ..ranged(Span::From(8)) };
    with().ask(asked(Tag::strong("x")), part("89", 8, 9, 10)).legal();
    with().ask(asked(Tag::strong("x")), ok("0123456789").tag("x")).legal();
    with().ask(asked(Tag::strong("y")), part("89", 8, 9, 10)).breaks("rfc9110-13.1.5/if-range");
    with().ask(asked(Tag::strong("y")), ok("0123456789").tag("x")).legal();
    with().ask(asked(Tag::weak("x")), part("89", 8, 9, 10)).breaks("rfc9110-13.1.5/strong-comparison");
    let dated = |date| Request { if_range: Some(IfRange::Date(date)), ..ranged(Span::From(8)) };
    with().ask(dated(100), part("89", 8, 9, 10)).legal();
    with().ask(dated(101), part("89", 8, 9, 10).date(100)).breaks("rfc9110-13.1.5/if-range");
}
