//! The specification without its deviations is a model of its own: what it does, the whole model allows, and the other way round.

use std::sync::Arc;

use confute::lang::{Fresh, Io, ServerModel, Table, Turn};
use confute::network::Tcp;
use confute::random::Random;
use confute::simulate::{ExchangePlan, exchange};
use confute::trace::Event;
use confute::{Options, judge};

use super::entry::Entry;
use super::spec::Server;
use super::transaction::Transaction;
use super::{ExpectedResponse, Origin, TagStyle};
use crate::message::{Message, Method, Request, Tag, Tags};

/// A server that breaks no rule, whatever is relaxed.
struct Correct<'a>(Transaction<'a>);

impl<'a> Server<'a> for Correct<'a> {
    fn transaction(&mut self) -> &mut Transaction<'a> {
        &mut self.0
    }

    fn request(&self) -> &'a Request {
        self.0.request
    }
}

#[derive(Clone, Copy)]
struct Specification(TagStyle);

const RESOURCES: Table<Arc<str>, Entry> =
    Table::unknown("resources", |fresh: &mut Fresh<'_>, _| Entry::unknown(fresh));

impl ServerModel for Specification {
    type Msg = Message;
    type Out = ExpectedResponse;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        let Message::Request(request) = &*message else { return io.replies(0) };
        let cell = match request.method {
            Method::Get | Method::Head => Some(RESOURCES.view(io, &request.path)?),
            Method::Options => None,
            _ => Some(RESOURCES.edit(io, &request.path)?),
        };
        let io = Io::new(io.handler());
        Correct(Transaction { io, tags: self.0, conn, request, cell, by: None }).serve()
    }
}

fn request(random: &mut Random, seen: &[Message], clock: i64) -> Request {
    let told = |message: &Message| match message {
        Message::Response(response) => response.etag.clone(),
        _ => None,
    };
    let method = [Method::Get, Method::Get, Method::Head, Method::Put, Method::Put, Method::Delete]
        [random.below(6) as usize]
        .clone();
    let body = (method == Method::Put).then(|| format!("{}", random.below(1 << 30)).into());
    let tag = seen.iter().rev().find_map(told).unwrap_or_else(|| Tag::strong("guess"));
    let tags = |random: &mut Random| random.chance(1, 3).then(|| Tags::one(tag.clone()));
    let (if_match, if_none_match) = (tags(random), tags(random));
    let path = ["/a", "/b"][random.below(2) as usize].into();
    Request { method, path, body, if_match, if_none_match, at: clock, ..Request::default() }
}

/// The events of a run with a simulated server.
fn trace(model: &impl ServerModel<Msg = Message, Out = ExpectedResponse>, seed: u64) -> Vec<Event<Message>> {
    let plan = ExchangePlan {
        seed,
        connections: 2,
        at_once: 2,
        messages: 7,
        rest_every: 3,
        ..ExchangePlan::default()
    };
    let (mut clock, mut events) = (0, Vec::new());
    let mut ask = |random: &mut Random, seen: &[Message]| {
        clock += 10;
        request(random, seen, clock).into()
    };
    let mut sink = |event| {
        events.push(event);
        true
    };
    exchange(model, &Tcp::default(), &plan, &mut ask, &mut |_, _| None, &mut sink).unwrap();
    events
}

#[test]
fn the_specification_stands_alone() {
    let (network, options) = (Tcp::default(), Options { turns: 100_000, ..Options::default() });
    let mut refuted = 0;
    for seed in 0..60 {
        let style = TagStyle::WeakFor([0, 200, i64::MAX / 8][seed as usize % 3]);
        for mut events in [trace(&Specification(style), seed), trace(&Origin { tags: style }, seed)] {
            let verdicts = |events: &[Event<Message>]| {
                let alone = judge(&Specification(TagStyle::Any), &network, events, &options);
                (alone.is_refuted(), judge(&Origin::default(), &network, events, &options).is_refuted())
            };
            assert_eq!(verdicts(&events), (false, false), "{seed}");
            // A response that may be wrong there is judged alike.
            let status = [200, 201, 204, 304, 404, 412][seed as usize % 6];
            let last = events.iter_mut().rev().find_map(|event| match event {
                Event::Received(_, Message::Response(response)) => Some(response),
                _ => None,
            });
            Arc::make_mut(last.unwrap()).status = status;
            let (alone, whole) = verdicts(&events);
            assert_eq!(alone, whole, "{seed}");
            refuted += u32::from(whole);
        }
    }
    assert!(refuted > 10, "{refuted}");
}
