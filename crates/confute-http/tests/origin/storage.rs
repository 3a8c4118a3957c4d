//! For each rule about storage and about the description of stored content, traces that violate it and traces that do
//! not.

use confute_http::message::{Method, Request, Response};

use crate::story::{Asking, Story, Telling, delete, get, head, missing, ok, put, status, with};

#[test]
fn creation_and_replacement_are_told() {
    missing().ask(put("v"), status(204)).breaks("rfc9110-9.3.4/created");
    missing().ask(put("v"), status(201)).legal();
    with("v", "x").ask(put("w"), status(201)).breaks_or("rfc9110-9.3.4/replaced", &["store/stays"]);
    with("v", "x").ask(put("w"), status(200)).legal();
}

#[test]
fn validators_of_a_put() {
    with("v", "x")
        .ask(put("w"), status(204).tag("y"))
        .ask(get(), ok("w").tag("z"))
        .breaks_or("rfc9110-9.3.4/validators", &[]);
    with("v", "x")
        .ask(put("w"), status(204).tag("y"))
        .ask(get(), ok("?").tag("y"))
        .breaks("rfc9110-9.3.4/validators");
    with("v", "x").ask(put("w"), status(204).tag("y")).ask(get(), ok("w").tag("y")).legal();
    with("v", "x").ask(put("w"), status(204)).ask(get(), ok("w").tag("y")).legal();
    with("v", "x").ask(put("w"), status(204)).ask(get(), ok("?").tag("y")).breaks("store/put-exact");
}

/// A response to another request and content stored at the wrong place cannot be distinguished by the client.
#[test]
fn content_of_another_put_is_a_store_matter() {
    let blamed = with("v", "x").ask(put("<00002>"), status(204)).ask(get(), ok("<00003>").tag("y")).blamed();
    assert!(blamed.contains(&"store/put-own") && !blamed.contains(&"store/put-exact"), "{blamed:?}");
}

#[test]
fn strong_tags_differ() {
    with("v", "x")
        .ask(put("w"), status(204))
        .ask(get(), ok("w").tag("x"))
        .breaks("rfc9110-8.8.3/strong-tag-differs");
    with("v", "x").ask(put("w"), status(204)).ask(get(), ok("w").tag("y")).legal();
}

#[test]
fn what_was_put_is_there() {
    with("v", "x")
        .ask(put("w"), status(204).tag("y"))
        .ask(get(), ok("v").tag("x"))
        .breaks_or("store/put-lasts", &["store/read-current"]);
    with("v", "x")
        .ask(put("w"), status(204).tag("y"))
        .ask(get(), ok("w").tag("y"))
        .ask(get(), ok("v").tag("x"))
        .breaks("store/read-current");
    // Content before the previous one violates the same rule, though the read then missed two writes.
    with("v", "x")
        .ask(put("w"), status(204).tag("y"))
        .ask(put("z"), status(204).tag("z"))
        .ask(get(), ok("z").tag("z"))
        .ask(get(), ok("v").tag("x"))
        .breaks("store/read-current");
    with("v", "x")
        .ask(put("w"), status(204))
        .ask(get(), status(404))
        .breaks_or("store/stays", &["store/read-current"]);
    with("v", "x").ask(get(), ok("v").tag("x")).legal();
}

#[test]
fn what_was_deleted_is_gone() {
    let deleted = || with("v", "x").ask(delete(), status(204));
    deleted().ask(get(), ok("v").tag("x")).breaks_or("store/delete-lasts", &["store/read-current"]);
    deleted().ask(get(), status(404)).ask(get(), ok("v").tag("x")).breaks("store/read-current");
    deleted().ask(get(), status(404)).ask(delete(), status(404)).ask(put("w"), status(201)).legal();
}

#[test]
fn late_by_several_writes() {
    with("<00001>", "x")
        .ask(put("<00002>"), status(204).tag("y"))
        .ask(get(), ok("<00002>").tag("y"))
        .ask(delete(), status(204))
        .ask(put("<00003>"), status(201).tag("z"))
        .ask(get(), ok("<00003>").tag("z"))
        .ask(get(), ok("<00001>").tag("x"))
        .breaks("store/read-current");
}

#[test]
fn reads_are_whole() {
    let during =
        |last| with("aa", "x").sent(0, put("bb")).sent(1, get()).got(1, last).got(0, status(204).tag("y"));
    during(ok("ba").tag("y")).breaks_or("store/whole", &["rfc9110-9.3.4/validators"]);
    during(ok("aa").tag("x")).legal();
    during(ok("bb").tag("y")).legal();
    // The response has the length of one content and the bytes of the other, shorter one.
    with("<00001><00001>", "x")
        .sent(0, put("<00002>"))
        .sent(1, get())
        .got(1, ok("<00002>\0\0\0\0\0\0\0").tag("x"))
        .got(0, status(204).tag("y"))
        .breaks_or("store/whole", &["rfc9110-9.3.4/validators"]);
    // The head of one response with the content of the other is not atomic either.
    with("aa", "~x")
        .sent(0, put("bb"))
        .sent(1, get())
        .got(1, ok("bb").tag("~x"))
        .got(0, status(204).tag("~y"))
        .breaks_or("store/whole", &["rfc9110-9.3.4/validators", "store/steady-tag"]);
}

#[test]
fn one_winner() {
    let race = |two| {
        with("v", "x")
            .sent(0, put("a").if_match("x"))
            .sent(1, put("b").if_match("x"))
            .got(0, status(204).tag("y"))
            .got(1, two)
    };
    race(status(204).tag("z"))
        .breaks_or("store/one-winner", &["rfc9110-13.1.1/if-match", "store/steady-tag", "store/put-lasts"]);
    race(status(412)).legal();
    // Without a race it is no explanation.
    with("v", "x")
        .ask(put("a").if_match("x"), status(204).tag("y"))
        .ask(get(), ok("a").tag("y"))
        .ask(put("b").if_match("x"), status(204).tag("z"))
        .breaks_or("rfc9110-13.1.1/if-match", &["store/steady-tag"]);
}

#[test]
fn two_creators() {
    Story::new()
        .ask(get(), status(404))
        .sent(0, put("a").if_none_match("*"))
        .sent(1, put("b").if_none_match("*"))
        .got(0, status(201).tag("y"))
        .got(1, status(204).tag("z"))
        .breaks_or("store/one-winner", &["rfc9110-13.1.2/if-none-match"]);
}

#[test]
fn two_may_be_told_that_they_created_it() {
    let story = missing().sent(0, put("a")).sent(1, put("b")).got(0, status(201)).got(1, status(201));
    assert!(story.blamed().contains(&"store/one-winner"), "{:?}", story.blamed());
}

#[test]
fn validators_are_steady() {
    with("v", "x").ask(get(), ok("v").tag("y")).breaks("store/steady-tag");
    let seen = || Story::new().ask(put("v"), status(201)).ask(get(), ok("v").tag("x").date(5));
    seen().ask(get(), ok("v").tag("y")).breaks("store/steady-tag");
    seen().ask(get(), ok("v").tag("x").date(6)).breaks_or("store/steady-date", &["store/steady-tag"]);
    seen().ask(get(), ok("v").tag("~x")).breaks("store/steady-tag");
    seen().ask(get(), ok("v").tag("x").date(5)).legal();
}

#[test]
fn refusals() {
    for refusal in [403, 408, 500, 503, 301] {
        with("v", "x").ask(get(), status(refusal)).breaks("store/serves");
        with("v", "x").ask(put("w"), status(refusal)).breaks("store/serves");
    }
}

#[test]
fn lengths_told_without_content() {
    let told = |code, length| Response { content_length: Some(length), ..status(code) };
    with("abc", "x").ask(head(), told(200, 0)).breaks("rfc9110-8.6/length-of-get");
    with("abc", "x").ask(head(), told(200, 3)).legal();
    with("abc", "x").ask(head(), status(200)).legal();
    with("abc", "x").ask(get().if_none_match("x"), told(304, 4)).breaks("rfc9110-8.6/length-of-get");
    with("abc", "x").ask(get().if_none_match("x"), told(304, 3)).legal();
}

#[test]
fn allow_comes_with_405() {
    let post = Request { method: Method::Other("POST".into()), ..get() };
    Story::new().ask(post.clone(), status(405)).breaks("rfc9110-15.5.6/allow");
    Story::new().ask(post, Response { allow: true, ..status(405) }).legal();
}
