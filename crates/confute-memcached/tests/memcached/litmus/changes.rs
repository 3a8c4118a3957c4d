//! Storing, joining, deleting, counting.

use super::trace::*;
use confute_memcached::{Line, MemcachedModel, Store, rules};

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

/// What memcached does for lack of memory: the item is there, and stays as it is.
#[test]
fn append_told() {
    let there = new().did(set("a"), Line::Stored).did(store(Store::Append, "b"), Line::NotStored);
    blamed(&there.clone().did(get(), value("a")).did(get(), value("a")), &rules::APPEND_TOLD);
    // The protocol has an answer for that,
    let failed = new().did(set("a"), Line::Stored).did(store(Store::Append, "b"), short_of_memory());
    allowed(&failed.did(get(), value("a")).did(get(), value("a")));
    // and an item may be lost.
    allowed(&there.did(get(), Line::Miss));
    // Nothing weaker than that explains a changed item.
    refuted(&new().did(store(Store::Append, "b"), Line::NotStored).did(get(), value("b")));
}

/// What memcached does for lack of memory: a set that fails takes the item with it, anything else leaves it alone.
#[test]
fn failures_are_allowed() {
    let set_once = new().did(set("a"), Line::Stored).did(gets(), tagged("a", "1"));
    let lost = set_once.clone().did(set("b"), short_of_memory()).did(gets(), Line::Miss);
    allowed(&lost.clone().did(cas("1", "c"), Line::NotFound).did(store(Store::Add, "c"), Line::Stored));
    refuted(&lost.did(gets(), tagged("a", "1")));
    for command in [store(Store::Replace, "b"), store(Store::Prepend, "b"), cas("1", "b"), incr(1)] {
        let failed = set_once.clone().did(command, short_of_memory());
        allowed(&failed.clone().did(gets(), tagged("a", "1")).did(cas("1", "c"), Line::Stored));
        refuted(&failed.did(get(), value("b")));
    }
    // In silence too, whichever it is.
    let lost = set_once.clone().hush(0, set("b")).did(gets(), Line::Miss);
    allowed(&lost.did(cas("1", "c"), Line::NotFound).did(get(), Line::Miss));
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
fn count_large() {
    let large = new().did(set("9223372036854775808"), Line::Stored);
    blamed_by(
        MemcachedModel::default(),
        &large.clone().did(incr(1), Line::ClientError(" cannot".into())),
        &[rules::COUNT_LARGE.name, rules::VALID_ACCEPTED.name],
    );
    allowed(&large.did(incr(1), number("9223372036854775809")));
}

#[test]
fn touch_checked() {
    blamed(&new().did(touch(0), Line::Touched), &rules::TOUCH_CHECKED);
    allowed(&new().did(touch(0), Line::NotFound));
}

#[test]
fn noreply_done() {
    let two = new().did(set("a"), Line::Stored).hush(0, set("b"));
    let still = two.clone().did(get(), value("a")).did(get(), value("a"));
    // It may have failed, and nobody was told: no more than a warning, unless it is known that nothing fails.
    blamed(&still, &rules::NOREPLY_SERVED);
    blamed_by(MemcachedModel { keeps: true }, &still, &[rules::NOREPLY_DONE.name]);
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
