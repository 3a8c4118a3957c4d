//! The rules of an origin server, in the order in which they are blamed.

mod conditions;
mod content;
mod framing;
pub mod response;
mod store;

use confute::lang::{Level, Rule};

pub use conditions::*;
pub use content::*;
pub use framing::*;
pub use response::*;
pub use store::*;

use super::RuleEntry;

/// All rules of an origin server.
pub const RULES: &[Rule] = &{
    let tables = [conditions::RULES, content::RULES, response::RULES, framing::RULES, store::RULES];
    let mut all = [const { Rule { name: "", level: Level::Must, summary: "" } }; store::END];
    let (mut table, mut row, mut place) = (0, 0, 0);
    while place < all.len() {
        if row == tables[table].len() {
            (table, row) = (table + 1, 0);
        } else {
            let Rule { name, level, summary } = tables[table][row];
            all[place] = Rule { name, level, summary };
            (row, place) = (row + 1, place + 1);
        }
    }
    all
};

/// The entries of these rules.
pub const ENTRIES: [&[RuleEntry]; 5] =
    [conditions::ENTRIES, content::ENTRIES, response::ENTRIES, framing::ENTRIES, store::ENTRIES];
