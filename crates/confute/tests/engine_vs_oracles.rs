//! Comparison of the engine with the oracles, on random small models, networks and traces.
//!
//! `CONFUTE_TRIPLES` sets the number of triples (default 4,000; a tenth as many long ones), `CONFUTE_SEED`
//! the first seed: triple `n` is made from seed `CONFUTE_SEED + n`, so the triple of a printed seed can be
//! judged again alone (as long as the oracles do not change: the walks that generate traces follow their
//! steps). `CONFUTE_FIRST=1` ends the run at the first difference.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of a test")]

mod oracle;

use std::collections::BTreeMap;
use std::rc::Rc;

use confute::network::Tcp;
use confute::trace::Event;
use confute::{Inconclusive, Options, Tester, Verdict};
use oracle::brute::Judgement;
use oracle::families::{self, Family};
use oracle::figure1::Word;
use oracle::mini::Msg;
use oracle::random::{Dice, Net, Triple};
use oracle::{brute, figure1, figures, random};

/// Number of configurations above which a triple is skipped.
const MOST_CONFIGS: usize = 6_000;
/// Number of steps above which the figures give no verdict.
const MOST_STEPS: usize = 20_000;
/// Seeds of triples that the engine once judged wrongly, valid as long as the oracles do not change.
const ONCE_WRONG: [u64; 3] = [5_044_067, 5_050_935, 12_001_103];
/// Seeds of long triples that the engine once judged wrongly.
const ONCE_WRONG_LONG: [u64; 1] = [9_001_854];

/// Returns the engine's verdict as an oracle's judgement.
fn engine(triple: &Triple, events: &[Event<Msg>], way: Way) -> Judgement {
    let options = Options {
        turns: 3_000_000,
        relaxed: triple.relaxed.to_vec(),
        deviations: triple.most_deviations.unwrap_or(u32::MAX),
        ..Options::default()
    };
    let verdict = match way {
        Way::Offline => confute::judge(&*triple.mini, triple.net.network(), events, &options),
        Way::Online | Way::Impatient => {
            let mut tester = Tester::new(&*triple.mini, triple.net.network(), options);
            for event in events {
                tester.observe(event.clone());
                if way == Way::Impatient {
                    tester.verdict();
                }
            }
            tester.verdict().clone()
        }
    };
    match verdict {
        Verdict::Unrefuted => Judgement::Explained,
        Verdict::Refuted(_) => Judgement::Refuted,
        Verdict::Inconclusive(Inconclusive::OutOfStep { .. }) => Judgement::OutOfStep,
        Verdict::Inconclusive(Inconclusive::Budget { .. }) => Judgement::TooMany,
        Verdict::Inconclusive(other) => {
            panic!("seed {}: {other}\n{:?}\n{events:#?}", triple.seed, triple.mini)
        }
    }
}

/// Order in which the engine gets the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// All at once: the engine may use later events.
    Offline,
    /// One by one.
    Online,
    /// One by one, with a verdict after each: the engine cannot wait for later responses.
    Impatient,
}

const WAYS: [Way; 3] = [Way::Offline, Way::Online, Way::Impatient];

fn brute(triple: &Triple, events: &[Event<Msg>]) -> Judgement {
    brute::judge(
        &*triple.mini,
        triple.net.network(),
        (triple.relaxed, triple.most_deviations),
        events,
        MOST_CONFIGS,
    )
}

/// Returns the verdict of the figures, where they apply.
fn figures(triple: &Triple, events: &[Event<Msg>]) -> Option<bool> {
    if triple.most_deviations.is_some() {
        return None;
    }
    let network = match triple.net {
        Net::Direct => false,
        Net::Tcp(Tcp { breaks: false }) => true,
        _ => return None,
    };
    let silent = matches!(
        triple.mini.family,
        Family::Closer
            | Family::Kicker
            | Family::Hangup
            | Family::Session
            | Family::Undecided
            | Family::Proxy
            | Family::Evict
            | Family::Bump
            | Family::Push
    );
    let mut known = Vec::new();
    for event in events {
        match event {
            Event::Opened(_) | Event::Accepted(_) => {}
            Event::Received(wire, _) => known.push(*wire),
            Event::Sent(wire, _) if wire.0 < 10 || known.contains(wire) => {}
            _ => return None,
        }
    }
    if silent { None } else { figures::judge(&triple.mini, network, triple.relaxed, events, MOST_STEPS) }
}

/// Returns a description of the judges that disagree with the brute-force judge, if any.
fn disagreement(triple: &Triple, events: &[Event<Msg>]) -> Option<String> {
    let brute = brute(triple, events);
    if brute == Judgement::TooMany {
        return None;
    }
    let engines = WAYS.map(|way| engine(triple, events, way));
    if engines != [brute; 3] {
        return Some(who(engines, brute));
    }
    match figures(triple, events) {
        Some(explained) if explained != (brute == Judgement::Explained) => {
            Some(format!("figures: explained = {explained}, brute: {brute:?}"))
        }
        _ => None,
    }
}

fn who([offline, online, impatient]: [Judgement; 3], brute: Judgement) -> String {
    format!("engine offline: {offline:?}, online: {online:?}, impatient: {impatient:?}, brute: {brute:?}")
}

/// Removes events while the disagreement persists.
fn shrink(triple: &Triple) -> (String, Vec<Event<Msg>>) {
    let mut events = triple.events.clone();
    let mut at = 0;
    while at < events.len() {
        let mut fewer = events.clone();
        fewer.remove(at);
        if random::well_formed(&fewer, triple.net) && disagreement(triple, &fewer).is_some() {
            events = fewer;
            at = 0;
        } else {
            at += 1;
        }
    }
    (disagreement(triple, &events).unwrap(), events)
}

fn report(triple: &Triple, (who, events): &(String, Vec<Event<Msg>>)) -> String {
    let Triple { seed, mini, net, relaxed, .. } = triple;
    let events = events.iter().map(|event| format!("  {event}")).collect::<Vec<_>>().join("\n");
    format!(
        "{who}\nseed {seed}, family {:?}, network {net:?}, relaxed {relaxed:?}\n{mini:?}\n{events}",
        mini.family
    )
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[derive(Default)]
struct Count {
    all: usize,
    refuted: usize,
    out_of_step: usize,
    skipped: usize,
    figures: usize,
    engine: usize,
    crowded: usize,
}

#[test]
fn engine_brute_and_figures_agree() {
    let first = setting("CONFUTE_SEED", 1);
    let mut counts = BTreeMap::<Family, Count>::new();
    // For each disagreement and network: the number of triples, and the smallest example.
    let mut differences = BTreeMap::<(String, &str), (usize, (usize, String))>::new();
    for seed in ONCE_WRONG.into_iter().chain(first..first + setting("CONFUTE_TRIPLES", 4_000)) {
        let triple = random::triple(seed);
        assert!(random::well_formed(&triple.events, triple.net), "seed {seed}: {:#?}", triple.events);
        let count = counts.entry(triple.mini.family).or_default();
        count.all += 1;
        count.crowded += usize::from(random::most_outstanding(&triple.events) >= 3);
        let verdict = brute(&triple, &triple.events);
        match verdict {
            Judgement::Explained => {}
            Judgement::Refuted => count.refuted += 1,
            Judgement::OutOfStep => count.out_of_step += 1,
            Judgement::TooMany => {
                count.skipped += 1;
                continue;
            }
        }
        if !triple.damaged {
            assert_eq!(verdict, Judgement::Explained, "a walk is its own explanation: seed {seed}");
        }
        let engines = WAYS.map(|way| engine(&triple, &triple.events, way));
        count.engine += 1;
        let figures = figures(&triple, &triple.events);
        count.figures += usize::from(figures.is_some());
        let same = figures.is_none_or(|explained| explained == (verdict == Judgement::Explained))
            && engines.iter().all(|engine| *engine == verdict);
        if !same {
            let small = shrink(&triple);
            let class = (small.0.clone(), triple.net.network().name());
            let (times, smallest) =
                differences.entry(class).or_insert_with(|| (0, (usize::MAX, String::new())));
            *times += 1;
            if small.1.len() < smallest.0 {
                *smallest = (small.1.len(), report(&triple, &small));
            }
            if setting("CONFUTE_FIRST", 0) > 0 {
                break;
            }
        }
    }
    print(&counts);
    let differences: Vec<String> =
        differences.values().map(|(times, (_, example))| format!("{times} times: {example}")).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Compares verdicts on traces so long that the engine forgets their beginning.
#[test]
fn long_traces_agree() {
    let first = setting("CONFUTE_SEED", 1);
    let mut counts = BTreeMap::<Judgement, usize>::new();
    let mut differences = Vec::new();
    for seed in ONCE_WRONG_LONG.into_iter().chain(first..first + setting("CONFUTE_TRIPLES", 4_000) / 10) {
        let triple = random::long_triple(seed);
        let (network, limits) = (triple.net.network(), (triple.relaxed, triple.most_deviations));
        let verdict = brute::judge(&*triple.mini, network, limits, &triple.events, 300);
        *counts.entry(verdict).or_default() += 1;
        if verdict == Judgement::TooMany {
            continue;
        }
        let engines = WAYS.map(|way| engine(&triple, &triple.events, way));
        if engines != [verdict; 3] {
            let (family, events) = (triple.mini.family, triple.events.len());
            let who = who(engines, verdict);
            differences.push(format!(
                "{who}\nseed {seed}, family {family:?}, {events} events, damaged: {}",
                triple.damaged
            ));
            if setting("CONFUTE_FIRST", 0) > 0 {
                break;
            }
        }
    }
    println!("long traces: {counts:?}");
    assert!(differences.is_empty(), "{} times: {}", differences.len(), differences.join("\n"));
}

fn print(counts: &BTreeMap<Family, Count>) {
    let sum = |f: fn(&Count) -> usize| counts.values().map(f).sum::<usize>();
    println!(
        "{:12} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "family", "triples", "refuted", "no step", ">=3 conn", "figures", "engine", "skipped"
    );
    let line = |name: &str, c: [usize; 7]| {
        println!(
            "{:12} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
            name, c[0], c[1], c[2], c[3], c[4], c[5], c[6]
        );
    };
    for (family, c) in counts {
        line(
            &format!("{family:?}"),
            [c.all, c.refuted, c.out_of_step, c.crowded, c.figures, c.engine, c.skipped],
        );
    }
    line(
        "all",
        [
            sum(|c| c.all),
            sum(|c| c.refuted),
            sum(|c| c.out_of_step),
            sum(|c| c.crowded),
            sum(|c| c.figures),
            sum(|c| c.engine),
            sum(|c| c.skipped),
        ],
    );
}

#[test]
fn figure_1_and_brute_agree() {
    let mut counts = BTreeMap::<String, usize>::new();
    for seed in 1..=setting("CONFUTE_TRIPLES", 4_000) {
        let mut dice = Dice(seed ^ 0xf1);
        let mini = Rc::new(families::mini(Family::Conditional, &mut dice));
        let mut events = random::lock_step(&mini, &mut dice);
        for event in &mut events {
            if dice.percent(12) {
                random::change_answer(event, &mut dice);
            }
        }
        let word = figure1::check(&events, mini.keys).unwrap();
        let verdict = brute::judge(&*mini, &confute::network::Direct, (&[], None), &events, MOST_CONFIGS);
        let expected = if word == Word::Accept { Judgement::Explained } else { Judgement::Refuted };
        assert_eq!(verdict, expected, "seed {seed}, figure 1: {word:?}\n{events:#?}");
        *counts.entry(format!("{word:?}")).or_default() += 1;
    }
    println!("figure 1: {counts:?}");
}
