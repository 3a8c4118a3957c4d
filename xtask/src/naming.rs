//! Figures about the names that violations get after shrinking and experiments: how many rules, and at which level.

use confute::lang::Level;
use confute_http::rules;

use crate::eval::report::is_within;
use crate::hunt::Investigation;

/// Sums over violations; races are counted apart, because experiments with them prove little, and so are warnings, which
/// experiments do not turn into violations.
#[derive(Default)]
pub(crate) struct Naming {
    steady: Sums,
    races: Sums,
    warnings: Sums,
    /// Violations whose level is not that of a right rule, in words.
    wrong: Vec<String>,
    /// Number of violations that blame alone named after one rule set.
    before: u64,
    /// Number of rule sets that blame alone named.
    sets_before: u64,
}

#[derive(Default)]
struct Sums {
    violations: u64,
    alone: u64,
    sets: u64,
    right: u64,
}

impl Naming {
    /// Adds a violation: the sets that blame named, what is left after the investigation, and the rules that are right.
    pub(crate) fn add(
        &mut self,
        name: &str,
        blamed: &[String],
        found: &Investigation,
        right: &[impl AsRef<str>],
    ) {
        self.before += u64::from(blamed.len() == 1);
        self.sets_before += blamed.len() as u64;
        let sums = match found.level {
            Some(level) if level >= Level::Store && found.is_race => &mut self.races,
            Some(level) if level >= Level::Store => &mut self.steady,
            _ => &mut self.warnings,
        };
        sums.violations += 1;
        sums.alone += u64::from(found.named.len() == 1);
        sums.sets += found.named.len() as u64;
        if is_right(found, right) {
            sums.right += 1;
        } else {
            let level = found.by_experiment.or(found.level).map_or("unknown", Level::name);
            self.wrong.push(format!("{name}: {} (level {level})", found.named.join(" | ")));
        }
    }

    /// Prints the figures.
    pub(crate) fn print(&self) {
        let all = self.steady.violations + self.races.violations + self.warnings.violations;
        if all == 0 {
            return;
        }
        println!(
            "by blame alone: {} of {all} violations named after one rule, {:.2} alternatives on average",
            self.before,
            ratio(self.sets_before, all)
        );
        for wrong in &self.wrong {
            println!("  level not that of a right rule: {wrong}");
        }
        for (name, sums) in
            [("violations", &self.steady), ("races", &self.races), ("warnings", &self.warnings)]
        {
            if sums.violations > 0 {
                println!(
                    "after experiments: {} of {} {name} named after one rule, {:.2} alternatives on average, level right in {}",
                    sums.alone,
                    sums.violations,
                    ratio(sums.sets, sums.violations),
                    sums.right
                );
            }
        }
    }
}

/// Returns `true` if the level, proven or by experiment, is that of a right rule which the violation is named after.
fn is_right(found: &Investigation, right: &[impl AsRef<str>]) -> bool {
    let level = found.by_experiment.or(found.level);
    let of_rule = |name: &str| rules::all().find(|rule| rule.name == name).map(|rule| rule.level);
    let is_level = |rules: &&String| {
        let of_rules = rules.split(" + ").filter_map(of_rule).max();
        // A server that was promised to be a store has to serve as one.
        let is_promised = **rules == confute_http::rules::SERVES.name && level == Some(Level::Store);
        is_within(rules, right) && (of_rules == level || is_promised)
    };
    found.named.iter().any(|rules| is_level(&rules))
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
