//! The derive macro of `confute-service`: `#[derive(Message)]` on the enum of a protocol's messages.
//!
//! The macro only lists what the enum contains: kinds, templates, fields. The work is done by functions of `confute-service` that
//! are compiled once. See `confute_service::Message` for the attributes and for the traits that are implemented.

mod generate;
mod template;
mod variant;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives `confute_service::Message` and, unless `#[message(by_hand(…))]` names them, `Display`, `Serialize` and
/// `Deserialize`.
#[proc_macro_derive(Message, attributes(message, request, response, push, unreadable))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    generate::message(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
