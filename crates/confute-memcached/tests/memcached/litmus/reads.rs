//! What is found, and what answers look like.

use super::trace::*;
use confute_memcached::{Command, Line, Store, rules};

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
