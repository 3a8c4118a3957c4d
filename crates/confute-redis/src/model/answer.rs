//! The responses that a model expects: exact ones, and those of which the documentation promises only a part.

use std::fmt::{self, Display, Formatter};

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{Mismatch, Number, Pattern, Sym};

use confute_service::Name;

use crate::message::{Batch, Redis};

/// A response as the model expects it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Exactly this.
    Is(Redis),
    /// An error with this code. The rest of its text is for people.
    Error(&'static str),
    /// An integer from zero up to this.
    UpTo(i64),
    /// A string that is none of these.
    Other(Vec<String>),
    /// Anything.
    Any,
    /// An element of the list at this key.
    Popped(Name, Box<Answer>),
    /// Several values.
    Array(Vec<Answer>),
    /// The responses of a transaction.
    Transaction(Vec<Answer>),
    /// A response, and what the server's clock shows.
    Timed(Box<Answer>, Sym<Number>),
}

impl Answer {
    /// Returns the pattern of a string, or of nothing.
    pub(crate) fn bulk(text: Option<String>) -> Self {
        Self::Is(text.map_or(Redis::Nil, Redis::Bulk))
    }

    /// Returns the pattern of an integer.
    pub(crate) fn integer(number: i64) -> Self {
        Self::Is(Redis::Integer(number))
    }

    /// Returns the pattern of a length.
    pub(crate) fn length(length: usize) -> Self {
        Self::integer(i64::try_from(length).unwrap_or(i64::MAX))
    }

    fn fits(&self, seen: &Redis) -> bool {
        let all = |parts: &[Self], seen: &Batch| {
            parts.len() == seen.0.len() && parts.iter().zip(&seen.0).all(|(part, seen)| part.fits(seen))
        };
        match (self, seen) {
            (Self::Is(message), seen) => message == seen,
            (Self::Error(code), Redis::Error(text)) => text.split(' ').next() == Some(code),
            (Self::UpTo(most), Redis::Integer(number)) => (0..=*most).contains(number),
            (Self::Other(known), Redis::Bulk(text)) => !known.contains(text),
            (Self::Popped(key, element), Redis::Popped(seen, text)) => {
                key == seen && element.fits(&Redis::Bulk(text.clone()))
            }
            (Self::Any, _) => true,
            (Self::Array(parts), Redis::Array(seen))
            | (Self::Transaction(parts), Redis::Transaction(seen)) => all(parts, seen),
            _ => false,
        }
    }

    fn example(&self) -> Redis {
        let all = |parts: &[Self]| Batch(parts.iter().map(Self::example).collect());
        match self {
            Self::Is(message) => message.clone(),
            Self::Error(code) => Redis::Error((*code).to_owned()),
            Self::UpTo(most) => Redis::Integer(*most),
            Self::Other(_) => Redis::Bulk("another".to_owned()),
            Self::Popped(key, element) => match element.example() {
                Redis::Bulk(text) => Redis::Popped(key.clone(), text),
                other => other,
            },
            Self::Any => Redis::Nil,
            Self::Timed(answer, _) => Redis::Timed(Batch(vec![answer.example()]), 0),
            Self::Array(parts) => Redis::Array(all(parts)),
            Self::Transaction(parts) => Redis::Transaction(all(parts)),
        }
    }
}

/// Returns the response to a command of a transaction.
pub(crate) fn queued() -> Answer {
    Redis::Simple("QUEUED".to_owned()).into()
}

impl Pattern<Redis> for Answer {
    fn unify(&self, seen: &Redis, facts: &mut Knowledge) -> Result<(), Mismatch> {
        if let (Self::Timed(answer, now), Redis::Timed(Batch(parts), clock)) = (self, seen) {
            let [part] = parts.as_slice() else { return Err(Mismatch) };
            return if answer.fits(part) { now.unify(clock, facts) } else { Err(Mismatch) };
        }
        if self.fits(seen) { Ok(()) } else { Err(Mismatch) }
    }

    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Redis {
        match self {
            Self::Timed(answer, now) => Redis::Timed(Batch(vec![answer.example()]), now.instantiate(value)),
            other => other.example(),
        }
    }

    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        if let Self::Timed(_, now) = self {
            now.vars(visit);
        }
    }
}

impl From<Redis> for Answer {
    fn from(message: Redis) -> Self {
        Self::Is(message)
    }
}

impl Display for Answer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(message) => message.fmt(f),
            Self::Error(code) => write!(f, "-{code} …"),
            Self::UpTo(most) => write!(f, "(0 to {most})"),
            Self::Other(_) => f.write_str("another string"),
            Self::Any => f.write_str("anything"),
            Self::Popped(key, element) => write!(f, "{key}: {element}"),
            Self::Timed(answer, _) => write!(f, "{answer} at some time"),
            // That commands are queued is expected, and no news.
            Self::Transaction(parts) if parts.iter().skip(1).rev().skip(1).all(|part| *part == queued()) => {
                parts.last().map_or(Ok(()), |last| write!(f, "{last}"))
            }
            Self::Array(parts) | Self::Transaction(parts) => {
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", parts.join("; "))
            }
        }
    }
}
