//! Which rules of a model were put to the test: an interpreter around another (the paper's Fig 8) that notes what is asked.
//!
//! A rule counts as soon as some hypothesis asked whether it is broken. So one that is not counted was surely never put to
//! the test; one that is counted was at least considered.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use confute::lang::{Conn, Handler, Incoming, Io, Layer, Layered, Rule, ServerModel, Stop, Turn};

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
        self.0.serve(&mut Io::new(&mut Layered(Watch { inner: io.handler(), coverage: self.1 })))
    }

    fn internal(&self, io: &mut Io<'_, Self>) -> Turn {
        self.0.internal(&mut Io::new(&mut Layered(Watch { inner: io.handler(), coverage: self.1 })))
    }

    fn may_grow_into(&self, sent: &S::Out, seen: &S::Msg) -> bool {
        self.0.may_grow_into(sent, seen)
    }

    fn is_parallel(&self, request: &S::Msg) -> bool {
        self.0.is_parallel(request)
    }

    fn concerns(&self, rule: &Rule, message: &S::Msg) -> bool {
        self.0.concerns(rule, message)
    }

    fn rules(&self) -> &'static [Rule] {
        self.0.rules()
    }
}

struct Watch<'a, M, O> {
    inner: &'a mut dyn Handler<M, O>,
    coverage: &'a Coverage,
}

impl<M, O> Layer<M, O> for Watch<'_, M, O> {
    type Msg = M;
    type Out = O;

    fn below(&mut self) -> &mut dyn Handler<M, O> {
        &mut *self.inner
    }

    fn recv(&mut self, from: Option<Conn>, closes: bool) -> Result<(Conn, Incoming<M>), Stop> {
        self.inner.recv(from, closes)
    }

    fn send(&mut self, to: Conn, message: O) -> Turn {
        self.inner.send(to, message)
    }

    fn deviates(&mut self, rule: &'static Rule) -> Result<bool, Stop> {
        self.coverage.note(rule);
        self.inner.deviates(rule)
    }
}
