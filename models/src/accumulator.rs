//! A server that adds up the numbers it receives (the paper's Fig 8). *Teaches: the state of a server is kept
//! in cells.*
//!
//! A [`Register`] is one cell, and only a name: its content belongs to the interpreter of the model, because
//! a tester follows many possible servers at once. A turn opens the cells it needs first, and reads them
//! afterwards.

use confute::lang::{Io, Level, Register, Rule, ServerModel, Turn};

use crate::Workload;

/// Rule that a response includes the numbers received before.
pub const TOTALS: Rule = Rule {
    name: "accumulator/totals",
    level: Level::Must,
    summary: "A response is the sum of all numbers received, not the latest number alone.",
};
/// Rule that no number is lost.
pub const REMEMBERS: Rule = Rule {
    name: "accumulator/remembers",
    level: Level::Must,
    summary: "A number that is counted in one response is counted in all later responses.",
};

const SUM: Register<i64> = Register::new("sum");

/// Model of the accumulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accumulator;

impl ServerModel for Accumulator {
    type Msg = i64;
    type Out = i64;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, number) = io.recv()?;
        let sum = SUM.edit(io)?;
        let total = sum.get(io)?.unwrap_or(0).wrapping_add(*number);
        if !io.deviates(&REMEMBERS)? {
            sum.set(io, total)?;
        }
        let answer = if io.deviates(&TOTALS)? { *number } else { total };
        io.send(conn, answer)
    }

    fn rules(&self) -> &'static [Rule] {
        &[TOTALS, REMEMBERS]
    }
}

impl Workload for Accumulator {
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, _: &[i64]) -> i64 {
        1 + pick(1000).cast_signed()
    }
}
