//! A small driver for tests: one thread, sockets that do not block, every event judged at once.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use confute::network::Tcp;
use confute::random::Random;
use confute::trace::{Event, WireConn};
use confute::{Options, Tester, Verdict};
use confute_drive::{Exchange, Generator, Past, Peer, Protocol, Reader, Side, Step, Until, View};
use confute_http::decode::HttpReader;
use confute_http::message::Msg;
use confute_http::{Http, Traffic};

use crate::story::ORIGIN;

/// How long to wait for an answer before saying that none will come.
const PATIENCE: Duration = Duration::from_millis(700);

struct Line {
    stream: TcpStream,
    reader: HttpReader,
    wire: WireConn,
    /// What is still to be sent, and when.
    pieces: Vec<(Vec<u8>, Duration)>,
    last: Instant,
    held: bool,
    /// The exchanges that wait for an answer, and whether one is owed.
    waiting: Vec<(usize, bool)>,
}

pub(crate) struct Case {
    http: Http,
    address: SocketAddr,
    start: Instant,
    lines: BTreeMap<u32, Line>,
    wires: u32,
    past: Past<Http>,
    pub(crate) events: Vec<Event<Msg>>,
    news: bool,
    hung: bool,
}

pub(crate) struct Outcome {
    pub(crate) verdict: Verdict,
    pub(crate) requests: usize,
    pub(crate) events: Vec<Event<Msg>>,
    pub(crate) turns: u64,
}

/// Runs one case of so many steps, or until the server is refuted.
pub(crate) fn run(address: SocketAddr, name: &str, seed: u64, steps: usize, connections: u32) -> Outcome {
    run_relaxed(address, (name, seed), steps, connections, &[])
}

/// The same, with rules that may be broken.
pub(crate) fn run_relaxed(
    address: SocketAddr,
    (name, seed): (&str, u64),
    steps: usize,
    connections: u32,
    relaxed: &[&'static str],
) -> Outcome {
    let mut http = Http { prefix: "/".to_owned(), ..Http::default() };
    http.target.host = address.to_string();
    let mut traffic = Traffic::new(http.clone(), steps).holding(150);
    let mut random = Random::new(seed);
    let network = Tcp::default();
    let mut tester = Tester::new(
        &ORIGIN,
        &network,
        Options { turns: 30_000_000, relaxed: relaxed.to_vec(), ..Options::default() },
    );
    let mut case = Case {
        http,
        address,
        start: Instant::now(),
        lines: BTreeMap::new(),
        wires: 0,
        past: Past::default(),
        events: Vec::new(),
        news: false,
        hung: false,
    };
    let mut judged = 0;
    for number in 0.. {
        let outstanding: Vec<u32> = (0..connections)
            .map(|on| case.lines.get(&on).map_or(0, |line| line.waiting.len() as u32))
            .collect();
        let view = View {
            past: &case.past,
            steps: number,
            connections,
            outstanding: &outstanding,
            asked: &[],
            alternatives: 0,
        };
        let Some(step) = traffic.next(&view, &mut |bound| random.below(bound)) else { break };
        case.step(number, name, step);
        if case.hung {
            case.give_up();
        }
        while judged < case.events.len() && tester.verdict().is_unrefuted() {
            tester.observe(case.events[judged].clone());
            judged += 1;
        }
        if !tester.verdict().is_unrefuted() {
            break;
        }
    }
    case.events.truncate(judged);
    let requests = case.events.iter().filter(|event| matches!(event, Event::Sent(..))).count();
    Outcome { verdict: tester.verdict().clone(), requests, events: case.events, turns: tester.turns() }
}

impl Case {
    /// What has not come will not come.
    fn give_up(&mut self) {
        let now = self.now();
        for line in self.lines.values_mut() {
            let mut messages = Vec::new();
            line.reader.stalled(&mut messages);
            for mut message in messages {
                self.http.stamp(&mut message, now);
                self.events.push(Event::Received(line.wire, message));
            }
        }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }

    fn step(&mut self, number: usize, name: &str, step: Step<confute_http::Ask>) {
        self.news = false;
        self.pump();
        match step {
            Step::Ask { on: Peer::Opened(on), ask, cuts } => {
                let Some(mut message) = self.http.resolve(&ask, name, &self.past) else { return };
                let mut bytes = Vec::new();
                self.http.encode(&message, &mut bytes);
                self.http.stamp(&mut message, self.now());
                let owed = self.http.answers(&message) > 0;
                let exchange = self.past.exchanges.len();
                let line = self.line(on);
                line.reader.sent(&message);
                line.waiting.push((exchange, owed));
                let wire = line.wire;
                let mut rest = bytes.as_slice();
                let mut from = 0;
                let mut pause = Duration::ZERO;
                for (cut, millis) in cuts {
                    let (piece, after) = rest.split_at((cut - from).min(rest.len()));
                    line.pieces.push((piece.to_vec(), pause));
                    (rest, from, pause) = (after, cut, Duration::from_millis(millis));
                }
                line.pieces.push((rest.to_vec(), pause));
                let request = message.clone();
                self.past.exchanges.push(Exchange {
                    step: number,
                    on: Peer::Opened(on),
                    ask,
                    request,
                    replies: vec![],
                });
                self.events.push(Event::Sent(wire, message));
                self.pump();
            }
            Step::Hold(Peer::Opened(on)) => self.line(on).held = true,
            Step::Release(Peer::Opened(on)) => {
                if let Some(line) = self.lines.get_mut(&on) {
                    line.held = false;
                }
            }
            Step::HangUp(Peer::Opened(on)) => {
                if let Some(line) = self.lines.remove(&on) {
                    self.events.push(Event::HungUp(line.wire));
                }
            }
            Step::Wait(until) => self.wait(until),
            _ => {}
        }
    }

    fn wait(&mut self, until: Until) {
        let start = Instant::now();
        loop {
            let outstanding: usize =
                self.lines.values().map(|line| line.waiting.iter().filter(|(_, owed)| *owed).count()).sum();
            let is_over = match until {
                Until::Answered(_) | Until::Outstanding(0) => outstanding == 0,
                Until::Outstanding(most) => outstanding <= most,
                Until::Something => self.news || start.elapsed() > Duration::from_millis(100),
                Until::Millis(millis) => start.elapsed() >= Duration::from_millis(millis),
            };
            if is_over {
                return;
            }
            if start.elapsed() > PATIENCE {
                self.hung = true;
                return;
            }
            if !self.pump() {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    }

    fn line(&mut self, on: u32) -> &mut Line {
        let (wires, events, http, address) = (&mut self.wires, &mut self.events, &self.http, self.address);
        self.lines.entry(on).or_insert_with(|| {
            let stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_nonblocking(true).unwrap();
            let wire = WireConn(*wires);
            *wires += 1;
            events.push(Event::Opened(wire));
            let reader = http.reader(Side::Opened);
            Line { stream, reader, wire, pieces: vec![], last: Instant::now(), held: false, waiting: vec![] }
        })
    }

    /// Sends and receives what can be. Whether anything happened.
    fn pump(&mut self) -> bool {
        let mut happened = false;
        let now = self.now();
        let mut ended = Vec::new();
        for (on, line) in &mut self.lines {
            while let Some((piece, pause)) = line.pieces.first_mut() {
                if line.last.elapsed() < *pause {
                    break;
                }
                match line.stream.write(piece) {
                    Ok(count) => drop(piece.drain(..count)),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(_) => piece.clear(),
                }
                if piece.is_empty() {
                    line.pieces.remove(0);
                    line.last = Instant::now();
                }
                happened = true;
            }
            let mut messages = Vec::new();
            let mut buffer = [0; 8192];
            let mut is_over = false;
            while !line.held {
                match line.stream.read(&mut buffer) {
                    Ok(0) => {
                        line.reader.end(true, &mut messages);
                        is_over = true;
                        break;
                    }
                    Ok(count) => line.reader.feed(&buffer[..count], &mut messages),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(_) => {
                        line.reader.end(false, &mut messages);
                        is_over = true;
                        break;
                    }
                }
            }
            for mut message in messages {
                self.http.stamp(&mut message, now);
                self.events.push(Event::Received(line.wire, message.clone()));
                if !line.waiting.is_empty() {
                    self.past.exchanges[line.waiting.remove(0).0].replies.push(message);
                }
                (happened, self.news) = (true, true);
            }
            if is_over {
                ended.push(*on);
                self.events.push(Event::HungUp(line.wire));
                (happened, self.news) = (true, true);
            }
        }
        for on in ended {
            self.lines.remove(&on);
        }
        happened
    }
}
