//! Data that all hypotheses share: the cells that exist, and the observations on each connection.
//!
//! Nothing here is a conjecture. A cell's number is assigned once and denotes the same cell in every hypothesis;
//! observations are facts. The search looks into the future here: when it goes back to an earlier choice, later
//! observations are known, and offline all of them are.

use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::erased::Message;
use crate::fingerprint::Fingerprint;
use crate::knowledge::{Sort, Value, Var};
use crate::lang::{Cause, CellKey, CellSpec, Conn, Fresh, ObjectKey, ObjectTable, Val};

/// One cell of the model's state.
pub(crate) struct CellInfo {
    pub(crate) table: &'static str,
    pub(crate) key: Rc<dyn CellKey>,
    /// Unknown initial content, if its table has any.
    pub(crate) initial: Option<Val>,
    /// Secrets in the initial content.
    pub(crate) secrets: Vec<(Var, Sort)>,
}

impl CellInfo {
    pub(crate) fn describe(&self) -> String {
        format!("{}[{:?}]", self.table, self.key)
    }
}

/// The cells of a table of objects.
#[derive(Default)]
struct ObjectCells {
    sort: Option<Sort>,
    /// Cells whose id some message contains.
    told: Vec<u32>,
    /// Cells of objects that may have been created although no response tells their id, each with a number in the order in which
    /// that became known.
    loose: Vec<(u32, u32)>,
    /// `true` if a request that may have created an object was judged with the ids known so far.
    is_open: bool,
}

/// All cells that any turn has opened.
#[derive(Default)]
pub(crate) struct CellBook {
    index: FxHashMap<u128, u32>,
    pub(crate) cells: Vec<CellInfo>,
    objects: FxHashMap<&'static str, ObjectCells>,
    /// Values in messages that may be ids of objects.
    mentioned: FxHashSet<Value>,
    /// Number of objects that may have been created although no response tells their id.
    pub(crate) loose: u32,
    /// `true` if a message contains an id that came too late for a request which may have created its object.
    pub(crate) is_blurred: bool,
}

impl CellBook {
    /// Returns the number of a cell, new or known.
    pub(crate) fn number(&mut self, spec: &CellSpec<'_>) -> u32 {
        let fingerprint = Fingerprint::of(&(spec.table, spec.key.fingerprint().0)).0;
        let next = self.cells.len() as u32;
        let number = *self.index.entry(fingerprint).or_insert(next);
        if number == next {
            let mut secrets = Vec::new();
            let mut declare = |var, sort| secrets.push((var, sort));
            let mut fresh = Fresh { cause: Cause::Cell(number), next: 0, declare: &mut declare };
            let initial = spec.initial.map(|make| make(&mut fresh));
            self.cells.push(CellInfo { table: spec.table, key: spec.key.keep(), initial, secrets });
            if let Some(ObjectKey::Told(_)) = ObjectKey::from_key(spec.key) {
                let objects = self.objects.entry(spec.table).or_default();
                objects.told.push(number);
                self.is_blurred |= objects.is_open;
            }
        }
        number
    }

    /// Notes that a table holds objects.
    pub(crate) fn register(&mut self, table: ObjectTable) {
        let objects = self.objects.entry(table.name).or_default();
        if objects.sort.replace(table.sort).is_none() {
            let mut mentioned: Vec<Value> = self.mentioned.iter().cloned().collect();
            mentioned.sort_unstable();
            mentioned.iter().for_each(|value| self.open_told(table.name, table.sort, value));
        }
    }

    /// Notes that a message contains this value, which may be the id of an object.
    pub(crate) fn mention(&mut self, value: &Value) {
        if self.mentioned.insert(value.clone()) {
            let mut tables: Vec<_> =
                self.objects.iter().filter_map(|(table, objects)| Some((*table, objects.sort?))).collect();
            tables.sort_unstable_by_key(|(table, _)| *table);
            tables.into_iter().for_each(|(table, sort)| self.open_told(table, sort, value));
        }
    }

    fn open_told(&mut self, table: &'static str, sort: Sort, value: &Value) {
        if suits(sort, value) {
            let key = ObjectKey::Told(value.clone());
            self.number(&CellSpec { table, key: &key, initial: None });
        }
    }

    /// Returns the ids of a table that some message contains, as far as their cells have smaller numbers than this.
    pub(crate) fn told(&self, table: &str, limit: u32) -> Vec<(ObjectKey, u32)> {
        let told = self.objects.get(table).map_or(&[][..], |objects| &objects.told);
        let told = told.iter().copied().filter(|cell| *cell < limit);
        told.filter_map(|cell| Some((self.object(cell)?, cell))).collect()
    }

    /// Returns the cells in which there may be an object of this table, as far as their cells have smaller numbers than this: those of
    /// all ids, and of the first `loose` objects without one.
    pub(crate) fn roster(&self, table: &str, limit: u32, loose: u32) -> Vec<(ObjectKey, u32)> {
        let mut roster = self.told(table, limit);
        let all = self.objects.get(table).map_or(&[][..], |objects| &objects.loose);
        let some = all.iter().filter(|(_, order)| *order < loose);
        roster.extend(some.filter_map(|(cell, _)| Some((self.object(*cell)?, *cell))));
        roster
    }

    /// Returns all cells of a table of objects.
    pub(crate) fn all_objects(&self, table: &str) -> Vec<(ObjectKey, u32)> {
        let all = (0..self.cells.len() as u32).filter(|cell| self.cells[*cell as usize].table == table);
        all.filter_map(|cell| Some((self.object(cell)?, cell))).collect()
    }

    /// Notes that an object may be created in this cell although no response tells its id, or with any id known so far.
    pub(crate) fn loosen(&mut self, table: &'static str, cell: u32) {
        let objects = self.objects.entry(table).or_default();
        objects.is_open = true;
        if !objects.loose.iter().any(|(known, _)| *known == cell) {
            objects.loose.push((cell, self.loose));
            self.loose += 1;
        }
    }

    fn object(&self, cell: u32) -> Option<ObjectKey> {
        ObjectKey::from_key(&*self.cells[cell as usize].key).cloned()
    }
}

/// Returns `true` if the value can be of this sort.
pub(crate) fn suits(sort: Sort, value: &Value) -> bool {
    matches!(
        (sort, value),
        (Sort::Opaque, Value::Opaque(_))
            | (Sort::Int | Sort::Choice(_), Value::Int(_))
            | (Sort::Bool, Value::Bool(_))
    )
}

/// One observation on a connection.
pub(crate) enum Seen {
    Message(Rc<Message>),
    Closed,
}

impl Clone for Seen {
    fn clone(&self) -> Self {
        match self {
            Seen::Message(message) => Seen::Message(Rc::clone(message)),
            Seen::Closed => Seen::Closed,
        }
    }
}

/// Observations by connection, each with its position in the trace.
#[derive(Default)]
pub(crate) struct Sightings {
    by_conn: FxHashMap<Conn, VecDeque<(u64, Seen)>>,
}

impl Sightings {
    /// Adds an observation; positions never decrease.
    pub(crate) fn push(&mut self, conn: Conn, place: u64, seen: Seen) {
        self.by_conn.entry(conn).or_default().push_back((place, seen));
    }

    /// Returns the `nth` observation on a connection at or after a position in the trace.
    pub(crate) fn nth_since(&self, conn: Conn, place: u64, nth: usize) -> Option<&(u64, Seen)> {
        let seen = self.by_conn.get(&conn)?;
        // Usually the wanted one is near the front or the only one.
        let first = if seen.front().is_some_and(|(at, _)| *at >= place) {
            0
        } else {
            seen.partition_point(|(at, _)| *at < place)
        };
        seen.get(first + nth)
    }

    /// Forgets the observations before a position.
    pub(crate) fn forget_before(&mut self, place: u64) {
        self.by_conn.retain(|_, seen| {
            while seen.front().is_some_and(|(at, _)| *at < place) {
                seen.pop_front();
            }
            !seen.is_empty()
        });
    }
}
