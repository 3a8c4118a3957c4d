//! A memcached process for tests, and cases against it.

#![allow(unreachable_pub, dead_code, clippy::unwrap_used, reason = "helpers of a test")]

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute::Verdict;
use confute::trace::Event;
use confute_drive::{
    AnyGenerator, CaseSetup, Gauge, Generator, Limits, Net, Spread, Step, Target, View, run_case,
    typed_events,
};
use confute_memcached::{Ask, Habits, Memcached, MemcachedModel, Message, Traffic};

/// A memcached process on a free port, killed when dropped.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    /// Starts memcached with these additional arguments. Returns `None` if it is not installed.
    pub fn start(more: &[&str]) -> Option<Self> {
        let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).ok()?;
        let port = address.port().to_string();
        let child = Command::new("memcached")
            .args(["-l", "127.0.0.1", "-p", &port, "-U", "0", "-u", "nobody", "-t", "4"])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let server = Self { child, address };
        for _ in 0..200 {
            if TcpStream::connect(address).is_ok() {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The result of a case.
pub struct Ran {
    pub events: Vec<Event<Message>>,
    pub verdict: Verdict,
    pub thinking: Duration,
    pub turns: u64,
    pub outstanding: Spread,
}

pub struct Plan {
    pub seed: u64,
    pub connections: u32,
    pub habits: Habits,
    pub case: String,
    /// The `keeps` setting of the model.
    pub keeps: bool,
    /// Disturbance that is run at intervals during the case.
    pub nuisance: Option<Box<dyn FnMut()>>,
    /// Time limit for the search.
    pub time: Duration,
}

/// Traffic with a disturbance at intervals.
struct Disturbed {
    traffic: Traffic,
    nuisance: Option<Box<dyn FnMut()>>,
}

impl Generator<Memcached> for Disturbed {
    fn next(&mut self, view: &View<'_, Memcached>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        if let Some(nuisance) = &mut self.nuisance
            && view.steps % 50 == 49
        {
            nuisance();
        }
        self.traffic.next(view, pick)
    }
}

pub fn run(address: SocketAddr, plan: &mut Plan) -> Ran {
    let protocol = Memcached::new(MemcachedModel { keeps: plan.keeps });
    let setup = CaseSetup {
        protocol: &protocol,
        target: Target::new(address),
        limits: &Limits { connections: plan.connections, thought: plan.time, ..Limits::default() },
        name: &plan.case,
        seed: plan.seed,
        relaxed: &[],
        stop: &AtomicBool::new(false),
        gauge: &Gauge::default(),
    };
    let generator = Disturbed { traffic: Traffic::new(plan.habits.clone()), nuisance: plan.nuisance.take() };
    let run = run_case(&mut Net::new(None).unwrap(), &setup, &mut AnyGenerator::new(generator));
    assert_eq!(run.trouble, None);
    Ran {
        events: typed_events(&run.trace),
        verdict: run.verdict,
        thinking: run.figures.thinking,
        turns: run.figures.turns,
        outstanding: run.figures.outstanding,
    }
}
