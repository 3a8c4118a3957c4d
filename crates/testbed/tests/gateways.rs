//! Private gateways forward requests and leave nothing behind when they end.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

mod servers;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use confute_testbed::free_port;
use confute_testbed::haproxy::Haproxy;
use confute_testbed::nghttpx::Nghttpx;
use confute_testbed::squid::Squid;
use confute_testbed::varnish::Varnish;

use servers::{PATIENCE, get, is_gone, is_left, running};

/// Reads a head, up to the empty line.
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

/// Sends a request through a gateway. Returns the head that the origin received and the response that the client
/// received.
fn pass(server: SocketAddr, origin: SocketAddr, path: &str) -> (String, String) {
    let listener = TcpListener::bind(origin).unwrap();
    let arrived = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let asked = head(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi").unwrap();
        asked
    });
    let answer = get(server, path);
    // If the gateway never connected, this ends the wait of the origin.
    let _ = TcpStream::connect(origin);
    let asked = arrived.join().unwrap_or_else(|_| panic!("nothing arrived: {answer}"));
    (asked, answer)
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
    // A second Squid does not disturb the first, neither while it runs nor when it ends.
    drop(Squid::forwarding(free_port().unwrap()).unwrap());
    // By default Squid would mark the origin as dead after ten failures.
    for _ in 0..15 {
        let answer = get(server.address(), "/proxy/a");
        assert!(answer.starts_with("HTTP/1.1 503 ") || answer.starts_with("HTTP/1.1 502 "), "{answer}");
    }
    // The request is sent twice to check that nothing is cached.
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

#[test]
fn varnish() {
    let origin = free_port().unwrap();
    let Some(server) = running(Varnish::forwarding(origin)) else { return };
    let answer = get(server.address(), "/proxy/a");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    // The request is sent twice to check that nothing is cached.
    for _ in 0..2 {
        let (asked, answer) = pass(server.address(), origin, "/proxy/a/b?c");
        assert!(asked.starts_with("GET /a/b?c HTTP/1.1\r\n"), "{asked}");
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nhi"), "{answer}");
    }
    let answer = get(server.address(), "/a");
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    let address = server.address();
    assert!(is_left("varnish"));
    drop(server);
    // The child process, which is the one that listens, is gone too.
    assert!(is_gone(address, "varnish"));
}

#[test]
fn nghttpx() {
    let origin = free_port().unwrap();
    let Some(server) = running(Nghttpx::forwarding(origin)) else { return };
    // By default nghttpx would avoid an origin that failed.
    for _ in 0..15 {
        let answer = get(server.address(), "/a");
        assert!(answer.starts_with("HTTP/1.1 503 ") || answer.starts_with("HTTP/1.1 502 "), "{answer}");
    }
    let (asked, answer) = pass(server.address(), origin, "/a/b?c");
    assert!(asked.starts_with("GET /a/b?c HTTP/1.1\r\n"), "{asked}");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nhi"), "{answer}");
    let address = server.address();
    assert!(is_left("nghttpx"));
    drop(server);
    assert!(is_gone(address, "nghttpx"));
}
