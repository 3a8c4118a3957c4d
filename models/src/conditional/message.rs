//! Messages between clients and a conditional store, plain and with secrets.

use std::fmt;
use std::sync::Arc;

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{HasVars, Mismatch, Pattern, Sym, Token};
use serde::{Deserialize, Serialize};

use super::ETag;

/// A tag with a known value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tag {
    /// `true` if the tag is weak: it promises equivalent, not identical, content.
    #[serde(default, skip_serializing_if = "is_false")]
    pub weak: bool,
    /// Opaque part of the tag: it is only compared.
    pub opaque: Arc<str>,
}

/// Printed as in HTTP.
impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", if self.weak { "W/" } else { "" }, self.opaque)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// A message on a connection: two requests and their responses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Request for the content under a key.
    Get {
        /// The key.
        key: Arc<str>,
        /// Tag of the content that the client has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        if_none_match: Option<Tag>,
    },
    /// Request to store content under a key.
    Put {
        /// The key.
        key: Arc<str>,
        /// Tag that the stored content must have.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        if_match: Option<Tag>,
        /// The new content.
        body: Arc<str>,
    },
    /// Response with the stored content.
    Ok {
        /// Tag of the content.
        tag: Tag,
        /// The content.
        body: Arc<str>,
    },
    /// Response: the content is the one with the tag of If-None-Match.
    NotModified,
    /// Response: nothing is stored under the key.
    NotFound,
    /// Response: the content was stored, and there was none before.
    Created,
    /// Response: the content was stored and replaced other content.
    NoContent,
    /// Response: the content was not stored, because the stored content has another tag or there is none.
    PreconditionFailed,
}

/// The short form omits the tags.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tag, word) = match self {
            Message::Get { key, if_none_match } => {
                write!(f, "get {key:?}")?;
                (if_none_match.as_ref(), "if-none-match")
            }
            Message::Put { key, if_match, body } => {
                write!(f, "put {key:?} {body:?}")?;
                (if_match.as_ref(), "if-match")
            }
            Message::Ok { tag, body } => {
                write!(f, "ok {body:?}")?;
                (Some(tag), "tag")
            }
            Message::NotModified => return f.write_str("not modified"),
            Message::NotFound => return f.write_str("not found"),
            Message::Created => return f.write_str("created"),
            Message::NoContent => return f.write_str("replaced"),
            Message::PreconditionFailed => return f.write_str("precondition failed"),
        };
        match tag {
            Some(tag) if !f.alternate() => write!(f, " {word} {tag}"),
            _ => Ok(()),
        }
    }
}

/// A response of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// [`Message::Ok`], with a tag and content that may be unknown.
    Ok {
        /// Tag of the content.
        tag: ETag,
        /// The content.
        body: Sym<Token>,
    },
    /// A response without secrets.
    Plain(Message),
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Ok { body, .. } if f.alternate() => write!(f, "ok {body}"),
            Reply::Ok { tag, body } => write!(f, "ok {body} tag {tag}"),
            Reply::Plain(message) => message.fmt(f),
        }
    }
}

impl From<Message> for Reply {
    fn from(message: Message) -> Self {
        Reply::Plain(message)
    }
}

impl Pattern<Message> for Reply {
    fn unify(&self, seen: &Message, facts: &mut Knowledge) -> Result<(), Mismatch> {
        match (self, seen) {
            (Reply::Ok { tag, body }, Message::Ok { tag: seen, body: content }) => {
                tag.weak.unify(&seen.weak, facts)?;
                tag.opaque.unify(&seen.opaque, facts)?;
                body.unify(content, facts)
            }
            (Reply::Plain(message), seen) if message == seen => Ok(()),
            _ => Err(Mismatch),
        }
    }

    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Message {
        match self {
            Reply::Ok { tag, body } => {
                let tag = Tag { weak: tag.weak.instantiate(value), opaque: tag.opaque.instantiate(value) };
                Message::Ok { tag, body: body.instantiate(value) }
            }
            Reply::Plain(message) => message.clone(),
        }
    }

    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        if let Reply::Ok { tag, body } = self {
            HasVars::vars(tag, visit);
            body.vars(visit);
        }
    }
}
