//! Notes of a run beside its violations: stored cases, the baseline, exhaustive bounds, budgets.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Shard;

/// The result of replaying a stored case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The file of the stored case.
    #[serde(rename = "file")]
    pub path: PathBuf,
    /// The diagnosis when the case was stored.
    pub rule: String,
    /// Number of runs in which the violation reproduced.
    pub shown: u32,
    /// Number of runs that were judged.
    pub runs: u32,
    /// Diagnosis of a different violation, if a run had one.
    pub otherwise: Option<String>,
    /// The reason why a run was not judged, if there was one.
    pub unknown: Option<String>,
    /// `true` if the case is about a server that is tested in another way, and does not apply to this run.
    pub foreign: bool,
}

impl Tried {
    /// Returns the name of the file.
    fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Returns the reason why the run is incomplete, if it is: a stored case that applies to it was not
    /// judged at all.
    pub fn owed(&self) -> Option<String> {
        (self.runs == 0 && !self.foreign).then(|| self.to_string())
    }
}

impl Display for Tried {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, Self { rule, shown, runs, .. }) = (self.name(), self);
        match (shown, runs, &self.otherwise, &self.unknown) {
            (1.., ..) => write!(f, "{name}: still fails ({rule})"),
            (0, _, Some(other), _) => {
                write!(f, "{name}: fails in another way than recorded ({rule}): {other}")
            }
            (0, 1.., None, None) => write!(f, "{name}: no longer fails in {runs} runs ({rule})"),
            (0, 1.., None, Some(why)) => {
                write!(f, "{name}: no longer fails in {runs} runs ({rule}); others were not judged: {why}")
            }
            (0, 0, None, Some(why)) => write!(f, "{name}: not judged: {why}"),
            (0, 0, None, None) => write!(f, "{name}: not tried"),
        }
    }
}

/// Comparison of a run with the baseline of known violations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// Number of violations that were observed and are known.
    pub met: usize,
    /// Known violations that were tested in a completed run and not observed.
    pub gone: Vec<String>,
    /// Known violations that were not observed, which proves nothing.
    pub open: Vec<String>,
    /// Number of cases that the comparison rests on.
    pub cases: u64,
    /// Number of responses that the comparison rests on.
    pub answers: u64,
    /// The new baseline file, if one was written.
    pub written: Option<PathBuf>,
}

/// The claim of an exhaustive run: all scripts of up to this many requests were run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundRecord {
    /// Maximum number of requests in a script.
    pub requests: u64,
    /// Number of such scripts that the run is to run.
    pub scripts: u64,
    /// Number of all such scripts, if the run is a shard and has only some of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
}

impl BoundRecord {
    /// Returns the claim of a shard of the run.
    #[must_use]
    pub fn in_shard(self, shard: Shard) -> Self {
        match shard {
            Shard::WHOLE => self,
            _ => Self { scripts: shard.share(self.scripts), of: Some(self.scripts), ..self },
        }
    }
}

/// The two time budgets of a run, and the time used of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetsRecord {
    /// Time that testing took.
    pub tested: Duration,
    /// Time limit of testing, if there is one.
    pub testing: Option<Duration>,
    /// Time that all work after testing had taken when the record was made.
    pub took: Duration,
    /// Time limit of all work after testing.
    pub after: Duration,
}

/// Reproduction rate of a violation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Number of runs in which the violation reproduced.
    pub shown: u32,
    /// Number of all runs.
    pub of: u32,
}

impl Rate {
    /// Returns the 95 % confidence interval of the true rate (Wilson's interval).
    pub fn interval(self) -> (f64, f64) {
        if self.of == 0 {
            return (0.0, 1.0);
        }
        let (n, z2) = (f64::from(self.of), 1.96_f64 * 1.96);
        let share = f64::from(self.shown) / n;
        let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt() * 1.96 / (1.0 + z2 / n);
        ((middle - half).max(0.0), (middle + half).min(1.0))
    }
}

impl Display for Rate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (low, high) = self.interval();
        write!(f, "{} of {} runs (95 %: {:.0} to {:.0} %)", self.shown, self.of, 100.0 * low, 100.0 * high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals() {
        assert_eq!(Rate { shown: 9, of: 10 }.to_string(), "9 of 10 runs (95 %: 60 to 98 %)");
        assert_eq!(Rate { shown: 0, of: 10 }.to_string(), "0 of 10 runs (95 %: 0 to 28 %)");
        assert_eq!(Rate { shown: 50, of: 50 }.to_string(), "50 of 50 runs (95 %: 93 to 100 %)");
    }
}
