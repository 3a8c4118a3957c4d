//! Expected responses as text, for the alternatives listed in a report. The alternate form has the statuses only.

use std::fmt::{self, Display, Formatter};

use confute::knowledge::Knowledge;

use super::condition::{RangeApplies, Truth};
use super::deviations::Instead;
use super::entry::Entry;
use super::expected::{ExpectedResponse, Kind, Put, Read};
use crate::display::clock;

impl Display for ExpectedResponse {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(instead) = self.deviance.as_ref().and_then(|deviance| deviance.instead.as_ref()) {
            return Display::fmt(instead, f);
        }
        if f.alternate()
            && let Some(statuses) = self.kind.statuses()
        {
            return f.write_str(statuses);
        }
        match &*self.kind {
            Kind::Read(read) => Display::fmt(read, f),
            Kind::Put(Put { created: true, entry, .. }) => {
                write!(f, "201 (validators, if sent: {})", Validators(entry))
            }
            Kind::Put(Put { entry, .. }) => {
                write!(f, "200 or 204 (validators, if sent: {})", Validators(entry))
            }
            Kind::Kept { current, body: Some(body) } if current.body.value(&Knowledge::new()).is_none() => {
                write!(
                    f,
                    "412 or another error; 2xx only if the content {} is {body:?} already",
                    current.body
                )
            }
            Kind::Kept { current, body: Some(body) }
                if current.body.value(&Knowledge::new()).is_some_and(|known| known == *body) =>
            {
                f.write_str("412 or another error; 2xx, since the content is what the request puts")
            }
            Kind::Kept { .. } => f.write_str("412 or another error"),
            Kind::Failed => f.write_str("412"),
            Kind::Removed { .. } => f.write_str("2xx or 303"),
            Kind::Missing { may_fail: false } => f.write_str("404, 410 or 2xx"),
            Kind::Missing { may_fail: true } => f.write_str("404, 410, 412 or 2xx"),
            Kind::Bad => f.write_str("400"),
            Kind::Rejected => f.write_str("an error"),
            Kind::Status([one, two]) => write!(f, "{one} or {two}"),
            Kind::Open { failed: false } => f.write_str("202 (performed later, or never)"),
            Kind::Open { .. } => f.write_str("202 or 5xx (performed later, or never)"),
            Kind::Untold => f.write_str("anything: too many writes were left open"),
            Kind::Options => f.write_str("whatever OPTIONS says, but neither 304 nor 412"),
            Kind::Other { changes: true } => f.write_str("anything but 4xx"),
            Kind::Other { changes: false } => f.write_str("4xx or 501"),
            Kind::Never => f.write_str("nothing"),
        }
    }
}

impl Display for Instead {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Instead::Torn { .. } | Instead::Stage { .. } if f.alternate() => f.write_str("200"),
            Instead::Torn { body, .. } => write!(f, "200 with content other than {body}"),
            Instead::Stage { body } => write!(f, "200 with some stage of {body:?}"),
            Instead::Refused { is_write: true, .. } if !f.alternate() => {
                f.write_str("a refusal, after which the write is not performed")
            }
            Instead::Refused { .. } => f.write_str("a refusal"),
        }
    }
}

impl Kind {
    /// Returns the statuses, if the long form has more than these.
    fn statuses(&self) -> Option<&'static str> {
        Some(match self {
            Kind::Put(Put { created: true, .. }) => "201",
            Kind::Put(_) => "200 or 204",
            Kind::Kept { .. } => "412 or another error",
            Kind::Open { failed: false } => "202",
            Kind::Open { .. } => "202 or 5xx",
            Kind::Untold | Kind::Options => "anything",
            _ => return None,
        })
    }
}

/// Displays the validators of an entry. The engine replaces those that are known by then, in the text: a date is a number
/// of seconds.
struct Validators<'a>(&'a Entry);

impl Display for Validators<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ETag: {}, date {}", self.0.tag.opaque, self.0.modified)
    }
}

impl Display for Read {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Read { entry, conditions, .. } = self;
        if entry.present == Entry::gone().present {
            return f.write_str("404 or 410");
        }
        if entry.present.value(&Knowledge::new()).is_none() {
            f.write_str("404, or, if there is anything, ")?;
        }
        match conditions.if_match {
            Some(Truth::No) => return f.write_str("412 or another error"),
            Some(Truth::IfStrong) => f.write_str("412 if the tag is weak, or else ")?,
            Some(Truth::Yes) | None => {}
        }
        if let Some(date) = conditions.unmodified {
            write!(f, "412 if changed after {}, or else ", clock(date))?;
        }
        if conditions.matched == Some(true) && f.alternate() {
            return f.write_str("304");
        }
        if conditions.matched == Some(true) {
            return write!(f, "304, {}", Validators(entry));
        }
        if let Some(date) = conditions.modified {
            write!(f, "304 unless changed after {}, or else ", clock(date))?;
        }
        let part = match self.applies {
            _ if self.head || self.range.is_empty() => "",
            RangeApplies::Tag(Truth::No) => "",
            _ => ", 206 or 416",
        };
        if f.alternate() {
            return write!(f, "200{part}");
        }
        write!(f, "200{part}, {}", Validators(entry))?;
        match entry.body.value(&Knowledge::new()) {
            _ if self.head => Ok(()),
            Some(_) => write!(f, " {}", entry.body),
            None => write!(f, ", content {}", entry.body),
        }
    }
}
