//! Exhaustive runs: every script up to a size, the smallest first, and no claim beyond that.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use confute_testbed::embedded::{Bug, Config, Embedded};
use serde_json::Value;

use super::{confute, said};

fn exhaustive(config: Config, more: &[&str]) -> (i32, String, String) {
    let server = Embedded::start(config).unwrap();
    let url = format!("http://{}/", server.addr());
    said(confute().args(["http", &url, "--seed", "1", "--exhaustive"]).args(more))
}

/// Joins all lines into one.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn all_of_a_correct_server() {
    let (code, out, err) = exhaustive(Config::default(), &["2", "-v"]);
    assert_eq!(code, 0, "{out}{err}");
    let claim = "all 1,400 scripts of up to 2 requests ran; no violation";
    assert!(out.starts_with("unrefuted: http://127.0.0.1:") && out.contains(claim), "{out}");
    assert!(err.starts_with("1,400 scripts of up to 2 requests\n"), "{err}");
    let (code, out, err) = exhaustive(Config::default(), &["1", "--workers", "3", "-q"]);
    assert_eq!((code, out.lines().count()), (0, 1), "{out}{err}");
    assert!(out.contains("all 20 scripts of up to 1 request ran; no violation"), "{out}");
}

#[test]
fn the_smallest_is_shown() {
    // One request shows that `If-Match: *` is ignored; a weak comparison of If-Match takes two.
    for (bug, rule, requests) in [
        (Bug::IfMatchStarOnMissing, "rfc9110-13.1.1/if-match", 1),
        (Bug::IfMatchWeak, "rfc9110-13.1.1/strong-comparison", 2),
    ] {
        let (code, out, err) = exhaustive(Config::default().bug(bug), &["2", "--format", "json"]);
        assert_eq!(code, 1, "{out}{err}");
        let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let found = lines.iter().find(|line| line["blame"][0]["rules"][0] == rule).unwrap();
        assert_eq!(found["shrunk"]["requests_before"], requests, "{found:#}");
        let run = lines.last().unwrap();
        assert_eq!(run["exhaustive"]["scripts"], 1400, "{run:#}");
        assert_eq!(run["exhaustive"]["all_ran"], true, "{run:#}");
    }
}

#[test]
fn what_was_cut_short_is_not_claimed() {
    let (code, out, err) = exhaustive(Config::default(), &["5", "--max-time", "300ms"]);
    assert_eq!(code, 3, "{out}{err}");
    let text = flat(&out);
    assert!(text.contains("no violation, but not everything was run and judged"), "{out}");
    assert!(text.contains("of up to 5 requests ran and were judged"), "{out}");
    assert!(!text.contains("all "), "{out}");
}

/// Interrupts a run with SIGINT, like Ctrl-C.
#[test]
fn what_was_interrupted_is_not_claimed() {
    let server = Embedded::start(Config::default()).unwrap();
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_confute"))
        .args(["http", &format!("http://{}/", server.addr()), "--exhaustive", "4"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(1));
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{out}");
    assert!(out.starts_with("inconclusive: ") && !flat(&out).contains("all "), "{out}");
    assert!(flat(&out).contains("of up to 4 requests ran and were judged"), "{out}");
}

/// Starts a server that responds once per connection, and closes on the second request.
fn once(behind: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || pass_once(&client, &TcpStream::connect(behind)?));
        }
    });
    addr
}

fn pass_once(mut client: &TcpStream, mut server: &TcpStream) -> std::io::Result<()> {
    let mut bytes = [0; 16 << 10];
    let count = client.read(&mut bytes)?;
    server.write_all(&bytes[..count])?;
    // A response is a single write.
    let count = server.read(&mut bytes)?;
    client.write_all(&bytes[..count])?;
    let _ = client.read(&mut bytes)?;
    client.shutdown(Shutdown::Both)
}

#[test]
fn what_was_never_answered_is_not_claimed() {
    let server = Embedded::start(Config::default()).unwrap();
    let url = format!("http://{}/", once(server.addr()));
    let (code, out, err) = said(confute().args(["http", &url, "--seed", "1", "--exhaustive", "2"]));
    assert_eq!(code, 3, "{out}{err}");
    let text = flat(&out);
    // 960 scripts have a second request on a connection; in 64 of them it is not sent, because no response had its tag.
    assert!(text.contains("a request was never answered in 896 of 1400 cases"), "{out}");
    assert!(text.contains("504 of 1,400 scripts of up to 2 requests ran and were judged"), "{out}");
    assert!(text.contains("in 896 scripts a connection ended before its request was answered"), "{out}");
}

#[test]
fn what_does_not_go_with_it() {
    for more in
        [&["0"][..], &["6"], &["2", "--path", "/x"], &["2", "--cases", "3"], &["2", "--connections", "3"]]
    {
        let (code, out, err) =
            said(confute().args(["http", "http://127.0.0.1:1/", "--exhaustive"]).args(more));
        assert!(code == 2 && err.contains("--exhaustive"), "{more:?}: {out}{err}");
    }
}
