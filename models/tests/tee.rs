//! The paper's Fig 8: `tee`, an interpreter that prints inputs and outputs, written outside the library.
//!
//! An interpreter is a [`Handler`] around another. [`Tee`] wraps a model: effects and answers pass through
//! unchanged, so tester and simulator treat it as the model inside. The log contains the effects of the
//! *runs*: a simulator runs a turn once per message, a tester runs it dry first (up to the first read or
//! choice), then for every hypothesis and every answer.

use std::cell::RefCell;
use std::fmt::Display;

use confute::lang::{Conn, Handler, Incoming, Io, Layer, Layered, Rule, ServerModel, Stop, Turn};
use confute::network::{Direct, Tcp};
use confute::simulate::{ExchangePlan, exchange};
use confute::trace::{Event, WireConn};
use confute::{Options, Tester, blame, judge};
use confute_models::accumulator::Accumulator;

/// A model that logs the inputs and outputs of another.
struct Tee<M> {
    inner: M,
    log: RefCell<Vec<String>>,
}

impl<M> Tee<M> {
    fn new(inner: M) -> Self {
        Self { inner, log: RefCell::default() }
    }
}

impl<M: ServerModel> ServerModel for Tee<M> {
    type Msg = M::Msg;
    type Out = M::Out;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        self.inner.serve(&mut Io::new(&mut Layered(Printer { below: io.handler(), log: &self.log })))
    }

    fn internal(&self, io: &mut Io<'_, Self>) -> Turn {
        self.inner.internal(&mut Io::new(&mut Layered(Printer { below: io.handler(), log: &self.log })))
    }

    fn rules(&self) -> &'static [Rule] {
        self.inner.rules()
    }
}

/// The interpreter: two effects are logged, the others forwarded.
struct Printer<'a, M, O> {
    below: &'a mut dyn Handler<M, O>,
    log: &'a RefCell<Vec<String>>,
}

impl<M: Display, O: Display> Layer<M, O> for Printer<'_, M, O> {
    type Msg = M;
    type Out = O;

    fn below(&mut self) -> &mut dyn Handler<M, O> {
        &mut *self.below
    }

    fn recv(&mut self, from: Option<Conn>, closes: bool) -> Result<(Conn, Incoming<M>), Stop> {
        let (conn, item) = self.below.recv(from, closes)?;
        if let Incoming::Message(message) = &item {
            self.log.borrow_mut().push(format!("IN {message}"));
        }
        Ok((conn, item))
    }

    fn send(&mut self, to: Conn, message: O) -> Turn {
        self.log.borrow_mut().push(format!("OUT {message}"));
        self.below.send(to, message)
    }
}

/// Fig 8: `tee(acc(0))` behaves as `tee_acc(0)`.
#[test]
fn the_log_of_figure_8() {
    let tee = Tee::new(Accumulator);
    let mut numbers = [3, 4, 5].into_iter();
    let mut events = Vec::new();
    let plan = ExchangePlan { messages: 3, connections: 1, ..ExchangePlan::default() };
    exchange(&tee, &Direct, &plan, &mut |_, _| numbers.next().unwrap(), &mut |_, _| None, &mut |event| {
        events.push(event);
        true
    })
    .unwrap();
    let log = tee.log.take();
    assert_eq!(log, ["IN 3", "OUT 3", "IN 4", "OUT 7", "IN 5", "OUT 12"]);
    assert!(events.contains(&Event::Received(WireConn(0), 12)));
    assert!(judge(&tee, &Direct, &events, &Options::default()).is_unrefuted());
}

fn sent(conn: u32, number: i64) -> Event<i64> {
    Event::Sent(WireConn(conn), number)
}

fn received(conn: u32, number: i64) -> Event<i64> {
    Event::Received(WireConn(conn), number)
}

/// On every trace, the verdict and the blame are those of the model inside.
#[test]
fn the_same_verdicts() {
    let traces = [
        vec![sent(0, 1), sent(1, 2), received(0, 3), received(1, 2), Event::Quiescent],
        vec![sent(0, 1), sent(1, 2), received(0, 1), received(1, 2)],
        vec![sent(0, 1), received(0, 1), sent(0, 1), received(0, 1)],
        vec![sent(0, 1), Event::Quiescent],
    ];
    let (network, options) = (Tcp::default(), Options::default());
    for events in traces {
        let tee = Tee::new(Accumulator);
        let verdict = judge(&Accumulator, &network, &events, &options);
        assert_eq!(judge(&tee, &network, &events, &options), verdict);
        let mut tester = Tester::new(&tee, &network, options.clone());
        for event in &events {
            tester.observe(event.clone());
        }
        assert_eq!(tester.verdict().is_refuted(), verdict.is_refuted());
        assert_eq!(
            blame(&tee, &network, &events, &options),
            blame(&Accumulator, &network, &events, &options)
        );
        assert!(tee.log.borrow().iter().any(|line| line == "IN 1"));
    }
}

/// A tester's log shows its search: both orders of two requests are tried, and only one of them is the
/// server's.
#[test]
fn a_tester_prints_what_it_conjectures() {
    let tee = Tee::new(Accumulator);
    let events = [sent(0, 1), sent(1, 2), received(0, 3), received(1, 2)];
    assert!(judge(&tee, &Tcp::default(), &events, &Options::default()).is_unrefuted());
    let log = tee.log.take();
    println!("{log:?}");
    assert!(["IN 1", "OUT 3", "IN 2", "OUT 2"].iter().all(|line| log.iter().any(|said| said == line)));
}
