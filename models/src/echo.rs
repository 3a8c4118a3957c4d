//! A server that sends back the messages it receives. *Teaches: a model is one turn of a loop, and a rule
//! marks a place where a server may deviate.*
//!
//! The model receives a message and sends it back. It does not mention threads, sockets or time: responses on
//! different connections overtake each other because of the network, and the derived tester takes that into
//! account.
//!
//! [`UNCHANGED`] is the model's only rule. While it is in force, `deviates` is false. Relax it, and the model
//! also describes the server that loses the text: that is how a tester finds out *which* rule was broken.

use confute::lang::{Io, Level, Rule, ServerModel, Turn};

use crate::{Word, Workload, mark};

/// Rule that a response equals its request.
pub const UNCHANGED: Rule =
    Rule { name: "echo/unchanged", level: Level::Must, summary: "A response repeats its request unchanged." };

/// Model of the echo server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo;

impl ServerModel for Echo {
    type Msg = Word;
    type Out = Word;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        if io.deviates(&UNCHANGED)? {
            return io.send(conn, "");
        }
        io.send(conn, (*message).clone())
    }

    fn rules(&self) -> &'static [Rule] {
        &[UNCHANGED]
    }
}

impl Workload for Echo {
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, _: &[Word]) -> Word {
        Word(mark(pick))
    }
}
