//! Rules about `cas unique`.

use super::trace::*;
use confute_memcached::{ResponseLine, Store, rules};

#[test]
fn cas_stable() {
    let once = new().did(set("a"), ResponseLine::Stored).did(gets(), tagged("a", "1"));
    blamed(&once.clone().did(gets(), tagged("a", "2")), &rules::CAS_STABLE);
    allowed(&once.clone().did(gets(), tagged("a", "1")));
    // A touch may count as a change.
    let touched = once.did(touch(0), ResponseLine::Touched);
    allowed(&touched.clone().did(gets(), tagged("a", "1")));
    allowed(&touched.did(gets(), tagged("a", "2")));
}

#[test]
fn cas_unique() {
    let once =
        new().did(set("a"), ResponseLine::Stored).did(gets(), tagged("a", "1")).did(gets(), tagged("a", "1"));
    let twice = once.clone().did(set("b"), ResponseLine::Stored);
    blamed(&twice.clone().did(gets(), tagged("b", "1")).did(gets(), tagged("b", "1")), &rules::CAS_UNIQUE);
    allowed(&twice.clone().did(gets(), tagged("b", "2")).did(gets(), tagged("b", "2")));
    // A new token is also required if the data is the same, and after a delete.
    let again = twice.did(set("a"), ResponseLine::Stored);
    blamed(&again.did(gets(), tagged("a", "1")).did(gets(), tagged("a", "1")), &rules::CAS_UNIQUE);
    let anew = once.clone().did(delete(), ResponseLine::Deleted).did(set("a"), ResponseLine::Stored);
    blamed(&anew.did(gets(), tagged("a", "1")).did(gets(), tagged("a", "1")), &rules::CAS_UNIQUE);
    let joined = once.did(store(Store::Append, "b"), ResponseLine::Stored);
    blamed(&joined.did(gets(), tagged("ab", "1")).did(gets(), tagged("ab", "1")), &rules::CAS_UNIQUE);
}

#[test]
fn cas_checked() {
    let two = new()
        .did(set("a"), ResponseLine::Stored)
        .did(gets(), tagged("a", "1"))
        .did(set("b"), ResponseLine::Stored)
        .did(gets(), tagged("b", "2"));
    blamed(&two.clone().did(cas("1", "c"), ResponseLine::Stored), &rules::CAS_CHECKED);
    allowed(&two.clone().did(cas("1", "c"), ResponseLine::Exists).did(get(), value("b")));
    allowed(&two.did(cas("1", "c"), ResponseLine::NotFound).did(get(), ResponseLine::Miss));
    blamed(&new().did(cas("1", "c"), ResponseLine::Stored), &rules::CAS_CHECKED);
    // Of two concurrent cas requests, one succeeds.
    let one =
        new().did(set("a"), ResponseLine::Stored).did(gets(), tagged("a", "1")).did(gets(), tagged("a", "1"));
    let race = one.ask(1, cas("1", "b")).ask(2, cas("1", "c"));
    allowed(&race.clone().seen(1, ResponseLine::Exists).seen(2, ResponseLine::Stored).did(get(), value("c")));
    refuted(&race.seen(1, ResponseLine::Stored).seen(2, ResponseLine::Stored));
}

#[test]
fn cas_granted() {
    let one =
        new().did(set("a"), ResponseLine::Stored).did(gets(), tagged("a", "1")).did(gets(), tagged("a", "1"));
    blamed(&one.clone().did(cas("1", "b"), ResponseLine::Exists), &rules::CAS_GRANTED);
    allowed(&one.did(cas("1", "b"), ResponseLine::Stored));
    // A guessed token may be right.
    let blind = new().did(set("a"), ResponseLine::Stored);
    allowed(&blind.clone().did(cas("9", "b"), ResponseLine::Stored).did(get(), value("b")));
    allowed(&blind.clone().did(cas("9", "b"), ResponseLine::Exists).did(gets(), tagged("a", "1")));
    refuted(&blind.did(cas("9", "b"), ResponseLine::Exists).did(gets(), tagged("a", "9")));
}
