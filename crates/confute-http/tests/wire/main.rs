//! The wire as its users see it: what is read, that nothing is lost, that cuts do not matter, and `httparse` beside it.

mod common;
mod differential;
mod fuzz;
mod properties;
mod reading;
mod steps;
