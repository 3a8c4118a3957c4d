//! Tests of histories as events: what a completion means, and which histories fit no model.

use confute::history::{Misfit, Reading, Recorded};
use confute::trace::{Event, ReadLimits, WireConn};
use confute_models::recorded::{COUNTER, KV, LIST_APPEND, QUEUE, REGISTER, SET, STACK};
use confute_models::{counter, kv, list_append, queue, register, set};

fn read<M: Clone>(reading: &'static Reading<M>, file: &str) -> Result<Recorded<M>, Misfit> {
    let history = confute::history::read(file.as_bytes(), ReadLimits::default()).unwrap();
    reading.translate(&history)
}

/// Returns a line for each `process type f value`, with an optional key and error.
fn edn(lines: &[&str]) -> String {
    let line = |line: &&str| {
        let (head, rest) = line.split_once(" | ").unwrap_or((line, ""));
        let words: Vec<&str> = head.splitn(4, ' ').collect();
        format!(
            "{{:process {}, :type :{}, :f :{}, :value {}, {rest}}}\n",
            words[0], words[1], words[2], words[3]
        )
    };
    lines.iter().map(line).collect()
}

fn wrong<M: Clone>(reading: &'static Reading<M>, lines: &[&str]) -> String {
    read(reading, &edn(lines)).err().expect("a misfit").to_string()
}

const A: WireConn = WireConn(0);
const B: WireConn = WireConn(1);

#[test]
fn completions() {
    use queue::Message::{Dequeue, Dequeued, Empty, Enqueue};
    let file = edn(&[
        "7 invoke enqueue 1",
        "8 invoke enqueue :b",
        "9 invoke enqueue \"c\"",
        "8 fail enqueue :b",
        "7 info enqueue 1",
        "8 invoke dequeue nil",
        "8 ok dequeue 1",
        "7 invoke dequeue nil",
        "7 ok dequeue nil",
        "9 ok enqueue \"c\"",
        "7 invoke dequeue nil",
    ]);
    let Recorded { events, lines } = read(&QUEUE, &file).unwrap();
    let [c, d] = [WireConn(2), WireConn(3)];
    let expected = [
        (1, Event::Sent(A, Enqueue(1.into()))),
        // The one of line 2 failed, so it did not take place.
        (3, Event::Sent(c, Enqueue("c".into()))),
        (5, Event::HungUp(A)),
        (6, Event::Sent(B, Dequeue)),
        (7, Event::Received(B, Dequeued(1.into()))),
        // Process 7 goes on where nothing is open.
        (8, Event::Sent(d, Dequeue)),
        (9, Event::Received(d, Empty)),
        (10, Event::Received(c, queue::Message::Enqueued)),
        (11, Event::Sent(d, Dequeue)),
    ];
    let found: Vec<_> = lines.into_iter().zip(events).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_failed_swap_without_an_error_is_a_response() {
    use register::Message::{Cas, Read, Swapped};
    let cas = Cas { from: 1, to: 2 };
    let swap = |end: &str| {
        let recorded = read(&REGISTER, &edn(&["0 invoke cas [1 2]", end, "0 invoke read nil"]));
        recorded.unwrap().events
    };
    let read = Event::Sent(A, Read);
    let tried = Event::Sent(A, cas);
    assert_eq!(swap("0 fail cas [1 2]"), [tried.clone(), Event::Received(A, Swapped(false)), read.clone()]);
    assert_eq!(swap("0 ok cas [1 2]"), [tried, Event::Received(A, Swapped(true)), read.clone()]);
    // The connection was refused: the comparison was never made.
    assert_eq!(swap("0 fail cas [1 2] | :error :refused"), [read]);
}

#[test]
fn drains_are_dequeues() {
    use queue::Message::{Dequeue, Dequeued};
    let recorded = read(
        &QUEUE,
        &edn(&["0 invoke drain nil", "0 ok drain [1 2]", "0 invoke drain nil", "0 ok drain []"]),
    );
    let sent = Event::Sent(A, Dequeue);
    let got = |item: i64| Event::Received(A, Dequeued(item.into()));
    let Recorded { events, lines } = recorded.unwrap();
    assert_eq!((events, lines), (vec![sent.clone(), sent, got(1), got(2)], vec![1, 1, 2, 2]));
    assert!(wrong(&QUEUE, &["0 invoke drain nil", "0 info drain nil"]).contains("any number of items"));
    assert!(wrong(&QUEUE, &["0 invoke drain nil"]).starts_with("line 1: a drain without a known end"));
}

#[test]
fn sets_and_counters() {
    use set::Message::{Add, Contains, Done, Elements, Read, Yes};
    let file = edn(&[
        "0 invoke add 1",
        "0 ok add 1",
        "0 invoke add 2",
        "0 ok add true",
        "0 invoke contains 1",
        "0 ok contains true",
        "0 invoke read nil",
        "0 ok read #{2 1}",
    ]);
    let found: Vec<_> = read(&SET, &file)
        .unwrap()
        .events
        .into_iter()
        .filter_map(|event| match event {
            Event::Sent(_, message) | Event::Received(_, message) => Some(message),
            _ => None,
        })
        .collect();
    let expected = [
        Add(1.into()),
        Done,
        Add(2.into()),
        Yes,
        Contains(1.into()),
        Yes,
        Read,
        Elements(vec![1.into(), 2.into()]),
    ];
    assert_eq!(found, expected);
    // A read that says nothing is not a read of nothing.
    assert!(wrong(&SET, &["0 invoke read nil", "0 ok read nil"]).contains("nil is not a list of elements"));
    assert!(wrong(&SET, &["0 invoke contains 1", "0 ok contains 1"]).contains("true or false"));
    let counted =
        read(&COUNTER, &edn(&["0 invoke add -3", "0 ok add -3", "0 invoke read nil", "0 ok read -3"]));
    assert_eq!(counted.unwrap().events[3], Event::Received(A, counter::Message::Value(-3)));
    assert!(wrong(&COUNTER, &["0 invoke add \"x\""]).contains("integers only"));
}

#[test]
fn transactions() {
    use list_append::{Message, Step};
    let recorded = read(
        &LIST_APPEND,
        &edn(&["0 invoke txn [[:append 5 1] [:r 5 nil]]", "0 ok txn [[:append 5 1] [:r 5 [3 1]]]"]),
    );
    let steps = vec![Step::Append(1.into()), Step::Read];
    let list = list_append::list(&[3.into(), 1.into()]);
    assert_eq!(
        recorded.unwrap().events,
        [
            Event::Sent(A, Message::Txn { key: 5.into(), steps }),
            Event::Received(A, Message::Done(vec![list.clone()]))
        ]
    );
    let single =
        read(&LIST_APPEND, &edn(&["0 invoke read nil | :key 5", "0 ok read [3 1] | :key 5"])).unwrap();
    assert_eq!(single.events[1], Event::Received(A, Message::Done(vec![list])));
    for (lines, part) in [
        (&["0 invoke txn [[:append 5 1] [:r 6 nil]]"][..], "has keys 5 and 6"),
        (&["0 invoke txn []"], "no steps"),
        (&["0 invoke txn 5"], "needs its steps"),
        (&["0 invoke txn [[:w 5 1]]"], "[:w 5 1] is no step"),
        (&["0 invoke read nil"], "needs a :key"),
        (&["0 invoke txn [[:r 5 nil]]", "0 ok txn [[:append 5 1]]"], "not those that were invoked"),
    ] {
        let what = wrong(&LIST_APPEND, lines);
        assert!(what.contains(part), "{what}");
    }
}

#[test]
fn keys_are_not_mixed() {
    let two = ["0 invoke write 1 | :key :a", "1 invoke write 2 | :key :b"];
    let what = wrong(&REGISTER, &two);
    assert!(
        what.starts_with("line 2: this operation has key :b, that of line 1 key :a; the register model"),
        "{what}"
    );
    assert!(read(&REGISTER, &edn(&[two[0]; 1])).is_ok());
    let kv = read(&KV, &edn(&two)).unwrap();
    assert_eq!(kv.events[1], Event::Sent(B, kv::Message::Put(":b".into(), "2".into())));
}

#[test]
fn unknown_operations_are_named() {
    let what = wrong(&STACK, &["0 invoke enqueue 1"]);
    assert_eq!(what, "line 1: the stack model knows push and pop, not \"enqueue\"");
}
