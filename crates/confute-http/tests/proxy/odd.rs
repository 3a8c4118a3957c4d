//! Correct gateways with unusual behaviour: the actions of the tester as origin must not be blamed on them.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use confute::Verdict;
use confute::trace::Event;
use confute_drive::{CaseRun, Trouble, typed_events};
use confute_http::message::{Message, Response};

use crate::lab::{accuse, net, proxy, run, tail};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Oddity {
    /// The gateway has no oddity.
    None,
    /// Drops every POST, which is a violation.
    Forgets,
    /// Closes its side of the connection to the origin after the request (RFC 9112, 9.6).
    HalfClose,
    /// Sends content only after 100 (Continue) (RFC 9110, 10.1.1).
    Expects,
    /// Reuses connections without checking that they are still open, and does not retry (RFC 9112, 9.5).
    Pool,
    /// Forwards HEAD as GET (RFC 9110, 3.7).
    HeadAsGet,
    /// Pipelines requests to the origin (RFC 9112, 9.3.2).
    Pipeline,
}

/// State that the threads of a gateway share.
struct Gateway {
    oddity: Oddity,
    origin: SocketAddr,
    idle: Mutex<Vec<TcpStream>>,
    shared: Mutex<Shared>,
    turned: Condvar,
}

/// The connection to the origin that all requests share.
#[derive(Default)]
struct Shared {
    stream: Option<(TcpStream, u64)>,
    /// Number of connections so far; `sent` counts the requests on this one, and `turn` the responses read from it.
    number: u64,
    sent: u64,
    turn: u64,
}

fn start(origin: SocketAddr, oddity: Oddity) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (idle, shared, turned) = <_>::default();
    let gateway = Arc::new(Gateway { oddity, origin, idle, shared, turned });
    thread::spawn(move || {
        for client in listener.incoming() {
            let gateway = Arc::clone(&gateway);
            thread::spawn(move || gateway.serve(&mut client.unwrap()));
        }
    });
    address
}

/// A response of the origin: its bytes, whether it is complete, and whether the connection persists.
struct Answer {
    bytes: Vec<u8>,
    whole: bool,
    persists: bool,
}

impl Gateway {
    /// Serves one request; each connection has only one.
    fn serve(&self, client: &mut TcpStream) -> Option<()> {
        let head = until(client, "\r\n\r\n")?;
        let body = content(client, &head)?;
        if self.oddity == Oddity::Forgets && head.starts_with("POST") {
            thread::sleep(Duration::from_secs(30));
            return None;
        }
        if head.contains("\r\nMax-Forwards: 0") {
            return client.write_all(b"HTTP/1.1 204 Here\r\nConnection: close\r\n\r\n").ok();
        }
        let is_head = head.starts_with("HEAD ");
        let keeps = matches!(self.oddity, Oddity::Pool | Oddity::Pipeline);
        let mut more = format!("Via: 1.1 odd\r\n{}", if keeps { "" } else { "Connection: close\r\n" });
        if self.oddity == Oddity::Expects && !body.is_empty() {
            more.push_str("Expect: 100-continue\r\n");
        }
        let mut head = passed(&head, &more).replace("Max-Forwards: 7", "Max-Forwards: 6");
        if self.oddity == Oddity::HeadAsGet && is_head {
            head = head.replacen("HEAD", "GET", 1);
        }
        let is_bare = is_head && self.oddity != Oddity::HeadAsGet;
        let is_safe = head.starts_with("GET ") || is_head;
        let answer = if self.oddity == Oddity::Pipeline && is_safe {
            self.pipelined(head.as_bytes(), is_bare)
        } else {
            self.exchange(&head, &body, is_bare)
        };
        let Some(answer) = answer else {
            let content = if is_head { "" } else { "sorry" };
            let sorry =
                format!("HTTP/1.1 502 Lost\r\nContent-Length: 5\r\nConnection: close\r\n\r\n{content}");
            return client.write_all(sorry.as_bytes()).ok();
        };
        let end = answer.bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
        let told = passed(std::str::from_utf8(&answer.bytes[..end]).ok()?, "Connection: close\r\n");
        client.write_all(told.as_bytes()).ok()?;
        if !is_head {
            client.write_all(&answer.bytes[end..]).ok()?;
        }
        let is_counted = told.contains("Content-Length: ") || told.contains("Transfer-Encoding: ");
        if !answer.whole && !is_counted && !is_head {
            // Otherwise the truncated response would seem complete.
            return None;
        }
        Some(())
    }

    fn exchange(&self, head: &str, body: &[u8], is_bare: bool) -> Option<Answer> {
        let idle = self.idle.lock().unwrap().pop();
        let mut upstream = match idle {
            Some(idle) => idle,
            None => TcpStream::connect(self.origin).ok()?,
        };
        upstream.write_all(head.as_bytes()).ok()?;
        if head.contains("Expect: ") {
            let prompt = until(&mut upstream, "\r\n\r\n")?;
            assert!(prompt.starts_with("HTTP/1.1 100 "), "{prompt}");
        }
        upstream.write_all(body).ok()?;
        if self.oddity == Oddity::HalfClose {
            upstream.shutdown(Shutdown::Write).ok()?;
        }
        let answer = answer(&mut upstream, is_bare)?;
        if answer.persists && self.oddity == Oddity::Pool {
            self.idle.lock().unwrap().push(upstream);
        }
        Some(answer)
    }

    /// Sends a request on the shared connection. The request fails if the connection has ended, or if an earlier
    /// response was the last one.
    fn pipelined(&self, head: &[u8], is_bare: bool) -> Option<Answer> {
        let mut shared = self.shared.lock().unwrap();
        if shared.stream.is_none() {
            shared.number += 1;
            (shared.sent, shared.turn) = (0, 0);
            shared.stream = Some((TcpStream::connect(self.origin).ok()?, shared.number));
        }
        let (ticket, number) = (shared.sent, shared.number);
        shared.sent += 1;
        let mut stream = shared.stream.as_ref()?.0.try_clone().ok()?;
        let is_out = stream.write_all(head).is_ok();
        let mine = |shared: &Shared| shared.stream.as_ref().is_some_and(|(_, now)| *now == number);
        while mine(&shared) && shared.turn != ticket {
            shared = self.turned.wait(shared).unwrap();
        }
        if !mine(&shared) {
            return None;
        }
        drop(shared);
        let answer = if is_out { answer(&mut stream, is_bare) } else { None };
        let mut shared = self.shared.lock().unwrap();
        shared.turn += 1;
        if !answer.as_ref().is_some_and(|answer| answer.persists) && mine(&shared) {
            shared.stream = None;
        }
        self.turned.notify_all();
        answer
    }
}

/// Reads up to and including `end`.
fn until(stream: &mut TcpStream, end: &str) -> Option<String> {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(end.as_bytes()) {
        stream.read_exact(&mut byte).ok()?;
        text.push(byte[0]);
    }
    String::from_utf8(text).ok()
}

/// Reads the content of a request, as it is on the wire.
fn content(stream: &mut TcpStream, head: &str) -> Option<Vec<u8>> {
    if head.contains("\r\nTransfer-Encoding: chunked") {
        // This reads up to the end of the trailers, because no content in these tests has an empty line.
        return until(stream, "\r\n\r\n").map(String::into_bytes);
    }
    let mut body = vec![0; length(head).unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

fn length(head: &str) -> Option<usize> {
    head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok())
}

/// Reads a response. `None` if there is no head.
fn answer(stream: &mut TcpStream, is_bare: bool) -> Option<Answer> {
    let mut head = until(stream, "\r\n\r\n")?;
    while head.starts_with("HTTP/1.1 1") {
        head = until(stream, "\r\n\r\n")?;
    }
    let is_empty = is_bare || head.starts_with("HTTP/1.1 204") || head.starts_with("HTTP/1.1 304");
    let mut persists = !head.contains("\r\nConnection: close");
    let mut bytes = head.clone().into_bytes();
    let mut whole = true;
    if is_empty {
        // The response has no content.
    } else if head.contains("\r\nTransfer-Encoding: chunked") {
        whole = chunks(stream, &mut bytes).is_some();
    } else if let Some(length) = length(&head) {
        let mut body = Vec::new();
        stream.take(length as u64).read_to_end(&mut body).ok()?;
        whole = body.len() == length;
        bytes.extend(body);
    } else {
        stream.read_to_end(&mut bytes).ok()?;
        persists = false;
    }
    Some(Answer { bytes, whole, persists: persists && whole })
}

/// Reads chunks and the trailer section. `None` if they are truncated.
fn chunks(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<()> {
    loop {
        let line = until(stream, "\r\n")?;
        let size = usize::from_str_radix(line.trim_end(), 16).ok()?;
        bytes.extend(line.as_bytes());
        if size == 0 {
            break;
        }
        let mut chunk = vec![0; size + 2];
        stream.read_exact(&mut chunk).ok()?;
        bytes.extend(chunk);
    }
    loop {
        let line = until(stream, "\r\n")?;
        bytes.extend(line.as_bytes());
        if line == "\r\n" {
            return Some(());
        }
    }
}

/// Returns a head without its hop-by-hop fields.
fn passed(head: &str, more: &str) -> String {
    let own = ["connection", "keep-alive", "proxy-connection", "te", "x-hop-one", "x-hop-two", "x-hop-three"];
    let is_kept =
        |line: &&str| !own.contains(&&*line.split(':').next().unwrap_or_default().to_ascii_lowercase());
    let lines: Vec<&str> = head.trim_end().split("\r\n").filter(is_kept).collect();
    format!("{}\r\n{more}\r\n", lines.join("\r\n"))
}

/// Runs a few cases, checks that none is refuted, and returns them.
fn accept(oddity: Oddity, most: usize) -> Vec<CaseRun> {
    let (mut net, origin) = net();
    let gateway = start(origin, oddity);
    let protocol = proxy(gateway, "/", origin);
    let cases = (0..3).map(|seed| {
        let name = format!("{oddity:?}{seed}").to_lowercase();
        let run = run(&mut net, &protocol, gateway, (&name, seed), (60, most), &[]);
        assert_eq!(
            (&run.verdict, &run.trouble),
            (&Verdict::Unrefuted, &None),
            "{oddity:?} {seed}\n{}\n{:?}",
            tail(&run),
            accuse(&protocol, &run, &[])
        );
        assert!(run.figures.answers > 60, "{:?}", run.figures);
        run
    });
    cases.collect()
}

/// Counts the events that satisfy a predicate.
fn count(runs: &[CaseRun], is: impl Fn(&Event<Message>) -> bool) -> usize {
    runs.iter().flat_map(|run| typed_events(&run.trace)).filter(|event| is(event)).count()
}

#[test]
fn a_plain_gateway_is_unrefuted() {
    [1, 3, 5].into_iter().for_each(|most| drop(accept(Oddity::None, most)));
}

#[test]
fn a_gateway_that_leaves_clients_waiting() {
    let (mut net, origin) = net();
    let gateway = start(origin, Oddity::Forgets);
    let run = run(&mut net, &proxy(gateway, "/", origin), gateway, ("w", 1), (40, 2), &[]);
    // Other requests still get responses through the tester as origin, so only this response is missing.
    let is_silent = matches!(run.trouble, Some(Trouble::Silent { alive: true, .. }));
    assert!(is_silent, "{:?}\n{}", run.trouble, tail(&run));
    assert!(run.verdict.is_refuted() && matches!(run.trace.last(), Some(Event::Quiescent)), "{}", tail(&run));
}

fn received(event: &Event<Message>) -> Option<&Response> {
    match event {
        Event::Received(_, Message::Response(response)) => Some(response),
        _ => None,
    }
}

#[test]
fn one_that_closes_its_side() {
    let runs = accept(Oddity::HalfClose, 3);
    let is_half = |event: &Event<Message>| matches!(event, Event::Sent(_, Message::Response(answer)) if answer.forwarded.half_closed);
    assert!(count(&runs, is_half) > 60);
    assert!(
        count(&runs, |event| received(event).is_some_and(|seen| seen.forwarded.fields.mark().is_some())) > 60
    );
}

#[test]
fn one_that_waits_for_100() {
    let runs = accept(Oddity::Expects, 3);
    let has_content = |event: &Event<Message>| matches!(event, Event::Received(_, Message::Request(request)) if request.body.is_some());
    assert!(count(&runs, has_content) > 10);
}

#[test]
fn one_that_asks_for_more_than_the_head() {
    let runs = accept(Oddity::HeadAsGet, 3);
    assert!(count(&runs, |event| received(event).is_some()) > 60);
}

#[test]
fn one_that_uses_connections_which_the_origin_has_ended() {
    let runs = accept(Oddity::Pool, 3);
    let failed = |event: &Event<Message>| received(event).is_some_and(|seen| seen.status == 502);
    assert!(count(&runs, failed) > 0, "nothing was tested");
}

#[test]
fn one_that_pipelines() {
    let runs = accept(Oddity::Pipeline, 4);
    let dropped = |event: &Event<Message>| matches!(event, Event::Sent(_, Message::Unanswered));
    println!("{} requests were dropped with their connection", count(&runs, dropped));
}
