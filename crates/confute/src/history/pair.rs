//! Pairing of completions with invocations.
//!
//! A process runs one operation at a time, and that alone determines the pairs; the effect of the operations
//! plays no part. An operation that ends in `:info` has no known end. Jepsen retires its process, but a
//! process that continues is accepted.

use rustc_hash::FxHashMap;

use super::error::HistoryError;
use super::{Entry, Operation, Phase};

#[derive(Default)]
pub(super) struct Pairs {
    /// Index of the open operation of each process.
    open: FxHashMap<u64, usize>,
    pub(super) operations: Vec<Operation>,
}

impl Pairs {
    /// Adds the entry that follows the entries in `before`.
    pub(super) fn add(&mut self, before: &[Entry], entry: &Entry) -> Result<(), HistoryError> {
        let &Entry { line, process, phase, .. } = entry;
        if phase == Phase::Invoke {
            if let Some(earlier) = self.open.insert(process, self.operations.len()) {
                let earlier = before[self.operations[earlier].invoke].line;
                return Err(HistoryError::InvokedTwice { line, process, earlier });
            }
            self.operations.push(Operation { invoke: before.len(), end: None });
            return Ok(());
        }
        let Some(operation) = self.open.remove(&process) else {
            return Err(HistoryError::NotInvoked { line, process, phase });
        };
        let operation = &mut self.operations[operation];
        let invoked = &before[operation.invoke];
        let same_key = entry.key.is_none() || invoked.key.is_none() || entry.key == invoked.key;
        if entry.f != invoked.f || !same_key {
            return Err(HistoryError::Mismatch { line, process, earlier: invoked.line });
        }
        operation.end = Some(before.len());
        Ok(())
    }
}
