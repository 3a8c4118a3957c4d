//! The first real refutation: nginx with DAV does not look at If-Match on PUT (the paper's §5.2). And the control: over
//! the same traffic without If-Match it is not accused of anything.

#![allow(clippy::print_stdout, reason = "helpers of tests report what they saw")]

use std::time::{Duration, Instant};

use confute::network::Tcp;
use confute::trace::{Event, Header, Trace, validate};
use confute::{Options, Verdict, blame, judge};
use confute_models::conditional::{Conditional, IF_MATCH_CHECKED, Message, TAG_CHANGES};
use confute_testbed::driver::{Plan, Run, run};
use confute_testbed::nginx::{Nginx, NginxError};
use confute_testbed::traffic::Habits;

type Events = Vec<Event<Message>>;

/// A running nginx, or `None` where there is none and that is no mistake.
fn nginx() -> Option<Nginx> {
    match Nginx::start() {
        Ok(nginx) => Some(nginx),
        Err(error @ NginxError::NotInstalled) if std::env::var("CI").is_ok_and(|ci| ci == "true") => {
            panic!("{error}, and this is CI")
        }
        Err(error @ NginxError::NotInstalled) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Now and then a run makes the search explode (unseen tags, two ways to differ for each put): then it is left alone.
fn budget() -> Options<'static> {
    Options { turns: 300_000, ..Options::default() }
}

const PLAIN: Habits = Habits { keys: 4, conditional_puts: false, equal_lengths: false };

fn plan(seed: u64, habits: Habits, seconds: u64) -> Plan {
    Plan {
        seed,
        habits,
        requests: 5_000,
        time: Duration::from_secs(seconds),
        silence: Duration::from_secs(2),
    }
}

fn report(what: &str, seed: u64, run: &Run) {
    println!(
        "{what}, seed {seed}: {:?} after {} requests, {} events, {:?} (thinking {:?}, {} turns); outstanding {:?}, median {}",
        run.verdict,
        run.requests,
        run.events.len(),
        run.elapsed,
        run.thinking,
        run.turns,
        &run.outstanding[1..],
        run.median_outstanding(),
    );
}

#[test]
fn nginx_ignores_if_match_on_put() {
    let Some(nginx) = nginx() else { return };
    let mut shortest: Option<(u64, Events)> = None;
    let mut named = 0;
    for seed in 1..=10 {
        let run = run(nginx.address(), &plan(seed, Habits { conditional_puts: true, ..PLAIN }, 5));
        report("conditional puts", seed, &run);
        assert!(run.trouble.is_none(), "seed {seed}: {:?}", run.trouble);
        assert!(run.verdict.is_refuted(), "seed {seed}: {:?}", run.verdict);
        assert!(run.elapsed < Duration::from_secs(5));
        assert_eq!(validate(&run.events), Ok(()));
        // Judged offline, it may run out of budget, but never come to another conclusion.
        assert!(!judge(&Conditional, &Tcp::default(), &run.events, &budget()).is_unrefuted(), "seed {seed}");

        let start = Instant::now();
        let blamed = blame(&Conditional, &Tcp::default(), &run.events, &budget());
        println!("    blame in {:?}: {:?}", start.elapsed(), blamed.diagnoses);
        // A stale tag that passed may also have been kept by new content: then there are several minimal explanations.
        named += u32::from(blamed.diagnoses.iter().any(|it| it.rules == [IF_MATCH_CHECKED.name]));

        let small = shrink(run.events);
        if shortest.as_ref().is_none_or(|(_, events)| small.len() < events.len()) {
            shortest = Some((seed, small));
        }
    }
    assert!(named >= 8, "the rule was named in {named} of 10 runs; more than the rare budget that runs out");
    let (seed, events) = shortest.expect("ten runs were refuted");
    println!("the shortest refutation, from seed {seed}:");
    let note = Some("nginx ignores If-Match on PUT".to_owned());
    let trace =
        Trace { header: Header { seed: Some(seed), note, ..Header::new("conditional", "tcp") }, events };
    let mut text = Vec::new();
    trace.write(&mut text).unwrap();
    println!("{}", String::from_utf8_lossy(&text));
    let blamed = blame(&Conditional, &Tcp::default(), &trace.events, &budget());
    println!("blame: {:?}", blamed.diagnoses);
    let rules: Vec<_> = blamed.diagnoses.iter().map(|it| &it.rules[..]).collect();
    assert_eq!(rules, [[IF_MATCH_CHECKED.name]]);
    // A get that shows the tag, and a put under another tag that goes through.
    assert!(trace.events.len() <= 8, "{} events", trace.events.len());
}

#[test]
fn nginx_is_not_accused_of_anything_else() {
    let Some(nginx) = nginx() else { return };
    for seed in 1..=3 {
        let run = run(nginx.address(), &plan(seed, PLAIN, 60));
        report("control", seed, &run);
        assert!(run.trouble.is_none(), "seed {seed}: {:?}", run.trouble);
        assert_eq!(run.verdict, Verdict::Unrefuted, "seed {seed}");
        assert_eq!(run.requests, 5_000, "seed {seed}: {:?}", run.elapsed);
        assert!(run.median_outstanding() >= 4, "a tester that has quietly become sequential");
        assert!(!judge(&Conditional, &Tcp::default(), &run.events, &budget()).is_refuted(), "seed {seed}");
    }
}

/// A time in seconds and a length make no strong tag (RFC 9110 8.8.1), and a tag that is not strong must be marked as
/// weak (8.8.3). That is why the bodies of the other tests all differ in length.
#[test]
fn nginx_gives_two_contents_one_strong_tag() {
    let Some(nginx) = nginx() else { return };
    for seed in 1..=3 {
        let run = run(nginx.address(), &plan(seed, Habits { equal_lengths: true, ..PLAIN }, 5));
        report("equal lengths", seed, &run);
        assert!(run.trouble.is_none() && run.verdict.is_refuted(), "{:?} {:?}", run.trouble, run.verdict);
        let blamed = blame(&Conditional, &Tcp::default(), &run.events, &budget());
        println!("    {:?}", blamed.diagnoses);
        let rules: Vec<_> = blamed.diagnoses.iter().map(|it| &it.rules[..]).collect();
        assert_eq!(rules, [[TAG_CHANGES.name]], "seed {seed}");
    }
}

/// Drops requests, each with its answer, as long as ignoring If-Match, and nothing less, explains the rest. To ask only
/// that the rest be refuted would not do: a read is refuted as soon as the write that it saw is dropped.
fn shrink(mut events: Events) -> Events {
    events.retain(|event| !matches!(event, Event::Opened(_)));
    let relaxed = Options { relaxed: vec![IF_MATCH_CHECKED.name], ..budget() };
    let holds = |events: &Events| {
        judge(&Conditional, &Tcp::default(), events, &budget()).is_refuted()
            && judge(&Conditional, &Tcp::default(), events, &relaxed).is_unrefuted()
            && blame(&Conditional, &Tcp::default(), events, &budget()).diagnoses.len() == 1
    };
    let mut again = true;
    while again {
        again = false;
        let mut at = events.len();
        while at > 0 {
            at -= 1;
            if at < events.len() && matches!(events[at], Event::Sent(..)) {
                let fewer = without(&events, at);
                if holds(&fewer) {
                    events = fewer;
                    again = true;
                }
            }
        }
    }
    events
}

/// These events without the request at this place and its answer.
fn without(events: &Events, sent: usize) -> Events {
    let conn = events[sent].conn();
    let answer = (sent + 1..events.len()).find(|at| events[*at].conn() == conn);
    let kept = events.iter().enumerate().filter(|(at, _)| *at != sent && Some(*at) != answer);
    kept.map(|(_, event)| event.clone()).collect()
}
