//! Judgement of a run: the explanations of a violation that its trace contradicts.

use std::collections::BTreeSet;

use confute::trace::Event;
use confute::{Diagnosis, Options, Pulse, Verdict};

use super::Laboratory;
use super::trials::{self, Trial};
use crate::campaign::Finding;
use crate::case::CaseRun;
use crate::erased::{AnyMessage, all_shared};

/// Number of turns that one judgement may take.
const TURNS: u64 = 50_000;

/// The manner in which a server breaks rules.
#[derive(Clone, Copy)]
pub(super) enum Broken {
    /// As often as the diagnosis says that the case needs, anywhere.
    AsOften,
    /// Whenever it can.
    Always,
}

impl Laboratory<'_, '_> {
    /// Returns `true` if a rule of this explanation says that something does not change by itself.
    pub(super) fn is_spontaneous(&self, one: &Diagnosis) -> bool {
        let protocol = self.shrinker.protocol;
        let rules = protocol.model().rules().iter();
        rules.filter(|rule| one.rules.contains(&rule.name)).any(|rule| protocol.is_spontaneous(rule))
    }

    /// Returns `true` if a server breaks a rule of this explanation as likely twice as once.
    pub(super) fn is_habitual(&self, one: &Diagnosis) -> bool {
        let model = self.shrinker.protocol.model();
        let rules = model.rules().iter();
        rules.filter(|rule| one.rules.contains(&rule.name)).any(|rule| model.is_habitual(rule))
    }

    fn judge(&self, trace: &[Event<AnyMessage>], options: &Options<'_>) -> Option<bool> {
        let protocol = self.shrinker.protocol;
        let watch = |_: &Pulse| self.is_late();
        let options = Options { turns: TURNS, watch: Some(&watch), ..options.clone() };
        match protocol.model().judge(protocol.network(), &all_shared(trace), &options) {
            Verdict::Unrefuted => Some(true),
            Verdict::Refuted(_) => Some(false),
            Verdict::Inconclusive(_) => None,
        }
    }

    /// Returns `true` if nothing explains a trace with the rules relaxed that were relaxed for the finding. `None` if
    /// that is too much work.
    pub(super) fn is_refuted(&self, finding: &Finding, trace: &[Event<AnyMessage>]) -> Option<bool> {
        let options = Options { relaxed: finding.relaxed.clone(), ..Options::default() };
        self.judge(trace, &options).map(|explained| !explained)
    }

    /// Judges a trace with the rules of a finding relaxed, and those of a diagnosis too: broken as often as the
    /// diagnosis says, or whenever the server can. `None` if that is too much work.
    pub(super) fn is_explained(
        &self,
        finding: &Finding,
        trace: &[Event<AnyMessage>],
        one: &Diagnosis,
        broken: Broken,
    ) -> Option<bool> {
        let relaxed = [&finding.relaxed[..], &one.rules].concat();
        let options = Options { relaxed, ..Options::default() };
        let options = match broken {
            Broken::AsOften => {
                Options { free: finding.relaxed.clone(), deviations: one.deviations, ..options }
            }
            Broken::Always => Options { always: one.rules.clone(), ..options },
        };
        self.judge(trace, &options)
    }

    /// Returns the explanations that a run contradicts. `None` if it contradicts none of them, or all.
    pub(super) fn separated<'d>(
        &self,
        finding: &Finding,
        run: &CaseRun,
        among: &[&'d Diagnosis],
        broken: Broken,
    ) -> Option<Vec<&'d Diagnosis>> {
        let explained: Vec<Option<bool>> =
            among.iter().map(|one| self.is_explained(finding, &run.trace, one, broken)).collect();
        let out = among.iter().zip(&explained).filter(|(_, explained)| **explained == Some(false));
        let out: Vec<&Diagnosis> = out.map(|(one, _)| *one).collect();
        (explained.contains(&Some(true)) && !out.is_empty()).then_some(out)
    }

    /// Returns those of the `others` whose rules the server could have broken visibly in a variant, and did not. None
    /// unless another explanation was not at stake in the variant at all: the absence of the violation then follows
    /// from what was varied.
    pub(super) fn respected<'d>(
        &self,
        finding: &Finding,
        run: &CaseRun,
        trial: &Trial,
        (left, others): (&[&'d Diagnosis], &[&'d Diagnosis]),
    ) -> Vec<&'d Diagnosis> {
        let is_at_stake = |one: &&&Diagnosis| one.rules.iter().any(|rule| run.figures.rules.contains(*rule));
        if left.iter().all(|one| is_at_stake(&one)) || self.is_refuted(finding, &run.trace) != Some(false) {
            return Vec::new();
        }
        let Some(from) = trials::sent(&run.trace, trial.asked) else { return Vec::new() };
        let others = others.iter().filter(is_at_stake).copied();
        others.filter(|one| self.has_opportunity(finding, &run.trace, from, one)).collect()
    }

    /// Returns `true` if after this event the server could have sent a response that breaks these rules visibly: one
    /// that is expected if they are relaxed, and not otherwise.
    fn has_opportunity(
        &self,
        finding: &Finding,
        trace: &[Event<AnyMessage>],
        from: usize,
        one: &Diagnosis,
    ) -> bool {
        let protocol = self.shrinker.protocol;
        let watch = |_: &Pulse| self.is_late();
        let options = |relaxed| Options { turns: TURNS, watch: Some(&watch), relaxed, ..Options::default() };
        let tester = |relaxed| protocol.model().tester(protocol.network(), options(relaxed));
        let mut strict = tester(finding.relaxed.clone());
        let mut relaxed = tester([&finding.relaxed[..], &one.rules].concat());
        for (at, event) in all_shared(trace).into_iter().enumerate() {
            if let (true, Event::Received(conn, _)) = (at > from, &event) {
                let (expected, _, is_cut) = strict.expectations(*conn);
                let expected: BTreeSet<_> = expected.into_iter().map(|one| one.message).collect();
                let (more, ..) = relaxed.expectations(*conn);
                if !is_cut && more.iter().any(|one| !expected.contains(&one.message)) {
                    return true;
                }
            }
            strict.observe(event.clone());
            relaxed.observe(event);
        }
        false
    }
}
