//! Investigations: smaller cases for the violations of a run, and experiments that tell their explanations apart.
//!
//! Each violation is investigated on a thread of its own, several at a time, because most of an investigation is
//! waiting for the server. It begins while the campaign still looks for further violations. What the campaign
//! improves meanwhile is investigated again: a result counts only for the case and the explanations that it began with.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use confute_drive::{
    AnyProtocol, CaseReport, Crew, Finding, Live, News, Plan, SettledCase, Shrinker, Sink, Trouble, Unshrunk,
    excerpt, guarded,
};

use crate::session::RunObserver;

/// Number of investigations at the same time.
const THREADS: usize = 5;
/// Time for the first look at a violation. Most violations are sequential and shrink to a few requests in a fraction of it.
/// Races take many runs: they are investigated again, with all the time that is left, once every violation was looked at.
const FIRST_LOOK: Duration = Duration::from_secs(6);
/// Time to search for an excerpt of a case that does not show again.
const MATTERS: Duration = Duration::from_secs(1);
/// Interval of progress reports.
const TICK: Duration = Duration::from_millis(50);

/// Investigates each violation of a run that is over. They share the time.
pub fn all(
    protocol: &dyn AnyProtocol,
    plan: &Plan,
    time: Duration,
    findings: &mut [Finding],
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) {
    let end = Instant::now() + time;
    let desk = Desk::new(protocol, plan, time, stop);
    thread::scope(|scope| {
        let _closing = desk.closing();
        desk.staff(scope);
        desk.finish(findings, end, tell);
    });
    let last = end + MATTERS * findings.len() as u32;
    excerpts(protocol, findings, last, stop, tell);
}

/// Searches until `last` for excerpts of cases that did not get smaller: a case that does not show again is at least
/// shown without irrelevant events.
pub(crate) fn excerpts(
    protocol: &dyn AnyProtocol,
    findings: &mut [Finding],
    last: Instant,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) {
    let count = findings.len();
    let unshrunk = |finding: &&mut Finding| matches!(finding.shrunk, Some(Err(_)));
    let mut waiting = findings.iter_mut().filter(unshrunk).count() as u32;
    for finding in findings.iter_mut().filter(unshrunk) {
        let left = last.saturating_duration_since(Instant::now());
        if left.is_zero() || stop.load(Ordering::Relaxed) {
            break;
        }
        tell(&format!("looking for the contradictory messages of violation {} of {count}", finding.number));
        finding.excerpt = excerpt(protocol, finding, MATTERS.min(left / waiting), stop).map(Box::new);
        waiting -= 1;
    }
}

/// The violations that wait for an investigation, and the results.
pub(crate) struct Desk<'a> {
    protocol: &'a dyn AnyProtocol,
    plan: &'a Plan,
    /// Time for each investigation.
    time: Duration,
    stop: &'a AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

/// A violation that waits for an investigation, as it was found.
struct Waiting {
    finding: Finding,
    /// Result of the first look, if there was one.
    looked_at: Option<Finding>,
}

impl Waiting {
    /// Returns the urgency: what nobody looked at comes first, then the strongest violation, and of equal ones the oldest.
    fn urgency(&self) -> impl Ord + use<> {
        let Finding { level, number, .. } = self.finding;
        (self.looked_at.is_none(), level, std::cmp::Reverse(number))
    }
}

#[derive(Default)]
struct State {
    /// Violations that wait.
    waiting: Vec<Waiting>,
    /// Number of investigations that are going on.
    busy: usize,
    /// Violations as they were found, with the results.
    done: Vec<(Identity, Finding)>,
    /// Defects that ended an investigation.
    defects: Vec<String>,
    /// Progress of the latest investigation.
    progress: String,
    /// Moment at which all investigations have to be over, known when the campaign is.
    end: Option<Instant>,
}

/// Beginning of an investigation: the name of the case, and the sets of rules that explain it.
#[derive(PartialEq, Eq)]
struct Identity(String, Vec<Vec<&'static str>>);

impl Identity {
    fn of(finding: &Finding) -> Self {
        let sets = finding.diagnoses.iter().map(|one| one.rules.clone()).collect();
        Self(finding.counterexample.name.clone(), sets)
    }
}

impl<'a> Desk<'a> {
    pub(crate) fn new(
        protocol: &'a dyn AnyProtocol,
        plan: &'a Plan,
        time: Duration,
        stop: &'a AtomicBool,
    ) -> Self {
        Self { protocol, plan, time, stop, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Starts the threads. They end after [`finish`](Self::finish).
    pub(crate) fn staff<'scope>(&'scope self, scope: &'scope thread::Scope<'scope, '_>) {
        let threads = if self.plan.is_lone() { 1 } else { THREADS };
        for _ in 0..threads {
            scope.spawn(move || self.work(threads));
        }
    }

    /// Returns a guard that sends the threads home when it is dropped, whatever happened before: without it, a panic of the
    /// campaign would wait for them forever.
    pub(crate) fn closing(&self) -> Closing<'_, 'a> {
        Closing(self)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a violation while the campaign goes on. It replaces an older case of the same violation that still waits.
    pub(crate) fn submit(&self, finding: &Finding) {
        if self.plan.is_lone() {
            return; // The campaign has the server.
        }
        let mut state = self.state();
        state.waiting.retain(|other| other.finding.number != finding.number);
        state.waiting.push(Waiting { finding: finding.clone(), looked_at: None });
        drop(state);
        self.changed.notify_all();
    }

    fn work(&self, threads: usize) {
        while let Some((Waiting { finding, looked_at }, time)) = self.next(threads) {
            let identity = Identity::of(&finding);
            let result = guarded(|| self.investigated(finding.clone(), time));
            let mut state = self.state();
            state.busy -= 1;
            match (result, looked_at) {
                (Ok(result), None) if !is_complete(&result) => {
                    state.waiting.push(Waiting { finding, looked_at: Some(result) });
                }
                (Ok(result), Some(first)) if says_more(&first, &result) => state.done.push((identity, first)),
                (Ok(result), _) => state.done.push((identity, result)),
                (Err(why), _) => state.defects.push(crate::panicked(why)),
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Waits for a violation to investigate. Returns it with the time for it, or nothing if no more will come.
    fn next(&self, threads: usize) -> Option<(Waiting, Duration)> {
        let mut state = self.state();
        loop {
            let next = (0..state.waiting.len()).max_by_key(|place| state.waiting[*place].urgency());
            if let Some(place) = next {
                let time = state.end.map_or(self.time, |end| {
                    let left = end.saturating_duration_since(Instant::now());
                    let share = left * threads as u32 / state.waiting.len() as u32;
                    share.min(left).min(self.time)
                });
                let waiting = state.waiting.remove(place);
                state.busy += 1;
                let is_first = waiting.looked_at.is_none();
                return Some((waiting, if is_first { time.min(FIRST_LOOK) } else { time }));
            }
            // A violation that somebody looks at may come back.
            if state.end.is_some() && state.busy == 0 {
                return None;
            }
            let waited = self.changed.wait_timeout(state, TICK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn investigated(&self, mut finding: Finding, time: Duration) -> Finding {
        if time.is_zero() || self.stop.load(Ordering::Relaxed) {
            finding.shrunk = Some(Err(Unshrunk::NoTime));
            return finding;
        }
        let Self { protocol, plan, stop, .. } = *self;
        let (target, limits) = (plan.target, &plan.limits);
        let (blame_time, prefix) = (plan.blame_time, &*plan.prefix);
        let shrinker = Shrinker { protocol, target, limits, time, blame_time, prefix, stop };
        let number = finding.number;
        let _investigating = limits.crew.as_deref().map(Crew::investigating);
        shrinker.investigate(&mut finding, &mut |requests| {
            self.state().progress = format!("shrinking violation {number}: {requests} requests are enough");
        });
        finding
    }

    /// Waits until `end` for the results, and adds them to the findings of the campaign. Returns the defects that ended an
    /// investigation.
    pub(crate) fn finish(
        &self,
        findings: &mut [Finding],
        end: Instant,
        tell: &mut dyn FnMut(&str),
    ) -> Vec<String> {
        let count = findings.len();
        let mut state = self.state();
        let is_current = |identity: &Identity| findings.iter().any(|one| Identity::of(one) == *identity);
        state.waiting.retain(|one| is_current(&Identity::of(&one.finding)));
        state.done.retain(|(identity, _)| is_current(identity));
        let new = findings.iter().filter(|finding| {
            let identity = Identity::of(finding);
            let is_waiting = state.waiting.iter().any(|other| Identity::of(&other.finding) == identity);
            !is_waiting && !state.done.iter().any(|(done, _)| *done == identity)
        });
        let new: Vec<Finding> = new.cloned().collect();
        state.waiting.extend(new.into_iter().map(|finding| Waiting { finding, looked_at: None }));
        state.end = Some(end);
        self.changed.notify_all();
        while state.busy > 0 || !state.waiting.is_empty() {
            let left = state.waiting.len() + state.busy;
            tell(&format!("investigating {left} of {count} violations; {}", state.progress));
            let waited = self.changed.wait_timeout(state, TICK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        for finding in findings.iter_mut() {
            let identity = Identity::of(finding);
            let Some(place) = state.done.iter().position(|(done, _)| *done == identity) else {
                finding.shrunk = Some(Err(Unshrunk::NoTime));
                continue;
            };
            let (_, done) = state.done.swap_remove(place);
            let Finding { diagnoses, incomplete, level, shrunk, experiment, .. } = done;
            finding.diagnoses = diagnoses;
            (finding.incomplete, finding.level) = (incomplete, level);
            (finding.shrunk, finding.experiment) = (shrunk, experiment);
        }
        std::mem::take(&mut state.defects)
    }
}

/// Returns `true` if more time would not improve the result of an investigation.
fn is_complete(finding: &Finding) -> bool {
    matches!(&finding.shrunk, Some(Ok(small)) if !small.unfinished) && finding.named().len() < 2
}

/// Returns `true` if the first result of an investigation is better than the second: it proves more, names fewer rules, or is
/// smaller; or neither is smaller than the case, and the second had no time to find out why.
fn says_more(first: &Finding, second: &Finding) -> bool {
    let small = |one: &'_ Finding| one.shrunk.as_ref()?.as_ref().ok().map(|small| small.requests.1);
    let merit =
        |one: &Finding| (small(one).is_some(), one.level, std::cmp::Reverse((one.named().len(), small(one))));
    let has_no_time = matches!(second.shrunk, Some(Err(Unshrunk::NoTime)));
    merit(first) > merit(second) || (has_no_time && small(first).is_none())
}

/// Ends the work of a desk when it is dropped.
pub(crate) struct Closing<'d, 'a>(&'d Desk<'a>);

impl Drop for Closing<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.waiting.clear();
        state.end.get_or_insert_with(Instant::now);
        drop(state);
        self.0.changed.notify_all();
    }
}

/// Observer that also passes violations on to be investigated.
pub(crate) struct Investigated<'a, 'd> {
    pub(crate) watch: &'a mut dyn RunObserver,
    pub(crate) desk: Option<&'a Desk<'d>>,
}

impl Sink for Investigated<'_, '_> {
    fn surveyed(&mut self, remarks: &[String]) {
        self.watch.surveyed(remarks);
    }

    fn started(&mut self, number: u64, name: &str) {
        self.watch.started(number, name);
    }

    fn ended(&mut self, case: &CaseReport) {
        self.watch.ended(case);
    }

    fn found(&mut self, finding: &Finding, news: News) {
        self.watch.found(finding, news);
        if let (Some(desk), News::New | News::Better) = (self.desk, news) {
            desk.submit(finding);
        }
    }

    fn settled(&mut self, case: SettledCase) {
        self.watch.settled(case);
    }

    fn trouble(&mut self, trouble: &Trouble) {
        self.watch.trouble(trouble);
    }

    fn tick(&mut self, live: &Live) {
        self.watch.tick(live);
    }
}
