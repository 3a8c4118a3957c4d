//! Reads, and the form of responses.

use super::trace::*;
use confute_memcached::{Command, ResponseLine, Store, rules};

#[test]
fn get_latest() {
    let two = new().did(set("a"), ResponseLine::Stored).did(set("b"), ResponseLine::Stored);
    blamed(&two.clone().did(get(), value("a")).did(get(), value("b")), &rules::GET_LATEST);
    allowed(&two.clone().did(get(), value("b")).did(get(), value("b")));
    // While the second set is in flight, reads may return either value, but only in this order.
    let race = new().did(set("a"), ResponseLine::Stored).ask(1, set("b"));
    allowed(&race.clone().did(get(), value("a")).did(get(), value("b")).seen(1, ResponseLine::Stored));
    refuted(&race.did(get(), value("b")).did(get(), value("a")).seen(1, ResponseLine::Stored));
}

#[test]
fn no_phantoms() {
    blamed(&new().did(get(), value("a")), &rules::NO_PHANTOMS);
    allowed(&new().did(get(), ResponseLine::Miss));
    let deleted = new().did(set("a"), ResponseLine::Stored).did(delete(), ResponseLine::Deleted);
    allowed(&deleted.did(get(), ResponseLine::Miss));
}

#[test]
fn gone_stays_gone() {
    let lost =
        new().did(set("a"), ResponseLine::Stored).did(get(), value("a")).did(get(), ResponseLine::Miss);
    blamed(&lost.clone().did(get(), value("a")), &rules::GONE_STAYS_GONE);
    allowed(&lost.clone().did(get(), ResponseLine::Miss).did(delete(), ResponseLine::NotFound));
    blamed(&lost.clone().did(store(Store::Append, "b"), ResponseLine::Stored), &rules::GONE_STAYS_GONE);
    blamed(&lost.clone().did(touch(0), ResponseLine::Touched), &rules::GONE_STAYS_GONE);
    allowed(&lost.did(store(Store::Add, "b"), ResponseLine::Stored).did(get(), value("b")));
    // The read was sent before the other one missed.
    let race = new().did(set("a"), ResponseLine::Stored).ask(1, get()).did(get(), ResponseLine::Miss);
    allowed(&race.seen(1, value("a")));
    // If one request finds the item missing, it is lost for all.
    let lost = new().did(set("a"), ResponseLine::Stored).did(delete(), ResponseLine::NotFound);
    refuted(&lost.did(get(), value("a")));
}

#[test]
fn expires() {
    let short = new().did(expiring("a", 1), ResponseLine::Stored);
    blamed(&short.clone().later(10).did(get(), value("a")), &rules::EXPIRES);
    blamed(&short.clone().later(10).did(store(Store::Replace, "b"), ResponseLine::Stored), &rules::EXPIRES);
    allowed(&short.clone().later(2).did(get(), value("a")));
    allowed(&short.clone().did(get(), ResponseLine::Miss));
    allowed(&short.clone().later(10).did(store(Store::Add, "b"), ResponseLine::Stored));
    allowed(&short.clone().did(touch(0), ResponseLine::Touched).later(10).did(get(), value("a")));
    blamed(
        &new()
            .did(set("a"), ResponseLine::Stored)
            .did(touch(1), ResponseLine::Touched)
            .later(10)
            .did(get(), value("a")),
        &rules::EXPIRES,
    );
    let past = new().did(expiring("a", -1), ResponseLine::Stored);
    blamed(&past.clone().did(get(), value("a")).did(get(), value("a")), &rules::EXPIRES);
    allowed(&past.did(get(), ResponseLine::Miss));
    // An append keeps the expiration time of the item.
    let joined = short.did(store(Store::Append, "b"), ResponseLine::Stored);
    blamed(&joined.later(10).did(get(), value("ab")), &rules::EXPIRES);
}

#[test]
fn flags_kept() {
    let other = ResponseLine::Value { key: "k".into(), flags: 0, data: "a".into(), unique: None };
    blamed(&new().did(set("a"), ResponseLine::Stored).did(get(), other), &rules::FLAGS_KEPT);
    allowed(&new().did(set("a"), ResponseLine::Stored).did(get(), value("a")));
}

#[test]
fn valid_accepted() {
    blamed(&new().did(set("a"), ResponseLine::ClientError(" bad".into())), &rules::VALID_ACCEPTED);
    blamed(&new().did(get(), ResponseLine::Error), &rules::VALID_ACCEPTED);
    // A server may fail: then the command was not carried out.
    let failed =
        new().did(set("a"), ResponseLine::Stored).did(set("b"), ResponseLine::ServerError(" memory".into()));
    allowed(&failed.clone().did(get(), value("a")));
    allowed(&failed.clone().did(get(), ResponseLine::Miss));
    refuted(&failed.did(get(), value("b")));
    allowed(&new().did(get(), ResponseLine::ServerError(" memory".into())));
}

#[test]
fn well_formed() {
    blamed(&new().did(set("a"), ResponseLine::Garbage("STORD\r\n".into())), &rules::WELL_FORMED);
    blamed(&new().did(set("a"), ResponseLine::Ok), &rules::WELL_FORMED);
    let other = ResponseLine::Value { key: "x".into(), flags: 7, data: "a".into(), unique: None };
    blamed(&new().did(set("a"), ResponseLine::Stored).did(get(), other), &rules::WELL_FORMED);
    // A response to `gets` must have a token.
    blamed(&new().did(set("a"), ResponseLine::Stored).did(gets(), value("a")), &rules::WELL_FORMED);
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
    let item = |key: &str, data: &str| ResponseLine::Value {
        key: key.into(),
        flags: 0,
        data: data.into(),
        unique: None,
    };
    let start = new()
        .did(put("a", "1"), ResponseLine::Stored)
        .did(put("b", "1"), ResponseLine::Stored)
        .ask(1, both)
        .did(put("a", "2"), ResponseLine::Stored)
        .did(put("b", "2"), ResponseLine::Stored);
    // No single moment has both values, but each key is read at a different moment.
    allowed(&start.clone().seen(1, item("a", "1")).seen(1, item("b", "2")));
    allowed(&start.clone().seen(1, item("a", "2")).seen(1, item("b", "1")));
    refuted(&start.seen(1, item("a", "2")).seen(1, item("b", "3")));
}
