//! A small driver: eight connections, one thread, one total order of observations.
//!
//! A **stopgap**, to be replaced by the real driver: it speaks only to the conditional store, sends at most one request at
//! a time on a connection, polls instead of sleeping on events, and can neither replay nor reopen. It ends at the first
//! refutation, or when the server no longer keeps up the conversation: closing a connection or falling silent is
//! [`Trouble`], not a violation.
//!
//! A request is recorded before its first byte is written and an answer after its last byte was read. That is the
//! invariant a verdict rests on: the other way round, a correct server would seem to answer before it was asked.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Options, Pulse, Tester, Verdict};
use confute_models::conditional::{Conditional, Message};

use crate::http::{self, HttpError};
use crate::line::Line;
use crate::traffic::{Habits, Traffic};

/// How many connections.
pub const CONNECTIONS: usize = 8;

/// What to do, and when to stop.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Where the choices come from.
    pub seed: u64,
    /// What is sent.
    pub habits: Habits,
    /// How many requests at most.
    pub requests: u64,
    /// How long at most, the tester's thinking included.
    pub time: Duration,
    /// How long to wait for one answer.
    pub silence: Duration,
}

/// What happened.
#[derive(Debug)]
pub struct Run {
    /// What was done and seen, in order.
    pub events: Vec<Event<Message>>,
    /// What the tester thinks of the server.
    pub verdict: Verdict,
    /// How often a request made it so many outstanding; the first counts for nothing.
    pub outstanding: [u64; CONNECTIONS + 1],
    /// How many requests were sent.
    pub requests: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// How much of that the tester thought.
    pub thinking: Duration,
    /// How many turns of the model were tried.
    pub turns: u64,
    /// What ended it early. The verdict still holds for the events before.
    pub trouble: Option<Trouble>,
}

impl Run {
    /// Outstanding requests at the median send.
    pub fn median_outstanding(&self) -> usize {
        let half = self.outstanding.iter().sum::<u64>().div_ceil(2);
        let mut sum = 0;
        self.outstanding
            .iter()
            .position(|count| {
                sum += count;
                sum >= half
            })
            .unwrap_or(0)
    }
}

/// Why the conversation could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// No connection.
    #[error("cannot connect to {address}: {source}; is the server running?")]
    Unreachable {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The server closed a connection.
    #[error(
        "the server closed connection {conn} while {request} was outstanding, after {bytes} bytes of an answer"
    )]
    Closed {
        /// Which.
        conn: u32,
        /// What it had been asked.
        request: String,
        /// What had come.
        bytes: usize,
    },
    /// A connection failed.
    #[error("connection {conn} broke while {request} was outstanding: {source}")]
    Broken {
        /// Which.
        conn: u32,
        /// What had been asked.
        request: String,
        /// What the system says.
        source: io::Error,
    },
    /// No answer in time.
    #[error("no answer to {request} on connection {conn} within {waited:?} ({bytes} bytes of one)")]
    Silent {
        /// Where.
        conn: u32,
        /// What had been asked.
        request: String,
        /// How long.
        waited: Duration,
        /// What had come.
        bytes: usize,
    },
    /// An answer that cannot be given to the model.
    #[error("connection {conn}, answer to {request}: {source}")]
    Garbled {
        /// Where.
        conn: u32,
        /// What had been asked.
        request: String,
        /// Why.
        source: HttpError,
    },
    /// An answer to nothing.
    #[error("{bytes} bytes on connection {conn}, where nothing was asked")]
    Unasked {
        /// Where.
        conn: u32,
        /// How many.
        bytes: usize,
    },
    /// A request that HTTP cannot carry.
    #[error(transparent)]
    Unsendable(#[from] HttpError),
}

/// Talks to a server until the plan is done, the server is refuted, or there is trouble.
pub fn run(address: SocketAddr, plan: &Plan) -> Run {
    let start = Instant::now();
    let (model, network) = (Conditional, Tcp::default());
    let watch = |_: &Pulse| start.elapsed() > plan.time;
    let options = Options { watch: Some(&watch), ..Options::default() };
    let mut case = Case {
        tester: Tester::new(&model, &network, options),
        events: Vec::new(),
        traffic: Traffic::new(plan.seed, plan.habits),
        outstanding: [0; CONNECTIONS + 1],
        requests: 0,
        thinking: Duration::ZERO,
        host: address.to_string(),
        prefix: fresh_prefix(),
    };
    let trouble = case.talk(address, plan, start).err();
    Run {
        verdict: case.tester.verdict().clone(),
        turns: case.tester.turns(),
        events: case.events,
        outstanding: case.outstanding,
        requests: case.requests,
        thinking: case.thinking,
        elapsed: start.elapsed(),
        trouble,
    }
}

struct Case<'a> {
    tester: Tester<'a, Conditional>,
    events: Vec<Event<Message>>,
    traffic: Traffic,
    outstanding: [u64; CONNECTIONS + 1],
    requests: u64,
    thinking: Duration,
    host: String,
    prefix: String,
}

impl Case<'_> {
    fn talk(&mut self, address: SocketAddr, plan: &Plan, start: Instant) -> Result<(), Trouble> {
        let mut lines = Vec::new();
        for number in 0..CONNECTIONS as u32 {
            lines.push(Line::open(number, address, plan.silence)?);
            self.record(Event::Opened(WireConn(number)));
        }
        while start.elapsed() < plan.time {
            // How many at once is a matter of chance, so that quiet and busy moments both occur.
            let wanted = 1 + self.traffic.below(CONNECTIONS);
            while self.requests < plan.requests && busy(&lines) < wanted {
                if !self.send(&mut lines, plan.silence)? {
                    return Ok(());
                }
            }
            if busy(&lines) == 0 && self.requests >= plan.requests {
                return Ok(());
            }
            if !self.receive(&mut lines, plan, start)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Sends on a connection that is free; whether to go on.
    fn send(&mut self, lines: &mut [Line], silence: Duration) -> Result<bool, Trouble> {
        let free: Vec<usize> = (0..lines.len()).filter(|number| lines[*number].is_idle()).collect();
        let number = free[self.traffic.below(free.len())];
        // What came before the question is no answer to it.
        lines[number].pump(silence)?;
        let request = self.traffic.request();
        let bytes = http::request(&request, &self.host, &self.prefix)?;
        self.requests += 1;
        let go_on = self.record(Event::Sent(WireConn(number as u32), request.clone()));
        lines[number].send(request, bytes)?;
        self.outstanding[busy(lines)] += 1;
        Ok(go_on)
    }

    /// Waits until some answer has come, and takes all that are there; whether to go on.
    fn receive(&mut self, lines: &mut [Line], plan: &Plan, start: Instant) -> Result<bool, Trouble> {
        let mut any = false;
        while !any && start.elapsed() < plan.time {
            // Not always the same one first.
            let first = self.traffic.below(lines.len());
            for offset in 0..lines.len() {
                let number = (first + offset) % lines.len();
                if let Some((request, answer)) = lines[number].pump(plan.silence)? {
                    any = true;
                    self.traffic.saw(&request, &answer);
                    if !self.record(Event::Received(WireConn(number as u32), answer)) {
                        return Ok(false);
                    }
                }
            }
            if !any {
                sleep(Duration::from_micros(20));
            }
        }
        Ok(true)
    }

    /// Takes note of an event; whether to go on.
    fn record(&mut self, event: Event<Message>) -> bool {
        self.events.push(event.clone());
        let start = Instant::now();
        let go_on = self.tester.observe(event).is_unrefuted();
        self.thinking += start.elapsed();
        go_on
    }
}

fn busy(lines: &[Line]) -> usize {
    lines.iter().filter(|line| !line.is_idle()).count()
}

/// Where nobody has stored anything.
fn fresh_prefix() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("/confute-{:x}-{:x}-{count}/", now.as_nanos(), std::process::id())
}
