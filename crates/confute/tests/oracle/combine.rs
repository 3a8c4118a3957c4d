//! The engine with sets of reductions: all of them, none, each alone, each missing, and random ones.
//!
//! Wherever a set decides, its verdict has to be the oracle's. A search that ran out of turns is no agreement: its share
//! is printed.

use std::collections::BTreeMap;
use std::fmt;

use confute::trace::Event;
use confute::{Inconclusive, Options, Reduction, Reductions, Tester, Verdict};

use super::brute::Judgement;
use super::mini::Msg;
use super::random::{Dice, Triple};

/// Maximum number of turns of a search with all reductions, which should always end before.
const MOST_TURNS: u64 = 3_000_000;
/// Maximum number of turns of a search with fewer reductions, which may be hopeless.
const FEWER_TURNS: u64 = 20_000;

/// Order in which the engine gets the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// All at once: the engine may use later events.
    Offline,
    /// One by one.
    Online,
    /// One by one, with a verdict after each: the engine cannot wait for later responses.
    Impatient,
}

pub const WAYS: [Way; 3] = [Way::Offline, Way::Online, Way::Impatient];

/// Returns the engine's verdict as an oracle's judgement.
pub fn engine(triple: &Triple, events: &[Event<Msg>], (way, reductions): (Way, Reductions)) -> Judgement {
    let options = Options {
        turns: if reductions == Reductions::ALL { MOST_TURNS } else { FEWER_TURNS },
        relaxed: triple.relaxed.to_vec(),
        deviations: triple.most_deviations.unwrap_or(u32::MAX),
        reductions,
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
            let verdict = tester.verdict().clone();
            if !tester.is_exact() {
                return Judgement::Late;
            }
            verdict
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

/// Kind of a set of reductions, for statistics.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    All,
    None,
    Alone(Reduction),
    Missing(Reduction),
    Random,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::All => f.write_str("all"),
            Kind::None => f.write_str("none"),
            Kind::Alone(one) => write!(f, "{one} alone"),
            Kind::Missing(one) => write!(f, "without {one}"),
            Kind::Random => f.write_str("random"),
        }
    }
}

/// Returns every set that is tried on a stored trace.
pub fn every_set() -> Vec<(Kind, Reductions)> {
    let mut sets = vec![(Kind::All, Reductions::ALL), (Kind::None, Reductions::NONE)];
    for one in Reduction::ALL {
        sets.push((Kind::Alone(*one), Reductions::NONE.with(*one)));
        sets.push((Kind::Missing(*one), Reductions::ALL.without(*one)));
    }
    let mut dice = Dice(1);
    sets.extend((0..8).map(|_| (Kind::Random, random(&mut dice))));
    sets
}

/// Returns the sets that are tried on the triple of this seed: over the seeds, every set comes equally often.
pub fn some_sets(seed: u64) -> Vec<(Kind, Reductions)> {
    let one = Reduction::ALL[seed as usize % Reduction::ALL.len()];
    vec![
        (Kind::All, Reductions::ALL),
        (Kind::None, Reductions::NONE),
        (Kind::Alone(one), Reductions::NONE.with(one)),
        (Kind::Missing(one), Reductions::ALL.without(one)),
        (Kind::Random, random(&mut Dice(seed))),
    ]
}

fn random(dice: &mut Dice) -> Reductions {
    Reduction::ALL.iter().copied().filter(|_| dice.percent(50)).collect()
}

/// A set whose verdict is not the oracle's.
pub struct Difference {
    pub way: Way,
    pub set: Reductions,
    pub found: Judgement,
    pub expected: Judgement,
}

/// Number of searches by kind of set, and of those that did not decide.
#[derive(Default)]
pub struct Shares(BTreeMap<Kind, (usize, usize)>);

impl Shares {
    fn note(&mut self, kind: Kind, found: Judgement) {
        let (all, open) = self.0.entry(kind).or_default();
        *all += 1;
        *open += usize::from(matches!(found, Judgement::TooMany | Judgement::Late));
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:32} {:>9} {:>9} {:>9}", "reductions", "searches", "undecided", "share")?;
        for (kind, (all, open)) in &self.0 {
            writeln!(f, "{:32} {all:>9} {open:>9} {:>6} ‰", kind.to_string(), 1000 * open / (*all).max(1))?;
        }
        Ok(())
    }
}

/// Returns the first difference between the oracle and the engine with these sets.
pub fn difference(
    triple: &Triple,
    events: &[Event<Msg>],
    sets: &[(Kind, Reductions)],
    expected: Judgement,
    shares: &mut Shares,
) -> Option<Difference> {
    for (kind, set) in sets {
        for way in WAYS {
            let found = engine(triple, events, (way, *set));
            shares.note(*kind, found);
            if found == Judgement::Late {
                continue;
            }
            // With all reductions these small traces are to be decided.
            if found != expected && (found != Judgement::TooMany || *set == Reductions::ALL) {
                return Some(Difference { way, set: *set, found, expected });
            }
        }
    }
    None
}

impl Difference {
    /// Describes the difference: the set, another that agrees with the oracle, and the first reduction whose removal
    /// mends it.
    pub fn describe(&self, triple: &Triple, events: &[Event<Msg>]) -> String {
        let judge = |set| engine(triple, events, (self.way, set));
        let agrees = |set: &Reductions| judge(*set) == self.expected;
        let other = [Reductions::NONE, Reductions::ALL].into_iter().find(agrees);
        let other = other
            .map_or("neither all nor none of them agree".to_owned(), |set| format!("with {set} it agrees"));
        let mend = self.set.iter().find(|one| agrees(&self.set.without(*one)));
        let mend =
            mend.map_or("no single removal mends it".to_owned(), |one| format!("removing {one} mends it"));
        format!(
            "engine {:?}, oracle {:?}, {:?}, reductions: {}; {other}; {mend}",
            self.found, self.expected, self.way, self.set
        )
    }
}
