//! Statistics of a case or a campaign.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::spread::Spread;

/// The verdict on a server after a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// The server was refuted.
    Refuted,
    /// Every observation was explained.
    Unrefuted,
    /// No verdict was reached, for this reason.
    Inconclusive(String),
}

/// Numbers of cases by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Number of all cases.
    pub cases: u64,
    /// Cases in which every observation was explained.
    pub unrefuted: u64,
    /// Cases that were refuted.
    pub refuted: u64,
    /// Cases in which the budget of the search ran out.
    pub inconclusive: u64,
    /// Cases without any response, in which there was nothing to judge.
    pub empty: u64,
    /// Cases that ended before their scripts did, for lack of time or because too many alternatives were open.
    pub early: u64,
    /// Cases that were running when the run ended.
    pub stopped: u64,
    /// Stopped cases whose observations were not judged, or that had none yet.
    pub unfinished: u64,
    /// Cases that were refuted while they ran, but not when they were judged again: they do not count as violations.
    pub doubtful: u64,
    /// Cases explained to the end of their scripts in which some requests got no response because their
    /// connections ended. Nothing is known about these requests.
    pub unanswered: u64,
}

/// The percentage of cases that have to be judged for a server to be unrefuted.
pub const NEEDED: u64 = 95;

impl Tally {
    /// Adds the numbers of `other`.
    pub fn merge(&mut self, other: &Tally) {
        self.combine(other, |mine, theirs| mine + theirs);
    }

    /// Returns the numbers that were added since `before`.
    #[must_use]
    pub fn since(mut self, before: &Tally) -> Tally {
        self.combine(before, u64::saturating_sub);
        self
    }

    fn combine(&mut self, other: &Tally, with: impl Fn(u64, u64) -> u64) {
        let Tally { cases, unrefuted, refuted, inconclusive, empty, early, .. } = other;
        let Tally { stopped, unfinished, doubtful, unanswered, .. } = other;
        for (mine, theirs) in [
            (&mut self.cases, cases),
            (&mut self.unrefuted, unrefuted),
            (&mut self.refuted, refuted),
            (&mut self.inconclusive, inconclusive),
            (&mut self.empty, empty),
            (&mut self.early, early),
            (&mut self.stopped, stopped),
            (&mut self.unfinished, unfinished),
            (&mut self.doubtful, doubtful),
            (&mut self.unanswered, unanswered),
        ] {
            *mine = with(*mine, *theirs);
        }
    }

    /// Returns the number of cases that were judged: the search reached a verdict on at least one response
    /// and on all other observations. A case that ended early, or with the run, counts if its observations up
    /// to then are explained.
    pub fn judged(&self) -> u64 {
        self.unrefuted + self.refuted
    }

    /// Returns the number of cases that should have been judged: all except those that the end of the run
    /// interrupted before they could be. Cases that exhausted their own budget, cases without any response
    /// and doubtful ones are included.
    pub fn due(&self) -> u64 {
        self.cases - self.unfinished
    }

    /// Returns `true` if enough cases were judged to call a server unrefuted.
    pub fn is_enough(&self) -> bool {
        self.judged() > 0 && self.judged() * 100 >= self.due() * NEEDED
    }

    /// Returns `true` if this many cases ran to completion and were judged. A refuted case ran up to the
    /// event that refuted it, and counts.
    pub fn is_all_of(&self, cases: u64) -> bool {
        self.early + self.stopped + self.unanswered == 0 && self.unrefuted + self.refuted == cases
    }
}

/// Counts and distributions of a case or a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Number of messages that the tester sent.
    pub requests: u64,
    /// Number of messages that the tester received.
    pub answers: u64,
    /// Number of events that the tester observed.
    pub events: u64,
    /// Number of connections that the tester opened.
    pub opened: u64,
    /// Number of accepted connections that carried messages.
    pub accepted: u64,
    /// Number of connections that the server closed.
    pub ended: u64,
    /// Number of requests that were lost with their connections and will get no response.
    pub lost: u64,
    /// Number of requests that were not sent because the response that they refer to was missing.
    pub skipped: u64,
    /// Requests that the server refused to serve.
    pub refusals: Refusals,
    /// Responses that broke off.
    #[serde(default)]
    pub broken_off: BrokenOff,
    /// Cases at the same time, and connections that the server did not take.
    #[serde(default)]
    pub crowding: Crowding,
    /// Number of barriers that were inserted to reduce open alternatives of the search.
    pub barriers: u64,
    /// Number of outstanding responses at each send, including that of the request itself.
    pub outstanding: Spread,
    /// Number of open alternatives of the search, sampled.
    pub alternatives: Spread,
    /// Names of the rules that some hypothesis consulted.
    pub rules: BTreeSet<String>,
    /// Number of turns of the model that the search executed.
    pub turns: u64,
    /// Time that the search took.
    pub thinking: Duration,
    /// Time spent waiting for the server.
    pub waiting: Duration,
    /// Total time.
    pub elapsed: Duration,
}

impl Figures {
    /// Adds the statistics of `other`.
    pub fn merge(&mut self, other: &Figures) {
        self.requests += other.requests;
        self.answers += other.answers;
        self.lost += other.lost;
        self.events += other.events;
        self.opened += other.opened;
        self.accepted += other.accepted;
        self.ended += other.ended;
        self.skipped += other.skipped;
        self.refusals.merge(&other.refusals);
        self.broken_off.merge(&other.broken_off);
        self.crowding.merge(&other.crowding);
        self.barriers += other.barriers;
        self.outstanding.merge(&other.outstanding);
        self.alternatives.merge(&other.alternatives);
        self.rules.extend(other.rules.iter().cloned());
        self.turns += other.turns;
        self.thinking += other.thinking;
        self.waiting += other.waiting;
        self.elapsed += other.elapsed;
    }
}

/// The cases that ran at the same time, and what became of their connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crowding {
    /// Most cases of the campaign at the same time; zero if the number was fixed.
    pub cases: u64,
    /// Most connections of all cases at the same time.
    pub connections: u64,
    /// Number of times that the server dropped connections, so that fewer were opened.
    pub times: u64,
    /// Description of the first time.
    pub first: Option<String>,
}

impl Crowding {
    /// Describes the times that fewer connections were opened, if there were any.
    pub fn told(&self) -> Option<String> {
        let times = if self.times == 1 { "once".to_owned() } else { format!("{} times", self.times) };
        let first = self.first.as_deref().filter(|_| self.times > 0)?;
        Some(format!("fewer were opened, {times}: {first}"))
    }

    fn merge(&mut self, other: &Self) {
        self.cases = self.cases.max(other.cases);
        self.connections = self.connections.max(other.connections);
        self.times += other.times;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }
}

/// Responses whose connection ended before they did. A server may end a connection at any time (RFC 9112, 8).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenOff {
    /// Number of these responses.
    pub count: u64,
    /// Description of the first one.
    pub first: Option<String>,
}

impl BrokenOff {
    /// Counts a response with this description.
    pub fn add(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(what);
    }

    /// Returns the reason why the run is inconclusive, if most responses broke off.
    pub fn prevail(&self, answers: u64) -> Option<String> {
        (2 * self.count > answers).then(|| {
            let (count, first) = (self.count, self.first.as_deref().unwrap_or_default());
            format!("most responses broke off: {count} of {answers}, the first being {first}")
        })
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }
}

/// Requests that the server refused to serve, and the reaction of the tester.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// Number of refusals by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Number of refusals with a time at which to retry.
    pub retry_after: u64,
    /// Number of pauses in which the tester sent nothing until then. One pause covers all refusals that
    /// arrive during it.
    pub pauses: u64,
    /// Total length of these pauses.
    pub paused: Duration,
    /// Number of times that the tester resumed before the requested time, because pauses are limited.
    pub ignored: u64,
}

impl Refusals {
    /// Returns the number of refusals.
    pub fn count(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// Formats the count of each status: `503 (12 times), 429 (once)`.
    pub fn told(&self) -> String {
        let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
        let each = self.statuses.iter().map(|(status, count)| format!("{status} ({})", times(*count)));
        each.collect::<Vec<_>>().join(", ")
    }

    /// Returns the reason why the run is inconclusive, if the server refused more requests than it served.
    pub fn prevail(&self, answers: u64) -> Option<String> {
        let refused = self.count();
        (2 * refused > answers).then(|| {
            let told = self.told();
            format!(
                "the server refused more requests than it served: {refused} of {answers} responses were refusals: {told}"
            )
        })
    }

    fn merge(&mut self, other: &Self) {
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        self.retry_after += other.retry_after;
        self.pauses += other.pauses;
        self.paused += other.paused;
        self.ignored += other.ignored;
    }
}
