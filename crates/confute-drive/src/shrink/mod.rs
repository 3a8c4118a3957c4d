//! Makes a script smaller that refutes a server.
//!
//! The server may answer differently each time, so nothing is concluded from the old answers: a smaller script is run
//! against the server, under a name that was never used, and what comes is judged by the model. It counts if it is refuted
//! again and blamed on nothing else; where that cannot be had, if it may be blamed on all that the violation is named after. What is found is therefore a
//! proof by itself, however it was come by.

mod draft;

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use confute::lang::Level;
use confute::trace::Event;
use confute::{Depth, Diagnosis, Verdict};

use crate::again::{Again, PastRun, Rerun, judge_again};
use crate::campaign::{Counterexample, Finding};
use crate::case::CaseRun;
use crate::erased::{AnyAsk, AnyProtocol};
use crate::limits::{Limits, Target};
use crate::net::Net;
use crate::script::Step;
use crate::trouble::Trouble;
use draft::Steps;

/// How often a script is run at first, to see how often it fails.
const FIRST: u32 = 3;
/// How often the smallest is run at last.
const LAST: u32 = 10;
/// Which part of the time goes into looking for something smaller; the rest is for counting how often that fails.
const SEARCHING: f64 = 0.8;
/// How many times the patience it takes to get anywhere with an answer that does not come.
const WAITS: u32 = 12;
/// How often a script is tried where scripts do not fail each time,
const CHANCES: u32 = 8;
/// and how often it has to fail then. Once would be luck, and what is shown to people has to be seen again by them.
const ENOUGH: u32 = 2;
/// From the latest so many scripts one is shown that fails again.
const TRAIL: usize = 6;

/// Of so many requests any two are left out together.
const FEW: usize = 12;

/// Makes scripts smaller.
pub struct Shrinker<'a> {
    /// What is spoken.
    pub protocol: &'a dyn AnyProtocol,
    /// With whom.
    pub target: Target,
    /// What a run may cost.
    pub limits: &'a Limits,
    /// How long it may take.
    pub time: Duration,
    /// How long the search for the broken rule may take, each time.
    pub blame_time: Duration,
    /// What the names of all cases begin with.
    pub prefix: &'a str,
    /// Set when it is time to stop.
    pub stop: &'a AtomicBool,
}

/// A smaller case that shows the same violation.
pub struct Shrunk {
    /// The case.
    pub counterexample: Counterexample,
    /// Which rules it can be blamed on by itself: those of the finding, or more of them.
    pub diagnoses: Vec<Diagnosis>,
    /// The level of the accusation that it is by itself, as far as it was proven.
    pub level: Option<Level>,
    /// Whether the time for blame ran out.
    pub incomplete: bool,
    /// How many requests there were before, and are now.
    pub requests: (usize, usize),
    /// How many scripts were run.
    pub runs: u64,
    /// In how many runs of how many it showed again.
    pub again: (u32, u32),
    /// Whether the time was up before nothing more could be left out.
    pub unfinished: bool,
}

/// Why there is nothing smaller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unshrunk {
    /// It did not show again.
    #[error("it did not show again in {0} runs of the same script")]
    NotAgain(u64),
    /// The server went away.
    #[error(transparent)]
    Trouble(#[from] Trouble),
    /// Time was up, or somebody said stop.
    #[error("there was no time to shrink it")]
    NoTime,
}

impl Shrinker<'_> {
    fn again(&self, end: Instant) -> Again<'_> {
        let Shrinker { protocol, target, limits, blame_time, prefix, stop, .. } = *self;
        let left = end.saturating_duration_since(Instant::now());
        let limits = Limits { time: limits.time.min(left), end: Some(end), ..limits.clone() };
        Again { protocol, target, limits, blame_time: blame_time.min(left), prefix, stop }
    }

    /// Makes the case of a finding smaller. Tells how many requests are left.
    pub fn shrink(&self, finding: &Finding, tell: &mut dyn FnMut(usize)) -> Result<Shrunk, Unshrunk> {
        // Silence is seen by waiting: that takes as long as the patience each time.
        let silent = matches!(finding.counterexample.trace.last(), Some(Event::Quiescent));
        if silent && self.time < self.limits.patience * WAITS {
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
            trail: VecDeque::new(),
            pipelined: draft::is_pipelined(&finding.counterexample.script),
            gone: None,
            tell,
        };
        // What comes after the last request of the trace was done before anybody knew. But where a request could not be sent, or
        // was several, the steps are more or fewer than the requests.
        let cut = draft::until(self.protocol, &finding.counterexample.script, requests);
        let whole = draft::until(self.protocol, &finding.counterexample.script, usize::MAX);
        search.begin(&[cut, whole])?;
        search.make_smaller();
        search.conclude(requests, start + self.time)
    }
}

/// What a finding did, with another script.
fn deed<'d>(finding: &'d Finding, script: &'d [Step<AnyAsk>]) -> PastRun<'d> {
    PastRun { script, name: &finding.counterexample.name, seed: finding.seed, relaxed: &finding.relaxed }
}

/// The smallest so far, and what came of it.
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
    /// Whether scripts that fail do not fail each time.
    racy: bool,
    /// How often a script has to fail to count.
    enough: u32,
    /// Whether it has to be blamed on nothing else.
    strict: bool,
    /// The latest that count, the smallest last.
    trail: VecDeque<Best>,
    /// Whether requests were pipelined from the start.
    pipelined: bool,
    /// The server has gone away.
    gone: Option<Trouble>,
    tell: &'a mut dyn FnMut(usize),
}

impl Search<'_, '_> {
    /// Runs what was run before, until it is known how often it fails.
    fn begin(&mut self, scripts: &[Steps; 2]) -> Result<(), Unshrunk> {
        for strict in [true, false] {
            self.strict = strict;
            for steps in &scripts[..=usize::from(scripts[0] != scripts[1])] {
                let (mut shown, mut runs) = (0, 0);
                while runs < LAST && !self.is_late() && (runs, shown) != (FIRST, FIRST) {
                    runs += 1;
                    if let Some(found) = self.once(steps) {
                        shown += 1;
                        self.accept(steps.clone(), found);
                    }
                }
                self.racy = shown < runs;
                // What fails rarely is not asked to fail twice in few runs.
                self.enough = if shown * CHANCES >= runs * ENOUGH { ENOUGH } else { 1 };
                if shown > 0 {
                    return Ok(());
                }
            }
        }
        match &self.gone {
            Some(trouble) => Err(trouble.clone().into()),
            None if self.is_late() => Err(Unshrunk::NoTime),
            None => Err(Unshrunk::NotAgain(self.runs)),
        }
    }

    /// Everything that makes it smaller, until nothing does.
    fn make_smaller(&mut self) {
        let protocol = self.shrinker.protocol;
        for on_one in [true, false] {
            if self.attempt(draft::in_turn(protocol, &self.steps(), on_one)) {
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

    /// Leaves out what is needed only because something refers to it, where that can refer to something else.
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
                // Most of them fail without a run, and with many requests there are very many: that alone takes time.
                if self.is_late() {
                    return;
                }
                if draft::rerouted(protocol, &steps, from, to).is_some_and(|fewer| self.attempt(fewer)) {
                    break;
                }
            }
        }
    }

    /// Does on one connection what need not be on two.
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

    /// Asks about fewer or plainer things.
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

    /// Leaves out two requests at once that make up for each other, where there are few.
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

    /// Asks for less in each request.
    fn simplify(&mut self) {
        let mut at = 0;
        while at < self.steps().len() && !self.is_late() {
            let steps = self.steps();
            let asked = match &steps[at] {
                Step::Ask { ask, .. } => self.shrinker.protocol.simpler(ask),
                _ => Vec::new(),
            };
            let smaller = asked.into_iter().any(|ask| self.attempt(draft::replaced(&steps, at, ask)));
            // What was made simpler may be made simpler still.
            at += usize::from(!smaller);
        }
    }

    /// Makes one after the other what need not be at once, and whole what need not be in pieces.
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

    /// Whether this shows the violation too. Then it is the best so far.
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

    /// It is the best so far.
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

    /// Runs this once: the violation, if it shows.
    fn once(&mut self, steps: &Steps) -> Option<Finding> {
        if self.is_late() {
            return None;
        }
        self.runs += 1;
        let run = self.run(steps)?;
        self.shows(run)
    }

    fn run(&mut self, steps: &Steps) -> Option<CaseRun> {
        match self.shrinker.again(self.end).run(&mut self.net, &deed(self.finding, steps)) {
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

    /// The same violation, if it is one.
    fn shows(&self, run: CaseRun) -> Option<Finding> {
        let restarted = matches!(run.trouble, Some(Trouble::Restarted { .. }));
        if restarted || !matches!(run.verdict, Verdict::Refuted(_)) {
            return None;
        }
        let found = self.shrinker.again(self.end).blamed(run, &deed(self.finding, &[]), Depth::Names)?;
        let same = if self.strict { found.is_as_sure_as(self.finding) } else { found.is_about(self.finding) };
        same.then_some(found)
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.end || self.gone.is_some() || self.shrinker.stop.load(Ordering::Relaxed)
    }

    /// Counts how often the smallest shows it, in the time that is left for that.
    fn conclude(mut self, before: usize, end: Instant) -> Result<Shrunk, Unshrunk> {
        let unfinished = self.is_late();
        self.end = end;
        let Some(mut best) = self.trail.pop_back() else { return Err(Unshrunk::NoTime) };
        let mut again = self.count(&best.steps);
        // What was luck after all is of no use: what came before it is larger, and may show again.
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

    /// Blames the result once more, to the full depth: candidates were blamed by name only, and the level that is reported
    /// has to be the one that this case proves by itself.
    fn proven(&self, found: Finding) -> Finding {
        // Judging again takes up to half as much more where blame cannot tell the level.
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

    /// In how many runs of how many it shows. What could not be judged does not count.
    fn count(&mut self, steps: &Steps) -> (u32, u32) {
        let (mut shown, mut runs) = (0, 0);
        while runs < LAST && !self.is_late() {
            let Some(run) = self.run(steps) else { break };
            if matches!(run.verdict, Verdict::Inconclusive(_)) || self.is_late() {
                continue;
            }
            runs += 1;
            shown += u32::from(self.shows(run).is_some());
        }
        (shown, runs)
    }
}
