//! Threads that perform calls at the same time, and the recording of what they did.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{PoisonError, RwLock};

use confute::random::Random;
use confute::trace::{Event, WireConn};
use confute_drive::{Exchange, Peer};
use confute_service::{Message, script};

/// Binary logarithm of the largest number of turns of an empty loop before a thread makes its first call of a round.
const PAUSE: u64 = 9;
/// Number of turns of an empty loop after which a thread that waits for others lets them run: there may be more threads than cores.
const SPINS: u32 = 64;

/// A call with its response and the numbers of its beginning and its end.
struct Done<M> {
    index: usize,
    began: u64,
    ended: u64,
    /// The response, or the message of a panic.
    response: Result<M, String>,
}

/// The reason why a round could not be performed.
const GONE: &str = "a thread that makes the calls has ended";

/// The calls of a thread in one round, with their indexes in the script.
type Orders<M> = Vec<(usize, M)>;

/// Threads that wait for rounds.
pub(super) struct Crew<'a, M, T> {
    object: &'a RwLock<Option<T>>,
    orders: Vec<Sender<Orders<M>>>,
    done: Receiver<Vec<Done<M>>>,
    gate: &'a Gate,
}

/// The synchronisation of a crew.
#[derive(Default)]
struct Gate {
    /// Number of threads that are ready for their first call of this round.
    ready: AtomicUsize,
    /// Number of threads that have calls in this round.
    busy: AtomicUsize,
    /// The common order of all beginnings and ends of calls.
    clock: AtomicU64,
}

/// A case: an object, and everything that was called on it.
pub(super) struct Run<M, T> {
    object: Option<T>,
    past: Vec<Exchange<M, M>>,
    /// Exchanges of each round, as indexes in `past`.
    rounds: Vec<std::ops::Range<usize>>,
    events: Vec<Event<M>>,
    overlapping: u64,
}

impl<M: Message, T> Run<M, T> {
    pub(super) fn new(object: T) -> Self {
        Self {
            object: Some(object),
            past: Vec::new(),
            rounds: Vec::new(),
            events: Vec::new(),
            overlapping: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.past.len()
    }

    /// Returns the calls so far with their responses, in the order of the script.
    pub(super) fn past(&self) -> &[Exchange<M, M>] {
        &self.past
    }

    pub(super) fn rounds(&self) -> &[std::ops::Range<usize>] {
        &self.rounds
    }

    pub(super) fn events(&self) -> &[Event<M>] {
        &self.events
    }

    /// Returns the number of calls that began while another was under way.
    pub(super) fn overlapping(&self) -> u64 {
        self.overlapping
    }
}

/// Runs something with threads that perform calls for it.
pub(super) fn with<M: Message, T: Send + Sync, R>(
    threads: usize,
    seed: u64,
    call: &(impl Fn(&T, &M) -> M + Sync),
    body: impl FnOnce(&Crew<'_, M, T>) -> R,
) -> R {
    let (object, gate) = (RwLock::new(None), Gate::default());
    std::thread::scope(|scope| {
        let (results, done) = channel();
        let mut orders = Vec::new();
        for thread in 0..threads {
            let (gate, object, results) = (&gate, &object, results.clone());
            let (order, received) = channel();
            orders.push(order);
            let random = Random::new(seed ^ thread as u64);
            scope.spawn(move || attend(random, gate, object, &received, &results, call));
        }
        // The threads end when nobody can give them orders any more.
        body(&Crew { object: &object, orders, done, gate: &gate })
    })
}

/// The life of a thread: round after round.
fn attend<M: Message, T>(
    mut random: Random,
    gate: &Gate,
    object: &RwLock<Option<T>>,
    orders: &Receiver<Orders<M>>,
    results: &Sender<Vec<Done<M>>>,
    call: &(impl Fn(&T, &M) -> M + Sync),
) {
    while let Ok(calls) = orders.recv() {
        let object = object.read().unwrap_or_else(PoisonError::into_inner);
        let Some(object) = &*object else { return };
        let longest = 1 << random.below(PAUSE + 1);
        let pause = random.below(longest);
        gate.ready.fetch_add(1, Ordering::SeqCst);
        let mut spins = 0;
        while gate.ready.load(Ordering::SeqCst) < gate.busy.load(Ordering::SeqCst) {
            std::hint::spin_loop();
            spins += 1;
            if spins % SPINS == 0 {
                std::thread::yield_now();
            }
        }
        (0..pause).for_each(|_| std::hint::spin_loop());
        let mut done = Vec::with_capacity(calls.len());
        for (index, request) in calls {
            let began = gate.clock.fetch_add(1, Ordering::SeqCst);
            let response = catch_unwind(AssertUnwindSafe(|| call(object, &request)));
            let ended = gate.clock.fetch_add(1, Ordering::SeqCst);
            let response = response.map_err(|panic| {
                let text = panic.downcast_ref::<&str>().map(ToString::to_string);
                text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
            });
            done.push(Done { index, began, ended, response });
        }
        if results.send(done).is_err() {
            return;
        }
    }
}

impl<M: Message, T> Crew<'_, M, T> {
    /// Performs a round of calls, given by thread, and waits for all of them. Calls that refer to something that was never seen are left out.
    pub(super) fn perform(&self, run: &mut Run<M, T>, round: &[Vec<M>]) -> Result<(), String> {
        let first = run.past.len();
        let mut calls = vec![Vec::new(); self.orders.len()];
        let mut step = first;
        for (thread, asks) in round.iter().enumerate() {
            for ask in asks {
                if let Some(request) = script::resolved(ask, "c", &run.past[..first]) {
                    calls[thread].push((step, request.clone()));
                    let on = Peer::Opened(thread as u32);
                    run.past.push(Exchange { step, on, ask: ask.clone(), request, replies: Vec::new() });
                    step += 1;
                }
            }
        }
        let busy = calls.iter().filter(|calls| !calls.is_empty()).count();
        if busy == 0 {
            return Ok(());
        }
        self.gate.ready.store(0, Ordering::SeqCst);
        self.gate.busy.store(busy, Ordering::SeqCst);
        let set = |object| {
            let mut shared = self.object.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *shared, object)
        };
        set(run.object.take());
        for (order, calls) in self.orders.iter().zip(calls) {
            if !calls.is_empty() {
                order.send(calls).map_err(|_| GONE.to_owned())?;
            }
        }
        let done = (0..busy).map(|_| self.done.recv().map_err(|_| GONE.to_owned()));
        let done = done.collect::<Result<Vec<_>, _>>()?;
        run.object = set(None);
        run.rounds.push(first..run.past.len());
        collect(run, done.into_iter().flatten())
    }
}

/// Adds the events of a round in their common order.
fn collect<M: Message, T>(run: &mut Run<M, T>, done: impl Iterator<Item = Done<M>>) -> Result<(), String> {
    let mut marks = Vec::new();
    for done in done {
        let exchange = &mut run.past[done.index];
        let Peer::Opened(thread) = exchange.on else { continue };
        let response = done.response.map_err(|why| {
            format!("`{}` panicked: {why}. A call returns a response to every request", exchange.request)
        })?;
        exchange.replies.push(response.clone());
        marks.push((done.began, Event::Sent(WireConn(thread), exchange.request.clone())));
        marks.push((done.ended, Event::Received(WireConn(thread), response)));
    }
    marks.sort_by_key(|(mark, _)| *mark);
    let mut open = 0;
    for (_, event) in marks {
        if matches!(event, Event::Sent(..)) {
            run.overlapping += u64::from(open > 0);
            open += 1;
        } else {
            open -= 1;
        }
        run.events.push(event);
    }
    Ok(())
}
