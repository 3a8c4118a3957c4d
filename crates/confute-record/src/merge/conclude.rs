//! The verdict of a merged record.

use crate::{Conclusion, NEEDED, RunRecord, Standing};

/// Sets the conclusion of a merged record from its violations and its runs. A violation refutes, whatever is missing;
/// otherwise a missing shard or an inconclusive one makes the whole inconclusive.
pub fn conclude(record: &mut RunRecord) {
    let Some(merged) = &record.merged else { return };
    let undecided = record.standing(Standing::Undecided).next();
    let tally = &record.tally;
    record.conclusion = if let Some(mistake) = &record.notes.mistake {
        // A trace that a wrong model cannot explain proves nothing.
        Conclusion::Inconclusive(mistake.clone())
    } else if record.standing(Standing::Refutes).next().is_some() {
        Conclusion::Refuted
    } else if let Some(problem) = &merged.incomplete {
        Conclusion::Inconclusive(problem.clone())
    } else if let Some(violation) = undecided {
        Conclusion::Inconclusive(format!("there was no time to decide violation {}", violation.number))
    } else if let Some(why) = &merged.unclear {
        Conclusion::Inconclusive(why.clone())
    } else if record.figures.answers == 0 {
        Conclusion::Inconclusive("nothing was tested: no response was received".to_owned())
    } else if !tally.is_enough() {
        let (judged, due) = (tally.judged(), tally.due());
        Conclusion::Inconclusive(format!("{judged} of {due} cases judged, but {NEEDED} % are required"))
    } else if record.bound.is_some_and(|bound| !tally.is_all_of(bound.scripts)) {
        Conclusion::Inconclusive("no violation, but not everything was run and judged".to_owned())
    } else {
        Conclusion::Unrefuted
    };
}
