//! Unusual behaviour that the standard allows: one trace for each case that a tester could wrongly refute.

use confute::lang::Level;
use confute_http::message::{Dated, Method, Notes, Request, Response, Span, Tag};

use crate::story::{Asking, Story, Telling, delete, get, head, missing, ok, put, status, with};

#[test]
fn a_false_if_match_need_not_be_answered_412() {
    with("v", "x").ask(put("w").if_match("y"), status(409)).ask(get(), ok("v").tag("x")).legal();
    // A 2xx is allowed, because the resource already has the requested state.
    with("v", "x").ask(put("v").if_match("y"), status(204)).ask(get(), ok("v").tag("x")).legal();
    with("v", "x").ask(put("v").if_match("y"), status(200).tag("x")).legal();
}

#[test]
fn put_may_be_answered_404() {
    // The standard does not require a server to accept PUT, but a store does accept it.
    for code in [404, 410] {
        missing().ask(put("v"), status(code)).breaks("store/serves");
    }
}

#[test]
fn deleting_nothing_may_succeed_or_fail() {
    for code in [200, 204, 404, 410] {
        missing().ask(delete(), status(code)).legal();
    }
    missing().ask(delete().if_match("x"), status(412)).legal();
}

#[test]
fn a_weak_tag_becomes_strong() {
    let fresh = || Story::new().ask(put("v"), status(201)).ask(get(), ok("v").tag("~x"));
    fresh().ask(get(), ok("v").tag("x")).legal();
    fresh().ask(put("w").if_match("x"), status(412)).ask(get(), ok("v").tag("x")).legal();
    fresh().ask(put("w").if_match("x"), status(204)).legal();
    fresh()
        .ask(get(), ok("v").tag("x"))
        .ask(put("w").if_match("x"), status(412))
        .breaks_or("rfc9110-15.5.13/cause", &["store/steady-tag", "store/stays"]);
    // A tag may only become strong, not weak.
    fresh().ask(get(), ok("v").tag("x")).ask(get(), ok("v").tag("~x")).breaks("store/steady-tag");
    // During a slow request, both may be observed.
    fresh().sent(0, get()).ask_on(1, get(), ok("v").tag("x")).got(0, ok("v").tag("~x")).legal();
}

#[test]
fn a_weak_tag_may_survive_different_content() {
    Story::new()
        .ask(put("v"), status(201))
        .ask(get(), ok("v").tag("~x"))
        .ask(put("w"), status(204))
        .ask(get(), ok("w").tag("~x"))
        .ask(get(), ok("w").tag("x"))
        .legal();
}

#[test]
fn equal_content_may_have_its_tag_again() {
    with("v", "x").ask(put("v"), status(204).tag("x")).legal();
    with("v", "x").ask(put("w"), status(204).tag("y")).ask(put("v"), status(204).tag("x")).legal();
}

#[test]
fn answers_to_put_need_no_validators() {
    Story::new()
        .ask(put("v"), status(201))
        .ask(get(), ok("v"))
        .ask(put("w"), status(204))
        .ask(get(), ok("w"))
        .legal();
}

#[test]
fn two_winners_are_a_store_matter() {
    let race = with("v", "x")
        .sent(0, put("a").if_match("x"))
        .sent(1, put("b").if_match("x"))
        .got(0, status(204))
        .got(1, status(204));
    assert!(race.blamed().contains(&"store/one-winner"));
}

/// A slow concurrent write violates only rules of the store, however many writes happen meanwhile; one that was sent
/// later does not explain the trace.
#[test]
fn a_late_winner_is_a_store_matter() {
    let tags = ["t0", "t1", "t2", "t3", "t4", "t5"];
    let meanwhile = |story: Story| {
        let bodies = ["a", "b", "c", "d", "e"];
        bodies.iter().zip(tags.windows(2)).fold(story, |story, (body, tag)| {
            story.ask(put(body).if_match(tag[0]), status(204).tag(tag[1])).ask(get(), ok(body).tag(tag[1]))
        })
    };
    let late = put("z").if_match("t0");
    let sent_before = meanwhile(with("v", "t0").sent(1, late.clone())).got(1, status(204).tag("u"));
    assert!(sent_before.blamed().contains(&"store/one-winner"), "{:?}", sent_before.blamed());
    let sent_after = meanwhile(with("v", "t0")).sent(1, late).got(1, status(204).tag("u"));
    assert!(!sent_after.blamed().contains(&"store/one-winner"), "{:?}", sent_after.blamed());
}

#[test]
fn after_an_error_a_write_may_have_happened() {
    for body in ["v", "w"] {
        let events = with("v", "x").ask(put("w"), status(503)).ask(get(), ok(body)).events;
        let options = confute::Options { relaxed: vec!["store/serves"], ..confute::Options::default() };
        let verdict =
            confute::judge(&crate::story::ORIGIN, &confute::network::Tcp::default(), &events, &options);
        assert!(verdict.is_unrefuted());
    }
}

#[test]
fn a_cut_response_is_not_torn() {
    let cut = |body| Response { incomplete: true, ..ok(body) };
    with("abc", "x").ask(get(), cut("ab")).legal();
    with("abc", "x").ask(get(), cut("b")).breaks_or("rfc9112-9.2/own-answer", &["store/steady-content"]);
    with("abc", "x").ask(put("w"), Response { incomplete: true, ..Response::default() }).legal();
}

#[test]
fn unknown_to_begin_with() {
    Story::new().ask(get(), ok("?").tag("x")).ask(get().if_none_match("~x"), status(304).tag("x")).legal();
    Story::new().ask(put("v"), status(204)).legal();
    Story::new().ask(put("v"), status(201)).legal();
    Story::new().ask(delete(), status(204)).ask(get(), status(404)).legal();
}

#[test]
fn a_head_may_leave_things_out() {
    with("v", "x").ask(head(), status(200)).legal();
}

#[test]
fn a_put_may_still_work_when_its_answer_comes_early() {
    // The response comes before the held-back content is complete; the model sees only the first byte and the response.
    with("v", "x").sent(0, put("w")).got(0, status(204)).ask(get(), ok("w")).legal();
}

#[test]
fn other_methods_may_do_anything() {
    let post = Request { method: Method::Other("POST".into()), ..get() };
    with("v", "x").ask(post.clone(), status(200)).ask(get(), ok("!").tag("z")).legal();
    with("v", "x").ask(post, status(501)).ask(get(), ok("v").tag("x")).legal();
}

#[test]
fn a_read_may_be_overtaken_after_its_condition() {
    // The condition was true when it was evaluated. That a write came in between violates a rule of the store, as for
    // writes.
    for read in [get().if_match("x"), Request { if_unmodified_since: Some(100), ..get() }] {
        let race = with("v", "x")
            .sent(0, put("w"))
            .ask_on(1, read.clone(), ok("w").tag("y").date(101))
            .got(0, status(204).tag("y").date(101));
        assert!(race.blamed().contains(&"store/one-winner"), "{:?}", race.blamed());
        assert_eq!(race.level(), Some(Level::Store));
        // A read that was sent after the response to the PUT is not part of a race.
        let late = with("v", "x").ask(put("w"), status(204).tag("y").date(101)).ask_on(
            1,
            read,
            ok("w").tag("y").date(101),
        );
        assert!(!late.blamed().contains(&"store/one-winner"), "{:?}", late.blamed());
    }
}

#[test]
fn what_changes_by_itself_breaks_no_standard() {
    // RFC 9110, 8.8.1 and 8.8.2.1: validators may change spontaneously, and a date in the future is sent as the current
    // date.
    let put_v = || Story::new().ask(put("v"), status(201));
    let stories = [
        put_v().ask(get(), ok("v").tag("x").date(5)).ask(get(), ok("v").tag("y").date(6)),
        Story::new().ask(put("v"), status(201).tag("x")).ask(get(), ok("v").tag("y")),
        Story::new().ask(put("v"), status(201).tag("x").date(5)).ask(get(), ok("v").tag("x").date(6)),
        Story::new().ask(put("v"), status(201).tag("x").date(5)).ask(get(), ok("v").tag("y").date(6)),
        put_v().ask(get(), ok("v").tag("x")).ask(get().if_match("x"), status(412)),
        // The content was created by another method.
        Story::new()
            .ask(Request { method: Method::Other("POST".into()), ..get() }, status(200))
            .ask(get(), ok("v").tag("x"))
            .ask(get().if_match("x"), status(412)),
        put_v()
            .ask(get(), ok("v").tag("x").date(5))
            .ask(Request { if_unmodified_since: Some(5), ..get() }, status(412)),
        put_v().ask(get(), ok("v").tag("x")).ask(get().if_none_match("*"), status(304).tag("y")),
        with("v", "x").ask(get().if_none_match("x"), status(304).tag("x").date(101)),
        // 9.3.4: content may be transformed after it was stored, or be generated anew for every read.
        put_v().ask(get(), ok("v").tag("y")).ask(get(), ok("other").tag("z")),
        Story::new().ask(put("v"), status(201).tag("y")).ask(get(), ok("other").tag("z")),
        Story::new().ask(get(), ok("v").tag("x").date(5)).ask(get(), ok("other").tag("z").date(6)),
        Story::new().ask(get(), ok("v").tag("x")).ask(get().if_match("x"), status(412)),
    ];
    for story in stories {
        assert!(story.level() < Some(Level::Must), "{:?}: {:?}", story.events, story.blamed());
    }
    // A strong tag must not be reused for other content.
    let again = Response { notes: Notes { reused: true, ..Notes::default() }, ..ok("w").tag("x") };
    let reused = with("v", "x").ask(put("w"), status(204)).ask(get(), again);
    assert_eq!(reused.blamed(), ["rfc9110-8.8.3/strong-tag-differs"]);
    assert_eq!(reused.level(), Some(Level::Must));
    // No tag equals the one that the tester invented.
    for read in [get().if_match(Tag::MADE_UP), put("w").if_match(Tag::MADE_UP)] {
        let status = if read.body.is_some() { status(204) } else { ok("v").tag("x").date(100) };
        let ignored = with("v", "x").ask(read, status);
        assert_eq!(ignored.level(), Some(Level::Must), "{:?}", ignored.blamed());
    }
}

#[test]
fn parts_that_are_hard_to_tell() {
    let part = |span| Request { range: vec![span], ..get() };
    let empty = || with("", "x");
    // A suffix range of empty content is satisfiable (RFC 9110, 14.1.2), but Content-Range cannot express the part.
    empty().ask(part(Span::Last(1)), status(206).tag("x")).legal();
    empty().ask(part(Span::Last(1)), status(416)).legal();
    empty().ask(part(Span::From(0)), status(206).tag("x")).breaks("rfc9110-14.4/content-range");
    Story::new().ask(part(Span::Last(5)), status(206).tag("x")).ask(get(), ok("").tag("x")).legal();
    let end_of_something = Story::new().ask(part(Span::Last(5)), status(206).tag("x"));
    end_of_something.ask(get(), ok("hello").tag("x")).breaks("rfc9110-14.4/content-range");
    // The length that a response to GET would have depends on whether the server applies the range.
    let head_part = Request { method: Method::Head, ..part(Span::From(1)) };
    let told = |length| Response { content_length: Some(length), ..status(200) };
    with("hello", "x").ask(head_part.clone(), told(4)).legal();
    with("hello", "x").ask(head_part.clone(), told(5)).legal();
    with("hello", "x").ask(head_part, told(3)).breaks("rfc9110-8.6/length-of-get");
}

/// A file with a date in the future is sent with the current date, whenever it is read (RFC 9110, 8.8.2.1).
#[test]
fn a_file_of_tomorrow_has_the_date_of_now() {
    let now = |date| Response { dated: Dated { is_now: true, ..Dated::default() }, ..ok("v").date(date) };
    let since = |date| Request { if_modified_since: Some(date), ..get() };
    let until = |date| Request { if_unmodified_since: Some(date), ..get() };
    let tomorrow = || Story::new().ask(get(), now(100)).ask(get(), now(101));
    tomorrow().ask(get(), now(102)).legal();
    // The condition may be compared with either date.
    tomorrow().ask(since(101), status(304)).ask(get(), now(102)).legal();
    tomorrow().ask(since(101), now(101)).ask(get(), now(102)).legal();
    tomorrow().ask(until(101), now(101)).ask(get(), now(102)).legal();
    tomorrow().ask(until(101), status(412)).ask(get(), now(102)).legal();
    // A date that is not the current one is the real date and must stay; so it was never in the future.
    tomorrow().ask(get(), ok("v").date(101)).legal();
    tomorrow()
        .ask(get(), ok("v").date(101))
        .ask(get(), ok("v").date(102))
        .breaks_or("store/steady-date", &["store/steady-tag"]);
    tomorrow().ask(get(), ok("v").date(100)).breaks_or("store/steady-date", &["store/steady-tag"]);
    Story::new()
        .ask(get(), ok("v").date(99))
        .ask(get(), now(101))
        .breaks_or("store/steady-date", &["store/steady-tag"]);
}

/// Statuses may be new, and DELETE need not be answered with 2xx (RFC 9110, 15, 9.3.5 and 15.4.4).
#[test]
fn statuses_that_few_servers_send() {
    for code in [201, 202, 205, 207, 226, 299, 300, 303] {
        with("v", "x").ask(get(), status(code)).ask(get(), ok("v").tag("x")).breaks("store/serves");
    }
    with("v", "x").ask(delete(), status(303)).ask(get(), status(404)).legal();
    let kept = with("v", "x").ask(delete(), status(303)).ask(get(), ok("v").tag("x"));
    assert!(kept.level() == Some(Level::Steady) && kept.blamed().contains(&"store/serves"));
    // PUT must be answered 200, 201 or 204 if it is performed (9.3.4).
    for code in [203, 205, 299] {
        with("v", "x").ask(put("w"), status(code)).ask(get(), ok("w")).breaks("rfc9110-9.3.4/replaced");
        missing().ask(put("w"), status(code)).ask(get(), ok("w")).breaks("rfc9110-9.3.4/created");
    }
}

/// A part of a lost upload stays: a rule of the store, whatever later requests see of it.
#[test]
fn what_stays_of_a_lost_upload_is_not_whole() {
    let lost = || with("vvvvvvvv", "x").sent(1, put("abcdefgh")).hung_up(1);
    let stays = || lost().ask(get(), ok("abc").tag("y"));
    let stories = [
        stays().ask(get().if_none_match("y"), status(304).tag("y")),
        stays().ask(put("w").if_match("y"), status(204).tag("z")).ask(get(), ok("w").tag("z")),
        stays().ask(put("w").if_match("x"), status(412)),
        lost().ask(get(), ok("ab").tag("y")).ask(get(), ok("abc").tag("u")),
        missing()
            .sent(1, put("abcdefgh"))
            .hung_up(1)
            .ask(get(), ok("abc").tag("y"))
            .ask(delete(), status(204)),
    ];
    for story in stories {
        assert_eq!((story.blamed()[0], story.level()), ("store/whole", Some(Level::Store)));
    }
}
