//! Read-only servers, prefixes, and interruption.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use confute_testbed::embedded::{Bug, Config, Embedded};

use super::{confute, said};

/// Sends a request and returns the response.
fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A read-only server in front of another one that has some content: it accepts only safe methods.
struct Front {
    address: SocketAddr,
    /// First line of every request.
    lines: Arc<Mutex<Vec<String>>>,
    _behind: Embedded,
}

fn read_only(config: Config) -> Front {
    let behind = Embedded::start(config).unwrap();
    for (path, body) in [("/index.html", "hello, world"), ("/b", "0123456789")] {
        let put = format!(
            "PUT {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        assert!(ask(behind.addr(), &put).starts_with("HTTP/1.1 201"));
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, to) = (listener.local_addr().unwrap(), behind.addr());
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = lines.clone();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, kept) = (client.unwrap(), kept.clone());
            thread::spawn(move || pass_on(client, to, &kept));
        }
    });
    Front { address, lines, _behind: behind }
}

fn pass_on(mut client: TcpStream, to: SocketAddr, lines: &Mutex<Vec<String>>) -> Option<()> {
    let mut buffer = [0; 16 << 10];
    let behind = TcpStream::connect(to).ok()?;
    let _ = (client.set_nodelay(true), behind.set_nodelay(true));
    let (mut from, mut back) = (behind.try_clone().ok()?, client.try_clone().ok()?);
    thread::spawn(move || std::io::copy(&mut from, &mut back));
    let mut to = behind;
    loop {
        let count = client.read(&mut buffer).ok().filter(|count| *count > 0);
        let Some(count) = count else {
            let _ = to.shutdown(std::net::Shutdown::Both);
            return None;
        };
        let text = String::from_utf8_lossy(&buffer[..count]);
        lines.lock().unwrap().push(text.lines().next().unwrap_or_default().to_owned());
        if text.starts_with("PUT ") || text.starts_with("DELETE ") {
            let refusal = b"HTTP/1.1 405 No\r\nAllow: GET, HEAD, OPTIONS\r\nContent-Length: 0\r\n\r\n";
            client.write_all(refusal).ok()?;
        } else {
            to.write_all(&buffer[..count]).ok()?;
        }
    }
}

fn http(address: SocketAddr, more: &[&str]) -> (i32, String, String) {
    let url = format!("http://{address}/");
    said(confute().args(["http", &url, "--seed", "1", "--connections", "8"]).args(more))
}

#[test]
fn a_server_that_takes_no_put_can_be_read() {
    let front = read_only(Config::default());
    let (code, out, _) = http(front.address, &[]);
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == 3 && flat.contains("PUT (405)") && flat.contains("GET (404)"), "{out}");
    assert!(flat.contains("--path"), "{out}");

    front.lines.lock().unwrap().clear();
    let paths = ["--path", "/index.html", "--path", "/b"];
    let (code, out, err) = http(front.address, &[&paths[..], &["--max-time", "3s"]].concat());
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("only read: /index.html (200, with an ETag)"), "{out}");
    assert!(out.contains("nobody changes these resources"), "{out}");
    let lines = front.lines.lock().unwrap().clone();
    assert!(lines.len() > 100, "{}", lines.len());
    let safe = |line: &String| ["GET ", "HEAD ", "OPTIONS "].iter().any(|method| line.starts_with(method));
    // A line that was truncated at the end of a read is not a first line.
    assert!(lines.iter().filter(|line| line.ends_with("HTTP/1.1")).all(safe), "{lines:?}");
}

#[test]
fn a_wrong_server_that_can_only_be_read_is_refuted() {
    for (bug, rule) in [
        (Bug::IfNoneMatchStrongOnGet, "rfc9110-13.1.2/weak-comparison"),
        (Bug::RangeOneShort, "rfc9110-15.3.7.1/part"),
        (Bug::NoHost, "rfc9112-3.2/no-host"),
    ] {
        let front = read_only(Config::default().bug(bug));
        let (code, out, err) =
            http(front.address, &["--path", "/index.html", "--max-time", "10s", "--max-failures", "1"]);
        assert!(code == 1 && out.contains(rule), "{bug} {code} {out}{err}");
    }
}

#[test]
fn paths_that_are_not_there() {
    let front = read_only(Config::default());
    let (code, out, _) = http(front.address, &["--path", "/nothing"]);
    assert!(code == 3 && out.contains("GET /nothing is answered with 404"), "{out}");
    let (code, _, err) = http(front.address, &["--path", "index.html"]);
    assert!(code == 2 && err.contains("begins with a slash"), "{err}");
}

#[test]
fn everything_written_begins_with_the_prefix() {
    let front = read_only(Config::default());
    let kept = front.lines.clone();
    for (args, start) in [(&[][..], "/confute-"), (&["--prefix", "mine/x."][..], "/mine/x.")] {
        kept.lock().unwrap().clear();
        http(front.address, args);
        let lines = kept.lock().unwrap().clone();
        assert!(lines.len() >= 5, "{lines:?}");
        for line in &lines {
            assert!(line.split(' ').nth(1).unwrap().starts_with(start), "{line}");
        }
    }
    let (code, _, err) = http(front.address, &["--prefix", "../up"]);
    assert!(code == 2 && err.contains("--prefix"), "{err}");
    let (code, _, err) = http(front.address, &["--prefix", "a b"]);
    assert!(code == 2 && err.contains("letters, digits"), "{err}");
}

#[test]
#[cfg(unix)]
fn stopped_by_ctrl_c_it_still_reports() {
    let server = Embedded::start(Config::default().bug(Bug::IfMatchIgnoredOnPut)).unwrap();
    let folder = std::env::temp_dir().join(format!("confute-stopped-{}", std::process::id()));
    let child = Command::new(env!("CARGO_BIN_EXE_confute"))
        .args([
            "http",
            &format!("http://{}/", server.addr()),
            "--seed",
            "1",
            "--max-time",
            "10m",
            "--report-dir",
        ])
        .arg(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_secs(2));
    let start = Instant::now();
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(told.success());
    let output = child.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{out}");
    assert!(
        out.contains("violation 1") && out.contains("refuted: http://") && out.contains("= seed:"),
        "{out}"
    );
    let summary: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("summary.json")).unwrap()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(summary["verdict"], "refuted");
    assert!(summary["rules"]["tested"].as_array().is_some_and(|rules| rules.len() > 10), "{summary}");
}
