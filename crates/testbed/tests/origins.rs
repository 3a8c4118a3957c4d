//! Private origin servers store the content they are given and leave nothing behind when they end.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

mod servers;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use confute_testbed::ServerError;
use confute_testbed::apache::Apache;
use confute_testbed::lighttpd::Lighttpd;
use confute_testbed::nginx::Nginx;
use confute_testbed::rclone::Rclone;
use confute_testbed::tomcat::Tomcat;
use confute_testbed::wsgidav::Wsgidav;

use servers::{PATIENCE, get, is_gone, is_left, running};

/// Puts content at a path and returns the response.
fn put(server: SocketAddr, path: &str, content: &str) -> String {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = content.len();
    write!(
        stream,
        "PUT {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{content}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Starts two servers and checks that each has its own store, and that stopping one does not stop the other.
fn stores<T>(name: &str, start: fn() -> Result<T, ServerError>, address: fn(&T) -> SocketAddr) {
    let Some(server) = running(start()) else { return };
    let other = start().unwrap();
    for content in ["first", "the second"] {
        let answer = put(address(&server), "/a", content);
        assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
        let answer = get(address(&server), "/a");
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(&format!("\r\n\r\n{content}")),
            "{answer}"
        );
    }
    let answer = get(address(&other), "/a");
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    drop(other);
    let address = address(&server);
    assert!(get(address, "/a").starts_with("HTTP/1.1 200 "));
    assert!(is_left(name));
    drop(server);
    assert!(is_gone(address, name));
}

#[test]
fn apache() {
    stores("apache2", Apache::start, Apache::address);
}

#[test]
fn lighttpd() {
    stores("lighttpd", Lighttpd::start, Lighttpd::address);
}

#[test]
fn nginx() {
    stores("nginx", Nginx::start, Nginx::address);
}

#[test]
fn rclone() {
    stores("rclone", Rclone::start, Rclone::address);
}

#[test]
fn tomcat() {
    stores("tomcat", Tomcat::start, Tomcat::address);
}

#[test]
fn wsgidav() {
    stores("wsgidav", Wsgidav::start, Wsgidav::address);
}
