//! Moves: named kinds of requests and of traffic, chosen at random from tables.

use super::Pick;
use super::conditional::{ReadMove, WriteMove};

/// A table of moves. The probability of a move is its weight divided by the sum of all weights.
pub(super) type Weighted<M> = [(M, u64)];

/// Chooses one of these moves, each with the same probability.
pub(super) fn choose<M: Copy, const N: usize>(moves: &[M; N], pick: &mut Pick<'_>) -> M {
    moves[pick(N as u64) as usize]
}

/// Chooses one of these moves by weight, with a single draw.
pub(super) fn choose_weighted<M: Copy>(moves: &Weighted<M>, pick: &mut Pick<'_>) -> M {
    let mut at = pick(moves.iter().map(|(_, weight)| weight).sum());
    let chosen = moves.iter().find(|(_, weight)| {
        let is_chosen = at < *weight;
        at = at.saturating_sub(*weight);
        is_chosen
    });
    chosen.unwrap_or(&moves[0]).0
}

/// Returns the moves of a table, each as many times as its weight.
pub(super) fn repeated<M: Copy>(moves: &Weighted<M>) -> impl Iterator<Item = M> {
    moves.iter().flat_map(|(chosen, weight)| (0..*weight).map(|_| *chosen))
}

/// Takes a random move out of a deck. An empty deck is filled with `all` first, so that each move comes once before any
/// comes again.
pub(super) fn draw<M: Copy>(
    deck: &mut Vec<M>,
    all: impl Iterator<Item = M>,
    pick: &mut Pick<'_>,
) -> Option<M> {
    if deck.is_empty() {
        deck.extend(all);
    }
    let at = pick(deck.len() as u64) as usize;
    (at < deck.len()).then(|| deck.swap_remove(at))
}

/// A group of steps that are queued together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// One request after the other.
    Sequence,
    /// Several requests at once that compete for one or two resources.
    Burst,
    /// Several requests at once to create the same resource.
    Create,
    /// Several reads at once.
    Reads,
    /// Several requests on one connection without waiting for responses.
    Pipeline,
    /// Requests on half of the connections while the responses on the others are unread.
    Flood,
    /// A malformed request.
    Malformed,
    /// A request with `Connection: close`.
    Close,
    /// A request with one of the [`OTHER_METHODS`].
    OtherMethod,
    /// A request with `Expect: 100-continue`.
    Expect,
}

/// Moves of [`Manner::Mixed`](super::Manner::Mixed). Like those of busy and calm traffic they are followed by
/// [`ON_THE_WIRE`] or [`EXPECTING`].
pub(super) const MIXED: [(Move, u64); 5] =
    [(Move::Sequence, 43), (Move::Burst, 5), (Move::Create, 2), (Move::Reads, 3), (Move::Pipeline, 2)];
/// Moves of [`Manner::Busy`](super::Manner::Busy).
pub(super) const BUSY: [(Move, u64); 7] = [
    (Move::Burst, 34),
    (Move::Reads, 6),
    (Move::Pipeline, 7),
    (Move::Burst, 1),
    (Move::Create, 2),
    (Move::Reads, 3),
    (Move::Pipeline, 2),
];
/// Moves of [`Manner::Gentle`](super::Manner::Gentle).
pub(super) const GENTLE: [(Move, u64); 2] = [(Move::Sequence, 50), (Move::Malformed, 5)];
/// Moves that test the handling of messages on the wire.
pub(super) const ON_THE_WIRE: [(Move, u64); 3] =
    [(Move::Malformed, 5), (Move::Close, 2), (Move::OtherMethod, 2)];
/// Moves instead of [`ON_THE_WIRE`] while content may still be held back. The weight makes most cases that may do it do
/// it.
pub(super) const EXPECTING: [(Move, u64); 2] = [(Move::Expect, 8), (Move::OtherMethod, 1)];
/// Moves of [`Manner::Flooding`](super::Manner::Flooding).
pub(super) const FLOODING: [(Move, u64); 3] = [(Move::Flood, 61), (Move::Close, 1), (Move::OtherMethod, 2)];

/// Requests of a [`Move::Sequence`] to a resource that exists.
#[derive(Clone, Copy, Debug)]
pub(super) enum SequenceMove {
    /// A conditional write, and a read of its effect.
    Write(WriteMove),
    /// A read with a condition, of a part, or with HEAD.
    Read(ReadMove),
    /// DELETE, and conditional requests to the resource that does not exist then.
    Remove,
    /// PUT without a condition, and a read of its effect.
    Put,
}

/// Moves of a sequence without conditions. Each of the conditional ones has weight 1.
pub(super) const UNCONDITIONAL: [(SequenceMove, u64); 2] =
    [(SequenceMove::Remove, 2), (SequenceMove::Put, 3)];

impl SequenceMove {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let writes = WriteMove::ALL.into_iter().map(SequenceMove::Write);
        let reads = ReadMove::ALL.into_iter().map(SequenceMove::Read);
        writes.chain(reads).chain(repeated(&UNCONDITIONAL))
    }
}

/// The first request to a resource that does not exist.
#[derive(Clone, Copy, Debug)]
pub(super) enum FirstMove {
    Put,
    Read,
    ConditionalPut,
}

pub(super) const FIRST_MOVES: [FirstMove; 3] = [FirstMove::Put, FirstMove::Read, FirstMove::ConditionalPut];

/// A request among several that are under way at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) enum CrowdMove {
    /// A plain GET.
    Get,
    /// A read with a condition, of a part, or with HEAD.
    Read,
    /// A plain DELETE.
    Delete,
    /// A conditional write.
    Write,
    /// A write of which only the first of several may succeed.
    Race,
    /// A plain PUT.
    Put,
}

/// Requests of a burst that is a race.
pub(super) const RACE: [(CrowdMove, u64); 3] =
    [(CrowdMove::Get, 3), (CrowdMove::Read, 1), (CrowdMove::Race, 4)];
/// Requests of any other burst.
pub(super) const BURST: [(CrowdMove, u64); 5] = [
    (CrowdMove::Get, 3),
    (CrowdMove::Read, 1),
    (CrowdMove::Delete, 1),
    (CrowdMove::Write, 1),
    (CrowdMove::Put, 2),
];

/// The content of a PUT.
#[derive(Clone, Copy, Debug)]
pub(super) enum ContentMove {
    /// No content, or bytes that are not UTF-8.
    EmptyOrBinary,
    /// Content of a random length.
    AnyLength,
    /// Content of [`LONG_CONTENT`] marks.
    Long,
    /// Content of [`USUAL_CONTENT`] marks.
    Usual,
}

pub(super) const CONTENTS: [(ContentMove, u64); 4] = [
    (ContentMove::EmptyOrBinary, 1),
    (ContentMove::AnyLength, 1),
    (ContentMove::Long, 1),
    (ContentMove::Usual, 9),
];
/// Marks in long content.
pub(super) const LONG_CONTENT: usize = 40;
/// Marks in most content, so that its length mostly does not identify it.
pub(super) const USUAL_CONTENT: usize = 3;

/// OPTIONS, and methods that servers need not know.
pub(super) const OTHER_METHODS: [&str; 4] = ["OPTIONS", "OPTIONS", "POST", "PATCH"];
