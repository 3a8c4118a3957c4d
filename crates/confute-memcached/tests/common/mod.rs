//! A small driver for tests: many connections, one thread, one order of observations.

#![allow(unreachable_pub, dead_code, clippy::unwrap_used, reason = "helpers of a test")]

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use confute::network::Tcp;
use confute::random::Random;
use confute::trace::{Event, WireConn};
use confute::{Options, Pulse, Tester, Verdict};
use confute_drive::{Exchange, Generator, Past, Peer, Protocol, Reader, Side, Step, Until, View};
use confute_memcached::wire::WireReader;
use confute_memcached::{Ask, Habits, Memcached, MemcachedModel, Message, Traffic};

/// A memcached of its own on a free port, ended when dropped.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    /// `None` where there is no memcached.
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

struct Wire {
    stream: TcpStream,
    reader: WireReader,
    /// Which exchanges are owed how many answers.
    owed: VecDeque<(usize, u32)>,
    out: Vec<u8>,
    held: bool,
}

/// What a case came to.
pub struct Ran {
    pub events: Vec<Event<Message>>,
    pub verdict: Verdict,
    pub thinking: Duration,
    pub turns: u64,
    pub bytes: usize,
    pub outstanding: Vec<u32>,
}

impl Ran {
    pub fn median_outstanding(&self) -> u32 {
        let mut sorted = self.outstanding.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or(0)
    }
}

pub struct Plan {
    pub seed: u64,
    pub connections: u32,
    pub habits: Habits,
    pub case: String,
    /// What is known of the server.
    pub keeps: bool,
    /// Something else that happens now and then.
    pub nuisance: Option<Box<dyn FnMut()>>,
    /// How long the tester may think.
    pub time: Duration,
}

struct Case<'a> {
    protocol: &'a Memcached,
    tester: Tester<'a, <Memcached as Protocol>::Model>,
    start: Instant,
    events: Vec<Event<Message>>,
    past: Past<Memcached>,
    wires: Vec<Wire>,
    thinking: Duration,
    last: u64,
}

impl Case<'_> {
    fn now(&mut self) -> u64 {
        self.last = self.last.max(self.start.elapsed().as_micros() as u64);
        self.last
    }

    fn observe(&mut self, event: Event<Message>) {
        self.events.push(event.clone());
        let start = Instant::now();
        self.tester.observe(event);
        self.thinking += start.elapsed();
    }

    fn outstanding(&self) -> u32 {
        self.wires.iter().flat_map(|wire| &wire.owed).map(|(_, owed)| owed).sum()
    }

    fn readable(&self) -> u32 {
        self.wires.iter().filter(|wire| !wire.held).flat_map(|wire| &wire.owed).map(|(_, owed)| owed).sum()
    }

    fn ask(&mut self, step: usize, on: u32, ask: &Ask, case: &str) {
        let Some(mut message) = ask.message(case, &self.past) else { return };
        let now = self.now();
        self.protocol.stamp(&mut message, now);
        let answers = self.protocol.answers(&message);
        let wire = &mut self.wires[on as usize];
        wire.reader.sent(&message);
        self.protocol.encode(&message, &mut wire.out);
        for part in message.parts() {
            self.observe(Event::Sent(WireConn(on), part));
        }
        let exchange =
            Exchange { step, on: Peer::Opened(on), ask: ask.clone(), request: message, replies: vec![] };
        let index = self.past.exchanges.len();
        self.past.exchanges.push(exchange);
        if answers > 0 {
            self.wires[on as usize].owed.push_back((index, answers));
        }
        self.flush();
    }

    fn flush(&mut self) {
        for wire in &mut self.wires {
            while !wire.out.is_empty() {
                match wire.stream.write(&wire.out) {
                    Ok(count) => drop(wire.out.drain(..count)),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    /// Reads what there is; whether there was something.
    fn poll(&mut self, random: &mut Random) -> bool {
        self.flush();
        let count = self.wires.len();
        let first = random.below(count as u64) as usize;
        let mut any = false;
        for offset in 0..count {
            let number = (first + offset) % count;
            let wire = &mut self.wires[number];
            if wire.held {
                continue;
            }
            let mut buffer = [0; 1 << 14];
            let got = match wire.stream.read(&mut buffer) {
                Ok(0) => panic!("the server closed connection {number}"),
                Ok(got) => got,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(error) => panic!("{error}"),
            };
            any = true;
            let mut messages = Vec::new();
            wire.reader.feed(&buffer[..got], &mut messages);
            for mut message in messages {
                let now = self.now();
                self.protocol.stamp(&mut message, now);
                let wire = &mut self.wires[number];
                if let Some((index, owed)) = wire.owed.front_mut() {
                    self.past.exchanges[*index].replies.push(message.clone());
                    *owed -= 1;
                    if *owed == 0 {
                        wire.owed.pop_front();
                    }
                }
                self.observe(Event::Received(WireConn(number as u32), message));
            }
        }
        any
    }

    fn wait(&mut self, until: Until, random: &mut Random) {
        let start = Instant::now();
        loop {
            let any = self.poll(random);
            let done = if let Until::Outstanding(most) = until {
                self.readable() as usize <= most
            } else if let Until::Millis(millis) = until {
                start.elapsed() >= Duration::from_millis(millis)
            } else {
                any || self.readable() == 0
            };
            if done {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "no answer");
        }
    }
}

/// Runs one case.
pub fn run(address: SocketAddr, plan: &mut Plan) -> Ran {
    let mut nuisance = plan.nuisance.take();
    let plan = &*plan;
    let (protocol, network) = (Memcached::new(MemcachedModel { keeps: plan.keeps }), Tcp::default());
    let start = Instant::now();
    let watch = |_: &Pulse| start.elapsed() > plan.time;
    let options = Options { watch: Some(&watch), ..Options::default() };
    let mut case = Case {
        protocol: &protocol,
        tester: Tester::new(protocol.model(), &network, options),
        start,
        events: Vec::new(),
        past: Past::default(),
        wires: Vec::new(),
        thinking: Duration::ZERO,
        last: 0,
    };
    for number in 0..plan.connections {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        let reader = protocol.reader(Side::Opened);
        case.wires.push(Wire { stream, reader, owed: VecDeque::new(), out: Vec::new(), held: false });
        case.observe(Event::Opened(WireConn(number)));
    }
    let mut random = Random::new(plan.seed);
    let mut traffic = Traffic::new(plan.habits.clone());
    let mut outstanding = Vec::new();
    let mut steps = 0;
    while case.tester.so_far().is_unrefuted() {
        let owed: Vec<u32> =
            case.wires.iter().map(|wire| wire.owed.iter().map(|(_, owed)| owed).sum()).collect();
        let view = View {
            past: &case.past,
            steps,
            connections: plan.connections,
            outstanding: &owed,
            asked: &[],
            alternatives: case.tester.alternatives(),
        };
        let Some(step) = traffic.next(&view, &mut |bound| random.below(bound)) else { break };
        match step {
            Step::Ask { on: Peer::Opened(on), ask, .. } => {
                case.ask(steps, on, &ask, &plan.case);
                outstanding.push(case.outstanding());
            }
            Step::Hold(Peer::Opened(on)) => case.wires[on as usize].held = true,
            Step::Release(Peer::Opened(on)) => case.wires[on as usize].held = false,
            Step::Wait(until) => case.wait(until, &mut random),
            _ => {}
        }
        steps += 1;
        if let Some(nuisance) = &mut nuisance
            && steps % 50 == 0
        {
            nuisance();
        }
    }
    case.wires.iter_mut().for_each(|wire| wire.held = false);
    if case.tester.so_far().is_unrefuted() {
        case.wait(Until::Outstanding(0), &mut random);
    }
    let begin = Instant::now();
    let verdict = case.tester.verdict().clone();
    Ran {
        thinking: case.thinking + begin.elapsed(),
        verdict,
        turns: case.tester.turns(),
        bytes: case.tester.bytes(),
        events: case.events,
        outstanding,
    }
}
