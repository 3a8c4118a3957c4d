//! For each rule about framing and about the assignment of responses to requests, traces that violate it and traces
//! that do not.

use confute::Options;
use confute::lang::Level;
use confute::network::Tcp;
use confute_drive::Evidence as _;
use confute_http::Http;
use confute_http::message::{Flaw, Odd, Request, Response};

use crate::story::{Asking, ORIGIN, Story, Telling, delete, get, ok, put, status, with};

fn flawed(response: Response, flaw: Flaw) -> Response {
    Response { flaws: vec![flaw], ..response }
}

#[test]
fn flaws() {
    let with = || with("abc", "x");
    with().ask(get(), flawed(ok("abc"), Flaw::Grammar)).breaks("rfc9112-2.1/grammar");
    with().ask(get(), flawed(ok("abc"), Flaw::Framing)).breaks("rfc9112-6.1/framing-fields");
    with().ask(get(), flawed(ok("abc"), Flaw::AfterClose)).breaks("rfc9112-9.6/nothing-after-close");
    with().ask(get(), flawed(ok("ab"), Flaw::Surplus)).breaks("rfc9110-8.6/length-true");
    with().ask(get(), ok("abcH")).breaks("rfc9110-8.6/length-true");
    with()
        .ask(get(), flawed(Response { incomplete: true, ..ok("abc") }, Flaw::Chunks))
        .breaks("rfc9112-7.1/chunks");
    with()
        .ask(get().if_none_match("x"), flawed(status(304).tag("x"), Flaw::Surplus))
        .breaks_or("rfc9112-6.3/nothing-after-the-end", &["rfc9110-8.6/length-true"]);
}

#[test]
fn who_serves_nobody_need_not_see_what_is_wrong() {
    for odd in [Odd::NoHost, Odd::TwoHosts, Odd::SpaceBeforeColon, Odd::ConflictingLengths] {
        let request = || Request { odd: Some(odd), ..put("w") };
        with("v", "x").ask(request(), status(400)).legal();
        assert_eq!(with("v", "x").ask(request(), status(503)).blamed(), ["store/serves"], "{odd:?}");
    }
}

#[test]
fn content_that_changes_by_itself_has_no_wrong_length() {
    let blamed = Story::new().ask(get(), ok("one")).ask(get(), ok("three")).blamed();
    assert!(!blamed.contains(&"rfc9110-8.6/length-true"), "{blamed:?}");
    Story::new().ask(get(), ok("oneHTT")).ask(get(), ok("one")).breaks("rfc9110-8.6/length-true");
}

#[test]
fn order() {
    let two = |one: Response, two: Response| {
        Story::new()
            .ask(put("a").at("/a"), status(201).tag("x"))
            .ask(put("b").at("/b"), status(201).tag("y"))
            .sent(0, get().at("/a"))
            .sent(0, get().at("/b"))
            .got(0, Response { pipelined: true, ..one })
            .got(0, Response { pipelined: true, ..two })
    };
    two(ok("a").tag("x"), ok("b").tag("y")).legal();
    two(ok("b").tag("y"), ok("a").tag("x")).breaks_or("rfc9112-9.3.2/order", &["store/steady-content"]);
    let crossed = Story::new()
        .ask(put("a").at("/a"), status(201).tag("x"))
        .ask(put("b").at("/b"), status(201).tag("y"))
        .sent(0, get().at("/a"))
        .sent(1, get().at("/b"))
        .got(0, ok("b").tag("y"))
        .got(1, ok("a").tag("x"));
    crossed.breaks_or("rfc9112-9.2/own-answer", &["store/steady-content"]);
}

#[test]
fn close() {
    let twice = Request { close_twice: true, ..get() };
    let once = || with("v", "x").sent(0, twice.clone()).got(0, ok("v"));
    once().got(0, ok("v")).breaks("rfc9112-9.6/close-heeded");
    once().hung_up(0).sent(1, get()).got(1, ok("v")).legal();
}

#[test]
fn answers_come() {
    let stalled = |response: Response| flawed(Response { incomplete: true, ..response }, Flaw::Stalled);
    with("v", "x").ask(get(), stalled(Response::default())).breaks("live/answered");
    with("v", "x").ask(get(), stalled(ok("v"))).breaks_or("rfc9110-8.6/length-true", &["live/answered"]);
}

#[test]
fn malformed_requests() {
    let cases = [
        (Odd::NoHost, "rfc9112-3.2/no-host"),
        (Odd::TwoHosts, "rfc9112-3.2/two-hosts"),
        (Odd::SpaceBeforeColon, "rfc9112-5.1/space-before-colon"),
        (Odd::ConflictingLengths, "rfc9112-6.3/conflicting-lengths"),
        (Odd::HugeChunk, "rfc9112-7.1/large-chunk"),
    ];
    for (odd, rule) in cases {
        let request = Request { odd: Some(odd), ..put("w") };
        with("v", "x").ask(request.clone(), status(204)).breaks(rule);
        with("v", "x").ask(request.clone(), status(400)).ask(get(), ok("v").tag("x")).legal();
        with("v", "x").sent(0, request).hung_up(0).sent(1, get()).got(1, ok("v").tag("x")).legal();
    }
    let both = Request { odd: Some(Odd::LengthBesideChunks), ..put("w") };
    let stored = |body| with("v", "x").ask(both.clone(), status(204)).sent(1, get()).got(1, ok(body));
    stored("w").legal();
    stored("1\r\nw\r\n0\r\n\r\n").breaks_or("rfc9112-6.1/length-beside-chunks", &["store/put-exact"]);
    with("v", "x").ask(both, status(400)).ask(get(), ok("v")).legal();
}

#[test]
fn expectations() {
    let held = Request { expect: Some(50), ..put("w") };
    let continued = |interim| Response { interim, ..status(204) };
    with("v", "x").sent(0, held.clone()).wait(60).got(0, continued(vec![])).breaks("rfc9110-10.1.1/continue");
    with("v", "x").sent(0, held.clone()).wait(60).got(0, continued(vec![100])).legal();
    with("v", "x").sent(0, held.clone()).got(0, continued(vec![])).legal();
    with("v", "x").ask(held, status(417)).legal();
}

#[test]
fn two_breaches_are_told_beside_one_that_counts_three_times() {
    // As in lighttpd: the second line of If-None-Match is ignored during other writes, and If-Unmodified-Since is
    // ignored. That responses belong to other requests explains both too, but less well.
    let story = with("<00001>", "x")
        .sent(1, put("<00002>").if_none_match("~made-up;x"))
        .sent(2, put("<00003>"))
        .sent(3, get())
        .sent(4, delete())
        .sent(5, get())
        .got(1, status(204).tag("y"))
        .got(5, ok("<00002>").tag("y").date(100))
        .got(4, status(204))
        .got(3, status(404))
        .got(2, status(201).tag("z"))
        .ask(Request { if_unmodified_since: Some(99), ..get() }, ok("<00003>").tag("z").date(100));
    let blame = confute::blame(&ORIGIN, &Tcp::default(), &story.events, &Options::default());
    let sets: Vec<_> = blame.diagnoses.iter().map(|one| one.rules.join(" + ")).collect();
    let others: Vec<_> = sets.iter().filter(|set| !set.contains("if-unmodified-since")).collect();
    assert_eq!(others, ["rfc9112-9.2/own-answer"], "{sets:?}");
    assert!(sets.iter().any(|set| set.contains("several-lines")), "{sets:?}");
    // Either way a MUST was violated.
    assert_eq!(blame.level(), Some(Level::Must), "{sets:?}");
}

#[test]
fn an_answer_to_somebody_else_is_worth_no_more_than_what_explains_it_as_well() {
    // The previous content with an unknown tag: either a response to another request, or old content with a new tag.
    let story =
        with("<00001>", "x").ask(put("<00002>"), status(204).tag("y")).ask(get(), ok("<00001>").tag("z"));
    let blame = confute::blame(&ORIGIN, &Tcp::default(), &story.events, &Options::default());
    let sets: Vec<_> = blame.diagnoses.iter().map(|one| one.rules.join(" + ")).collect();
    assert!(sets.iter().any(|set| set == "store/put-lasts + store/steady-tag"), "{sets:?}");
    assert!(sets.iter().any(|set| set == "rfc9112-9.2/own-answer"), "{sets:?}");
    assert_eq!(blame.level(), Some(Level::Store));
    // With the tag of another resource it looks like a response to another request.
    let mut story = with("<00001>", "x")
        .ask(put("<00002>").at("/other"), status(201).tag("y"))
        .ask(get(), ok("<00002>").tag("y"));
    Http::default().annotate(&mut story.events);
    let blame = confute::blame(&ORIGIN, &Tcp::default(), &story.events, &Options::default());
    let first = &blame.diagnoses[0];
    assert_eq!((&first.rules[..], first.deviations), (&["rfc9112-9.2/own-answer"][..], 1));
}

#[test]
fn an_answer_to_somebody_else_while_much_is_under_way() {
    Story::new()
        .ask(put("<00001><00001>").at("/0"), status(201).tag("x0"))
        .ask(put("<00002><00002>").at("/1"), status(201).tag("x1"))
        .ask(put("<00004><00004>").at("/2"), status(201).tag("x2"))
        .sent(5, get().at("/0"))
        .sent(6, get().at("/2"))
        .sent(7, get().at("/0"))
        .sent(2, put("<00005><00005>").at("/2"))
        .sent(3, get().at("/0"))
        .sent(4, put("<00006><00006>").at("/0"))
        .got(6, ok("<00004><00004>").tag("x2"))
        .got(7, ok("<00001><00001>").tag("x0"))
        .got(5, ok("<00005><00005>").tag("y2"))
        .breaks_or("rfc9112-9.2/own-answer", &["store/put-own"]);
}
