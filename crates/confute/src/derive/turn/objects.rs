//! The objects of a turn: cells whose keys the server chooses.

use std::rc::Rc;

use smallvec::SmallVec;

use super::Runner;
use crate::derive::book::suits;
use crate::derive::hypothesis::Ids;
use crate::knowledge::{Literal, Term, Var};
use crate::lang::{Access, CellSpec, Mistake, ObjectKey, ObjectTable, Stop};

impl Runner<'_> {
    /// Returns the ids that matter to this turn; `None` in a dry run for nothing but the question if there are any.
    pub(super) fn ids(&self) -> Option<Rc<Ids>> {
        self.start.foot.and_then(|foot| foot.ids.clone())
    }

    pub(super) fn open_object(
        &mut self,
        table: ObjectTable,
        key: &ObjectKey,
        access: Access,
    ) -> Result<u32, Stop> {
        self.open(&CellSpec { table: table.name, key, initial: None }, access)
    }

    /// Opens the cells in which the new object may be, and chooses one of them: of an id that the response tells, if there is a response;
    /// otherwise of any id, known or not.
    pub(super) fn create(&mut self, table: ObjectTable) -> Result<(Term, u32), Stop> {
        self.tick()?;
        self.book.borrow_mut().register(table);
        let var = Var(self.start.cause.named(self.fresh));
        self.fresh += 1;
        let ids = self.ids();
        let mut options: SmallVec<[(ObjectKey, u32); 2]> = SmallVec::new();
        let mut is_open = true;
        match ids.as_deref() {
            None if self.start.dry => {}
            None => {
                // The turn may touch anything: see `Engine::ids`.
                self.ran.scanned = true;
                options.extend(self.book.borrow().told(table.name, u32::MAX));
            }
            Some(Ids { response: None, limit, .. }) => {
                options.extend(self.book.borrow().told(table.name, *limit));
            }
            Some(Ids { told, .. }) => {
                for value in told.iter().filter(|value| suits(table.sort, value)) {
                    let key = ObjectKey::Told(value.clone());
                    let cell = self.open_object(table, &key, Access::Write)?;
                    if options.iter().all(|(_, other)| *other != cell) {
                        options.push((key, cell));
                    }
                }
                is_open = options.is_empty();
            }
        }
        for (key, _) in &options {
            self.open_object(table, key, Access::Write)?;
        }
        let made = ObjectKey::Made(var);
        if !is_open && !self.start.untold {
            let taken = if options.len() == 1 || self.start.dry { 0 } else { self.ask(5, options.len())? };
            let (key, cell) = &options[taken];
            return Ok((key.term(), *cell));
        }
        let cell = self.open_object(table, &made, Access::Write)?;
        self.ran.creates.push((table.name, cell));
        let all = options.len() + 1;
        let taken = if all == 1 || self.start.dry || self.start.untold { 0 } else { self.ask(5, all)? };
        if taken > 0 {
            let (key, cell) = &options[taken - 1];
            return Ok((key.term(), *cell));
        }
        self.ran.facts.declare(var, table.sort);
        for (key, _) in &options {
            self.ran.facts.assert(&Literal::Ne(made.term(), key.term())).map_err(|_| Stop::Dead)?;
        }
        Ok((made.term(), cell))
    }

    /// Opens all cells in which there may be objects.
    pub(super) fn roster(&mut self, table: ObjectTable) -> Result<Vec<(Term, u32)>, Stop> {
        self.tick()?;
        self.book.borrow_mut().register(table);
        self.ran.lists = true;
        let cells = match self.ids() {
            None if self.start.dry => Vec::new(),
            None => {
                self.widen("list")?;
                self.ran.scanned = true;
                self.look()?;
                self.book.borrow().all_objects(table.name)
            }
            Some(ids) => {
                let roster = self.book.borrow().roster(table.name, ids.limit, ids.loose);
                if self.ran.looked && !self.ran.whole {
                    return Err(Mistake::WidenedLate { what: "list" }.into());
                }
                let before = self.ran.opened.len();
                for (_, cell) in &roster {
                    if !self.ran.opened[..before].iter().any(|(open, _)| open == cell) {
                        self.ran.opened.push((*cell, Access::Read));
                    }
                }
                roster
            }
        };
        Ok(cells.into_iter().map(|(key, cell)| (key.term(), cell)).collect())
    }
}
