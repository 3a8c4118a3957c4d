//! The literal oracle of the engine's tests, which judges small histories by the semantics alone.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::type_complexity,
    clippy::cast_possible_wrap,
    clippy::unused_self,
    clippy::single_match_else,
    clippy::redundant_pub_crate,
    reason = "these files belong to the tests of the engine, which have other lints and use all of it"
)]

#[path = "../../crates/confute/tests/oracle/brute.rs"]
mod brute;
#[path = "../../crates/confute/tests/oracle/naive.rs"]
mod naive;
#[path = "../../crates/confute/tests/oracle/tree.rs"]
mod tree;

use confute::knowledge::{Knowledge, Literal, Sort, Var};
use confute::lang::{CellKey, Pattern as _, Val};
use confute::network::Tcp;
use confute::trace::Event;
use confute_models::kv::{self, Kv};
use confute_models::queue::{self, Queue};
use confute_models::register::{self, CasRegister};
use confute_models::set::{self, Set};
use confute_models::stack::{self, Stack};

use brute::Judgement;
pub(crate) use tree::Judged;

/// Maximum number of configurations that the oracle keeps at a time.
const MOST: usize = 20_000;

/// Returns `true` if the history is linearizable; `None` if that takes more configurations than allowed.
pub(crate) fn check<S: Judged>(model: &S, events: &[Event<S::M>]) -> Option<bool> {
    match brute::judge(model, &Tcp::default(), (&[], None), events, MOST) {
        Judgement::Explained => Some(true),
        Judgement::Refuted => Some(false),
        Judgement::OutOfStep | Judgement::TooMany | Judgement::Late => None,
    }
}

macro_rules! judged {
    ($($model:ty: $message:ty, $reply:ty;)+) => {$(
        impl Judged for $model {
            type M = $message;
            type O = $reply;

            fn initial(&self, _: &'static str, _: &dyn CellKey, _: &mut dyn FnMut(Sort) -> Var) -> Val {
                unreachable!("the model has no secrets")
            }
        }

        impl tree::Naked<$message> for $reply {
            fn literals(&self, seen: &$message) -> Option<Vec<Literal>> {
                // No response of these models has secrets.
                self.unify(seen, &mut Knowledge::new()).is_ok().then(Vec::new)
            }
        }
    )+};
}

judged! {
    CasRegister: register::Message, register::Message;
    Kv: kv::Message, kv::Message;
    Queue: queue::Message, queue::Message;
    Stack: stack::Message, stack::Message;
    Set: set::Message, set::Reply;
}
