//! Projection: removes dead variables and keeps every fact they imply among the live ones.
//!
//! A dead variable is removed if, for every assignment of the others that satisfies their own facts, some
//! value is left for it. The facts about it then imply nothing about the others that is not already stored
//! among them, since differences are closed and bound values are substituted. Otherwise the variable stays,
//! which is safe.

use smallvec::SmallVec;

use super::difference::NONE;
use super::facts::{Apart, Entry, Excluded, Facts, Kind, Slot, choices};
use super::term::Var;

impl Facts {
    pub(super) fn forget(&mut self, live: &dyn Fn(Var) -> bool) {
        self.hand_over(live);
        self.entries.drop_if(|entry| entry.slot != Slot::Free && !live(entry.var));
        // Removing one variable may make another removable.
        while let Some(var) =
            self.entries.iter().find(|entry| !live(entry.var) && self.spare(entry)).map(|e| e.var)
        {
            self.entries.drop_if(|entry| entry.var == var);
            self.apart.drop_if(|fact| fact.partner(var).is_some());
            self.excluded.drop_if(|fact| fact.0 == var);
            self.differences.remove(var);
        }
    }

    /// Makes the smallest live variable of each class its representative.
    fn hand_over(&mut self, live: &dyn Fn(Var) -> bool) {
        let mut heirs = SmallVec::<[(Var, Var); 4]>::new();
        for entry in self.entries.iter() {
            if let Slot::Same(root) = entry.slot
                && live(entry.var)
                && !live(root)
                && heirs.iter().all(|(old, _)| *old != root)
            {
                heirs.push((root, entry.var));
            }
        }
        for (old, new) in heirs {
            let sort = self.entry(new).and_then(|entry| entry.sort);
            self.differences.rename(old, new, choices(sort));
            self.entries.update(
                |entry| entry.var == old || entry.slot == Slot::Same(old),
                |entry| entry.slot = if entry.var == new { Slot::Free } else { Slot::Same(new) },
            );
            let (mut apart, mut excluded) = (SmallVec::<[Var; 4]>::new(), SmallVec::<[_; 4]>::new());
            self.apart.extract(|fact| fact.partner(old).is_some(), |fact| apart.extend(fact.partner(old)));
            self.excluded.extract(|fact| fact.0 == old, |fact| excluded.push(fact.1));
            for partner in apart {
                self.apart.put(Apart::new(new, partner));
            }
            for value in excluded {
                self.excluded.put(Excluded(new, value));
            }
        }
    }

    /// Returns `true` if a value is left for this variable under every assignment of the others.
    fn spare(&self, entry: &Entry) -> bool {
        let var = entry.var;
        let differing = self.apart.iter().filter(|fact| fact.partner(var).is_some()).count()
            + self.excluded.iter().filter(|fact| fact.0 == var).count();
        match entry.sort.map(Kind::of_sort) {
            None | Some(Kind::Opaque) => true,
            Some(Kind::Bool) => differing < 2,
            Some(Kind::Int) if differing == 0 => true,
            Some(Kind::Int) => {
                let range = self.differences.range(var);
                let below = self.differences.pairs().any(|pair| pair.right == var);
                let above = self.differences.pairs().any(|pair| pair.left == var);
                let endless = (range.low <= -NONE && !below) || (range.high >= NONE && !above);
                let roomy = !below && !above && range.high - range.low >= differing as i128;
                endless || roomy
            }
        }
    }
}
