//! The model simulated as a server and judged by itself, with many connections.

use confute::network::Tcp;
use confute::random::Random;
use confute::simulate::{ExchangePlan, Statistics, exchange};
use confute::trace::Event;
use confute::{Options, Tester, Verdict};
use confute_http::message::{IfRange, Message, Method, Request, Response, Span, Tag, Tags};
use confute_http::{Origin, TagStyle};

use crate::story::{ORIGIN, accuse};

/// Returns a tag of an earlier response, perhaps with its strength inverted, or an invented tag.
fn tag(random: &mut Random, seen: &[Message]) -> Tag {
    let tags: Vec<&Tag> =
        seen.iter().rev().filter_map(response).filter_map(|seen| seen.etag.as_ref()).take(4).collect();
    match tags.get(random.below(5) as usize) {
        Some(tag) => Tag { weak: tag.weak != random.chance(1, 4), opaque: tag.opaque.clone() },
        None => Tag { weak: random.chance(1, 2), opaque: "guess".into() },
    }
}

fn response(message: &Message) -> Option<&Response> {
    if let Message::Response(response) = message { Some(response) } else { None }
}

fn tags(random: &mut Random, seen: &[Message]) -> Tags {
    match random.below(6) {
        0 => Tags::Any,
        1 => Tags::Lines(vec![vec![tag(random, seen), tag(random, seen)]]),
        2 => Tags::Lines(vec![vec![tag(random, seen)], vec![tag(random, seen)]]),
        _ => Tags::one(tag(random, seen)),
    }
}

fn request(random: &mut Random, seen: &[Message], clock: i64) -> Request {
    let date = |random: &mut Random| {
        let dates: Vec<i64> =
            seen.iter().rev().filter_map(response).filter_map(|seen| seen.last_modified).collect();
        dates.first().map(|date| date + random.below(3).cast_signed() - 1)
    };
    let path = ["/a", "/b", "/c"][random.below(3) as usize].into();
    let mut request = Request { path, at: clock, ..Request::default() };
    request.method = match random.below(10) {
        0..4 => Method::Get,
        4 => Method::Head,
        5 => Method::Delete,
        _ => Method::Put,
    };
    if request.method == Method::Put {
        request.body = Some(format!("{:08x}", random.below(1 << 32)).into());
    }
    if random.chance(1, 3) {
        request.if_match = Some(tags(random, seen));
    }
    if random.chance(1, 3) {
        request.if_none_match = Some(tags(random, seen));
    }
    if random.chance(1, 6) {
        request.if_modified_since = date(random);
    }
    if random.chance(1, 6) {
        request.if_unmodified_since = date(random);
    }
    if request.method == Method::Get && random.chance(1, 4) {
        request.range = vec![Span::Between(random.below(4), 4 + random.below(9))];
        request.if_range = random.chance(1, 2).then(|| IfRange::Tag(tag(random, seen)));
    }
    request
}

fn run(style: TagStyle, plan: &ExchangePlan, sink: &mut dyn FnMut(Event<Message>) -> bool) -> Statistics {
    let mut clock = 0;
    let model = Origin { tags: style };
    let mut ask = |random: &mut Random, seen: &[Message]| {
        clock += 10;
        request(random, seen, clock).into()
    };
    exchange(&model, &Tcp::default(), plan, &mut ask, &mut |_, _| None, sink).unwrap()
}

const STYLES: [TagStyle; 3] =
    [TagStyle::WeakFor(0), TagStyle::WeakFor(1000), TagStyle::WeakFor(i64::MAX / 8)];

#[test]
fn a_correct_server_is_never_refuted() {
    for style in STYLES {
        for seed in 0..6 {
            let plan = ExchangePlan {
                seed,
                connections: 8,
                at_once: 6,
                messages: 2000,
                rest_every: 50,
                ..ExchangePlan::default()
            };
            let network = Tcp::default();
            let mut tester =
                Tester::new(&ORIGIN, &network, Options { turns: 20_000_000, ..Options::default() });
            let mut events = Vec::new();
            let statistics = run(style, &plan, &mut |event| {
                events.push(event.clone());
                tester.observe(event).is_unrefuted()
            });
            let verdict = tester.verdict();
            if let Verdict::Refuted(refutation) = verdict {
                let tail = &events[events.len().saturating_sub(12)..];
                panic!("{style:?} {seed}: {refutation:?}\n{tail:#?}");
            }
            assert!(verdict.is_unrefuted(), "{style:?} {seed}: {verdict:?}");
            assert_eq!(statistics.requests, plan.messages);
            println!("{style:?} {seed}: {} turns for {} events", tester.turns(), tester.events());
        }
    }
}

#[test]
fn a_server_that_breaks_a_rule_is_found_out() {
    let rules = [
        "rfc9110-13.1.1/if-match",
        "rfc9110-13.1.1/strong-comparison",
        "rfc9110-13.1.1/every-member",
        "rfc9110-13.1.2/if-none-match",
        "rfc9110-13.1.2/not-modified",
        "rfc9110-13.1.2/weak-comparison",
        "rfc9110-13.1.2/every-member",
        "rfc9110-13.1.2/true-without-match",
        "rfc9110-13.1.2/failed-write-is-412",
        "rfc9110-5.2/several-lines",
        "rfc9110-13.1.3/beside-if-none-match",
        "rfc9110-13.1.4/if-unmodified-since",
        "rfc9110-13.1.4/beside-if-match",
        "rfc9110-15.5.13/cause",
        "rfc9110-15.4.5/cause",
        "rfc9110-9.3.4/created",
        "rfc9110-9.3.4/replaced",
        "rfc9110-9.3.4/validators",
        "rfc9110-13.1.5/if-range",
        "store/put-lasts",
        "store/delete-lasts",
        "store/read-current",
        "store/stays",
        "store/serves",
    ];
    for rule in rules {
        let plan = ExchangePlan {
            seed: 1,
            connections: 2,
            at_once: 1,
            messages: 9000,
            deviate: vec![rule],
            one_in: 3,
            ..ExchangePlan::default()
        };
        let network = Tcp::default();
        let mut tester = Tester::new(&ORIGIN, &network, Options::default());
        let mut events = Vec::new();
        let mut sink = |event: Event<Message>| {
            events.push(event.clone());
            tester.observe(event).is_unrefuted()
        };
        let statistics = run(TagStyle::WeakFor(0), &plan, &mut sink);
        assert!(tester.verdict().is_refuted(), "{rule}: {:?}", tester.verdict());
        let names = accuse(&events);
        println!("{rule}: after {} requests, {names:?}", statistics.requests);
        assert!(names.contains(&rule), "{rule}: blamed on {names:?}");
    }
}

#[test]
#[ignore = "figures to look at"]
fn speed() {
    for at_once in [1, 4, 8, 16] {
        let plan =
            ExchangePlan { seed: 3, connections: 16, at_once, messages: 20_000, ..ExchangePlan::default() };
        let mut events = Vec::new();
        run(TagStyle::WeakFor(0), &plan, &mut |event| {
            events.push(event);
            events.len() < 40_000
        });
        let start = std::time::Instant::now();
        let network = Tcp::default();
        let mut tester = Tester::new(&ORIGIN, &network, Options { turns: 50_000_000, ..Options::default() });
        for event in &events {
            tester.observe(event.clone());
        }
        let (turns, count) = (tester.turns(), events.len());
        println!(
            "{at_once} at once: {count} events, {turns} turns, {:?}: {:?}",
            start.elapsed(),
            tester.verdict()
        );
    }
}

#[test]
#[ignore = "looks for a difference between judging at once and judging at the end"]
fn eager() {
    let first = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    for seed in first..first + 400 {
        let style = STYLES[seed as usize % 3];
        let plan = ExchangePlan {
            seed,
            connections: 12,
            at_once: 5,
            messages: 120,
            rest_every: 30,
            ..ExchangePlan::default()
        };
        let network = Tcp::default();
        let mut tester = Tester::new(&ORIGIN, &network, Options::default());
        let mut events = Vec::new();
        run(style, &plan, &mut |event| {
            events.push(event.clone());
            tester.observe(event);
            tester.verdict().is_unrefuted()
        });
        if !tester.verdict().is_unrefuted() {
            println!("{style:?} {seed}: after {} events, blamed on {:?}", events.len(), accuse(&events));
            events.iter().for_each(|event| println!("{}", serde_json::to_string(event).unwrap()));
            break;
        }
    }
}
