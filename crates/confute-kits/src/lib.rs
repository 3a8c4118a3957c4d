//! The table of kits: the only place that lists the kinds of server that Confute knows.
//!
//! The command line, the catalogue of rules, replay and `confute-test` use this table. A new protocol is a
//! crate with a [`Kit`], and a line here.

mod tutorial;

use confute::check::CheckModel;
use confute::lang::Rule;
use confute_run::{Book, Explanation, Kit};

/// All kits. Protocols come before the tutorial, because testing servers is the purpose of the tool.
pub const KITS: &[&dyn Kit] = &[
    &confute_http::HttpKit,
    &confute_memcached::MemcachedKit,
    &confute_redis::RedisKit,
    &confute_rest::RestKit,
    &tutorial::Tutorial,
];

/// Returns the kit of this name.
pub fn kit(name: &str) -> Option<&'static dyn Kit> {
    KITS.iter().copied().find(|kit| kit.name() == name)
}

/// Returns the models of all kits, with their rules.
pub fn books() -> impl Iterator<Item = Book> {
    KITS.iter().flat_map(|kit| kit.books())
}

/// Returns the models of all kits that recorded files can be judged by.
pub fn check_models() -> Vec<&'static dyn CheckModel> {
    KITS.iter().flat_map(|kit| kit.check_models()).collect()
}

/// Returns the model of this name that recorded files can be judged by.
pub fn check_model(name: &str) -> Option<&'static dyn CheckModel> {
    check_models().into_iter().find(|model| model.name() == name)
}

/// Returns the rule of this name, and the model that has it.
pub fn rule(name: &str) -> Option<(Book, &'static Rule)> {
    books().find_map(|book| {
        let rule = book.rules.iter().find(|rule| rule.name == name)?;
        Some((book, rule))
    })
}

/// Returns the explanation of a rule by its standard, for rules that need more than their summary.
pub fn explain(rule: &str) -> Option<Explanation> {
    KITS.iter().find_map(|kit| kit.explain(rule))
}
