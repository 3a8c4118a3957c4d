//! Which completion belongs to which invocation.
//!
//! A process does one operation at a time, and that alone pairs them. It does not ask what the operations mean. An
//! operation that ends in `:info` has no known end; Jepsen retires its process, but one that goes on is tolerated.

use rustc_hash::FxHashMap;

use super::error::HistoryError;
use super::{Entry, Operation, Phase};

#[derive(Default)]
pub(super) struct Pairs {
    /// By process, the index of its open operation.
    open: FxHashMap<u64, usize>,
    pub(super) operations: Vec<Operation>,
}

impl Pairs {
    /// Takes note of an entry that comes right after these.
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
