//! Experiments: further runs on the server that tell the explanations of a violation apart.
//!
//! Blame often names several sets of rules: any of them explains the case. Three kinds of experiments narrow that
//! down, all of them with scripts near the smallest one:
//!
//! - A *sharper case*: a variant of the case is refuted too, and fewer of the sets explain it, or none of its
//!   explanations is as weak. It is a proof like any other, and takes the place of the smallest case.
//! - A *comparison*: the case is extended, or one of its requests is varied. A set that does not explain the new
//!   trace is out. So is one that the new trace would show as well, if it never does: if `If-Match` were ignored, it
//!   would be ignored with another tag too.
//! - A *control*: a set with a rule that something does not change by itself. The suspicious request is replaced
//!   by one that would show the change. If the case shows the violation each time, and the control shows the
//!   change never, the change did not happen by itself.
//!
//! The last two are evidence, not proof: their result is a field of its own beside the proven level. They narrow
//! an accusation that stands already, and never make one: of a warning they change at most the name.

mod judge;
mod trials;

use std::collections::BTreeSet;
use std::time::Instant;

use confute::lang::Level;
use confute::trace::Event;
use confute::{Depth, Diagnosis};
use confute_record::ExperimentKind;

use crate::again::PastRun;
use crate::campaign::Finding;
use crate::case::{CaseRun, Ended};
use crate::erased::{AnyAsk, AnyMessage};
use crate::net::Net;
use crate::script::Step;
use crate::shrink::draft::{self, Steps};
use crate::shrink::{Shrinker, Shrunk};
use judge::Broken;
use trials::{Kind, Trial};

/// Number of runs of a comparison that have to agree, if the case shows the violation each time.
const COMPARED: u32 = 5;
/// Maximum number of runs of a comparison.
const MOST_COMPARED: u32 = 50;
/// Number of runs of a case and of its control, by turns.
const CONTROLLED: u32 = 20;
/// Number of runs of a sharper case, if the case shows the violation each time.
const SHARPENED: u32 = 3;
/// Number of runs that measure how often a sharper case shows the violation, if the case does not each time.
const COUNTED: u32 = 10;
/// Maximum number of runs in which a violation that shows now and then has to show.
const MOST_TRIES: u32 = 20;

/// Explanations that experiments set aside.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The sets of rules that were set aside.
    pub set_aside: Vec<SetAside>,
    /// The sets of rules that are left.
    pub left: Vec<Diagnosis>,
    /// Level of the violation if one of these is to blame.
    pub level: Level,
}

/// A set of rules that an experiment set aside.
#[derive(Clone, Debug)]
pub struct SetAside {
    /// The rules.
    pub rules: Vec<&'static str>,
    /// The kind of the experiment.
    pub kind: ExperimentKind,
    /// The exchange that decided: request and response.
    pub exchange: String,
    /// Trace of the last run of the experiment.
    pub trace: Vec<Event<AnyMessage>>,
}

/// The manner in which a run contradicts an explanation.
#[derive(Clone, Copy)]
enum Contradiction {
    /// A server that breaks the rules whenever it can, or as often as in the case, would have responded otherwise.
    Steady,
    /// The server had the opportunity to break the rules visibly, and did not. This says less, because a model may allow
    /// more than any server with the fault does, so it is asked only about what is left after the other.
    Missed,
}

/// Reproduction rate of the smallest case.
#[derive(Clone, Copy)]
struct Rate {
    shown: u32,
    runs: u32,
}

impl Rate {
    fn is_steady(self) -> bool {
        self.shown == self.runs && self.shown >= SHARPENED
    }

    /// Returns the number of runs in one of which the violation shows with a probability of 95 %.
    fn tries(self) -> u32 {
        // A violation that shows each time does not show in a variant by being tried more often.
        if self.is_steady() { 1 } else { (3 * self.runs).div_ceil(self.shown).min(MOST_TRIES) }
    }

    /// Returns the number of runs after which the absence of a violation is no accident: with a probability of 99.9 %
    /// it would have shown.
    fn compared(self) -> Option<u32> {
        let runs = if self.is_steady() { COMPARED } else { (7 * self.runs).div_ceil(self.shown) };
        (runs <= MOST_COMPARED).then_some(runs)
    }
}

struct Laboratory<'a, 'b> {
    shrinker: &'a Shrinker<'b>,
    net: Net,
    end: Instant,
    rate: Rate,
}

/// Narrows down the explanations of a finding that has a smaller case, until this moment.
pub(crate) fn narrow(shrinker: &Shrinker<'_>, finding: &mut Finding, end: Instant) {
    let is_silent = matches!(finding.shown().trace.last(), Some(Event::Quiescent));
    let Some(Ok(small)) = &finding.shrunk else { return };
    let (shown, runs) = small.again;
    if finding.diagnoses.len() < 2 || finding.incomplete || is_silent || shown == 0 {
        return;
    }
    let Ok(net) = Net::new(shrinker.target.listen) else { return };
    let mut laboratory = Laboratory { shrinker, net, end, rate: Rate { shown, runs } };
    loop {
        let steps = finding.shown().script.to_vec();
        let trials = trials::all(shrinker.protocol, &steps);
        // A sharper case has variants of its own.
        if laboratory.sharpen(finding, &trials) && finding.diagnoses.len() > 1 {
            continue;
        }
        if finding.diagnoses.len() < 2 {
            return;
        }
        // A smaller case that something else explains too may show that: what its variants exclude says nothing about the larger one.
        let experiment =
            if is_vague(finding) { None } else { laboratory.experiment(finding, &steps, &trials) };
        // Pauses take long, so they come last, and only where something is left to decide.
        let is_decided = experiment.as_ref().is_some_and(|experiment| experiment.left.len() < 2);
        if is_decided || !laboratory.sharpen_slowly(finding, &steps) {
            finding.experiment = experiment;
            return;
        }
        if finding.diagnoses.len() < 2 {
            return;
        }
    }
}

/// Returns `true` if a set of rules explains the case that is shown and not the one that was found.
fn is_vague(finding: &Finding) -> bool {
    let is_new = |one: &Diagnosis| !finding.diagnoses.iter().any(|known| known.rules == one.rules);
    finding.shown().diagnoses.iter().any(is_new)
}

impl Laboratory<'_, '_> {
    fn is_late(&self) -> bool {
        Instant::now() >= self.end || self.shrinker.is_stopped()
    }

    /// Runs a script with these rules relaxed. `None` if the result says nothing about the server.
    fn run(
        &mut self,
        finding: &Finding,
        steps: &[Step<AnyAsk>],
        relaxed: &[&'static str],
    ) -> Option<CaseRun> {
        if self.is_late() {
            return None;
        }
        let past = PastRun { script: steps, name: &finding.counterexample.name, seed: finding.seed, relaxed };
        let mut run = self.shrinker.again(self.end, finding).run(&mut self.net, &past).ok()?;
        let is_sound = run.trouble.is_none() && matches!(run.ended, Ended::Done | Ended::Judged);
        self.shrinker.protocol.annotate(&mut run.trace);
        is_sound.then_some(run)
    }

    /// Sets aside explanations of the case by comparisons and controls.
    fn experiment(
        &mut self,
        finding: &Finding,
        steps: &[Step<AnyAsk>],
        trials: &[Trial],
    ) -> Option<Experiment> {
        let is_warning = finding.level < Some(Level::Store);
        let mut set_aside = self.compare(finding, trials);
        if self.rate.is_steady() && !is_warning {
            set_aside.extend(self.control(finding, steps, &set_aside));
        }
        let is_left = |one: &&Diagnosis| !set_aside.iter().any(|out| out.rules == one.rules);
        let left: Vec<Diagnosis> = finding.diagnoses.iter().filter(is_left).cloned().collect();
        let (of_left, proven) = (left.iter().map(|one| one.level).min()?, finding.level?);
        // What shows now and then may have happened by itself for all that a few runs can tell.
        let level = if self.rate.is_steady() { of_left } else { proven.min(of_left) };
        let lifts_warning = is_warning && of_left > proven;
        (!set_aside.is_empty() && !lifts_warning).then_some(Experiment { set_aside, left, level })
    }

    /// Searches among scripts with a pause for a sharper case, if something that happens by itself would explain the case.
    fn sharpen_slowly(&mut self, finding: &mut Finding, steps: &[Step<AnyAsk>]) -> bool {
        finding.diagnoses.iter().any(|one| self.is_spontaneous(one))
            && self.sharpen(finding, &trials::paused(self.shrinker.protocol, steps))
    }

    /// Searches for a sharper case. Returns `true` if there is one: the finding then shows it.
    fn sharpen(&mut self, finding: &mut Finding, trials: &[Trial]) -> bool {
        for trial in trials.iter().filter(|trial| trial.kind == Kind::Variant) {
            if self.is_late() {
                return false;
            }
            let tries = self.rate.tries();
            let Some(found) = (0..tries).find_map(|_| self.sharper(finding, &trial.steps)) else { continue };
            let count = if self.rate.is_steady() { SHARPENED } else { COUNTED };
            let again =
                (1..count).filter(|_| self.sharper(finding, &trial.steps).is_some()).count() as u32 + 1;
            let Some(Ok(small)) = &finding.shrunk else { return false };
            // A case that shows the violation less often is no better case.
            if again * self.rate.runs < count * self.rate.shown / 2 {
                continue;
            }
            if found.level > finding.level {
                finding.diagnoses.clone_from(&found.diagnoses);
            } else {
                let is_named = |one: &Diagnosis| found.diagnoses.iter().any(|other| other.rules == one.rules);
                finding.diagnoses.retain(is_named);
            }
            finding.level = found.level;
            let shrunk = Shrunk {
                requests: (small.requests.0, draft::asks(&trial.steps)),
                counterexample: crate::Counterexample { script: trial.steps.clone(), ..found.counterexample },
                diagnoses: found.diagnoses,
                level: found.level,
                incomplete: false,
                runs: small.runs + u64::from(count),
                again: (again, count),
                unfinished: small.unfinished,
            };
            finding.shrunk = Some(Ok(Box::new(shrunk)));
            return true;
        }
        false
    }

    /// Runs a script. Returns its violation if that is the one of the finding, and fewer sets explain it; or if it proves
    /// more: then further sets, which several breaches together need, may explain it too.
    fn sharper(&mut self, finding: &Finding, steps: &[Step<AnyAsk>]) -> Option<Finding> {
        let run = self.run(finding, steps, &finding.relaxed.clone())?;
        if !run.verdict.is_refuted() {
            return None;
        }
        let past =
            PastRun { script: &[], name: &run.name.clone(), seed: finding.seed, relaxed: &finding.relaxed };
        let found = self.shrinker.again(self.end, finding).blamed(run, &past, Depth::Level)?;
        let known = |one: &Diagnosis| finding.diagnoses.iter().any(|other| other.rules == one.rules);
        let names_fewer = found.diagnoses.len() < finding.diagnoses.len()
            && found.diagnoses.iter().all(known)
            && found.level >= finding.level;
        let proves_more = found.level > finding.level;
        let is_about = found.diagnoses.iter().any(known);
        (!found.incomplete && is_about && (names_fewer || proves_more)).then_some(found)
    }

    /// Sets aside the explanations that comparisons contradict.
    fn compare(&mut self, finding: &Finding, trials: &[Trial]) -> Vec<SetAside> {
        let shown = finding.shown();
        // A smaller case may be explained with fewer deviations, or not at all by what explains the larger one.
        let known = |one: &&Diagnosis| finding.diagnoses.iter().any(|other| other.rules == one.rules);
        let all: Vec<&Diagnosis> = shown.diagnoses.iter().filter(known).collect();
        // If a steady fault does not explain the case itself, comparisons with it say nothing.
        let is_steady =
            |one: &&Diagnosis| self.is_explained(finding, shown.trace, one, Broken::Always) == Some(true);
        let steady: Vec<&Diagnosis> = all.iter().copied().filter(is_steady).collect();
        let union: BTreeSet<&'static str> =
            finding.relaxed.iter().chain(all.iter().flat_map(|one| &one.rules)).copied().collect();
        let union: Vec<&'static str> = union.into_iter().collect();
        let mut set_aside = Vec::new();
        for contradiction in [Contradiction::Steady, Contradiction::Missed] {
            let is_left = |one: &&Diagnosis| !set_aside.iter().any(|out: &SetAside| out.rules == one.rules);
            let left: Vec<&Diagnosis> = all.iter().copied().filter(is_left).collect();
            let steady: Vec<&Diagnosis> = steady.iter().copied().filter(is_left).collect();
            set_aside.extend(self.compare_by(contradiction, finding, trials, &union, (&left, &steady)));
        }
        set_aside
    }

    /// Sets aside the explanations that some trial contradicts in this manner. None if each of them is contradicted by one:
    /// then the server does not behave as any of them says.
    fn compare_by(
        &mut self,
        contradiction: Contradiction,
        finding: &Finding,
        trials: &[Trial],
        union: &[&'static str],
        (left, steady): (&[&Diagnosis], &[&Diagnosis]),
    ) -> Vec<SetAside> {
        let mut set_aside: Vec<SetAside> = Vec::new();
        for trial in trials {
            if left.len() < 2 || self.is_late() {
                break;
            }
            let result = match (trial.kind, contradiction) {
                (Kind::Extension, Contradiction::Steady) => self.extended(finding, trial, union, left),
                (Kind::Extension, Contradiction::Missed) => continue,
                (Kind::Variant, _) => self.compared(contradiction, finding, trial, union, (left, steady)),
            };
            let Some((out, kind, run)) = result else { continue };
            let is_new = |one: &&Diagnosis| !set_aside.iter().any(|other| other.rules == one.rules);
            let new: Vec<&Diagnosis> = out.into_iter().filter(is_new).collect();
            set_aside.extend(new.into_iter().map(|one| SetAside {
                rules: one.rules.clone(),
                kind,
                exchange: trials::exchange(&run, trial.asked),
                trace: run.trace.clone(),
            }));
        }
        if set_aside.len() < left.len() { set_aside } else { Vec::new() }
    }

    /// Runs an extension of the case. Returns the explanations of the case that do not explain the extension.
    fn extended<'d>(
        &mut self,
        finding: &Finding,
        trial: &Trial,
        union: &[&'static str],
        left: &[&'d Diagnosis],
    ) -> Option<(Vec<&'d Diagnosis>, ExperimentKind, CaseRun)> {
        for _ in 0..self.rate.tries() {
            let run = self.run(finding, &trial.steps, union)?;
            // Only a run that shows the violation again says something about its explanations.
            let before = trials::sent(&run.trace, trial.asked)?;
            if self.is_refuted(finding, &run.trace[..before]) == Some(true) {
                let mut out = self.separated(finding, &run, left, Broken::AsOften)?;
                // That something changed by itself is never excluded by one run; nor is a habit by its repetition: a read from
                // an old copy is followed by another one.
                out.retain(|one| !self.is_spontaneous(one) && !self.is_habitual(one));
                return (!out.is_empty()).then_some((out, ExperimentKind::Extension, run));
            }
        }
        None
    }

    /// Runs a variant of the case several times. Returns the explanations that each run contradicts if the server
    /// breaks their rules whenever it can, or as often as in the case.
    fn compared<'d>(
        &mut self,
        contradiction: Contradiction,
        finding: &Finding,
        trial: &Trial,
        union: &[&'static str],
        (left, steady): (&[&'d Diagnosis], &[&'d Diagnosis]),
    ) -> Option<(Vec<&'d Diagnosis>, ExperimentKind, CaseRun)> {
        let runs = self.rate.compared()?;
        // Whether something changes by itself is a question for a control.
        let may_be_set_aside = |one: &&&Diagnosis| !self.is_spontaneous(one);
        let steady: Vec<&Diagnosis> = steady.iter().filter(may_be_set_aside).copied().collect();
        // A race has to be won to show, and a fault of a store may need the very request that was varied: the absence of
        // such a fault among concurrent requests says little.
        let is_race = trials::is_race(finding.shown().trace);
        let others = left.iter().filter(may_be_set_aside).copied();
        let others: Vec<&Diagnosis> = others.filter(|one| !is_race || one.level > Level::Store).collect();
        let mut out: Option<Vec<&Diagnosis>> = None;
        let mut last = None;
        for _ in 0..runs {
            let run = self.run(finding, &trial.steps, union)?;
            let contradicted = match contradiction {
                Contradiction::Steady => {
                    self.separated(finding, &run, &steady, Broken::Always).unwrap_or_default()
                }
                Contradiction::Missed => self.respected(finding, &run, trial, (left, &others)),
            };
            let among = |one: &&Diagnosis| contradicted.iter().any(|other| other.rules == one.rules);
            match &mut out {
                Some(out) => out.retain(among),
                None => out = Some(left.iter().copied().filter(among).collect()),
            }
            if out.as_ref().is_none_or(|out| out.is_empty() || out.len() >= left.len()) {
                return None;
            }
            last = Some(run);
        }
        Some((out?, ExperimentKind::Comparison(runs), last?))
    }

    /// Sets aside the explanations by a change that happened by itself, where a control shows that it did not.
    fn control(&mut self, finding: &Finding, steps: &[Step<AnyAsk>], before: &[SetAside]) -> Vec<SetAside> {
        let protocol = self.shrinker.protocol;
        let mut set_aside = Vec::new();
        let mut done: Vec<(Steps, Option<(String, Vec<Event<AnyMessage>>)>)> = Vec::new();
        let is_left = |one: &&Diagnosis| !before.iter().any(|out| out.rules == one.rules);
        let left: Vec<&Diagnosis> = finding.diagnoses.iter().filter(is_left).collect();
        for one in &left {
            // Something has to be left to blame.
            if set_aside.len() + 1 >= left.len() {
                break;
            }
            let rules = protocol.model().rules().iter().filter(|rule| one.rules.contains(&rule.name));
            let controls = |(asked, place): (usize, &usize)| {
                let Step::Ask { ask, .. } = &steps[*place] else { return None };
                let look = rules.clone().find_map(|rule| protocol.control(rule, ask))?;
                Some((draft::replaced(steps, *place, look), asked))
            };
            let Some((script, asked)) = draft::asked(steps).iter().enumerate().rev().find_map(controls)
            else {
                continue;
            };
            let known = done.iter().position(|(other, _)| *other == script);
            let known = known.unwrap_or_else(|| {
                let result = self.controlled(finding, steps, &script, asked);
                done.push((script, result));
                done.len() - 1
            });
            if let Some((exchange, trace)) = &done[known].1 {
                set_aside.push(SetAside {
                    rules: one.rules.clone(),
                    kind: ExperimentKind::Control(CONTROLLED),
                    exchange: exchange.clone(),
                    trace: trace.clone(),
                });
            }
        }
        set_aside
    }

    /// Runs a case and its control by turns. Returns the exchange that replaced the suspicious one, and the trace of the
    /// last control, if the case shows the violation each time and the control no change at all.
    fn controlled(
        &mut self,
        finding: &Finding,
        steps: &[Step<AnyAsk>],
        control: &[Step<AnyAsk>],
        asked: usize,
    ) -> Option<(String, Vec<Event<AnyMessage>>)> {
        let relaxed = finding.relaxed.clone();
        let mut last = None;
        for _ in 0..CONTROLLED {
            if !self.run(finding, steps, &relaxed)?.verdict.is_refuted() {
                return None;
            }
            let run = self.run(finding, control, &relaxed)?;
            if !run.verdict.is_unrefuted() || run.ended != Ended::Done {
                return None;
            }
            last = Some((trials::exchange(&run, asked), run.trace));
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::finding::tests::{MUST, OTHER, STORE, case, shrunk};

    #[test]
    fn a_smaller_case_with_other_explanations_may_show_something_else() {
        let shows = |small: &[&[&'static str]]| {
            let mut finding = case(&[&[MUST], &[STORE]], 9);
            finding.shrunk = Some(Ok(Box::new(shrunk(small))));
            is_vague(&finding)
        };
        assert!(!shows(&[&[MUST]]) && !shows(&[&[STORE], &[MUST]]));
        assert!(shows(&[&[MUST], &[OTHER]]) && shows(&[&[MUST, OTHER]]));
    }
}
