//! The answers to the questions of a turn: a path through its outcomes.

use smallvec::SmallVec;

/// The answer to one question of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Answer {
    pub(crate) taken: u32,
    pub(crate) options: u32,
    /// Identifier of the question, to detect turns that are not deterministic.
    pub(crate) question: u32,
}

/// The answers of one run, in the order of the questions.
pub(crate) type Path = SmallVec<[Answer; 4]>;

/// Moves to the next untried path, leaving the first `fixed` answers unchanged. Returns `false` when all were tried.
pub(crate) fn next_path(path: &mut Path, fixed: usize) -> bool {
    while path.len() > fixed {
        let last = path.len() - 1;
        if path[last].taken + 1 < path[last].options {
            path[last].taken += 1;
            return true;
        }
        path.pop();
    }
    false
}

/// Returns `true` if there are untried paths after this one.
pub(crate) fn has_more(path: &Path, fixed: usize) -> bool {
    path.iter().skip(fixed).any(|answer| answer.taken + 1 < answer.options)
}
