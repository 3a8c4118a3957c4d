//! Orders in which the relevant requests may have been handled, and what rules out each of them.
//!
//! An order that the times of requests and responses allow is ruled out by a response: performed one after the other,
//! the exchanges are refuted. An order that would fit is ruled out by the times. Prefixes that are refuted need not
//! be extended.

use std::collections::BTreeSet;

use super::exchange::{Exchanges, Fate};
use super::expected::explain_erased;
use super::reasons::{Bar, Bench, Ground};
use crate::verdict::Refutation;

/// Maximum number of exchanges whose orders are searched; more have too many.
const MOST_EXCHANGES: usize = 6;
/// Maximum number of reported orders in which the exchanges would fit.
const MOST_FITTING: usize = 2;

/// Returns the grounds that concern orders.
pub(super) fn grounds(
    bench: &Bench<'_>,
    parts: &Exchanges<'_>,
    fates: &[Fate],
    kept: &[usize],
) -> Vec<Ground> {
    let is_answered = |one: &usize| !parts.all[*one].answers.is_empty();
    let strays = (0..parts.events.len()).any(|at| parts.owner(at).is_none() && is_telling(parts, at));
    if kept.len() < 2 || strays || !kept.iter().all(is_answered) {
        return Vec::new();
    }
    if kept.len() > MOST_EXCHANGES {
        bench.short.set(true);
        return Vec::new();
    }
    let loose = (0..fates.len()).filter(|one| fates[*one] == Fate::Loose).collect();
    let mut search =
        Search { bench, parts, kept, loose, fitting: Vec::new(), dead: Vec::new(), lawful: false };
    search.extend(&mut Vec::new());
    // If an order that the times allow fits, these exchanges are not the whole conflict.
    if search.lawful {
        return Vec::new();
    }
    let mut grounds = search.fitting();
    grounds.extend(search.dead());
    grounds
}

fn is_telling(parts: &Exchanges<'_>, at: usize) -> bool {
    use crate::trace::Event;
    matches!(parts.events[at], Event::Received(..) | Event::Closed(_) | Event::Quiescent)
}

struct Search<'a, 'b> {
    bench: &'a Bench<'b>,
    parts: &'a Exchanges<'a>,
    kept: &'a [usize],
    loose: Vec<usize>,
    /// Orders that fit, except for the times.
    fitting: Vec<Vec<usize>>,
    /// Prefixes of orders that the times allow, and that do not fit.
    dead: Vec<Vec<usize>>,
    /// `true` if an order fits that the times allow.
    lawful: bool,
}

impl Search<'_, '_> {
    /// Extends this prefix of an order by one exchange.
    fn extend(&mut self, order: &mut Vec<usize>) {
        for one in self.kept.iter().filter(|one| !order.contains(one)).copied().collect::<Vec<_>>() {
            order.push(one);
            self.look(order);
            order.pop();
        }
    }

    fn look(&mut self, order: &mut Vec<usize>) {
        let is_lawful = self.broken(order).is_empty();
        match self.bench.refuted(&self.parts.serial(order, !is_lawful, &self.loose)) {
            Some(true) if is_lawful => self.dead.push(order.clone()),
            Some(true) | None => {}
            Some(false) if order.len() < self.kept.len() => self.extend(order),
            Some(false) if is_lawful => self.lawful = true,
            Some(false) => self.fitting.push(order.clone()),
        }
    }

    fn precedes(&self, one: usize, other: usize) -> bool {
        self.parts.all[one].precedes(&self.parts.all[other])
    }

    /// Returns the pairs of exchanges that this prefix of an order reverses, though the first was over when the
    /// second began.
    fn broken(&self, order: &[usize]) -> BTreeSet<(usize, usize)> {
        let rest = self.kept.iter().filter(|one| !order.contains(one));
        let all: Vec<usize> = order.iter().chain(rest).copied().collect();
        let pairs = order
            .iter()
            .enumerate()
            .flat_map(|(at, before)| all[at + 1..].iter().map(|after| (*after, *before)));
        pairs.filter(|(after, before)| self.precedes(*after, *before)).collect()
    }

    /// Returns the grounds for the fitting orders that contradict the times least.
    fn fitting(&self) -> Vec<Ground> {
        let mut ways: Vec<_> = self.fitting.iter().map(|order| (self.broken(order), order)).collect();
        ways.sort_by_key(|(broken, _)| broken.len());
        let mut told: Vec<BTreeSet<(usize, usize)>> = Vec::new();
        let mut grounds = Vec::new();
        for (broken, order) in ways {
            if told.iter().any(|less| less.is_subset(&broken)) {
                continue;
            }
            if grounds.len() < MOST_FITTING {
                grounds.extend(self.order(&broken, order));
            }
            told.push(broken);
        }
        grounds
    }

    /// Returns the ground for an order that reverses these pairs. Pairs that follow from the others are omitted.
    fn order(&self, broken: &BTreeSet<(usize, usize)>, order: &[usize]) -> Option<Ground> {
        let place = |one: usize| order.iter().position(|other| *other == one);
        let follows = |&(one, other): &(usize, usize)| {
            broken.iter().any(|&(first, second)| {
                let later = first == one && self.precedes(other, second) && place(other) < place(second);
                let sooner = second == other && self.precedes(first, one) && place(first) < place(one);
                later || sooner
            })
        };
        let turned: Vec<_> = broken.iter().filter(|pair| !follows(pair)).copied().collect();
        let (one, other) = turned.first().copied()?;
        let (before, after) = (&self.parts.all[one], &self.parts.all[other]);
        let bar = match before.answer() {
            Some(answer) if answer < after.sent => {
                Bar::Answered { sent: before.sent, answer, before: after.sent }
            }
            _ => Bar::Queued { sent: before.sent, before: after.sent, conn: before.conn },
        };
        let sent = |one: usize| self.parts.all[one].sent;
        Some(Ground::Order {
            swapped: turned.into_iter().map(|(one, other)| (sent(one), sent(other))).collect(),
            order: order.iter().map(|one| sent(*one)).collect(),
            bar,
        })
    }

    /// Returns the cases of the refuted prefixes of orders that the times allow, if there are several.
    fn dead(&self) -> Vec<Ground> {
        if self.dead.len() < 2 {
            return Vec::new();
        }
        let mut dead: Vec<_> = self.dead.iter().collect();
        dead.sort_by_key(|order| order.len());
        dead.into_iter().filter_map(|order| self.case(order)).collect()
    }

    fn case(&self, order: &[usize]) -> Option<Ground> {
        let trace = self.parts.serial(order, false, &self.loose);
        let last = *order.last()?;
        let answer = self.parts.all[last].answer()?;
        let none =
            Refutation { event: 0, seen: String::new(), expected: Vec::new(), hypotheses: 0, more: false };
        let told = explain_erased(self.bench.model, self.bench.network, &trace, &none, &self.bench.options);
        // Only requests whose place in the order was open need to be named.
        let is_open = |one: &&usize| {
            self.kept.iter().any(|other| {
                *other != **one && !self.precedes(*other, **one) && !self.precedes(**one, *other)
            })
        };
        // The others come after the last: that has to be stated for those that could have come before it.
        let is_later = |one: &&usize| !order.contains(one) && !self.precedes(last, **one);
        let sent = |one: &usize| self.parts.all[*one].sent;
        let (expected, more) = (told.expected, told.more);
        (told.event + 1 == trace.len()).then(|| Ground::Case {
            order: order.iter().map(sent).collect(),
            open: order.iter().filter(|one| **one == last || is_open(one)).map(sent).collect(),
            later: self.kept.iter().filter(is_later).map(sent).collect(),
            answer,
            expected,
            more,
        })
    }
}
