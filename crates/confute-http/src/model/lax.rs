//! What is overlooked in an answer, because a rule is broken there.

use confute::lang::{Io, Rule, Stop};

use super::origin::Origin;
use crate::message::{Flaw, Msg, Response};
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
    STRAY 24; STRAY_IN_LINE 25; LATER 26; EMPTY 27; GARBLED 28; REFUSED 29;
}

/// Rules that any answer may break.
const WIRE: [(&Rule, Lax); 8] = [
    (&rules::NOT_LATER, Lax::LATER),
    (&rules::ANSWERED, Lax::ANSWERED),
    (&rules::SURPLUS, Lax::SURPLUS),
    (&rules::CHUNKS, Lax::CHUNKS),
    (&rules::GRAMMAR, Lax::GRAMMAR),
    (&rules::FRAMING_FIELDS, Lax::FRAMING),
    (&rules::LAST, Lax::LAST),
    (&rules::LENGTH, Lax::LENGTH),
];

/// Rules that are broken by an answer that is somebody else's: any, or what looks like one. Where several are under way on a
/// connection it is the first.
const FOREIGN: [(&Rule, Lax, Lax); 2] =
    [(&rules::ORDER, Lax::ORDER, Lax::STRAY_IN_LINE), (&rules::OWN_ANSWER, Lax::OWN, Lax::STRAY)];

impl Lax {
    /// What is wrong with this answer on the wire.
    pub(super) fn of(io: &mut Io<'_, Origin>) -> Result<Self, Stop> {
        let mut lax = Lax::default();
        for (rule, bit) in WIRE {
            lax.also(io, rule, bit)?;
        }
        // An answer to anybody explains everything: it counts three times, so that it is blamed last, unless it looks like one.
        for (rule, any, stray) in FOREIGN {
            if io.deviates(rule)? {
                let is_any = io.deviates(rule)?;
                if is_any && !io.deviates(rule)? {
                    // Twice is no more than once.
                    return Err(Stop::Dead);
                }
                lax.0 |= if is_any { any.0 } else { stray.0 };
            }
        }
        Ok(lax)
    }

    /// Whether a breach of this rule can show in this message: what is wrong on the wire is noted in the answer.
    pub(super) fn concerns(rule: &Rule, message: &Msg) -> bool {
        let bit = match rule.name {
            name if name == rules::ORDER.name => Lax::ORDER,
            // A wrong length need not show in the answer that has it.
            name if name == rules::LENGTH.name => return true,
            name => match WIRE.iter().find(|(rule, _)| rule.name == name) {
                Some((_, bit)) => *bit,
                None => return true,
            },
        };
        match message {
            Msg::Response(seen) if bit == Lax::ORDER => seen.pipelined,
            Msg::Response(seen) => seen.flaws.iter().any(|flaw| bit.forgives(*flaw)),
            Msg::Request(_) => false,
        }
    }

    /// This too, if the rule is broken here.
    pub(super) fn also(
        &mut self,
        io: &mut Io<'_, Origin>,
        rule: &'static Rule,
        bit: Lax,
    ) -> Result<(), Stop> {
        if io.deviates(rule)? {
            self.add(bit);
        }
        Ok(())
    }

    /// This too.
    pub(super) fn add(&mut self, bit: Lax) {
        self.0 |= bit.0;
    }

    /// The same for an answer that is its own.
    pub(super) fn own(self) -> Self {
        let foreign = FOREIGN.iter().fold(0, |bits, (_, any, stray)| bits | any.0 | stray.0);
        Lax(self.0 & !foreign)
    }

    pub(super) fn has(self, bit: Lax) -> bool {
        self.0 & bit.0 != 0
    }

    /// Whether the answer is somebody else's.
    pub(super) fn is_foreign(self, seen: &Response) -> bool {
        let (_, any, stray) = FOREIGN[usize::from(!seen.pipelined)];
        self.has(any) || (seen.notes.stray && self.has(stray))
    }

    /// Whether this flaw of an answer is overlooked.
    pub(super) fn forgives(self, flaw: Flaw) -> bool {
        match flaw {
            Flaw::Surplus => self.has(Lax::SURPLUS) || self.has(Lax::LENGTH),
            Flaw::Chunks => self.has(Lax::CHUNKS),
            Flaw::Grammar | Flaw::Tag => self.has(Lax::GRAMMAR),
            Flaw::Framing => self.has(Lax::FRAMING),
            Flaw::AfterClose => self.has(Lax::LAST),
            Flaw::Later => self.has(Lax::LATER),
            Flaw::Stalled => [Lax::ANSWERED, Lax::LENGTH, Lax::CHUNKS].into_iter().any(|bit| self.has(bit)),
        }
    }
}
