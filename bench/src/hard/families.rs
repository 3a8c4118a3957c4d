//! Families of generated histories.

use super::generate::Plan;

/// A data type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Register,
    Store,
    Queue,
    Stack,
    Set,
}

impl Kind {
    /// Returns the name of the group of families of this data type.
    pub(crate) fn group(self) -> &'static str {
        match self {
            Kind::Register => "all registers",
            Kind::Store => "all stores",
            Kind::Queue => "all queues",
            Kind::Stack => "all stacks",
            Kind::Set => "all sets",
        }
    }
}

/// Histories of one shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Shape of its histories; every second one is wrong by one operation.
    pub(crate) plan: Plan,
    /// `true` if the histories are small enough for the literal oracle.
    pub(crate) tiny: bool,
}

/// A history like the etcd logs: about 160 lines, five clients, five values, a dozen operations without an end.
const ETCD: Plan = Plan {
    clients: 5,
    operations: 85,
    values: 5,
    mix: [1, 1, 1],
    unresolved: 150,
    busy: 60,
    keys: 1,
    wrong: false,
};

const TINY: Plan = Plan { clients: 3, operations: 9, values: 3, busy: 80, ..ETCD };

const STORE: Plan = Plan { clients: 10, operations: 85, values: 0, mix: [2, 1, 1], keys: 2, ..ETCD };

const fn register(name: &'static str, plan: Plan) -> Family {
    Family { name, kind: Kind::Register, plan, tiny: false }
}

const fn store(name: &'static str, plan: Plan) -> Family {
    Family { name, kind: Kind::Store, plan, tiny: false }
}

/// A history of a queue or a stack: eight clients, a few operations without an end.
const ITEMS: Plan = Plan { clients: 8, values: 0, mix: [1, 1, 0], unresolved: 30, ..ETCD };

const fn family(name: &'static str, kind: Kind, plan: Plan) -> Family {
    Family { name, kind, plan, tiny: false }
}

/// All families; those of registers come first.
pub(crate) const FAMILIES: &[Family] = &[
    register("register/etcd", ETCD),
    register("register/crowded", Plan { clients: 10, busy: 90, ..ETCD }),
    register("register/calm", Plan { busy: 10, ..ETCD }),
    register("register/crashes", Plan { unresolved: 300, ..ETCD }),
    register("register/swaps", Plan { mix: [1, 1, 4], ..ETCD }),
    register("register/writes", Plan { mix: [1, 4, 1], ..ETCD }),
    register("register/reads", Plan { mix: [4, 1, 1], clients: 10, ..ETCD }),
    register("register/two-values", Plan { values: 2, ..ETCD }),
    register("register/twenty-values", Plan { values: 20, ..ETCD }),
    register("register/distinct", Plan { values: 0, ..ETCD }),
    store("kv/appends", STORE),
    store("kv/puts", Plan { mix: [2, 2, 0], ..STORE }),
    store("kv/one-key", Plan { keys: 1, unresolved: 50, ..STORE }),
    family("queue/mixed", Kind::Queue, ITEMS),
    family("queue/crowded", Kind::Queue, Plan { clients: 16, busy: 90, ..ITEMS }),
    family("queue/full", Kind::Queue, Plan { mix: [3, 2, 0], ..ITEMS }),
    family("queue/repeated", Kind::Queue, Plan { values: 5, ..ITEMS }),
    family("queue/crashes", Kind::Queue, Plan { unresolved: 100, ..ITEMS }),
    family("stack/mixed", Kind::Stack, ITEMS),
    family("stack/crowded", Kind::Stack, Plan { clients: 16, busy: 90, ..ITEMS }),
    family("stack/full", Kind::Stack, Plan { mix: [3, 2, 0], ..ITEMS }),
    family("stack/repeated", Kind::Stack, Plan { values: 5, ..ITEMS }),
    family("stack/crashes", Kind::Stack, Plan { unresolved: 100, ..ITEMS }),
    family("set/mixed", Kind::Set, Plan { mix: [1, 1, 1], values: 5, ..ITEMS }),
    family("set/distinct", Kind::Set, Plan { mix: [1, 1, 1], ..ITEMS }),
    Family { tiny: true, ..register("register/tiny", TINY) },
    Family { tiny: true, ..register("register/tiny-crashes", Plan { unresolved: 400, clients: 4, ..TINY }) },
    Family { tiny: true, ..family("queue/tiny", Kind::Queue, Plan { values: 0, mix: [1, 1, 0], ..TINY }) },
    Family { tiny: true, ..family("stack/tiny", Kind::Stack, Plan { values: 0, mix: [1, 1, 0], ..TINY }) },
    Family { tiny: true, ..store("kv/tiny", Plan { values: 0, mix: [1, 1, 1], ..TINY }) },
];

/// A long history of 16 clients, whose values are written once each.
pub(crate) const LONG: Plan = Plan {
    clients: 16,
    operations: 0,
    values: 0,
    mix: [1, 1, 1],
    unresolved: 0,
    busy: 60,
    keys: 1,
    wrong: false,
};

/// The data types whose growth is measured, each with its weights.
pub(crate) const GROWTH: &[(&str, Kind, [u64; 3])] = &[
    ("register", Kind::Register, [1, 1, 0]),
    ("register with cas", Kind::Register, [1, 1, 1]),
    ("queue", Kind::Queue, [1, 1, 0]),
    ("stack", Kind::Stack, [1, 1, 0]),
    ("set", Kind::Set, [1, 1, 1]),
];
