//! Explanations of the rules: the documentation behind each, and an exchange that breaks it.

use confute_run::Explanation;

use crate::rules;

struct Entry {
    rule: &'static str,
    explanation: Explanation,
}

const fn entry(
    rule: &'static str,
    clause: &'static str,
    text: &'static str,
    why: &'static str,
    example: &'static [&'static str],
    confused_with: &'static [&'static str],
) -> Entry {
    Entry { rule, explanation: Explanation { clause, text, why, example, curl: "", confused_with } }
}

/// Returns the explanation of a rule.
pub(crate) fn of(rule: &str) -> Option<Explanation> {
    ENTRIES.iter().find(|entry| entry.rule == rule).map(|entry| entry.explanation)
}

static ENTRIES: &[Entry] = &[
    entry(
        rules::READS_LATEST.name,
        "redis.io/commands/get",
        "Commands are performed one after the other, and GET returns the value of the key. So a GET that is sent after the response to \
         a SET returns what the SET stored, or what a later request made of it.",
        "A cache or a replica in front of the server answers with older values. That may be intended: allow the rule then.",
        &["A: SET k v1 → OK", "A: SET k v2 → OK", "B: GET k → v1"],
        &[rules::KEEPS_WRITES.name],
    ),
    entry(
        rules::KEEPS_WRITES.name,
        "redis.io/commands/set",
        "SET holds the value, and RPUSH and LPUSH insert theirs. A response that confirms this means that later requests see it.",
        "A write that is confirmed and lost is lost data. A server that evicts keys for want of memory loses them, too.",
        &["A: SET k v1 → OK", "A: GET k → nil"],
        &[rules::READS_LATEST.name],
    ),
    entry(
        rules::KEEPS_UNTIL_EXPIRY.name,
        "redis.io/commands/expire",
        "After the timeout has expired the key is deleted, and not before.",
        "Sessions and locks that disappear early are the usual damage.",
        &["A: SET k v → OK", "A: EXPIRE k 5000 → 1", "A: GET k → nil"],
        &[rules::KEEPS_WRITES.name],
    ),
    entry(
        rules::EXPIRES.name,
        "redis.io/commands/expire",
        "A key with a timeout is deleted when it is over. The server keeps the time of expiry by its own clock, which TIME shows: the \
         tester reads it after PEXPIRE, and again before EXISTS. A second is granted for clocks that are set.",
        "Locks that are never released, and caches that grow without end.",
        &["A: PEXPIRE k 20; TIME → 1, 100.000 s", "A: TIME; EXISTS k → 101.500 s, 1"],
        &[rules::READS_LATEST.name],
    ),
    entry(
        rules::INCR_ATOMIC.name,
        "redis.io/commands/incr",
        "INCR is one operation: no other request happens between its read and its write, so every INCR has its own result.",
        "Identifiers that are given twice, and counters that count too little.",
        &["A and B at once: INCR k", "A: → 1", "B: → 1"],
        &[rules::KEEPS_WRITES.name],
    ),
    entry(
        rules::APPEND_ATOMIC.name,
        "redis.io/commands/append",
        "APPEND adds its text to the end of the string as it is then, and returns the length of the result.",
        "Texts that are lost without an error.",
        &["A and B at once: APPEND k x", "A: → 1", "B: → 1"],
        &[rules::KEEPS_WRITES.name],
    ),
    entry(
        rules::SETNX_ONLY_NEW.name,
        "redis.io/commands/setnx",
        "SETNX stores the value and returns 1 if the key does not exist; otherwise it does nothing and returns 0.",
        "Locks are built on it: two that get 1 both hold the lock.",
        &["A and B at once: SETNX lock x", "A: → 1", "B: → 1"],
        &[],
    ),
    entry(
        rules::DEL_REMOVES.name,
        "redis.io/commands/del",
        "DEL removes the key and returns the number of keys that it removed.",
        "Data that comes back after it was deleted.",
        &["A: SET k v → OK", "A: DEL k → 1", "A: GET k → v"],
        &[rules::READS_LATEST.name],
    ),
    entry(
        rules::WRONG_TYPE.name,
        "redis.io/docs/latest/develop/data-types",
        "A command of strings against a list, or of lists against a string, is an error with the code WRONGTYPE and changes nothing. SET \
         and DEL are for keys of any type.",
        "",
        &["A: RPUSH k x → 1", "A: INCR k → 1"],
        &[],
    ),
    entry(
        rules::NOT_AN_INTEGER.name,
        "redis.io/commands/incr",
        "INCR of a string that is no integer of 64 bits is an error, and so is INCR of the largest one. Neither changes anything.",
        "A counter that begins anew at its end is worse than an error.",
        &["A: SET k 9223372036854775807 → OK", "A: INCR k → -9223372036854775808"],
        &[],
    ),
    entry(
        rules::BAD_COMMAND.name,
        "redis.io/docs/latest/develop/using-commands/transactions (errors inside a transaction)",
        "A command with too few arguments is an error at once. A transaction that contains one is not executed: EXEC returns an error \
         with the code EXECABORT.",
        "A transaction that is executed in part is none.",
        &["A: MULTI → OK", "A: SET k v → QUEUED", "A: GET → -ERR …", "A: EXEC → [OK]"],
        &[rules::EXEC_ATOMIC.name],
    ),
    entry(
        rules::POPS_ONCE.name,
        "redis.io/commands/blpop",
        "LPOP and BLPOP remove the element that they return, so it is given to one client only.",
        "Queues are built on it: a job that is given to two workers is done twice.",
        &["A and B wait: BLPOP k 0", "C: RPUSH k x → 1", "A: → [k; x]", "B: → [k; x]"],
        &[rules::LIST_ORDER.name],
    ),
    entry(
        rules::LIST_ORDER.name,
        "redis.io/commands/rpush, lpush, lpop",
        "RPUSH inserts at the tail and LPUSH at the head; LPOP and BLPOP remove the head; LRANGE lists from head to tail.",
        "",
        &["A: RPUSH k x → 1", "A: RPUSH k y → 2", "A: LPOP k → y"],
        &[rules::POPS_ONCE.name],
    ),
    entry(
        rules::BLPOP_FINDS.name,
        "redis.io/commands/blpop",
        "BLPOP waits until its list has an element, or until its timeout. Nil means that the list had none.",
        "",
        &["A: RPUSH k x → 1", "A: BLPOP k 1 → nil"],
        &[],
    ),
    entry(
        rules::WATCH_ABORTS.name,
        "redis.io/commands/watch",
        "If a watched key is changed between WATCH and EXEC, by whatever client, EXEC executes nothing and returns nil.",
        "It is how clients of Redis compare and swap: without it updates are lost.",
        &["A: WATCH k → OK", "B: SET k v2 → OK", "A: MULTI; SET k v1; EXEC → [OK]"],
        &[rules::EXEC_RUNS.name],
    ),
    entry(
        rules::EXEC_RUNS.name,
        "redis.io/commands/exec",
        "EXEC returns nil if a watched key was touched, and the results of the commands otherwise.",
        "A client tries again, so little is lost: hence the level.",
        &["A: WATCH k → OK", "A: MULTI; SET k v1; EXEC → nil"],
        &[rules::WATCH_ABORTS.name],
    ),
    entry(
        rules::EXEC_ATOMIC.name,
        "redis.io/docs/latest/develop/using-commands/transactions",
        "The commands of a transaction are performed one after the other, and no request of another client in between.",
        "",
        &["A: MULTI; GET k; GET k; EXEC → [v1; v2]", "B meanwhile: SET k v2 → OK"],
        &[rules::READS_LATEST.name],
    ),
    entry(
        rules::DISCARD_DROPS.name,
        "redis.io/commands/discard",
        "DISCARD drops all commands of the transaction.",
        "",
        &["A: MULTI; SET k v; DISCARD → OK", "A: GET k → v"],
        &[],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_explained() {
        for rule in rules::ALL {
            assert!(of(rule.name).is_some_and(|one| !one.example.is_empty()), "{}", rule.name);
        }
    }
}
