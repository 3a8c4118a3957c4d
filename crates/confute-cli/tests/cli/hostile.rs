//! Servers that cannot be talked with, or that turn bad: the right verdict, a next step, and the tester survives.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use confute_testbed::embedded::{Config, Embedded};

/// What a server does with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Hangs,
    ClosesAtOnce,
    Resets,
    Garbage,
    EndlessHeader,
    EndlessBody,
    Floods,
    /// Answers with a head that is legal, and longer than the tester reads.
    LongHead,
}

impl Manner {
    fn treat(self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut request = [0; 4096];
        if self == Manner::ClosesAtOnce {
            return Ok(());
        }
        let _ = stream.read(&mut request)?;
        match self {
            // What is unread makes it a reset.
            Manner::ClosesAtOnce | Manner::Resets => {}
            Manner::Hangs => thread::sleep(Duration::from_mins(1)),
            Manner::Garbage => stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n\x00\xff\xfe garbage\r\n")?,
            Manner::EndlessHeader => {
                stream.write_all(b"HTTP/1.1 500 Oh No\r\nX: ")?;
                loop {
                    stream.write_all(&[b'x'; 16 << 10])?;
                }
            }
            Manner::EndlessBody => {
                stream.write_all(b"HTTP/1.1 500 Oh No\r\n\r\n")?;
                loop {
                    stream.write_all(&[b'x'; 16 << 10])?;
                }
            }
            Manner::LongHead => {
                stream.write_all(b"HTTP/1.1 500 Oh No\r\n")?;
                stream.write_all(&b"X-A: b\r\n".repeat(20_000))?;
                stream.write_all(b"Content-Length: 0\r\n\r\n")?;
                while stream.read(&mut request)? > 0 {}
            }
            Manner::Floods => loop {
                stream.write_all(&b"HTTP/1.1 204 No Content\r\n\r\n".repeat(500))?;
            },
        }
        Ok(())
    }
}

/// A server that is a correct one for so many connections, and then this. (The survey takes one a method.)
fn server(manner: Manner, correct: u32) -> SocketAddr {
    mixed(manner, correct > 0, move |connection| connection < correct)
}

/// A server that is a correct one on some connections, by their numbers, and this on the others.
fn mixed(manner: Manner, any: bool, is_correct: impl Fn(u32) -> bool + Send + 'static) -> SocketAddr {
    let behind = any.then(|| Embedded::start(Config::default()).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = AtomicU32::new(0);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            match &behind {
                Some(behind) if is_correct(count.fetch_add(1, Ordering::Relaxed)) => {
                    relay(stream, behind.addr());
                }
                _ => drop(thread::spawn(move || drop(manner.treat(stream)))),
            }
        }
    });
    address
}

/// Passes on what is said, both ways.
fn relay(client: TcpStream, to: SocketAddr) {
    let server = TcpStream::connect(to).unwrap();
    for (mut from, mut to) in [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)] {
        let _ = (from.set_nodelay(true), to.set_nodelay(true));
        thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
    took: Duration,
    /// The most memory that it ever had, in MiB, where the system tells.
    memory: Option<u64>,
}

/// Runs `confute http` and watches it.
fn confute(address: SocketAddr, more: &[&str]) -> Ran {
    let start = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_confute"))
        .args(["http", &format!("http://{address}/"), "--seed", "1", "--patience", "500ms"])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut memory = None;
    while child.try_wait().unwrap().is_none() {
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = told
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        memory = peak.map(|kib: u64| kib >> 10).max(memory);
        if start.elapsed() > Duration::from_mins(1) {
            child.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(20));
    }
    let took = start.elapsed();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr), took, memory }
}

impl Ran {
    /// It says that nothing is known, why, and what to do; and did not take long nor much.
    fn says(&self, what: Manner, parts: &[&str]) {
        let Ran { code, out, err, took, memory } = self;
        assert_eq!(*code, Some(3), "{what:?} {took:?} {out}{err}");
        let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.lines().any(|line| line.starts_with("inconclusive: ")), "{what:?} {out}");
        for part in parts {
            assert!(flat.contains(part), "{what:?} lacks {part:?}: {out}");
        }
        assert!(
            flat.contains("= next:") || flat.contains("did you mean") || flat.contains('?'),
            "{what:?} {out}"
        );
        assert!(*took < Duration::from_secs(20), "{what:?} took {took:?}");
        assert!(memory.is_none_or(|mib| mib < 400), "{what:?} took {memory:?} MiB");
        assert!(!out.contains("violation 1"), "{what:?} {out}");
    }
}

#[test]
fn from_the_start() {
    for (manner, parts) in [
        (Manner::Hangs, &["no answer to", "--patience"][..]),
        (Manner::ClosesAtOnce, &["without an answer", "https://"]),
        (Manner::Resets, &["without an answer"]),
        (Manner::Garbage, &["is not HTTP but", "SSH-2.0", "is this the right port?"]),
        (Manner::EndlessHeader, &["a flood", "no end of the message"]),
        (Manner::EndlessBody, &["no end"]),
    ] {
        let ran = confute(server(manner, 0), &["--max-time", "10s"]);
        ran.says(manner, parts);
        // There are no figures of nothing.
        assert!(
            !ran.out.contains("load:") && ran.out.contains("nothing was tested"),
            "{manner:?} {}",
            ran.out
        );
    }
}

#[test]
fn later() {
    for (manner, parts) in [
        (Manner::Hangs, &["= trouble:", "--patience"][..]),
        (Manner::ClosesAtOnce, &["= trouble:", "without an answer"]),
        (Manner::Resets, &["= trouble:", "without an answer"]),
        (Manner::EndlessHeader, &["= trouble:", "flood"]),
        (Manner::EndlessBody, &["= trouble:", "flood"]),
    ] {
        // Enough for the survey and for the first connections of a case. That it refuses to serve is another matter.
        confute(server(manner, 8), &["--max-time", "6s", "--level", "must"]).says(manner, parts);
    }
}

#[test]
fn an_answer_that_is_too_long_costs_its_connection() {
    let address = mixed(Manner::LongHead, true, |connection| connection < 12 || connection % 7 != 3);
    let ran = confute(address, &["--max-time", "4s"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("unrefuted: "), "{}", ran.out);
}

#[test]
fn what_is_wrong_by_itself_is_a_violation() {
    // Answers that nobody asked for, and bytes that are no answer.
    for manner in [Manner::Floods, Manner::Garbage] {
        let ran = confute(server(manner, 8), &["--max-time", "6s", "--max-failures", "1"]);
        assert_eq!(ran.code, Some(1), "{manner:?} {}{}", ran.out, ran.err);
        assert!(ran.out.contains("rfc9112"), "{manner:?} {}", ran.out);
        assert!(ran.took < Duration::from_secs(30), "{manner:?} took {:?}", ran.took);
        assert!(ran.memory.is_none_or(|mib| mib < 400), "{manner:?} took {:?} MiB", ran.memory);
    }
}

#[test]
fn a_port_where_nobody_listens() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ran = confute(address, &[]);
    ran.says(Manner::ClosesAtOnce, &["cannot connect to", "is the server running?", "nothing was tested"]);
    assert!(!ran.out.contains("load:"), "{}", ran.out);
}

#[test]
fn death_and_restart_are_no_violations() {
    // It dies for good.
    let embedded = Embedded::start(Config::default()).unwrap();
    let address = embedded.addr();
    let ender = thread::spawn(move || {
        thread::sleep(Duration::from_millis(700));
        drop(embedded);
    });
    confute(address, &["--max-time", "10s"]).says(Manner::Hangs, &["is gone", "log"]);
    ender.join().unwrap();

    // It comes back, again and again, with nothing.
    let embedded = Embedded::start(Config::default()).unwrap();
    let address = embedded.addr();
    let running = Arc::new(Mutex::new(Some(embedded)));
    let (handle, stop) = (running.clone(), Arc::new(AtomicU32::new(0)));
    let stopped = stop.clone();
    let restarter = thread::spawn(move || {
        while stopped.load(Ordering::Relaxed) == 0 {
            thread::sleep(Duration::from_millis(150));
            let mut running = handle.lock().unwrap();
            drop(running.take());
            *running = (0..100).find_map(|_| {
                thread::sleep(Duration::from_millis(5));
                Embedded::start(Config { port: address.port(), ..Config::default() }).ok()
            });
        }
    });
    let ran = confute(address, &["--max-time", "6s"]);
    stop.store(1, Ordering::Relaxed);
    restarter.join().unwrap();
    assert_ne!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("violation"), "{}", ran.out);
}
