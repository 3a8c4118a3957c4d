//! The table of rules: every requirement of the models, with its level, its clause and its deviations.
//!
//! [`origin`] lists the rules of an origin server, [`gateway`] those of a gateway. An entry contains everything about a
//! rule except for two things: the code of its deviation (`model::deviations`, `proxy::deviations`; a rule with a
//! [`ResponseCheck`] needs none), and the bug of the embedded server that breaks it.
//!
//! A rule that is a special case of another comes before it: if several rules explain a trace equally well, the first
//! is named.
//!
//! *Must* and *should* are the standard's own words; *must* includes the definitions of statuses. *Store* is the
//! behaviour that is expected of a store with one copy, or of a gateway, though no standard requires it. *Steady* is
//! behaviour that correct servers may lack: serving every request, and validators that change only with the content.
//! Violations of *live* rules show only by waiting.

pub mod gateway;
pub mod origin;
mod set;

use confute::lang::Rule;
use confute_run::Explanation;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use confute_http1::RawResponse;

pub use origin::*;
pub(crate) use set::RuleSet;

/// An entry of the table.
#[derive(Debug)]
pub struct RuleEntry {
    /// Name of the rule.
    pub name: &'static str,
    /// Text that `confute explain` prints.
    pub explanation: Explanation,
    /// Behaviour that the model permits if the rule is relaxed.
    pub deviations: &'static [Deviation],
    /// Property of a response that breaks the rule by itself, if there is one.
    pub check: Option<&'static ResponseCheck>,
}

/// Property of a response of an origin server that breaks a rule, whatever was requested.
#[derive(Debug)]
pub struct ResponseCheck {
    /// Description of the property, shown beside the response.
    pub shows: &'static str,
    /// Returns `true` if a response has the property.
    pub breaks: fn(&RawResponse) -> bool,
    /// Python expression over `response` that is true where `breaks` is, for exported scripts (`export/reproduce.py`).
    pub python: &'static str,
}

/// A rule with a [`ResponseCheck`], broken by a response. Its serialized form is the name of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Broken(&'static str);

impl Broken {
    /// Returns the broken rule of this name, if it has a check.
    pub fn named(name: &str) -> Option<Self> {
        entry(name).filter(|entry| entry.check.is_some()).map(|entry| Self(entry.name))
    }

    /// Returns the name of the rule.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Returns the check of the rule.
    pub fn check(self) -> &'static ResponseCheck {
        entry(self.0).and_then(|entry| entry.check).expect("`named` has found it")
    }
}

impl<'de> Deserialize<'de> for Broken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        // Earlier revisions wrote `later`.
        let named = Self::named(if name == "later" { NOT_LATER.name } else { &name });
        named.ok_or_else(|| D::Error::custom(format!("no single response breaks a rule named {name}")))
    }
}

/// Behaviour of a server that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// Part of the turn in which it happens.
    pub bites: Bite,
    /// Number of deviations that it counts as in blame, which prefers rule sets with fewer deviations.
    pub times: u32,
    /// Description of the behaviour, or of the tolerated response.
    pub instead: &'static str,
    /// Reason for the count; empty if it counts once.
    pub because: &'static str,
}

/// The part of a turn in which a deviation happens. A circumstance under which a deviation counts more is a part of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bite {
    /// Before the method matters.
    Admission,
    /// The content of a request is read.
    Content,
    /// A write is refused.
    Refusal,
    /// The outcome of a write is left open.
    Open,
    /// A request finds what open writes have done.
    CatchUp,
    /// A write finds out whether there is anything.
    Presence,
    /// A read selects what to send.
    Selection,
    /// A read selects what was put by the tester.
    SelectionOfPut,
    /// A condition is evaluated.
    Conditions,
    /// If-Range is evaluated.
    IfRange,
    /// It is decided whether a write is performed.
    Decision,
    /// A PUT is performed.
    Put,
    /// A PUT is performed, and a read meanwhile saw content that nobody put.
    PutSeenTorn,
    /// A DELETE is performed.
    Delete,
    /// A response is judged.
    Response,
    /// A response is judged that looks like one to another request.
    StrayResponse,
    /// Any response is judged as one to another request.
    AnyResponse,
    /// The content of a response with a strong tag is judged.
    AnyContent,
    /// A response is judged that comes behind the one to a request.
    Behind,
    /// A response is judged that comes behind the one to a request with content.
    BehindContent,
    /// A gateway receives a request of a client.
    Request,
    /// A gateway receives a response of the origin, or none.
    Answer,
    /// A gateway passes on any message: decided once for the whole trace.
    Habit,
}

/// Returns the number of deviations that breaking this rule in this part of a turn counts as.
pub(crate) fn times(rule: &Rule, bites: Bite) -> u32 {
    let deviations = entry(rule.name).map_or(&[][..], |entry| entry.deviations);
    let deviation = deviations.iter().find(|one| one.bites == bites);
    debug_assert!(deviation.is_some(), "the table lists no deviation from {} in {bites:?}", rule.name);
    deviation.map_or(1, |one| one.times)
}

/// All rules, of origin servers and of gateways.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    origin::RULES.iter().chain(gateway::RULES)
}

fn entries() -> impl Iterator<Item = &'static RuleEntry> {
    origin::ENTRIES.into_iter().flatten().chain(gateway::ENTRIES)
}

/// Returns the entry of the rule of this name.
pub fn entry(name: &str) -> Option<&'static RuleEntry> {
    entries().find(|entry| entry.name == name)
}

/// Returns the rules that this response of an origin server breaks by itself.
pub(crate) fn broken_by(response: &RawResponse) -> impl Iterator<Item = Broken> {
    let is_broken = |entry: &&RuleEntry| entry.check.is_some_and(|check| (check.breaks)(response));
    origin::response::ENTRIES.iter().filter(is_broken).map(|entry| Broken(entry.name))
}

/// Returns the clause of the standard for the rule of this name, if there is one.
pub fn clause(name: &str) -> Option<&'static str> {
    entry(name).map(|entry| entry.explanation.clause).filter(|clause| !clause.is_empty())
}

/// Makes constants, sets and entries of a table of rules. The first number is the place of its first rule in a [`RuleSet`].
macro_rules! rules {
    ($first:expr; $($constant:ident $name:literal $level:ident $clause:literal {
        summary: $summary:literal,
        text: $text:literal,
        why: $why:literal,
        example: [$($line:literal),+ $(,)?],
        curl: $curl:literal,
        confused_with: [$($other:literal),* $(,)?],
        deviations: [$($bites:ident $times:literal $instead:literal $($because:literal)?),+ $(,)?],
        $(check: $check:expr,)?
    })*) => {
        $(
            #[doc = $summary]
            pub const $constant: confute::lang::Rule =
                confute::lang::Rule { name: $name, level: confute::lang::Level::$level, summary: $summary };
        )*
        /// All of them.
        pub(crate) const RULES: &[confute::lang::Rule] = &[$($constant),*];
        /// The entries of the table.
        pub(crate) const ENTRIES: &[crate::rules::RuleEntry] = &[$(crate::rules::RuleEntry {
            name: $name,
            explanation: confute_run::Explanation {
                clause: $clause,
                text: $text,
                why: $why,
                example: &[$($line),+],
                curl: $curl,
                confused_with: &[$($other),*],
            },
            deviations: &[$(crate::rules::Deviation {
                bites: crate::rules::Bite::$bites,
                times: $times,
                instead: $instead,
                because: concat!("" $(, $because)?),
            }),+],
            check: <[crate::rules::ResponseCheck]>::first(&[$($check)?]),
        }),*];
        /// Place after the last rule.
        #[allow(dead_code)]
        pub(crate) const END: usize = $first + RULES.len();
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Place { $($constant),* }
        #[allow(dead_code)]
        impl crate::rules::RuleSet {
            $(pub(crate) const $constant: crate::rules::RuleSet =
                crate::rules::RuleSet::nth($first + Place::$constant as usize);)*
        }
    };
}
use rules;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own_and_an_explanation() {
        let names: BTreeSet<_> = all().map(|rule| rule.name).collect();
        assert_eq!(names.len(), all().count());
        for rule in all() {
            let explanation = entry(rule.name).unwrap().explanation;
            let is_standard = rule.name.starts_with("rfc");
            assert!(!is_standard || !explanation.clause.is_empty(), "{}", rule.name);
            if let Some(section) = rule.name.strip_prefix("rfc").and_then(|name| name.split_once('-')) {
                let (rfc, section) = (section.0, section.1.split('/').next().unwrap());
                assert!(explanation.clause.starts_with(&format!("RFC {rfc}, {section}")), "{}", rule.name);
            }
        }
        assert!(entry("no/such-rule").is_none());
    }

    #[test]
    fn every_explanation_can_be_followed() {
        for rule in all() {
            let Explanation { why, example, curl, confused_with, .. } = entry(rule.name).unwrap().explanation;
            assert!(rule.summary.ends_with('.') && why.ends_with('.'), "{}", rule.name);
            assert!(
                example.len() == 1 || example.iter().any(|line| line.starts_with(['>', '<'])),
                "{}",
                rule.name
            );
            assert!(
                ["curl", "printf", "nc ", "for "].iter().any(|tool| curl.starts_with(tool)),
                "{}",
                rule.name
            );
            assert!(!confused_with.is_empty(), "{}", rule.name);
            for other in confused_with {
                assert!(*other != rule.name && entry(other).is_some(), "{}: {other}", rule.name);
            }
        }
    }

    #[test]
    fn every_rule_has_a_deviation_and_every_weight_a_reason() {
        for rule in all() {
            let deviations = entry(rule.name).unwrap().deviations;
            assert!(!deviations.is_empty(), "{}", rule.name);
            for (place, one) in deviations.iter().enumerate() {
                assert!(one.times == 1 || !one.because.is_empty(), "{}: {}", rule.name, one.instead);
                let is_once = deviations[..place].iter().all(|other| other.bites != one.bites);
                assert!(is_once, "{}: {}", rule.name, one.instead);
            }
        }
    }
}
