//! Mistakes of model authors: each is detected, makes the judgement inconclusive, and is reported with a
//! remedy.
//!
//! A model with a mistake proves nothing, so none of these may end in a verdict on the server. The messages
//! are part of the library's interface, so the tests contain them verbatim.

use std::cell::{Cell, RefCell};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use confute::lang::{
    Conn, Io, Level, Mistake, Number, Objects, Register, Rule, ServerModel, Table, Token, Turn,
};
use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Inconclusive, Options, Tester, Verdict, judge};

type Serve = fn(&Wrong, &mut Io<'_, Wrong>) -> Turn;

/// A model with a given turn, and a counter that no model should have.
struct Wrong {
    serve: Serve,
    internal: Serve,
    runs: Cell<usize>,
    /// A value outside of tables.
    kept: RefCell<String>,
}

impl Wrong {
    fn new(serve: Serve, internal: Serve) -> Self {
        Self { serve, internal, runs: Cell::new(0), kept: RefCell::default() }
    }
}

impl ServerModel for Wrong {
    type Msg = String;
    type Out = String;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        self.runs.set(self.runs.get() + 1);
        (self.serve)(self, io)
    }

    fn internal(&self, io: &mut Io<'_, Self>) -> Turn {
        (self.internal)(self, io)
    }

    fn rules(&self) -> &'static [Rule] {
        &[LIES]
    }
}

const LIES: Rule = Rule { name: "wrong/lies", level: Level::Must, summary: "Nothing is made up." };
const ONE: Register<String> = Register::new("one");
const TWO: Register<String> = Register::new("two");
const WHO: Register<Conn> = Register::new("who");
const MANY: Table<String, String> = Table::new("many");
const NOTES: Objects<Token, String> = Objects::new("notes");

fn sent(conn: u32, text: &str) -> Event<String> {
    Event::Sent(WireConn(conn), text.to_owned())
}

fn received(conn: u32, text: &str) -> Event<String> {
    Event::Received(WireConn(conn), text.to_owned())
}

/// Returns one request and its response.
fn exchange() -> Vec<Event<String>> {
    vec![sent(0, "a"), received(0, "a")]
}

/// Returns the verdicts on these events, offline and online; `None` on a timeout.
fn verdicts(serve: Serve, internal: Serve, events: Vec<Event<String>>) -> Option<[Verdict; 2]> {
    let (sender, receiver) = mpsc::channel();
    // If the judgement hangs, the thread ends with the process.
    thread::spawn(move || {
        let network = Tcp::default();
        let options = Options { turns: 100_000, ..Options::default() };
        let offline = judge(&Wrong::new(serve, internal), &network, &events, &options);
        let model = Wrong::new(serve, internal);
        let mut tester = Tester::new(&model, &network, options);
        for event in events {
            tester.observe(event);
        }
        let _ = sender.send([offline, tester.verdict().clone()]);
    });
    receiver.recv_timeout(Duration::from_secs(20)).ok()
}

/// Returns the mistake that both ways of judging find.
fn mistake_in(serve: Serve, internal: Serve, events: Vec<Event<String>>) -> Mistake {
    let [offline, online] = verdicts(serve, internal, events).expect("a verdict within the time");
    let Verdict::Inconclusive(Inconclusive::Mistake(mistake)) = offline else {
        panic!("offline: {offline:?}, online: {online:?}")
    };
    assert_eq!(online, Verdict::Inconclusive(Inconclusive::Mistake(mistake.clone())));
    mistake
}

fn mistake(serve: Serve, events: Vec<Event<String>>) -> Mistake {
    mistake_in(serve, |_, io| io.idle(), events)
}

/// Asserts the mistake that is found in an exchange, and its message.
macro_rules! finds {
    ($serve:expr, $pattern:pat, $message:expr) => {
        finds!($serve, exchange(), $pattern, $message)
    };
    ($serve:expr, $events:expr, $pattern:pat, $message:expr) => {{
        let found = mistake($serve, $events);
        assert!(matches!(found, $pattern), "{found:?}");
        assert_eq!(found.to_string(), $message);
    }};
}

const UNLIKE: &str = ". A turn may depend only on values from `io`: no clock, no random numbers, no state outside \
                      tables (choices: `io.choose`, secrets: `io.fresh`)";

#[test]
fn other_options_the_second_time() {
    let found = mistake(
        |model, io| {
            let (conn, message) = io.recv()?;
            let options = 2 + model.runs.get() % 2;
            let way = io.choose(options)?;
            io.send(conn, if way == 0 { "wrong".to_owned() } else { message.to_string() })
        },
        exchange(),
    );
    assert!(matches!(found, Mistake::NotDeterministic { .. }), "{found:?}");
    let said = found.to_string();
    assert!(
        said.starts_with("the turn is not deterministic: run twice over the same answers it did `"),
        "{said}"
    );
    assert!(said.ends_with(UNLIKE), "{said}");
}

#[test]
fn another_question_the_second_time() {
    let found = mistake(
        |model, io| {
            let (conn, message) = io.recv()?;
            let secret = io.fresh::<Token>()?;
            let guess = format!("{}", model.runs.get() % 2);
            io.branch(secret.is(&guess.as_str().into()))?;
            io.send(conn, message.to_string())
        },
        exchange(),
    );
    assert!(matches!(found, Mistake::NotDeterministic { .. }), "{found:?}");
}

#[test]
fn another_answer_the_second_time() {
    let serve: Serve = |model, io| {
        let (conn, _) = io.recv()?;
        io.send(conn, format!("{}", model.runs.get()))
    };
    assert!(matches!(mistake(serve, exchange()), Mistake::NotDeterministic { .. }));
}

/// A model that stores the last value outside of its tables behaves the same twice in a row. The server is
/// correct.
#[test]
fn another_answer_later() {
    let serve: Serve = |model, io| {
        let (conn, message) = io.recv()?;
        if *message == *"last" {
            let last = model.kept.borrow().clone();
            return io.send(conn, last);
        }
        model.kept.replace(message.to_string());
        io.send(conn, "kept".to_owned())
    };
    let ask = |value: usize| {
        let value = format!("{value}");
        [sent(0, &value), received(0, "kept"), sent(0, "last"), received(0, &value)]
    };
    let events: Vec<_> = (0..20).flat_map(ask).collect();
    let (network, options) = (Tcp::default(), Options { repeat_all: true, ..Options::default() });
    let found = judge(&Wrong::new(serve, |_, io| io.idle()), &network, &events, &options);
    assert!(
        matches!(found, Verdict::Inconclusive(Inconclusive::Mistake(Mistake::NotDeterministic { .. }))),
        "{found:?}"
    );
}

#[test]
fn another_cell_the_second_time() {
    let serve: Serve = |model, io| {
        let (conn, message) = io.recv()?;
        let cell = MANY.edit(io, &format!("{}", model.runs.get()))?;
        cell.get(io)?;
        cell.set(io, message.to_string())?;
        io.send(conn, message.to_string())
    };
    assert!(matches!(mistake(serve, exchange()), Mistake::NotDeterministic { .. }));
}

#[test]
fn a_panic() {
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            let byte = message.as_bytes()[7];
            io.send(conn, format!("{byte}"))
        },
        Mistake::Panicked { .. },
        "`mistakes::Wrong` panicked in the turn of `a`: index out of bounds: the len is 1 but the index is 7. A turn must \
         handle every message in every state; the location of the panic is on standard error"
    );
    let echo: Serve = |_, io| {
        let (conn, message) = io.recv()?;
        io.send(conn, message.to_string())
    };
    let found = mistake_in(echo, |_, _| panic!("out of ideas"), exchange());
    let (model, turn, why) = ("mistakes::Wrong", "an internal turn".to_owned(), "out of ideas".to_owned());
    assert_eq!(found, Mistake::Panicked { model, turn, why });
}

#[test]
fn secrets_without_end() {
    finds!(
        |_, io| {
            io.recv()?;
            loop {
                io.fresh::<Number>()?;
            }
        },
        Mistake::Endless { .. },
        "the turn does not end: it made 100000 calls to `io`. A turn handles one message and returns; \
         do not loop over `io.recv` inside a turn"
    );
}

#[test]
fn looks_without_end() {
    let reads: Serve = |_, io| {
        io.recv()?;
        let cell = ONE.edit(io)?;
        loop {
            cell.get(io)?;
        }
    };
    let rules: Serve = |_, io| {
        io.recv()?;
        loop {
            io.deviates(&LIES)?;
        }
    };
    let sends: Serve = |_, io| {
        let (conn, message) = io.recv()?;
        loop {
            io.send(conn, message.to_string())?;
        }
    };
    let one_way: Serve = |_, io| {
        io.recv()?;
        loop {
            io.choose(1)?;
        }
    };
    for serve in [reads, rules, sends, one_way] {
        assert_eq!(mistake(serve, exchange()), Mistake::Endless { effects: 100_000 });
    }
}

#[test]
fn choices_without_end() {
    let serve: Serve = |_, io| {
        io.recv()?;
        loop {
            io.choose(2)?;
        }
    };
    assert_eq!(mistake(serve, exchange()), Mistake::Endless { effects: 100_000 });
}

#[test]
fn choices_without_end_in_a_writer() {
    let serve: Serve = |_, io| {
        io.recv()?;
        let cell = ONE.edit(io)?;
        cell.get(io)?;
        loop {
            io.choose(2)?;
        }
    };
    assert_eq!(mistake(serve, exchange()), Mistake::Endless { effects: 100_000 });
}

#[test]
fn choices_without_end_at_rest() {
    let serve: Serve = |_, io| {
        io.recv()?;
        loop {
            io.choose(2)?;
        }
    };
    assert_eq!(mistake(serve, vec![sent(0, "a"), Event::Quiescent]), Mistake::Endless { effects: 100_000 });
}

#[test]
fn questions_without_end() {
    let serve: Serve = |_, io| {
        io.recv()?;
        let secret = io.fresh::<Number>()?;
        let mut guess = 0;
        loop {
            guess += 1;
            io.branch(secret.is(&guess))?;
        }
    };
    assert_eq!(mistake(serve, exchange()), Mistake::Endless { effects: 100_000 });
}

#[test]
fn messages_without_end() {
    let serve: Serve = |_, io| loop {
        let (conn, message) = io.recv()?;
        io.send(conn, message.to_string())?;
    };
    let events = (0..1_000).flat_map(|_| exchange()).collect();
    assert!(matches!(mistake(serve, events), Mistake::Endless { .. }));
}

const CLOSED: &str = "the turn sends on c0, which the model itself closed before. Keep open connections in the state, \
                      or send before `io.close`";

fn closes_first(_: &Wrong, io: &mut Io<'_, Wrong>) -> Turn {
    let (conn, message) = io.recv()?;
    io.close(conn)?;
    io.send(conn, message.to_string())
}

#[test]
fn a_send_on_a_closed_connection() {
    finds!(closes_first, vec![sent(0, "a"), Event::Quiescent], Mistake::SendOnClosed { .. }, CLOSED);
    finds!(
        closes_first,
        vec![sent(0, "a"), Event::Closed(WireConn(0))],
        Mistake::SendOnClosed { .. },
        CLOSED
    );
}

#[test]
fn a_send_on_a_closed_connection_that_was_seen() {
    finds!(closes_first, exchange(), Mistake::SendOnClosed { .. }, CLOSED);
}

/// Closes the first connection, and sends every later message to it.
fn closes_before(_: &Wrong, io: &mut Io<'_, Wrong>) -> Turn {
    let (conn, message) = io.recv()?;
    io.whole()?;
    if let Some(first) = WHO.get(io)? {
        return io.send(first, message.to_string());
    }
    WHO.set(io, conn)?;
    io.close(conn)
}

#[test]
fn a_send_on_a_connection_closed_before() {
    let events = vec![sent(0, "a"), sent(1, "b"), received(1, "b")];
    finds!(closes_before, events, Mistake::SendOnClosed { .. }, CLOSED);
}

#[test]
fn a_send_on_a_connection_seen_to_close_before() {
    let events = vec![sent(0, "a"), Event::Closed(WireConn(0)), sent(1, "b"), Event::Quiescent];
    finds!(closes_before, events, Mistake::SendOnClosed { .. }, CLOSED);
}

#[test]
fn a_cell_opened_after_a_look() {
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            ONE.get(io)?;
            TWO.set(io, message.to_string())?;
            io.send(conn, message.to_string())
        },
        Mistake::OpenedLate { .. },
        "the turn opens `two[()]` (to write) after it has read a cell or made a choice. Open every cell before the \
         first look (`TABLE.edit` to write, `TABLE.view` to read), or begin the turn with `io.whole()?`"
    );
    let after_a_choice: Serve = |_, io| {
        let (conn, message) = io.recv()?;
        let key = format!("k{}", io.choose(2)?);
        MANY.get(io, &key)?;
        io.send(conn, message.to_string())
    };
    let found = mistake(after_a_choice, exchange());
    assert_eq!(found, Mistake::OpenedLate { cell: "many[\"k0\"]".to_owned(), access: "to read" });
}

const VIEWED: &str = "the turn writes `many[\"a\"]`, which it opened only to read. Open it with `TABLE.edit` before \
                      the first look";

#[test]
fn a_write_to_a_view() {
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            MANY.view(io, &message)?.set(io, message.to_string())?;
            io.send(conn, message.to_string())
        },
        Mistake::WriteToView { .. },
        VIEWED
    );
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            if MANY.get(io, &message)?.is_none() {
                MANY.set(io, &message, message.to_string())?;
            }
            io.send(conn, message.to_string())
        },
        Mistake::WriteToView { .. },
        VIEWED
    );
}

#[test]
fn a_second_receive() {
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            ONE.get(io)?;
            io.recv()?;
            io.send(conn, message.to_string())
        },
        Mistake::SecondReceive,
        "the turn receives a second message. Begin the turn with `io.whole()?`"
    );
}

#[test]
fn a_look_before_the_first_receive() {
    finds!(
        |_, io| {
            ONE.get(io)?;
            let (conn, message) = io.recv()?;
            io.send(conn, message.to_string())
        },
        Mistake::NotReceived { .. },
        "the turn opens `one[()]` before it has received a message. Begin the turn with `io.recv()?`; what happens \
         without a message is a turn of `ServerModel::internal`"
    );
    let chooses: Serve = |_, io| {
        io.choose(2)?;
        let (conn, message) = io.recv()?;
        io.send(conn, message.to_string())
    };
    assert_eq!(mistake(chooses, exchange()), Mistake::NotReceived { what: "makes a choice".to_owned() });
}

/// A turn without a receive forgets the stored message; the engine would never run such a turn.
#[test]
fn an_end_without_a_receive() {
    let serve: Serve = |_, io| {
        io.whole()?;
        let one = ONE.edit(io)?;
        if one.get(io)?.is_some() {
            return one.clear(io);
        }
        let (conn, message) = io.recv()?;
        one.set(io, message.to_string())?;
        io.send(conn, message.to_string())
    };
    let events = exchange().into_iter().chain(exchange()).collect();
    assert_eq!(mistake(serve, events), Mistake::NotReceived { what: "ends".to_owned() });
}

#[test]
fn an_answer_to_somebody_else() {
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            let who = WHO.edit(io)?;
            let last = who.get(io)?;
            who.set(io, conn)?;
            io.send(last.unwrap_or(conn), message.to_string())
        },
        vec![sent(0, "a"), received(0, "a"), sent(1, "b"), Event::Quiescent],
        Mistake::ForeignSend { .. },
        "the turn sends to c0, which is not the connection it received from. Begin the turn with `io.whole()?`"
    );
}

#[test]
fn the_wrong_number_of_answers() {
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            ONE.get(io)?;
            io.send(conn, message.to_string())?;
            io.send(conn, message.to_string())
        },
        Mistake::Replies { sent: 2, announced: 1 },
        "the turn sent 2 message(s) to the connection it received from, but announced 1. Call `io.replies(2)?` before \
         the first look, or begin the turn with `io.whole()?`"
    );
    let silent: Serve = |_, io| {
        io.recv()?;
        ONE.get(io)?;
        Ok(())
    };
    assert_eq!(mistake(silent, exchange()), Mistake::Replies { sent: 0, announced: 1 });
    let boastful: Serve = |_, io| {
        let (conn, message) = io.recv()?;
        io.replies(3)?;
        io.send(conn, message.to_string())
    };
    assert_eq!(mistake(boastful, exchange()), Mistake::Replies { sent: 1, announced: 3 });
    let moody: Serve = |_, io| {
        let (conn, message) = io.recv()?;
        if io.choose(2)? == 0 { io.send(conn, message.to_string()) } else { Ok(()) }
    };
    assert_eq!(mistake(moody, exchange()), Mistake::Replies { sent: 0, announced: 1 });
}

#[test]
fn waiting_after_a_response() {
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            io.send(conn, message.to_string())?;
            io.wait()
        },
        Mistake::ActsAndWaits,
        "the turn acts and then calls `io.wait`, which says that nothing has happened. Wait before the first `io.send`; a \
         first response, and a second one later, are two turns"
    );
}

#[test]
fn nothing_to_choose_from() {
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            io.choose(0)?;
            io.send(conn, message.to_string())
        },
        Mistake::EmptyChoice,
        "`io.choose(0)`: there is nothing to choose from"
    );
}

#[test]
fn more_to_choose_from_than_counted() {
    let serve: Serve = |_, io| {
        let (conn, message) = io.recv()?;
        let way = io.choose(65_537)?;
        io.send(conn, if way == 65_536 { message.to_string() } else { String::new() })
    };
    let verdicts = verdicts(serve, |_, io| io.idle(), exchange()).expect("a verdict within the time");
    assert!(
        verdicts.iter().all(|verdict| !verdict.is_refuted()),
        "one of the ways explains it: {verdicts:?}"
    );
}

const TWINS: &str = "table `one` holds values of another type than requested. Give every table its own name";

#[test]
fn two_tables_of_one_name() {
    const TWIN: Register<i64> = Register::new("one");
    const NUMBERED: Table<u64, String> = Table::new("one");
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            let one = ONE.edit(io)?;
            let twin = TWIN.edit(io)?;
            twin.set(io, 1)?;
            one.get(io)?;
            io.send(conn, message.to_string())
        },
        Mistake::WrongType { table: "one" },
        TWINS
    );
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            io.whole()?;
            ONE.set(io, message.to_string())?;
            NUMBERED.entries(io)?;
            io.send(conn, message.to_string())
        },
        Mistake::WrongType { table: "one" },
        TWINS
    );
}

#[test]
fn beyond_oneself_after_a_look() {
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            ONE.get(io)?;
            io.connect()?;
            io.send(conn, message.to_string())
        },
        Mistake::WidenedLate { what: "connect" },
        "the turn calls `io.connect` after it has read a cell or made a choice. Begin the turn with `io.whole()?`"
    );
    let closes: Serve = |_, io| {
        let (conn, message) = io.recv()?;
        ONE.get(io)?;
        io.send(conn, message.to_string())?;
        io.close(conn)
    };
    assert_eq!(mistake(closes, exchange()), Mistake::WidenedLate { what: "close" });
    let announces: Serve = |_, io| {
        let (conn, message) = io.recv()?;
        ONE.get(io)?;
        io.replies(1)?;
        io.send(conn, message.to_string())
    };
    assert_eq!(mistake(announces, exchange()), Mistake::WidenedLate { what: "replies" });
}

#[test]
fn internal_turns_make_mistakes_too() {
    let echo: Serve = |_, io| {
        let (conn, message) = io.recv()?;
        io.send(conn, message.to_string())
    };
    let wrong: Serve = |_, io| io.choose(0).map(drop);
    assert_eq!(mistake_in(echo, wrong, exchange()), Mistake::EmptyChoice);
}

#[test]
fn the_id_of_a_new_object_is_not_told() {
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            let (_, note) = NOTES.create(io)?;
            note.set(io, message.to_string())?;
            io.send(conn, message.to_string())
        },
        Mistake::Untold { table: "notes" },
        "the turn creates an object in `notes`, but its response does not tell the id. Send the id in the response, and visit it \
         in `ServerModel::told`"
    );
}

#[test]
fn an_object_is_found_by_a_secret() {
    finds!(
        |_, io| {
            let (conn, message) = io.recv()?;
            let id = io.fresh::<Token>()?;
            NOTES.edit(io, &id)?.set(io, message.to_string())?;
            io.send(conn, message.to_string())
        },
        Mistake::FoundBySecret { table: "notes" },
        "the turn looks for an object of `notes` by an id that no message of this turn contains. Begin the turn with \
         `io.whole()?`"
    );
}

/// Not a mistake: a whole turn may read before it receives.
#[test]
fn a_look_before_the_first_receive_of_a_whole_turn() {
    let early: Serve = |_, io| {
        io.whole()?;
        let last = ONE.get(io)?.unwrap_or_default();
        let (conn, message) = io.recv()?;
        ONE.set(io, message.to_string())?;
        io.send(conn, last)
    };
    let answers = |last| vec![sent(0, "a"), received(0, ""), sent(0, "b"), received(0, last)];
    let right = verdicts(early, |_, io| io.idle(), answers("a")).expect("a verdict within the time");
    assert_eq!(right, [Verdict::Unrefuted, Verdict::Unrefuted]);
    let wrong = verdicts(early, |_, io| io.idle(), answers("b")).expect("a verdict within the time");
    assert!(wrong.iter().all(Verdict::is_refuted), "{wrong:?}");
}

/// Not a mistake: a turn that sends to another connection before its first read or choice is whole, without
/// declaring it.
#[test]
fn what_is_no_mistake() {
    let early: Serve = |_, io| {
        let (conn, message) = io.recv()?;
        io.send(Conn::client(1), message.to_string())?;
        ONE.set(io, message.to_string())?;
        io.send(conn, message.to_string())
    };
    let events = vec![Event::Opened(WireConn(1)), sent(0, "a"), received(1, "a"), received(0, "a")];
    let verdicts = verdicts(early, |_, io| io.idle(), events).expect("a verdict within the time");
    assert_eq!(verdicts, [Verdict::Unrefuted, Verdict::Unrefuted]);
}
