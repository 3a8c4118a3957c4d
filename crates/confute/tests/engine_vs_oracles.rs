//! Comparison of the engine with the oracles, on random small models, networks and traces, with all reductions of the
//! search, with none, and with many sets in between.
//!
//! `CONFUTE_TRIPLES` sets the number of triples (default 4,000; a tenth as many long ones), `CONFUTE_SEED`
//! the first seed (`CONFUTE_FAMILY` restricts them to one family of models): triple `n` is made from seed `CONFUTE_SEED + n`, so the triple of a printed seed can be
//! judged again alone (as long as the oracles do not change: the walks that generate traces follow their
//! steps). `CONFUTE_FIRST=1` ends the run at the first difference.
//!
//! `tests/stored/once_wrong` holds triples that the engine once judged wrongly, `tests/stored/faults` one for each fault
//! that can be planted in the search. `cargo test -p confute --test engine_vs_oracles -- --ignored hunt` looks for a
//! triple that shows a fault and stores it; `CONFUTE_FAULT` names the faults, with commas between them, and without it all that have none are hunted.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::too_many_lines, reason = "helpers of a test")]

mod oracle;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use confute::fault::{self, Fault};
use confute::network::Tcp;
use confute::trace::Event;
use confute::{Reduction, Reductions};
use oracle::brute::Judgement;
use oracle::combine::{self, Difference, Kind, Shares};
use oracle::families::{self, Family};
use oracle::figure1::Word;
use oracle::mini::Msg;
use oracle::random::{Dice, Net, Triple};
use oracle::{brute, figure1, figures, random, stored};

/// Number of configurations above which a triple is skipped.
const MOST_CONFIGS: usize = 6_000;
/// Number of steps above which the figures give no verdict.
const MOST_STEPS: usize = 20_000;
/// Number of configurations above which a long triple is skipped.
const MOST_LONG_CONFIGS: usize = 300;

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
            | Family::Waits
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

/// Returns the first difference between the judges, if there is one.
fn disagreement(
    triple: &Triple,
    events: &[Event<Msg>],
    sets: &[(Kind, Reductions)],
    shares: &mut Shares,
) -> Option<String> {
    let brute = brute(triple, events);
    if brute == Judgement::TooMany {
        return None;
    }
    if let Some(difference) = combine::difference(triple, events, sets, brute, shares) {
        return Some(difference.describe(triple, events));
    }
    match figures(triple, events) {
        Some(explained) if explained != (brute == Judgement::Explained) => {
            Some(format!("figures: explained = {explained}, brute: {brute:?}"))
        }
        _ => None,
    }
}

/// Removes events while `differs` holds.
fn shrink(triple: &Triple, differs: impl Fn(&[Event<Msg>]) -> bool) -> Vec<Event<Msg>> {
    let mut events = triple.events.clone();
    let mut at = 0;
    while at < events.len() {
        let mut fewer = events.clone();
        fewer.remove(at);
        if random::well_formed(&fewer, triple.net) && differs(&fewer) {
            events = fewer;
            at = 0;
        } else {
            at += 1;
        }
    }
    events
}

fn report(triple: &Triple, who: &str, events: &[Event<Msg>]) -> String {
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
    let mut shares = Shares::default();
    let mut differences = Vec::new();
    for seed in first..first + setting("CONFUTE_TRIPLES", 4_000) {
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
            Judgement::TooMany | Judgement::Late => {
                count.skipped += 1;
                continue;
            }
        }
        if !triple.damaged {
            assert_eq!(verdict, Judgement::Explained, "a walk is its own explanation: seed {seed}");
        }
        count.engine += 1;
        count.figures += usize::from(figures(&triple, &triple.events).is_some());
        let sets = combine::some_sets(seed);
        if disagreement(&triple, &triple.events, &sets, &mut shares).is_some() {
            let ignored = || Shares::default();
            let differs = |events: &[_]| disagreement(&triple, events, &sets, &mut ignored()).is_some();
            let small = shrink(&triple, differs);
            let who = disagreement(&triple, &small, &sets, &mut ignored()).unwrap();
            differences.push((small.len(), report(&triple, &who, &small)));
            if setting("CONFUTE_FIRST", 0) > 0 {
                break;
            }
        }
    }
    print(&counts);
    println!("{shares}");
    tell(differences);
}

/// Fails if there are differences, with the smallest of them.
fn tell(mut differences: Vec<(usize, String)>) {
    differences.sort();
    let smallest: Vec<&str> = differences.iter().take(3).map(|(_, report)| report.as_str()).collect();
    assert!(differences.is_empty(), "{} times: {}", differences.len(), smallest.join("\n"));
}

/// Compares verdicts on traces so long that the engine forgets their beginning, with the sets that can finish them.
#[test]
fn long_traces_agree() {
    let first = setting("CONFUTE_SEED", 1);
    let mut counts = BTreeMap::<Judgement, usize>::new();
    let mut shares = Shares::default();
    let mut differences = Vec::new();
    for seed in first..first + setting("CONFUTE_TRIPLES", 4_000) / 10 {
        let triple = random::long_triple(seed);
        let verdict = long_brute(&triple, &triple.events);
        *counts.entry(verdict).or_default() += 1;
        if verdict == Judgement::TooMany {
            continue;
        }
        let one = Reduction::ALL[seed as usize % Reduction::ALL.len()];
        let sets = [(Kind::All, Reductions::ALL), (Kind::Missing(one), Reductions::ALL.without(one))];
        if let Some(found) = combine::difference(&triple, &triple.events, &sets, verdict, &mut shares) {
            let who = found.describe(&triple, &triple.events);
            let (family, events) = (triple.mini.family, triple.events.len());
            let damaged = triple.damaged;
            let text = format!("{who}\nseed {seed}, family {family:?}, {events} events, damaged: {damaged}");
            differences.push((events, text));
            if setting("CONFUTE_FIRST", 0) > 0 {
                break;
            }
        }
    }
    println!("long traces: {counts:?}\n{shares}");
    tell(differences);
}

fn long_brute(triple: &Triple, events: &[Event<Msg>]) -> Judgement {
    let (network, limits) = (triple.net.network(), (triple.relaxed, triple.most_deviations));
    brute::judge(&*triple.mini, network, limits, events, MOST_LONG_CONFIGS)
}

/// Judges the stored traces with every set of reductions.
#[test]
fn stored_traces_agree_in_every_combination() {
    let mut shares = Shares::default();
    let sets = combine::every_set();
    let stored = ["once_wrong", "faults"].into_iter().flat_map(stored::all);
    for (name, triple) in stored {
        // With few reductions long traces are hopeless.
        let is_long = triple.events.len() > 100;
        let sets: Vec<_> = sets
            .iter()
            .filter(|(kind, _)| !is_long || matches!(kind, Kind::All | Kind::Missing(_)))
            .copied()
            .collect();
        let expected = expected(&triple, &triple.events);
        if let Some(found) = combine::difference(&triple, &triple.events, &sets, expected, &mut shares) {
            panic!("{name}: {}", report(&triple, &found.describe(&triple, &triple.events), &triple.events));
        }
    }
    println!("{shares}");
}

fn expected(triple: &Triple, events: &[Event<Msg>]) -> Judgement {
    if events.len() > 100 { long_brute(triple, events) } else { brute(triple, events) }
}

/// Returns `true` if the oracle decides this trace, the engine agrees, and no longer does with the fault.
fn shows(fault: Fault, triple: &Triple, events: &[Event<Msg>]) -> bool {
    let expected = expected(triple, events);
    expected != Judgement::TooMany
        && differs(Some(fault), triple, events, expected)
        && !differs(None, triple, events, expected)
}

/// Returns `true` if the engine with this fault differs from the oracle.
fn differs(fault: Option<Fault>, triple: &Triple, events: &[Event<Msg>], expected: Judgement) -> bool {
    // By tables a part needs few of the others, so each fault is looked for without them too.
    let tables = Reduction::Tables;
    let sets = [(Kind::All, Reductions::ALL), (Kind::Missing(tables), Reductions::ALL.without(tables))];
    let judge = || combine::difference(triple, events, &sets, expected, &mut Shares::default());
    // A fault may also end in a defect that is noticed.
    let judged = catch_unwind(AssertUnwindSafe(|| fault::with(fault, judge)));
    judged.map_or(true, |found: Option<Difference>| found.is_some())
}

/// Every fault whose trace is stored here is noticed by comparing verdicts with the oracle's.
#[test]
fn planted_faults_are_noticed() {
    let mut missed = Vec::new();
    let stored = stored::all("faults");
    for (name, triple) in &stored {
        let fault = Fault::ALL.iter().find(|fault| fault.name() == name);
        let fault = fault.unwrap_or_else(|| panic!("no fault is called {name}"));
        if !shows(*fault, triple, &triple.events) {
            missed.push(name.as_str());
        }
    }
    println!("{} faults planted", stored.len());
    assert!(missed.is_empty(), "not noticed any more: {}; hunt for new traces", missed.join(", "));
}

/// Looks for triples that show a fault, and stores the smallest form of the first.
#[test]
#[ignore = "takes long, and changes the stored traces"]
fn hunt() {
    let wanted = std::env::var("CONFUTE_FAULT").unwrap_or_default();
    let known: Vec<String> = stored::all("faults").into_iter().map(|(name, _)| name).collect();
    let first = setting("CONFUTE_SEED", 1);
    let is_wanted = |fault: &Fault| {
        let is_known = known.iter().any(|known| known == fault.name());
        if wanted.is_empty() { !is_known } else { wanted.split(',').any(|name| name == fault.name()) }
    };
    let mut open: Vec<Fault> = Fault::ALL.iter().copied().filter(is_wanted).collect();
    let triples = setting("CONFUTE_TRIPLES", 4_000);
    let long = (first..first + triples / 20).map(random::long_triple);
    for triple in (first..first + triples).map(random::triple).chain(long) {
        let expected = expected(&triple, &triple.events);
        if open.is_empty() {
            break;
        }
        if expected == Judgement::TooMany || differs(None, &triple, &triple.events, expected) {
            continue;
        }
        open.retain(|fault| {
            if !differs(Some(*fault), &triple, &triple.events, expected) {
                return true;
            }
            let small = shrink(&triple, |events| shows(*fault, &triple, events));
            println!("{}: seed {}, {} events", fault.name(), triple.seed, small.len());
            stored::store("faults", fault.name(), &triple, &small);
            false
        });
    }
    for fault in open {
        println!("{}: nothing shows it", fault.name());
    }
}

/// Stores the triples of these seeds, which the engine once judged wrongly.
#[test]
#[ignore = "changes the stored traces"]
fn keep() {
    for seed in std::env::var("CONFUTE_KEEP").unwrap_or_default().split(',') {
        let Ok(number) = seed.trim_start_matches('l').parse() else { continue };
        let triple = if seed.starts_with('l') { random::long_triple(number) } else { random::triple(number) };
        stored::store("once_wrong", &format!("seed-{seed}"), &triple, &triple.events);
    }
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
