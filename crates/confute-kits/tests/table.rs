//! The table is the only list of protocols: adding one takes a crate, and a line in the table.

#![allow(clippy::unwrap_used, reason = "a panic is a failing test")]

use std::fs;
use std::path::{Path, PathBuf};

/// Collects the Rust source files below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Returns the source files outside of a kit's crate that mention the crate, except those of the testbed.
fn mentions(name: &str) -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for folder in fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap().path();
        let own = folder.file_name().unwrap().to_str().unwrap().replace('-', "_");
        if own != name && own != "testbed" && folder.join("src").is_dir() {
            sources(&folder.join("src"), &mut found);
        }
    }
    let names = |path: &PathBuf| fs::read_to_string(path).unwrap().contains(name);
    let shown = |path: PathBuf| path.strip_prefix(crates).unwrap().display().to_string();
    let mut list: Vec<String> = found.into_iter().filter(names).map(shown).collect();
    list.sort();
    list
}

#[test]
fn a_protocol_is_one_crate_and_one_line() {
    // `confute_test::memcached` is a shortcut that no other protocol needs: `Check::of` takes the subject of any kit.
    assert_eq!(mentions("confute_memcached"), ["confute-kits/src/lib.rs", "confute-test/src/check.rs"]);
    assert_eq!(mentions("confute_redis"), ["confute-kits/src/lib.rs"]);
    let table = include_str!("../src/lib.rs");
    assert_eq!(table.matches("confute_redis").count(), 1);
    assert_eq!(table.matches("confute_memcached").count(), 1);
}

#[test]
fn names_are_told_apart() {
    let names: Vec<&str> = confute_kits::KITS.iter().map(|kit| kit.name()).collect();
    let mut books: Vec<&str> = confute_kits::books().map(|book| book.name).collect();
    assert!(names.iter().all(|name| confute_kits::kit(name).is_some_and(|kit| kit.name() == *name)));
    let count = books.len();
    books.sort_unstable();
    books.dedup();
    assert_eq!(books.len(), count);
    // Every rule is found, with the first model that has it.
    for book in confute_kits::books() {
        assert!(book.rules.iter().all(|rule| confute_kits::rule(rule.name).is_some()), "{}", book.name);
    }
}
