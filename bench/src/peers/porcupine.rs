//! porcupine-rs, a port of Porcupine: the search of Wing, Gong and Lowe with a cache.
//!
//! The tool is called without a time limit and without diagnostics, which is its fastest mode: with one partition it
//! then searches on the calling thread. With several partitions it starts a thread for each, and the time of all
//! threads counts.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use porcupine_rs::{Model, check_operations};

use super::{Operation, Spec};

/// A specification as a model of porcupine-rs.
#[derive(Clone, Debug)]
pub(crate) struct Porcupine<S>(PhantomData<S>);

/// A request, and the response, if there was one.
#[derive(Clone, Debug)]
pub(crate) struct Op<S: Spec>(S::Ask, Option<S::Answer>);

impl<S: Spec> Model for Porcupine<S> {
    type State = S;
    type Op = Op<S>;
    type Metadata = ();

    fn init() -> S {
        S::default()
    }

    fn step(state: &S, op: &Op<S>) -> (bool, S) {
        let mut next = state.clone();
        (next.step(&op.0, op.1.as_ref()), next)
    }

    fn partition_operations(history: &[History<S>]) -> Vec<Vec<History<S>>> {
        let mut parts = BTreeMap::<Option<&str>, Vec<_>>::new();
        for operation in history {
            parts.entry(S::part(&operation.op.0)).or_default().push(operation.clone());
        }
        parts.into_values().collect()
    }
}

type History<S> = porcupine_rs::Operation<Porcupine<S>>;

/// Converts operations into a history of porcupine-rs.
pub(crate) fn prepare<S: Spec>(operations: Vec<Operation<S>>) -> Vec<History<S>> {
    let prepare = |operation: Operation<S>| {
        let (end, answer) = operation.end.map_or((None, None), |(end, answer)| (Some(end), Some(answer)));
        porcupine_rs::Operation {
            client_id: Some(operation.thread),
            call_time: time(operation.call),
            return_time: end.map_or(i64::MAX, time),
            op: Op(operation.ask, answer),
            metadata: None,
        }
    };
    operations.into_iter().map(prepare).collect()
}

fn time(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}

/// Returns `true` if the history is linearizable.
pub(crate) fn check<S: Spec>(history: &[History<S>]) -> bool {
    check_operations(history)
}
