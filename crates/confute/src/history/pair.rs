//! Pairing of completions with invocations.
//!
//! A process runs one operation at a time, and that alone determines the pairs; the effect of the operations
//! plays no part. An operation that ends in `:info` has no known end. Jepsen retires its process, but a
//! process that continues is accepted.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::error::HistoryError;
use super::{Edn, Entry, Phase};

/// The operations that are open.
#[derive(Default)]
pub(super) struct Pairs {
    open: FxHashMap<u64, Invocation>,
    /// Number of operations so far.
    count: usize,
}

struct Invocation {
    operation: usize,
    line: usize,
    f: Arc<str>,
    key: Option<Edn>,
}

impl Pairs {
    /// Adds the next entry. Returns the number of the operation that it invokes or completes, from 0.
    pub(super) fn add(&mut self, entry: &Entry) -> Result<usize, HistoryError> {
        let &Entry { line, process, phase, .. } = entry;
        if phase == Phase::Invoke {
            let (f, key) = (Arc::clone(&entry.f), entry.key.clone());
            let invocation = Invocation { operation: self.count, line, f, key };
            self.count += 1;
            return match self.open.insert(process, invocation) {
                Some(earlier) => Err(HistoryError::InvokedTwice { line, process, earlier: earlier.line }),
                None => Ok(self.count - 1),
            };
        }
        let Some(invoked) = self.open.remove(&process) else {
            return Err(HistoryError::NotInvoked { line, process, phase });
        };
        let same_key = entry.key.is_none() || invoked.key.is_none() || entry.key == invoked.key;
        if entry.f != invoked.f || !same_key {
            return Err(HistoryError::Mismatch { line, process, earlier: invoked.line });
        }
        Ok(invoked.operation)
    }
}
