//! A service whose cases would meet in the server: nothing runs beside a case, neither another case nor the investigation of a
//! violation.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use confute_test::prelude::*;
use confute_test::service::wire;

/// Two requests, each with a response of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
enum Message {
    #[request("one")]
    One,
    #[request("two")]
    Two,
    #[response("first")]
    First,
    #[response("second")]
    Second,
    #[unreadable]
    Odd(String),
}

const ONE: Rule = Rule::must("lone/one", "The response to one is first.");
const TWO: Rule = Rule::must("lone/two", "The response to two is second.");

struct Model;

impl ServerModel for Model {
    type Msg = Message;
    type Out = Expected<Message>;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        let (rule, right, wrong) = match &*request {
            Message::One => (&ONE, Message::First, Message::Second),
            Message::Two => (&TWO, Message::Second, Message::First),
            _ => return io.replies(0),
        };
        let is_wrong = io.deviates(rule)?;
        io.send(conn, if is_wrong { wrong } else { right })
    }

    fn rules(&self) -> &'static [Rule] {
        &[ONE, TWO]
    }
}

/// The connections that are open, and the most that were open at the same time.
#[derive(Default)]
struct Open(AtomicUsize, AtomicUsize);

/// Starts a server that mixes the responses up once in a while, and takes its time.
fn start(open: Arc<Open>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let open = Arc::clone(&open);
            thread::spawn(move || {
                let now = open.0.fetch_add(1, Ordering::SeqCst) + 1;
                open.1.fetch_max(now, Ordering::SeqCst);
                serve(&stream);
                open.0.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    address
}

fn serve(mut stream: &TcpStream) {
    for (place, line) in BufReader::new(stream).lines().map_while(Result::ok).enumerate() {
        thread::sleep(Duration::from_millis(2));
        let is_one = line == "one";
        let is_right = place % 5 < 3;
        let response = if is_one == is_right { "first\n" } else { "second\n" };
        if stream.write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn nothing_runs_beside_a_case() {
    let open = Arc::new(Open::default());
    let mix = Mix::all().outstanding(2);
    let check = confute_test::service(&start(Arc::clone(&open)), Model, wire::lines(), mix);
    let check = check.connections(2).regressions(None).max_failures(5).max_time(Duration::from_secs(2));
    let (outcome, text) = check.shrink_time(Duration::from_secs(2)).try_run().unwrap();
    assert_eq!(outcome.findings.len(), 2, "{text}");
    // A case ends its connections before the next one begins, but the server may notice that a little later.
    let most = open.1.load(Ordering::SeqCst);
    assert!(most <= 4, "{most} connections at the same time");
}
