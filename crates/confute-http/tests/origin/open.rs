//! Writes with unknown outcome, reads that are evaluated in parallel, and replacements that are not atomic.

use confute::lang::Level;
use confute::network::Tcp;
use confute::{Options, Verdict, judge};
use confute_http::message::{Dated, IfRange, Notes, Odd, Request, Response, Span, Tag};

use crate::story::{Asking, ORIGIN, Story, Telling, delete, get, head, ok, put, status, with};

/// Returns the verdict on a trace if requests may be refused.
fn refusing(story: &Story) -> Verdict {
    let options = Options { relaxed: vec!["store/serves"], ..Options::default() };
    judge(&ORIGIN, &Tcp::default(), &story.events, &options)
}

#[track_caller]
fn allowed(story: &Story) {
    let verdict = refusing(story);
    assert!(verdict.is_unrefuted(), "{verdict:?}");
}

#[track_caller]
fn refuted(story: &Story) {
    let verdict = refusing(story);
    assert!(verdict.is_refuted(), "{verdict:?}");
}

const OPEN: [u16; 6] = [202, 500, 502, 503, 504, 507];

#[test]
fn an_open_write_is_performed_at_once_or_later_or_never() {
    for code in OPEN {
        let open = || with("v", "x").ask(put("w"), status(code));
        let (old, new) = (|| ok("v").tag("x"), || ok("w").tag("y"));
        allowed(&open().ask(get(), old()).ask(get(), old()));
        allowed(&open().ask(get(), new()).ask(get(), new()));
        allowed(&open().ask(get(), old()).ask(get(), new()).ask(get(), new()));
        allowed(&open().ask(get(), old()).ask(put("z"), status(204).tag("z")).ask(get(), new()));
        // Once the write was observed, it persists.
        refuted(&open().ask(get(), new()).ask(get(), old()));
        // The write is performed at most once.
        refuted(&open().ask(get(), new()).ask(put("z"), status(204).tag("z")).ask(get(), new()));
        // The write has no other effect.
        refuted(&open().ask(get(), ok("!").tag("y")));
        refuted(&open().ask(get(), status(404)));
        // Two concurrent reads may observe it differently, but only in a possible order.
        let both = |one, two| open().sent(0, get()).sent(1, get()).got(0, one).got(1, two);
        allowed(&both(new(), old()));
        allowed(&both(old(), new()));
        refuted(&both(new(), old()).ask(get(), old()));
    }
    with("v", "x")
        .ask(put("w"), status(202))
        .ask(get(), ok("v").tag("x"))
        .ask(get(), ok("w").tag("y"))
        .legal();
}

#[test]
fn an_open_removal() {
    for code in OPEN {
        let open = || with("v", "x").ask(delete(), status(code));
        allowed(&open().ask(get(), ok("v").tag("x")).ask(get(), status(404)).ask(put("w"), status(201)));
        refuted(&open().ask(get(), status(404)).ask(get(), ok("v").tag("x")));
        refuted(&open().ask(get(), status(404)).ask(put("w"), status(204)));
    }
}

/// A write may take effect between the preconditions and the effect of another one, also if it is answered by an error: that is a
/// matter of the store, not of the standard.
#[test]
fn an_open_write_races_like_any_other() {
    let racing = |story: &Story| {
        let relaxed = vec!["store/serves", "store/one-winner"];
        judge(&ORIGIN, &Tcp::default(), &story.events, &Options { relaxed, ..Options::default() })
    };
    let (put, delete) = (|| put("w").if_match("x"), || delete().if_match("x"));
    let both = |one, two| with("v", "x").sent(0, one).sent(1, two).got(0, status(500));
    // The open removal comes after the preconditions of the PUT, and before its effect.
    let created = both(delete(), put()).got(1, status(201));
    // The open PUT takes effect after the removal.
    let back = both(put(), delete()).got(1, status(204)).ask(get(), ok("w").tag("y"));
    for story in [created, back] {
        refuted(&story);
        assert!(racing(&story).is_unrefuted(), "{:?}", racing(&story));
    }
    // Without a race it is no explanation.
    let after = with("v", "x").ask(delete(), status(500)).ask(get(), status(404)).ask(put(), status(201));
    assert!(racing(&after).is_refuted());
    let after =
        with("v", "x").ask(delete(), status(204)).ask(put(), status(500)).ask(get(), ok("w").tag("y"));
    assert!(racing(&after).is_refuted());
}

#[test]
fn the_conditions_of_an_open_write_are_evaluated_when_it_is_performed() {
    let open = |write: Request| with("v", "x").ask(write, status(503));
    refuted(&open(put("w").if_match("other")).ask(get(), ok("w")));
    refuted(&open(put("w").if_none_match("*")).ask(get(), ok("w")));
    allowed(&open(put("w").if_match("x")).ask(get(), ok("v").tag("x")).ask(get(), ok("w")));
    // Another write was performed before it.
    let overtaken = || open(put("w").if_match("x")).ask(put("z"), status(204).tag("z"));
    refuted(&overtaken().ask(get(), ok("z").tag("z")).ask(get(), ok("w")));
    allowed(&open(put("w").if_match("z")).ask(put("z"), status(204).tag("z")).ask(get(), ok("w")));
    allowed(&open(put("w").if_none_match("*")).ask(delete(), status(204)).ask(get(), ok("w")));
}

#[test]
fn what_was_refused_for_a_reason_is_not_performed() {
    for code in [400, 403, 404, 409, 412, 423, 429, 501, 505, 307] {
        refuted(&with("v", "x").ask(put("w"), status(code)).ask(get(), ok("w").tag("y")));
    }
    refuted(&with("v", "x").ask(put("w").if_match("no"), status(412)).ask(get(), ok("w").tag("y")));
}

#[test]
fn several_open_writes_happen_in_any_order() {
    let open = || with("v", "x").ask(put("a"), status(503)).ask(put("b"), status(202));
    allowed(&open().ask(get(), ok("b").tag("b")).ask(get(), ok("a").tag("a")));
    allowed(&open().ask(get(), ok("a").tag("a")).ask(get(), ok("b").tag("b")));
    refuted(&open().ask(get(), ok("b").tag("b")).ask(get(), ok("a").tag("a")).ask(get(), ok("b").tag("b")));
    // If there are more of them than the model tracks, every content of the resource is allowed.
    let many = ["c", "d", "e"].iter().fold(open(), |story, body| story.ask(put(body), status(503)));
    allowed(&many.ask(get(), ok("?")).ask(put("w"), status(201)).ask(get(), ok("!")));
}

#[test]
fn safe_requests_on_one_connection_may_be_evaluated_in_parallel() {
    let (old, new) = (|| ok("v").tag("x"), || ok("w").tag("y"));
    let reads = || with("v", "x").sent(1, put("w")).sent(0, get()).sent(0, get());
    reads().got(0, new()).got(0, old()).got(1, status(204)).legal();
    reads().got(1, status(204)).got(0, new()).got(0, old()).legal();
    with("v", "x")
        .sent(1, put("w"))
        .hung_up(1)
        .sent(0, get())
        .sent(0, get())
        .got(0, new())
        .got(0, old())
        .legal();
    // The same reads in sequence are refuted.
    let apart = with("v", "x").sent(1, put("w")).ask(get(), new()).ask(get(), old());
    assert!(apart.verdict().is_refuted());
    // Reads after a write on their own connection, or before one, are not evaluated in parallel.
    let behind = with("v", "x").sent(0, put("w")).sent(0, get()).got(0, status(204)).got(0, old());
    assert!(behind.verdict().is_refuted());
    let behind = with("v", "x").sent(0, put("w")).sent(0, get()).sent(0, get());
    assert!(behind.got(0, status(204)).got(0, new()).got(0, old()).verdict().is_refuted());
    let before = with("v", "x").sent(0, get()).sent(0, get()).sent(0, put("w"));
    assert!(before.clone().got(0, new()).verdict().is_refuted());
    assert!(before.got(0, old()).got(0, new()).verdict().is_refuted());
}

#[test]
fn an_old_strong_tag_with_new_content_is_torn_while_the_write_is_at_work() {
    let during =
        |seen| with("aa", "x").sent(0, put("bb")).sent(1, get()).got(1, seen).got(0, status(204).tag("y"));
    let torn = || during(ok("bb").tag("x"));
    // The response to the PUT has a tag of its own, so the server does not give the old one twice.
    assert_eq!(torn().blamed(), ["store/whole"]);
    assert_eq!(torn().level(), Some(Level::Store));
    let late = with("aa", "x")
        .sent(0, put("bb"))
        .sent(1, get())
        .got(0, status(204).tag("y"))
        .got(1, ok("bb").tag("x"));
    assert_eq!(late.blamed()[0], "store/whole", "{:?}", late.blamed());
    // After the response to the PUT it is not a torn read.
    let reused = Response { notes: Notes { reused: true, ..Notes::default() }, ..ok("bb").tag("x") };
    let after = with("aa", "x").ask(put("bb"), status(204)).ask(get(), reused);
    after.clone().breaks("rfc9110-8.8.3/strong-tag-differs");
    assert_eq!(after.level(), Some(Level::Must));
}

#[test]
fn what_broke_off_may_be_seen_in_several_stages() {
    let huge = Request { odd: Some(Odd::HugeChunk), ..put("<00015><00015>") };
    let broken = || with("v", "x").sent(1, huge.clone()).hung_up(1);
    let stages = || {
        broken()
            .ask(get(), ok("<00015>").tag("s1"))
            .ask(head().if_none_match("*"), status(304).tag("s2"))
            .ask(get(), ok("<00015><00015>\r\n0").tag("s3"))
    };
    stages().breaks("store/whole");
    stages().ask(put("w").if_match("s4"), status(204)).breaks("store/whole");
    // Content of another PUT is not excused, nor is a read after the next write.
    assert!(!broken().ask(get(), ok("<00016>").tag("s1")).blamed().contains(&"store/whole"));
    let replaced = stages().ask(put("w"), status(204)).ask(get(), ok("<00015>").tag("s1"));
    assert!(!replaced.blamed().contains(&"store/whole"), "{:?}", replaced.blamed());
}

#[test]
fn content_that_is_the_next_response_is_a_wrong_length() {
    let next = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n<00003>";
    let desynced = with("<00002>", "x").ask(get(), ok(next).tag("x"));
    desynced.breaks("rfc9110-8.6/length-true");
    let desynced = with("v", "x").ask(put("<00002>"), status(204)).ask(get(), ok(next).tag("y"));
    desynced.breaks("rfc9110-8.6/length-true");
}

#[test]
fn a_strong_tag_is_never_that_of_other_content() {
    let reused = || Response { notes: Notes { reused: true, ..Notes::default() }, ..ok("u").tag("x") };
    let again = || {
        with("v", "x")
            .ask(put("w"), status(204))
            .ask(get(), ok("w").tag("y"))
            .ask(put("u"), status(204))
            .ask(get(), reused())
    };
    again().breaks("rfc9110-8.8.3/strong-tag-differs");
    assert_eq!(again().level(), Some(Level::Must));
    again().ask(get(), reused()).breaks("rfc9110-8.8.3/strong-tag-differs");
    // A spontaneous change does not explain it.
    let options = Options { relaxed: vec!["store/steady-tag", "store/steady-date"], ..Options::default() };
    assert!(judge(&ORIGIN, &Tcp::default(), &again().events, &options).is_refuted());
}

#[test]
fn a_304_has_the_tag_that_200_has() {
    let bare = with("v", "x").ask(get().if_none_match("x"), status(304));
    bare.clone().ask(get(), ok("v").tag("x")).legal();
    bare.ask(get(), Response { notes: Notes { untold: true, ..Notes::default() }, ..ok("v").tag("x") })
        .breaks("rfc9110-15.4.5/etag");
}

/// Stored content may have a date in the future, unless the server is known to have only one clock.
#[test]
fn what_was_put_may_be_of_tomorrow() {
    let now = |date| Response {
        dated: Dated { is_now: true, may_be_ahead: true, is_past: false },
        ..ok("v").date(date)
    };
    let tomorrow = || Story::new().ask(put("v"), status(201)).ask(get(), now(100)).ask(get(), now(101));
    tomorrow().ask(get(), now(102)).legal();
    let until = |date| Request { if_unmodified_since: Some(date), ..get() };
    tomorrow().ask(until(101), status(412)).legal();
    let since = Request { if_modified_since: Some(101), ..get() };
    tomorrow()
        .ask(since, Response { dated: Dated { may_be_ahead: true, ..Dated::default() }, ..status(304) })
        .ask(get(), now(102))
        .legal();
    // Its date is not in the past.
    tomorrow().ask(until(50), now(102)).breaks("rfc9110-13.1.4/if-unmodified-since");
}

#[test]
fn a_weak_tag_in_if_range_may_be_refused() {
    let request =
        Request { range: vec![Span::From(0)], if_range: Some(IfRange::Tag(Tag::weak("x"))), ..get() };
    with("v", "x").ask(request.clone(), status(400)).legal();
    with("v", "x").ask(request.clone(), status(403)).breaks("store/serves");
    let strong = Request { if_range: Some(IfRange::Tag(Tag::strong("x"))), ..request };
    with("v", "x").ask(strong, status(400)).breaks("store/serves");
}

/// If deviations are not counted, a refused read is not a separate alternative; it is explained in exactly the cases in
/// which it is explained when deviations are counted.
#[test]
fn a_refused_read_is_the_same_whether_counted_or_not() {
    let starts = [
        Story::new(),
        with("v", "x"),
        with("v", "x").ask(put("w"), status(503)),
        with("v", "x").sent(1, put("w")).ask(get(), ok("v").tag("x")),
    ];
    let reads = [get(), get().if_match("other"), get().if_none_match("x")];
    let codes = [200, 202, 204, 301, 304, 400, 403, 404, 405, 410, 412, 416, 429, 500, 501, 503];
    let answers = || codes.into_iter().flat_map(|code| [false, true].map(|allow| (code, allow)));
    for (start, read) in starts.iter().flat_map(|start| reads.iter().map(move |read| (start, read))) {
        for (code, allow) in answers() {
            let reply = Response { allow, ..status(code) };
            let story = start.clone().ask(read.clone(), reply).ask(get(), ok("v").tag("x"));
            let judged = |deviations| {
                let relaxed = vec!["store/serves"];
                let options = Options { relaxed, deviations, ..Options::default() };
                judge(&ORIGIN, &Tcp::default(), &story.events, &options).is_refuted()
            };
            assert_eq!(judged(u32::MAX), judged(100), "{read:?} {code} {allow}");
        }
    }
}
