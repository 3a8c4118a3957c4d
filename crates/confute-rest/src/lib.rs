//! REST services: from an OpenAPI document, or a plan of a page, to a tester.
//!
//! A [`plan::Plan`] says what a service offers. `openapi` makes one from a document, [`outline::Outline`] prepares it,
//! `survey` corrects it by what the service does, and [`Rest`] is the protocol that the driver speaks: [`wire`] makes bytes of
//! requests and messages of bytes, [`model`] is a correct service, `traffic` decides what to send.

mod ask;
mod body;
mod build;
mod cookies;
mod explain;
mod export;
mod json;
mod kit;
mod learn;
pub mod message;
mod model;
pub mod openapi;
mod outline;
mod pages;
mod path;
pub mod plan;
mod protocol;
pub mod rules;
pub mod schema;
mod traffic;
mod wire;

pub use ask::{Ask, Condition, Ref};
pub use kit::{Description, RestKit, parse, read, service};
pub use model::{Expected, RestModel};
pub use outline::Outline;
pub use protocol::Rest;
pub use traffic::Traffic;
pub use wire::{Access, RestReader};
