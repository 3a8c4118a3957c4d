//! The table of kits: the only place that lists the kinds of server that Confute knows.
//!
//! The command line, the catalogue of rules, replay and `confute-test` go through it. A new protocol is a crate with a
//! [`Kit`], and a line here.

mod tutorial;

use confute::lang::Rule;
use confute_run::{Book, Explanation, Kit};

/// Every kit, those of protocols first: they are what the tool is for.
pub const KITS: &[&dyn Kit] =
    &[&confute_http::HttpKit, &confute_memcached::MemcachedKit, &tutorial::Tutorial];

/// The kit of this name.
pub fn kit(name: &str) -> Option<&'static dyn Kit> {
    KITS.iter().copied().find(|kit| kit.name() == name)
}

/// The models of all kits, with their rules.
pub fn books() -> impl Iterator<Item = Book> {
    KITS.iter().flat_map(|kit| kit.books())
}

/// The rule of this name, and the model that has it.
pub fn rule(name: &str) -> Option<(Book, &'static Rule)> {
    books().find_map(|book| {
        let rule = book.rules.iter().find(|rule| rule.name == name)?;
        Some((book, rule))
    })
}

/// What the standard says about a rule, where there is more to say than its summary.
pub fn explain(rule: &str) -> Option<Explanation> {
    KITS.iter().find_map(|kit| kit.explain(rule))
}
