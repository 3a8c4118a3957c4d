//! `cas unique`.

use super::trace::*;
use confute_memcached::{Line, Store, rules};

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
