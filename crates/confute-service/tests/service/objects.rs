//! Objects whose ids the server chooses, in messages that are declared once.

use confute::knowledge::Value;
use confute::lang::{Io, Number, Objects, Rule, ServerModel, Turn};
use confute::network::Tcp;
use confute::random::Random;
use confute::simulate::Simulation;
use confute::trace::{Event, WireConn};
use confute::{Options, Verdict, judge};
use confute_service::{Expected, Id, Listing, Message, Name, told};

#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
#[message(crate = confute_service)]
enum Todo {
    #[request("ADD {}")]
    Add(Name),
    #[request("GET {}", reads)]
    Get(Id),
    #[request("DELETE {}")]
    Delete(Id),
    #[request("IDS", reads)]
    Ids,
    #[response("ADDED {}")]
    Added(Id),
    #[response("TITLE {}")]
    Title(Name),
    #[response("GONE")]
    Gone,
    #[response("ALL {}")]
    All(Listing<Id>),
    #[unreadable]
    Odd(String),
}

static NEW_ID: Rule = Rule::must("todos/new-id", "No id is given twice.");
const TODOS: Objects<Number, Name> = Objects::new("todos").never_twice(&NEW_ID);

struct Todos;

impl ServerModel for Todos {
    type Msg = Todo;
    type Out = Expected<Todo>;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Todo::Add(title) => {
                let (id, slot) = TODOS.create(io)?;
                slot.set(io, title.clone())?;
                io.send(conn, Todo::Added(id.into()))
            }
            Todo::Get(id) => {
                let found = TODOS.find(io, id.sym())?.get(io)?;
                io.send(conn, found.map_or(Todo::Gone, Todo::Title))
            }
            Todo::Delete(id) => {
                TODOS.edit(io, id.sym())?.remove(io)?;
                io.send(conn, Todo::Gone)
            }
            _ => {
                let all = TODOS.list(io)?.into_iter().map(|(id, _)| Id::from(id));
                io.send(conn, Todo::All(all.collect()))
            }
        }
    }

    fn told(&self, message: &Todo, visit: &mut dyn FnMut(Value)) {
        told(message, visit);
    }

    fn rules(&self) -> &'static [Rule] {
        std::slice::from_ref(&NEW_ID)
    }
}

const TCP: Tcp = Tcp { breaks: false };

/// Returns a trace of the simulated model, with four clients.
fn simulated(seed: u64) -> Vec<Event<Todo>> {
    let mut server = Simulation::new(&Todos, &TCP, seed);
    let conns = [(); 4].map(|()| server.open());
    let mut random = Random::new(seed);
    let (mut events, mut ids, mut open) = (Vec::new(), vec![Id::known(&1)], 0);
    for step in 0..200_u64 {
        if open < 3 && events.len() < 120 {
            let id = || ids[step as usize % ids.len()].clone();
            let request = match random.below(5) {
                0 | 1 => Todo::Add(Name::from(&*format!("t{step}"))),
                2 => Todo::Get(id()),
                3 => Todo::Delete(id()),
                _ => Todo::Ids,
            };
            let on = conns[random.below(4) as usize];
            server.send(on, request.clone()).unwrap();
            events.push(Event::Sent(on, request));
            open += 1;
        }
        if let Some(event) = server.step().unwrap() {
            if let Event::Received(_, message) = &event {
                open -= 1;
                if let Todo::Added(id) = message {
                    ids.push(id.clone());
                }
            }
            events.push(event);
        }
    }
    events
}

fn is_refuted(events: &[Event<Todo>]) -> bool {
    match judge(&Todos, &TCP, events, &Options::default()) {
        Verdict::Inconclusive(why) => panic!("{why}"),
        verdict => verdict.is_refuted(),
    }
}

#[test]
fn what_the_model_does_is_not_refuted() {
    for seed in 0..30 {
        let events = simulated(seed);
        assert!(
            events
                .iter()
                .any(|event| matches!(event, Event::Received(_, Todo::All(all)) if all.items().len() > 1))
        );
        assert!(!is_refuted(&events), "seed {seed}: {events:#?}");
    }
}

#[test]
fn an_object_that_is_missing_in_a_list_is_refuted() {
    let mut refuted = 0;
    for seed in 0..30 {
        let mut events = simulated(seed);
        let all = events.iter_mut().rev().find_map(|event| match event {
            Event::Received(_, Todo::All(all)) if !all.items().is_empty() => Some(all),
            _ => None,
        });
        let Some(all) = all else { continue };
        *all = all.items()[1..].iter().cloned().collect();
        refuted += usize::from(is_refuted(&events));
    }
    // The one that is missing may be about to be added or deleted.
    assert!(refuted >= 20, "{refuted}");
}

#[test]
fn an_unknown_id_is_the_one_that_is_left() {
    let (c, d) = (WireConn(0), WireConn(1));
    let ids = |ids: &[i64]| Todo::All(ids.iter().map(Id::known).collect());
    let lost = [
        Event::Sent(c, Todo::Add(Name::from("a"))),
        Event::HungUp(c),
        Event::Sent(d, Todo::Add(Name::from("b"))),
        Event::Received(d, Todo::Added(Id::known(&3))),
        Event::Sent(d, Todo::Ids),
        Event::Received(d, ids(&[4, 3])),
        Event::Sent(d, Todo::Ids),
    ];
    let then = |seen: &[i64]| is_refuted(&[&lost[..], &[Event::Received(d, ids(seen))]].concat());
    assert!(!then(&[3, 4]));
    assert!(then(&[3, 5]));
    assert!(then(&[3]));
}
