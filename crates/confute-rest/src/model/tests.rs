//! Small traces: what a correct service may do, and what the model blames.

use std::sync::Arc;

use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Options, Tester, blame, judge};
use serde_json::json;

use super::RestModel;
use crate::message::{Listed, Message, Op, Request, Response};
use crate::outline::Outline;
use crate::plan::{Plan, Resource, bool, text};
use crate::rules;

fn model() -> RestModel {
    let todos =
        Resource::new("todos", "/todos/{id}").server_id("id").field("title", text()).optional("done", bool());
    RestModel::new(Outline::new(Plan::new("Todos").resource(todos.etag())).unwrap())
}

fn fields(fields: &[(&str, &str)]) -> crate::json::Fields {
    fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

/// Returns a request that is sent at a moment.
fn sent(on: u32, at: i64, op: Op, id: Option<u32>, of: &[(&str, &str)], tag: Option<&str>) -> Event<Message> {
    let item: Option<Arc<str>> = id.map(|id| format!("/todos/{id}").into());
    let request = Request {
        at,
        resource: "todos".into(),
        op,
        method: "X".into(),
        path: item.clone().unwrap_or_else(|| "/todos".into()),
        item,
        fields: fields(of),
        body: Some(json!({}).to_string().into()),
        media: None,
        if_match: tag.map(|tag| format!("\"{tag}\"").into()),
        if_none_match: None,
        query: None,
        filter: None,
        mark: "m".into(),
    };
    Event::Sent(WireConn(on), request.into())
}

/// Returns a response with a representation.
fn shown(on: u32, at: i64, status: u16, of: &[(&str, &str)], tag: Option<&str>) -> Event<Message> {
    let tag = tag.map(|tag| format!("\"{tag}\"").into());
    let response =
        Response { at, status, fields: Some(fields(of)), tag, is_ours: Some(true), ..Response::default() };
    Event::Received(WireConn(on), response.into())
}

/// Returns the response to a create.
fn created(on: u32, at: i64, id: u32, of: &[(&str, &str)], tag: &str) -> Event<Message> {
    let response = Response {
        at,
        status: 201,
        item: Some(format!("/todos/{id}").into()),
        fields: Some(fields(of)),
        tag: Some(format!("\"{tag}\"").into()),
        is_ours: Some(true),
        ..Response::default()
    };
    Event::Received(WireConn(on), response.into())
}

fn status(on: u32, at: i64, status: u16) -> Event<Message> {
    Event::Received(WireConn(on), Response { at, status, ..Response::default() }.into())
}

fn listed(on: u32, at: i64, ids: &[u32], is_partial: bool) -> Event<Message> {
    let item = |id: &u32| Listed { item: format!("/todos/{id}").into(), fields: fields(&[]), is_ours: true };
    let items = Some(ids.iter().map(item).collect());
    Event::Received(
        WireConn(on),
        Response { at, status: 200, items, is_partial, ..Response::default() }.into(),
    )
}

const TCP: Tcp = Tcp { breaks: false };
const A: &[(&str, &str)] = &[("title", "\"a\"")];
const B: &[(&str, &str)] = &[("title", "\"b\"")];
const C: &[(&str, &str)] = &[("title", "\"c\"")];

fn is_fine(events: &[Event<Message>]) -> bool {
    judge(&model(), &TCP, events, &Options::default()).is_unrefuted()
}

/// Returns the rules that were broken least often, if they explain a trace.
fn blamed(events: &[Event<Message>]) -> Vec<&'static str> {
    assert!(!is_fine(events), "the trace is explained");
    let found = blame(&model(), &TCP, events, &Options::default()).diagnoses;
    let fewest = found.iter().map(|one| one.deviations).min().unwrap();
    let likely = found.iter().filter(|one| one.deviations == fewest);
    likely.flat_map(|one| one.rules.iter().copied()).collect()
}

#[test]
fn what_a_correct_service_may_do() {
    let start = [sent(0, 0, Op::Create, None, A, None), created(0, 1, 7, A, "1")];
    let with = |more: &[Event<Message>]| [&start[..], more].concat();
    for (name, more) in [
        ("a read shows it", vec![sent(0, 2, Op::Read, Some(7), &[], None), shown(0, 3, 200, A, Some("1"))]),
        ("a refusal changes nothing", vec![sent(0, 2, Op::Replace, Some(7), B, None), status(0, 3, 422)]),
        (
            "an outdated tag is refused",
            vec![sent(0, 2, Op::Replace, Some(7), B, Some("0")), status(0, 3, 412)],
        ),
        ("a read may be refused", vec![sent(0, 2, Op::Read, Some(7), &[], None), status(0, 3, 429)]),
        (
            "202 leaves everything open",
            vec![
                sent(0, 2, Op::Replace, Some(7), B, None),
                status(0, 3, 202),
                sent(0, 4, Op::Read, Some(7), &[], None),
                status(0, 5, 404),
            ],
        ),
        ("a page lacks items", vec![sent(0, 2, Op::List, None, &[], None), listed(0, 3, &[], true)]),
        (
            "PUT may create again",
            vec![
                sent(0, 2, Op::Delete, Some(7), &[], None),
                status(0, 3, 204),
                sent(0, 4, Op::Replace, Some(7), B, None),
                shown(0, 5, 201, B, Some("2")),
                sent(0, 6, Op::List, None, &[], None),
                listed(0, 7, &[7], false),
            ],
        ),
    ] {
        assert!(is_fine(&with(&more)), "{name}");
    }
}

#[test]
fn the_right_rule_is_blamed() {
    let start = [sent(0, 0, Op::Create, None, A, None), created(0, 1, 7, A, "1")];
    let with = |more: &[Event<Message>]| [&start[..], more].concat();
    for (rule, more) in [
        (&rules::SERVES, vec![sent(0, 2, Op::Read, Some(7), &[], None), status(0, 3, 500)]),
        (
            &rules::IF_MATCH,
            vec![sent(0, 2, Op::Replace, Some(7), B, Some("0")), shown(0, 3, 200, B, Some("2"))],
        ),
        (
            &rules::TAG_CHANGES,
            vec![
                sent(0, 2, Op::Replace, Some(7), B, None),
                shown(0, 3, 200, B, None),
                sent(0, 4, Op::Read, Some(7), &[], None),
                shown(0, 5, 200, B, Some("1")),
            ],
        ),
        (
            &rules::RESPONSE_OWN,
            vec![
                sent(0, 2, Op::Replace, Some(7), A, None),
                sent(1, 3, Op::Replace, Some(7), B, None),
                shown(0, 4, 200, B, None),
                shown(1, 5, 200, A, None),
            ],
        ),
        (
            &rules::TAG_STEADY,
            vec![
                sent(0, 2, Op::Replace, Some(7), B, Some("1")),
                status(0, 3, 412),
                sent(0, 4, Op::Read, Some(7), &[], None),
                shown(0, 5, 200, A, Some("1")),
            ],
        ),
        (&rules::ID_UNIQUE, vec![sent(0, 2, Op::Create, None, B, None), created(0, 3, 7, B, "2")]),
        (&rules::LIST_AGREES, vec![sent(0, 2, Op::List, None, &[], None), listed(0, 3, &[7, 7], false)]),
        (
            &rules::ID_REUSED,
            vec![
                sent(0, 2, Op::Delete, Some(7), &[], None),
                status(0, 3, 204),
                sent(0, 4, Op::Create, None, B, None),
                created(0, 5, 7, B, "2"),
            ],
        ),
        (
            &rules::IF_MATCH_RACE,
            vec![
                sent(0, 2, Op::Replace, Some(7), C, Some("1")),
                sent(1, 3, Op::Replace, Some(7), B, Some("1")),
                shown(0, 4, 200, C, Some("2")),
                shown(1, 5, 200, B, Some("3")),
            ],
        ),
        (
            &rules::UPDATE_KEPT,
            vec![
                sent(0, 2, Op::Patch, Some(7), &[("title", "\"b\"")], None),
                sent(1, 3, Op::Patch, Some(7), &[("done", "true")], None),
                shown(0, 4, 200, &[("title", "\"b\"")], Some("2")),
                shown(1, 5, 200, &[("title", "\"a\""), ("done", "true")], Some("3")),
                sent(0, 6, Op::Read, Some(7), &[], None),
                shown(0, 7, 200, &[("title", "\"a\""), ("done", "true")], Some("3")),
            ],
        ),
    ] {
        assert_eq!(blamed(&with(&more)), [rule.name], "{}", rule.name);
    }
}

/// Returns a list that is filtered by a field.
fn filtered(at: i64, name: &str, value: &str) -> Event<Message> {
    let mut list = sent(0, at, Op::List, None, &[], None);
    if let Event::Sent(_, Message::Request(request)) = &mut list {
        let request = Arc::make_mut(request);
        request.filter = Some((name.into(), value.into()));
        request.query = Some(format!("{name}={value}").into());
    }
    list
}

/// Returns the second page of a list.
fn page(at: i64) -> Event<Message> {
    let mut list = sent(0, at, Op::List, None, &[], None);
    if let Event::Sent(_, Message::Request(request)) = &mut list {
        Arc::make_mut(request).query = Some("offset=1".into());
    }
    list
}

#[test]
fn filters_and_pages() {
    let with_done: &[(&str, &str)] = &[("title", "\"abc\""), ("done", "true")];
    let start = [sent(0, 0, Op::Create, None, with_done, None), created(0, 1, 7, with_done, "1")];
    let list = |ask: Event<Message>, ids: &[u32]| [&start[..], &[ask, listed(0, 3, ids, false)]].concat();
    assert!(is_fine(&list(filtered(2, "done", "true"), &[7])));
    assert!(is_fine(&list(filtered(2, "done", "false"), &[])));
    // A part of the value may be enough, and a field that nobody sent may have any value.
    assert!(
        is_fine(&list(filtered(2, "title", "\"b\""), &[7]))
            && is_fine(&list(filtered(2, "title", "\"b\""), &[]))
    );
    assert!(
        is_fine(&list(filtered(2, "note", "\"\""), &[7])) && is_fine(&list(filtered(2, "note", "\"\""), &[]))
    );
    for wrong in [list(filtered(2, "done", "true"), &[]), list(filtered(2, "done", "false"), &[7])] {
        // The create alone does not tell what the item contains: other rules explain it too.
        assert!(blamed(&wrong).contains(&rules::FILTER_AGREES.name));
    }
    assert!(blamed(&list(page(2), &[])).contains(&rules::PAGES_AGREE.name));
}

/// No standard asks for lists that are made at one moment.
#[test]
fn an_item_that_is_written_meanwhile_may_be_listed_or_not() {
    let mut list = listed(0, 4, &[], false);
    if let Event::Received(_, Message::Response(response)) = &mut list {
        Arc::make_mut(response).moving = vec!["/todos/7".into()];
    }
    let start = [sent(0, 0, Op::Create, None, A, None), created(0, 1, 7, A, "1")];
    let more = [sent(0, 2, Op::List, None, &[], None), sent(1, 3, Op::Patch, Some(7), B, None), list];
    assert!(is_fine(&[&start[..], &more].concat()));
    let still = [more[0].clone(), listed(0, 4, &[], false)];
    assert!(!is_fine(&[&start[..], &still].concat()));
}

/// A create without a response delays the events behind it. The search must not see the responses among them early: here that of the
/// read on connection 2 comes from a write that is sent later.
#[test]
fn what_waits_behind_a_create_is_not_seen_early() {
    let events = [
        sent(0, 0, Op::Create, None, A, None),
        created(0, 1, 7, A, "1"),
        sent(1, 2, Op::Replace, Some(7), B, None),
        sent(2, 3, Op::Read, Some(7), &[], None),
        sent(3, 4, Op::Create, None, A, None),
        shown(1, 5, 200, B, Some("2")),
        sent(1, 6, Op::Replace, Some(7), A, None),
        shown(1, 7, 200, A, Some("3")),
        shown(2, 8, 200, A, Some("3")),
        created(3, 9, 8, A, "4"),
    ];
    assert!(is_fine(&events));
    let model = model();
    let mut tester = Tester::new(&model, &TCP, Options::default());
    for event in events {
        assert!(tester.observe(event).is_unrefuted());
    }
    assert!(tester.verdict().is_unrefuted());
}

/// Creates and reads items, four responses for each, as many as that. Returns the turns of the model.
fn turns_of(items: u32) -> u64 {
    let model = model();
    let mut tester = Tester::new(&model, &TCP, Options::default());
    for id in 0..items {
        let (on, other, at) = (id % 8, (id + 1) % 8, i64::from(id) * 10);
        let (first, second) = (id.to_string(), format!("{id}b"));
        for event in [
            sent(on, at, Op::Create, None, A, None),
            created(on, at + 1, id, A, &first),
            sent(on, at + 2, Op::Read, Some(id), &[], None),
            sent(other, at + 3, Op::Patch, Some(id), B, Some(&first)),
            shown(on, at + 4, 200, A, Some(&first)),
            shown(other, at + 5, 200, B, Some(&second)),
            sent(other, at + 6, Op::Read, Some(id), &[], None),
            shown(other, at + 7, 200, B, Some(&second)),
        ] {
            tester.observe(event);
        }
    }
    assert!(tester.verdict().is_unrefuted());
    tester.turns()
}

#[test]
fn an_item_among_a_thousand_costs_as_much_as_one_among_ten() {
    let (few, many) = (turns_of(10), turns_of(1_000));
    assert!(many <= few * 100 * 11 / 10, "{few} turns for 10 items, {many} for 1,000");
}

/// Returns the time that this thread has spent on a processor, as Linux counts it.
fn spent() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// `cargo test --release -p confute-rest growth -- --ignored --nocapture` prints the CPU time per response.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stdout, reason = "it is a measurement")]
fn growth() {
    for (items, times) in [(10, 1_000), (100, 100), (1_000, 10), (10_000, 1)] {
        let start = spent();
        (0..times).for_each(|_| {
            turns_of(items);
        });
        println!("{items} items: {:.2} us of CPU per response", (spent() - start) * 1e6 / 40_000.0);
    }
}
