//! The cells of a turn.

use std::rc::Rc;

use super::Runner;
use crate::fingerprint::Fingerprint;
use crate::lang::{Access, Cause, CellKey, CellSpec, Change, Mistake, Stop, Text, Turn, Val};

impl Runner<'_> {
    pub(super) fn open(&mut self, cell: &CellSpec<'_>, access: Access) -> Result<u32, Stop> {
        self.tick()?;
        // A relaxed rule may be the very one that forbids doing more than append.
        let access =
            if access == Access::Grow && !self.leeway.relaxed.is_empty() { Access::Write } else { access };
        let number = self.number(cell);
        if cell.initial.is_some() && self.hypothesis.cell(number).is_none() {
            for (var, sort) in &self.book.borrow().cells[number as usize].secrets {
                self.ran.facts.declare(*var, *sort);
            }
        }
        if self.has_not_received() {
            return Err(Mistake::NotReceived { what: format!("opens `{cell:?}`") }.into());
        }
        match self.ran.opened.iter_mut().find(|(open, _)| *open == number) {
            Some((_, had)) if *had >= access => {}
            Some((_, had)) if self.ran.whole || !self.ran.looked => *had = access,
            Some(_) => return Err(Mistake::WriteToView { cell: format!("{cell:?}") }.into()),
            None => {
                // An internal turn may open any cell: its cells are compared with those of the part afterwards.
                if self.ran.looked && !self.ran.whole && self.start.pickable.is_none() {
                    let access = if access == Access::Read { "to read" } else { "to write" };
                    return Err(Mistake::OpenedLate { cell: format!("{cell:?}"), access }.into());
                }
                self.ran.opened.push((number, access));
            }
        }
        Ok(number)
    }

    pub(super) fn read(&mut self, cell: u32) -> Result<Option<Val>, Stop> {
        self.tick()?;
        // The turn learns nothing by reading its own write, unless that was made from the content before.
        if self.ran.updated || !self.ran.writes.iter().any(|(number, _)| *number == cell) {
            self.look()?;
        }
        Ok(self.current(cell))
    }

    pub(super) fn write(&mut self, cell: u32, value: Option<Val>) -> Turn {
        self.tick()?;
        // The search relies on the access with which a cell was opened, unless the turn may touch anything.
        if !self.ran.whole {
            let open = self.ran.opened.iter().find(|(number, _)| *number == cell).map(|(_, access)| *access);
            let describe = || self.book.borrow().cells[cell as usize].describe();
            match open {
                Some(Access::Write) => {}
                Some(Access::Grow) if self.is_grown(cell, value.as_ref()) => {}
                Some(Access::Grow) => return Err(Mistake::NotGrown { cell: describe() }.into()),
                _ => return Err(Mistake::WriteToView { cell: describe() }.into()),
            }
        }
        match self.ran.writes.iter_mut().find(|(number, _)| *number == cell) {
            Some(entry) => entry.1 = value,
            None => self.ran.writes.push((cell, value)),
        }
        Ok(())
    }

    pub(super) fn update(&mut self, cell: u32, change: &Change<'_>) -> Turn {
        self.ran.updated = true;
        // A dry run does not know the content to change; the value it writes is not used.
        let value = if self.start.dry { None } else { change(self.current(cell))? };
        self.write(cell, value)
    }

    pub(super) fn pick(&mut self, table: &'static str) -> Result<Rc<dyn CellKey>, Stop> {
        self.tick()?;
        let Some(pickable) = self.start.pickable else {
            return Err(Mistake::WidenedLate { what: "pick" }.into());
        };
        if self.start.dry {
            self.ran.action = Fingerprint(1);
            return Err(Stop::Looked);
        }
        let cells: Vec<u32> = {
            let book = self.book.borrow();
            pickable.iter().copied().filter(|cell| book.cells[*cell as usize].table == table).collect()
        };
        if cells.is_empty() {
            return Err(Stop::Idle);
        }
        let taken = cells[self.ask(4, cells.len())?];
        self.ran.action = Fingerprint::of(&(self.ran.action.0, 4u8, taken));
        self.start.cause = Cause::Internal { cell: taken, n: self.hypothesis.internals };
        Ok(Rc::clone(&self.book.borrow().cells[taken as usize].key))
    }

    pub(super) fn scan(&mut self, table: &'static str) -> Result<Vec<(Rc<dyn CellKey>, u32)>, Stop> {
        self.tick()?;
        self.widen("scan")?;
        self.ran.scanned = true;
        self.look()?;
        let book = self.book.borrow();
        Ok((0..book.cells.len() as u32)
            .filter(|cell| book.cells[*cell as usize].table == table)
            .map(|cell| (Rc::clone(&book.cells[cell as usize].key), cell))
            .collect())
    }

    /// Returns the number of a cell. Usually the dry run has opened the same cells in the same order.
    fn number(&self, cell: &CellSpec<'_>) -> u32 {
        if let Some(&(number, _)) = self.start.foot.and_then(|foot| foot.cells.get(self.ran.opened.len())) {
            let book = self.book.borrow();
            let info = &book.cells[number as usize];
            if info.table == cell.table && cell.key.same(&*info.key) {
                return number;
            }
        }
        self.book.borrow_mut().number(cell)
    }

    /// Returns `true` if the value is the present content with more text at its end.
    fn is_grown(&self, cell: u32, value: Option<&Val>) -> bool {
        // A dry run does not know the present content.
        if self.start.dry {
            return true;
        }
        let text =
            |value: Option<&Val>| value.and_then(|value| value.data.as_any().downcast_ref::<Text>().cloned());
        let before = text(self.current(cell).as_ref()).unwrap_or_default();
        text(value).is_some_and(|after| after.starts_with(&before))
    }

    fn current(&self, cell: u32) -> Option<Val> {
        if let Some((_, value)) = self.ran.writes.iter().rev().find(|(number, _)| *number == cell) {
            return value.clone();
        }
        if let Some((number, value)) = self.start.version
            && number == cell
        {
            return value.cloned();
        }
        match self.hypothesis.cell(cell) {
            Some(state) => state.now.clone(),
            None => self.book.borrow().cells[cell as usize].initial.clone(),
        }
    }
}
