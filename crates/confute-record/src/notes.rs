//! What a run has to say beside its violations: stored cases, the baseline, exhaustive bounds, budgets.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What came of doing a stored case again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The file.
    #[serde(rename = "file")]
    pub path: PathBuf,
    /// What it was blamed on when it was stored.
    pub rule: String,
    /// In how many runs it showed.
    pub shown: u32,
    /// How many runs were judged.
    pub runs: u32,
    /// What a run was refuted for instead, if one was.
    pub otherwise: Option<String>,
    /// Why a run was not judged, if one was not.
    pub unknown: Option<String>,
    /// Whether it is none of this run's: it is about a server that is tested in another way.
    pub foreign: bool,
}

impl Tried {
    /// What the file is called.
    fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The reason why the run owes an answer, if it does: a case that somebody counts on was not judged at all.
    pub fn owed(&self) -> Option<String> {
        (self.runs == 0 && !self.foreign).then(|| self.to_string())
    }
}

impl Display for Tried {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, Self { rule, shown, runs, .. }) = (self.name(), self);
        match (shown, runs, &self.otherwise, &self.unknown) {
            (1.., ..) => write!(f, "{name}: still fails ({rule})"),
            (0, _, Some(other), _) => write!(f, "{name}: fails, but not as it did ({rule}): {other}"),
            (0, 1.., None, None) => write!(f, "{name}: no longer fails in {runs} runs ({rule})"),
            (0, 1.., None, Some(why)) => {
                write!(f, "{name}: no longer fails in {runs} runs ({rule}); others were not judged: {why}")
            }
            (0, 0, None, Some(why)) => write!(f, "{name}: not judged: {why}"),
            (0, 0, None, None) => write!(f, "{name}: not tried"),
        }
    }
}

/// What a run says about what is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// How many violations were met that were known.
    pub met: usize,
    /// Known, put to the test in a run that came to its end, and not met.
    pub gone: Vec<String>,
    /// Known and not met, but that says nothing.
    pub open: Vec<String>,
    /// What that rests on: so many cases,
    pub cases: u64,
    /// and so many answers.
    pub answers: u64,
    /// The file that says what is known from now on, if one was written.
    pub written: Option<PathBuf>,
}

/// The claim of an exhaustive run: every script of up to so many requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundRecord {
    /// The most requests of a script.
    pub requests: u64,
    /// The number of such scripts.
    pub scripts: u64,
}

/// The two budgets of a run, and what it took of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetsRecord {
    /// The time that testing took.
    pub tested: Duration,
    /// The time that testing was to take at most, if it was bounded.
    pub testing: Option<Duration>,
    /// The time that everything after testing had taken when the record was made.
    pub took: Duration,
    /// The time that everything after testing may take.
    pub after: Duration,
}

/// In so many of so many runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// In so many it showed.
    pub shown: u32,
    /// So many there were.
    pub of: u32,
}

impl Rate {
    /// Between which shares of all runs the true one lies, at 95 % (Wilson's interval).
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
