//! What the model demands, by name. The clauses are those of memcached's `protocol.txt`.

use confute::lang::{Level, Rule};

/// Reads see the latest value.
pub const GET_LATEST: Rule = Rule {
    name: "memcached/get-latest",
    level: Level::Store,
    summary: "A hit carries the data that was stored last.",
};
/// Nothing comes of nothing.
pub const NO_PHANTOMS: Rule = Rule {
    name: "memcached/no-phantoms",
    level: Level::Must,
    summary: "A get of a key that holds no item (never stored, or deleted) finds none.",
};
/// What was lost is lost.
pub const GONE_STAYS_GONE: Rule = Rule {
    name: "memcached/gone-stays-gone",
    level: Level::Store,
    summary: "An item that was found missing does not come back by itself.",
};
/// Expiration is final.
pub const EXPIRES: Rule = Rule {
    name: "memcached/expires",
    level: Level::Must,
    summary: "An item cannot be retrieved after its expiration time, with slack for a clock of seconds; a negative one expires it at once.",
};
/// Flags come back.
pub const FLAGS_KEPT: Rule = Rule {
    name: "memcached/flags-kept",
    level: Level::Must,
    summary: "A hit carries the flags that were stored with the data.",
};
/// No change, no new token.
pub const CAS_STABLE: Rule = Rule {
    name: "memcached/cas-stable",
    level: Level::Must,
    summary: "The cas unique of an item stays the same while the item is not changed.",
};
/// Every change, a new token.
pub const CAS_UNIQUE: Rule = Rule {
    name: "memcached/cas-unique",
    level: Level::Must,
    summary: "A change gives the item a cas unique that it had at no earlier change.",
};
/// Tokens are compared.
pub const CAS_CHECKED: Rule = Rule {
    name: "memcached/cas-checked",
    level: Level::Must,
    summary: "A cas stores nothing unless the item's cas unique is the one given.",
};
/// A right token is taken.
pub const CAS_GRANTED: Rule = Rule {
    name: "memcached/cas-granted",
    level: Level::Must,
    summary: "A cas with the item's cas unique is not answered with EXISTS.",
};
/// Add does not replace.
pub const ADD_CHECKED: Rule = Rule {
    name: "memcached/add-checked",
    level: Level::Must,
    summary: "An add stores nothing where there is an item.",
};
/// Replace does not add.
pub const REPLACE_CHECKED: Rule = Rule {
    name: "memcached/replace-checked",
    level: Level::Must,
    summary: "A replace stores nothing where there is no item.",
};
/// Append does not add.
pub const APPEND_CHECKED: Rule = Rule {
    name: "memcached/append-checked",
    level: Level::Must,
    summary: "An append or prepend stores nothing where there is no item.",
};
/// An item that is there is there. memcached breaks it when it is short of memory.
pub const APPEND_TOLD: Rule = Rule {
    name: "memcached/append-told",
    level: Level::Should,
    summary: "An append or prepend to an item that is there is not answered with NOT_STORED, which means that nothing was stored but not because of an error: for lack of memory the answer is SERVER_ERROR.",
};
/// Append joins.
pub const APPEND_KEEPS: Rule = Rule {
    name: "memcached/append-keeps",
    level: Level::Must,
    summary: "An append or prepend keeps the data that was there, and its flags.",
};
/// Confirmed is done.
pub const STORE_LASTS: Rule = Rule {
    name: "memcached/store-lasts",
    level: Level::Store,
    summary: "A change that was confirmed is there for all later requests.",
};
/// Deleted is gone.
pub const DELETE_REMOVES: Rule = Rule {
    name: "memcached/delete-removes",
    level: Level::Must,
    summary: "A delete that was confirmed removes the item.",
};
/// Only an item can be deleted.
pub const DELETE_CHECKED: Rule = Rule {
    name: "memcached/delete-checked",
    level: Level::Must,
    summary: "A delete is confirmed only where there is an item: one item is deleted once.",
};
/// Numbers add up.
pub const COUNT_SUMS: Rule = Rule {
    name: "memcached/count-sums",
    level: Level::Must,
    summary: "An incr adds and wraps around at 64 bits, a decr subtracts and stops at 0.",
};
/// Only an item can be counted.
pub const COUNT_CHECKED: Rule = Rule {
    name: "memcached/count-checked",
    level: Level::Must,
    summary: "An incr or decr does not make an item where there is none.",
};
/// Only numbers can be counted.
pub const COUNT_NUMBERS: Rule = Rule {
    name: "memcached/count-numbers",
    level: Level::Must,
    summary: "An incr or decr of data that is no 64-bit decimal number is an error and changes nothing.",
};
/// Large numbers are numbers. memcached 1.6.18 breaks it: above 2^63 it looks for a minus sign beyond the end of the data.
pub const COUNT_LARGE: Rule = Rule {
    name: "memcached/count-large",
    level: Level::Must,
    summary: "An incr or decr takes numbers of 2^63 and more, up to 64 bits, for what they are.",
};
/// Only an item can be touched.
pub const TOUCH_CHECKED: Rule = Rule {
    name: "memcached/touch-checked",
    level: Level::Must,
    summary: "A touch is confirmed only where there is an item.",
};
/// Silence is no excuse where nothing can fail.
pub const NOREPLY_DONE: Rule = Rule {
    name: "memcached/noreply-done",
    level: Level::Store,
    summary: "A valid request with noreply is carried out like one with an answer. Asked for where the server is known to have room (--keeps).",
};
/// Elsewhere a request may fail, and noreply hides the error.
pub const NOREPLY_SERVED: Rule = Rule {
    name: "memcached/noreply-served",
    level: Level::Should,
    summary: "A valid request with noreply does not fail. A server may fail, for lack of memory say, and noreply hides the error: whether it was that or a lost request cannot be told.",
};
/// No needless errors.
pub const VALID_ACCEPTED: Rule = Rule {
    name: "memcached/valid-accepted",
    level: Level::Must,
    summary: "ERROR and CLIENT_ERROR answer only requests that are wrong.",
};
/// Answers can be read.
pub const WELL_FORMED: Rule = Rule {
    name: "memcached/well-formed",
    level: Level::Must,
    summary: "An answer has the form that the protocol gives it.",
};

/// All of them.
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
