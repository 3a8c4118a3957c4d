//! For each rule the smallest trace that breaks it, blamed on it, and the nearest one that does not.

use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Options, blame, judge};
use confute_drive::Protocol;
use confute_memcached::{Command, Line, Memcached, MemcachedModel, Message, Store, rules};

/// A trace in the making: every event comes a millisecond after the one before.
#[derive(Clone, Default)]
struct Trace {
    events: Vec<Event<Message>>,
    micros: u64,
}

impl Trace {
    fn now(&mut self, mut message: Message) -> Message {
        self.micros += 1_000;
        Memcached::default().stamp(&mut message, self.micros);
        message
    }

    fn ask(mut self, conn: u32, command: Command) -> Self {
        let message = self.now(command.asked());
        self.events.extend(message.parts().into_iter().map(|part| Event::Sent(WireConn(conn), part)));
        self
    }

    fn hush(mut self, conn: u32, command: Command) -> Self {
        let message = self.now(command.hushed());
        self.events.push(Event::Sent(WireConn(conn), message));
        self
    }

    fn seen(mut self, conn: u32, line: Line) -> Self {
        let message = self.now(line.into());
        self.events.push(Event::Received(WireConn(conn), message));
        self
    }

    /// A request and its answer.
    fn did(self, command: Command, line: Line) -> Self {
        self.ask(0, command).seen(0, line)
    }

    fn later(mut self, seconds: u64) -> Self {
        self.micros += seconds * 1_000_000;
        self
    }
}

fn new() -> Trace {
    Trace::default()
}

fn store(how: Store, data: &str) -> Command {
    Command::Store { how, key: "k".into(), flags: 7, exptime: 0, data: data.into() }
}

fn set(data: &str) -> Command {
    store(Store::Set, data)
}

fn expiring(data: &str, exptime: i64) -> Command {
    Command::Store { how: Store::Set, key: "k".into(), flags: 7, exptime, data: data.into() }
}

fn cas(token: &str, data: &str) -> Command {
    store(Store::Cas(token.into()), data)
}

fn get() -> Command {
    Command::Get { key: "k".into(), more: Vec::new(), unique: false }
}

fn gets() -> Command {
    Command::Get { key: "k".into(), more: Vec::new(), unique: true }
}

fn delete() -> Command {
    Command::Delete { key: "k".into() }
}

fn incr(by: u64) -> Command {
    Command::Count { key: "k".into(), up: true, by }
}

fn decr(by: u64) -> Command {
    Command::Count { key: "k".into(), up: false, by }
}

fn touch(exptime: i64) -> Command {
    Command::Touch { key: "k".into(), exptime }
}

fn value(data: &str) -> Line {
    Line::Value { key: "k".into(), flags: 7, data: data.into(), unique: None }
}

fn tagged(data: &str, token: &str) -> Line {
    Line::Value { key: "k".into(), flags: 7, data: data.into(), unique: Some(token.into()) }
}

fn number(text: &str) -> Line {
    Line::Number(text.into())
}

fn allowed(trace: &Trace) {
    let verdict = judge(&MemcachedModel::default(), &Tcp::default(), &trace.events, &Options::default());
    assert!(verdict.is_unrefuted(), "{verdict:?} of {:#?}", trace.events);
}

fn blamed_by(model: MemcachedModel, trace: &Trace, names: &[&str]) {
    let (network, options) = (Tcp::default(), Options::default());
    let verdict = judge(&model, &network, &trace.events, &options);
    assert!(verdict.is_refuted(), "{names:?}: {verdict:?} of {:#?}", trace.events);
    let blame = blame(&model, &network, &trace.events, &options);
    let found: Vec<_> = blame.diagnoses.iter().map(|diagnosis| diagnosis.rules.clone()).collect();
    let wanted: Vec<_> = names.iter().map(|name| vec![*name]).collect();
    assert_eq!(found, wanted, "of {:#?}", trace.events);
}

fn blamed(trace: &Trace, rule: &confute::lang::Rule) {
    blamed_by(MemcachedModel::default(), trace, &[rule.name]);
}

/// A refuted trace that no single rule explains, or that several do.
fn refuted(trace: &Trace) {
    let verdict = judge(&MemcachedModel::default(), &Tcp::default(), &trace.events, &Options::default());
    assert!(verdict.is_refuted(), "{verdict:?} of {:#?}", trace.events);
}

#[test]
fn get_latest() {
    let two = new().did(set("a"), Line::Stored).did(set("b"), Line::Stored);
    blamed(&two.clone().did(get(), value("a")).did(get(), value("b")), &rules::GET_LATEST);
    allowed(&two.clone().did(get(), value("b")).did(get(), value("b")));
    // While the second is under way, either is right, in this order.
    let race = new().did(set("a"), Line::Stored).ask(1, set("b"));
    allowed(&race.clone().did(get(), value("a")).did(get(), value("b")).seen(1, Line::Stored));
    refuted(&race.did(get(), value("b")).did(get(), value("a")).seen(1, Line::Stored));
}

#[test]
fn no_phantoms() {
    blamed(&new().did(get(), value("a")), &rules::NO_PHANTOMS);
    allowed(&new().did(get(), Line::Miss));
    let deleted = new().did(set("a"), Line::Stored).did(delete(), Line::Deleted);
    allowed(&deleted.did(get(), Line::Miss));
}

#[test]
fn gone_stays_gone() {
    let lost = new().did(set("a"), Line::Stored).did(get(), value("a")).did(get(), Line::Miss);
    blamed(&lost.clone().did(get(), value("a")), &rules::GONE_STAYS_GONE);
    allowed(&lost.clone().did(get(), Line::Miss).did(delete(), Line::NotFound));
    blamed(&lost.clone().did(store(Store::Append, "b"), Line::Stored), &rules::GONE_STAYS_GONE);
    blamed(&lost.clone().did(touch(0), Line::Touched), &rules::GONE_STAYS_GONE);
    allowed(&lost.did(store(Store::Add, "b"), Line::Stored).did(get(), value("b")));
    // Sent before the other one had missed it.
    let race = new().did(set("a"), Line::Stored).ask(1, get()).did(get(), Line::Miss);
    allowed(&race.seen(1, value("a")));
    // Lost for one who changes it, lost for all.
    let lost = new().did(set("a"), Line::Stored).did(delete(), Line::NotFound);
    refuted(&lost.did(get(), value("a")));
}

#[test]
fn expires() {
    let short = new().did(expiring("a", 1), Line::Stored);
    blamed(&short.clone().later(10).did(get(), value("a")), &rules::EXPIRES);
    blamed(&short.clone().later(10).did(store(Store::Replace, "b"), Line::Stored), &rules::EXPIRES);
    allowed(&short.clone().later(2).did(get(), value("a")));
    allowed(&short.clone().did(get(), Line::Miss));
    allowed(&short.clone().later(10).did(store(Store::Add, "b"), Line::Stored));
    allowed(&short.clone().did(touch(0), Line::Touched).later(10).did(get(), value("a")));
    blamed(
        &new().did(set("a"), Line::Stored).did(touch(1), Line::Touched).later(10).did(get(), value("a")),
        &rules::EXPIRES,
    );
    let past = new().did(expiring("a", -1), Line::Stored);
    blamed(&past.clone().did(get(), value("a")).did(get(), value("a")), &rules::EXPIRES);
    allowed(&past.did(get(), Line::Miss));
    // What stays of an appended item is its time.
    let joined = short.did(store(Store::Append, "b"), Line::Stored);
    blamed(&joined.later(10).did(get(), value("ab")), &rules::EXPIRES);
}

#[test]
fn flags_kept() {
    let other = Line::Value { key: "k".into(), flags: 0, data: "a".into(), unique: None };
    blamed(&new().did(set("a"), Line::Stored).did(get(), other), &rules::FLAGS_KEPT);
    allowed(&new().did(set("a"), Line::Stored).did(get(), value("a")));
}

#[test]
fn cas_stable() {
    let once = new().did(set("a"), Line::Stored).did(gets(), tagged("a", "1"));
    blamed(&once.clone().did(gets(), tagged("a", "2")), &rules::CAS_STABLE);
    allowed(&once.clone().did(gets(), tagged("a", "1")));
    // A touch may count as a change.
    let touched = once.did(touch(0), Line::Touched);
    allowed(&touched.clone().did(gets(), tagged("a", "1")));
    allowed(&touched.did(gets(), tagged("a", "2")));
}

#[test]
fn cas_unique() {
    let once = new().did(set("a"), Line::Stored).did(gets(), tagged("a", "1")).did(gets(), tagged("a", "1"));
    let twice = once.clone().did(set("b"), Line::Stored);
    blamed(&twice.clone().did(gets(), tagged("b", "1")).did(gets(), tagged("b", "1")), &rules::CAS_UNIQUE);
    allowed(&twice.clone().did(gets(), tagged("b", "2")).did(gets(), tagged("b", "2")));
    // Nor with the same data again, also not after a delete.
    let again = twice.did(set("a"), Line::Stored);
    blamed(&again.did(gets(), tagged("a", "1")).did(gets(), tagged("a", "1")), &rules::CAS_UNIQUE);
    let anew = once.clone().did(delete(), Line::Deleted).did(set("a"), Line::Stored);
    blamed(&anew.did(gets(), tagged("a", "1")).did(gets(), tagged("a", "1")), &rules::CAS_UNIQUE);
    let joined = once.did(store(Store::Append, "b"), Line::Stored);
    blamed(&joined.did(gets(), tagged("ab", "1")).did(gets(), tagged("ab", "1")), &rules::CAS_UNIQUE);
}

#[test]
fn cas_checked() {
    let two = new()
        .did(set("a"), Line::Stored)
        .did(gets(), tagged("a", "1"))
        .did(set("b"), Line::Stored)
        .did(gets(), tagged("b", "2"));
    blamed(&two.clone().did(cas("1", "c"), Line::Stored), &rules::CAS_CHECKED);
    allowed(&two.clone().did(cas("1", "c"), Line::Exists).did(get(), value("b")));
    allowed(&two.did(cas("1", "c"), Line::NotFound).did(get(), Line::Miss));
    blamed(&new().did(cas("1", "c"), Line::Stored), &rules::CAS_CHECKED);
    // One winner.
    let one = new().did(set("a"), Line::Stored).did(gets(), tagged("a", "1")).did(gets(), tagged("a", "1"));
    let race = one.ask(1, cas("1", "b")).ask(2, cas("1", "c"));
    allowed(&race.clone().seen(1, Line::Exists).seen(2, Line::Stored).did(get(), value("c")));
    refuted(&race.seen(1, Line::Stored).seen(2, Line::Stored));
}

#[test]
fn cas_granted() {
    let one = new().did(set("a"), Line::Stored).did(gets(), tagged("a", "1")).did(gets(), tagged("a", "1"));
    blamed(&one.clone().did(cas("1", "b"), Line::Exists), &rules::CAS_GRANTED);
    allowed(&one.did(cas("1", "b"), Line::Stored));
    // A guess may be right.
    let blind = new().did(set("a"), Line::Stored);
    allowed(&blind.clone().did(cas("9", "b"), Line::Stored).did(get(), value("b")));
    allowed(&blind.clone().did(cas("9", "b"), Line::Exists).did(gets(), tagged("a", "1")));
    refuted(&blind.did(cas("9", "b"), Line::Exists).did(gets(), tagged("a", "9")));
}

#[test]
fn add_checked() {
    // Where items may be lost, who can say that one was still there?
    let once = new().did(set("a"), Line::Stored).did(get(), value("a"));
    let twice = once.did(store(Store::Add, "b"), Line::Stored);
    allowed(&twice.clone().did(get(), value("b")));
    let kept = MemcachedModel { keeps: true };
    blamed_by(kept, &twice.did(get(), value("b")).did(get(), value("b")), &[rules::ADD_CHECKED.name]);
    allowed(&new().did(set("a"), Line::Stored).did(store(Store::Add, "b"), Line::NotStored));
    refuted(&new().did(store(Store::Add, "b"), Line::NotStored));
}

#[test]
fn replace_checked() {
    blamed(&new().did(store(Store::Replace, "a"), Line::Stored), &rules::REPLACE_CHECKED);
    allowed(&new().did(store(Store::Replace, "a"), Line::NotStored).did(get(), Line::Miss));
}

#[test]
fn append_checked() {
    blamed(&new().did(store(Store::Prepend, "a"), Line::Stored), &rules::APPEND_CHECKED);
    allowed(&new().did(store(Store::Prepend, "a"), Line::NotStored).did(get(), Line::Miss));
}

#[test]
fn append_keeps() {
    let joined = new().did(set("a"), Line::Stored).did(store(Store::Append, "b"), Line::Stored);
    blamed(&joined.clone().did(get(), value("b")).did(get(), value("b")), &rules::APPEND_KEEPS);
    allowed(&joined.clone().did(get(), value("ab")));
    allowed(&joined.did(store(Store::Prepend, "c"), Line::Stored).did(get(), value("cab")));
}

#[test]
fn store_lasts() {
    let two = new().did(set("a"), Line::Stored).did(set("b"), Line::Stored);
    blamed(&two.did(get(), value("a")).did(get(), value("a")), &rules::STORE_LASTS);
    let counted = new().did(set("5"), Line::Stored).did(incr(1), number("6"));
    blamed(&counted.did(get(), value("5")).did(get(), value("5")), &rules::STORE_LASTS);
}

#[test]
fn delete_removes() {
    let deleted = new().did(set("a"), Line::Stored).did(delete(), Line::Deleted);
    blamed(&deleted.clone().did(get(), value("a")).did(get(), value("a")), &rules::DELETE_REMOVES);
    allowed(&deleted.did(get(), Line::Miss));
}

#[test]
fn delete_checked() {
    blamed(&new().did(delete(), Line::Deleted), &rules::DELETE_CHECKED);
    let race = new().did(set("a"), Line::Stored).did(get(), value("a")).ask(1, delete()).ask(2, delete());
    allowed(&race.clone().seen(2, Line::Deleted).seen(1, Line::NotFound));
    refuted(&race.seen(2, Line::Deleted).seen(1, Line::Deleted));
}

#[test]
fn count_sums() {
    let most = new().did(set("18446744073709551615"), Line::Stored);
    let stuck = most.clone().did(incr(1), number("18446744073709551615"));
    blamed(&stuck.did(get(), value("18446744073709551615")), &rules::COUNT_SUMS);
    allowed(&most.clone().did(incr(1), number("0")).did(get(), value("0")));
    allowed(&most.did(incr(1), number("0")).did(get(), value("0                   ")));
    let low = new().did(set("1"), Line::Stored);
    allowed(&low.clone().did(decr(2), number("0")));
    blamed(&low.did(decr(2), number("18446744073709551615")), &rules::COUNT_SUMS);
    // Shorter, it may keep its length, and is a number still.
    let ten = new().did(set("10"), Line::Stored).did(decr(1), number("9"));
    allowed(&ten.clone().did(get(), value("9 ")).did(incr(1), number("10")).did(get(), value("10")));
    allowed(&ten.clone().did(get(), value("9")));
    allowed(&ten.clone().did(store(Store::Append, "x"), Line::Stored).did(get(), value("9 x")));
    allowed(&ten.clone().did(store(Store::Append, "x"), Line::Stored).did(get(), value("9x")));
    refuted(&ten.did(get(), value("9  ")));
    // Two that count at once do not count as one.
    let race = new().did(set("1"), Line::Stored).ask(1, incr(1)).ask(2, incr(1));
    allowed(&race.clone().seen(1, number("3")).seen(2, number("2")));
    refuted(&race.seen(1, number("2")).seen(2, number("2")));
}

#[test]
fn count_checked() {
    blamed(&new().did(incr(4), number("4")), &rules::COUNT_CHECKED);
    allowed(&new().did(incr(4), Line::NotFound));
}

#[test]
fn count_numbers() {
    let word = new().did(set("abc"), Line::Stored);
    blamed(&word.clone().did(incr(4), number("4")), &rules::COUNT_NUMBERS);
    allowed(&word.did(incr(4), Line::ClientError(" cannot".into())).did(get(), value("abc")));
    // Oddly written, it may be one or not.
    for odd in ["007", " 7", "+7", "7 apples"] {
        let set = new().did(set(odd), Line::Stored);
        allowed(&set.clone().did(incr(1), number("8")));
        allowed(&set.did(incr(1), Line::ClientError(" cannot".into())));
    }
    let big = new().did(set("18446744073709551616"), Line::Stored);
    refuted(&big.did(incr(1), number("1")).did(get(), value("7")));
}

#[test]
fn touch_checked() {
    blamed(&new().did(touch(0), Line::Touched), &rules::TOUCH_CHECKED);
    allowed(&new().did(touch(0), Line::NotFound));
}

#[test]
fn noreply_done() {
    let two = new().did(set("a"), Line::Stored).hush(0, set("b"));
    blamed(&two.clone().did(get(), value("a")).did(get(), value("a")), &rules::NOREPLY_DONE);
    allowed(&two.clone().did(get(), value("b")));
    // Another connection may be faster.
    allowed(&two.clone().ask(1, get()).seen(1, value("a")));
    refuted(&two.clone().did(get(), value("b")).ask(1, get()).seen(1, value("a")));
    // No answer is no answer.
    refuted(&two.seen(0, Line::Stored));
    // Nor does silence bring back what was lost.
    let lost = new().did(set("a"), Line::Stored).did(get(), Line::Miss);
    refuted(&lost.clone().hush(0, store(Store::Append, "b")).did(get(), value("ab")));
    allowed(&lost.hush(0, store(Store::Add, "b")).did(get(), value("b")));
}

#[test]
fn valid_accepted() {
    blamed(&new().did(set("a"), Line::ClientError(" bad".into())), &rules::VALID_ACCEPTED);
    blamed(&new().did(get(), Line::Error), &rules::VALID_ACCEPTED);
    // Servers may fail: then nothing was done.
    let failed = new().did(set("a"), Line::Stored).did(set("b"), Line::ServerError(" memory".into()));
    allowed(&failed.clone().did(get(), value("a")));
    allowed(&failed.clone().did(get(), Line::Miss));
    refuted(&failed.did(get(), value("b")));
    allowed(&new().did(get(), Line::ServerError(" memory".into())));
}

#[test]
fn well_formed() {
    blamed(&new().did(set("a"), Line::Garbage("STORD\r\n".into())), &rules::WELL_FORMED);
    blamed(&new().did(set("a"), Line::Ok), &rules::WELL_FORMED);
    let other = Line::Value { key: "x".into(), flags: 7, data: "a".into(), unique: None };
    blamed(&new().did(set("a"), Line::Stored).did(get(), other), &rules::WELL_FORMED);
    // `gets` is asked for tokens.
    blamed(&new().did(set("a"), Line::Stored).did(gets(), value("a")), &rules::WELL_FORMED);
}

#[test]
fn several_keys_are_read_one_by_one() {
    let both = Command::Get { key: "a".into(), more: vec!["b".into()], unique: false };
    let put = |key: &str, data: &str| Command::Store {
        how: Store::Set,
        key: key.into(),
        flags: 0,
        exptime: 0,
        data: data.into(),
    };
    let item =
        |key: &str, data: &str| Line::Value { key: key.into(), flags: 0, data: data.into(), unique: None };
    let start = new()
        .did(put("a", "1"), Line::Stored)
        .did(put("b", "1"), Line::Stored)
        .ask(1, both)
        .did(put("a", "2"), Line::Stored)
        .did(put("b", "2"), Line::Stored);
    // Never true at one moment, and right all the same.
    allowed(&start.clone().seen(1, item("a", "1")).seen(1, item("b", "2")));
    allowed(&start.clone().seen(1, item("a", "2")).seen(1, item("b", "1")));
    refuted(&start.seen(1, item("a", "2")).seen(1, item("b", "3")));
}

#[test]
fn every_rule_has_a_name_of_its_own() {
    let mut names: Vec<_> = rules::ALL.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), rules::ALL.len());
    assert!(names.iter().all(|name| name.starts_with("memcached/")));
}
