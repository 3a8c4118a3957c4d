//! Which answers are right, in words: for reports of what was expected instead. The short form is the statuses alone.

use std::fmt::{self, Display, Formatter};

use super::expected::{Expected, Kind, Put, Read};
use super::precondition::{Applies, Truth};
use super::validators::Entry;

impl Display for Expected {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if f.alternate()
            && let Some(statuses) = self.kind.statuses()
        {
            return f.write_str(statuses);
        }
        match &*self.kind {
            Kind::Read(read) => Display::fmt(read, f),
            Kind::Torn { body, .. } => write!(f, "200 with content other than {body}"),
            Kind::Put(Put { created: true, entry, .. }) => write!(f, "201, if any with {}", Tags(entry)),
            Kind::Put(Put { entry, .. }) => write!(f, "200 or 204, if any with {}", Tags(entry)),
            Kind::Kept { current, body: Some(body) } => {
                write!(f, "412 or another error; 2xx only if {} is {body:?} already", current.body)
            }
            Kind::Kept { .. } => f.write_str("412 or another error"),
            Kind::Failed => f.write_str("412"),
            Kind::Removed { .. } => f.write_str("2xx"),
            Kind::Missing { may_fail: false } => f.write_str("404, 410 or 2xx"),
            Kind::Missing { may_fail: true } => f.write_str("404, 410, 412 or 2xx"),
            Kind::Bad => f.write_str("400"),
            Kind::Rejected => f.write_str("an error"),
            Kind::Status([one, two]) => write!(f, "{one} or {two}"),
            Kind::Refused { is_write: false, .. } => f.write_str("a refusal"),
            Kind::Refused { .. } => f.write_str("a refusal, after which the write is not performed"),
            Kind::Open { failed: false } => f.write_str("202 (performed later, or never)"),
            Kind::Open { .. } => f.write_str("202 or 5xx (performed later, or never)"),
            Kind::Untold => f.write_str("anything: too many writes were left open"),
            Kind::Stage { body } => write!(f, "200 with some stage of {body:?}"),
            Kind::Options => f.write_str("whatever OPTIONS says, but neither 304 nor 412"),
            Kind::Other { changes: true } => f.write_str("anything but 4xx"),
            Kind::Other { changes: false } => f.write_str("4xx or 501"),
            Kind::Never => f.write_str("nothing"),
        }
    }
}

impl Kind {
    /// The statuses, where the words say more than that.
    fn statuses(&self) -> Option<&'static str> {
        Some(match self {
            Kind::Torn { .. } | Kind::Stage { .. } => "200",
            Kind::Put(Put { created: true, .. }) => "201",
            Kind::Put(_) => "200 or 204",
            Kind::Kept { .. } => "412 or another error",
            Kind::Refused { .. } => "a refusal",
            Kind::Open { failed: false } => "202",
            Kind::Open { .. } => "202 or 5xx",
            Kind::Untold | Kind::Options => "anything",
            _ => return None,
        })
    }
}

/// The validators of an entry.
struct Tags<'a>(&'a Entry);

impl Display for Tags<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Entry { tag, modified, .. } = self.0;
        write!(f, "tag {} (strong from {} on) and date {modified}", tag.opaque, tag.strong_from())
    }
}

impl Display for Read {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Read { entry, conditions, .. } = self;
        if entry.present == Entry::gone().present {
            return f.write_str("404 or 410");
        }
        if entry.present.value(&confute::knowledge::Knowledge::new()).is_none() {
            f.write_str("404, or, if there is anything, ")?;
        }
        match conditions.if_match {
            Some(Truth::No) => return f.write_str("412 or another error"),
            Some(Truth::IfStrong) => f.write_str("412 if the tag is weak, or else ")?,
            Some(Truth::Yes) | None => {}
        }
        if let Some(date) = conditions.unmodified {
            write!(f, "412 if changed after {date}, or else ")?;
        }
        if conditions.matched == Some(true) && f.alternate() {
            return f.write_str("304");
        }
        if conditions.matched == Some(true) {
            return write!(f, "304 with {}", Tags(entry));
        }
        if let Some(date) = conditions.modified {
            write!(f, "304 unless changed after {date}, or else ")?;
        }
        let part = match self.applies {
            _ if self.head || self.range.is_empty() => "",
            Applies::Tag(Truth::No) => "",
            _ => ", 206 or 416",
        };
        if f.alternate() {
            return write!(f, "200{part}");
        }
        write!(f, "200{part} with {} and content {}", Tags(entry), entry.body)
    }
}
