//! The violation of every MUST can be proven even if tags and dates change spontaneously and requests are refused at
//! will: for each rule there is a trace that is refuted with all rules of level *steady* relaxed, and explained once
//! the rule is relaxed too.

use std::collections::BTreeSet;

use confute::lang::Level;
use confute::network::Tcp;
use confute::{Options, blame, judge};
use confute_drive::Evidence as _;
use confute_http::Http;
use confute_http::message::{
    Flaw, IfRange, Method, Notes, Odd, RangeSent, Request, RequestNotes, Response, Span, Tag,
};
use confute_http::rules::{Broken, RULES};

use crate::story::{Asking, ORIGIN, Story, Telling, delete, get, head, missing, ok, put, status, with};

/// Returns the rules whose violation cannot be proven if tags may change at any time, each with the reason and a trace
/// that cannot be distinguished from a change.
fn exceptions() -> [(&'static str, &'static str, Story); 1] {
    [(
        "rfc9110-13.1.1/every-member",
        "412 does not tell the tag, and content may have its old tag again",
        with("v", "x").ask(put("w").if_match("y,x"), status(412)).ask(get(), ok("v").tag("x")),
    )]
}

fn steady() -> Vec<&'static str> {
    RULES.iter().filter(|rule| rule.level == Level::Steady).map(|rule| rule.name).collect()
}

fn part(first: u64, last: u64, complete: u64) -> Response {
    let body = "0123456789"[first as usize..=last as usize].into();
    Response { body, content_range: Some(RangeSent::Part(first, last, Some(complete))), ..status(206) }
        .tag("x")
}

fn flawed(response: Response, flaw: Flaw) -> Response {
    Response { flaws: vec![flaw], ..response }
}

fn ranged(if_range: Option<Tag>) -> Request {
    Request { range: vec![Span::Between(2, 5)], if_range: if_range.map(IfRange::Tag), ..get() }
}

fn odd(odd: Odd) -> Story {
    with("v", "x").ask(Request { odd: Some(odd), ..put("w") }, status(204))
}

fn since(request: Request, modified: Option<i64>, unmodified: Option<i64>) -> Request {
    Request { if_modified_since: modified, if_unmodified_since: unmodified, ..request }
}

fn two_resources() -> Story {
    Story::new()
        .ask(put("a").at("/a"), status(201).tag("x"))
        .ask(put("b").at("/b"), status(201).tag("y"))
        .sent(0, get().at("/a"))
}

fn conditions() -> Vec<(&'static str, Story)> {
    let with = || with("v", "x");
    vec![
        ("rfc9110-5.2/several-lines", with().ask(get().if_none_match("y;x"), ok("v").tag("x"))),
        ("rfc9110-13.1.1/strong-comparison", with().ask(get().if_match("~x"), ok("v").tag("x"))),
        ("rfc9110-13.1.1/if-match", missing().ask(put("v").if_match("*"), status(201))),
        ("rfc9110-13.1.1/if-match-on-read", with().ask(get().if_match("y"), ok("v").tag("x"))),
        ("rfc9110-13.1.1/if-match-on-delete", with().ask(delete().if_match(Tag::MADE_UP), status(204))),
        (
            "rfc9110-13.1.2/weak-comparison",
            // The first condition proves the tag with which the second one is compared.
            with().ask(put("w").if_match("x").if_none_match("~x"), status(204)),
        ),
        (
            "rfc9110-8.8.3/strong-tag-differs",
            with().ask(put("w"), status(204)).ask(
                get(),
                Response { notes: Notes { reused: true, ..Notes::default() }, ..ok("w").tag("x") },
            ),
        ),
        ("rfc9110-13.1.2/weak-comparison-on-read", with().ask(get().if_none_match("~x"), ok("v").tag("x"))),
        ("rfc9110-13.1.2/every-member", with().ask(get().if_none_match("y,x"), ok("v").tag("x"))),
        ("rfc9110-13.1.2/true-without-match", missing().ask(put("v").if_none_match("*"), status(412))),
        ("rfc9110-13.1.2/failed-write-is-412", with().ask(put("w").if_none_match("*"), status(304))),
        ("rfc9110-13.1.2/if-none-match", with().ask(put("w").if_none_match("*"), status(204))),
        ("rfc9110-13.1.2/if-none-match-on-delete", with().ask(delete().if_none_match("*"), status(204))),
        ("rfc9110-13.1.2/not-modified", with().ask(get().if_none_match("x"), ok("v").tag("x"))),
        (
            "rfc9110-13.1.3/beside-if-none-match",
            with().ask(since(get().if_none_match("y"), Some(100), None), status(304).tag("x")),
        ),
        ("rfc9110-13.1.4/if-unmodified-since", with().ask(since(get(), None, Some(99)), ok("v").date(100))),
        (
            "rfc9110-13.1.4/beside-if-match",
            with().ask(since(get().if_match("*"), None, Some(99)), status(412)),
        ),
        ("rfc9110-13.2.1/not-on-failure", missing().ask(get().if_match("x"), status(412))),
        (
            "rfc9110-13.2.1/options",
            Story::new().ask(Request { method: Method::Options, ..get() }.if_match("x"), status(412)),
        ),
        ("rfc9110-15.4.5/etag", with().ask(get().if_none_match("x"), status(304).tag("z"))),
        ("rfc9110-15.4.5/cause", with().ask(get(), status(304).tag("x"))),
        ("rfc9110-15.5.13/cause", with().ask(get(), status(412))),
    ]
}

fn contents() -> Vec<(&'static str, Story)> {
    let with = || with("0123456789", "x");
    vec![
        ("rfc9110-9.3.4/created", missing().ask(put("v"), status(204))),
        ("rfc9110-9.3.4/replaced", with().ask(put("w"), status(201))),
        ("rfc9110-9.3.4/validators", with().ask(put("w"), status(204).tag("y")).ask(get(), ok("?").tag("y"))),
        (
            "rfc9110-8.6/length-of-get",
            with().ask(head(), Response { content_length: Some(9), ..status(200) }),
        ),
        ("rfc9110-8.6/length-true", with().ask(get(), ok("0123456789H"))),
        ("rfc9110-14.4/content-range", with().ask(ranged(None), part(2, 5, 11))),
        (
            "rfc9110-15.3.7.1/part",
            with().ask(ranged(None), Response { body: "234".into(), ..part(2, 5, 10) }),
        ),
        (
            "rfc9110-14.2/only-get",
            with().ask(
                Request { method: Method::Head, ..ranged(None) },
                Response { body: "".into(), ..part(2, 5, 10) },
            ),
        ),
        ("rfc9110-13.1.5/strong-comparison", with().ask(ranged(Some(Tag::weak("x"))), part(2, 5, 10))),
        ("rfc9110-13.1.5/if-range", with().ask(ranged(Some(Tag::strong("y"))), part(2, 5, 10))),
        ("rfc9110-15.5.6/allow", with().ask(get(), status(405))),
    ]
}

fn messages() -> Vec<(&'static str, Story)> {
    let with = || with("v", "x");
    let cut = Response { incomplete: true, ..ok("v") };
    let pipelined = |response| Response { pipelined: true, ..response };
    let close_twice = Request { close_twice: true, ..get() };
    let both = Request { odd: Some(Odd::LengthBesideChunks), ..put("w") };
    vec![
        (
            "rfc9112-6.3/nothing-after-the-end",
            with().ask(get().if_none_match("x"), flawed(status(304).tag("x"), Flaw::Surplus)),
        ),
        (
            "rfc9112-9.3/body-read",
            with()
                .ask(
                    Request { notes: RequestNotes { unasked_after: 1, ..<_>::default() }, ..put("w") },
                    status(204),
                )
                .got(0, flawed(status(400), Flaw::Surplus)),
        ),
        ("rfc9112-7.1/chunks", with().ask(get(), flawed(cut, Flaw::Chunks))),
        ("rfc9112-2.1/grammar", with().ask(get(), flawed(ok("v"), Flaw::Grammar))),
        ("rfc9112-6.1/framing-fields", with().ask(get(), flawed(ok("v"), Flaw::Framing))),
        ("rfc9112-9.6/nothing-after-close", with().ask(get(), flawed(ok("v"), Flaw::AfterClose))),
        ("rfc9112-9.6/close-heeded", with().sent(0, close_twice).got(0, ok("v")).got(0, ok("v"))),
        ("rfc9112-3.2/no-host", odd(Odd::NoHost)),
        ("rfc9112-3.2/two-hosts", odd(Odd::TwoHosts)),
        ("rfc9112-5.1/space-before-colon", odd(Odd::SpaceBeforeColon)),
        ("rfc9112-6.3/conflicting-lengths", odd(Odd::ConflictingLengths)),
        ("rfc9112-7.1/large-chunk", odd(Odd::HugeChunk)),
        (
            "rfc9112-6.1/length-beside-chunks",
            with().ask(both, status(204)).ask_on(1, get(), ok("1\r\nw\r\n0\r\n\r\n")),
        ),
        (
            "rfc9112-9.3.2/order",
            two_resources()
                .sent(0, get().at("/b"))
                .got(0, pipelined(ok("b").tag("y")))
                .got(0, pipelined(ok("a").tag("x"))),
        ),
        (
            "rfc9112-9.2/own-answer",
            two_resources().sent(1, get().at("/b")).got(0, ok("b").tag("y")).got(1, ok("a").tag("x")),
        ),
    ]
}

/// Returns a trace for every rule that a single response breaks by itself.
fn checked() -> Vec<(&'static str, Story)> {
    let broken = RULES.iter().filter_map(|rule| Broken::named(rule.name));
    let story = |rule| with("v", "x").ask(get(), flawed(ok("v").tag("x"), Flaw::Breaks(rule)));
    broken.map(|rule| (rule.name(), story(rule))).collect()
}

#[test]
fn every_must_can_be_proven_of_an_unsteady_server() {
    let stories = [conditions(), contents(), messages(), checked()].concat();
    let mut wrong = Vec::new();
    let judged = |story: &Story, relaxed| {
        let options = Options { relaxed, ..Options::default() };
        judge(&ORIGIN, &Tcp::default(), &story.events, &options)
    };
    for (rule, story) in &stories {
        if !judged(story, steady()).is_refuted() {
            wrong.push(format!("{rule}: explained by an unsteady server"));
        }
        if !judged(story, [steady(), vec![rule]].concat()).is_unrefuted() {
            wrong.push(format!("{rule}: not explained by a breach of it"));
        }
    }
    for (rule, why, story) in &exceptions() {
        if !judged(story, steady()).is_unrefuted() {
            wrong.push(format!("{rule} is no exception any more ({why}): it belongs to the others"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let told = stories.iter().map(|(rule, _)| *rule).chain(exceptions().map(|(rule, ..)| rule));
    let told: BTreeSet<_> = told.collect();
    let all = RULES.iter().filter(|rule| rule.level == Level::Must).map(|rule| rule.name);
    assert_eq!(told, all.collect());
}

/// Blame skips rule sets that do not explain the last exchange by itself. This is sound only if no such set explains
/// the whole trace.
#[test]
fn what_explains_a_trace_explains_its_last_exchange() {
    let mut tried = 0;
    for (broken, story) in [conditions(), contents(), messages(), checked()].concat() {
        let mut events = story.events.clone();
        Http::default().annotate(&mut events);
        let Some(alone) = Http::default().alone(&events) else { continue };
        for rule in RULES {
            for deviations in [1, 2, u32::MAX] {
                let options = Options { relaxed: vec![rule.name], deviations, ..Options::default() };
                let explains =
                    |events: &[_]| judge(&ORIGIN, &Tcp::default(), events, &options).is_unrefuted();
                assert!(!explains(&events) || explains(&alone), "{broken}, {}, {deviations}", rule.name);
                tried += 1;
            }
        }
    }
    assert!(tried > 1000, "{tried}");
}

#[test]
fn exactly_these_are_steady() {
    assert_eq!(steady(), ["store/steady-tag", "store/steady-date", "store/serves"]);
}

/// A PUT is performed though its condition is false, and the response is 201 though the resource existed, as rclone
/// does it. That the resource had vanished explains this by one deviation; the violated MUSTs explain it by one
/// deviation each.
#[test]
fn a_weak_rule_does_not_hide_two_plain_breaches() {
    let story = with("v", "x").ask(put("w").if_none_match("x"), status(201));
    let blame = blame(&ORIGIN, &Tcp::default(), &story.events, &Options::default());
    let sets: Vec<_> = blame.diagnoses.iter().map(|one| one.rules.join(" + ")).collect();
    assert_eq!(sets, ["store/stays", "rfc9110-9.3.4/replaced + rfc9110-13.1.2/if-none-match"]);
    // The resource may have been evicted, so no MUST is blamed.
    assert_eq!(blame.level(), Some(Level::Store));
    // A resource that vanished without a request is not blamed on a rule about responses.
    let story = with("v", "x").ask(get(), status(404));
    let blame = confute::blame(&ORIGIN, &Tcp::default(), &story.events, &Options::default());
    assert!(blame.diagnoses.iter().all(|one| one.level == Level::Store), "{:?}", blame.diagnoses);
}
