//! Reduction of a refuted case to a small one.
//!
//! The order in which threads run cannot be repeated, so a smaller script is run many times: it counts if one of the runs is refuted again.
//! Nothing is concluded from the first run but the calls with which to begin: the latest ones before the refutation,
//! and among them those about the same names. Only the smallest case is blamed and explained.

use std::time::{Duration, Instant};

use confute::lang::ServerModel;
use confute::trace::Event;
use confute::{Refutation, Verdict, blame, explain, judge};
use confute_drive::Peer;
use confute_service::{Message, script};

use super::crew::{Crew, Run};
use super::report::Refuted;
use super::{Calls, NETWORK};

/// Number of runs of the smallest script that are counted.
const COUNTED: u32 = 1_000;
/// Maximum number of counted runs that are judged after the time is up.
const LEAST: u32 = 50;

/// The calls of a case: rounds of calls by thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Script<M> {
    rounds: Vec<Vec<Vec<M>>>,
}

impl<M: Message> Script<M> {
    /// Returns the script of some calls of a case, chosen by their index.
    fn some<T>(run: &Run<M, T>, keeps: &dyn Fn(usize) -> bool) -> Self {
        let threads = run.past().iter().filter_map(|exchange| match exchange.on {
            Peer::Opened(thread) => Some(thread as usize + 1),
            Peer::Accepted(_) => None,
        });
        let threads = threads.max().unwrap_or(0);
        let rounds = run.rounds().iter().map(|range| {
            let mut round = vec![Vec::new(); threads];
            for exchange in run.past()[range.clone()].iter().filter(|exchange| keeps(exchange.step)) {
                if let Peer::Opened(thread) = exchange.on {
                    round[thread as usize].push(exchange.ask.clone());
                }
            }
            round
        });
        let whole = Self { rounds: rounds.collect() };
        let kept: Vec<usize> = (0..run.len()).filter(|step| keeps(*step)).collect();
        whole.renumbered(&|step| kept.binary_search(&step).unwrap_or(usize::MAX)).tidy()
    }

    /// Returns the number of calls.
    pub(super) fn len(&self) -> usize {
        self.rounds.iter().flatten().map(Vec::len).sum()
    }

    /// Returns the script without the calls for which `keeps` is `false`. References to them are to nothing: such calls are left out too.
    fn filtered(&self, keeps: &dyn Fn(usize) -> bool) -> Self {
        let mut step = 0;
        let mut kept = Vec::new();
        let rounds = self.rounds.iter().map(|round| {
            let calls = round.iter().map(|calls| {
                let mut some = Vec::new();
                for call in calls {
                    if keeps(step) {
                        kept.push(step);
                        some.push(call.clone());
                    }
                    step += 1;
                }
                some
            });
            calls.collect()
        });
        let rounds = rounds.collect();
        Self { rounds }.renumbered(&|step| kept.binary_search(&step).unwrap_or(usize::MAX)).tidy()
    }

    fn renumbered(&self, now: &dyn Fn(usize) -> usize) -> Self {
        let calls = |calls: &Vec<M>| calls.iter().map(|call| script::renumbered(call, now)).collect();
        Self { rounds: self.rounds.iter().map(|round| round.iter().map(calls).collect()).collect() }
    }

    fn tidy(mut self) -> Self {
        self.rounds.retain(|round| round.iter().any(|calls| !calls.is_empty()));
        self
    }

    /// Returns smaller scripts: without halves, quarters and so on of its calls, and then without one of them.
    fn smaller(&self) -> Vec<Self> {
        let all = self.len();
        let mut scripts = Vec::new();
        let mut size = all / 2;
        while size > 0 {
            for first in (0..all).step_by(size) {
                scripts.push(self.filtered(&|step| step < first || step >= first + size));
            }
            size /= 2;
        }
        scripts.retain(|script| script.len() > 0 && script.len() < all);
        scripts
    }
}

impl<S, T, Make, Call> Calls<S, Make, Call>
where
    S: ServerModel<Msg: Message>,
    T: Send + Sync,
    Make: Fn() -> T,
    Call: Fn(&T, &S::Msg) -> S::Msg + Sync,
{
    /// Makes a refuted case smaller.
    pub(super) fn reduce(
        &self,
        crew: &Crew<'_, S::Msg, T>,
        run: &Run<S::Msg, T>,
        calls: u64,
    ) -> Result<Refuted<S::Msg>, String> {
        let end = Instant::now() + self.shrink_time.min(Duration::from_hours(24));
        let (refutation, events) = self.told(run.events());
        let mut candidates = first(run, refutation.event);
        let mut best = (None, events);
        'smaller: loop {
            for candidate in candidates {
                let now = Instant::now();
                if now >= end {
                    break 'smaller;
                }
                // A script whose race has become rare must not take all the time.
                let until = now + end.saturating_duration_since(now) / 4;
                if let Some(events) = self.again(crew, &candidate, until)? {
                    candidates = candidate.smaller();
                    best = (Some(candidate), events);
                    continue 'smaller;
                }
            }
            break;
        }
        let (script, events) = best;
        let rate = match &script {
            Some(script) => self.rate(crew, script, end)?,
            None => (0, 0),
        };
        let (refutation, events) = self.told(&events);
        let blame = blame(&self.model, &NETWORK, &events, &self.options());
        Ok(Refuted { calls, threads: self.threads, events, refutation, blame, rate, seed: self.seed })
    }

    /// Runs a script until a run is refuted. Returns the events of that run.
    fn again(
        &self,
        crew: &Crew<'_, S::Msg, T>,
        script: &Script<S::Msg>,
        end: Instant,
    ) -> Result<Option<Vec<Event<S::Msg>>>, String> {
        for tried in 0..self.tries {
            if tried % 64 == 63 && Instant::now() >= end {
                break;
            }
            let run = self.perform(crew, script)?;
            if self.judge(&run).is_refuted() {
                return Ok(Some(run.events().to_vec()));
            }
        }
        Ok(None)
    }

    /// Counts the runs of a script that are refuted.
    fn rate(
        &self,
        crew: &Crew<'_, S::Msg, T>,
        script: &Script<S::Msg>,
        end: Instant,
    ) -> Result<(u32, u32), String> {
        let (mut refuted, mut of) = (0, 0);
        while of < COUNTED && (of < LEAST || Instant::now() < end) {
            let run = self.perform(crew, script)?;
            of += 1;
            refuted += u32::from(self.judge(&run).is_refuted());
        }
        Ok((refuted, of))
    }

    fn perform(&self, crew: &Crew<'_, S::Msg, T>, script: &Script<S::Msg>) -> Result<Run<S::Msg, T>, String> {
        let mut run = Run::new((self.make)());
        script.rounds.iter().try_for_each(|round| crew.perform(&mut run, round))?;
        Ok(run)
    }

    fn judge(&self, run: &Run<S::Msg, T>) -> Verdict {
        judge(&self.model, &NETWORK, run.events(), &self.options())
    }

    /// Returns the refutation of a case, with the events up to it.
    fn told(&self, events: &[Event<S::Msg>]) -> (Refutation, Vec<Event<S::Msg>>) {
        let Verdict::Refuted(refutation) = judge(&self.model, &NETWORK, events, &self.options()) else {
            let nothing = Refutation {
                event: 0,
                seen: String::new(),
                expected: Vec::new(),
                hypotheses: 0,
                more: false,
            };
            return (nothing, events.to_vec());
        };
        let refutation = explain(&self.model, &NETWORK, events, &refutation, &self.options());
        let until = (refutation.event + 1).min(events.len());
        (refutation, events[..until].to_vec())
    }
}

/// Returns scripts with which to begin: the latest calls before the refutation, and those of them that share a name with the call that
/// was refuted. The smallest come first.
fn first<M: Message, T>(run: &Run<M, T>, event: usize) -> Vec<Script<M>> {
    let conn = run.events().get(event).and_then(Event::conn);
    let sent = |before: &&Event<M>| matches!(before, Event::Sent(..));
    let asked = run.events()[..event].iter().filter(sent).count();
    // Calls of one round began in any order, so all of the round are taken.
    let steps = run.rounds().iter().find(|range| range.end >= asked).map_or(run.len(), |range| range.end);
    let last = run.past()[..steps]
        .iter()
        .rev()
        .find(|one| matches!((one.on, conn), (Peer::Opened(on), Some(conn)) if on == conn.0));
    let about = last.map(|exchange| script::names(&exchange.ask)).unwrap_or_default();
    let shares = |step: &usize| script::names(&run.past()[*step].ask).iter().any(|name| about.contains(name));
    let mut scripts = Vec::new();
    for most in [3, 4, 6, 8, 12, 16, 24, 48, 96] {
        let related: Vec<usize> = (0..steps).rev().filter(shares).take(most).collect();
        scripts.push(Script::some(run, &|step| related.contains(&step)));
        scripts.push(Script::some(run, &|step| step < steps && step + most >= steps));
    }
    scripts.push(Script::some(run, &|step| step < steps));
    scripts.retain(|script| script.len() > 0);
    scripts.dedup();
    scripts
}
