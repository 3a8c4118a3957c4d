//! A gateway in a few lines: correct, or one that leaves clients waiting.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use confute::Verdict;
use confute::trace::Event;
use confute_drive::Trouble;

use crate::lab::{net, proxy, run, tail};

/// Forwards every request on a connection of its own; POST is forgotten, if it is one that forgets.
fn start(origin: SocketAddr, forgets: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || serve(&mut stream.unwrap(), origin, forgets));
        }
    });
    address
}

fn serve(client: &mut TcpStream, origin: SocketAddr, forgets: bool) -> Option<()> {
    loop {
        let head = until(client, "\r\n\r\n")?;
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        client.read_exact(&mut body).ok()?;
        if head.contains("\r\nTransfer-Encoding: chunked") {
            // Up to the end of the trailers: no content here has an empty line.
            body = until(client, "\r\n\r\n")?.into_bytes();
        }
        if forgets && head.starts_with("POST") {
            thread::sleep(Duration::from_secs(30));
            return None;
        }
        if head.contains("\r\nMax-Forwards: 0") {
            client.write_all(b"HTTP/1.1 204 Here\r\n\r\n").ok()?;
            continue;
        }
        let head = passed(&head, "Via: 1.1 simple\r\n").replace("Max-Forwards: 7", "Max-Forwards: 6");
        let mut upstream = TcpStream::connect(origin).ok()?;
        upstream.write_all(&[head.as_bytes(), &body].concat()).ok()?;
        let mut answer = Vec::new();
        upstream.read_to_end(&mut answer).ok()?;
        let head_end = |answer: &[u8]| answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        // Interim responses are left out.
        while answer.starts_with(b"HTTP/1.1 1")
            && let Some(end) = head_end(&answer)
        {
            answer.drain(..end + 4);
        }
        let end = head_end(&answer);
        let Some(end) = end else {
            client.write_all(b"HTTP/1.1 502 Nothing\r\nContent-Length: 0\r\n\r\n").ok()?;
            continue;
        };
        let head = passed(std::str::from_utf8(&answer[..end + 4]).ok()?, "");
        client.write_all(&[head.as_bytes(), &answer[end + 4..]].concat()).ok()?;
        return None;
    }
}

/// What is read up to and with this.
fn until(stream: &mut TcpStream, end: &str) -> Option<String> {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(end.as_bytes()) {
        stream.read_exact(&mut byte).ok()?;
        text.push(byte[0]);
    }
    String::from_utf8(text).ok()
}

/// A head without what is about one connection.
fn passed(head: &str, more: &str) -> String {
    let own = ["connection", "keep-alive", "proxy-connection", "te", "x-hop-one", "x-hop-two", "x-hop-three"];
    let is_kept =
        |line: &&str| !own.contains(&&*line.split(':').next().unwrap_or_default().to_ascii_lowercase());
    let lines: Vec<&str> = head.trim_end().split("\r\n").filter(is_kept).collect();
    format!("{}\r\n{more}Connection: close\r\n\r\n", lines.join("\r\n"))
}

#[test]
fn another_correct_gateway_is_unrefuted() {
    let (mut net, origin) = net();
    let gateway = start(origin, false);
    let protocol = proxy(gateway, "/", origin);
    for seed in 0..3 {
        let name = format!("s{seed}");
        let run = run(&mut net, &protocol, gateway, (&name, seed), (80, 1 + 2 * seed as usize), &[]);
        assert_eq!((&run.verdict, &run.trouble), (&Verdict::Unrefuted, &None), "{}", tail(&run));
    }
}

#[test]
fn a_gateway_that_leaves_clients_waiting() {
    let (mut net, origin) = net();
    let gateway = start(origin, true);
    let protocol = proxy(gateway, "/", origin);
    let run = run(&mut net, &protocol, gateway, ("w", 1), (40, 2), &[]);
    // Others are still answered, through the tester as origin; so it is this answer that is missing.
    assert!(
        matches!(run.trouble, Some(Trouble::Silent { alive: true, .. })),
        "{:?}\n{}",
        run.trouble,
        tail(&run)
    );
    assert!(run.verdict.is_refuted() && matches!(run.trace.last(), Some(Event::Quiescent)), "{}", tail(&run));
}
