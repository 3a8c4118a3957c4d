//! Tests of code that is called from threads: a cache, a queue, a lock, any type with `&self` methods.
//!
//! There are no sockets: a call is a request, its return value the response, a thread a connection. The model is the same as that
//! of a service, and so is the judge.
//!
//! # Why a verdict is sound
//!
//! A call counts as sent before the function is entered, and as answered after it has returned. The moments are numbers from one atomic
//! counter, so that all threads agree on their order: a call that got its first number after another had got its second began after that one
//! had ended. What the code does it does between the two numbers.
//!
//! # Races
//!
//! Nothing controls the scheduler, so a race shows only if the threads happen to meet. Calls of one round begin together, after
//! random pauses, and rounds are many: a hundred thousand calls per second are usual. A race that was seen once is looked for in
//! smaller scripts. Each of them is run up to [`Calls::tries`] times, and counts if one of these runs is refuted. The report says how many runs
//! of the smallest script were.

mod crew;
mod report;
mod shrink;

use std::time::{Duration, Instant};

use confute::lang::ServerModel;
use confute::network::Tcp;
use confute::random::Random;
use confute::{Options, Verdict, judge};
use confute_run::fresh_seed;
use confute_service::script::Drawer;
use confute_service::{Message, Mix};

use crew::{Crew, Run};
pub use report::Refuted;

/// Number of calls on one object. More make a judgement longer, and a refutation harder to reduce.
const CASE: usize = 200;
/// Maximum number of turns that a judgement may take.
const TURNS: u64 = 2_000_000;
/// A connection of a thread does not break.
const NETWORK: Tcp = Tcp { breaks: false };

/// A test of code that is called from threads. See [`calls`].
pub struct Calls<S: ServerModel, Make, Call> {
    model: S,
    mix: Mix<S::Msg>,
    make: Make,
    call: Call,
    threads: usize,
    count: u64,
    max_time: Duration,
    shrink_time: Duration,
    tries: u32,
    seed: u64,
}

/// The figures of a test that refuted nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called {
    /// Number of calls that were made and judged.
    pub calls: u64,
    /// Number of objects that were made, one after the other.
    pub cases: u64,
    /// Number of cases that could not be judged within the budget.
    pub unjudged: u64,
    /// Number of calls that began while another one was under way.
    pub overlapping: u64,
}

/// Tests code that is called from threads: `make` makes a new object, and `call` performs a request on it.
///
/// ```
/// use std::sync::atomic::{AtomicI64, Ordering};
///
/// use confute_test::prelude::*;
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// enum Msg {
///     #[request("add {}")]
///     Add(i64),
///     #[response("sum {}")]
///     Sum(i64),
///     #[unreadable]
///     Odd(String),
/// }
///
/// const SUM: Register<i64> = Register::new("sum");
///
/// struct Counter;
///
/// impl ServerModel for Counter {
///     type Msg = Msg;
///     type Out = Expected<Msg>;
///     fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
///         let (conn, request) = io.recv()?;
///         let Msg::Add(number) = &*request else { return io.replies(0) };
///         let cell = SUM.edit(io)?;
///         let sum = cell.get(io)?.unwrap_or(0) + number;
///         cell.set(io, sum)?;
///         io.send(conn, Msg::Sum(sum))
///     }
/// }
///
/// let add = |counter: &AtomicI64, request: &Msg| match request {
///     Msg::Add(number) => Msg::Sum(counter.fetch_add(*number, Ordering::SeqCst) + number),
///     other => Msg::Odd(other.to_string()),
/// };
/// confute_test::calls(Counter, Mix::all(), AtomicI64::default, add).count(2_000).run();
/// ```
pub fn calls<S, T, Make, Call>(model: S, mix: Mix<S::Msg>, make: Make, call: Call) -> Calls<S, Make, Call>
where
    S: ServerModel<Msg: Message>,
    T: Send + Sync,
    Make: Fn() -> T,
    Call: Fn(&T, &S::Msg) -> S::Msg + Sync,
{
    Calls {
        model,
        mix,
        make,
        call,
        threads: 8,
        count: u64::MAX,
        max_time: Duration::from_secs(5),
        shrink_time: Duration::from_secs(10),
        tries: 5_000,
        seed: fresh_seed(),
    }
}

impl<S, T, Make, Call> Calls<S, Make, Call>
where
    S: ServerModel<Msg: Message>,
    T: Send + Sync,
    Make: Fn() -> T,
    Call: Fn(&T, &S::Msg) -> S::Msg + Sync,
{
    /// Sets the number of threads. The default is 8.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Sets the number of calls after which the test ends, and lets it take as long as that takes.
    #[must_use]
    pub fn count(mut self, count: u64) -> Self {
        self.count = count;
        self.max_time = Duration::MAX;
        self
    }

    /// Sets the testing time. The default is five seconds.
    #[must_use]
    pub fn max_time(mut self, time: Duration) -> Self {
        self.max_time = time;
        self
    }

    /// Sets the time for making a refuted case smaller. The default is ten seconds.
    #[must_use]
    pub fn shrink_time(mut self, time: Duration) -> Self {
        self.shrink_time = time;
        self
    }

    /// Sets the number of times that a smaller script is run before it counts as not refuted. The default is 5,000.
    #[must_use]
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Sets the seed of the calls. The order in which threads run has no seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Runs the test.
    ///
    /// # Panics
    ///
    /// If a case is refuted, with the smallest case that was found; if a call panics; or if most cases could not be judged.
    #[track_caller]
    pub fn run(self) -> Called {
        match self.try_run() {
            Ok(Ok(called)) if called.unjudged * 2 <= called.cases => called,
            Ok(Ok(called)) => crate::check::fail(&format!(
                "{} of {} cases could not be judged within the budget; use fewer threads, or more names (`Mix::names`)",
                called.unjudged, called.cases
            )),
            Ok(Err(refuted)) => crate::check::fail(&refuted.to_string()),
            Err(why) => crate::check::fail(&why),
        }
    }

    /// Runs the test without panicking. Returns the figures, or the refuted case; an error says why nothing could be tested.
    pub fn try_run(&self) -> Result<Result<Called, Box<Refuted<S::Msg>>>, String> {
        let drawer = Drawer::new(self.mix.clone());
        drawer.check()?;
        let call = &self.call;
        crew::with(self.threads, self.seed, call, |crew| self.go(crew, drawer))
    }

    fn go(
        &self,
        crew: &Crew<'_, S::Msg, T>,
        mut drawer: Drawer<S::Msg>,
    ) -> Result<Result<Called, Box<Refuted<S::Msg>>>, String> {
        let start = Instant::now();
        let mut random = Random::new(self.seed);
        let mut called = Called { calls: 0, cases: 0, unjudged: 0, overlapping: 0 };
        while called.calls < self.count && start.elapsed() < self.max_time {
            let mut run = Run::new((self.make)());
            // With fewer names more calls meet.
            let names = 1 + random.below(u64::from(drawer.names()));
            let most = (CASE as u64).min(self.count - called.calls);
            while (run.len() as u64) < most {
                let focus = (random.below(2) == 0).then(|| random.below(names) as u32);
                let round = self.draw(&mut drawer, &run, (focus, names), &mut random);
                crew.perform(&mut run, &round)?;
            }
            called.cases += 1;
            called.calls += run.len() as u64;
            called.overlapping += run.overlapping();
            match judge(&self.model, &NETWORK, run.events(), &self.options()) {
                Verdict::Unrefuted => {}
                Verdict::Inconclusive(confute::Inconclusive::Mistake(mistake)) => {
                    return Err(format!("mistake in the model: {mistake}"));
                }
                Verdict::Inconclusive(_) => called.unjudged += 1,
                Verdict::Refuted(_) => {
                    let refuted = self.reduce(crew, &run, called.calls)?;
                    return Ok(Err(Box::new(refuted)));
                }
            }
        }
        Ok(Ok(called))
    }

    /// Returns the calls of a round, by thread.
    fn draw(
        &self,
        drawer: &mut Drawer<S::Msg>,
        run: &Run<S::Msg, T>,
        (focus, names): (Option<u32>, u64),
        random: &mut Random,
    ) -> Vec<Vec<S::Msg>> {
        // A round of a single call shows the state between races.
        let busy = if random.below(4) == 0 { 1 } else { 1 + random.below(self.threads as u64) as usize };
        let first = random.below(self.threads as u64) as usize;
        let mut round = vec![Vec::new(); self.threads];
        for offset in 0..busy {
            let thread = (first + offset) % self.threads;
            for _ in 0..=random.below(if busy == 1 { 1 } else { 3 }) {
                let about = focus.unwrap_or_else(|| random.below(names) as u32);
                round[thread].push(drawer.draw(run.past(), Some(about), &mut |bound| random.below(bound)));
            }
        }
        round
    }

    fn options(&self) -> Options<'static> {
        Options { turns: TURNS, ..Options::default() }
    }
}
