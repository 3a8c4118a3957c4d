//! What the standard allows, however odd: one trace for each trap.

use confute_http::message::{Method, Request, Response};

use crate::story::{Asking, Story, Telling, delete, get, head, missing, ok, put, status, with};

#[test]
fn a_false_if_match_need_not_be_answered_412() {
    with("v", "x").ask(put("w").if_match("y"), status(409)).ask(get(), ok("v").tag("x")).legal();
    // 2xx, because it is so already.
    with("v", "x").ask(put("v").if_match("y"), status(204)).ask(get(), ok("v").tag("x")).legal();
    with("v", "x").ask(put("v").if_match("y"), status(200).tag("x")).legal();
}

#[test]
fn put_may_be_answered_404() {
    // As if there were nothing like that: nobody says that PUT has to be taken. But a store takes it.
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
    // One way only.
    fresh().ask(get(), ok("v").tag("x")).ask(get(), ok("v").tag("~x")).breaks("store/steady-tag");
    // While a slow request is under way, both may be seen.
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

/// A rival that takes long is a matter of stores too, however much is written meanwhile; one that was sent later is not.
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
    with("abc", "x").ask(get(), cut("b")).breaks_or("rfc9112-9.2/own-answer", &[]);
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
    // The answer comes before the held-back content is complete; the model sees only the first byte and the answer.
    with("v", "x").sent(0, put("w")).got(0, status(204)).ask(get(), ok("w")).legal();
}

#[test]
fn other_methods_may_do_anything() {
    let post = Request { method: Method::Other("POST".into()), ..get() };
    with("v", "x").ask(post.clone(), status(200)).ask(get(), ok("!").tag("z")).legal();
    with("v", "x").ask(post, status(501)).ask(get(), ok("v").tag("x")).legal();
}
