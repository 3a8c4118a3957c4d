//! Responses that come later, and messages that nobody asked for: a blocking pop, subscriptions, watches, and values that expire.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{
    Conn, Incoming, Io, Level, Mismatch, Number, Pattern, Register, Rule, ServerModel, Sym, Table, Turn,
};
use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Options, judge};

use super::{received, refuted, sent, tcp};

/// Queues: `push K V` and `pop K`, which waits for a value. Who waits longest is served first, and a client that is gone is forgotten.
struct Queues;

const QUEUES: Table<String, (Vec<String>, Vec<Conn>)> = Table::new("queues");

impl ServerModel for Queues {
    type Msg = String;
    type Out = String;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, event) = io.recv_event()?;
        // A push responds on another connection, and a pop may not respond at all.
        io.whole()?;
        let Incoming::Message(request) = event else {
            for (key, (values, mut waiting)) in QUEUES.entries(io)? {
                waiting.retain(|other| *other != conn);
                QUEUES.set(io, &key, (values, waiting))?;
            }
            return Ok(());
        };
        let words: Vec<&str> = request.split(' ').collect();
        let cell = QUEUES.edit(io, &words[1].to_owned())?;
        let (mut values, mut waiting) = cell.get(io)?.unwrap_or_default();
        match words[..] {
            ["push", _, value] => {
                io.send(conn, "pushed")?;
                if waiting.is_empty() {
                    values.push(value.to_owned());
                } else {
                    io.send(waiting.remove(0), value)?;
                }
            }
            _ if values.is_empty() => waiting.push(conn),
            _ => io.send(conn, values.remove(0))?,
        }
        cell.set(io, (values, waiting))
    }
}

fn hung_up(conn: u32) -> Event<String> {
    Event::HungUp(WireConn(conn))
}

#[test]
fn a_pop_waits() {
    let waits = [sent(0, "pop k"), Event::Quiescent];
    assert!(!refuted(&Queues, tcp(), &waits), "nothing is owed to who waits");
    let then = |more: &[Event<String>]| refuted(&Queues, tcp(), &[&waits[..], more].concat());
    assert!(!then(&[sent(1, "push k a"), received(0, "a"), received(1, "pushed"), Event::Quiescent]));
    assert!(then(&[received(0, "a")]), "nothing was pushed");
    assert!(then(&[sent(1, "push k a"), received(1, "pushed"), Event::Quiescent]), "it is owed now");
    assert!(then(&[sent(1, "push l a"), received(0, "a")]), "another queue");
    assert!(!then(&[sent(1, "push k a"), received(1, "pushed"), sent(1, "push l a"), received(1, "pushed")]));
}

#[test]
fn a_value_is_popped_once() {
    let both = [sent(0, "pop k"), sent(1, "pop k"), sent(2, "push k a"), received(2, "pushed")];
    let then = |more: &[Event<String>]| refuted(&Queues, tcp(), &[&both[..], more].concat());
    assert!(!then(&[received(0, "a"), Event::Quiescent]));
    assert!(!then(&[received(1, "a"), Event::Quiescent]), "the pops were sent at the same time");
    assert!(then(&[received(0, "a"), received(1, "a")]));
    assert!(!then(&[received(0, "a"), sent(2, "push k b"), received(1, "b")]));
    // Who is known to wait longer comes first.
    let first = [sent(0, "pop k"), Event::Quiescent, sent(1, "pop k"), sent(2, "push k a")];
    assert!(!refuted(&Queues, tcp(), &[&first[..], &[received(0, "a")]].concat()));
    assert!(refuted(&Queues, tcp(), &[&first[..], &[received(1, "a")]].concat()));
}

#[test]
fn who_waits_may_hang_up() {
    let gone = [sent(0, "pop k"), hung_up(0), sent(1, "push k a"), received(1, "pushed"), sent(1, "pop k")];
    let then = |more: &[Event<String>]| refuted(&Queues, tcp(), &[&gone[..], more].concat());
    assert!(!then(&[received(1, "a")]), "the server has noticed");
    assert!(!then(&[Event::Quiescent]), "the value went to who is gone");
    assert!(then(&[received(1, "b")]));
}

const FORGETS: Rule = Rule { name: "takes/forgets", level: Level::Live, summary: "Who waits is woken." };
const TWICE: Rule = Rule::must("takes/twice", "A value is taken once.");

/// Queues as above, in the short form: a `pop` that finds nothing waits. Nobody can tell who waits longest.
struct Takes;

const TAKES: Table<String, Vec<String>> = Table::new("takes");

impl ServerModel for Takes {
    type Msg = String;
    type Out = String;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        let words: Vec<&str> = request.split(' ').collect();
        let cell = TAKES.edit(io, &words[1].to_owned())?;
        let mut values = cell.get(io)?.unwrap_or_default();
        match words[..] {
            ["push", _, value] => {
                values.push(value.to_owned());
                cell.set(io, values)?;
                io.send(conn, "pushed")
            }
            ["size", _] => io.send(conn, values.len().to_string()),
            _ if values.is_empty() || io.deviates(&FORGETS)? => io.wait(),
            _ => {
                let value = values.remove(0);
                if !io.deviates(&TWICE)? {
                    cell.set(io, values)?;
                }
                io.send(conn, value)
            }
        }
    }
    fn rules(&self) -> &'static [Rule] {
        &[FORGETS, TWICE]
    }
}

#[test]
fn a_request_waits() {
    let waits = [sent(0, "pop k"), Event::Quiescent];
    assert!(!refuted(&Takes, tcp(), &waits), "nothing is owed to who waits");
    let then = |more: &[Event<String>]| refuted(&Takes, tcp(), &[&waits[..], more].concat());
    assert!(!then(&[sent(1, "push k a"), received(0, "a"), received(1, "pushed"), Event::Quiescent]));
    assert!(then(&[received(0, "a")]), "nothing was pushed");
    assert!(then(&[sent(1, "push k a"), received(1, "pushed"), Event::Quiescent]), "it is owed now");
    assert!(then(&[sent(1, "push l a"), received(0, "a")]), "another queue");
    assert!(!then(&[sent(1, "push k a"), received(1, "pushed"), sent(1, "push l a"), received(1, "pushed")]));
    // What is behind it on its connection waits too.
    assert!(!then(&[sent(0, "push k a"), sent(0, "size k"), Event::Quiescent]));
    assert!(then(&[sent(0, "push k a"), received(0, "a")]));
    // A second one waits for a second value.
    let two = [sent(1, "pop k"), sent(2, "push k a"), received(2, "pushed")];
    let then = |more: &[Event<String>]| refuted(&Takes, tcp(), &[&waits[..], &two[..], more].concat());
    assert!(!then(&[received(0, "a"), Event::Quiescent]));
    assert!(!then(&[received(1, "a"), Event::Quiescent]));
    assert!(then(&[Event::Quiescent]));
    assert!(then(&[received(0, "a"), received(1, "a")]));
    assert!(then(&[received(1, "a"), sent(2, "size k"), received(2, "1")]));
    // Who is gone may have been served, or not.
    let then =
        |more: &[Event<String>]| then(&[&[hung_up(0), received(1, "a"), sent(2, "push k b")], more].concat());
    assert!(!then(&[received(2, "pushed"), sent(2, "size k"), received(2, "0"), Event::Quiescent]));
    assert!(!then(&[received(2, "pushed"), sent(2, "size k"), received(2, "1"), Event::Quiescent]));
}

#[test]
fn a_request_that_is_never_woken_is_blamed() {
    let both = [sent(0, "pop k"), sent(1, "pop k"), sent(2, "push k a"), received(2, "pushed")];
    let blamed = |last: &[Event<String>]| {
        let events = [&both[..], last].concat();
        let blame = confute::blame(&Takes, &Tcp { breaks: false }, &events, &Options::default());
        blame.diagnoses.iter().map(|one| (one.rules.clone(), one.deviations)).collect::<Vec<_>>()
    };
    assert_eq!(blamed(&[Event::Quiescent]), [(vec![FORGETS.name], 1)]);
    assert_eq!(blamed(&[received(0, "a"), received(1, "a")]), [(vec![TWICE.name], 1)]);
}

/// Topics: `subscribe T`, `unsubscribe T`, `publish T M`, which responds with the number of subscribers.
struct Topics;

const TOPICS: Table<String, Vec<Conn>> = Table::new("topics");

impl ServerModel for Topics {
    type Msg = String;
    type Out = String;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        io.whole()?;
        let words: Vec<&str> = request.split(' ').collect();
        let cell = TOPICS.edit(io, &words[1].to_owned())?;
        let mut peers = cell.get(io)?.unwrap_or_default();
        if let ["publish", _, message] = words[..] {
            io.send(conn, peers.len().to_string())?;
            return peers.into_iter().try_for_each(|peer| io.send(peer, message));
        }
        peers.retain(|peer| *peer != conn);
        if words[0] == "subscribe" {
            peers.push(conn);
        }
        cell.set(io, peers)?;
        io.send(conn, words[0])
    }
}

#[test]
fn subscribers_hear_what_is_published() {
    let said = [sent(0, "subscribe t"), received(0, "subscribe"), sent(1, "publish t a")];
    let then = |more: &[Event<String>]| refuted(&Topics, tcp(), &[&said[..], more].concat());
    assert!(!then(&[received(0, "a"), received(1, "1"), Event::Quiescent]));
    assert!(then(&[received(1, "1"), Event::Quiescent]), "it is owed");
    assert!(then(&[received(1, "0")]));
    assert!(then(&[received(0, "a"), received(0, "a")]), "once");
    assert!(!then(&[sent(0, "unsubscribe t"), received(0, "unsubscribe"), received(1, "0")]));
    assert!(then(&[sent(0, "unsubscribe t"), received(0, "unsubscribe"), received(0, "a")]), "too late");
    let early = [sent(1, "publish t a"), received(1, "0"), sent(0, "subscribe t"), received(0, "subscribe")];
    assert!(!refuted(&Topics, tcp(), &early));
    assert!(refuted(&Topics, tcp(), &[&early[..], &[received(0, "a")]].concat()), "before it subscribed");
}

/// A register with watches: `watch` is told once of the next `put V`.
struct Watched;

const VALUE: Register<String> = Register::new("value");
const WATCHES: Register<Vec<Conn>> = Register::new("watches");

impl ServerModel for Watched {
    type Msg = String;
    type Out = String;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        io.whole()?;
        let watches = WATCHES.edit(io)?;
        let mut peers = watches.get(io)?.unwrap_or_default();
        if let Some(value) = request.strip_prefix("put ") {
            VALUE.set(io, value.to_owned())?;
            watches.clear(io)?;
            io.send(conn, "done")?;
            return peers.into_iter().try_for_each(|peer| io.send(peer, "changed"));
        }
        peers.push(conn);
        watches.set(io, peers)?;
        let now = VALUE.get(io)?.unwrap_or_default();
        io.send(conn, format!("watching {now}"))
    }
}

#[test]
fn a_watch_is_told_once() {
    let watching = [sent(0, "watch"), received(0, "watching "), sent(1, "put a")];
    let then = |more: &[Event<String>]| refuted(&Watched, tcp(), &[&watching[..], more].concat());
    let done = [received(1, "done"), received(0, "changed")];
    assert!(!then(&done));
    assert!(then(&[received(1, "done"), Event::Quiescent]), "it is owed");
    assert!(then(&[&done[..], &[sent(1, "put b"), received(1, "done"), received(0, "changed")]].concat()));
    // It has seen the value of which it is told: the watch began after the change.
    let after = [sent(0, "watch"), sent(1, "put a"), received(0, "watching a"), received(0, "changed")];
    assert!(refuted(&Watched, tcp(), &after));
}

/// Keeps a value for 100 milliseconds. Messages begin with the time at which they were sent or received.
struct Expiring;

const LIFE: i64 = 100;
const STORED: Register<(String, Sym<Number>)> = Register::new("stored");

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Timed {
    text: String,
    /// The moment of the turn, before which no message of it is received.
    moment: Sym<Number>,
}

impl std::fmt::Display for Timed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.moment, self.text)
    }
}

fn timed(message: &str) -> (i64, &str) {
    let (time, text) = message.split_once(' ').unwrap();
    (time.parse().unwrap(), text)
}

impl Pattern<String> for Timed {
    fn unify(&self, seen: &String, facts: &mut Knowledge) -> Result<(), Mismatch> {
        let (received, text) = timed(seen);
        if text != self.text {
            return Err(Mismatch);
        }
        let bound = self.moment.at_most(&Sym::known(&received), 0);
        let confute::lang::Formula::Literal(bound) = bound else { return Err(Mismatch) };
        Ok(facts.assert(&bound)?)
    }
    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> String {
        format!("{} {}", self.moment.instantiate(value), self.text)
    }
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        self.moment.vars(visit);
    }
}

impl ServerModel for Expiring {
    type Msg = String;
    type Out = Timed;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        let (time, request) = timed(&request);
        let moment = io.moment(time)?;
        let cell = STORED.edit(io)?;
        if let Some(value) = request.strip_prefix("put ") {
            cell.set(io, (value.to_owned(), moment.clone()))?;
            return io.send(conn, Timed { text: "done".to_owned(), moment });
        }
        let text = match cell.get(io)? {
            Some((value, stored)) if io.branch(moment.at_most(&stored, LIFE - 1))? => value,
            _ => "none".to_owned(),
        };
        io.send(conn, Timed { text, moment })
    }
}

#[test]
fn a_value_expires() {
    let refuted = |script: &[&str]| {
        let events: Vec<_> = script
            .iter()
            .enumerate()
            .map(|(at, line)| if at % 2 == 0 { sent(0, line) } else { received(0, line) })
            .collect();
        judge(&Expiring, &Tcp { breaks: false }, &events, &Options::default()).is_refuted()
    };
    let stored = ["10 put a", "15 done"];
    let then = |more: &[&'static str]| refuted(&[&stored[..], more].concat());
    assert!(!then(&["50 get", "51 a"]));
    assert!(then(&["50 get", "51 none"]), "too early");
    assert!(!then(&["200 get", "201 none"]));
    assert!(then(&["200 get", "201 a"]), "too late");
    // It was stored between 10 and 15, so it ends between 110 and 115.
    assert!(!then(&["112 get", "113 a"]));
    assert!(!then(&["112 get", "113 none"]));
    assert!(!then(&["108 get", "120 none"]));
    assert!(then(&["112 get", "113 none", "114 get", "114 a"]), "it does not come back");
    assert!(then(&["112 get", "112 none", "109 get", "109 none"]), "the second read came too early");
}
