//! The rules of the model. The clauses are those of memcached's `protocol.txt`.

use confute::lang::{Level, Rule};

/// Reads see the most recent value.
pub const GET_LATEST: Rule = Rule {
    name: "memcached/get-latest",
    level: Level::Store,
    summary: "A hit returns the latest data stored under the key.",
};
/// A read finds only items that were stored.
pub const NO_PHANTOMS: Rule = Rule {
    name: "memcached/no-phantoms",
    level: Level::Must,
    summary: "A `get` of a key without an item (never stored, or deleted) is a miss.",
};
/// An item that was lost stays lost.
pub const GONE_STAYS_GONE: Rule = Rule {
    name: "memcached/gone-stays-gone",
    level: Level::Store,
    summary: "An item that was reported missing stays missing until it is stored again.",
};
/// An expired item cannot be retrieved.
pub const EXPIRES: Rule = Rule {
    name: "memcached/expires",
    level: Level::Must,
    summary: "An item cannot be retrieved after its expiration time, with a tolerance for clocks that count seconds. A negative expiration time expires the item at once.",
};
/// Flags are stored with the data.
pub const FLAGS_KEPT: Rule = Rule {
    name: "memcached/flags-kept",
    level: Level::Must,
    summary: "A hit returns the flags stored with the data.",
};
/// A `cas unique` changes only with its item.
pub const CAS_STABLE: Rule = Rule {
    name: "memcached/cas-stable",
    level: Level::Must,
    summary: "The cas unique of an item changes only when the item changes.",
};
/// Every change gives the item a new `cas unique`.
pub const CAS_UNIQUE: Rule = Rule {
    name: "memcached/cas-unique",
    level: Level::Must,
    summary: "Every change gives the item a cas unique that it never had before.",
};
/// A cas compares its `cas unique` with the item's.
pub const CAS_CHECKED: Rule = Rule {
    name: "memcached/cas-checked",
    level: Level::Must,
    summary: "A `cas` stores nothing unless its cas unique is the current one of the item.",
};
/// A cas with the current `cas unique` succeeds.
pub const CAS_GRANTED: Rule = Rule {
    name: "memcached/cas-granted",
    level: Level::Must,
    summary: "A `cas` with the current cas unique of the item does not get EXISTS.",
};
/// An add does not replace an item.
pub const ADD_CHECKED: Rule = Rule {
    name: "memcached/add-checked",
    level: Level::Must,
    summary: "An `add` stores nothing if the key already has an item.",
};
/// A replace does not create an item.
pub const REPLACE_CHECKED: Rule = Rule {
    name: "memcached/replace-checked",
    level: Level::Must,
    summary: "A `replace` stores nothing if the key has no item.",
};
/// An append or prepend does not create an item.
pub const APPEND_CHECKED: Rule = Rule {
    name: "memcached/append-checked",
    level: Level::Must,
    summary: "An `append` or `prepend` stores nothing if the key has no item.",
};
/// An append or prepend to an existing item does not get `NOT_STORED`. memcached breaks this rule when it is short
/// of memory.
pub const APPEND_TOLD: Rule = Rule {
    name: "memcached/append-told",
    level: Level::Should,
    summary: "An `append` or `prepend` to an existing item does not get NOT_STORED. NOT_STORED means that a condition was not met; lack of memory is reported as SERVER_ERROR.",
};
/// An append or prepend keeps the existing data.
pub const APPEND_KEEPS: Rule = Rule {
    name: "memcached/append-keeps",
    level: Level::Must,
    summary: "An `append` or `prepend` keeps the existing data and flags.",
};
/// A confirmed change takes effect.
pub const STORE_LASTS: Rule = Rule {
    name: "memcached/store-lasts",
    level: Level::Store,
    summary: "A confirmed change takes effect for all later requests.",
};
/// A confirmed delete removes the item.
pub const DELETE_REMOVES: Rule = Rule {
    name: "memcached/delete-removes",
    level: Level::Must,
    summary: "A confirmed `delete` removes the item.",
};
/// A delete is confirmed only if there is an item.
pub const DELETE_CHECKED: Rule = Rule {
    name: "memcached/delete-checked",
    level: Level::Must,
    summary: "A `delete` is confirmed only if the key has an item: an item is deleted once.",
};
/// Incr and decr compute the right number.
pub const COUNT_SUMS: Rule = Rule {
    name: "memcached/count-sums",
    level: Level::Must,
    summary: "An `incr` adds and wraps around at 64 bits; a `decr` subtracts and stops at 0.",
};
/// An incr or decr does not create an item.
pub const COUNT_CHECKED: Rule = Rule {
    name: "memcached/count-checked",
    level: Level::Must,
    summary: "An `incr` or `decr` does not create an item.",
};
/// An incr or decr accepts only numbers.
pub const COUNT_NUMBERS: Rule = Rule {
    name: "memcached/count-numbers",
    level: Level::Must,
    summary: "An `incr` or `decr` of data that is not a 64-bit decimal number is an error and changes nothing.",
};
/// An incr or decr accepts numbers of 2^63 and more. memcached 1.6.18 breaks this rule: above 2^63 it looks
/// for a minus sign beyond the end of the data.
pub const COUNT_LARGE: Rule = Rule {
    name: "memcached/count-large",
    level: Level::Must,
    summary: "An `incr` or `decr` accepts all numbers of 64 bits, including those from 2^63 on.",
};
/// A touch is confirmed only if there is an item.
pub const TOUCH_CHECKED: Rule = Rule {
    name: "memcached/touch-checked",
    level: Level::Must,
    summary: "A `touch` is confirmed only if the key has an item.",
};
/// A request with noreply takes effect. Used instead of [`NOREPLY_SERVED`] for a server that is known not to fail.
pub const NOREPLY_DONE: Rule = Rule {
    name: "memcached/noreply-done",
    level: Level::Store,
    summary: "A valid request with `noreply` takes effect like one without it. Required only if the server is known to have enough memory (--keeps).",
};
/// A request with noreply does not fail. Used instead of [`NOREPLY_DONE`] for a server that may fail, because
/// noreply hides the error.
pub const NOREPLY_SERVED: Rule = Rule {
    name: "memcached/noreply-served",
    level: Level::Should,
    summary: "A valid request with `noreply` does not fail. A server may fail, for example for lack of memory, and `noreply` hides the error: a failure cannot be told from a lost request.",
};
/// Valid requests are not rejected.
pub const VALID_ACCEPTED: Rule = Rule {
    name: "memcached/valid-accepted",
    level: Level::Must,
    summary: "ERROR and CLIENT_ERROR are sent only in response to invalid requests.",
};
/// Responses are well-formed.
pub const WELL_FORMED: Rule = Rule {
    name: "memcached/well-formed",
    level: Level::Must,
    summary: "A response has the form that the protocol defines.",
};

/// All rules of the model.
pub const ALL: &[Rule] = &[
    GET_LATEST,
    NO_PHANTOMS,
    GONE_STAYS_GONE,
    EXPIRES,
    FLAGS_KEPT,
    CAS_STABLE,
    CAS_UNIQUE,
    CAS_CHECKED,
    CAS_GRANTED,
    ADD_CHECKED,
    REPLACE_CHECKED,
    APPEND_CHECKED,
    APPEND_TOLD,
    APPEND_KEEPS,
    STORE_LASTS,
    DELETE_REMOVES,
    DELETE_CHECKED,
    COUNT_SUMS,
    COUNT_CHECKED,
    COUNT_NUMBERS,
    COUNT_LARGE,
    TOUCH_CHECKED,
    NOREPLY_DONE,
    NOREPLY_SERVED,
    VALID_ACCEPTED,
    WELL_FORMED,
];
