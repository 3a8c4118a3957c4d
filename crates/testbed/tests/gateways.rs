//! Gateways of one's own: they forward, and nothing stays behind when they end.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use confute_testbed::haproxy::Haproxy;
use confute_testbed::squid::Squid;
use confute_testbed::{ServerError, free_port};

const PATIENCE: Duration = Duration::from_secs(10);

/// A running server, or `None` where it is not installed, which under CI is a failure.
fn running<T>(started: Result<T, ServerError>) -> Option<T> {
    match started {
        Ok(server) => Some(server),
        Err(error @ ServerError::NotInstalled { .. }) => {
            assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "{error}, and this is CI");
            println!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Everything that comes until its head ends.
fn head(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        bytes.extend(byte);
    }
    String::from_utf8(bytes).unwrap()
}

/// The whole answer to one request.
fn get(server: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Asks through a gateway. Returns the head that the origin got, and the answer that came back.
fn pass(server: SocketAddr, origin: SocketAddr, path: &str) -> (String, String) {
    let listener = TcpListener::bind(origin).unwrap();
    let arrived = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let asked = head(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi").unwrap();
        asked
    });
    let answer = get(server, path);
    // If nobody came, it is not to wait any longer.
    let _ = TcpStream::connect(origin);
    let asked = arrived.join().unwrap_or_else(|_| panic!("nothing arrived: {answer}"));
    (asked, answer)
}

/// Whether this process has a folder, or shared memory, for such a server.
fn is_left(name: &str) -> bool {
    let own = format!("confute-{name}-{}-", std::process::id());
    [&std::env::temp_dir(), Path::new("/dev/shm")].iter().any(|folder| {
        let Ok(mut entries) = folder.read_dir() else { return false };
        entries.any(|entry| {
            let entry = entry.unwrap().file_name();
            // Squid writes x for what is neither a letter nor a digit.
            [own.clone(), own.replace('-', "x")].iter().any(|own| entry.to_string_lossy().starts_with(own))
        })
    })
}

fn is_gone(server: SocketAddr, name: &str) -> bool {
    TcpStream::connect(server).is_err() && !is_left(name)
}

#[test]
fn haproxy() {
    let origin = free_port().unwrap();
    let Some(server) = running(Haproxy::forwarding(origin)) else { return };
    let (asked, answer) = pass(server.address(), origin, "/proxy/a/b?c");
    assert!(asked.starts_with("GET /a/b?c HTTP/1.1\r\n"), "{asked}");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nhi"), "{answer}");
    let answer = get(server.address(), "/a");
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    let address = server.address();
    assert!(is_left("haproxy"));
    drop(server);
    assert!(is_gone(address, "haproxy"));
}

#[test]
fn squid() {
    let origin = free_port().unwrap();
    let Some(server) = running(Squid::forwarding(origin)) else { return };
    // Another does not get in its way, neither while it is there nor when it ends.
    drop(Squid::forwarding(free_port().unwrap()).unwrap());
    // By default it would take ten failures for the end of the origin.
    for _ in 0..15 {
        let answer = get(server.address(), "/proxy/a");
        assert!(answer.starts_with("HTTP/1.1 503 ") || answer.starts_with("HTTP/1.1 502 "), "{answer}");
    }
    // The same twice: nothing is kept.
    for _ in 0..2 {
        let (asked, answer) = pass(server.address(), origin, "/proxy/a/b?c");
        assert!(asked.starts_with(&format!("GET {}a/b?c HTTP/1.1\r\n", server.inner_prefix())), "{asked}");
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nhi"), "{answer}");
    }
    let answer = get(server.address(), "/a");
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    let address = server.address();
    assert!(is_left("squid"));
    drop(server);
    assert!(is_gone(address, "squid"));
}
