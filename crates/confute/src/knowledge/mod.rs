//! What one hypothesis knows about values the server chose in secret.

mod term;

pub use term::{Literal, Sort, Term, Value, Var};
