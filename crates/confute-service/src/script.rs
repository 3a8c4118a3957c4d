//! Requests of a script, for drivers of one's own: drawing them, resolving them, renumbering them.
//!
//! [`Service`](crate::Service) needs none of this. `confute_test::calls` does, which sends requests by calling functions.
//!
//! A script contains requests whose names are numbers and whose secrets are references: "the one in the response to step 3". Each is
//! resolved when it is sent.

use confute_drive::Exchange;

use crate::field::PartMut;
use crate::message::{Message, change_parts};
use crate::mix::{Draw, Mix, references};

/// Draws requests of a script from a [`Mix`].
pub struct Drawer<M> {
    mix: Mix<M>,
    marks: u64,
}

impl<M: Message> Drawer<M> {
    /// Returns a source of requests of this traffic.
    pub fn new(mix: Mix<M>) -> Self {
        Self { mix, marks: 0 }
    }

    /// Returns a random request: about the name with this number, or about any. References are to responses of the past.
    pub fn draw(
        &mut self,
        past: &[Exchange<M, M>],
        focus: Option<u32>,
        pick: &mut dyn FnMut(u64) -> u64,
    ) -> M {
        let mut draw = Draw::new(pick, self.mix.names, focus, self.marks);
        let mut request = self.mix.draw(&mut draw);
        self.marks = draw.marks();
        references::choose(&mut request, self.mix.weights, past, pick);
        request
    }

    /// Returns the number of names in a case.
    pub fn names(&self) -> u32 {
        self.mix.names
    }

    /// Returns the reason why nothing can be drawn, and the next step.
    pub fn check(&self) -> Result<(), String> {
        self.mix.check()
    }
}

/// Returns the message of a request, with the names of this case. `None` if it refers to something that was never seen.
pub fn resolved<M: Message>(request: &M, case: &str, past: &[Exchange<M, M>]) -> Option<M> {
    references::resolved(request, case, past)
}

/// Returns the names in a message.
pub fn names<M: Message>(message: &M) -> Vec<crate::Name> {
    crate::message::names(message)
}

/// Returns a request whose references to steps have the numbers that `now` returns for them.
#[must_use]
pub fn renumbered<M: Message>(request: &M, now: &dyn Fn(usize) -> usize) -> M {
    let mut request = request.clone();
    change_parts(&mut request, &mut |part| {
        if let PartMut::Choice(choice) = part {
            references::renumber(choice, now);
        }
    });
    request
}
