//! Testers for services of one's own.
//!
//! A tester for a new protocol needs a model of a correct server. Everything else follows from three values of this crate:
//!
//! - **Messages**: one enum with `#[derive(Message)]`, in both directions. Its fields are plain data, [`Name`]s, which belong to a
//!   case, and values that the server chose, [`Secret`]s and [`Id`]s. One type serves as the request of a script ("the token in the
//!   response to step 3"), as the message on the wire, and as the message that a model expects ([`Expected`]), because
//!   each field knows its own forms: a name is a number in a script and a text on the wire, a secret is a reference, a text or
//!   unknown.
//! - **A wire**: [`wire::lines`], [`wire::json_lines`], [`wire::frames`], [`wire::resp`], or a [`Wire`] of one's own.
//! - **Traffic**: a [`Mix`] of kinds of requests with weights.
//!
//! [`Service::at`] makes of these the [`Subject`](confute_run::Subject) that a session tests; `confute_test::service` makes a test.
//!
//! # Why one type
//!
//! Three types for a message (request, wire, expectation) would make wrong states impossible, but an author would write and name
//! each kind three times, and convert between them. The cost of one type is that a field can be in a form that does not belong to
//! its place. The places are few: [`Protocol::resolve`](confute_drive::Protocol::resolve) turns references into values, readers make
//! values only, and unknown values come from models only.
//!
//! # By hand
//!
//! Nothing here is closed. A type of one's own becomes a field with `impl Field`; `#[message(by_hand(Display))]` leaves the text of
//! reports to the author; a wire is two methods. A protocol with several responses to a request, with connections that the server
//! opens, or with its own generator implements [`Protocol`](confute_drive::Protocol) itself, and can still use the messages.

extern crate self as confute_service;

mod chosen;
mod field;
mod listing;
mod message;
mod mix;
mod name;
#[doc(hidden)]
pub mod nested;
mod outside;
mod reader;
pub mod script;
mod service;
pub mod wire;

pub use chosen::{Choice, Choosable, Chosen, Id, Reference, Secret};
pub use confute::knowledge::Knowledge;
pub use confute::lang::Mismatch;
pub use confute_derive::Message;
pub use field::{Field, Part, PartMut};
pub use listing::Listing;
pub use message::{
    Expected, Kind, Message, Piece, Role, Source, from_json, kind_of, show, texts, to_json, told,
};
pub use mix::{Draw, Mix};
pub use name::Name;
pub use outside::{Caller, Outside};
pub use reader::WireReader;
pub use service::Service;
pub use wire::{Read, Wire};

/// For the derive macro.
#[doc(hidden)]
pub use serde;
