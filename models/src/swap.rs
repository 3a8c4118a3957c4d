//! A server that answers with what the one before said. *Teaches: answers that betray the order of requests.*
//!
//! Every answer names the request that came just before, so a tester that watches several connections must find one
//! order of all requests that explains every answer. This is the smallest model on which the search has to work.

use confute::lang::{Io, Level, Register, Rule, ServerModel, Turn};

use crate::{Word, Workload, mark};

/// What is stored can be had.
pub const KEEPS_LAST: Rule =
    Rule { name: "swap/keeps-last", level: Level::Must, summary: "A message is kept for the next who asks." };
/// The answer is older than the question.
pub const PREVIOUS: Rule = Rule {
    name: "swap/previous",
    level: Level::Must,
    summary: "The answer is the message before, not one's own.",
};

const LAST: Register<Word> = Register::new("last");

/// The model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Swap;

impl ServerModel for Swap {
    type Msg = Word;
    type Out = Word;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        let last = LAST.edit(io)?;
        let previous = last.get(io)?.unwrap_or_default();
        if !io.deviates(&KEEPS_LAST)? {
            last.set(io, (*message).clone())?;
        }
        let answer = if io.deviates(&PREVIOUS)? { (*message).clone() } else { previous };
        io.send(conn, answer)
    }

    fn rules(&self) -> &'static [Rule] {
        &[KEEPS_LAST, PREVIOUS]
    }
}

impl Workload for Swap {
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, _: &[Word]) -> Word {
        Word(mark(pick))
    }
}
