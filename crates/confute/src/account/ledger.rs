//! The tables of an account: work by reduction and by part.
//!
//! All work is charged to the reduction that began last and did not end, or else to the plain search, and to the part
//! that is being searched. The number of parts is bounded: what is over is charged to one row.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::Note;
use crate::Reduction;

/// Maximum number of parts with a row of their own.
const MOST_PARTS: usize = 10_000;
/// Maximum number of parts that are printed.
const PRINTED: usize = 20;

/// Work that was done.
#[derive(Clone, Copy, Default)]
struct Work {
    turns: u64,
    time: Duration,
}

impl Work {
    fn add(&mut self, other: Work) {
        self.turns += other.turns;
        self.time += other.time;
    }
}

#[derive(Default)]
struct PartRow {
    cells: String,
    work: Work,
    taken: u64,
    outcome: &'static str,
    furthest: u64,
}

/// The account, in numbers.
#[derive(Default)]
pub(super) struct Ledger {
    turns: u64,
    time: Option<Duration>,
    /// Reductions at work, the innermost last.
    at_work: Vec<Reduction>,
    plain: Work,
    taken: u64,
    reductions: [(Work, u64); Reduction::ALL.len()],
    parts: BTreeMap<usize, PartRow>,
    /// Parts without a row of their own.
    others: PartRow,
    /// Number of the present part, if it has a row.
    part: Option<usize>,
}

impl Ledger {
    /// Charges the work since the last note.
    pub(super) fn charge(&mut self, turns: u64, time: Duration) {
        let since = self.time.replace(time).map_or(Duration::ZERO, |last| time.saturating_sub(last));
        // Of a search that began after another, the turns count from 0 again.
        let work = Work { turns: turns.saturating_sub(self.turns), time: since };
        self.turns = turns;
        match self.at_work.last() {
            Some(reduction) => self.reductions[*reduction as usize].0.add(work),
            None => self.plain.add(work),
        }
        self.row().work.add(work);
    }

    pub(super) fn note(&mut self, note: &Note<'_>) {
        match *note {
            Note::Part { number, cells, .. } => {
                self.part =
                    Some(number).filter(|it| self.parts.len() < MOST_PARTS || self.parts.contains_key(it));
                let row = self.row();
                if row.cells.is_empty() {
                    row.cells = cells.to_string();
                }
            }
            Note::Taken { .. } => {
                self.taken += 1;
                self.row().taken += 1;
            }
            Note::LeftOut(reduction) => self.reductions[reduction as usize].1 += 1,
            Note::Enter(reduction) => self.at_work.push(reduction),
            Note::Leave => drop(self.at_work.pop()),
            Note::Outcome { event, outcome } => {
                let row = self.row();
                row.outcome = outcome;
                row.furthest = row.furthest.max(event);
            }
        }
    }

    fn row(&mut self) -> &mut PartRow {
        match self.part {
            Some(number) => self.parts.entry(number).or_default(),
            None => &mut self.others,
        }
    }

    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, has_clock: bool) -> fmt::Result {
        let time = |work: &Work| {
            if has_clock { format!("{:>9.1} ms", work.time.as_secs_f64() * 1e3) } else { String::new() }
        };
        writeln!(
            f,
            "by reduction           left out       turns{}",
            if has_clock { "        time" } else { "" }
        )?;
        let mut rows: Vec<_> = Reduction::ALL.iter().zip(&self.reductions).collect();
        rows.retain(|(_, (work, count))| work.turns > 0 || *count > 0);
        rows.sort_by_key(|(_, (work, count))| std::cmp::Reverse((work.turns, *count)));
        for (reduction, (work, count)) in rows {
            writeln!(f, "  {:<18} {count:>10}  {:>10}{}", reduction.name(), work.turns, time(work))?;
        }
        writeln!(f, "  {:<18} {:>10}  {:>10}{}", "plain search", "", self.plain.turns, time(&self.plain))?;
        writeln!(
            f,
            "\nby part                taken up       turns{}",
            if has_clock { "        time" } else { "" }
        )?;
        let mut parts: Vec<_> = self.parts.iter().collect();
        parts.sort_by_key(|(number, row)| (std::cmp::Reverse((row.work.turns, row.taken)), **number));
        for (number, row) in parts.iter().take(PRINTED) {
            let PartRow { cells, work, taken, outcome, furthest } = row;
            let name = format!("part {number}");
            let time = time(work);
            writeln!(
                f,
                "  {name:<18} {taken:>10}  {:>10}{time}  {outcome} up to event {furthest}: {cells}",
                work.turns
            )?;
        }
        let mut rest = Work::default();
        let mut taken = self.others.taken;
        rest.add(self.others.work);
        for (_, row) in parts.iter().skip(PRINTED) {
            rest.add(row.work);
            taken += row.taken;
        }
        if parts.len() > PRINTED {
            let name = if self.others.taken > 0 {
                format!("over {} more", parts.len() - PRINTED)
            } else {
                format!("{} more", parts.len() - PRINTED)
            };
            writeln!(f, "  {name:<18} {taken:>10}  {:>10}{}", rest.turns, time(&rest))?;
        }
        Ok(())
    }
}
