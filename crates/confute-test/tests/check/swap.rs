//! The swap server of Koh et al., written in C for one thread and `select`: the correct one is never refuted, each mutant is.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use confute_test::prelude::*;
use confute_test::service::wire::{Framed, Framing, Words};
use confute_test::{Check, Conclusion};
use confute_testbed::ServerError;
use confute_testbed::swap::{Mutant, SIZE, Swap};

/// The messages of a swap server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
enum Message {
    #[request("{}")]
    Put(String),
    /// A response is known to be an earlier message, or the one that earlier cases left behind.
    #[response("{}")]
    Previous(Secret),
    #[unreadable]
    Odd(String),
}

/// Messages have a fixed size, and are filled by repeating the text: parts of two of them are no message.
#[derive(Clone)]
struct Fixed;

fn filled(body: &[u8]) -> Vec<u8> {
    body.iter().chain(b" ").copied().cycle().take(SIZE).collect()
}

impl Framing for Fixed {
    fn wrap(&self, body: &[u8], bytes: &mut Vec<u8>) {
        bytes.extend(filled(body));
    }

    fn unwrap<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], usize)> {
        let message = bytes.get(..SIZE)?;
        let word = message.split(|byte| *byte == b' ').next()?;
        Some((if message == filled(word) { word } else { message }, SIZE))
    }
}

const PREVIOUS: Rule = Rule::must("swap/previous", "A response is the message before its request.");
const LAST: Table<(), Secret> = Table::unknown("last", |fresh, ()| fresh.fresh().into());

struct Model;

impl ServerModel for Model {
    type Msg = Message;
    type Out = Expected<Message>;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        let Message::Put(text) = &*request else { return io.replies(0) };
        let last = LAST.edit(io, &())?;
        let before = if io.deviates(&PREVIOUS)? { None } else { last.get(io)? };
        last.set(io, Secret::known(&text.as_str().into()))?;
        let previous = before.map_or_else(|| Secret::fresh(io), Ok)?;
        io.send(conn, Message::Previous(previous))
    }

    fn rules(&self) -> &'static [Rule] {
        &[PREVIOUS]
    }
}

/// Starts the server. `None` without a C compiler.
fn start(mutant: Option<Mutant>) -> Option<Swap> {
    match Swap::start(mutant) {
        Ok(server) => Some(server),
        Err(error @ ServerError::NotInstalled { .. }) => {
            println!("{error}: nothing was tested");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Returns the test of a server, over eight connections. The state of the server belongs to all cases, so only one of them may run
/// at a time.
fn check(server: &Swap) -> Check {
    let wire = Framed::new(Fixed, Words);
    let mix = Mix::all().outstanding(8);
    let check = confute_test::service(&server.address().to_string(), Model, wire, mix);
    check.workers(1).connections(8).regressions(None)
}

#[test]
fn a_correct_swap_server_is_not_refuted() {
    let Some(server) = start(None) else { return };
    // Meanwhile, other clients come, send a part of a request, and leave: no message of theirs is complete.
    let address = server.address();
    let stop = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&stop);
    let strangers = thread::spawn(move || {
        let mut count = 0_usize;
        while !is_over.load(Ordering::Relaxed) {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&[b'x'; SIZE][..count % SIZE]).unwrap();
            count += 1;
            // Several are open at the same time, but not so many that `select` has no place for them.
            thread::sleep(Duration::from_micros(300));
        }
        count
    });
    let outcome = check(&server).cases(10).max_time(Duration::from_mins(1)).run();
    stop.store(true, Ordering::Relaxed);
    assert!(strangers.join().unwrap() > 50);
    assert!(outcome.figures.answers >= 1_500, "{}", outcome.figures.answers);
}

#[test]
fn each_mutant_of_the_swap_server_is_refuted() {
    for mutant in Mutant::ALL {
        let Some(server) = start(Some(mutant)) else { return };
        let check = check(&server).seed(1).max_failures(1).max_time(Duration::from_secs(30));
        let (outcome, text) = check.shrink_time(Duration::from_secs(2)).try_run().unwrap();
        assert_eq!(outcome.conclusion, Conclusion::Refuted, "{mutant:?}: {text}");
        // Two responses to one request, the first of which is wrong, may be more than the rule allows.
        let blamed = if mutant == Mutant::Partial { "" } else { "swap/previous (level must)" };
        assert!(text.contains(&format!("violation 1: {blamed}")), "{mutant:?}: {text}");
    }
}
