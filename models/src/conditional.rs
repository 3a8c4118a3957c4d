//! A store with conditional requests, as in HTTP (the paper's Fig 6). *Teaches: secrets.*
//!
//! The server gives every content a tag of its own choice. The model does not know tags: it names one with
//! [`Io::fresh`], stores the name in a cell, and queries it with [`Io::branch`]. A query that the known facts
//! do not decide has both answers, and each adds a fact.
//!
//! An [`ETag`] consists of two secrets, because there are two ways to compare tags: strongly (for changes:
//! same content, byte for byte) and weakly (for reads: equivalent content). The initial content of the store
//! is unknown as well: [`Table::unknown`].

use std::fmt;
use std::sync::Arc;

use confute::knowledge::Knowledge;
use confute::lang::{
    Conn, Flag, Formula, Fresh, Io, Level, Rule, ServerModel, Stop, Sym, Table, Token, Turn,
};

mod message;
mod workload;

pub use message::{Message, Reply, Tag};

/// Rule that If-Match is evaluated.
pub const IF_MATCH_CHECKED: Rule = Rule {
    name: "conditional/if-match-checked",
    level: Level::Must,
    summary: "A `put` with If-Match changes nothing unless its tag matches the current one.",
};
/// Rule that If-Match uses the strong comparison.
pub const IF_MATCH_STRONG: Rule = Rule {
    name: "conditional/if-match-strong",
    level: Level::Must,
    summary: "If-Match compares strongly: a weak tag matches nothing.",
};
/// Rule that If-None-Match is evaluated.
pub const IF_NONE_MATCH_HONOURED: Rule = Rule {
    name: "conditional/if-none-match-honoured",
    level: Level::Should,
    summary: "A `get` whose If-None-Match matches the current tag (weak comparison) gets a response without the body.",
};
/// Rule that new content has a new tag.
pub const TAG_CHANGES: Rule = Rule {
    name: "conditional/tag-changes",
    level: Level::Must,
    summary: "A strong tag changes when the content changes.",
};

/// A tag that the server chose.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ETag {
    weak: Sym<Flag>,
    opaque: Sym<Token>,
}
confute::secrets!(ETag { weak, opaque });

/// Printed like [`Tag`], if it is known to be weak or strong.
impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { weak, opaque } = self;
        match weak.value(&Knowledge::new()) {
            Some(true) => write!(f, "W/{opaque}"),
            Some(false) => opaque.fmt(f),
            None => write!(f, "{opaque} (weak: {weak})"),
        }
    }
}

impl ETag {
    fn fresh(io: &mut Io<'_, Conditional>) -> Result<Self, Stop> {
        Ok(Self { weak: io.fresh()?, opaque: io.fresh()? })
    }

    fn known(tag: &Tag) -> Self {
        Self { weak: Sym::known(&tag.weak), opaque: Sym::known(&tag.opaque) }
    }

    fn strongly_matches(&self, other: &Self) -> Formula {
        other.weak.is(&false).and(self.weak.is(&false)).and(self.opaque.equals(&other.opaque))
    }

    fn weakly_matches(&self, other: &Self) -> Formula {
        self.opaque.equals(&other.opaque)
    }
}

/// Content of the store under a key, with a flag for its presence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry {
    present: Sym<Flag>,
    tag: ETag,
    body: Sym<Token>,
}
confute::secrets!(Entry { present, tag, body });

const ENTRIES: Table<Arc<str>, Entry> = Table::unknown("entries", |fresh: &mut Fresh<'_>, _| Entry {
    present: fresh.fresh(),
    tag: ETag { weak: fresh.fresh(), opaque: fresh.fresh() },
    body: fresh.fresh(),
});

/// Model of the conditional store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conditional;

impl ServerModel for Conditional {
    type Msg = Message;
    type Out = Reply;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Message::Get { key, if_none_match } => Self::get(io, conn, key, if_none_match.as_ref()),
            Message::Put { key, if_match, body } => Self::put(io, conn, key, if_match.as_ref(), body),
            _ => io.replies(0),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[IF_MATCH_CHECKED, IF_MATCH_STRONG, IF_NONE_MATCH_HONOURED, TAG_CHANGES]
    }
}

impl Conditional {
    fn put(
        io: &mut Io<'_, Self>,
        conn: Conn,
        key: &Arc<str>,
        if_match: Option<&Tag>,
        body: &Arc<str>,
    ) -> Turn {
        let cell = ENTRIES.edit(io, key)?;
        let old = cell.get(io)?.ok_or(Stop::Dead)?;
        let replaces = io.branch(old.present.holds())?;
        if let Some(tag) = if_match
            && !Self::may_change(io, replaces.then_some(&old.tag), tag)?
        {
            return io.send(conn, Message::PreconditionFailed);
        }
        let tag = if replaces { Self::next_tag(io, &old, body)? } else { ETag::fresh(io)? };
        cell.set(io, Entry { present: Sym::known(&true), tag, body: Sym::known(body) })?;
        io.send(conn, if replaces { Message::NoContent } else { Message::Created })
    }

    /// Returns `true` if a put under this If-Match succeeds.
    fn may_change(io: &mut Io<'_, Self>, current: Option<&ETag>, if_match: &Tag) -> Result<bool, Stop> {
        let Some(current) = current else { return io.deviates(&IF_MATCH_CHECKED) };
        let if_match = ETag::known(if_match);
        let similar = current.weakly_matches(&if_match);
        Ok(io.branch(current.strongly_matches(&if_match))?
            || (io.deviates(&IF_MATCH_STRONG)? && io.branch(similar.clone())?)
            || (io.deviates(&IF_MATCH_CHECKED)? && io.branch(similar.negate())?))
    }

    /// Returns the tag of content that replaces other content.
    fn next_tag(io: &mut Io<'_, Self>, old: &Entry, body: &Arc<str>) -> Result<ETag, Stop> {
        if io.deviates(&TAG_CHANGES)? {
            return Ok(old.tag.clone());
        }
        let tag = ETag::fresh(io)?;
        io.assume(old.body.is(body).or(tag.strongly_matches(&old.tag).negate()))?;
        Ok(tag)
    }

    fn get(io: &mut Io<'_, Self>, conn: Conn, key: &Arc<str>, if_none_match: Option<&Tag>) -> Turn {
        let entry = ENTRIES.get(io, key)?.ok_or(Stop::Dead)?;
        if !io.branch(entry.present.holds())? {
            return io.send(conn, Message::NotFound);
        }
        if let Some(tag) = if_none_match
            && io.branch(entry.tag.weakly_matches(&ETag::known(tag)))?
            && !io.deviates(&IF_NONE_MATCH_HONOURED)?
        {
            return io.send(conn, Message::NotModified);
        }
        io.send(conn, Reply::Ok { tag: entry.tag, body: entry.body })
    }
}
