//! What a case or a campaign has come to, in numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::spread::Spread;

/// The verdict on a server after a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// The server was proven wrong.
    Refuted,
    /// Everything that was seen is explained.
    Unrefuted,
    /// It is not known, for this reason.
    Inconclusive(String),
}

/// How many cases ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// All.
    pub cases: u64,
    /// Explained to the end.
    pub unrefuted: u64,
    /// Refuted.
    pub refuted: u64,
    /// The tester's budget ran out.
    pub inconclusive: u64,
    /// Nothing came back: nothing was judged.
    pub empty: u64,
    /// Ended before its script did, for want of time or because too much was open.
    pub early: u64,
    /// Under way when it was time to stop.
    pub stopped: u64,
    /// Among those: what had been seen by then was not judged, or there was nothing yet.
    pub unfinished: u64,
    /// Refuted while it ran, but not when it was judged again: not counted as a violation.
    pub doubtful: u64,
    /// Among those that were explained to the end of their scripts: some requests were never answered, for their connections
    /// ended. Of these nothing is known.
    pub unanswered: u64,
}

/// The percentage of cases that have to be judged for a server to be unrefuted.
pub const NEEDED: u64 = 95;

impl Tally {
    /// The cases that were judged: the search came to a verdict on at least one answer and on everything else that was seen.
    /// A case that ended early, or when it was time to stop, counts if what was seen by then is explained.
    pub fn judged(&self) -> u64 {
        self.unrefuted + self.refuted
    }

    /// The cases that should have been judged: all but those that the end of the run interrupted before they could be. Cases
    /// that ran out of their own budget, cases without any answer and doubtful ones are among them.
    pub fn due(&self) -> u64 {
        self.cases - self.unfinished
    }

    /// `true` if enough cases were judged to call a server unrefuted.
    pub fn is_enough(&self) -> bool {
        self.judged() > 0 && self.judged() * 100 >= self.due() * NEEDED
    }

    /// Whether so many cases ran to their ends and were judged. What was refuted ran up to where that was seen.
    pub fn is_all_of(&self, cases: u64) -> bool {
        self.early + self.stopped + self.unanswered == 0 && self.unrefuted + self.refuted == cases
    }
}

/// Counts and distributions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Messages that the tester sent.
    pub requests: u64,
    /// Messages that came.
    pub answers: u64,
    /// Events told to the tester.
    pub events: u64,
    /// Connections opened.
    pub opened: u64,
    /// Connections accepted that carried something.
    pub accepted: u64,
    /// Connections that the server ended.
    pub ended: u64,
    /// Requests that were lost with their connections: no answer will come.
    pub lost: u64,
    /// Asks that were not sent because what they refer to was not there.
    pub skipped: u64,
    /// Requests that the server declined to serve.
    pub refusals: Refusals,
    /// Barriers that were put in to help the tester think.
    pub barriers: u64,
    /// Outstanding answers at each send, its own included.
    pub outstanding: Spread,
    /// Open alternatives of the tester, sampled.
    pub alternatives: Spread,
    /// Rules that were put to the test, or at least considered.
    pub rules: BTreeSet<String>,
    /// Turns of the model that were tried.
    pub turns: u64,
    /// How long the tester thought.
    pub thinking: Duration,
    /// How long it waited for the server.
    pub waiting: Duration,
    /// How long it all took.
    pub elapsed: Duration,
}

impl Figures {
    /// Adds another's.
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

/// How often a server declined to serve requests, and what the tester did about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// How many replies there were of each status.
    pub statuses: BTreeMap<u16, u64>,
    /// How many of them told when to try again.
    pub retry_after: u64,
    /// How often the tester sent nothing until then. All refusals during one pause are honoured by it.
    pub pauses: u64,
    /// How long these pauses were, all together.
    pub paused: Duration,
    /// How often the tester went on before the time it was told, because a pause has a limit.
    pub ignored: u64,
}

impl Refusals {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// How often each status came: `503 (12 times), 429 (once)`.
    pub fn told(&self) -> String {
        let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
        let each = self.statuses.iter().map(|(status, count)| format!("{status} ({})", times(*count)));
        each.collect::<Vec<_>>().join(", ")
    }

    /// Why a run says nothing in which the server refused more than it served.
    pub fn prevail(&self, answers: u64) -> Option<String> {
        let refused = self.count();
        (2 * refused > answers).then(|| {
            let told = self.told();
            format!(
                "the server refused more than it served: {refused} of {answers} answers were refusals: {told}"
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
