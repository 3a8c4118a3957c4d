//! Table of the faults. Each drops one condition under which the search prunes.
//!
//! A fault has to make some verdict wrong in principle, not only the search slower. If a change to the engine moves
//! the code of a fault, `cargo xtask faults` names the fault; if a condition is gone for good, so is its fault.

/// Test that has to notice a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Oracle {
    /// Random models, compared with the brute-force judge and the paper's figures.
    Engine,
    /// Random models with traces so long that the engine forgets their beginning.
    Long,
    /// The key-value model, compared with twins that give the search less information.
    Kv,
    /// The register with compare-and-swap, compared with twins that give the search less information.
    Register,
    /// The model of conditional requests, compared with a twin that gives the search less information.
    Conditional,
    /// The ticket model, compared with a twin that gives the search less information.
    Ticket,
    /// Traces written for the purpose.
    Litmus,
}

impl Oracle {
    pub(super) const ALL: [Oracle; 7] = [
        Oracle::Engine,
        Oracle::Long,
        Oracle::Kv,
        Oracle::Register,
        Oracle::Conditional,
        Oracle::Ticket,
        Oracle::Litmus,
    ];

    /// Returns the package, the test file and the test filter.
    pub(super) fn test(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Oracle::Engine => ("confute", "engine_vs_oracles", "engine_brute_and_figures_agree"),
            Oracle::Long => ("confute", "engine_vs_oracles", "long_traces_agree"),
            Oracle::Kv => ("confute-models", "twins", "kv_and_its_twins_agree"),
            Oracle::Register => ("confute-models", "twins", "cas_register_and_its_twins_agree"),
            Oracle::Conditional => ("confute-models", "twins", "conditional_and_its_twin_agree"),
            Oracle::Ticket => ("confute-models", "twins", "ticket_and_its_twin_agree"),
            Oracle::Litmus => ("confute-models", "litmus", "a_read_behind"),
        }
    }

    pub(super) fn folder(self) -> &'static str {
        match self {
            Oracle::Engine | Oracle::Long => "crates/confute",
            _ => "models",
        }
    }
}

/// A fault to plant.
pub(super) struct Fault {
    pub(super) name: &'static str,
    /// Condition that the fault drops.
    pub(super) drops: &'static str,
    pub(super) file: &'static str,
    /// Text to replace, which must occur in the file exactly once, blanks and line breaks aside.
    pub(super) find: &'static str,
    pub(super) put: &'static str,
    pub(super) oracle: Oracle,
    /// Minimum number of triples, if the fault needs many.
    pub(super) triples: u64,
}

const BACKTRACK: &str = "crates/confute/src/derive/backtrack.rs";
const COMPOSE: &str = "crates/confute/src/derive/compose.rs";
const FORESIGHT: &str = "crates/confute/src/derive/foresight.rs";
const HYPOTHESIS: &str = "crates/confute/src/derive/hypothesis.rs";
const INQUIRE: &str = "crates/confute/src/derive/inquire.rs";
const ORDER: &str = "crates/confute/src/derive/order.rs";
const SCENES: &str = "crates/confute/src/derive/scenes.rs";
const SETTLE: &str = "crates/confute/src/derive/settle.rs";
const ROUTE: &str = "crates/confute/src/engine/route.rs";
const ENGINE: &str = "crates/confute/src/engine/mod.rs";
const UNIFY: &str = "crates/confute/src/derive/unify.rs";

const fn fault(
    name: &'static str,
    drops: &'static str,
    file: &'static str,
    find: &'static str,
    put: &'static str,
) -> Fault {
    Fault { name, drops, file, find, put, oracle: Oracle::Engine, triples: 0 }
}

impl Fault {
    const fn for_oracle(self, oracle: Oracle) -> Self {
        Self { oracle, ..self }
    }

    /// Sets the number of triples, for a fault that needs more than others.
    const fn within(self, triples: u64) -> Self {
        Self { triples, ..self }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    // Late reads.
    fault(
        "read-at-latest-version",
        "a read is placed at the earliest version that fits, so that a pipelined successor has most room",
        FORESIGHT,
        "let passes = versions(hypothesis, index).into_iter().find_map(",
        "let passes = versions(hypothesis, index).into_iter().rev().find_map(",
    ),
    fault(
        "read-too-late-for-the-next",
        "a read is placed late because it teaches nothing there only if nothing is behind it on its connection",
        FORESIGHT,
        "Fit::Perhaps if delivery.followed.get() => Some(false),",
        "",
    ),
    fault(
        "early-read-beside-others",
        "a read is taken as soon as its answer fits only if nothing else was under way on its connection",
        FORESIGHT,
        "if !pending.delivery.alone || foot.replies != 1 || (watched && !written)",
        "if foot.replies != 1 || (watched && !written)",
    ),
    fault(
        "read-before-predecessor",
        "a late read is not placed before its predecessor on the connection",
        BACKTRACK,
        "let floor = pending.since.max(hypothesis.floor(pending.delivery.lane));",
        "let floor = pending.since;",
    ),
    fault(
        "read-before-sent",
        "a late read is not placed before it was sent",
        BACKTRACK,
        "let floor = pending.since.max(hypothesis.floor(pending.delivery.lane));",
        "let floor = hypothesis.floor(pending.delivery.lane);",
    ),
    fault(
        "two-cells-read-early",
        "a read of two cells takes place now, and its successor no earlier",
        COMPOSE,
        "if foot.cells.len() > 1 { hypothesis.turns } else { version_start(&hypothesis, cell, version) };",
        "version_start(&hypothesis, cell, version);",
    )
    .for_oracle(Oracle::Litmus),
    fault(
        "two-cells-settled-early",
        "a read of two cells that fits is not settled in passing if something was sent behind it",
        COMPOSE,
        "!pending.watched && pending.delivery.foot.cells.len() > 1 && pending.delivery.followed.get()",
        "false",
    )
    .for_oracle(Oracle::Litmus),
    fault(
        "late-reads-beside-internal",
        "reads are not placed late where they let internal turns happen again",
        ENGINE,
        "world.late.set(!world.has_internal);",
        "world.late.set(true);",
    ),
    fault(
        "late-reads-beside-whole",
        "reads are not placed late once a turn may touch anything",
        ROUTE,
        "self.world.late.set(false);",
        "",
    )
    .for_oracle(Oracle::Litmus),
    // Names of secrets.
    fault(
        "one-name-for-two-copies",
        "secrets are named after the delivery: two copies of one message make two",
        COMPOSE,
        "let cause = Cause::Delivery { sent: pending.delivery.sent, copy: pending.taken };
        let inbox = [message];",
        "let cause = Cause::Delivery { sent: pending.delivery.sent, copy: 0 };
        let inbox = [message];",
    ),
    // The fingerprint.
    fault(
        "print-without-place",
        "the fingerprint covers the place in the trace",
        HYPOTHESIS,
        "hasher.write_u64(place);",
        "",
    ),
    fault(
        "print-without-pending",
        "the fingerprint covers what is on its way to the server",
        HYPOTHESIS,
        "sum = sum.plus(pending.delivery.print);",
        "",
    ),
    fault(
        "print-without-copies",
        "the fingerprint covers how often a packet was delivered, and whether it may have passed unseen",
        HYPOTHESIS,
        "if pending.taken > 0 || pending.covered || pending.stale {",
        "if false {",
    ),
    fault(
        "print-without-out",
        "the fingerprint covers what is on its way to the tester",
        HYPOTHESIS,
        "if !self.out.is_empty() {",
        "if false {",
    ),
    fault(
        "print-without-verified",
        "where turns may send anything, the fingerprint covers also what was found to be right",
        HYPOTHESIS,
        "if !whole && matches!(item.parcel, Parcel::Verified) {",
        "if matches!(item.parcel, Parcel::Verified) {",
    ),
    fault(
        "print-without-answers",
        "the fingerprint covers the answers of a suspended turn",
        HYPOTHESIS,
        "suspended.path.hash(&mut hasher);",
        "",
    ),
    fault(
        "print-without-links",
        "the fingerprint covers the map of model to physical connections",
        HYPOTHESIS,
        "if !self.links.is_empty() {",
        "if false {",
    ),
    fault(
        "print-without-fired",
        "the fingerprint covers which internal actions have happened",
        HYPOTHESIS,
        "if !self.fired.is_empty() {",
        "if false {",
    ),
    fault(
        "print-without-facts",
        "the fingerprint covers what is known about secrets",
        HYPOTHESIS,
        "if !self.facts.is_empty() {",
        "if false {",
    ),
    fault(
        "print-without-deviations",
        "the fingerprint covers how often rules were broken",
        HYPOTHESIS,
        "u64::from(self.deviations) << 32 |",
        "",
    ),
    fault(
        "print-without-must-write",
        "the fingerprint covers that a packet is only of interest if it changes something",
        HYPOTHESIS,
        "| u64::from(self.must_write.map_or(0, |sent| sent + 1)),",
        "",
    ),
    fault(
        "print-without-unseen",
        "the fingerprint says whether the last write was looked at",
        HYPOTHESIS,
        "u8::from(self.unseen_until > place) | u8::from",
        "u8::from",
    ),
    fault(
        "print-without-versions",
        "the fingerprint covers the versions that somebody can still see",
        HYPOTHESIS,
        "if cell.past.is_some() {",
        "if false {",
    ),
    fault(
        "print-without-version-order",
        "the fingerprint covers the order of versions where a connection has several requests under way",
        HYPOTHESIS,
        "// With several deliveries on a lane the order of versions makes a difference too.
            if pipelined {",
        "if pipelined && false {",
    ),
    fault(
        "print-without-who-sees",
        "the fingerprint covers who can still see a version",
        HYPOTHESIS,
        "mask.write_u32(pending.delivery.sent);",
        "",
    ),
    fault(
        "visited-of-parts-kept",
        "what was met while parts were searched apart does not count as met once they are one",
        BACKTRACK,
        "self.front.horizon = 0;
        self.memory.visited.clear();",
        "self.front.horizon = 0;",
    ),
    // Independence.
    fault(
        "parts-not-merged",
        "a message that touches cells of two parts makes them one",
        ROUTE,
        "(Some(home), Some(theirs)) if home != theirs => Some(self.merge(home, theirs)),",
        "(Some(home), Some(theirs)) if home != theirs => Some(home),",
    ),
    fault(
        "whole-turns-apart",
        "a turn that may touch anything, or answer on others' connections, ties all parts together",
        ROUTE,
        "if foot.whole && !self.whole.is_some_and(",
        "if foot.whole && accepted && !self.whole.is_some_and(",
    ),
    fault(
        "connection-in-two-parts",
        "requests under way on one connection tie the parts of their cells together",
        ROUTE,
        "let mut home = line.part;",
        "let mut home = None;",
    ),
    fault(
        "silent-requests-forgotten",
        "a request without an answer ties its connection to its part until it is known to have arrived",
        ROUTE,
        "line.silent |= foot.replies == 0 && !foot.is_reader();",
        "",
    ),
    fault(
        "copies-searched-apart",
        "where packets are lost or doubled everything is one part",
        ENGINE,
        "if !engine.world.transport.is_reliable || engine.world.transport.is_direct {",
        "if engine.world.transport.is_direct {",
    ),
    fault(
        "influence-by-others-forgotten",
        "a packet is left out only if it shares no cell with the one in question, directly or through others",
        ORDER,
        "if conflicts || precedes {",
        "if precedes {",
    ),
    fault(
        "influence-of-lanes-forgotten",
        "a packet counts as related if it has to go before one that is",
        ORDER,
        "if conflicts || precedes {",
        "if conflicts {",
    ),
    fault(
        "influence-ignores-readers-ahead",
        "a read in front of a related write has to go first, so it is not left out",
        ORDER,
        "let leads_somewhere = (*index..pending.len()).any(|behind| {",
        "let leads_somewhere = (*index..=*index).any(|behind| {",
    ),
    // Foresight.
    fault(
        "watched-though-it-might-fit",
        "a read is watched only if no version of its cell might fit",
        FORESIGHT,
        "hypothesis.pending[index].watched = !perhaps;",
        "hypothesis.pending[index].watched = true;",
    ),
    fault(
        "covered-by-an-addition",
        "a write passes unseen only under one that overwrites",
        FORESIGHT,
        "if delivery.foot.fixed {
            for pending in &mut next.pending {",
        "if true {
            for pending in &mut next.pending {",
    ),
    fault(
        "idle-write-though-looked-at",
        "an overwritten write is left out only if nobody unanswered may have looked at it",
        FORESIGHT,
        "&& !hypothesis.pending.iter().any(|pending| touches(pending, delivery.foot.cells[0].0))",
        "",
    ),
    fault(
        "idle-write-though-answered",
        "an overwritten write is left out only if it was still unanswered when it was overwritten",
        FORESIGHT,
        "hypothesis.unseen_until > place
            && delivery.alone",
        "hypothesis.unseen_until > 0
            && delivery.alone",
    ),
    fault(
        "idle-write-after-read",
        "a write that was read is not left out",
        COMPOSE,
        "hypothesis.must_write = None;
            // The cell has been read.
            hypothesis.unseen_until = 0;",
        "hypothesis.must_write = None;",
    ),
    fault(
        "covered-though-followed",
        "a write that was overwritten unseen still came before what is behind it on its connection",
        COMPOSE,
        "if delivery.followed.get() {
            // Deliveries behind it were taken after it, but since when it has been covered",
        "if false {
            // Deliveries behind it were taken after it, but since when it has been covered",
    ),
    fault(
        "dead-though-seen",
        "a content is dead only if no read under way or yet to come can have seen it or what it grows into",
        FORESIGHT,
        "if unseen && self.is_unseen_until(",
        "if unseen || self.is_unseen_until(",
    )
    .for_oracle(Oracle::Kv),
    fault(
        "dead-after-overwriting",
        "what overwrites a dead content is not dead",
        COMPOSE,
        "next.dead_until = 0;",
        "",
    )
    .for_oracle(Oracle::Kv),
    fault(
        "outlook-without-past",
        "that an answer can never come is said only after a look at the earlier versions, too",
        FORESIGHT,
        "outlook.quiet |=
                self.effect(world, &hypothesis.pending[index].delivery, number, past.as_ref())?.matches;",
        "self.effect(world, &hypothesis.pending[index].delivery, number, past.as_ref())?;",
    ),
    fault(
        "outlook-without-others",
        "that an answer can never come is said only after a look at all that the others lead to",
        FORESIGHT,
        "return None;
                    }
                    contents.push(after);",
        "return None;
                    }
                    drop(after);",
    ),
    fault(
        "versions-dropped-beside-others",
        "what a packet has seen is told from its known answer only if nothing else was under way on its connection",
        SCENES,
        "|| !hypothesis.pending.iter().all(|pending| pending.delivery.alone)",
        "",
    )
    .for_oracle(Oracle::Long),
    fault(
        "doomed-without-past",
        "that an answer can no longer come is said only of what cannot have come at an earlier version",
        SCENES,
        "let came_earlier = foot.may_be_late()",
        "let came_earlier = false",
    )
    .for_oracle(Oracle::Conditional),
    fault(
        "doomed-without-others",
        "that an answer can no longer come is said only after a look at where all that is under way leads",
        SCENES,
        "let all = hypothesis.pending.iter().map(|pending| &pending.delivery).chain(later);",
        "let all = hypothesis.pending.iter().map(|pending| &pending.delivery).take(0).chain(later);",
    )
    .for_oracle(Oracle::Conditional),
    fault(
        "doomed-without-later",
        "that an answer can no longer come is said only after a look at what is sent before it comes",
        SCENES,
        "let all = hypothesis.pending.iter().map(|pending| &pending.delivery).chain(later);",
        "let all = hypothesis.pending.iter().map(|pending| &pending.delivery).chain(later.take(0));",
    )
    .for_oracle(Oracle::Conditional),
    fault(
        "quiet-though-it-may-change",
        "a turn that may write is placed early only if no content that can come about makes it write",
        FORESIGHT,
        "self.memory.foresight.changes.insert(delivery.sent, changes);",
        "changes = false; self.memory.foresight.changes.insert(delivery.sent, changes);",
    ),
    fault(
        "must-write-too-often",
        "that a packet changed nothing is tried before it is said that it must change something",
        ORDER,
        "self.stack.push(Node::go(at + 1, Rc::new(passed)));
                        Rc::make_mut",
        "Rc::make_mut",
    ),
    fault(
        "overtaken-by-the-first-answer",
        "an answer on its way is compared with the sight that is due to it, not with the first on its connection",
        UNIFY,
        "let ahead = hypothesis.out[..index].iter().filter(|other| other.conn == item.conn).count();",
        "let ahead = 0;",
    ),
    fault(
        "break-counted-as-answer",
        "where connections break, what was on its way then is lost and no contradiction",
        COMPOSE,
        "Some((_, Seen::Closed)) if !self.network.breaks() => return None,",
        "Some((_, Seen::Closed)) => return None,",
    ),
    // Internal turns.
    fault(
        "internal-never-again",
        "an internal action may happen again after a message touched its cells",
        COMPOSE,
        "next.fired.retain(|(action, _)| !touched.contains(action));",
        "drop(touched);",
    ),
    fault(
        "internal-again-after-any",
        "an internal action may happen again only after a message that touched its cells",
        COMPOSE,
        ".filter(|(_, cell)| *cell == u32::MAX || ran.opened.iter().any(|(open, _)| open == cell))",
        "",
    ),
    // Ends of connections, quiescence and loss.
    fault(
        "loose-packets-in-the-way",
        "what a hung-up connection left behind may be lost, and is in nobody's way",
        COMPOSE,
        "earlier.delivery.lane != lane || self.transport.loses_input || earlier.loose || earlier.taken > 0",
        "earlier.delivery.lane != lane || self.transport.loses_input || earlier.taken > 0",
    ),
    fault(
        "loose-packets-owed",
        "what an ended connection left behind may arrive before all is at rest, but need not",
        BACKTRACK,
        "taken |= world.tally.took.get() && !world.has_ended(conn, place);",
        "taken |= world.tally.took.get();",
    ),
    fault(
        "rest-with-packets-under-way",
        "all is at rest only when the server has taken what it can take",
        BACKTRACK,
        "if taken {
            return None;
        }",
        "",
    ),
    fault(
        "rest-with-answers-under-way",
        "all is at rest only when every answer was seen",
        BACKTRACK,
        "if hypothesis.out.iter().any(|item| item.taken == 0)
            || !self.memory.note",
        "if !self.memory.note",
    ),
    fault(
        "copies-after-rest",
        "spare copies are not under way after all has come to rest",
        BACKTRACK,
        "rested.pending.retain(|pending| pending.taken == 0);",
        "",
    ),
    fault(
        "answers-after-rest",
        "where packets get lost, what was under way before all came to rest is not seen after it",
        BACKTRACK,
        "rested.pending.iter_mut().for_each(|pending| pending.stale = true);",
        "",
    ),
    fault(
        "stale-after-fresh",
        "what came to rest before a packet was sent did not come after it",
        COMPOSE,
        "if !stale && self.transport.loses_input {",
        "if false {",
    ),
    // Settling.
    fault(
        "stale-after-internal",
        "what is gone since a rest does not come after an internal turn that is heard of",
        COMPOSE,
        "brood.push(Rc::new(before));
                                next.pending.retain(|pending| !pending.stale);",
        "brood.push(Rc::new(before));",
    ),
    fault(
        "versions-lost-at-settling",
        "settling keeps the versions that pending packets can still see",
        SETTLE,
        "hypothesis.tidy();",
        "hypothesis.cells.iter_mut().for_each(|cell| cell.past = None);",
    )
    .for_oracle(Oracle::Long),
    fault(
        "facts-lost-at-settling",
        "facts are forgotten only about secrets that nothing mentions",
        SETTLE,
        "value.data.secrets(&mut visit);",
        "",
    ),
    fault(
        "facts-of-messages-lost",
        "facts are kept about secrets in messages on their way",
        SETTLE,
        "message.message.vars(&mut visit);",
        "",
    ),
    fault(
        "settled-with-the-first",
        "settling keeps every alternative that is different",
        SETTLE,
        "seen.insert(hypothesis.fingerprint(0, true).0)
        });
        !self",
        "seen.insert(hypothesis.fingerprint(0, true).0) && seen.len() < 2
        });
        !self",
    )
    .for_oracle(Oracle::Long),
    fault(
        "merged-with-the-first",
        "two parts that become one keep every pair of their hypotheses",
        BACKTRACK,
        "let joined = others.iter().rev().map(",
        "let joined = others.iter().take(1).map(",
    )
    .for_oracle(Oracle::Long),
    fault(
        "joined-out-of-time",
        "what a part has settled is joined where it was settled, not before what the other has still to go through",
        BACKTRACK,
        "if early.origin.place == late.origin.place {",
        "if early.origin.place == late.origin.place || late.origin.place > 0 {",
    )
    .for_oracle(Oracle::Long),
    fault(
        "late-reads-lost-by-whole-turns",
        "reads that could be placed late are so still when a turn that may touch anything comes",
        ORDER,
        "if pending.delivery.foot.is_reader() && hypothesis.suspended.is_none() {",
        "if false {",
    )
    .for_oracle(Oracle::Long),
    fault(
        "ranking-drops-late-reads",
        "a read whose answer the present does not give is tried at earlier versions",
        ORDER,
        "if effect.matches || hypothesis.pending[index].delivery.foot.is_reader() {",
        "if effect.matches {",
    ),
    fault(
        "rest-counted-twice",
        "parts that come to rest together and are joined later have come to rest once",
        BACKTRACK,
        "later.place == earlier.place && matches!((&later.task, &earlier.task), (Task::Rest, Task::Rest))",
        "later.place == earlier.place && matches!((&later.task, &earlier.task), (Task::Rest, Task::Given(_)))",
    ),
    // Growing texts.
    fault(
        "origin-only-under-way",
        "a content is given up only if no overwriting request, under way or yet to come, leads to what is read next",
        FORESIGHT,
        "*place >= now || hypothesis.pending",
        "hypothesis.pending",
    )
    .for_oracle(Oracle::Kv),
    fault(
        "never-though-it-may-grow",
        "a read whose content may still grow into what was seen is not given up",
        INQUIRE,
        "if self.model.may_grow_into(&**message, seen) { Fit::No } else { Fit::Never }",
        "Fit::Never",
    )
    .for_oracle(Oracle::Kv),
    fault(
        "lost-without-what-comes",
        "what a later read sees may have been written by a packet that is yet to be sent",
        FORESIGHT,
        "let later = later.take_while(|entry| entry.place < answered)",
        "let later = later.take_while(|entry| entry.place < 0 * answered)",
    )
    .for_oracle(Oracle::Register),
    fault(
        "lost-without-what-is-under-way",
        "what a later read sees may have been written by a packet that is under way",
        FORESIGHT,
        "under_way.chain(later)",
        "under_way.take(0).chain(later)",
    ),
    fault(
        "rest-seen-through",
        "a packet from before a rest that acts late hides what was there from what was sent since",
        COMPOSE,
        ".for_each(|pending| pending.since = turns);",
        ".for_each(|pending| pending.since = pending.since.min(turns));",
    )
    .within(60_000),
];
