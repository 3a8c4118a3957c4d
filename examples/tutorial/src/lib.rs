//! The models of the tutorial in GUIDE.md, one file for each step. `tests/tutorial` has the servers and the testers.

pub mod counters;
pub mod jobs;
pub mod notes;
pub mod seats;
pub mod todos;
pub mod topics;
