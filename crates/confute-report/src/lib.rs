//! How the record of a run looks: on a terminal, as JSON, as `JUnit`, as a page.
//!
//! Everything here is a function of a [`RunRecord`](confute_record::RunRecord) (or of one of its violations), so that a report can be made
//! again from a stored record. Nothing here knows a protocol, talks to a server or judges anything.

pub mod bound;
pub mod files;
mod html;
mod ladder;
pub mod lines;
pub mod note;
pub mod standing;
pub mod style;
pub mod summary;
pub mod text;
pub mod violation;
