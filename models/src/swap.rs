//! A server that responds with the message received before. *Teaches: responses that reveal the order of
//! requests.*
//!
//! Every response contains the request that came just before, so a tester with several connections must find
//! one order of all requests that explains every response. This is the smallest model that requires a search.

use confute::lang::{Io, Level, Register, Rule, ServerModel, Turn};

use crate::{Word, Workload, mark};

/// Rule that a message is kept for the next response.
pub const KEEPS_LAST: Rule = Rule {
    name: "swap/keeps-last",
    level: Level::Must,
    summary: "Each message is sent back in the response to the next request.",
};
/// Rule that a response is the previous message, not the client's own.
pub const PREVIOUS: Rule = Rule {
    name: "swap/previous",
    level: Level::Must,
    summary: "A response is the previous message, not the request itself.",
};

const LAST: Register<Word> = Register::new("last");

/// Model of the swap server.
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
