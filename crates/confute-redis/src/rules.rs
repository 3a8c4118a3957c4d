//! The rules of the model, after the documentation of the commands.
//!
//! Redis promises what a command does, and that commands are performed one after the other. That a later request sees it is the
//! behaviour of a single server (level *store*): behind a proxy that reads from replicas it is not.

use confute::lang::{Level, Rule};

const fn rule(name: &'static str, level: Level, summary: &'static str) -> Rule {
    Rule { name, level, summary }
}

/// Reads see the latest write.
pub const READS_LATEST: Rule = rule(
    "redis/reads-latest",
    Level::Store,
    "GET, GETSET, LRANGE and TTL see the latest content of the key.",
);
/// Writes are kept.
pub const KEEPS_WRITES: Rule =
    rule("redis/keeps-writes", Level::Store, "What a SET or a push stored stays until a request changes it.");
/// Keys expire only after their time to live.
pub const KEEPS_UNTIL_EXPIRY: Rule = rule(
    "redis/keeps-until-expiry",
    Level::Store,
    "A key does not disappear before its time to live is over.",
);
/// Keys expire.
pub const EXPIRES: Rule =
    Rule::must("redis/expires", "A key is gone when its time to live is over by the clock of the server.");
/// Each INCR counts.
pub const INCR_ATOMIC: Rule = Rule::must(
    "redis/incr-atomic",
    "INCR adds one to the value that it finds, also if others write at the same time.",
);
/// Each APPEND counts.
pub const APPEND_ATOMIC: Rule = Rule::must(
    "redis/append-atomic",
    "APPEND adds to the string that it finds, and returns the length of the result.",
);
/// SETNX writes only where nothing is.
pub const SETNX_ONLY_NEW: Rule =
    Rule::must("redis/setnx-only-new", "SETNX stores its value only if the key does not exist.");
/// DEL removes the key.
pub const DEL_REMOVES: Rule =
    Rule::must("redis/del-removes", "DEL removes the key, and returns 1 if it existed.");
/// Wrong types are refused.
pub const WRONG_TYPE: Rule = Rule::must(
    "redis/wrong-type",
    "A command against a key of another type is a WRONGTYPE error, and changes nothing.",
);
/// Only integers are incremented.
pub const NOT_AN_INTEGER: Rule = Rule::must(
    "redis/not-an-integer",
    "INCR of a value that is no integer of 64 bits, or the largest one, is an error.",
);
/// Unusable commands are refused.
pub const BAD_COMMAND: Rule = Rule::must(
    "redis/bad-command",
    "A command with too few arguments is an error, and a transaction that has one is not executed.",
);
/// An element is popped once.
pub const POPS_ONCE: Rule = Rule::must(
    "redis/pops-once",
    "LPOP and BLPOP return an element of the list and remove it: nobody else gets it.",
);
/// Lists keep their order.
pub const LIST_ORDER: Rule = Rule::must(
    "redis/list-order",
    "RPUSH adds at the tail of a list, LPUSH at its head, and LPOP and BLPOP take from the head.",
);
/// BLPOP waits only while the list is empty.
pub const BLPOP_FINDS: Rule =
    rule("redis/blpop-finds", Level::Steady, "BLPOP returns nil only if there was no element.");
/// WATCH protects a transaction.
pub const WATCH_ABORTS: Rule =
    Rule::must("redis/watch-aborts", "EXEC executes nothing if a watched key was changed since WATCH.");
/// Transactions are executed.
pub const EXEC_RUNS: Rule =
    rule("redis/exec-runs", Level::Steady, "EXEC returns nil only if a watched key was changed or expired.");
/// Transactions are executed as a whole.
pub const EXEC_ATOMIC: Rule = Rule::must(
    "redis/exec-atomic",
    "Between the commands of a transaction no request of others is performed.",
);
/// Discarded transactions do nothing.
pub const DISCARD_DROPS: Rule =
    Rule::must("redis/discard-drops", "DISCARD drops the commands of the transaction.");

/// All rules.
pub static ALL: &[Rule] = &[
    READS_LATEST,
    KEEPS_WRITES,
    KEEPS_UNTIL_EXPIRY,
    EXPIRES,
    INCR_ATOMIC,
    APPEND_ATOMIC,
    SETNX_ONLY_NEW,
    DEL_REMOVES,
    WRONG_TYPE,
    NOT_AN_INTEGER,
    BAD_COMMAND,
    POPS_ONCE,
    LIST_ORDER,
    BLPOP_FINDS,
    WATCH_ABORTS,
    EXEC_RUNS,
    EXEC_ATOMIC,
    DISCARD_DROPS,
];
