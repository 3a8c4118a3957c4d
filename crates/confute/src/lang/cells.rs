//! State of a model between turns: tables of cells.
//!
//! A model's state is not a value of its own type but a set of *cells*, each identified by table and key,
//! read and written through [`Io`]. Every access thus passes through the engine: it knows the cells a turn
//! touches (so turns on different cells are searched separately), can show a late read an earlier version of
//! a cell, and can compare two states without hashing a large map again. [`Table`]s and [`Register`]s are
//! only typed names: declare them as constants.
//!
//! A cell starts empty (`None`) or, in a table made with [`Table::unknown`], with secrets that have not been
//! observed yet.

use std::any::Any;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::rc::Rc;

use super::handler::{Access, Cause, Stop, Turn};
use super::mistake::Mistake;
use super::sym::{Secret, Sym};
use super::text::Text;
use super::{Io, ServerModel};
use crate::fingerprint::Fingerprint;
use crate::knowledge::{Sort, Var};

/// Enumerates the secrets in a value, so that the engine can forget those that no value contains any more.
///
/// Omitting one is a mistake that could lose facts about it, so there is no default. For a struct without
/// secrets write `confute::plain!(Type)`, otherwise `confute::secrets!(Type { field, field })`.
pub trait HasVars {
    /// Calls `visit` with every variable in the value.
    fn vars(&self, visit: &mut dyn FnMut(Var));
}

/// Declares that values of these types contain no secrets.
#[macro_export]
macro_rules! plain {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::lang::HasVars for $type {
            fn vars(&self, _: &mut dyn FnMut($crate::knowledge::Var)) {}
        }
    )+};
}

/// Declares the fields of a struct that may contain secrets.
#[macro_export]
macro_rules! secrets {
    ($type:ty { $($field:ident),+ $(,)? }) => {
        impl $crate::lang::HasVars for $type {
            fn vars(&self, visit: &mut dyn FnMut($crate::knowledge::Var)) {
                $($crate::lang::HasVars::vars(&self.$field, visit);)+
            }
        }
    };
}

plain!((), bool, char, u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, String, &'static str, super::Conn);
plain!(std::sync::Arc<str>, Rc<str>);

impl<T: Secret> HasVars for Sym<T> {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        Sym::vars(self, visit);
    }
}

impl<T: HasVars> HasVars for Option<T> {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        self.iter().for_each(|inner| inner.vars(visit));
    }
}

impl<T: HasVars> HasVars for Vec<T> {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        self.iter().for_each(|inner| inner.vars(visit));
    }
}

impl<A: HasVars, B: HasVars> HasVars for (A, B) {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        self.0.vars(visit);
        self.1.vars(visit);
    }
}

/// Content of a cell, with its type erased. Implemented for every suitable type.
pub trait CellData: Any + Debug {
    /// Calls `visit` with every secret in the value.
    fn secrets(&self, visit: &mut dyn FnMut(Var));
    /// Returns the value as [`Any`], for downcasting.
    fn as_any(&self) -> &dyn Any;
}

impl<T: Clone + Eq + Hash + Debug + HasVars + 'static> CellData for T {
    fn secrets(&self, visit: &mut dyn FnMut(Var)) {
        self.vars(visit);
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A value in a cell, with its fingerprint.
#[derive(Debug)]
pub struct CellValue<T: ?Sized> {
    /// Fingerprint of the value.
    pub fingerprint: Fingerprint,
    /// The value.
    pub data: T,
}

/// A shared value of any type.
pub type Val = Rc<CellValue<dyn CellData>>;

/// Key of a cell, with its type erased. Implemented for every suitable type.
pub trait CellKey: Any + Debug {
    /// Returns the fingerprint of the key.
    fn fingerprint(&self) -> Fingerprint;
    /// Returns `true` if both keys are equal.
    fn same(&self, other: &dyn CellKey) -> bool;
    /// Returns an owned copy.
    fn keep(&self) -> Rc<dyn CellKey>;
    /// Returns the key as [`Any`], for downcasting.
    fn as_any(&self) -> &dyn Any;
}

impl<K: Clone + Eq + Hash + Debug + 'static> CellKey for K {
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self)
    }
    fn same(&self, other: &dyn CellKey) -> bool {
        other.as_any().downcast_ref::<K>() == Some(self)
    }
    fn keep(&self) -> Rc<dyn CellKey> {
        Rc::new(self.clone())
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Specification of a cell: its identity and its initial content.
pub struct CellSpec<'a> {
    /// Name of the table.
    pub table: &'static str,
    /// Key of the cell in the table.
    pub key: &'a dyn CellKey,
    /// Constructor of the unknown initial content; `None` if the cell starts empty.
    pub initial: Option<&'a dyn Fn(&mut Fresh<'_>) -> Val>,
}

impl Debug for CellSpec<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{:?}]", self.table, self.key)
    }
}

/// Source of the secrets in a cell's unknown initial content.
pub struct Fresh<'a> {
    pub(crate) cause: Cause,
    pub(crate) next: u32,
    pub(crate) declare: &'a mut dyn FnMut(Var, Sort),
}

impl Fresh<'_> {
    /// Returns a new secret.
    pub fn fresh<T: Secret>(&mut self) -> Sym<T> {
        let var = Var(self.cause.named(self.next));
        self.next += 1;
        (self.declare)(var, T::SORT);
        Sym::var(var)
    }
}

/// A table of cells of the same kind. It is only a typed name; the content belongs to the hypothesis.
pub struct Table<K, V> {
    name: &'static str,
    initial: Option<fn(&mut Fresh<'_>, &K) -> V>,
    kind: PhantomData<fn(K) -> V>,
}

impl<K, V> Table<K, V>
where
    K: Clone + Eq + Hash + Debug + 'static,
    V: Clone + Eq + Hash + Debug + HasVars + 'static,
{
    /// Returns a table whose cells start empty. Names of tables must differ within a model.
    pub const fn new(name: &'static str) -> Self {
        Self { name, initial: None, kind: PhantomData }
    }

    /// Returns a table whose cells start with unknown content.
    pub const fn unknown(name: &'static str, initial: fn(&mut Fresh<'_>, &K) -> V) -> Self {
        Self { name, initial: Some(initial), kind: PhantomData }
    }

    /// Returns the name of the table.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Opens a cell for reading only.
    pub fn view<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>, key: &K) -> Result<Slot<V>, Stop> {
        self.open(io, key, Access::Read)
    }

    /// Opens a cell for writing.
    pub fn edit<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>, key: &K) -> Result<Slot<V>, Stop> {
        self.open(io, key, Access::Write)
    }

    /// Opens a cell for reading and reads it.
    pub fn get<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>, key: &K) -> Result<Option<V>, Stop> {
        self.view(io, key)?.get(io)
    }

    /// Opens a cell for writing and writes it.
    pub fn set<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>, key: &K, value: V) -> Turn {
        self.edit(io, key)?.set(io, value)
    }

    /// Returns the key of some cell that was ever opened. An internal turn uses it to choose its cell.
    pub fn pick<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>) -> Result<K, Stop> {
        self.key(io.handler().pick(self.name)?.as_any())
    }

    /// Returns every cell that is not empty, ordered by key. Requires [`Io::whole`].
    pub fn entries<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>) -> Result<Vec<(K, V)>, Stop>
    where
        K: Ord,
    {
        let mut entries = Vec::new();
        for (key, cell) in io.handler().scan(self.name)? {
            let slot = Slot { cell, table: self.name, kind: PhantomData };
            if let Some(value) = slot.get(io)? {
                entries.push((self.key(key.as_any())?, value));
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(entries)
    }

    fn key(&self, key: &dyn Any) -> Result<K, Stop> {
        key.downcast_ref::<K>().cloned().ok_or_else(|| Mistake::WrongType { table: self.name }.into())
    }

    fn open<S: ServerModel + ?Sized>(
        &self,
        io: &mut Io<'_, S>,
        key: &K,
        access: Access,
    ) -> Result<Slot<V>, Stop> {
        let make = self.initial.map(|initial| move |fresh: &mut Fresh<'_>| store(initial(fresh, key)));
        let initial = make.as_ref().map(|make| make as &dyn Fn(&mut Fresh<'_>) -> Val);
        let cell = io.handler().open(&CellSpec { table: self.name, key, initial }, access)?;
        Ok(Slot { cell, table: self.name, kind: PhantomData })
    }
}

impl<K: Clone + Eq + Hash + Debug + 'static> Table<K, Text> {
    /// Opens a cell to append to its text. A turn that only appends (see [`Slot::append`]) makes the search
    /// faster: later reads reveal the order of the additions.
    pub fn grow<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>, key: &K) -> Result<Slot<Text>, Stop> {
        self.open(io, key, Access::Grow)
    }
}

impl Slot<Text> {
    /// Appends to the text in the cell.
    pub fn append<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>, more: &Text) -> Turn {
        self.update(io, |before| Some(before.unwrap_or_default().append(more)))
    }
}

/// An open cell.
pub struct Slot<V> {
    cell: u32,
    table: &'static str,
    kind: PhantomData<fn() -> V>,
}

impl<V: Clone + Eq + Hash + Debug + HasVars + 'static> Slot<V> {
    /// Returns the content of the cell.
    pub fn get<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>) -> Result<Option<V>, Stop> {
        let value = io.handler().read(self.cell)?;
        self.typed(value)
    }

    /// Sets the content of the cell.
    pub fn set<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>, value: V) -> Turn {
        io.handler().write(self.cell, Some(store(value)))
    }

    /// Changes the content without reading it: the turn does not learn the old content, so nothing else it
    /// does can depend on it. Where that suffices, the search has fewer alternatives to try.
    pub fn update<S: ServerModel + ?Sized>(
        &self,
        io: &mut Io<'_, S>,
        change: impl Fn(Option<V>) -> Option<V>,
    ) -> Turn {
        io.handler().update(self.cell, &|before| Ok(change(self.typed(before)?).map(store)))
    }

    fn typed(&self, value: Option<Val>) -> Result<Option<V>, Stop> {
        let Some(value) = value else { return Ok(None) };
        match value.data.as_any().downcast_ref::<V>() {
            Some(value) => Ok(Some(value.clone())),
            None => Err(Mistake::WrongType { table: self.table }.into()),
        }
    }

    /// Empties the cell.
    pub fn clear<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>) -> Turn {
        io.handler().write(self.cell, None)
    }
}

/// A single cell.
pub struct Register<V>(Table<(), V>);

impl<V: Clone + Eq + Hash + Debug + HasVars + 'static> Register<V> {
    /// Returns a register that starts empty.
    pub const fn new(name: &'static str) -> Self {
        Self(Table::new(name))
    }

    /// Opens the register for writing.
    pub fn edit<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>) -> Result<Slot<V>, Stop> {
        self.0.edit(io, &())
    }

    /// Reads the register.
    pub fn get<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>) -> Result<Option<V>, Stop> {
        self.0.get(io, &())
    }

    /// Writes the register.
    pub fn set<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>, value: V) -> Turn {
        self.0.set(io, &(), value)
    }
}

/// Wraps a value with its fingerprint, for a cell.
pub(super) fn store<V: Clone + Eq + Hash + Debug + HasVars + 'static>(value: V) -> Val {
    let mut hasher = crate::fingerprint::FingerprintHasher::default();
    value.hash(&mut hasher);
    hasher.write_u8(0xce);
    Rc::new(CellValue { fingerprint: hasher.fingerprint(), data: value })
}
