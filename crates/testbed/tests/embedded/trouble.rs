//! Tests with misbehaving clients, many clients, and many servers.

use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use confute_testbed::embedded::{Bug, Config, Embedded};

use super::client::{Client, correct, request, start};

/// Returns the number of threads of this process.
fn threads() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    text.lines().find_map(|line| line.strip_prefix("Threads:")).and_then(|it| it.trim().parse().ok())
}

#[test]
fn two_hundred_servers_come_and_go() {
    let begin = Instant::now();
    for number in 0..200 {
        let server = start(Config::default());
        let mut idle: Vec<_> = (0..number % 5).map(|_| Client::to(server.addr())).collect();
        if let Some(client) = idle.first_mut() {
            assert_eq!(client.put("/a", "x").status, 201);
            client.send("PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf");
        }
        let address = server.addr();
        drop(server);
        assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    // Other tests of this process have threads too, but fewer than this.
    assert!(threads().is_none_or(|count| count < 300), "{:?}", threads());
}

#[test]
fn a_server_ends_whatever_it_is_doing() {
    let begin = Instant::now();
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    for bug in [Bug::HangOnHead, Bug::TornRead] {
        let server = start(Config::default().bug(bug).proxy("/proxy/", mute.local_addr().unwrap()));
        let mut clients: Vec<_> = (0..8).map(|_| Client::to(server.addr())).collect();
        for client in &mut clients {
            client.send(request("PUT /a", "", "x") + &request("HEAD /a", "", "").repeat(9));
            client.send(request("GET /proxy/a", "", ""));
        }
        thread::sleep(Duration::from_millis(50));
        drop(server);
    }
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}

#[test]
fn thirty_two_connections_at_once() {
    let (server, _) = correct();
    thread::scope(|scope| {
        for number in 0..32 {
            let address = server.addr();
            scope.spawn(move || {
                let mut client = Client::to(address);
                for round in 0..200 {
                    let (path, body) = (format!("/{number}"), format!("{number} in round {round}"));
                    let tag = client.put(&path, &body).tag().to_owned();
                    let got = client.get(&path);
                    assert_eq!((got.text(), got.tag()), (&body[..], &tag[..]));
                    assert_eq!(
                        client.ask(&format!("GET {path}"), &format!("If-None-Match: {tag}"), "").status,
                        304
                    );
                }
            });
        }
    });
}

#[test]
fn readers_see_whole_contents_while_writers_are_at_work() {
    let (server, mut client) = correct();
    client.put("/a", &"0".repeat(5000));
    assert_eq!(torn(server.addr(), 5000), 0);
}

/// Runs four writers, each with a letter of its own, and four readers, and counts the contents with more than one
/// letter.
pub(crate) fn torn(address: std::net::SocketAddr, length: usize) -> usize {
    thread::scope(|scope| {
        for letter in ["a", "b", "c", "d"] {
            scope.spawn(move || {
                let mut client = Client::to(address);
                for _ in 0..20 {
                    client.put("/a", &letter.repeat(length));
                }
            });
        }
        let readers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(move || {
                    let mut client = Client::to(address);
                    let bodies = (0..100).map(|_| client.get("/a").body);
                    bodies.filter(|body| body.iter().any(|byte| *byte != body[0])).count()
                })
            })
            .collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).sum()
    })
}

#[test]
fn the_sixty_fifth_waits_its_turn() {
    let server = start(Config { connections: 4, ..Config::default() });
    let mut clients: Vec<_> = (0..4).map(|_| Client::to(server.addr())).collect();
    for client in &mut clients {
        assert_eq!(client.get("/a").status, 404);
    }
    let mut late = Client::to(server.addr());
    late.send(request("GET /a", "", ""));
    assert!(!late.hears_more());
    drop(clients.pop());
    assert_eq!(late.receive("GET").unwrap().status, 404);
}

fn hasty() -> (Embedded, Client) {
    let server = start(Config { patience: Duration::from_millis(300), ..Config::default() });
    let client = Client::to(server.addr());
    (server, client)
}

#[test]
fn whoever_takes_too_long_is_told_so_15_5_9() {
    let (server, client) = hasty();
    let text = client.raw("GET / HTTP/1.1\r\nHost");
    assert!(text.starts_with("HTTP/1.1 408 ") && !text.ends_with('…'), "{text}");
    let text = Client::to(server.addr()).raw("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhal");
    assert!(text.starts_with("HTTP/1.1 408 "), "{text}");
    assert_eq!(Client::to(server.addr()).raw(""), "", "an idle connection is closed without a word");
    let mut slow = Client::to(server.addr());
    let begin = Instant::now();
    slow.send("GET / HTTP/1.1\r\n");
    while begin.elapsed() < Duration::from_secs(3) {
        slow.send("X: y\r\n");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(slow.rest().starts_with("HTTP/1.1 408 "), "one line after the other does not help");
}

#[test]
fn heads_without_end_are_refused_9110_15_5_15_and_rfc_6585_5() {
    let (server, client) = correct();
    let text = client.raw(format!("GET /{} HTTP/1.1\r\n", "a".repeat(100_000)));
    assert!(text.starts_with("HTTP/1.1 414 "), "{text}");
    let endless = "X: yyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(10_000);
    let text = Client::to(server.addr()).raw(format!("GET / HTTP/1.1\r\nHost: a\r\n{endless}"));
    assert!(text.starts_with("HTTP/1.1 431 "), "{text}");
    let long = request(&format!("GET /{}", "a".repeat(8000)), "", "");
    assert!(
        Client::to(server.addr()).raw(long.replace("HTTP/1.1", "HTTP/1.0")).starts_with("HTTP/1.1 404 "),
        "9112, 3"
    );
}

#[test]
fn garbage_does_no_harm() {
    let (server, mut witness) = correct();
    witness.put("/a", "still here");
    let mut seed = 1_u64;
    for round in 0..300_usize {
        let mut bytes: Vec<u8> = (0..round * 7 % 500)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 56) as u8
            })
            .collect();
        if round % 3 == 0 {
            bytes.splice(0..0, *b"PUT /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        }
        let mut client = Client::to(server.addr());
        client.send(&bytes);
        if round % 2 == 0 {
            let _ = client.stream().shutdown(Shutdown::Write);
            let text = client.rest();
            assert!(text.is_empty() || text.starts_with("HTTP/1.1 "), "{text}");
        }
    }
    assert_eq!(witness.get("/a").text(), "still here");
}

#[test]
fn who_does_not_listen_is_given_up() {
    let (server, mut client) = hasty();
    client.put("/a", &"x".repeat(1_000_000));
    client.send(request("GET /a", "", "").repeat(100));
    thread::sleep(Duration::from_millis(800));
    let begin = Instant::now();
    drop(server);
    assert!(begin.elapsed() < Duration::from_secs(1));
}

#[test]
fn tens_of_thousands_of_requests_a_second() {
    let (server, _) = correct();
    let begin = Instant::now();
    let count: u32 = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|number| {
                let address = server.addr();
                scope.spawn(move || {
                    let mut client = Client::to(address);
                    let path = format!("/{number}");
                    client.put(&path, "some content");
                    let burst = request(&format!("GET {path}"), "", "").repeat(20);
                    for _ in 0..100 {
                        client.send(&burst);
                        for _ in 0..20 {
                            client.receive("GET").unwrap();
                        }
                    }
                    2000
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let rate = f64::from(count) / begin.elapsed().as_secs_f64();
    println!("{rate:.0} requests a second");
    assert!(rate > 1000.0, "{rate}, even on a busy machine");
}
