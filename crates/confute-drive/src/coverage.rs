//! Which rules of a model were put to the test: an interpreter around another (the paper's Fig 8) that notes what is asked.
//!
//! A rule counts as soon as some hypothesis asked whether it is broken. So one that is not counted was surely never put to
//! the test; one that is counted was at least considered.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use confute::knowledge::{Literal, Sort, Var};
use confute::lang::{
    Access, CellKey, CellSpec, Change, Conn, Handler, Incoming, Io, Rule, Scope, ServerModel, Stop, Turn, Val,
};

/// How many places of rules are remembered.
const PLACES: usize = 256;

/// Notes rules.
#[derive(Debug)]
pub(crate) struct Coverage {
    /// Where rules lie that were noted of late: this is asked for all the time, and their names would be slow to look up.
    recent: [Cell<usize>; PLACES],
    names: RefCell<BTreeSet<&'static str>>,
}

impl Default for Coverage {
    fn default() -> Self {
        Self { recent: [const { Cell::new(0) }; PLACES], names: RefCell::default() }
    }
}

impl Coverage {
    #[inline]
    fn note(&self, rule: &'static Rule) {
        let place = std::ptr::from_ref(rule).addr();
        let recent = &self.recent[place / align_of::<Rule>() % PLACES];
        if recent.replace(place) != place {
            self.names.borrow_mut().insert(rule.name);
        }
    }

    pub(crate) fn names(&self) -> BTreeSet<&'static str> {
        self.names.borrow().clone()
    }
}

/// The same model, watched.
pub(crate) struct Watched<'a, S>(pub(crate) &'a S, pub(crate) &'a Coverage);

impl<S: ServerModel> ServerModel for Watched<'_, S> {
    type Msg = S::Msg;
    type Out = S::Out;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        self.0.serve(&mut Io::new(&mut Watch { inner: io.handler(), coverage: self.1 }))
    }

    fn internal(&self, io: &mut Io<'_, Self>) -> Turn {
        self.0.internal(&mut Io::new(&mut Watch { inner: io.handler(), coverage: self.1 }))
    }

    fn may_grow_into(&self, sent: &S::Out, seen: &S::Msg) -> bool {
        self.0.may_grow_into(sent, seen)
    }

    fn rules(&self) -> &'static [Rule] {
        self.0.rules()
    }
}

struct Watch<'a, M, O> {
    inner: &'a mut dyn Handler<M, O>,
    coverage: &'a Coverage,
}

impl<M, O> Handler<M, O> for Watch<'_, M, O> {
    fn recv(&mut self, from: Option<Conn>, closes: bool) -> Result<(Conn, Incoming<M>), Stop> {
        self.inner.recv(from, closes)
    }

    fn send(&mut self, to: Conn, message: O) -> Turn {
        self.inner.send(to, message)
    }

    fn connect(&mut self) -> Result<Conn, Stop> {
        self.inner.connect()
    }

    fn close(&mut self, conn: Conn) -> Turn {
        self.inner.close(conn)
    }

    fn fresh(&mut self, sort: Sort) -> Result<Var, Stop> {
        self.inner.fresh(sort)
    }

    fn decide(&mut self, literal: &Literal) -> Result<bool, Stop> {
        self.inner.decide(literal)
    }

    fn assume(&mut self, literal: &Literal) -> Turn {
        self.inner.assume(literal)
    }

    fn choose(&mut self, options: usize) -> Result<usize, Stop> {
        self.inner.choose(options)
    }

    fn deviates(&mut self, rule: &'static Rule) -> Result<bool, Stop> {
        self.coverage.note(rule);
        self.inner.deviates(rule)
    }

    fn scope(&mut self, scope: Scope) -> Turn {
        self.inner.scope(scope)
    }

    fn open(&mut self, cell: &CellSpec<'_>, access: Access) -> Result<u32, Stop> {
        self.inner.open(cell, access)
    }

    fn read(&mut self, cell: u32) -> Result<Option<Val>, Stop> {
        self.inner.read(cell)
    }

    fn write(&mut self, cell: u32, value: Option<Val>) -> Turn {
        self.inner.write(cell, value)
    }

    fn update(&mut self, cell: u32, change: &Change<'_>) -> Turn {
        self.inner.update(cell, change)
    }

    fn pick(&mut self, table: &'static str) -> Result<Rc<dyn CellKey>, Stop> {
        self.inner.pick(table)
    }

    fn scan(&mut self, table: &'static str) -> Result<Vec<(Rc<dyn CellKey>, u32)>, Stop> {
        self.inner.scan(table)
    }
}
