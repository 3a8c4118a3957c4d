//! Tests of the engines of both scripts, with synthetic steps, against servers with fixed responses.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Reads the head of a request; `None` at the end of the connection.
fn request(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.extend(byte);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// Starts a server with these responses, one for each request, on any connection: `|` stands for CRLF, `~` for a pause,
/// and `#` at the end closes the connection. The content of a request is one byte. A request with `Expect` is answered
/// before its content arrives, unless the response begins with a pause.
fn server(answers: &'static [&'static str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut answers = answers.iter();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            while let Some(head) = request(&mut stream) {
                let Some(answer) = answers.next() else { return };
                let is_early = head.contains("Expect:") && !answer.starts_with('~');
                if head.contains("Content-Length:") && !is_early {
                    stream.read_exact(&mut [0]).unwrap();
                }
                for piece in answer.split_inclusive('~') {
                    let bytes: Vec<u8> =
                        piece.trim_end_matches(['~', '#']).chars().map(|c| c as u8).collect();
                    let bytes = bytes.split(|byte| *byte == b'|').collect::<Vec<_>>().join(&b"\r\n"[..]);
                    if stream.write_all(&bytes).is_err() {
                        break;
                    }
                    if piece.ends_with('~') {
                        thread::sleep(Duration::from_millis(100));
                    }
                }
                if answer.ends_with('#') {
                    break;
                }
                if is_early {
                    stream.read_exact(&mut [0]).unwrap();
                }
            }
        }
    });
    url
}

fn run(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

fn python(flaws: &str, steps: &str, arguments: &[&str]) -> Command {
    let script = format!(
        "import argparse, calendar, os, random, re, socket, sys, time\n\
         from email.utils import formatdate, parsedate\nfrom urllib.parse import urlsplit\n\
         WHAT, URL, HOST, NAME, RUNS, SECRETS, FLAWS, CHECKS, UNDECIDED = \
         'a \u{2026}', '', None, 'n', 1, [], {flaws}, {{}}, None\n\
         PUT = 'PUT {{path:a}} HTTP/1.1\\r\\nContent-Length: 1\\r\\n'\n\
         GET = 'GET {{path:a}} HTTP/1.1\\r\\n'\n\ndef steps(t):\n{steps}\n{}",
        include_str!("reproduce.py")
    );
    let mut command = Command::new("python3");
    command.args(["-c", &script]).args(arguments);
    command
}

fn bash(steps: &str, arguments: &[&str]) -> Command {
    let script = format!(
        "WHAT=what URL= HOST= RUNS=1 SECRETS=()\nsteps() {{\n{steps}\n}}\n{}",
        include_str!("reproduce.sh")
    );
    let mut command = Command::new("bash");
    command.args(["-c", &script, "reproduce.sh"]).args(arguments);
    command
}

const NO_FLAWS: &str = "set()";
const GET: &str = " t.send(1, 0, GET + '\\r\\n')\n";
const PUT: &str = " t.send(1, 0, PUT + '\\r\\n', b'x')\n";

#[test]
fn python_decides() {
    let read = |checks: &str| format!("{GET} t.answer(1, '', last=True, {checks})");
    let other = &*read("status=[200], body_not_in=[b'x']");
    let broken = &*read("broken=True, status=[200], cut=True, body_in=[b'y']");
    let status = &*read("broken=True, status=[200]");
    let early = " t.send(1, 0, PUT + 'Expect: 100-continue\\r\\n\\r\\n', b'x', cuts=[(0, 600)])\n \
                 t.answer(1, '', last=True, status=[417], no_continue=True)";
    let after = |checks: &str| format!("{PUT} t.answer(1, '', {checks})\n{}", GET.replace("(1", "(2"));
    let written = &*format!("{} t.answer(2, '', last=True, status=[404])", after("status=[201]"));
    let tagged = &*format!(
        "{} t.answer(2, '', last=True, status=[404])",
        after("status=[201], tag=(False, None, [])")
    );
    let asks = &*format!("{PUT} t.answer(1, '')\n t.send(2, 0, GET + 'If-Match: \"{{tag:1}}\"\\r\\n\\r\\n')");
    let odd = &*written.replace("status=[201]", "odd=True, status=[201]");
    let flawed = &*read("status=[200]");
    let surplus = "{'surplus'}";
    let long = format!("HTTP/1.1 200 OK|Content-Length: {}||", "9".repeat(5000));
    let long: &'static [&'static str] = vec![&*long.leak()].leak();
    let cases: &[(&str, &str, &'static [&'static str], i32)] = &[
        (NO_FLAWS, other, &["HTTP/1.1 200 OK|Content-Length: 1||y"], 1),
        (NO_FLAWS, other, &["HTTP/1.1 200 OK|Content-Length: 1||x"], 0),
        (NO_FLAWS, other, &["HTTP/1.1 200 OK|Content-Length: 1, 01||y"], 1),
        (NO_FLAWS, other, &["HTTP/1.1 200 OK|Content-Length: \u{b2}||y"], 3),
        (NO_FLAWS, other, long, 3),
        // If the recorded response was truncated, it may be so again, and its received part is compared; a complete
        // response is a different one.
        (NO_FLAWS, broken, &["HTTP/1.1 200 OK|Content-Length: 2||y#"], 1),
        (NO_FLAWS, broken, &["HTTP/1.1 200 OK|Content-Length: 2||x#"], 0),
        (NO_FLAWS, broken, &["HTTP/1.1 404 No|Content-Length: 2||y#"], 0),
        (NO_FLAWS, broken, &["HTTP/1.1 200 OK|Transfer-Encoding: chunked||2|y#"], 1),
        (NO_FLAWS, broken, &["HTTP/1.1 200 OK|Content-Length: 1||y"], 0),
        (NO_FLAWS, broken, &["HTTP/1.1 200 OK|Content-Le#"], 3),
        // Only the status is compared.
        (NO_FLAWS, status, &["HTTP/1.1 200 OK|Content-Length: 2||y#"], 1),
        (NO_FLAWS, status, &["HTTP/1.1 200 OK|Content-Length: 1||y"], 1),
        // The content is truncated or coded.
        (NO_FLAWS, other, &["HTTP/1.1 200 OK|Content-Length: 2||y#"], 3),
        (NO_FLAWS, other, &["HTTP/1.1 200 OK|Transfer-Encoding: chunked||1|y|0||"], 1),
        (NO_FLAWS, other, &["HTTP/1.1 200 OK|Transfer-Encoding: gzip, chunked||1|y|0||"], 3),
        (NO_FLAWS, other, &["HTTP/1.1 200 OK|Transfer-Encoding: gzip||y#"], 3),
        (NO_FLAWS, other, &["HTTP/1.1 200 OK|Content-Encoding: br|Content-Length: 1||y"], 3),
        // A response before the content is sent does not lack a 100 (Continue).
        (NO_FLAWS, early, &["HTTP/1.1 417 No|Content-Length: 0||"], 0),
        (NO_FLAWS, early, &["~HTTP/1.1 417 No|Content-Length: 0||"], 1),
        // A write is refused, or has to be refused.
        (
            NO_FLAWS,
            written,
            &["HTTP/1.1 201 Yes|Content-Length: 0||", "HTTP/1.1 404 No|Content-Length: 0||"],
            1,
        ),
        (NO_FLAWS, written, &["HTTP/1.1 404 No|Content-Length: 0||"], 3),
        (NO_FLAWS, written, &["HTTP/1.1 308 No|Content-Length: 0||"], 3),
        (NO_FLAWS, written, &["HTTP/1.1 412 No|Content-Length: 0||"], 0),
        (NO_FLAWS, odd, &["HTTP/1.1 400 No|Content-Length: 0||"], 0),
        // Tags are needed for later requests, or compared.
        (NO_FLAWS, tagged, &["HTTP/1.1 201 Yes|Content-Length: 0||"], 3),
        (NO_FLAWS, tagged, &["HTTP/1.1 201 Yes|Content-Length: 0|ETag: W/\"x\"||"], 0),
        (NO_FLAWS, asks, &["HTTP/1.1 201 Yes|Content-Length: 0||"], 3),
        // Empty lines are accepted, even if they arrive slowly; and a server that refuses does not show its flaws.
        (surplus, flawed, &["~|~|~HTTP/1.1 200 OK|Content-Length: 0||"], 0),
        (surplus, flawed, &["~|~x~|HTTP/1.1 200 OK|Content-Length: 0||"], 1),
        (surplus, flawed, &["HTTP/1.1 200 OK|Content-Length: 0||x"], 1),
        (surplus, flawed, &["HTTP/1.1 403 No|Content-Length: 0||"], 3),
        (surplus, flawed, &["HTTP/1.1 503 No|Content-Length: 0||"], 3),
        (surplus, flawed, &["HTTP/1.1 403 No|Content-Length: 0||x"], 1),
        ("{'framing'}", flawed, &["HTTP/1.1 200 OK|Content-Length: 1, 01||x"], 0),
    ];
    for (flaws, steps, answers, expected) in cases {
        let (code, said) = run(&mut python(flaws, steps, &[&server(answers)]));
        assert_eq!(code, *expected, "{flaws} {answers:?}: {said}");
    }
}

#[test]
fn python_gives_up() {
    let read = &*format!("{GET} t.answer(1, '', last=True, status=[200])");
    // The response never ends, though bytes keep arriving.
    let drip: &'static [&'static str] = vec![&*"X~".repeat(200).leak()].leak();
    let start = Instant::now();
    let (code, said) = run(&mut python(NO_FLAWS, read, &[&server(drip), "--patience", "1"]));
    assert!(code == 3 && start.elapsed() < Duration::from_secs(15), "{said}");
    for (arguments, expected) in [
        (&["http://[::1/"][..], 3),
        (&["http://127.0.0.1:99999/"], 3),
        (&["ftp://127.0.0.1/"], 2),
        (&["http://127.0.0.1:1/", "--runs", "0"], 2),
        (&["http://127.0.0.1:1/", "--runs", "x"], 2),
        (&["http://127.0.0.1:1/"], 3),
    ] {
        let (code, said) = run(python(NO_FLAWS, read, arguments).env("PYTHONIOENCODING", "ascii"));
        assert_eq!(code, expected, "{arguments:?}: {said}");
    }
    let secret =
        &*format!("{} t.answer(1, '', last=True)", GET.replace("+ ", "+ 'X: {env:SECRET}\\r\\n' + "));
    let (code, said) = run(python(NO_FLAWS, secret, &[&server(&[])]).env("SECRET", "\u{20ac}"));
    assert_eq!(code, 3, "{said}");
}

#[test]
fn python_leaves_out_what_is_not_looked_at() {
    // The first run sends all requests, the second only those that are compared; that the first read fails is ignored.
    let steps = " t.send(1, 0, GET + '\\r\\n', extra=True)\n t.send(2, 1, GET + '\\r\\n')\n \
                 t.answer(1, '', extra=True)\n t.answer(2, '', last=True, status=[404])";
    let answers = &[
        "HTTP/1.1 200 OK|Conte#",
        "HTTP/1.1 200 OK|Content-Length: 0||",
        "HTTP/1.1 404 No|Content-Length: 0||",
    ];
    let (code, said) = run(&mut python(NO_FLAWS, steps, &[&server(answers), "--runs", "2"]));
    assert_eq!(code, 1, "{said}");
    assert_eq!(said.matches("  1: GET").count(), 1, "{said}");
    assert_eq!(said.matches("  2: GET").count(), 2, "{said}");
}

/// Starts a server that accepts connections and sends nothing.
fn mute() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    url
}

#[test]
fn scripts_end_in_time() {
    let start = Instant::now();
    let read = &*format!("{} t.answer(1, '', last=True, status=[200])", GET.repeat(30));
    let (code, said) = run(&mut python(NO_FLAWS, read, &[&mute(), "--runs", "50", "--time", "2"]));
    assert!(code == 3 && start.elapsed() < Duration::from_secs(8), "{:?} {said}", start.elapsed());
    let start = Instant::now();
    let read = &*" ask 1 \"$CASE-a\"\n".repeat(30);
    let steps = format!(" content 1.sent abc 3000000 d\n{read} pause 30\n answer 1 then\n");
    let (code, said) = run(&mut bash(&steps, &[&mute(), "--runs", "50", "--time", "2"]));
    assert!(code == 3 && start.elapsed() < Duration::from_secs(8), "{:?} {said}", start.elapsed());
}

#[test]
fn bash_decides() {
    let read = |checks: &str| format!(" ask 1 \"$CASE-a\"\n answer 1 then\n{checks}\n");
    let other = &*read(" status '401' 200\n content 1.then0 $'\\xff' 1 ''\n plain 1\n body 1 not_in 1.then0");
    let length = &*read(" plain 1\n is 1 Content-Length 1");
    let written = &*read(" wrote 412 201\n has 1 ETag\n strong 1");
    let cases: &[(&str, &'static [&'static str], i32)] = &[
        (other, &["HTTP/1.1 200 OK|X: \u{ff}|Content-Length: 1||y#"], 1),
        (other, &["HTTP/1.1 200 \u{ff}|X: \u{ff}|Content-Length: 1||\u{ff}#"], 0),
        (other, &["HTTP/1.1 103 Early|X: y||HTTP/1.1 200 OK|Content-Length: 1||y#"], 1),
        (other, &["HTTP/1.1 401 OK|Content-Length: 1||y#"], 3),
        (other, &["HTTP/1.1 200 OK|Content-Encoding: br|Content-Length: 1||y#"], 3),
        (length, &["HTTP/1.1 200 OK|X: \u{ff}|Content-Length: 1||y#"], 1),
        (length, &["HTTP/1.1 200 OK|Content-Length: 2||yy#"], 0),
        (length, &["HTTP/1.1 200 OK|Content-Encoding: br|Content-Length: 2||yy#"], 3),
        (length, &["HTTP/1.1 200 OK|Transfer-Encoding: gzip, chunked||0||#"], 3),
        (
            written,
            &["HTTP/1.1 103 Early|ETag: W/\"x\"||HTTP/1.1 201 OK|ETag: \"\u{ff}\"|Content-Length: 0||#"],
            1,
        ),
        (written, &["HTTP/1.1 201 OK|ETag: W/\"x\"|Content-Length: 0||#"], 0),
        (written, &["HTTP/1.1 201 OK|Content-Length: 0||#"], 3),
        // Trailer fields are not fields of the head.
        (written, &["HTTP/1.1 201 OK|Transfer-Encoding: chunked||0|ETag: \"x\"||#"], 3),
        (written, &["HTTP/1.1 412 No|Content-Length: 0||#"], 0),
        (written, &["HTTP/1.1 404 No|Content-Length: 0||#"], 3),
    ];
    for (steps, answers, expected) in cases {
        let mut command = bash(steps, &[&server(answers)]);
        let (code, said) = run(command.env("http_proxy", "http://127.0.0.1:1/").env("LC_ALL", "C.UTF-8"));
        assert_eq!(code, *expected, "{answers:?}: {said}");
    }
    for arguments in
        [&["--runs", "0"][..], &["--runs"], &["--runs", "x"], &["--runs", "99999999999999999999"]]
    {
        let (code, said) = run(bash(other, &["http://127.0.0.1:1/"]).args(arguments));
        assert_eq!(code, 2, "{arguments:?}: {said}");
    }
    assert_eq!(run(&mut bash(other, &["127.0.0.1:1/"])).0, 2);
    assert_eq!(run(&mut bash(other, &["http://127.0.0.1:1/"])).0, 3);
}
