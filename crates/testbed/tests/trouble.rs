//! Servers that do not keep up the conversation: the driver says what happened, and accuses nobody.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use confute::Verdict;
use confute_testbed::driver::{Plan, Trouble, run};
use confute_testbed::http::HttpError;
use confute_testbed::traffic::Habits;

/// A server that treats every connection in this way, until the test process ends.
fn server(behave: fn(TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || behave(stream));
        }
    });
    address
}

fn hear(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0; 4096]);
}

fn say(stream: &mut TcpStream, text: &str) {
    let _ = stream.write_all(text.as_bytes());
}

fn hang() {
    thread::sleep(Duration::from_mins(1));
}

/// What ends the conversation with such a server.
fn trouble_with(address: SocketAddr) -> Trouble {
    let plan = Plan {
        seed: 1,
        habits: Habits { keys: 2, conditional_puts: true, equal_lengths: false },
        requests: 100,
        time: Duration::from_secs(10),
        silence: Duration::from_millis(300),
    };
    let start = Instant::now();
    let run = run(address, &plan);
    assert!(start.elapsed() < Duration::from_secs(5), "it did not take this as the end");
    assert_eq!(run.verdict, Verdict::Unrefuted, "trouble is no violation");
    let trouble = run.trouble.expect("trouble");
    println!("{trouble}");
    trouble
}

#[test]
fn closes_at_once() {
    // A request that crosses the closing is answered by a reset.
    assert!(matches!(trouble_with(server(drop)), Trouble::Closed { .. } | Trouble::Broken { .. }));
}

#[test]
fn closes_in_the_middle_of_an_answer() {
    let trouble = trouble_with(server(|mut stream| {
        hear(&mut stream);
        say(&mut stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\nhalf");
    }));
    assert!(matches!(trouble, Trouble::Closed { bytes: 50, .. }), "{trouble}");
}

#[test]
fn resets() {
    // Closing with unread bytes makes the system send a reset.
    let trouble = trouble_with(server(|mut stream| {
        let _ = stream.read(&mut [0; 1]);
    }));
    let text = trouble.to_string();
    assert!(matches!(trouble, Trouble::Broken { .. }) && text.contains("reset"), "{text}");
}

#[test]
fn talks_garbage() {
    let trouble = trouble_with(server(|mut stream| {
        hear(&mut stream);
        say(&mut stream, "220 mail.example ESMTP\r\n");
        hang();
    }));
    assert!(matches!(trouble, Trouble::Garbled { source: HttpError::Garbled(_), .. }), "{trouble}");
}

#[test]
fn answers_what_the_model_does_not_know() {
    let trouble = trouble_with(server(|mut stream| {
        hear(&mut stream);
        say(&mut stream, "HTTP/1.1 500 Oh No\r\nContent-Length: 0\r\n\r\n");
        hang();
    }));
    assert!(matches!(trouble, Trouble::Garbled { source: HttpError::Unknown(_), .. }), "{trouble}");
}

#[test]
fn never_stops() {
    let trouble = trouble_with(server(|mut stream| {
        hear(&mut stream);
        say(&mut stream, "HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"More: and more\r\n").is_ok() {}
    }));
    assert!(matches!(trouble, Trouble::Garbled { .. }), "{trouble}");
}

#[test]
fn hangs() {
    let trouble = trouble_with(server(|mut stream| {
        hear(&mut stream);
        say(&mut stream, "HTTP/1.1 2");
        hang();
    }));
    assert!(matches!(trouble, Trouble::Silent { .. }), "{trouble}");
}

#[test]
fn answers_twice() {
    let trouble = trouble_with(server(|mut stream| {
        let mut start = [0; 3];
        if stream.read_exact(&mut start).is_ok() && start == *b"GET" {
            say(&mut stream, &"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".repeat(2));
        }
        hang();
    }));
    assert!(matches!(trouble, Trouble::Unasked { bytes: 45, .. }), "{trouble}");
}

#[test]
fn is_not_there() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(matches!(trouble_with(gone), Trouble::Unreachable { .. }));
}
