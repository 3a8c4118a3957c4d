//! Responses of the model, with unknown parts, and the facts that follow from receiving them.

use std::fmt;

use confute::knowledge::{Knowledge, Literal, Value, Var};
use confute::lang::{HasVars, Mismatch, Number, Pattern, Sym, Token};

use confute_drive::short_name;

use super::{Content, moment};
use crate::display;
use crate::message::{Answer, Command, Key, Message, ResponseLine};

/// A response as the model sends it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reply {
    pub(super) say: Say,
    /// `true` if a `SERVER_ERROR` is allowed instead: nothing was changed.
    pub(super) tolerant: bool,
    /// Evidence that the item existed when the request was sent.
    pub(super) there: Option<There>,
    /// Loss time of an item that was gone before the response was received.
    pub(super) vanished: Option<Sym<Number>>,
    /// Expiration time of the item, at most this many microseconds after the response was received.
    pub(super) expires: Option<(Sym<Number>, i64)>,
}

/// The implication that an item was found.
///
/// This fact is checked but not added to the knowledge. It contradicts only a miss that was received before
/// the request was sent, and that miss is known by now. A response received later bounds the loss time by its
/// own, later, time, so it cannot contradict this one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct There {
    /// Loss time of the item, or `None` if a deviation lets a lost item return.
    pub(super) gone: Option<Sym<Number>>,
    /// Expiration time of the item.
    pub(super) dies: Option<Sym<Number>>,
    /// Time at which the request was sent: an item that was gone by then cannot be found.
    pub(super) sent_at: u64,
}

impl There {
    fn check(&self, facts: &Knowledge) -> Result<(), Mismatch> {
        let sent = moment(self.sent_at);
        let over = |end: &Sym<Number>| facts.decide(&gone_by(end, &sent, 0)) == Some(true);
        if self.gone.iter().chain(&self.dies).any(over) { Err(Mismatch) } else { Ok(()) }
    }
}

/// The content of a response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Say {
    /// Exactly this response.
    ResponseLine(ResponseLine),
    /// An item, or a miss if the item may be gone by now. Fields that are `None` are unconstrained.
    Item {
        key: Key,
        content: Option<Content>,
        flags: Option<u32>,
        /// `true` if the response must have a `cas unique`.
        unique: bool,
        token: Option<Sym<Token>>,
        /// Loss time of the item, if it can be lost.
        gone: Option<Sym<Number>>,
    },
    /// Any item with this key.
    AnyItem(Key),
    /// This number; blanks may follow, up to this width.
    Number { number: u64, width: usize },
    /// Any error response.
    Refused,
    /// A `SERVER_ERROR`.
    Failed,
    /// Any response that is malformed for this command, regardless of the stored items.
    Garbled(Command),
}

impl Reply {
    pub(super) fn say(say: Say) -> Self {
        Self { say, tolerant: false, there: None, vanished: None, expires: None }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.say.fmt(f)?;
        if self.tolerant { f.write_str(" or SERVER_ERROR") } else { Ok(()) }
    }
}

impl fmt::Display for Say {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Say::ResponseLine(line) => line.fmt(f),
            Say::Item { key, content, flags, unique, token, gone } => {
                if f.alternate() {
                    write!(f, "VALUE {}", short_name(key))?;
                } else if let Some(content) = content {
                    let flags: &dyn fmt::Display = flags.as_ref().map_or(&"(any flags)", |flags| flags);
                    let token: &dyn fmt::Display = token.as_ref().map_or(&"(any unique)", |token| token);
                    display::value(f, key, flags, content.width(), unique.then_some(token), content)?;
                } else {
                    write!(f, "VALUE {} with any data", short_name(key))?;
                }
                if gone.is_some() { write!(f, " or {}", ResponseLine::Miss) } else { Ok(()) }
            }
            Say::AnyItem(key) => write!(f, "any VALUE {}", short_name(key)),
            Say::Number { number, .. } => write!(f, "{number}"),
            Say::Refused => f.write_str("ERROR, CLIENT_ERROR or SERVER_ERROR"),
            Say::Failed => f.write_str("SERVER_ERROR"),
            Say::Garbled(_) => f.write_str("an invalid response"),
        }
    }
}

/// Returns the literal that the item is gone at most `later` microseconds after this time.
fn gone_by(gone: &Sym<Number>, moment: &Sym<Number>, later: i64) -> Literal {
    Literal::AtMost { left: gone.term().clone(), right: moment.term().clone(), by: later }
}

impl Say {
    fn unify(&self, seen: &Answer, facts: &mut Knowledge) -> Result<(), Mismatch> {
        let fits = match (self, &seen.line) {
            (Say::ResponseLine(line), seen) => line == seen,
            (Say::Item { gone: Some(gone), .. }, ResponseLine::Miss) => {
                facts.assert(&gone_by(gone, &moment(seen.received_at), 0))?;
                true
            }
            (Say::Item { key, content, flags, unique, token, .. }, ResponseLine::Value { .. }) => {
                let ResponseLine::Value { key: seen_key, flags: seen_flags, data, unique: seen_token } =
                    &seen.line
                else {
                    return Err(Mismatch);
                };
                let fits = key == seen_key
                    && content.as_ref().is_none_or(|content| content.fits(data))
                    && flags.is_none_or(|flags| flags == *seen_flags)
                    && (!unique || seen_token.is_some());
                if !fits {
                    return Err(Mismatch);
                }
                if let (Some(token), Some(seen_token)) = (token, seen_token) {
                    token.unify(seen_token, facts)?;
                }
                true
            }
            (Say::AnyItem(key), ResponseLine::Value { key: seen, .. }) => key == seen,
            (Say::Number { number, width }, ResponseLine::Number(text)) => {
                let digits = text.trim_end_matches(' ');
                digits == number.to_string() && text.len() <= (*width).max(digits.len())
            }
            (
                Say::Refused,
                ResponseLine::Error | ResponseLine::ClientError(_) | ResponseLine::ServerError(_),
            ) => true,
            (Say::Failed, ResponseLine::ServerError(_)) => true,
            (Say::Garbled(command), seen) => !command.may_get(seen),
            _ => false,
        };
        if fits { Ok(()) } else { Err(Mismatch) }
    }

    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> ResponseLine {
        match self {
            Say::ResponseLine(line) => line.clone(),
            Say::Item { key, content, flags, unique, token, .. } => {
                let data = match content {
                    Some(Content::Exact(data)) => data.clone(),
                    Some(Content::Padded { number, .. }) => number.to_string().into(),
                    None => "never stored".into(),
                };
                let token = match token {
                    Some(token) => token.instantiate(value),
                    None => "0".into(),
                };
                ResponseLine::Value {
                    key: key.clone(),
                    flags: flags.unwrap_or(u32::MAX),
                    data,
                    unique: unique.then_some(token),
                }
            }
            Say::AnyItem(key) => {
                let unique = Some("0".into());
                ResponseLine::Value { key: key.clone(), flags: 0, data: "phantom".into(), unique }
            }
            Say::Number { number, .. } => ResponseLine::Number(number.to_string().into()),
            Say::Refused => ResponseLine::ClientError(" refused".into()),
            Say::Failed => ResponseLine::ServerError(" failed".into()),
            Say::Garbled(_) => ResponseLine::Garbage("?\r\n".into()),
        }
    }
}

impl Pattern<Message> for Reply {
    fn unify(&self, seen: &Message, facts: &mut Knowledge) -> Result<(), Mismatch> {
        let Message::Answer(answer) = seen else { return Err(Mismatch) };
        if self.tolerant && matches!(answer.line, ResponseLine::ServerError(_)) {
            return Ok(());
        }
        self.say.unify(answer, facts)?;
        if let Some(there) = &self.there
            && answer.line != ResponseLine::Miss
        {
            there.check(facts)?;
        }
        let received = moment(answer.received_at);
        if let Some(gone) = &self.vanished {
            facts.assert(&gone_by(gone, &received, 0))?;
        }
        if let Some((gone, later)) = &self.expires {
            facts.assert(&gone_by(gone, &received, *later))?;
        }
        Ok(())
    }

    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Message {
        self.say.instantiate(value).into()
    }

    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        if let Say::Item { token, gone, .. } = &self.say {
            HasVars::vars(token, visit);
            HasVars::vars(gone, visit);
        }
        if let Some(there) = &self.there {
            HasVars::vars(&there.gone, visit);
            HasVars::vars(&there.dies, visit);
        }
        self.vanished.iter().for_each(|gone| gone.vars(visit));
        self.expires.iter().for_each(|(gone, _)| gone.vars(visit));
    }
}
