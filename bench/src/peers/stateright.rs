//! The linearizability tester of stateright: depth-first search without a cache, designed for the short histories of
//! model checking. It has no partitions, no time limit and no settings.

use ::stateright::semantics::{ConsistencyTester as _, LinearizabilityTester, SequentialSpec};

use super::{Operation, Spec};

/// A specification as a reference object of stateright.
#[derive(Clone, Debug)]
struct Reference<S>(S);

impl<S: Spec> SequentialSpec for Reference<S> {
    type Op = S::Ask;
    type Ret = Option<S::Answer>;

    /// Called only if no response is known.
    fn invoke(&mut self, op: &S::Ask) -> Option<S::Answer> {
        self.0.step(op, None);
        None
    }

    fn is_valid_step(&mut self, op: &S::Ask, answer: &Option<S::Answer>) -> bool {
        self.0.step(op, answer.as_ref())
    }
}

/// A call or a return.
#[derive(Clone, Debug)]
pub(crate) enum Step<S: Spec> {
    Call(u32, S::Ask),
    Return(u32, S::Answer),
}

/// Converts operations into the steps that the tester observes.
pub(crate) fn prepare<S: Spec>(operations: Vec<Operation<S>>) -> Vec<Step<S>> {
    let mut steps = Vec::new();
    for operation in operations {
        steps.push((operation.call, Step::Call(operation.thread, operation.ask)));
        if let Some((end, answer)) = operation.end {
            steps.push((end, Step::Return(operation.thread, answer)));
        }
    }
    steps.sort_by_key(|(place, _)| *place);
    steps.into_iter().map(|(_, step)| step).collect()
}

/// Returns `true` if the history is linearizable.
pub(crate) fn check<S: Spec>(history: &[Step<S>]) -> Result<bool, String> {
    let mut tester = LinearizabilityTester::new(Reference(S::default()));
    for step in history {
        match step.clone() {
            Step::Call(thread, ask) => tester.on_invoke(thread, ask)?,
            Step::Return(thread, answer) => tester.on_return(thread, Some(answer))?,
        };
    }
    Ok(tester.is_consistent())
}
