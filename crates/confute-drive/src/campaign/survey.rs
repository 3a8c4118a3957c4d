//! The cases of a survey. The survey runs them to find out whether the server can be tested, and how. If it can, they
//! are judged: what the survey meets is a violation like any other.

use std::sync::PoisonError;

use confute::Depth;

use super::Campaign;
use super::diagnose::{Budget, diagnose};
use super::worker::{Shared, hidden_state};
use crate::case::CaseRun;
use crate::erased::AnyProtocol;
use crate::trouble::Trouble;

impl Campaign<'_> {
    /// Judges the cases of a survey, by the model as it is now. A case that nothing explains counts as a case of the
    /// campaign; the others are repeated by its first cases. The cases of an exhaustive run are its scripts.
    pub(super) fn judge_survey(&mut self, protocol: &dyn AnyProtocol, cases: Vec<CaseRun>, shared: &Shared) {
        let is_evidence = |run: &CaseRun| !run.trouble.as_ref().is_some_and(Trouble::is_restart);
        for run in cases.into_iter().filter(is_evidence).filter(|_| !self.plan.exhaustive) {
            let relaxed = shared.remedies.lock().unwrap_or_else(PoisonError::into_inner).always.clone();
            let (figures, trouble) = (run.figures.clone(), run.trouble.clone());
            if let Some(mistake) = hidden_state(protocol, &run, &relaxed, self.plan) {
                self.trouble(Trouble::Mistake(mistake));
                continue;
            }
            let (time, memory, end) = (self.plan.blame_time, self.plan.limits.memory, self.plan.limits.end);
            let budget = Budget { time, memory, halt: &shared.halt, end, depth: Depth::Level };
            let Some(finding) = diagnose(protocol, run, (0, 0), &relaxed, &budget) else { continue };
            self.tally.cases += 1;
            self.tally.refuted += 1;
            self.figures.merge(&figures);
            self.found(finding, shared);
            trouble.into_iter().for_each(|trouble| self.trouble(trouble));
        }
    }
}
