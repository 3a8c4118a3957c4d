//! The paper's hand-written tester (Fig 1), for one client that waits for each response.
//!
//! It differs from the symbolic model of Fig 6 in one place, and there it is too lenient: at `GET(k,t0) ::
//! OK(t,v)` it does not compare `t` with the known facts about the tag (`is`, `is_not`, and that it is not
//! `t0`). Fig 1 then accepts traces that Fig 6 refutes. Such traces are reported as [`Word::Silent`]; the
//! model must refute them. Tags are compared by equality: there are no weak ones here.

use std::collections::BTreeMap;
use std::sync::Arc;

use confute::trace::Event;

use super::families::{GET_NOT_MODIFIED, GET_OK, PUT_DONE, PUT_FAILED};
use super::mini::Msg;

/// Result of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The figure accepts the whole trace.
    Accept,
    /// The figure calls `reject`.
    Reject,
    /// The figure accepts only because it does not compare the tag.
    Silent,
}

/// Runs `check` of Fig 1. Returns `None` if the trace is not an alternation of requests and responses of one
/// client.
pub fn check(trace: &[Event<Msg>], keys: u8) -> Option<Word> {
    let mut data = BTreeMap::<u8, i64>::new();
    let mut is = BTreeMap::<u8, Arc<str>>::new();
    let mut is_not = BTreeMap::<u8, Vec<Arc<str>>>::new();
    for pair in trace.chunks(2) {
        let (request, answer) = match pair {
            [Event::Sent(a, request), Event::Received(b, answer)] if a == b => (request, answer),
            // The last request has no response yet.
            [Event::Sent(..)] => break,
            _ => return None,
        };
        let k = request.key % keys;
        let t = request.tok.clone()?;
        let known_not = |t: &Arc<str>| is_not.get(&k).is_some_and(|not| not.contains(t));
        if answer.key != request.key || !answer.vals.is_empty() {
            return Some(Word::Reject);
        }
        match (request.op, answer.op, answer.num, &answer.tok) {
            (1, PUT_DONE, None, None) => {
                if known_not(&t) || is.get(&k).is_some_and(|is| *is != t) {
                    return Some(Word::Reject);
                }
                data.insert(k, request.num?);
                is.remove(&k);
                is_not.remove(&k);
            }
            (1, PUT_FAILED, None, None) => {
                if is.get(&k) == Some(&t) {
                    return Some(Word::Reject);
                }
                is_not.entry(k).or_default().push(t);
            }
            (0, GET_NOT_MODIFIED, None, None) => {
                if known_not(&t) || is.get(&k).is_some_and(|is| *is != t) {
                    return Some(Word::Reject);
                }
                is.insert(k, t);
            }
            (0, GET_OK, Some(v), Some(tag)) => {
                if is.get(&k) == Some(&t) || data.get(&k).is_some_and(|data| *data != v) {
                    return Some(Word::Reject);
                }
                if *tag == t || known_not(tag) || is.get(&k).is_some_and(|is| is != tag) {
                    return Some(Word::Silent);
                }
                data.insert(k, v);
                is.insert(k, Arc::clone(tag));
            }
            _ => return Some(Word::Reject),
        }
    }
    Some(Word::Accept)
}
