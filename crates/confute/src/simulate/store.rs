//! State of the simulated server: the current content of its cells.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::fingerprint::Fingerprint;
use crate::knowledge::{Sort, Var};
use crate::lang::{Cause, CellKey, CellSpec, Fresh, Val};

struct Cell {
    table: &'static str,
    key: Rc<dyn CellKey>,
    name: Name,
    value: Option<Val>,
}

type Name = (&'static str, Fingerprint);

/// Every cell that was ever opened, by number.
#[derive(Default)]
pub(super) struct Store {
    cells: Vec<Cell>,
    index: FxHashMap<Name, u32>,
}

impl Store {
    /// Returns the number of a cell. If the cell is new, `declare` is called with the secrets in its initial
    /// content.
    pub(super) fn open(&mut self, spec: &CellSpec<'_>, declare: &mut dyn FnMut(Var, Sort)) -> u32 {
        let name = (spec.table, spec.key.fingerprint());
        let next = self.cells.len() as u32;
        let number = *self.index.entry(name).or_insert(next);
        if number == next {
            let mut fresh = Fresh { cause: Cause::Cell(number), next: 0, declare };
            let value = spec.initial.map(|initial| initial(&mut fresh));
            self.cells.push(Cell { table: spec.table, key: spec.key.keep(), name, value });
        }
        number
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Removes the cells from this number on: the turn that opened them did not happen.
    pub(super) fn truncate(&mut self, len: usize) {
        for cell in self.cells.drain(len..) {
            self.index.remove(&cell.name);
        }
    }

    pub(super) fn read(&self, cell: u32) -> Option<Val> {
        self.cells[cell as usize].value.clone()
    }

    pub(super) fn write(&mut self, cell: u32, value: Option<Val>) {
        self.cells[cell as usize].value = value;
    }

    /// Returns a description of the cell, for messages to the model's author.
    pub(super) fn describe(&self, cell: u32) -> String {
        let cell = &self.cells[cell as usize];
        format!("{}[{:?}]", cell.table, cell.key)
    }

    /// Returns the cells of a table, in the order of their first opening.
    pub(super) fn table(&self, table: &'static str) -> Vec<(Rc<dyn CellKey>, u32)> {
        let cells = self.cells.iter().zip(0..).filter(|(cell, _)| cell.table == table);
        cells.map(|(cell, number)| (Rc::clone(&cell.key), number)).collect()
    }

    /// Returns the secrets that some cell contains.
    pub(super) fn secrets(&self) -> FxHashSet<Var> {
        let mut live = FxHashSet::default();
        for value in self.cells.iter().filter_map(|cell| cell.value.as_ref()) {
            value.data.secrets(&mut |var| {
                live.insert(var);
            });
        }
        live
    }
}
