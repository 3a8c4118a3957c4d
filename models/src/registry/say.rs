//! The messages of the shipped models, said briefly: for reports, not for reading back.
//!
//! Text from outside is quoted and escaped, so that no message can pass for two.

use crate::{conditional, kv, proxy, register, ticket};
use conditional::Tag;

pub(super) fn text(message: &String) -> String {
    format!("{message:?}")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "all of these take messages by reference")]
pub(super) fn number(message: &i64) -> String {
    message.to_string()
}

pub(super) fn proxy(message: &proxy::Message) -> String {
    match message {
        proxy::Message::Request(body) => format!("request {body:?}"),
        proxy::Message::Response(body) => format!("response {body:?}"),
    }
}

pub(super) fn register(message: &register::Message) -> String {
    use register::Message;
    match message {
        Message::Read => "read".to_owned(),
        Message::Write(value) => format!("write {value}"),
        Message::Cas { from, to } => format!("cas {from} to {to}"),
        Message::Value(Some(value)) => format!("value {value}"),
        Message::Value(None) => "value nil".to_owned(),
        Message::Written => "written".to_owned(),
        Message::Swapped(true) => "swapped".to_owned(),
        Message::Swapped(false) => "not swapped".to_owned(),
    }
}

pub(super) fn kv(message: &kv::Message) -> String {
    use kv::Message;
    match message {
        Message::Get(key) => format!("get {key:?}"),
        Message::Put(key, value) => format!("put {key:?} {:?}", value.to_string()),
        Message::Append(key, value) => format!("append {key:?} {:?}", value.to_string()),
        Message::Value(value) => format!("value {:?}", value.to_string()),
        Message::Done => "done".to_owned(),
    }
}

pub(super) fn conditional(message: &conditional::Message) -> String {
    use conditional::Message;
    match message {
        Message::Get { key, if_none_match: None } => format!("get {key}"),
        Message::Get { key, if_none_match: Some(held) } => format!("get {key} if-none-match {}", tag(held)),
        Message::Put { key, if_match: None, body } => format!("put {key} {body:?}"),
        Message::Put { key, if_match: Some(held), body } => {
            format!("put {key} {body:?} if-match {}", tag(held))
        }
        Message::Ok { tag: held, body } => format!("ok {body:?} tag {}", tag(held)),
        Message::NotModified => "not modified".to_owned(),
        Message::NotFound => "not found".to_owned(),
        Message::Created => "created".to_owned(),
        Message::NoContent => "replaced".to_owned(),
        Message::PreconditionFailed => "precondition failed".to_owned(),
    }
}

/// As HTTP writes it.
fn tag(tag: &Tag) -> String {
    format!("{}{:?}", if tag.weak { "W/" } else { "" }, tag.opaque)
}

pub(super) fn ticket(message: &ticket::Message) -> String {
    match message {
        ticket::Message::Take => "take".to_owned(),
        ticket::Message::Ticket(number) => format!("ticket {number}"),
    }
}
