//! The values of -H are sent to the server, and appear nowhere else.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use confute_testbed::embedded::{Bug, Config, Embedded};

use super::{confute, said};

/// Longer than the displayed part of a text, and with characters that are escaped there.
const SECRET: &str = "s3cr3t-t0k3n-77f1-\"so-to-speak\"-and-much-longer-than-what-is-shown";
/// Part of the secret that must not appear either.
const PART: &str = "s3cr3t-t0k3n";

/// Starts a server that responds to every request with a secret and the request itself, and records the requests.
fn echo() -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let kept = told.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, kept) = (stream.unwrap(), kept.clone());
            thread::spawn(move || {
                let mut buffer = [0; 16 << 10];
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    kept.lock().unwrap().extend_from_slice(&buffer[..count]);
                    let length = SECRET.len() + count;
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nX-Told: {SECRET}\r\nContent-Length: {length}\r\n\r\n{SECRET}"
                    );
                    if stream.write_all(&[head.as_bytes(), &buffer[..count]].concat()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, told)
}

fn holds(text: &[u8]) -> bool {
    text.windows(PART.len()).any(|part| part == PART.as_bytes())
}

fn no_file_holds(folder: &Path) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += no_file_holds(&path);
        } else {
            assert!(!holds(&std::fs::read(&path).unwrap()), "{}", path.display());
            files += 1;
        }
    }
    files
}

#[test]
fn they_never_appear() {
    let (echo, told) = echo();
    let wrong = Embedded::start(Config::default().bug(Bug::IfMatchIgnoredOnPut)).unwrap();
    let field = format!("Authorization: Bearer {SECRET}");
    for (number, address) in [echo, wrong.addr()].into_iter().enumerate() {
        for format in ["human", "json"] {
            let folder =
                std::env::temp_dir().join(format!("confute-secret-{}-{number}-{format}", std::process::id()));
            let (code, out, err) = said(
                confute()
                    .args(["http", &format!("http://{address}/"), "--seed", "1", "--max-failures", "2", "-v"])
                    .args(["-H", &field, "--max-time", "3s", "--shrink-time", "2s", "--format", format])
                    .arg("--report-dir")
                    .arg(&folder),
            );
            assert_eq!(code, 1, "{out}{err}");
            assert!(!holds(out.as_bytes()) && !holds(err.as_bytes()), "{out}{err}");
            let files = no_file_holds(&folder);
            std::fs::remove_dir_all(&folder).unwrap();
            assert!(files >= 3, "{files}");
            // Only the value is missing, not the whole report.
            assert!(out.contains("rfc9110") || out.contains("store/"), "{out}");
        }
    }
    // The server received the secret.
    assert!(holds(&told.lock().unwrap()));
}

#[test]
fn what_cannot_be_sent_is_refused_without_repeating_it() {
    for (field, part) in [
        (format!("Authorization Bearer {SECRET}"), "NAME: VALUE"),
        (format!("X: {SECRET}\r\nY: z"), "cannot be sent"),
        (format!("Content-Length: {SECRET}"), "decides about this field itself"),
    ] {
        let (code, out, err) = said(confute().args(["http", "http://127.0.0.1:1/", "-H", &field]));
        assert!(code == 2 && err.contains(part), "{part}: {out}{err}");
        assert!(!holds(out.as_bytes()) && !holds(err.as_bytes()), "{out}{err}");
    }
}
