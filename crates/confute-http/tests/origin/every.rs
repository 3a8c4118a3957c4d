//! Every rule of an origin server has a trace that shows it: one that is refuted, and not where the rule is relaxed.

use confute::network::Tcp;
use confute::{Options, judge};
use confute_drive::{Evidence as _, Reader as _};
use confute_http::Http;
use confute_http::decode::HttpReader;
use confute_http::message::{Flaw, IfRange, Message, Method, Odd, RangeSent, Request, Response, Span, Tag};
use confute_http::rules::{Broken, RULES, entry};

use crate::story::{Asking, ORIGIN, Story, Telling, delete, get, head, missing, ok, put, status, with};

fn flawed(flaw: Flaw, response: Response) -> Response {
    Response { flaws: vec![flaw], ..response }
}

fn odd(odd: Odd) -> Story {
    with("v", "x").ask(Request { odd: Some(odd), ..put("w") }, status(204))
}

fn ranged(span: Span, response: Response) -> Story {
    with("0123456789", "x").ask(Request { range: vec![span], ..get() }, response)
}

fn if_range(tag: Tag) -> Story {
    let if_range = Some(IfRange::Tag(tag));
    let asked = Request { if_range, range: vec![Span::From(8)], ..get() };
    with("0123456789", "x").ask(asked, part("89", 8, 9))
}

fn part(body: &str, first: u64, last: u64) -> Response {
    let content_range = Some(RangeSent::Part(first, last, Some(10)));
    Response { body: body.into(), content_range, ..status(206) }.tag("x")
}

fn since(request: Request, modified: Option<i64>, unmodified: Option<i64>) -> Request {
    Request { if_modified_since: modified, if_unmodified_since: unmodified, ..request }
}

fn with_method(name: Method, request: Request) -> Request {
    Request { method: name, ..request }
}

/// The traces that show rules of RFC 9110.
fn semantics(rule: &str) -> Option<Story> {
    let v = || with("v", "x");
    let kept = |story: Story| story.ask(get(), ok("v").tag("x"));
    Some(match rule {
        "rfc9110-5.2/several-lines" => v().ask(put("w").if_none_match("y;x"), status(204)),
        "rfc9110-13.1.1/strong-comparison" => v().ask(put("w").if_match("~x"), status(204)),
        "rfc9110-13.1.1/every-member" => kept(v().ask(put("w").if_match("y,x"), status(412))),
        "rfc9110-13.1.1/if-match" => v().ask(put("w").if_match("y"), status(204)),
        "rfc9110-13.1.1/if-match-on-read" => v().ask(get().if_match("y"), ok("v").tag("x")),
        "rfc9110-13.1.1/if-match-on-delete" => v().ask(delete().if_match("y"), status(204)),
        "rfc9110-13.1.2/weak-comparison" => v().ask(put("w").if_none_match("~x"), status(204)),
        "rfc9110-13.1.2/weak-comparison-on-read" => v().ask(get().if_none_match("~x"), ok("v").tag("x")),
        "rfc9110-13.1.2/every-member" => v().ask(put("w").if_none_match("y,x"), status(204)),
        "rfc9110-13.1.2/true-without-match" => missing().ask(put("v").if_none_match("*"), status(412)),
        "rfc9110-13.1.2/failed-write-is-412" => v().ask(put("w").if_none_match("x"), status(304)),
        "rfc9110-13.1.2/if-none-match" => v().ask(put("w").if_none_match("*"), status(204)),
        "rfc9110-13.1.2/if-none-match-on-delete" => v().ask(delete().if_none_match("*"), status(204)),
        "rfc9110-13.1.2/not-modified" => v().ask(get().if_none_match("x"), ok("v").tag("x")),
        "rfc9110-13.1.3/if-modified-since" => v().ask(since(get(), Some(100), None), ok("v")),
        "rfc9110-13.1.3/beside-if-none-match" => {
            v().ask(since(get().if_none_match("y"), Some(100), None), status(304).tag("x"))
        }
        "rfc9110-13.1.4/if-unmodified-since" => v().ask(since(put("w"), None, Some(99)), status(204)),
        "rfc9110-13.1.4/beside-if-match" => {
            kept(v().ask(since(put("w").if_match("x"), None, Some(99)), status(412)))
        }
        "rfc9110-13.2.1/not-on-failure" => missing().ask(get().if_match("x"), status(412)),
        "rfc9110-13.2.1/options" => {
            Story::new().ask(with_method(Method::Options, get()).if_match("x"), status(412))
        }
        "rfc9110-15.4.5/etag" => kept(v().ask(get().if_none_match("x"), status(304).tag("~x"))),
        "rfc9110-15.4.5/cause" => v().ask(get(), status(304).tag("x")),
        "rfc9110-15.5.13/cause" => v().ask(put("w"), status(412)),
        "rfc9110-9.3.4/created" => missing().ask(put("v"), status(204)),
        "rfc9110-9.3.4/replaced" => v().ask(put("w"), status(201)),
        "rfc9110-9.3.4/validators" => v().ask(put("w"), status(204).tag("y")).ask(get(), ok("?").tag("y")),
        "rfc9110-8.8.3/strong-tag-differs" => v().ask(put("w"), status(204)).ask(get(), ok("w").tag("x")),
        "rfc9110-8.6/length-of-get" => v().ask(head(), Response { content_length: Some(0), ..status(200) }),
        "rfc9110-8.6/length-true" => v().ask(get(), ok("vHTTP")),
        "rfc9110-14.4/content-range" => ranged(Span::From(8), Response { body: "89".into(), ..status(206) }),
        "rfc9110-15.3.7.1/part" => ranged(Span::Between(2, 5), part("234", 2, 5)),
        "rfc9110-14.2/asked" => ranged(Span::Between(2, 5), part("01", 0, 1)),
        "rfc9110-14.2/only-get" => v().ask(Request { range: vec![Span::From(0)], ..head() }, part("", 0, 0)),
        "rfc9110-13.1.5/strong-comparison" => if_range(Tag::weak("x")),
        "rfc9110-13.1.5/if-range" => if_range(Tag::strong("y")),
        "rfc9110-15.5.17/unsatisfiable" => ranged(Span::From(9), status(416)),
        "rfc9110-15.5.6/allow" => {
            Story::new().ask(with_method(Method::Other("POST".into()), get()), status(405))
        }
        "rfc9110-10.1.1/continue" => {
            v().sent(0, Request { expect: Some(50), ..put("w") }).wait(60).got(0, status(204))
        }
        _ => return None,
    })
}

/// The traces that show rules of RFC 9112.
fn framing(rule: &str) -> Option<Story> {
    let v = || with("v", "x");
    let pair = || {
        Story::new().ask(put("a").at("/a"), status(201).tag("x")).ask(put("b").at("/b"), status(201).tag("y"))
    };
    Some(match rule {
        "rfc9112-9.3/body-read" => v().ask(put("w"), status(204)).got(0, flawed(Flaw::Surplus, status(400))),
        "rfc9112-6.3/nothing-after-the-end" => v().got(0, flawed(Flaw::Surplus, status(200))),
        "rfc9112-7.1/chunks" => {
            v().ask(get(), flawed(Flaw::Chunks, Response { incomplete: true, ..ok("v") }))
        }
        "rfc9112-2.1/grammar" => v().ask(get(), flawed(Flaw::Grammar, ok("v"))),
        "rfc9112-6.1/framing-fields" => v().ask(get(), flawed(Flaw::Framing, ok("v"))),
        "rfc9112-9.6/nothing-after-close" => v().ask(get(), flawed(Flaw::AfterClose, ok("v"))),
        "rfc9112-9.6/close-heeded" => {
            let twice = Request { close_twice: true, ..get() };
            v().sent(0, twice).got(0, ok("v")).got(0, ok("v"))
        }
        "rfc9112-3.2/no-host" => odd(Odd::NoHost),
        "rfc9112-3.2/two-hosts" => odd(Odd::TwoHosts),
        "rfc9112-5.1/space-before-colon" => odd(Odd::SpaceBeforeColon),
        "rfc9112-6.3/conflicting-lengths" => odd(Odd::ConflictingLengths),
        "rfc9112-6.1/length-beside-chunks" => {
            odd(Odd::LengthBesideChunks).ask(get(), ok("1\r\nw\r\n0\r\n\r\n"))
        }
        "rfc9112-7.1/large-chunk" => odd(Odd::HugeChunk),
        "rfc9112-9.3.2/order" => {
            let response = |body| Response { pipelined: true, ..ok(body) };
            let both = pair().sent(0, get().at("/a")).sent(0, get().at("/b"));
            both.got(0, response("b").tag("y")).got(0, response("a").tag("x"))
        }
        "rfc9112-9.2/own-answer" => pair().ask(get().at("/a"), ok("b").tag("y")),
        "live/answered" => {
            v().ask(get(), flawed(Flaw::Stalled, Response { incomplete: true, ..Response::default() }))
        }
        _ => return None,
    })
}

/// The traces that show what everybody expects of a store.
fn storage(rule: &str) -> Option<Story> {
    let v = || with("<00001>", "x");
    let replaced = || v().ask(put("<00002>"), status(204).tag("y"));
    Some(match rule {
        "store/whole" => v().sent(0, put("<00002>")).sent(1, get()).got(1, ok("<00002>").tag("x")),
        "store/put-own" => v().ask(put("<00002>"), status(204)).ask(get(), ok("<00003>").tag("y")),
        "store/steady-content" => v().ask(get(), ok("?").tag("y")),
        "store/put-exact" => v().ask(put("<00002>"), status(204)).ask(get(), ok("?").tag("y")),
        "store/refused-not-done" => {
            let post = with_method(Method::Other("POST".into()), get());
            let odd = Request { chunked: true, ..put("<00002>") };
            // A server may require a length; then it must not store what it refused.
            v().ask(post, Response { allow: true, ..status(405) })
                .ask(odd, status(411))
                .ask(get(), ok("<00002>").tag("y"))
        }
        "store/content-sent" => v().ask(get(), status(204).tag("x")),
        "store/once" => v()
            .ask(put("<00002>"), status(202))
            .ask(get(), ok("<00002>").tag("y"))
            .ask(put("<00003>"), status(204).tag("z"))
            .ask(get(), ok("<00002>").tag("q")),
        "store/put-lasts" => replaced().ask(get(), ok("<00001>").tag("x")),
        "store/delete-lasts" => v().ask(delete(), status(204)).ask(get(), ok("<00001>").tag("x")),
        "store/read-current" => {
            replaced().ask(get(), ok("<00002>").tag("y")).ask(get(), ok("<00001>").tag("x"))
        }
        "store/one-winner" => v()
            .sent(0, put("<00002>").if_match("x"))
            .sent(1, put("<00003>").if_match("x"))
            .got(0, status(204).tag("y"))
            .got(1, status(204).tag("z")),
        "store/stays" => v().ask(get(), status(404)),
        "store/steady-tag" => v().ask(get(), ok("<00001>").tag("y")),
        "store/steady-date" => v().ask(get(), ok("<00001>").tag("x").date(101)),
        "store/serves" => v().ask(get(), status(503)),
        _ => return None,
    })
}

/// Returns the trace of a rule that a single response breaks: the lines of its example that begin with `<` are the
/// response on the wire.
fn by_example(rule: &str) -> Option<Story> {
    let entry = entry(rule).filter(|entry| entry.check.is_some())?;
    let lines = entry.explanation.example.iter().filter_map(|line| line.strip_prefix("< "));
    let head: Vec<String> = lines.map(|line| format!("{line}\r\n")).collect();
    let bytes = format!("HTTP/1.1 {}Content-Length: 1\r\n\r\nv", head.concat());
    let (mut reader, mut messages) = (HttpReader::default(), Vec::new());
    reader.sent(&get().into());
    reader.feed(bytes.as_bytes(), &mut messages);
    let response = messages.first().and_then(Message::response).expect("the example is a response");
    assert_eq!(response.flaws, [Flaw::Breaks(Broken::named(rule).unwrap())], "{rule}");
    Some(Story::new().ask(put("v"), status(201)).ask(get(), response.clone()))
}

#[test]
fn every_rule_has_a_trace_that_shows_it() {
    for rule in RULES {
        let traces = [semantics, framing, storage, by_example];
        let mut found = traces.iter().filter_map(|traces| traces(rule.name));
        let mut story = found.next().unwrap_or_else(|| panic!("no trace shows {}", rule.name));
        assert!(found.next().is_none(), "{} is shown twice", rule.name);
        Http::default().annotate(&mut story.events);
        assert!(story.verdict().is_refuted(), "{}: {:?}", rule.name, story.verdict());
        let options = Options { relaxed: vec![rule.name], deviations: 6, ..Options::default() };
        let verdict = judge(&ORIGIN, &Tcp::default(), &story.events, &options);
        assert!(verdict.is_unrefuted(), "{}: {verdict:?}", rule.name);
    }
}
