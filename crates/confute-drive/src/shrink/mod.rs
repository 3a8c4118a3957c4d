//! Shrinking: makes a script smaller that refutes a server.
//!
//! The server may respond differently each time, so nothing is concluded from the old responses: a smaller
//! script is run against the server, under a name that was never used, and the result is judged by the model.
//! It counts if it is refuted again and blamed on nothing else; if no script achieves that, it counts if it
//! may be blamed on at least half of the rule sets that the violation is named after. The result is therefore a proof by itself,
//! however it was found.

mod core;
pub(crate) mod draft;

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use confute::lang::Level;
use confute::trace::Event;
use confute::{Depth, Diagnosis, Verdict};

use self::core::Candidate;
use crate::again::{Again, PastRun, Rerun, judge_again};
use crate::campaign::{Counterexample, Finding};
use crate::case::CaseRun;
use crate::erased::{AnyAsk, AnyProtocol};
use crate::experiment::narrow;
use crate::limits::{Limits, Target};
use crate::net::Net;
use crate::script::Step;
use crate::trouble::Trouble;
use draft::Steps;

/// Number of runs after which a script that failed in all of them is taken to fail each time.
const FIRST: u32 = 3;
/// Number of runs that measure how often a script fails.
const LAST: u32 = 10;
/// Share of the time for a smaller case, if experiments follow.
const SHRINKING: f64 = 0.6;
/// Share of the time for the search for a smaller script; the rest is for measuring how often that one fails.
const SEARCHING: f64 = 0.8;
/// Part of the time for the candidates at hand: a quarter.
const GUESSES: f64 = 4.0;
/// Part of the time for finding the requests that contradict each other: a quarter.
const CORE: f64 = 4.0;
/// Number of waits, each as long as the patience, that shrinking needs at least if a missing response is the
/// violation.
const WAITS: u32 = 12;
/// Number of runs of a candidate where scripts do not fail each time.
const CHANCES: u32 = 8;
/// Number of these runs that have to fail. One failure would be luck, and people have to be able to reproduce
/// the case that they are shown.
const ENOUGH: u32 = 2;
/// Number of the latest scripts from which one that fails again is chosen.
const TRAIL: usize = 6;

/// Number of requests, or of connections, up to which all pairs are tried.
const FEW: usize = 12;

/// Search for a smaller script that shows the same violation.
pub struct Shrinker<'a> {
    /// The protocol.
    pub protocol: &'a dyn AnyProtocol,
    /// The server.
    pub target: Target,
    /// Limits of each run.
    pub limits: &'a Limits,
    /// Time for the whole search.
    pub time: Duration,
    /// Time to search for the broken rule, in each run.
    pub blame_time: Duration,
    /// Prefix of the names of all cases.
    pub prefix: &'a str,
    /// Set when it is time to stop.
    pub stop: &'a AtomicBool,
}

/// A smaller case that shows the same violation.
#[derive(Clone)]
pub struct Shrunk {
    /// The case.
    pub counterexample: Counterexample,
    /// Sets of rules that the case can be blamed on by itself: those of the finding, or more of them.
    pub diagnoses: Vec<Diagnosis>,
    /// Level of the violation that the case shows by itself, as far as it was proven.
    pub level: Option<Level>,
    /// `true` if the time for blame ran out.
    pub incomplete: bool,
    /// Number of requests before and after shrinking.
    pub requests: (usize, usize),
    /// Number of scripts that were run.
    pub runs: u64,
    /// Number of runs that reproduced the violation, and number of all runs.
    pub again: (u32, u32),
    /// `true` if the time was up while something might still be left out.
    pub unfinished: bool,
}

/// Reason why there is no smaller case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unshrunk {
    /// The violation did not show again.
    #[error("it did not show again in {0} runs of the same script")]
    NotAgain(u64),
    /// The server went away.
    #[error(transparent)]
    Trouble(#[from] Trouble),
    /// The time was up, or a stop was requested.
    #[error("there was no time to shrink it")]
    NoTime,
}

impl Shrinker<'_> {
    /// Makes the case of a finding smaller, and then narrows down its explanations by experiments. Reports the number
    /// of requests that are left to `tell`.
    pub fn investigate(&self, finding: &mut Finding, tell: &mut dyn FnMut(usize)) {
        let end = Instant::now() + self.time;
        // A violation with a single explanation needs no experiments.
        let share = if finding.diagnoses.len() > 1 { SHRINKING } else { 1.0 };
        let shrinker = Shrinker { time: self.time.mul_f64(share), ..*self };
        match shrinker.shrink(finding, tell) {
            Ok(shrunk) => {
                finding.adopt(shrunk);
                narrow(self, finding, end);
            }
            Err(why) => finding.shrunk = Some(Err(why)),
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the runner of variants of a finding's case. Unless the violation is that something never came, it is not looked for:
    /// each run would take as long as the patience.
    pub(crate) fn again(&self, end: Instant, finding: &Finding) -> Again<'_> {
        let Shrinker { protocol, target, limits, blame_time, prefix, stop, .. } = *self;
        let left = end.saturating_duration_since(Instant::now());
        let rests = is_silent(finding);
        let limits = Limits { time: limits.time.min(left), end: Some(end), rests, ..limits.clone() };
        Again { protocol, target, limits, blame_time: blame_time.min(left), prefix, stop }
    }

    /// Makes the case of a finding smaller. Reports the number of requests that are left to `tell`.
    pub fn shrink(&self, finding: &Finding, tell: &mut dyn FnMut(usize)) -> Result<Shrunk, Unshrunk> {
        // A missing response is seen by waiting, which takes as long as the patience each time.
        if is_silent(finding) && self.time < self.limits.patience * WAITS {
            return Err(Unshrunk::NoTime);
        }
        let requests = finding.requests();
        let start = Instant::now();
        let mut search = Search {
            shrinker: self,
            finding,
            net: Net::new(self.target.listen)?,
            end: start + self.time.mul_f64(SEARCHING),
            runs: 0,
            racy: true,
            enough: 1,
            strict: true,
            vaguer: None,
            trail: VecDeque::new(),
            pipelined: draft::is_pipelined(&finding.counterexample.script),
            gone: None,
            tell,
        };
        // Steps after the last request of the trace were performed before the violation was noticed. But if a
        // request could not be sent, or was several messages, there are more or fewer steps than requests, so
        // the whole script is tried too.
        let cut = draft::until(self.protocol, &finding.counterexample.script, requests);
        let whole = draft::ended(self.protocol, &finding.counterexample.script);
        let is_late =
            || Instant::now() >= start + self.time.div_f64(CORE) || self.stop.load(Ordering::Relaxed);
        let more = || {
            let mut candidates = core::candidates(self.protocol, finding, &is_late);
            candidates.extend([cut, whole].map(|steps| Candidate { steps, runs: LAST }));
            candidates
        };
        search.begin(core::tails(self.protocol, finding), more)?;
        search.make_smaller();
        search.conclude(requests, start + self.time)
    }
}

/// Returns `true` if the violation is that something never came.
fn is_silent(finding: &Finding) -> bool {
    matches!(finding.counterexample.trace.last(), Some(Event::Quiescent))
}

/// Returns the past run of a finding, with another script.
fn deed<'d>(finding: &'d Finding, script: &'d [Step<AnyAsk>]) -> PastRun<'d> {
    PastRun { script, name: &finding.counterexample.name, seed: finding.seed, relaxed: &finding.relaxed }
}

/// The smallest script so far, and the finding of its run.
struct Best {
    steps: Steps,
    found: Finding,
}

struct Search<'a, 'b> {
    shrinker: &'a Shrinker<'b>,
    finding: &'a Finding,
    net: Net,
    end: Instant,
    runs: u64,
    /// `true` if failing scripts do not fail each time.
    racy: bool,
    /// Number of failed runs after which a script counts.
    enough: u32,
    /// `true` if a script counts only if it is blamed on nothing else.
    strict: bool,
    /// The smallest script that can be blamed on further rules too, taken if there is no time to find a better one.
    vaguer: Option<Best>,
    /// The latest scripts that count, the smallest last.
    trail: VecDeque<Best>,
    /// `true` if requests were pipelined from the start.
    pipelined: bool,
    /// Trouble that shows that the server has gone away.
    gone: Option<Trouble>,
    tell: &'a mut dyn FnMut(usize),
}

impl Search<'_, '_> {
    /// Runs the candidates until one fails: first those that are at hand, then `more`, then all of them again with
    /// a weaker requirement.
    fn begin(
        &mut self,
        mut candidates: Vec<Candidate>,
        more: impl FnOnce() -> Vec<Candidate>,
    ) -> Result<(), Unshrunk> {
        // Where a run takes long, because it waits for a response, there is no time for guesses.
        let end = Instant::now() + self.end.saturating_duration_since(Instant::now()).div_f64(GUESSES);
        for candidate in &candidates {
            if Instant::now() < end && self.begins_with(std::slice::from_ref(candidate)) {
                return Ok(());
            }
        }
        for candidate in more() {
            if candidates.iter().all(|other| other.steps != candidate.steps) {
                if self.begins_with(std::slice::from_ref(&candidate)) {
                    return Ok(());
                }
                candidates.push(candidate);
            }
        }
        self.strict = false;
        if self.begins_with(&candidates) {
            return Ok(());
        }
        if let Some(Best { steps, found }) = self.vaguer.take() {
            self.accept(steps, found);
            return Ok(());
        }
        match &self.gone {
            Some(trouble) => Err(trouble.clone().into()),
            None if self.is_late() => Err(Unshrunk::NoTime),
            None => Err(Unshrunk::NotAgain(self.runs)),
        }
    }

    /// Runs the candidates, until one fails and it is known how often. Returns `true` if one did.
    fn begins_with(&mut self, candidates: &[Candidate]) -> bool {
        for Candidate { steps, runs: most } in candidates {
            let (mut shown, mut runs) = (0, 0);
            let most = |shown: u32| if shown > 0 { LAST } else { *most };
            while runs < most(shown) && !self.is_late() && (runs, shown) != (FIRST, FIRST) {
                runs += 1;
                if let Some(found) = self.once(steps) {
                    shown += 1;
                    self.accept(steps.clone(), found);
                }
            }
            self.racy = shown < runs;
            // A script that fails rarely is not required to fail twice in few runs.
            self.enough = if shown * CHANCES >= runs * ENOUGH { ENOUGH } else { 1 };
            if shown > 0 {
                return true;
            }
        }
        false
    }

    /// Applies all reductions until none makes the script smaller.
    fn make_smaller(&mut self) {
        let protocol = self.shrinker.protocol;
        let with_pauses = self.steps().iter().any(draft::is_pause);
        let mut sequences = vec![(true, false), (false, false)];
        if with_pauses {
            sequences.extend([(true, true), (false, true)]);
        }
        for (on_one, with_pauses) in sequences {
            if self.attempt(draft::in_turn(protocol, &self.steps(), on_one, with_pauses)) {
                break;
            }
        }
        loop {
            let before = self.steps();
            self.leave_out();
            self.reroute();
            self.merge_connections();
            self.retell();
            self.simplify();
            self.calm_down();
            if self.steps() == before {
                self.leave_out_pairs();
            }
            if self.steps() == before || self.is_late() {
                break;
            }
        }
    }

    /// Leaves out halves, quarters, single steps, from the end.
    fn leave_out(&mut self) {
        let mut size = draft::loose(&self.steps()).len().div_ceil(2).max(1);
        loop {
            let mut end = draft::loose(&self.steps()).len();
            while end > 0 && !self.is_late() {
                let steps = self.steps();
                let loose = draft::loose(&steps);
                end = end.min(loose.len());
                let start = end.saturating_sub(size);
                let dropped: BTreeSet<usize> = loose[start..end].iter().copied().collect();
                self.attempt(draft::without(self.shrinker.protocol, &steps, &dropped));
                end = start;
            }
            if size == 1 || self.is_late() {
                return;
            }
            size = size.div_ceil(2).max(1);
        }
    }

    /// Leaves out requests that are needed only because others refer to them, where these can refer to
    /// something else.
    fn reroute(&mut self) {
        let protocol = self.shrinker.protocol;
        for from in draft::asked(&self.steps()).into_iter().rev() {
            let steps = self.steps();
            if self.is_late() {
                return;
            }
            if !draft::is_referred_to(protocol, &steps, from) {
                continue;
            }
            for to in draft::asked(&steps).into_iter().rev().filter(|to| *to != from) {
                // Most drafts are rejected without a run, but with many requests there are so many drafts
                // that making them takes time.
                if self.is_late() {
                    return;
                }
                if draft::rerouted(protocol, &steps, from, to).is_some_and(|fewer| self.attempt(fewer)) {
                    break;
                }
            }
        }
    }

    /// Moves requests to one connection if they do not need two.
    fn merge_connections(&mut self) {
        let protocol = self.shrinker.protocol;
        let peers = draft::ordinary_peers(protocol, &self.steps());
        if peers.len() > FEW {
            return;
        }
        for (place, from) in peers.iter().enumerate().rev() {
            for to in &peers[..place] {
                if self.is_late() || self.attempt(draft::moved(&self.steps(), *from, *to)) {
                    break;
                }
            }
        }
    }

    /// Replaces all asks by asks about fewer or simpler subjects.
    fn retell(&mut self) {
        let protocol = self.shrinker.protocol;
        let steps = self.steps();
        let asks: Vec<&AnyAsk> = steps
            .iter()
            .filter_map(|step| if let Step::Ask { ask, .. } = step { Some(ask) } else { None })
            .collect();
        for asks in protocol.plainer(&asks) {
            if self.is_late() || self.attempt(draft::retold(&steps, asks)) {
                break;
            }
        }
    }

    /// Leaves out two requests at once that compensate for each other, if there are few requests.
    fn leave_out_pairs(&mut self) {
        let steps = self.steps();
        let asked = draft::asked(&steps);
        if asked.len() > FEW {
            return;
        }
        for (place, one) in asked.iter().enumerate() {
            for other in &asked[place + 1..] {
                let dropped = BTreeSet::from([*one, *other]);
                if self.is_late() || self.attempt(draft::without(self.shrinker.protocol, &steps, &dropped)) {
                    return;
                }
            }
        }
    }

    /// Replaces each ask by a simpler one.
    fn simplify(&mut self) {
        let mut at = 0;
        while at < self.steps().len() && !self.is_late() {
            let steps = self.steps();
            let asked = match &steps[at] {
                Step::Ask { ask, .. } => self.shrinker.protocol.simpler(ask),
                _ => Vec::new(),
            };
            let smaller = asked.into_iter().any(|ask| self.attempt(draft::replaced(&steps, at, ask)));
            // A simpler ask may be simplified further.
            at += usize::from(!smaller);
        }
    }

    /// Sends in sequence the requests that need not be concurrent, and whole those that need not be in
    /// pieces.
    fn calm_down(&mut self) {
        let protocol = self.shrinker.protocol;
        for at in (0..self.steps().len()).rev() {
            if self.is_late() {
                return;
            }
            if let Some(steps) = draft::uncut(protocol, &self.steps(), at) {
                self.attempt(steps);
            }
            if let Some(steps) = draft::barrier_after(protocol, &self.steps(), at) {
                self.attempt(steps);
            }
        }
    }

    fn steps(&self) -> Steps {
        self.trail.back().map(|best| best.steps.clone()).unwrap_or_default()
    }

    /// Returns `true` if these steps show the violation too. They are then the best so far.
    fn attempt(&mut self, steps: Steps) -> bool {
        let hopeless = draft::asks(&steps) == 0 || steps == self.steps();
        if hopeless || (!self.pipelined && draft::is_pipelined(&steps)) {
            return false;
        }
        let (mut shown, mut runs) = (0, 0);
        loop {
            runs += 1;
            if let Some(found) = self.once(&steps) {
                shown += 1;
                if shown >= self.enough {
                    self.racy |= shown < runs;
                    self.accept(steps, found);
                    return true;
                }
            }
            let most = if self.racy || shown > 0 { CHANCES } else { 1 };
            if runs >= most || self.is_late() {
                return false;
            }
        }
    }

    /// Adds these steps as the best so far.
    fn accept(&mut self, steps: Steps, found: Finding) {
        (self.tell)(draft::asks(&steps));
        if self.trail.back().is_some_and(|best| best.steps == steps) {
            return;
        }
        if self.trail.len() >= TRAIL {
            self.trail.pop_front();
        }
        self.trail.push_back(Best { steps, found });
    }

    /// Runs these steps once. Returns the violation, if it shows.
    fn once(&mut self, steps: &Steps) -> Option<Finding> {
        if self.is_late() {
            return None;
        }
        self.runs += 1;
        let run = self.run(steps)?;
        let found = self.blamed(run)?;
        if self.is_same(&found) {
            return Some(found);
        }
        if self.vaguer.is_none() && found.is_about(self.finding) && found.level >= self.finding.level {
            self.vaguer = Some(Best { steps: steps.clone(), found });
        }
        None
    }

    fn run(&mut self, steps: &Steps) -> Option<CaseRun> {
        match self.shrinker.again(self.end, self.finding).run(&mut self.net, &deed(self.finding, steps)) {
            Ok(run) => {
                self.gone = run.trouble.clone().filter(Trouble::is_absence);
                Some(run)
            }
            Err(trouble) => {
                self.gone = Some(trouble);
                None
            }
        }
    }

    /// Returns the violation of a run, if it shows one.
    fn blamed(&self, run: CaseRun) -> Option<Finding> {
        let restarted = run.trouble.as_ref().is_some_and(Trouble::is_restart);
        if restarted || !matches!(run.verdict, Verdict::Refuted(_)) {
            return None;
        }
        self.shrinker.again(self.end, self.finding).blamed(run, &deed(self.finding, &[]), Depth::Names)
    }

    /// Returns `true` if a violation is the one that is looked for.
    fn is_same(&self, found: &Finding) -> bool {
        if self.strict { found.is_as_sure_as(self.finding) } else { found.is_about(self.finding) }
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.end || self.gone.is_some() || self.shrinker.stop.load(Ordering::Relaxed)
    }

    /// Measures how often the smallest script shows the violation, in the time that is left for that.
    fn conclude(mut self, before: usize, end: Instant) -> Result<Shrunk, Unshrunk> {
        let unfinished = self.is_late();
        self.end = end;
        let Some(mut best) = self.trail.pop_back() else { return Err(Unshrunk::NoTime) };
        let mut again = self.count(&best.steps);
        // A script that failed only by luck is of no use: the one before it is larger, and may fail again.
        while again.0 == 0
            && !self.is_late()
            && let Some(before) = self.trail.pop_back()
        {
            best = before;
            again = self.count(&best.steps);
        }
        let Best { steps, found } = best;
        let found = self.proven(found);
        Ok(Shrunk {
            requests: (before, draft::asks(&steps)),
            counterexample: Counterexample { script: steps, ..found.counterexample },
            diagnoses: found.diagnoses,
            level: found.level,
            incomplete: found.incomplete,
            runs: self.runs,
            again,
            unfinished,
        })
    }

    /// Blames the result once more, to the full depth: candidates were blamed by name only, and the reported
    /// level has to be the one that this case proves by itself.
    fn proven(&self, found: Finding) -> Finding {
        // If blame cannot determine the level, judging again takes up to half as much more.
        let left = self.end.saturating_duration_since(Instant::now()).mul_f64(2.0 / 3.0);
        let left = left.min(self.shrinker.blame_time);
        let Shrinker { protocol, limits, stop, .. } = *self.shrinker;
        let deed = deed(self.finding, &found.counterexample.script);
        match judge_again(protocol, &deed, &found.counterexample.trace, (left, limits.memory), stop) {
            Rerun::Refuted(again) if again.counterexample.trace.len() == found.counterexample.trace.len() => {
                Finding {
                    diagnoses: again.diagnoses,
                    level: again.level,
                    incomplete: again.incomplete,
                    ..found
                }
            }
            _ => Finding { incomplete: true, ..found },
        }
    }

    /// Returns the number of runs that show the violation, and the number of all runs. Runs that could not be
    /// judged do not count.
    fn count(&mut self, steps: &Steps) -> (u32, u32) {
        let (mut shown, mut runs) = (0, 0);
        while runs < LAST && !self.is_late() {
            let Some(run) = self.run(steps) else { break };
            if matches!(run.verdict, Verdict::Inconclusive(_)) || self.is_late() {
                continue;
            }
            runs += 1;
            shown += u32::from(self.blamed(run).is_some_and(|found| self.is_same(&found)));
        }
        (shown, runs)
    }
}
