//! For each rule, the smallest trace that violates it and is blamed on it, and the most similar one that does not.

mod changes;
mod reads;
mod tokens;
mod trace;

use confute_memcached::rules;

#[test]
fn every_rule_has_a_name_of_its_own() {
    let mut names: Vec<_> = rules::ALL.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), rules::ALL.len());
    assert!(names.iter().all(|name| name.starts_with("memcached/")));
}
