//! Small models for features that the shipped ones do not use: closing, cells of several tables, internal
//! turns.

#[path = "litmus/objects.rs"]
mod objects;
#[path = "litmus/waiting.rs"]
mod waiting;

use confute::fault::{self, Fault};
use confute::lang::{Conn, Io, Number, Register, ServerModel, Sym, Table, Turn};
use confute::network::{Tcp, Udp};
use confute::trace::{Event, WireConn};
use confute::{Options, Tester, judge};

fn sent(conn: u32, text: &str) -> Event<String> {
    Event::Sent(WireConn(conn), text.to_owned())
}

fn received(conn: u32, text: &str) -> Event<String> {
    Event::Received(WireConn(conn), text.to_owned())
}

const fn closed(conn: u32) -> Event<String> {
    Event::Closed(WireConn(conn))
}

/// Returns `true` if the events are refuted, and checks that all ways of judging agree: all events at once,
/// one by one, or one by one with a verdict after each, without knowledge of later events.
fn refuted<S: ServerModel<Msg = String>>(model: &S, network: Tcp, events: &[Event<String>]) -> bool {
    let offline = judge(model, &network, events, &Options::default());
    for impatient in [false, true] {
        let mut tester = Tester::new(model, &network, Options::default());
        for event in events {
            tester.observe(event.clone());
            if impatient {
                tester.verdict();
            }
        }
        let online = tester.verdict();
        let said = format!("{events:?}: offline {offline:?}, impatient {impatient}");
        assert_eq!(offline.is_refuted(), online.is_refuted(), "{said}");
        assert_eq!(offline.is_unrefuted(), online.is_unrefuted(), "{said}");
    }
    offline.is_refuted()
}

fn tcp() -> Tcp {
    Tcp { breaks: false }
}

/// Responds to one request per connection and closes it.
struct OneShot;

impl ServerModel for OneShot {
    type Msg = String;
    type Out = String;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        io.send(conn, message.to_string())?;
        io.close(conn)
    }
}

#[test]
fn a_server_that_closes() {
    let good = [sent(0, "a"), received(0, "a"), closed(0), Event::Quiescent];
    assert!(!refuted(&OneShot, tcp(), &good));
    assert!(refuted(&OneShot, tcp(), &[sent(0, "a"), closed(0)]), "not before the answer");
    assert!(refuted(&OneShot, tcp(), &[sent(0, "a"), received(0, "a"), Event::Quiescent]), "closing is owed");
    assert!(refuted(&OneShot, tcp(), &[Event::Opened(WireConn(0)), closed(0)]), "not unasked");
    // A second request is lost with the connection.
    let lost = [sent(0, "a"), sent(0, "b"), received(0, "a"), closed(0), Event::Quiescent];
    assert!(!refuted(&OneShot, tcp(), &lost));
    let answered = [sent(0, "a"), sent(0, "b"), received(0, "a"), received(0, "b")];
    assert!(refuted(&OneShot, tcp(), &answered));
    let after = [sent(0, "a"), received(0, "a"), closed(0), sent(0, "b"), Event::Quiescent];
    assert!(!refuted(&OneShot, tcp(), &after), "who still sends is not answered");
}

#[test]
fn a_network_that_breaks() {
    let breaks = Tcp { breaks: true };
    assert!(!refuted(&OneShot, breaks, &[sent(0, "a"), closed(0)]));
    assert!(!refuted(&OneShot, breaks, &[Event::Opened(WireConn(0)), closed(0)]));
    assert!(refuted(&OneShot, breaks, &[sent(0, "a"), received(0, "b")]));
}

/// Two tables: a request names table and key, and the response is the key's last text there.
struct TwoTables;

const LEFT: Table<String, String> = Table::new("left");
const RIGHT: Table<String, String> = Table::new("right");

impl ServerModel for TwoTables {
    type Msg = String;
    type Out = String;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        let (table, key) = message.split_once('/').unwrap_or(("left", ""));
        let table = if table == "left" { LEFT } else { RIGHT };
        let cell = table.edit(io, &key.to_owned())?;
        let before = cell.get(io)?.unwrap_or_default();
        cell.set(io, message.to_string())?;
        io.send(conn, before)
    }
}

/// A cell is identified by its table and its key, regardless of their names.
#[test]
fn cells_of_two_tables_are_apart() {
    for (one, other) in [("left/a", "right/a"), ("left/right", "right/left"), ("left/left", "right/right")] {
        let events = [sent(0, one), received(0, ""), sent(0, other), received(0, "")];
        assert!(!refuted(&TwoTables, tcp(), &events), "{one} and {other} are two cells");
    }
}

/// Stores the last text, and may forget it at any time.
struct Forgetful;

const KEPT: Table<String, String> = Table::new("kept");

impl ServerModel for Forgetful {
    type Msg = String;
    type Out = String;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        let cell = KEPT.edit(io, &"it".to_owned())?;
        let before = cell.get(io)?.unwrap_or_default();
        cell.set(io, message.to_string())?;
        io.send(conn, before)
    }
    fn internal(&self, io: &mut Io<'_, Self>) -> Turn {
        let key = KEPT.pick(io)?;
        KEPT.edit(io, &key)?.clear(io)
    }
}

#[test]
fn what_happens_unprompted() {
    let said = [sent(0, "a"), received(0, ""), sent(0, "b")];
    let then = |answer: &str| refuted(&Forgetful, tcp(), &[&said[..], &[received(0, answer)]].concat());
    assert!(!then("a"), "kept");
    assert!(!then(""), "forgotten");
    assert!(then("c"), "made up");
}

/// Sends every message to all clients that have ever sent one.
struct Broadcast;

const TALKERS: Table<Conn, bool> = Table::new("talkers");

impl ServerModel for Broadcast {
    type Msg = String;
    type Out = String;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        io.whole()?;
        TALKERS.set(io, &conn, true)?;
        TALKERS.entries(io)?.into_iter().try_for_each(|(talker, _)| io.send(talker, message.to_string()))
    }
}

#[test]
fn everybody_hears_the_same_order() {
    let both = [sent(0, "a"), sent(1, "b"), received(0, "a"), received(1, "b"), received(0, "b")];
    assert!(!refuted(&Broadcast, tcp(), &both), "a, then b: 1 spoke only after a");
    assert!(!refuted(&Broadcast, tcp(), &[&both[..], &[Event::Quiescent]].concat()));
    assert!(refuted(&Broadcast, tcp(), &[&both[..], &[received(1, "a")]].concat()), "1 was not there yet");
    let joined = [sent(0, "a"), sent(1, "b"), received(0, "a"), received(1, "b"), received(0, "b")];
    let next = [sent(0, "c"), sent(1, "d"), received(0, "c"), received(0, "d"), received(1, "d")];
    assert!(refuted(&Broadcast, tcp(), &[&joined[..], &next].concat()), "c was first for 0, d for 1");
    let agree =
        [sent(0, "c"), sent(1, "d"), received(0, "c"), received(0, "d"), received(1, "c"), received(1, "d")];
    assert!(!refuted(&Broadcast, tcp(), &[&joined[..], &agree].concat()));
}

/// Waits for a second message from the client of the first, and responds with both.
struct Pairs;

impl ServerModel for Pairs {
    type Msg = String;
    type Out = String;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, first) = io.recv()?;
        io.whole()?;
        let second = io.recv_from(conn)?;
        io.send(conn, format!("{first}{second}"))
    }
}

#[test]
fn a_turn_with_two_messages() {
    let one = [sent(0, "a"), sent(1, "x"), sent(0, "b"), received(0, "ab")];
    assert!(!refuted(&Pairs, tcp(), &one));
    assert!(!refuted(&Pairs, tcp(), &[&one[..], &[sent(1, "y"), received(1, "xy")]].concat()));
    assert!(refuted(&Pairs, tcp(), &[sent(0, "a"), sent(1, "x"), received(0, "ax")]));
    // While the server waits for 0, no other client is served: 1 was first, or 0 was and 1 waits for ever.
    assert!(!refuted(&Pairs, tcp(), &[sent(0, "a"), sent(1, "x"), Event::Quiescent]));
    let both_wait = [sent(0, "a"), sent(1, "x"), Event::Quiescent, sent(0, "b"), received(0, "ab")];
    assert!(!refuted(&Pairs, tcp(), &both_wait));
    assert!(refuted(&Pairs, tcp(), &[sent(0, "a"), sent(0, "b"), Event::Quiescent]));
}

/// Stores the last text, and returns it for an empty request.
struct Board;

const TEXT: Register<String> = Register::new("text");

impl ServerModel for Board {
    type Msg = String;
    type Out = String;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        if message.is_empty() {
            let text = TEXT.get(io)?.unwrap_or_default();
            return io.send(conn, text);
        }
        TEXT.set(io, message.to_string())?;
        io.send(conn, "ok")
    }
}

/// Datagrams without reordering: a packet may be lost or duplicated, but not overtaken.
#[test]
fn datagrams_in_order() {
    let network = Udp { reordering: false, ..Udp::default() };
    let judged = |events: &[Event<String>]| judge(&Board, &network, events, &Options::default()).is_refuted();
    let asked = [sent(0, "x"), sent(0, "y"), sent(0, "")];
    assert!(!judged(&[&asked[..], &[received(0, "x")]].concat()), "y was lost");
    assert!(
        !judged(&[&asked[..], &[received(0, ""), received(0, "")]].concat()),
        "both were lost, the answer doubled"
    );
    assert!(!judged(&[&asked[..], &[received(0, "y")]].concat()));
    assert!(
        judged(&[&asked[..], &[received(0, "y"), received(0, "ok")]].concat()),
        "the reads' answers come last"
    );
    let overtaken = [sent(0, "x"), sent(0, ""), received(0, ""), received(0, "ok")];
    assert!(judged(&overtaken), "a write behind its read was overtaken");
    let any = Udp::default();
    assert!(!judge(&Board, &any, &overtaken, &Options::default()).is_refuted());
}

/// Returns the number of named cells that are not empty; `a=` fills one, `a-` empties it.
struct Cells;

impl ServerModel for Cells {
    type Msg = String;
    type Out = String;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        if let Some((key, full)) = message
            .strip_suffix('=')
            .map(|key| (key, true))
            .or_else(|| message.strip_suffix('-').map(|key| (key, false)))
        {
            let cell = LEFT.edit(io, &key.to_owned())?;
            if full {
                cell.set(io, "x".to_owned())?;
            } else {
                cell.clear(io)?;
            }
            return io.send(conn, "ok");
        }
        let mut cells = Vec::new();
        for key in message.chars() {
            cells.push(LEFT.view(io, &key.to_string())?);
        }
        let mut full = 0;
        for cell in cells {
            full += usize::from(cell.get(io)?.is_some());
        }
        io.send(conn, full.to_string())
    }
}

/// A read of two cells happens at one moment, and a read behind it on the same connection sees nothing older,
/// of either cell.
#[test]
fn a_read_behind_one_of_two_cells() {
    for (before, after) in [("ab", "b"), ("ba", "b"), ("ab", "ba")] {
        let written = [sent(1, "b="), received(1, "ok"), sent(2, "b"), received(2, "1")];
        for written in [&written[..2], &written] {
            let asked = [&[sent(0, before), sent(0, after)], written].concat();
            let answers = |one: &str, two: &str| [&asked[..], &[received(0, one), received(0, two)]].concat();
            assert!(refuted(&Cells, tcp(), &answers("1", "0")), "{before}, {after}: it was there before");
            assert!(!refuted(&Cells, tcp(), &answers("0", "1")));
            assert!(!refuted(&Cells, tcp(), &answers("0", "0")));
        }
    }
}

/// Parts that became quiescent separately, and are merged later, were quiescent at the same moment.
#[test]
fn rest_of_parts_that_become_one() {
    let apart = [sent(0, "a"), received(0, "0"), sent(0, "b"), received(0, "0"), Event::Quiescent];
    assert!(!refuted(&Cells, tcp(), &apart));
    let one = [&apart[..], &[sent(0, "ab"), received(0, "0")]].concat();
    assert!(!refuted(&Cells, tcp(), &one), "a message that ties them together");
    let again = [&one[..], &[Event::Quiescent, sent(0, "c"), received(0, "0"), Event::Quiescent]].concat();
    assert!(!refuted(&Cells, tcp(), &again), "another rest is another");
}

/// A quiescent moment that one part has forgotten and the other still has in its log requires no response to
/// a message sent after it.
#[test]
fn rest_of_a_part_whose_past_is_forgotten() {
    let mut events = vec![sent(0, "b="), received(0, "ok"), sent(0, "a"), received(0, "0"), Event::Quiescent];
    events.push(sent(1, "a="));
    for _ in 0..200 {
        events.extend([sent(2, "a"), received(1, "ok"), sent(1, "a-"), received(2, "1")]);
        events.extend([sent(2, "a"), received(1, "ok"), sent(1, "a="), received(2, "0")]);
    }
    events.extend([received(1, "ok"), sent(0, "ab"), received(0, "2")]);
    assert!(!refuted(&Cells, tcp(), &events));
    events.pop();
    events.push(received(0, "1"));
    assert!(refuted(&Cells, tcp(), &events));
}

/// Stores a number that is unknown at first: `=4` sets it, `4` queries whether it is 4, and `?` queries
/// whether there is one, with either response allowed.
struct Secret;

const SECRET: Table<(), Sym<Number>> = Table::unknown("secret", |fresh, ()| fresh.fresh());

impl ServerModel for Secret {
    type Msg = String;
    type Out = String;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        let number = message.trim_start_matches('=').parse().unwrap_or(0);
        if message.starts_with('=') {
            let cell = SECRET.edit(io, &())?;
            let _ = cell.get(io)?;
            cell.set(io, Sym::known(&number))?;
            return io.send(conn, "ok");
        }
        let held = SECRET.get(io, &())?;
        if *message == "?" {
            let reply = if io.choose(2)? == 0 { "perhaps" } else { "who knows" };
            return io.send(conn, reply);
        }
        let is = match held {
            Some(held) => io.branch(held.is(&number))?,
            None => false,
        };
        io.send(conn, if is { "yes" } else { "no" })
    }
}

/// A read sent before a write, and answered after it, may reveal a fact about the overwritten content.
#[test]
fn a_late_read_that_teaches() {
    let then = |answer: &str| {
        [
            sent(0, "4"),
            sent(1, "=1"),
            received(1, "ok"),
            received(0, answer),
            sent(1, "1"),
            received(1, "yes"),
        ]
    };
    assert!(!refuted(&Secret, tcp(), &then("yes")));
    assert!(!refuted(&Secret, tcp(), &then("no")));
    let both = [sent(0, "4"), sent(2, "5"), sent(1, "=1"), received(1, "ok"), received(0, "yes")];
    assert!(refuted(&Secret, tcp(), &[&both[..], &[received(2, "yes")]].concat()), "not 4 and 5 at once");
    assert!(!refuted(&Secret, tcp(), &[&both[..], &[received(2, "no")]].concat()));
}

/// A write that was overwritten unobserved, and whose response never arrives, does not block the messages
/// behind it.
#[test]
fn a_write_in_front_of_another() {
    use confute_models::kv::{Kv, Message};
    let add = |conn, text: &str| Event::Sent(WireConn(conn), Message::Append("x".into(), text.into()));
    let put = |conn, text: &str| Event::Sent(WireConn(conn), Message::Put("x".into(), text.into()));
    let done = |conn| Event::Received(WireConn(conn), Message::Done);
    let get = Event::Sent(WireConn(2), Message::Get("x".into()));
    let seen = |text: &str| Event::Received(WireConn(2), Message::Value(text.into()));
    let events = [add(1, "a"), add(1, "b"), put(2, "c"), done(2), get.clone(), seen("cb")];
    assert!(judge(&Kv, &tcp(), &events, &Options::default()).is_unrefuted());
    let swapped = [add(1, "a"), add(1, "b"), put(2, "c"), done(2), get, seen("cba")];
    assert!(judge(&Kv, &tcp(), &swapped, &Options::default()).is_refuted());
}

/// A read is not placed at a late version, only because it adds no fact there, if then no version is left for
/// the read behind it.
#[test]
fn a_read_in_front_of_another() {
    let start = [sent(1, "=0"), sent(0, "3"), sent(0, "2"), received(1, "ok"), received(0, "no")];
    assert!(!refuted(&Secret, tcp(), &[&start[..], &[received(0, "yes")]].concat()), "it was 2 at first");
    assert!(!refuted(&Secret, tcp(), &[&start[..], &[received(0, "no")]].concat()));
}

/// A write that was overwritten unobserved still precedes the read behind it.
#[test]
fn a_covered_write_in_front_of_a_read() {
    use confute_models::register::{CasRegister, Message};
    let events = [
        Event::Sent(WireConn(2), Message::Write(1)),
        Event::Sent(WireConn(0), Message::Write(1)),
        Event::Sent(WireConn(0), Message::Read),
        Event::Received(WireConn(0), Message::Written),
        Event::Received(WireConn(0), Message::Value(None)),
    ];
    assert!(judge(&CasRegister, &tcp(), &events, &Options::default()).is_refuted());
}

/// Stores a text, and notifies the client that sent `listen` when any client sends `ring`.
struct Bell;

const LISTENER: Register<Conn> = Register::new("listener");

impl ServerModel for Bell {
    type Msg = String;
    type Out = String;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        match message.as_str() {
            "read" => {
                let text = TEXT.get(io)?.unwrap_or_default();
                io.send(conn, text)
            }
            "listen" => {
                LISTENER.set(io, conn)?;
                io.send(conn, "ok")
            }
            "ring" => {
                io.whole()?;
                if let Some(listener) = LISTENER.get(io)? {
                    io.send(listener, "bell")?;
                }
                io.send(conn, "ok")
            }
            text => {
                TEXT.set(io, text.to_owned())?;
                io.send(conn, "ok")
            }
        }
    }
}

/// A response that arrives behind a message of another client's turn was sent after that turn, and so
/// reflects all writes before it: a read is not placed late if other turns send on its connection.
#[test]
fn a_read_behind_the_bell() {
    let start = [sent(0, "listen"), received(0, "ok"), sent(0, "read"), sent(1, "new"), received(1, "ok")];
    let rung = [&start[..], &[sent(1, "ring"), received(1, "ok"), received(0, "bell")]].concat();
    assert!(
        refuted(&Bell, tcp(), &[&rung[..], &[received(0, "")]].concat()),
        "the bell came after the write"
    );
    assert!(!refuted(&Bell, tcp(), &[&rung[..], &[received(0, "new")]].concat()));
    let before = [sent(1, "ring"), received(1, "ok"), received(0, ""), received(0, "bell")];
    assert!(!refuted(&Bell, tcp(), &[&start[..], &before].concat()), "read before the write, then the bell");
}

/// `Tester::disagreement` counts the different responses that the hypotheses predict, so that a generator can
/// select informative requests.
#[test]
fn what_the_hypotheses_disagree_about() {
    let network = tcp();
    let mut tester = Tester::new(&Secret, &network, Options::default());
    let mut disagreement = |events: &[Event<String>], question: &str| {
        events.iter().for_each(|event| _ = tester.observe(event.clone()));
        tester.disagreement(&question.to_owned(), 16)
    };
    assert_eq!(disagreement(&[], "4"), 0, "nobody has talked about it");
    assert_eq!(disagreement(&[sent(0, "4"), received(0, "no")], "5"), 2, "it may be 5, or not");
    assert_eq!(disagreement(&[], "4"), 1, "it is not 4");
    assert_eq!(disagreement(&[sent(0, "5"), received(0, "yes")], "5"), 1);
    // The order of the two writes is open until a read reveals it.
    let both = [sent(0, "=1"), sent(1, "=2"), received(0, "ok"), received(1, "ok")];
    assert_eq!(disagreement(&both, "1"), 2);
    assert_eq!(disagreement(&[], "3"), 1);
    assert_eq!(disagreement(&[], "?"), 1, "the answer is free, and says nothing about the number");
    assert_eq!(disagreement(&[sent(0, "1"), received(0, "no")], "2"), 1);
    assert_eq!(disagreement(&[sent(0, "2")], "2"), 0, "while an answer is awaited");
}

/// These traces notice faults that random ones rarely show.
#[test]
fn planted_faults_are_noticed() {
    let check: [(Fault, &[fn()]); 3] = [
        (Fault::TwoCellsReadEarly, &[a_read_behind_one_of_two_cells]),
        (Fault::TwoCellsSettledEarly, &[a_read_behind_one_of_two_cells]),
        (Fault::LateReadsBesideWhole, &[a_read_behind_the_bell]),
    ];
    for (fault, traces) in check {
        let fails = |run: &fn()| std::panic::catch_unwind(|| fault::with(Some(fault), run)).is_err();
        assert!(traces.iter().any(fails), "{} is not noticed", fault.name());
    }
}
