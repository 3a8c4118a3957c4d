//! Objects whose ids the server chooses: they can be found, changed, removed and listed.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{Io, Mismatch, Objects, Pattern, Rule, ServerModel, Sym, Table, Token, Turn};
use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Options, Tester, Verdict, judge};

static NEW_ID: Rule = Rule::must("notes/new-id", "No id is given twice.");
const NOTES: Objects<Token, String> = Objects::new("notes").never_twice(&NEW_ID);
const COUNT: Table<(), u32> = Table::new("count");

/// Keeps notes: `add TEXT`, `get ID`, `put ID TEXT`, `remove ID`, `list`; `count` counts all notes ever added.
struct Notes {
    /// `true` if adding also counts.
    counts: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Out {
    Text(String),
    Id(Sym<Token>),
    List(Vec<(Sym<Token>, String)>),
}

impl std::fmt::Display for Out {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Out::Text(text) => f.write_str(text),
            Out::Id(id) => write!(f, "id {id}"),
            Out::List(all) => all.iter().try_for_each(|(id, text)| write!(f, "{id}={text} ")),
        }
    }
}

fn entries(list: &str) -> Option<Vec<(&str, &str)>> {
    list.strip_prefix("list")?.split_whitespace().map(|entry| entry.split_once('=')).collect()
}

impl Pattern<String> for Out {
    fn unify(&self, seen: &String, facts: &mut Knowledge) -> Result<(), Mismatch> {
        match self {
            Out::Text(text) if text == seen => Ok(()),
            Out::Text(_) => Err(Mismatch),
            Out::Id(id) => id.unify(&seen.strip_prefix("id ").ok_or(Mismatch)?.into(), facts),
            Out::List(all) => {
                let seen = entries(seen).filter(|seen| seen.len() == all.len()).ok_or(Mismatch)?;
                all.iter().zip(seen).try_for_each(|((id, text), (seen_id, seen_text))| {
                    if text == seen_text { id.unify(&seen_id.into(), facts) } else { Err(Mismatch) }
                })
            }
        }
    }
    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> String {
        match self {
            Out::Text(text) => text.clone(),
            Out::Id(id) => format!("id {}", id.instantiate(value)),
            Out::List(all) => {
                let mut all: Vec<_> =
                    all.iter().map(|(id, text)| format!(" {}={text}", id.instantiate(value))).collect();
                all.sort();
                format!("list{}", all.concat())
            }
        }
    }
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        match self {
            Out::Text(_) => {}
            Out::Id(id) => id.vars(visit),
            Out::List(all) => all.iter().for_each(|(id, _)| id.vars(visit)),
        }
    }
}

impl ServerModel for Notes {
    type Msg = String;
    type Out = Out;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        let words: Vec<&str> = request.split(' ').collect();
        let text = |text: &str| Out::Text(text.to_owned());
        let out = match words[..] {
            ["add", new] => {
                let (id, slot) = NOTES.create(io)?;
                if self.counts {
                    COUNT.edit(io, &())?.update(io, |count| Some(count.unwrap_or(0) + 1))?;
                }
                slot.set(io, new.to_owned())?;
                Out::Id(id)
            }
            ["get", id] => {
                let found = NOTES.find(io, &Sym::known(&id.into()))?.get(io)?;
                Out::Text(found.unwrap_or_else(|| "none".to_owned()))
            }
            ["put", id, new] => {
                let slot = NOTES.edit(io, &Sym::known(&id.into()))?;
                if slot.get(io)?.is_none() {
                    return io.send(conn, text("none"));
                }
                slot.set(io, new.to_owned())?;
                text("done")
            }
            ["remove", id] => {
                NOTES.edit(io, &Sym::known(&id.into()))?.remove(io)?;
                text("done")
            }
            ["clear"] => {
                io.whole()?;
                for (id, _) in NOTES.list(io)? {
                    NOTES.edit(io, &id)?.remove(io)?;
                }
                text("done")
            }
            ["count"] => Out::Text(COUNT.get(io, &())?.unwrap_or(0).to_string()),
            _ => Out::List(NOTES.list(io)?),
        };
        io.send(conn, out)
    }

    fn told(&self, message: &String, visit: &mut dyn FnMut(Value)) {
        let mut visit = |id: &str| visit(Value::Opaque(id.into()));
        match message.split(' ').collect::<Vec<_>>()[..] {
            ["id" | "get" | "remove", id] | ["put", id, _] => visit(id),
            _ => entries(message).into_iter().flatten().for_each(|(id, _)| visit(id)),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        std::slice::from_ref(&NEW_ID)
    }
}

/// Reads `0<add a` (sent) and `0>id x` (received).
fn events(script: &[&str]) -> Vec<Event<String>> {
    let event = |line: &&str| {
        let (conn, rest) = line.split_at(1);
        let conn = WireConn(conn.parse().unwrap());
        match rest.split_at(1) {
            ("<", text) => Event::Sent(conn, text.to_owned()),
            (">", text) => Event::Received(conn, text.to_owned()),
            _ => Event::HungUp(conn),
        }
    };
    script.iter().map(event).collect()
}

const TCP: Tcp = Tcp { breaks: false };

/// Judges offline and online, which must agree.
fn judged(model: &Notes, script: &[&str]) -> Verdict {
    let events = events(script);
    let offline = judge(model, &TCP, &events, &Options::default());
    let mut tester = Tester::new(model, &TCP, Options::default());
    events.iter().for_each(|event| {
        tester.observe(event.clone());
    });
    let online = tester.verdict();
    assert_eq!(
        offline.is_refuted(),
        online.is_refuted(),
        "{script:?}: offline {offline:?}, online {online:?}"
    );
    assert_eq!(
        offline.is_unrefuted(),
        online.is_unrefuted(),
        "{script:?}: offline {offline:?}, online {online:?}"
    );
    offline
}

fn refuted(script: &[&str]) -> bool {
    judged(&Notes { counts: false }, script).is_refuted()
}

#[test]
fn an_object_is_found_by_its_id() {
    assert!(!refuted(&["0<add a", "0>id x", "0<get x", "0>a", "0<get y", "0>none"]));
    assert!(refuted(&["0<add a", "0>id x", "0<get x", "0>none"]));
    assert!(refuted(&["0<add a", "0>id x", "0<get y", "0>a"]));
    assert!(refuted(&["0<add a", "1<add b", "0>id x", "1>id y", "0<get x", "0>b"]));
}

#[test]
fn an_object_is_found_before_its_id_is_told() {
    // The client guesses the id.
    assert!(!refuted(&["0<add a", "1<get x", "1>a", "0>id x"]));
    assert!(!refuted(&["1<get x", "0<add a", "1>a", "0>id x"]));
    assert!(!refuted(&["0<add a", "1<get x", "1>none", "0>id x", "1<get x", "1>a"]));
    assert!(refuted(&["0<add a", "1<get x", "1>a", "0>id y"]), "another one was created");
    assert!(refuted(&["1<get x", "1>a", "0<add a", "0>id x"]), "not before it was asked for");
    assert!(refuted(&["0<add a", "1<get x", "1>a", "1<get x", "1>none", "0>id x"]), "it does not vanish");
}

#[test]
fn an_id_that_equals_another() {
    assert!(refuted(&["0<add a", "0>id x", "0<add b", "0>id x"]));
    assert!(refuted(&["0<add a", "1<add b", "1>id x", "0>id x"]), "told late");
    assert!(refuted(&["0<add a", "0>id x", "0<remove x", "0>done", "0<add b", "0>id x"]), "removed");
    // A refused removal of an id that nobody has makes no difference.
    assert!(!refuted(&["0<remove x", "0>done", "0<add b", "0>id x", "0<get x", "0>b"]));
    let twice = events(&["0<add a", "0>id x", "0<add b", "0>id x", "0<get x", "0>b"]);
    let relaxed = Options { relaxed: vec![NEW_ID.name], deviations: 1, ..Options::default() };
    assert!(judge(&Notes { counts: false }, &TCP, &twice, &relaxed).is_unrefuted());
}

#[test]
fn a_list_shows_every_object() {
    let added = ["0<add a", "0>id x", "1<add b", "1>id w"];
    let then = |more: &[&'static str]| refuted(&[&added[..], more].concat());
    assert!(!then(&["0<list", "0>list w=b x=a"]));
    assert!(then(&["0<list", "0>list x=a"]), "one is missing");
    assert!(then(&["0<list", "0>list w=b x=a y=c"]), "one too many");
    assert!(then(&["0<list", "0>list w=b x=b"]), "the content of another");
    assert!(!then(&["0<remove x", "1<list", "1>list w=b x=a", "0>done"]));
    assert!(!then(&["0<remove x", "1<list", "1>list w=b", "0>done"]));
    assert!(then(&["0<remove x", "0>done", "1<list", "1>list w=b x=a"]), "stale");
}

#[test]
fn a_list_and_an_object_that_is_being_created() {
    assert!(!refuted(&["0<add a", "1<list", "1>list x=a", "0>id x"]), "the list tells the id first");
    assert!(!refuted(&["0<add a", "1<list", "1>list", "0>id x"]));
    assert!(!refuted(&["1<list", "0<add a", "1>list x=a", "0>id x"]), "sent after the list");
    assert!(refuted(&["0<add a", "1<list", "1>list x=a", "0>id y"]));
    assert!(refuted(&["1<list", "1>list x=a", "0<add a", "0>id x"]));
    // One list shows it, a later one does not.
    let shown = ["0<add a", "1<list", "1>list x=a", "2<list", "2>list", "0>id x"];
    assert!(refuted(&shown));
    // Two lists at the same time may be in either order.
    assert!(!refuted(&["0<add a", "1<list", "2<list", "1>list x=a", "2>list", "0>id x"]));
    // What a list shows of two objects tells their order.
    let first =
        ["0<add a", "1<add b", "2<list", "2>list x=a", "3<list", "3>list x=a y=b", "0>id x", "1>id y"];
    assert!(!refuted(&first));
    let torn = ["0<add a", "1<add b", "2<list", "3<list", "2>list x=a", "3>list y=b", "0>id x", "1>id y"];
    assert!(refuted(&torn));
}

#[test]
fn an_object_whose_id_is_never_told() {
    let lost = ["0<add a", "0x"];
    let then = |more: &[&'static str]| refuted(&[&lost[..], more].concat());
    assert!(!then(&["1<list", "1>list"]));
    assert!(!refuted(&["0<add a", "1<list", "1>list x=a"]), "its response may still come");
    assert!(refuted(&["0<add a", "1<list", "1>list x=a", "1<get x", "1>none"]));
    assert!(refuted(&["0<add a", "1<list", "1>list x=a", "1<list", "1>list"]));
    assert!(!refuted(&["0<add a", "1<get x", "1>a"]), "guessed");
    assert!(refuted(&["0<add a", "1<get x", "1>a", "1<get y", "1>a"]), "it is one object");
    assert!(refuted(&["0<add a", "1<get x", "1>b"]));
    let model = Notes { counts: false };
    let script = events(&[&lost[..], &["1<list", "1>list x=a", "1<get x", "1>a"]].concat());
    assert!(judge(&model, &TCP, &script, &Options::default()).is_unrefuted());
    let script = events(&[&lost[..], &["1<list", "1>list x=a", "1<get x", "1>none"]].concat());
    assert!(judge(&model, &TCP, &script, &Options::default()).is_refuted());
}

#[test]
fn creating_has_other_effects() {
    let model = Notes { counts: true };
    let refuted = |script: &[&str]| judged(&model, script).is_refuted();
    assert!(!refuted(&["0<add a", "1<count", "1>1", "0>id x", "0<get x", "0>a"]));
    assert!(refuted(&["0<add a", "1<count", "1>1", "1<list", "1>list", "0>id x"]));
    assert!(!refuted(&["0<add a", "1<count", "1>1", "1<list", "1>list x=a", "0>id x"]));
}

#[test]
fn all_objects_are_removed_at_once() {
    let added = ["0<add a", "0>id x", "1<add b", "1>id w"];
    let then = |more: &[&'static str]| refuted(&[&added[..], more].concat());
    assert!(!then(&["0<clear", "0>done", "0<list", "0>list"]));
    assert!(then(&["0<clear", "0>done", "0<get w", "0>b"]));
    assert!(!then(&["2<add c", "0<clear", "0>done", "2>id u", "0<list", "0>list u=c"]));
    assert!(!then(&["2<add c", "0<clear", "0>done", "2>id u", "0<list", "0>list"]));
}

/// Ten thousand objects are created and read, and the cost of each does not grow with their number.
#[test]
fn many_objects_are_searched_apart() {
    const MANY: u64 = 10_000;
    let mut tester = Tester::new(&Notes { counts: false }, &TCP, Options::default());
    let mut observe = |line: &str| {
        events(&[line]).into_iter().for_each(|event| {
            tester.observe(event);
        });
    };
    for id in 0..MANY {
        observe(&format!("{}<add a{id}", id % 8));
        observe(&format!("{}>id x{id}", id % 8));
        observe(&format!("{}<get x{id}", (id + 1) % 8));
        observe(&format!("{}>a{id}", (id + 1) % 8));
    }
    assert!(tester.verdict().is_unrefuted());
    assert!(tester.parts() as u64 >= MANY, "{}", tester.parts());
    // Four turns for each object (two of them twice, before and after the id is known), a fraction of them repeated.
    assert!(tester.turns() < MANY * 9, "{}", tester.turns());
}
