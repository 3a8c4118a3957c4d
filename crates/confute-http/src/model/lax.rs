//! What is overlooked in an answer, because a rule is broken there.

use confute::lang::{Io, Rule, Stop};

use super::origin::Origin;
use crate::message::{Flaw, Response};
use crate::rules;

/// A set of things to overlook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Lax(u32);

macro_rules! lax {
    ($($name:ident $bit:literal;)*) => {
        impl Lax {
            $(pub(super) const $name: Lax = Lax(1 << $bit);)*
        }
    };
}

lax! {
    SURPLUS 0; CHUNKS 1; GRAMMAR 2; FRAMING 3; LAST 4; LENGTH 5; ORDER 6; OWN 7;
    NOT_MODIFIED_TAG 8; HEAD_LENGTH 9; CONTENT_RANGE 10; PART 11; ASKED 12; ONLY_GET 13; UNSATISFIABLE 14;
    ALLOW 15; CONTINUE 16; ON_MISSING 17; STAYS 18; IF_MODIFIED_SINCE 19; OPTIONS 20; CREATED 21; IS_304 22; ANSWERED 23;
}

/// Rules that any answer may break.
const WIRE: [(&Rule, Lax); 7] = [
    (&rules::ANSWERED, Lax::ANSWERED),
    (&rules::SURPLUS, Lax::SURPLUS),
    (&rules::CHUNKS, Lax::CHUNKS),
    (&rules::GRAMMAR, Lax::GRAMMAR),
    (&rules::FRAMING_FIELDS, Lax::FRAMING),
    (&rules::LAST, Lax::LAST),
    (&rules::LENGTH, Lax::LENGTH),
];

impl Lax {
    /// What is wrong with this answer on the wire.
    pub(super) fn of(io: &mut Io<'_, Origin>) -> Result<Self, Stop> {
        let mut lax = Lax::default();
        for (rule, bit) in WIRE {
            lax.also(io, rule, bit)?;
        }
        // Only where several are under way.
        lax.also(io, &rules::ORDER, Lax::ORDER)?;
        // An answer to anybody explains everything: it counts three times, so that it is blamed last.
        let own = &rules::OWN_ANSWER;
        if io.deviates(own)? && io.deviates(own)? && io.deviates(own)? {
            lax.0 |= Lax::OWN.0;
        }
        Ok(lax)
    }

    /// This too, if the rule is broken here.
    pub(super) fn also(
        &mut self,
        io: &mut Io<'_, Origin>,
        rule: &'static Rule,
        bit: Lax,
    ) -> Result<(), Stop> {
        if io.deviates(rule)? {
            self.0 |= bit.0;
        }
        Ok(())
    }

    pub(super) fn has(self, bit: Lax) -> bool {
        self.0 & bit.0 != 0
    }

    /// Whether the answer is somebody else's.
    pub(super) fn is_foreign(self, seen: &Response) -> bool {
        self.has(if seen.pipelined { Lax::ORDER } else { Lax::OWN })
    }

    /// Whether this flaw of an answer is overlooked.
    pub(super) fn forgives(self, flaw: Flaw) -> bool {
        match flaw {
            Flaw::Surplus => self.has(Lax::SURPLUS) || self.has(Lax::LENGTH),
            Flaw::Chunks => self.has(Lax::CHUNKS),
            Flaw::Grammar | Flaw::Tag => self.has(Lax::GRAMMAR),
            Flaw::Framing => self.has(Lax::FRAMING),
            Flaw::AfterClose => self.has(Lax::LAST),
            Flaw::Stalled => [Lax::ANSWERED, Lax::LENGTH, Lax::CHUNKS].into_iter().any(|bit| self.has(bit)),
        }
    }
}
