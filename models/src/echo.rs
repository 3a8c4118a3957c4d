//! A server that says what it is told. *Teaches: a model is one turn of a loop, and a rule is where it may go wrong.*
//!
//! The model receives, and sends back. It says nothing about threads, sockets or time: that replies on different
//! connections overtake each other is the network's doing, and the derived tester knows about it.
//!
//! [`UNCHANGED`] is the model's only demand, by name. While it is in force, `deviates` is false. Relax it, and the
//! model also describes the server that loses the text: that is how a tester finds out *which* demand was broken.

use confute::lang::{Io, Level, Rule, ServerModel, Turn};

use crate::{Word, Workload, mark};

/// A reply is the message it answers.
pub const UNCHANGED: Rule =
    Rule { name: "echo/unchanged", level: Level::Must, summary: "A reply is the message it answers." };

/// The model.
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
