//! Storing, appending, deleting, counting.

use super::trace::*;
use confute_memcached::{MemcachedModel, ResponseLine, Store, rules};

#[test]
fn add_checked() {
    // If items may be lost, the item may have been lost before the add.
    let once = new().did(set("a"), ResponseLine::Stored).did(get(), value("a"));
    let twice = once.did(store(Store::Add, "b"), ResponseLine::Stored);
    allowed(&twice.clone().did(get(), value("b")));
    let kept = MemcachedModel { keeps: true };
    blamed_by(kept, &twice.did(get(), value("b")).did(get(), value("b")), &[rules::ADD_CHECKED.name]);
    allowed(&new().did(set("a"), ResponseLine::Stored).did(store(Store::Add, "b"), ResponseLine::NotStored));
    refuted(&new().did(store(Store::Add, "b"), ResponseLine::NotStored));
}

#[test]
fn replace_checked() {
    blamed(&new().did(store(Store::Replace, "a"), ResponseLine::Stored), &rules::REPLACE_CHECKED);
    allowed(&new().did(store(Store::Replace, "a"), ResponseLine::NotStored).did(get(), ResponseLine::Miss));
}

#[test]
fn append_checked() {
    blamed(&new().did(store(Store::Prepend, "a"), ResponseLine::Stored), &rules::APPEND_CHECKED);
    allowed(&new().did(store(Store::Prepend, "a"), ResponseLine::NotStored).did(get(), ResponseLine::Miss));
}

/// memcached short of memory rejects an append: the item exists and stays unchanged.
#[test]
fn append_told() {
    let there =
        new().did(set("a"), ResponseLine::Stored).did(store(Store::Append, "b"), ResponseLine::NotStored);
    blamed(&there.clone().did(get(), value("a")).did(get(), value("a")), &rules::APPEND_TOLD);
    // The response for lack of memory is `SERVER_ERROR`.
    let failed = new().did(set("a"), ResponseLine::Stored).did(store(Store::Append, "b"), short_of_memory());
    allowed(&failed.did(get(), value("a")).did(get(), value("a")));
    // The item may have been lost.
    allowed(&there.did(get(), ResponseLine::Miss));
    // No weaker rule explains a changed item.
    refuted(&new().did(store(Store::Append, "b"), ResponseLine::NotStored).did(get(), value("b")));
}

/// memcached short of memory: a failed set loses the item, any other failed command leaves it unchanged.
#[test]
fn failures_are_allowed() {
    let set_once = new().did(set("a"), ResponseLine::Stored).did(gets(), tagged("a", "1"));
    let lost = set_once.clone().did(set("b"), short_of_memory()).did(gets(), ResponseLine::Miss);
    allowed(
        &lost
            .clone()
            .did(cas("1", "c"), ResponseLine::NotFound)
            .did(store(Store::Add, "c"), ResponseLine::Stored),
    );
    refuted(&lost.did(gets(), tagged("a", "1")));
    for command in [store(Store::Replace, "b"), store(Store::Prepend, "b"), cas("1", "b"), incr(1)] {
        let failed = set_once.clone().did(command, short_of_memory());
        allowed(&failed.clone().did(gets(), tagged("a", "1")).did(cas("1", "c"), ResponseLine::Stored));
        refuted(&failed.did(get(), value("b")));
    }
    // With `noreply` too, in either case.
    let lost = set_once.clone().hush(0, set("b")).did(gets(), ResponseLine::Miss);
    allowed(&lost.did(cas("1", "c"), ResponseLine::NotFound).did(get(), ResponseLine::Miss));
}

#[test]
fn append_keeps() {
    let joined =
        new().did(set("a"), ResponseLine::Stored).did(store(Store::Append, "b"), ResponseLine::Stored);
    blamed(&joined.clone().did(get(), value("b")).did(get(), value("b")), &rules::APPEND_KEEPS);
    allowed(&joined.clone().did(get(), value("ab")));
    allowed(&joined.did(store(Store::Prepend, "c"), ResponseLine::Stored).did(get(), value("cab")));
}

#[test]
fn store_lasts() {
    let two = new().did(set("a"), ResponseLine::Stored).did(set("b"), ResponseLine::Stored);
    blamed(&two.did(get(), value("a")).did(get(), value("a")), &rules::STORE_LASTS);
    let counted = new().did(set("5"), ResponseLine::Stored).did(incr(1), number("6"));
    blamed(&counted.did(get(), value("5")).did(get(), value("5")), &rules::STORE_LASTS);
}

#[test]
fn delete_removes() {
    let deleted = new().did(set("a"), ResponseLine::Stored).did(delete(), ResponseLine::Deleted);
    blamed(&deleted.clone().did(get(), value("a")).did(get(), value("a")), &rules::DELETE_REMOVES);
    allowed(&deleted.did(get(), ResponseLine::Miss));
}

#[test]
fn delete_checked() {
    blamed(&new().did(delete(), ResponseLine::Deleted), &rules::DELETE_CHECKED);
    let race =
        new().did(set("a"), ResponseLine::Stored).did(get(), value("a")).ask(1, delete()).ask(2, delete());
    allowed(&race.clone().seen(2, ResponseLine::Deleted).seen(1, ResponseLine::NotFound));
    refuted(&race.seen(2, ResponseLine::Deleted).seen(1, ResponseLine::Deleted));
}

#[test]
fn count_sums() {
    let most = new().did(set("18446744073709551615"), ResponseLine::Stored);
    let stuck = most.clone().did(incr(1), number("18446744073709551615"));
    blamed(&stuck.did(get(), value("18446744073709551615")), &rules::COUNT_SUMS);
    allowed(&most.clone().did(incr(1), number("0")).did(get(), value("0")));
    allowed(&most.did(incr(1), number("0")).did(get(), value("0                   ")));
    let low = new().did(set("1"), ResponseLine::Stored);
    allowed(&low.clone().did(decr(2), number("0")));
    blamed(&low.did(decr(2), number("18446744073709551615")), &rules::COUNT_SUMS);
    // A number that became shorter may keep its length, and remains a number.
    let ten = new().did(set("10"), ResponseLine::Stored).did(decr(1), number("9"));
    allowed(&ten.clone().did(get(), value("9 ")).did(incr(1), number("10")).did(get(), value("10")));
    allowed(&ten.clone().did(get(), value("9")));
    allowed(&ten.clone().did(store(Store::Append, "x"), ResponseLine::Stored).did(get(), value("9 x")));
    allowed(&ten.clone().did(store(Store::Append, "x"), ResponseLine::Stored).did(get(), value("9x")));
    refuted(&ten.did(get(), value("9  ")));
    // Two concurrent increments both count.
    let race = new().did(set("1"), ResponseLine::Stored).ask(1, incr(1)).ask(2, incr(1));
    allowed(&race.clone().seen(1, number("3")).seen(2, number("2")));
    refuted(&race.seen(1, number("2")).seen(2, number("2")));
}

#[test]
fn count_checked() {
    blamed(&new().did(incr(4), number("4")), &rules::COUNT_CHECKED);
    allowed(&new().did(incr(4), ResponseLine::NotFound));
}

#[test]
fn count_numbers() {
    let word = new().did(set("abc"), ResponseLine::Stored);
    blamed(&word.clone().did(incr(4), number("4")), &rules::COUNT_NUMBERS);
    allowed(&word.did(incr(4), ResponseLine::ClientError(" cannot".into())).did(get(), value("abc")));
    // In unusual form it may be accepted or rejected.
    for odd in ["007", " 7", "+7", "7 apples"] {
        let set = new().did(set(odd), ResponseLine::Stored);
        allowed(&set.clone().did(incr(1), number("8")));
        allowed(&set.did(incr(1), ResponseLine::ClientError(" cannot".into())));
    }
    let big = new().did(set("18446744073709551616"), ResponseLine::Stored);
    refuted(&big.did(incr(1), number("1")).did(get(), value("7")));
}

#[test]
fn count_large() {
    let large = new().did(set("9223372036854775808"), ResponseLine::Stored);
    blamed_by(
        MemcachedModel::default(),
        &large.clone().did(incr(1), ResponseLine::ClientError(" cannot".into())),
        &[rules::COUNT_LARGE.name, rules::VALID_ACCEPTED.name],
    );
    allowed(&large.did(incr(1), number("9223372036854775809")));
}

#[test]
fn touch_checked() {
    blamed(&new().did(touch(0), ResponseLine::Touched), &rules::TOUCH_CHECKED);
    allowed(&new().did(touch(0), ResponseLine::NotFound));
}

#[test]
fn noreply_done() {
    let two = new().did(set("a"), ResponseLine::Stored).hush(0, set("b"));
    let still = two.clone().did(get(), value("a")).did(get(), value("a"));
    // The request may have failed with a hidden error: a warning only, unless the server is known not to fail.
    blamed(&still, &rules::NOREPLY_SERVED);
    blamed_by(MemcachedModel { keeps: true }, &still, &[rules::NOREPLY_DONE.name]);
    allowed(&two.clone().did(get(), value("b")));
    // Another connection may be faster.
    allowed(&two.clone().ask(1, get()).seen(1, value("a")));
    refuted(&two.clone().did(get(), value("b")).ask(1, get()).seen(1, value("a")));
    // A request with `noreply` gets no response.
    refuted(&two.seen(0, ResponseLine::Stored));
    // A request with `noreply` does not bring back a lost item.
    let lost = new().did(set("a"), ResponseLine::Stored).did(get(), ResponseLine::Miss);
    refuted(&lost.clone().hush(0, store(Store::Append, "b")).did(get(), value("ab")));
    allowed(&lost.hush(0, store(Store::Add, "b")).did(get(), value("b")));
}
