//! Everything that a test of a service of one's own needs: `use confute_test::prelude::*`.

pub use confute::lang::{
    Conn, Formula, HasVars, Incoming, Io, Level, Objects, Register, Rule, ServerModel, Stop, Table, Text,
    Turn, Versions,
};
pub use confute::{plain, secrets};
pub use confute_service::{
    Draw, Expected, Field, Id, Listing, Message, Mix, Name, Read, Secret, Service, Wire, told, wire,
};

pub use confute::knowledge::Value;
pub use confute::lang::Number;

pub use crate::check::Check;
