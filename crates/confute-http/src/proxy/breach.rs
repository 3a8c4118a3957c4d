//! What is wrong with a message that was passed on, as a set; each member is a rule that is broken.

use confute::lang::Rule;

use super::rules;

/// A set of broken rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Breach(u64);

confute::plain!(Breach);

macro_rules! breaches {
    ($($name:ident $bit:literal $rule:expr;)*) => {
        impl Breach {
            $(pub(super) const $name: Breach = Breach(1 << $bit);)*
        }

        /// What each is called.
        pub(super) const NAMES: &[(Breach, &Rule)] = &[$((Breach::$name, &$rule)),*];
    };
}

breaches! {
    NAMED 0 rules::NAMED;
    CONNECTION 1 rules::CONNECTION;
    KNOWN 2 rules::KNOWN;
    VIA 3 rules::VIA;
    FORWARDS 4 rules::FORWARDS;
    ZERO 5 rules::FORWARDS_ZERO;
    CONDITIONS 6 rules::CONDITIONS;
    HOST 7 rules::HOST;
    GRAMMAR 8 rules::FORWARDED_GRAMMAR;
    TARGET 9 rules::TARGET;
    METHOD 10 rules::METHOD;
    CONTENT 11 rules::REQUEST_CONTENT;
    FIELDS 12 rules::REQUEST_FIELDS;
    TRANSFORMED 13 rules::NO_TRANSFORM;
    STATUS 14 rules::STATUS;
    ANSWER_FIELDS 15 rules::RESPONSE_FIELDS;
    FAILURE 16 rules::FAILURE_TOLD;
    OWN 17 crate::rules::OWN_ANSWER;
    SURPLUS 18 crate::rules::SURPLUS;
    CHUNKS 19 crate::rules::CHUNKS;
    ANSWER_GRAMMAR 20 crate::rules::GRAMMAR;
    FRAMING 21 crate::rules::FRAMING_FIELDS;
    LAST 22 crate::rules::LAST;
    STORED 23 rules::NO_STORE;
    NEEDLESS 24 rules::FORWARDED;
    ONCE 25 rules::ONCE;
    INVENTED 26 rules::NOTHING_INVENTED;
    RETRY 27 rules::RETRY;
    SILENT 28 rules::ANSWERED;
    ORDER 29 crate::rules::ORDER;
    LENGTH 30 crate::rules::LENGTH;
    INTERIM 31 rules::INTERIM_FORWARDED;
    STARTLED 32 rules::INTERIM;
    MERGED 33 rules::TRAILERS_APART;
    PORT 34 rules::PORT;
    DROPPED 35 rules::FIELDS_FORWARDED;
    TRAILERS 36 rules::TRAILERS_DECODED;
    UNASKED 37 rules::UNASKED_TRAILERS;
}

impl Breach {
    /// Not about how something is passed on, but about whether.
    pub(super) const LAPSES: [Breach; 5] =
        [Breach::STORED, Breach::NEEDLESS, Breach::ONCE, Breach::INVENTED, Breach::SILENT];

    /// With this too, if so.
    pub(super) fn add(&mut self, other: Breach, is_so: bool) {
        if is_so {
            self.0 |= other.0;
        }
    }

    pub(super) fn has(self, other: Breach) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether all of it is in another set.
    pub(super) fn within(self, other: Breach) -> bool {
        self.0 & !other.0 == 0
    }
}
