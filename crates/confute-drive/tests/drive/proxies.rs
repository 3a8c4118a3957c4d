//! Connections that the server opens: a tiny line-based proxy, with the tester as its client and its origin.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use confute::Verdict;
use confute::trace::Event;
use confute_drive::{
    AnyGenerator, AnyMessage, Caller, CaseRun, CaseSetup, Dialogue, Gauge, Generator, Net, Past, Peer,
    Protocol, Reader, Replay, Side, Step, Talk, Target, Until, Upstream, View, run_case, typed_events,
    typed_steps,
};
use confute_models::proxy::{Message, Proxy};

use crate::limits;
use serde::{Deserialize, Serialize};

#[derive(Default)]
struct Proxied {
    /// `true` if connections to the origin are used again, so that every request is an exchange of its own.
    apart: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Ask {
    Request(u64),
    /// Answers the request on this connection.
    Answer(u64),
}

impl Protocol for Proxied {
    type Model = Proxy;
    type Ask = Ask;
    type Reader = Words;

    fn model(&self) -> &Proxy {
        &Proxy
    }

    fn resolve(&self, ask: &Ask, case: &str, _: &Past<Self>) -> Option<Message> {
        Some(match ask {
            Ask::Request(number) => Message::Request(format!("{case}.{number}").into()),
            Ask::Answer(number) => Message::Response(format!("{case}.{number}").into()),
        })
    }

    fn encode(&self, message: &Message, bytes: &mut Vec<u8>) {
        let (Message::Request(text) | Message::Response(text)) = message;
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(b'\n');
    }

    fn reader(&self, side: Side) -> Words {
        Words { side, held: Vec::new() }
    }

    fn dialogue(&self) -> &dyn Dialogue<Self> {
        self
    }

    fn upstream(&self) -> &dyn Upstream<Self> {
        self
    }
}

impl Dialogue<Proxied> for Proxied {
    fn answers(&self, message: &Message) -> u32 {
        u32::from(matches!(message, Message::Request(_)))
    }
}

impl Upstream<Proxied> for Proxied {
    fn belongs(&self, message: &Message, case: &str) -> bool {
        let (Message::Request(text) | Message::Response(text)) = message;
        text.starts_with(case)
    }

    fn has_single_exchanges(&self) -> bool {
        self.apart
    }

    fn courtesy(&self, asked: &Message) -> Option<Message> {
        let Message::Request(text) = asked else { return None };
        self.apart.then(|| Message::Response(format!("courtesy for {text}").into()))
    }
}

struct Words {
    side: Side,
    held: Vec<u8>,
}

impl Reader<Message> for Words {
    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<Message>) {
        self.held.extend_from_slice(bytes);
        while let Some(end) = self.held.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.held.drain(..=end).collect();
            let text = String::from_utf8_lossy(&line[..end]).into();
            messages.push(if self.side == Side::Opened {
                Message::Response(text)
            } else {
                Message::Request(text)
            });
        }
    }

    fn end(&mut self, _: bool, _: &mut Vec<Message>) {}

    fn held(&self) -> usize {
        self.held.len()
    }
}

/// Starts a proxy that forwards each line on a new connection; sometimes it also opens one that carries
/// nothing, and one for a health check.
fn start_proxy(origin: SocketAddr, twice: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            thread::spawn(move || forward(&stream, origin, twice));
        }
    });
    address
}

fn forward(client: &TcpStream, origin: SocketAddr, twice: bool) -> Option<()> {
    for (number, line) in BufReader::new(client).lines().enumerate() {
        let line = line.ok()?;
        if number % 3 == 1 {
            drop(TcpStream::connect(origin).ok()?);
            let mut health = TcpStream::connect(origin).ok()?;
            health.write_all(b"are you well?\n").ok()?;
        }
        let mut upstream = TcpStream::connect(origin).ok()?;
        writeln!(upstream, "{line}").ok()?;
        if twice && number == 2 {
            writeln!(TcpStream::connect(origin).ok()?, "{line}").ok()?;
        }
        let mut answer = String::new();
        BufReader::new(&upstream).read_line(&mut answer).ok()?;
        (&mut &*client).write_all(answer.as_bytes()).ok()?;
    }
    None
}

struct Traffic {
    left: u64,
}

impl Generator<Proxied> for Traffic {
    fn next(&mut self, view: &View<'_, Proxied>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        if !view.asked.is_empty() && (self.left == 0 || pick(2) == 0) {
            let (peer, _) = view.asked[pick(view.asked.len() as u64) as usize];
            return Some(Step::Ask { on: peer, ask: Ask::Answer(pick(1 << 40)), cuts: Vec::new() });
        }
        let free = (0..view.connections).find(|on| view.outstanding[*on as usize] == 0);
        match free {
            Some(on) if self.left > 0 => {
                self.left -= 1;
                let ask = Ask::Request(pick(1 << 40));
                Some(Step::Ask { on: Peer::Opened(on), ask, cuts: Vec::new() })
            }
            _ if view.outstanding.iter().any(|count| *count > 0) => Some(Step::Wait(Until::Something)),
            _ => None,
        }
    }
}

fn run(twice: bool, connections: u32, name: &str, generator: impl Generator<Proxied>) -> CaseRun {
    let mut net = Net::new(Some(SocketAddr::from(([127, 0, 0, 1], 0)))).unwrap();
    let address = start_proxy(net.listens_at().unwrap(), twice);
    let limits = confute_drive::Limits { connections, patience: Duration::from_secs(2), ..limits() };
    let setup = CaseSetup {
        protocol: &Proxied::default(),
        target: Target::new(address),
        limits: &limits,
        name,
        seed: 5,
        relaxed: &[],
        stop: &AtomicBool::new(false),
        gauge: &Gauge::default(),
    };
    run_case(&mut net, &setup, &mut AnyGenerator::new(generator))
}

/// Starts a proxy that forwards all lines of a client on one connection to the origin, without waiting for
/// responses. Its health check comes first, and has to be answered. If it lies, it changes the fourth
/// response.
fn start_pipe(origin: SocketAddr, lies: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let upstream = TcpStream::connect(origin).unwrap();
            writeln!(&upstream, "are you well?").unwrap();
            let (client, answers) = (stream.try_clone().unwrap(), upstream.try_clone().unwrap());
            thread::spawn(move || {
                let mut lines = BufReader::new(answers).lines().map_while(Result::ok);
                assert_eq!(lines.next().as_deref(), Some("courtesy for are you well?"));
                for (number, line) in lines.enumerate() {
                    let more = if lies && number == 3 { " indeed" } else { "" };
                    let _ = writeln!(&client, "{line}{more}");
                }
            });
            thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let _ = writeln!(&upstream, "{line}");
                }
            });
        }
    });
    address
}

/// Generator that sends several requests on each connection before any is answered.
struct Pipelined {
    left: u64,
    stops_at: u64,
}

impl Generator<Proxied> for Pipelined {
    fn next(&mut self, view: &View<'_, Proxied>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        if self.left == self.stops_at && self.stops_at > 0 {
            return None;
        }
        let room = (0..view.connections).find(|on| view.outstanding[*on as usize] < 4);
        if let (Some(on), 1..) = (room, self.left) {
            self.left -= 1;
            let ask = Ask::Request(pick(1 << 40));
            return Some(Step::Ask { on: Peer::Opened(on), ask, cuts: Vec::new() });
        }
        if let Some((peer, _)) = view.asked.get(pick(view.asked.len().max(1) as u64) as usize) {
            return Some(Step::Ask { on: *peer, ask: Ask::Answer(pick(1 << 40)), cuts: Vec::new() });
        }
        let waits = view.outstanding.iter().any(|count| *count > 0);
        waits.then_some(Step::Wait(Until::Something))
    }
}

fn run_apart(lies: bool, stops_at: u64, name: &str) -> CaseRun {
    let mut net = Net::new(Some(SocketAddr::from(([127, 0, 0, 1], 0)))).unwrap();
    let address = start_pipe(net.listens_at().unwrap(), lies);
    let limits = confute_drive::Limits { connections: 2, patience: Duration::from_secs(2), ..limits() };
    let setup = CaseSetup {
        protocol: &Proxied { apart: true },
        target: Target::new(address),
        limits: &limits,
        name,
        seed: 5,
        relaxed: &[],
        stop: &AtomicBool::new(false),
        gauge: &Gauge::default(),
    };
    run_case(&mut net, &setup, &mut AnyGenerator::new(Pipelined { left: 24, stops_at }))
}

#[test]
fn a_connection_that_is_used_again_is_many() {
    let run = run_apart(false, 0, "a1");
    assert_eq!((&run.verdict, &run.trouble), (&Verdict::Unrefuted, &None));
    // There are two connections, but as many exchanges as requests; the health checks were answered and not
    // recorded.
    assert_eq!((run.figures.accepted, run.figures.answers), (24, 48));
    let accepted = |event: &&Event<AnyMessage>| matches!(event, Event::Accepted(_));
    assert_eq!(run.trace.iter().filter(accepted).count(), 24);
    let run = run_apart(true, 0, "a2");
    assert!(run.verdict.is_refuted(), "{:?} {:?}", run.verdict, run.trouble);
}

#[test]
fn what_nobody_answers_is_answered_at_the_end() {
    let run = run_apart(false, 17, "a3");
    assert_eq!((&run.verdict, &run.trouble), (&Verdict::Unrefuted, &None));
    assert_eq!((run.figures.accepted, run.figures.answers), (7, 14));
    let courteous = |event: &&Event<Message>| matches!(event, Event::Sent(_, Message::Response(text)) if text.starts_with("courtesy"));
    assert_eq!(typed_events(&run.trace).iter().filter(courteous).count(), 7);
}

#[test]
fn a_question_is_passed_on() {
    let limits = limits();
    // The talk needs an address to listen on: that of a port that was free just now.
    let origin = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let protocol = Proxied { apart: true };
    let talk = Talk::new(
        &protocol,
        Caller::new(Target { listen: Some(origin), ..Target::new(start_proxy(origin, false)) }, &limits),
    );
    let ask = Step::Ask { on: Peer::Opened(0), ask: Ask::Request(5), cuts: Vec::new() };
    let case = talk.case(vec![ask, Step::Wait(Until::Outstanding(0))]).unwrap();
    let name = &case.name;
    let asked: Vec<_> = case.past.asked.iter().map(|(_, message)| message).collect();
    assert_eq!(asked, [&Message::Request(format!("{name}.5").into())]);
    let replies = &case.past.exchanges[0].replies;
    assert_eq!(replies[..], [Message::Response(format!("courtesy for {name}.5").into())]);
    assert_eq!(String::from_utf8_lossy(&case.heard), format!("courtesy for {name}.5\n"));
    assert_eq!((case.trouble, case.is_cut_short), (None, false));
    let cases = talk.into_cases();
    assert_eq!((cases.len(), &cases[0].name, &cases[0].verdict), (1, name, &Verdict::Unrefuted));
}

#[test]
fn a_proxy_is_client_and_server() {
    let first = run(false, 3, "p1", &mut Traffic { left: 20 });
    assert_eq!((&first.verdict, &first.trouble), (&Verdict::Unrefuted, &None));
    // Connections that carried nothing, or did not belong to this case, were not recorded.
    assert_eq!(first.figures.accepted, 20);
    assert_eq!(first.trace.iter().filter(|event| matches!(event, Event::Accepted(_))).count(), 20);
    assert_eq!(first.figures.answers, 40);
    let again = run(false, 3, "p2", &mut Replay::new(typed_steps(&first.script)));
    assert_eq!((again.verdict, again.trouble), (Verdict::Unrefuted, None));
    // The proxy decides which request comes first. With one client there is only one order.
    let first = run(false, 1, "p4", &mut Traffic { left: 20 });
    let again = run(false, 1, "p5", &mut Replay::new(typed_steps(&first.script)));
    assert_eq!((again.verdict, again.trouble), (Verdict::Unrefuted, None));
    assert_eq!((again.figures.requests, again.figures.skipped), (first.figures.requests, 0));
}

#[test]
fn a_request_forwarded_twice() {
    let run = run(true, 3, "p3", &mut Traffic { left: 20 });
    assert!(run.verdict.is_refuted(), "{:?} {:?}", run.verdict, run.trouble);
}
