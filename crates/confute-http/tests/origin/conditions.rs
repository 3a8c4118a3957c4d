//! For each rule about conditional requests, a trace that violates it, and the most similar trace that does not.

use confute::lang::Level;
use confute::network::Tcp;
use confute::{Options, Verdict, judge};
use confute_drive::Evidence as _;
use confute_http::Http;
use confute_http::message::Request;

use crate::story::{Asking, ORIGIN, Story, Telling, delete, get, head, missing, ok, put, status, with};

#[test]
fn if_match() {
    with("v", "x")
        .ask(put("w").if_match("y"), status(204))
        .breaks_or("rfc9110-13.1.1/if-match", &["store/steady-tag"]);
    with("v", "x").ask(put("w").if_match("y"), status(412)).legal();
    with("v", "x").ask(get().if_match("y"), ok("v").tag("x")).breaks("rfc9110-13.1.1/if-match-on-read");
    with("v", "x").ask(delete().if_match("y"), status(412)).ask(get(), ok("v").tag("x")).legal();
    with("v", "x")
        .ask(delete().if_match("y"), status(204))
        .breaks_or("rfc9110-13.1.1/if-match-on-delete", &["store/steady-tag", "store/stays"]);
    missing().ask(put("v").if_match("*"), status(201)).breaks("rfc9110-13.1.1/if-match");
    missing().ask(put("v").if_match("*"), status(412)).legal();
    with("v", "x").ask(put("w").if_match("*"), status(204)).legal();
}

#[test]
fn if_match_compares_strongly() {
    with("v", "x").ask(put("w").if_match("~x"), status(204)).breaks("rfc9110-13.1.1/strong-comparison");
    with("v", "x").ask(put("w").if_match("~x"), status(412)).legal();
    with("v", "x").ask(put("w").if_match("x"), status(204)).legal();
    with("v", "~x").ask(get().if_match("x"), ok("v").tag("~x")).breaks("rfc9110-13.1.1/strong-comparison");
}

#[test]
fn if_match_looks_at_every_member() {
    for list in ["~y,x", "y,x", "y,~x,x"] {
        with("v", "x")
            .ask(put("w").if_match(list), status(412))
            .ask(get(), ok("v").tag("x"))
            .breaks("rfc9110-13.1.1/every-member");
        with("v", "x").ask(put("w").if_match(list), status(204)).legal();
    }
    with("v", "x")
        .ask(put("w").if_match("y;x"), status(412))
        .ask(get(), ok("v").tag("x"))
        .breaks("rfc9110-5.2/several-lines");
    with("v", "x").ask(put("w").if_match("y;x"), status(400)).breaks("rfc9110-5.2/several-lines");
    with("v", "x")
        .ask(put("w").if_match("x"), status(412))
        .ask(get(), ok("v").tag("x"))
        .breaks("rfc9110-15.5.13/cause");
}

#[test]
fn if_none_match_on_writes() {
    let others = &["store/steady-tag"];
    with("v", "x")
        .ask(put("w").if_none_match("x"), status(204))
        .breaks_or("rfc9110-13.1.2/if-none-match", others);
    with("v", "x").ask(put("w").if_none_match("*"), status(204)).breaks("rfc9110-13.1.2/if-none-match");
    with("v", "x")
        .ask(delete().if_none_match("*"), status(204))
        .breaks_or("rfc9110-13.1.2/if-none-match-on-delete", &["store/stays"]);
    with("v", "x").ask(put("w").if_none_match("x"), status(412)).legal();
    with("v", "x").ask(put("w").if_none_match("y"), status(204)).legal();
    with("v", "x")
        .ask(put("w").if_none_match("~x"), status(204))
        .breaks_or("rfc9110-13.1.2/weak-comparison", others);
    with("v", "x")
        .ask(put("w").if_none_match("y,x"), status(204))
        .breaks_or("rfc9110-13.1.2/every-member", others);
    with("v", "x")
        .ask(put("w").if_none_match("y;x"), status(204))
        .breaks_or("rfc9110-5.2/several-lines", others);
    with("v", "x").ask(put("w").if_none_match("x"), status(304)).breaks("rfc9110-13.1.2/failed-write-is-412");
    with("v", "x")
        .ask(put("w").if_none_match("y"), status(412))
        .ask(get(), ok("v").tag("x"))
        .breaks("rfc9110-13.1.2/true-without-match");
    missing().ask(put("v").if_none_match("*"), status(412)).breaks("rfc9110-13.1.2/true-without-match");
    missing().ask(put("v").if_none_match("*"), status(201)).legal();
}

#[test]
fn if_none_match_on_reads() {
    for read in [get(), head()] {
        let whole = if read == head() { status(200) } else { ok("v") };
        let with = || with("v", "x");
        let asked = |tags| read.clone().if_none_match(tags);
        with().ask(asked("x"), whole.clone().tag("x")).breaks("rfc9110-13.1.2/not-modified");
        with().ask(asked("*"), whole.clone().tag("x")).breaks("rfc9110-13.1.2/not-modified");
        with().ask(asked("x"), status(412)).ask(get(), ok("v").tag("x")).breaks("rfc9110-15.5.13/cause");
        with().ask(asked("~x"), whole.clone().tag("x")).breaks("rfc9110-13.1.2/weak-comparison-on-read");
        with().ask(asked("y,x"), whole.clone().tag("x")).breaks("rfc9110-13.1.2/every-member");
        with().ask(asked("y;x"), whole.clone().tag("x")).breaks("rfc9110-5.2/several-lines");
        with().ask(asked("y"), status(304).tag("x")).breaks("rfc9110-15.4.5/cause");
        with().ask(read.clone(), status(304).tag("x")).breaks("rfc9110-15.4.5/cause");
        with().ask(asked("x"), status(304).tag("x")).legal();
        with().ask(asked("~x"), status(304).tag("x")).legal();
        with().ask(asked("*"), status(304)).legal();
        with().ask(asked("y;~z,~x"), status(304).tag("x")).legal();
        with().ask(asked("y"), whole.clone().tag("x")).legal();
        with()
            .ask(asked("x"), status(304).tag("~x"))
            .ask(get(), ok("v").tag("x"))
            .breaks("rfc9110-15.4.5/etag");
    }
}

fn since(request: Request, modified: Option<i64>, unmodified: Option<i64>) -> Request {
    Request { if_modified_since: modified, if_unmodified_since: unmodified, ..request }
}

#[test]
fn dates() {
    // The stored content has the date 100.
    let with = || with("v", "x");
    with().ask(since(get(), Some(100), None), ok("v")).breaks("rfc9110-13.1.3/if-modified-since");
    with().ask(since(get(), Some(100), None), status(304)).legal();
    with().ask(since(get(), Some(99), None), ok("v")).legal();
    with()
        .ask(since(get(), Some(99), None), status(304))
        .ask(get(), ok("v").date(100))
        .breaks("rfc9110-15.4.5/cause");
    let beside = since(get().if_none_match("y"), Some(100), None);
    with().ask(beside.clone(), status(304).tag("x")).breaks("rfc9110-13.1.3/beside-if-none-match");
    with().ask(beside, ok("v").tag("x")).legal();
    with()
        .ask(since(put("w"), None, Some(99)), status(204))
        .breaks_or("rfc9110-13.1.4/if-unmodified-since", &["store/steady-date"]);
    with().ask(since(put("w"), None, Some(99)), status(412)).legal();
    // Rounding may come up to three times between the two dates (what was put has another date, the read sees another
    // one, and so does the write), each time by a day, and no more, unless responses show that dates leap.
    let day = 86_400;
    let dated = || missing().ask(put("v"), status(201)).ask(get(), ok("v").date(10 * day));
    let ignored = || dated().ask(since(put("w"), None, Some(7 * day - 1)), status(204));
    ignored().breaks("rfc9110-13.1.4/if-unmodified-since");
    // Two rules of the store together still explain it: content was stored inexactly, and the read was stale.
    assert_eq!(ignored().level(), Some(Level::Store));
    let rounded = || dated().ask(since(put("w"), None, Some(7 * day)), status(204));
    assert_eq!(rounded().level(), Some(Level::Steady));
    dated()
        .ask(since(put("w"), None, Some(9 * day)), status(204))
        .breaks_or("rfc9110-13.1.4/if-unmodified-since", &["store/steady-date"]);
    let leaping = || dated().ask(get(), ok("v").date(day)).ask(get(), ok("v").date(10 * day));
    let mut events = leaping().ask(since(put("w"), None, Some(2 * day)), status(204)).events;
    Http::default().annotate(&mut events);
    let options = Options { relaxed: vec!["store/steady-date"], ..Options::default() };
    assert!(judge(&ORIGIN, &Tcp::default(), &events, &options).is_unrefuted());
    with().ask(since(put("w"), None, Some(100)), status(204)).legal();
    let beside = since(put("w").if_match("x"), None, Some(99));
    with()
        .ask(beside.clone(), status(412))
        .ask(get(), ok("v").tag("x"))
        .breaks("rfc9110-13.1.4/beside-if-match");
    with().ask(beside, status(204)).legal();
    // A server that does not ignore the date may also compare it for equality.
    let beside = since(get().if_none_match("x"), Some(3700), None);
    with()
        .ask(beside, ok("v").tag("x"))
        .breaks_or("rfc9110-13.1.3/beside-if-none-match", &["rfc9110-13.1.2/not-modified"]);
    // 13.1.4 can be read in two ways if the resource does not exist: its date is not available, so that the condition
    // is ignored, or it has no date that is early enough, so that the condition is false.
    missing().ask(since(put("w"), None, Some(99)), status(412)).ask(get(), status(404)).legal();
    missing().ask(since(put("w"), None, Some(99)), status(201)).ask(get(), ok("w")).legal();
    let done = missing().ask(since(put("w"), None, Some(99)), status(412)).ask(get(), ok("w"));
    assert!(done.verdict().is_refuted());
    // If-Modified-Since is ignored for PUT.
    with().ask(since(put("w"), Some(100), None), status(204)).legal();
}

#[test]
fn conditions_do_not_matter_where_nothing_is() {
    missing()
        .ask(get().if_match("x"), status(412))
        .breaks_or("rfc9110-13.2.1/not-on-failure", &["store/read-current"]);
    missing().ask(get().if_match("x"), status(404)).legal();
    missing().ask(head().if_none_match("*"), status(404)).legal();
    missing().ask(delete().if_match("x"), status(404)).legal();
}

#[test]
fn options_know_no_conditions() {
    let options = Request { method: confute_http::message::Method::Options, ..get() };
    Story::new().ask(options.clone().if_match("x"), status(412)).breaks("rfc9110-13.2.1/options");
    Story::new().ask(options.if_match("x"), status(204)).legal();
}

#[test]
fn what_was_expected_is_told_in_words() {
    let story = with("v", "x").ask(get().if_none_match("x"), ok("v").tag("x"));
    let Verdict::Refuted(refutation) = story.verdict() else { panic!("it is wrong") };
    let (network, options) = (Tcp::default(), Options::default());
    let refutation = confute::explain(&ORIGIN, &network, &story.events, &refutation, &options);
    let expected: Vec<_> = refutation.expected.iter().filter_map(|each| each.message.as_deref()).collect();
    assert_eq!(expected.len(), 1, "{expected:?}");
    assert!(expected[0].starts_with("304, ETag: "), "{expected:?}");
}

#[test]
fn if_match_of_nothing() {
    for tags in ["*", "x"] {
        missing().ask(get().if_match(tags), status(404)).legal();
        missing().ask(get().if_match(tags), status(412)).breaks("rfc9110-13.2.1/not-on-failure");
    }
}
