//! Occurrences of a violation: the cases in which it was observed.

use serde::{Deserialize, Serialize};

/// One case in which a violation was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Occurrence {
    /// In a merged record: the run that observed it, as an index into [`MergedRecord::parts`](crate::merge::MergedRecord).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<usize>,
    /// Number of the case in the campaign. `None` for stored cases and cases of the survey, which have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<u64>,
    /// Seed of the random choices of the case.
    pub seed: u64,
}

/// Adds occurrences to a list. Returns the number of those that were not in it: a numbered case is one occurrence, however
/// often it was run.
pub fn add_occurrences(list: &mut Vec<Occurrence>, more: &[Occurrence]) -> u64 {
    let mut added = 0;
    for one in more {
        if one.case.is_none() || !list.contains(one) {
            list.push(*one);
            added += 1;
        }
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numbered_case_counts_once() {
        let case = |case| Occurrence { run: None, case, seed: 7 };
        let mut list = vec![case(Some(1)), case(None)];
        assert_eq!(add_occurrences(&mut list, &[case(Some(1)), case(Some(2)), case(None)]), 2);
        assert_eq!(list.len(), 4);
    }
}
