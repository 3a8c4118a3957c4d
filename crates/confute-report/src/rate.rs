//! How often something showed.

use std::fmt::{self, Display, Formatter};

/// In so many of so many runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
