//! Formats for the record of a run: terminal text, JSON, `JUnit`, an HTML page.
//!
//! Every report is a function of a [`RunRecord`](confute_record::RunRecord) (or of one of its violations), so
//! it can be regenerated from a stored record. This crate depends on no protocol, contacts no server and
//! judges nothing.

pub mod bound;
mod experiment;
pub mod files;
mod html;
mod ladder;
pub mod lines;
mod merged;
pub mod note;
mod several;
pub mod standing;
pub mod style;
pub mod summary;
mod table;
pub mod text;
pub mod violation;
