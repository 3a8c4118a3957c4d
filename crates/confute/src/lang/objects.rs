//! Objects: cells whose keys the server chooses, and that can be listed.
//!
//! A [`Table`](super::Table) is keyed by names that the client chooses. Where the server chooses the key (the id of an order, the
//! number of a ticket) a request that creates an object does not contain it. [`Objects`] is a table for these:
//!
//! ```
//! use confute::knowledge::Value;
//! use confute::lang::{Io, Number, Objects, ServerModel, Sym, Turn};
//! # use confute::lang::{Mismatch, Pattern};
//! # use confute::knowledge::{Knowledge, Var};
//! # #[derive(Clone, Debug, PartialEq, Eq, Hash)]
//! # enum Msg { Add(String), Get(i64), Remove(i64), Ids, Added(i64), Text(String), Gone, All(Vec<i64>) }
//! # impl std::fmt::Display for Msg {
//! #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, "{self:?}") }
//! # }
//! # #[derive(Clone, Debug, PartialEq, Eq, Hash)]
//! # enum Out { Added(Sym<Number>), Text(String), Gone, All(Vec<Sym<Number>>) }
//! # impl std::fmt::Display for Out {
//! #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, "{self:?}") }
//! # }
//! # impl Pattern<Msg> for Out {
//! #     fn unify(&self, seen: &Msg, facts: &mut Knowledge) -> Result<(), Mismatch> {
//! #         match (self, seen) {
//! #             (Out::Added(id), Msg::Added(seen)) => id.unify(seen, facts),
//! #             (Out::Text(text), Msg::Text(seen)) if text == seen => Ok(()),
//! #             (Out::Gone, Msg::Gone) => Ok(()),
//! #             (Out::All(ids), Msg::All(seen)) if ids.len() == seen.len() =>
//! #                 ids.iter().zip(seen).try_for_each(|(id, seen)| id.unify(seen, facts)),
//! #             _ => Err(Mismatch),
//! #         }
//! #     }
//! #     fn instantiate(&self, _: &mut dyn FnMut(Var) -> Value) -> Msg { Msg::Gone }
//! #     fn vars(&self, _: &mut dyn FnMut(Var)) {}
//! # }
//! const NOTES: Objects<Number, String> = Objects::new("notes");
//!
//! struct Notes;
//!
//! impl ServerModel for Notes {
//!     type Msg = Msg;
//!     type Out = Out;
//!
//!     fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
//!         let (conn, request) = io.recv()?;
//!         match &*request {
//!             Msg::Add(text) => {
//!                 let (id, slot) = NOTES.create(io)?;
//!                 slot.set(io, text.clone())?;
//!                 io.send(conn, Out::Added(id))
//!             }
//!             Msg::Get(id) => {
//!                 let found = NOTES.find(io, &Sym::known(id))?.get(io)?;
//!                 io.send(conn, found.map_or(Out::Gone, Out::Text))
//!             }
//!             Msg::Remove(id) => {
//!                 NOTES.edit(io, &Sym::known(id))?.remove(io)?;
//!                 io.send(conn, Out::Gone)
//!             }
//!             _ => {
//!                 let all = NOTES.list(io)?.into_iter().map(|(id, _)| id).collect();
//!                 io.send(conn, Out::All(all))
//!             }
//!         }
//!     }
//!
//!     fn told(&self, message: &Msg, visit: &mut dyn FnMut(Value)) {
//!         match message {
//!             Msg::Added(id) | Msg::Get(id) | Msg::Remove(id) => visit(Value::Int(*id)),
//!             Msg::All(ids) => ids.iter().for_each(|id| visit(Value::Int(*id))),
//!             _ => {}
//!         }
//!     }
//! }
//! # use confute::network::Tcp;
//! # use confute::trace::{Event, WireConn};
//! # let (c, d) = (WireConn(0), WireConn(1));
//! # let events = [
//! #     Event::Sent(c, Msg::Add("a".into())), Event::Sent(d, Msg::Add("b".into())),
//! #     Event::Received(c, Msg::Added(7)), Event::Received(d, Msg::Added(3)),
//! #     Event::Sent(c, Msg::Get(7)), Event::Received(c, Msg::Text("a".into())),
//! #     Event::Sent(c, Msg::Ids), Event::Received(c, Msg::All(vec![3, 7])),
//! # ];
//! # let tcp = Tcp { breaks: false };
//! # assert!(confute::judge(&Notes, &tcp, &events, &confute::Options::default()).is_unrefuted());
//! # let wrong = [&events[..5], &[Event::Received(c, Msg::Text("b".into()))]].concat();
//! # assert!(confute::judge(&Notes, &tcp, &wrong, &confute::Options::default()).is_refuted());
//! ```
//!
//! # How objects stay cheap
//!
//! Each id has a cell of its own, so requests about different objects are searched separately. A request names its id, and its
//! footprint follows. A request that *creates* an object gets its footprint from its response: [`ServerModel::told`] visits the ids in
//! it. Therefore such a request is judged when its response is there; a request that *lists* objects when the responses to all requests are
//! there that can have created an object before. Until then the events behind it wait too ([`Tester::lag`](crate::Tester::lag)).
//!
//! A request whose response never comes may have created an object of any id that is mentioned anywhere, or of none of these. It is
//! judged with all of them.
//!
//! Interpreters other than the search need none of this: the provided methods of [`Handler`] define objects by
//! [`fresh`](Handler::fresh), [`scan`](Handler::scan) and [`decide`](Handler::decide).

use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

use super::cells::{CellKey, CellSpec, HasVars, Val, store};
use super::handler::{Access, Handler, Scope, Stop, Turn};
use super::mistake::Mistake;
use super::rule::Rule;
use super::sym::{Secret, Sym};
use super::{Io, ServerModel};
use crate::knowledge::{Literal, Sort, Term, Value, Var};

/// A table of objects, with its types erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectTable {
    /// Name of the table.
    pub name: &'static str,
    /// Sort of the ids.
    pub sort: Sort,
}

/// Key of an object's cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKey {
    /// An id that some message contains.
    Told(Value),
    /// An id that the server chose and that no message contains, so far.
    Made(Var),
}

impl ObjectKey {
    /// Returns the id.
    pub fn term(&self) -> Term {
        match self {
            ObjectKey::Told(value) => Term::Const(value.clone()),
            ObjectKey::Made(var) => Term::Var(*var),
        }
    }

    /// Returns the key of the object with this id.
    pub fn of(id: &Term) -> Self {
        match id {
            Term::Const(value) => ObjectKey::Told(value.clone()),
            Term::Var(var) => ObjectKey::Made(*var),
        }
    }

    pub(crate) fn from_key(key: &dyn CellKey) -> Option<&Self> {
        key.as_any().downcast_ref()
    }
}

/// Content of an object's cell. The cell of an object that was never created is empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Object<V> {
    id: Term,
    /// The value; `None` once the object is removed.
    value: Option<V>,
}

impl<V: HasVars> HasVars for Object<V> {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        if let Term::Var(var) = self.id {
            visit(var);
        }
        self.value.vars(visit);
    }
}

/// Reuse of ids.
#[derive(Clone, Copy)]
enum Again {
    Never,
    Deviating(&'static Rule),
    AfterRemoval,
}

/// A table of objects whose ids the server chooses. It is only a typed name; the content belongs to the hypothesis. See the
/// [module](self) for an example.
pub struct Objects<T, V> {
    name: &'static str,
    again: Again,
    kind: PhantomData<fn(T) -> V>,
}

impl<T, V> Objects<T, V>
where
    T: Secret,
    V: Clone + Eq + Hash + Debug + HasVars + 'static,
{
    /// Returns a table without objects, in which no id is ever given twice. Names of tables must differ within a model.
    pub const fn new(name: &'static str) -> Self {
        Self { name, again: Again::Never, kind: PhantomData }
    }

    /// Names the rule that no id is given twice. Without it a server that does so is refuted as well, but no rule is blamed.
    #[must_use]
    pub const fn never_twice(self, rule: &'static Rule) -> Self {
        Self { again: Again::Deviating(rule), ..self }
    }

    /// Allows the server to give the id of a removed object to a new one.
    #[must_use]
    pub const fn reuses(self) -> Self {
        Self { again: Again::AfterRemoval, ..self }
    }

    /// Returns the name of the table.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Makes room for a new object, with an id that the server chooses in secret. The object exists once its slot is
    /// [set](ObjectSlot::set); a turn that does not set it has created nothing.
    ///
    /// A turn that creates an object tells its id in its response ([`ServerModel::told`]).
    pub fn create<S: ServerModel + ?Sized>(
        &self,
        io: &mut Io<'_, S>,
    ) -> Result<(Sym<T>, ObjectSlot<V>), Stop> {
        let (id, cell) = io.handler().create(self.erased())?;
        Ok((Sym::of(id.clone()), self.slot(id, cell, true)))
    }

    /// Opens the cell of the object with this id for reading only.
    pub fn find<S: ServerModel + ?Sized>(
        &self,
        io: &mut Io<'_, S>,
        id: &Sym<T>,
    ) -> Result<ObjectSlot<V>, Stop> {
        let cell = io.handler().find(self.erased(), id.term(), Access::Read)?;
        Ok(self.slot(id.term().clone(), cell, false))
    }

    /// Opens the cell of the object with this id for writing. Setting it where there is no object creates one: an id that the
    /// client chose.
    pub fn edit<S: ServerModel + ?Sized>(
        &self,
        io: &mut Io<'_, S>,
        id: &Sym<T>,
    ) -> Result<ObjectSlot<V>, Stop> {
        let cell = io.handler().find(self.erased(), id.term(), Access::Write)?;
        Ok(self.slot(id.term().clone(), cell, false))
    }

    /// Returns all objects, ordered by id as far as ids are known, which they are unless the request that created the object got no
    /// response.
    pub fn list<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>) -> Result<Vec<(Sym<T>, V)>, Stop> {
        let mut found = Vec::new();
        for (id, cell) in io.handler().roster(self.erased())? {
            let value = io.handler().read(cell)?;
            if let Some(Object { value: Some(value), .. }) = self.typed(value)? {
                found.push((id, value));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found.into_iter().map(|(id, value)| (Sym::of(id), value)).collect())
    }

    fn slot(&self, id: Term, cell: u32, is_new: bool) -> ObjectSlot<V> {
        ObjectSlot { table: self.erased(), again: self.again, id, cell, is_new, kind: PhantomData }
    }

    fn erased(&self) -> ObjectTable {
        ObjectTable { name: self.name, sort: T::SORT }
    }

    fn typed(&self, value: Option<Val>) -> Result<Option<Object<V>>, Stop> {
        typed(self.name, value)
    }
}

fn typed<V: Clone + 'static>(table: &'static str, value: Option<Val>) -> Result<Option<Object<V>>, Stop> {
    let Some(value) = value else { return Ok(None) };
    match value.data.as_any().downcast_ref::<Object<V>>() {
        Some(value) => Ok(Some(value.clone())),
        None => Err(Mistake::WrongType { table }.into()),
    }
}

/// The cell of an object.
pub struct ObjectSlot<V> {
    table: ObjectTable,
    again: Again,
    id: Term,
    cell: u32,
    /// `true` if the slot was made by [`Objects::create`].
    is_new: bool,
    kind: PhantomData<fn() -> V>,
}

impl<V: Clone + Eq + Hash + Debug + HasVars + 'static> ObjectSlot<V> {
    /// Returns the object; `None` if it was never created, or is removed.
    pub fn get<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>) -> Result<Option<V>, Stop> {
        let value = io.handler().read(self.cell)?;
        Ok(typed::<V>(self.table.name, value)?.and_then(|object| object.value))
    }

    /// Returns `true` if there was such an object and it is removed.
    pub fn is_removed<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>) -> Result<bool, Stop> {
        let value = io.handler().read(self.cell)?;
        Ok(typed::<V>(self.table.name, value)?.is_some_and(|object| object.value.is_none()))
    }

    /// Sets the object. In the slot of a new object this is the moment of its creation: its id differs from those of all other objects.
    pub fn set<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>, value: V) -> Turn {
        let mut cell = self.cell;
        if self.is_new {
            let (claimed, before) = io.handler().claim(self.table, self.cell, &self.id)?;
            let before = typed::<V>(self.table.name, before)?;
            let is_taken = match (self.again, before) {
                (_, None) | (Again::AfterRemoval, Some(Object { value: None, .. })) => false,
                (Again::Deviating(rule), _) => !io.deviates(rule)?,
                _ => true,
            };
            if is_taken {
                return Err(Stop::Dead);
            }
            cell = claimed;
        }
        io.handler().write(cell, Some(store(Object { id: self.id.clone(), value: Some(value) })))
    }

    /// Returns the object that already has the id of this new one, if there is one, for a model that decides by itself whether an id may
    /// be given again: [`set`](Self::set) then replaces it, whatever the table says about reuse. Models of other servers
    /// need not call it.
    pub fn taken<S: ServerModel + ?Sized>(&mut self, io: &mut Io<'_, S>) -> Result<Option<V>, Stop> {
        if !self.is_new {
            return self.get(io);
        }
        let (claimed, before) = io.handler().claim(self.table, self.cell, &self.id)?;
        (self.cell, self.is_new) = (claimed, false);
        Ok(typed::<V>(self.table.name, before)?.and_then(|object| object.value))
    }

    /// Removes the object. Its id is not free again, unless the table [reuses](Objects::reuses) ids.
    pub fn remove<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>) -> Turn {
        let before = io.handler().read(self.cell)?;
        if typed::<V>(self.table.name, before)?.is_none() {
            return Ok(());
        }
        io.handler().write(self.cell, Some(store(Object::<V> { id: self.id.clone(), value: None })))
    }
}

/// The meaning of [`Handler::create`]: a cell that is named by a new secret.
pub(super) fn create<M, O, H: Handler<M, O> + ?Sized>(
    handler: &mut H,
    table: ObjectTable,
) -> Result<(Term, u32), Stop> {
    handler.scope(Scope::Whole)?;
    let var = handler.fresh(table.sort)?;
    let cell = open(handler, table, &ObjectKey::Made(var), Access::Write)?;
    Ok((Term::Var(var), cell))
}

/// The meaning of [`Handler::find`]: the object whose id is equal, or an empty cell.
pub(crate) fn find<M, O, H: Handler<M, O> + ?Sized>(
    handler: &mut H,
    table: ObjectTable,
    id: &Term,
    access: Access,
) -> Result<u32, Stop> {
    let key = match other(handler, table, None, id)? {
        Some(key) => key,
        None => ObjectKey::of(id),
    };
    open(handler, table, &key, access)
}

/// The meaning of [`Handler::claim`]: the cell of the object that has the id of a new one, with its content, or the new cell.
pub(super) fn claim<M, O, H: Handler<M, O> + ?Sized>(
    handler: &mut H,
    table: ObjectTable,
    cell: u32,
    id: &Term,
) -> Result<(u32, Option<Val>), Stop> {
    match other(handler, table, Some(cell), id)? {
        Some(key) => {
            let taken = open(handler, table, &key, Access::Write)?;
            let content = handler.read(taken)?;
            Ok((taken, content))
        }
        None => Ok((cell, None)),
    }
}

/// The meaning of [`Handler::roster`]: all cells of the table.
pub(super) fn roster<M, O, H: Handler<M, O> + ?Sized>(
    handler: &mut H,
    table: ObjectTable,
) -> Result<Vec<(Term, u32)>, Stop> {
    handler.scope(Scope::Whole)?;
    let cells = handler.scan(table.name)?.into_iter();
    Ok(cells.filter_map(|(key, cell)| Some((ObjectKey::from_key(&*key)?.term(), cell))).collect())
}

/// Returns the key of an object that was created and has this id, other than the one whose id it is.
fn other<M, O, H: Handler<M, O> + ?Sized>(
    handler: &mut H,
    table: ObjectTable,
    except: Option<u32>,
    id: &Term,
) -> Result<Option<ObjectKey>, Stop> {
    for (term, cell) in handler.roster(table)? {
        let is_own = except.is_some() && term == *id;
        if !is_own
            && handler.read(cell)?.is_some()
            && handler.decide(&Literal::Eq(term.clone(), id.clone()))?
        {
            return Ok(Some(ObjectKey::of(&term)));
        }
    }
    Ok(None)
}

/// Opens the cell of an object.
pub(crate) fn open<M, O, H: Handler<M, O> + ?Sized>(
    handler: &mut H,
    table: ObjectTable,
    key: &ObjectKey,
    access: Access,
) -> Result<u32, Stop> {
    handler.open(&CellSpec { table: table.name, key, initial: None }, access)
}
