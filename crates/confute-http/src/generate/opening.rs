//! The opening of a campaign: plain requests, each once, with as few messages as possible.
//!
//! Most servers that break a rule break it there, and a violation with few messages before it needs hardly any
//! shrinking.

use confute_drive::{Peer, Step, View};

use super::known::Known;
use super::moves::draw;
use super::{Pick, Traffic};
use crate::ask::{AskIfRange, AskRequest, AskTag, AskTags};
use crate::mark::mark;
use crate::message::{Method, Odd, Span, Tag};
use crate::protocol::Http;

/// A request of the opening. All are to the same resource.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plain {
    /// PUT with a false `If-Match`: the tag is made up.
    FalseWrite,
    /// PUT with a false `If-Match`: the current tag is marked as weak.
    WeakWrite,
    /// PUT with a true `If-Match`.
    TrueWrite,
    /// PUT with a false `If-None-Match`: the tag is current.
    LateWrite,
    /// PUT with a false `If-None-Match`: the current tag is marked as weak.
    WeakLateWrite,
    /// GET with `If-None-Match` and the current tag.
    SameRead,
    /// GET with `If-None-Match` and the current tag marked as weak.
    WeakRead,
    /// GET with `If-None-Match` and a tag that is made up.
    OtherRead,
    Head,
    /// DELETE with a false `If-Match`: the tag is made up.
    FalseDelete,
    /// DELETE, and PUT to create the resource again.
    Delete,
    /// GET with a true `If-None-Match` and a false `If-Modified-Since`, which has to be ignored (RFC 9110, 13.1.3).
    Date,
    /// GET with `Range`.
    Part,
    Options,
    /// PATCH, which a server need not know, and which may have any effect.
    Patch,
    /// GET with a true `If-Unmodified-Since`: the date is current.
    SameDate,
    /// GET with `Range` and a false `If-Range`: the current tag is marked as weak (RFC 9110, 13.1.5).
    WeakPart,
    /// Several reads on one connection without waiting.
    Several,
    /// PUT with `Expect: 100-continue`.
    Expect,
    /// A malformed request.
    Malformed(Odd),
    /// GET with `Connection: close`.
    Close,
}

/// The first requests, in random order. Servers break the rules about conditions most often.
const FIRST: [Plain; 7] = [
    Plain::FalseWrite,
    Plain::TrueWrite,
    Plain::LateWrite,
    Plain::SameRead,
    Plain::OtherRead,
    Plain::Head,
    Plain::FalseDelete,
];
/// The requests after the first. Those with weak tags come here because a server that ignores a condition also ignores
/// that a tag is weak, and the weak tag would be blamed.
const THEN: [Plain; 8] = [
    Plain::WeakWrite,
    Plain::WeakLateWrite,
    Plain::WeakRead,
    Plain::Delete,
    Plain::Date,
    Plain::Part,
    Plain::Options,
    Plain::Patch,
];

/// Requests that few clients send. Malformed requests, which none should send, come after them.
const RARE: [Plain; 4] = [Plain::SameDate, Plain::WeakPart, Plain::Several, Plain::Expect];

/// The requests of the opening that are left: one deck after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Opening {
    decks: [Vec<Plain>; 4],
}

impl Opening {
    pub(super) fn is_over(&self) -> bool {
        self.decks.iter().all(Vec::is_empty)
    }

    fn draw(&mut self, pick: &mut Pick<'_>) -> Option<Plain> {
        let deck = self.decks.iter_mut().find(|deck| !deck.is_empty())?;
        draw(deck, std::iter::empty(), pick)
    }
}

impl Traffic {
    /// Makes the traffic begin with the opening.
    #[must_use]
    pub(crate) fn opening(mut self) -> Self {
        let last = Odd::ALL.map(Plain::Malformed).into_iter().chain([Plain::Close]).collect();
        self.opening = Opening { decks: [FIRST.into(), THEN.into(), RARE.into(), last] };
        self
    }

    /// Returns `true` until the opening is over.
    pub(crate) fn is_opening(&self) -> bool {
        !self.opening.is_over()
    }

    /// Returns `true` once the first resource was created.
    pub(crate) fn has_begun(&self) -> bool {
        !self.is_new && self.queue.is_empty()
    }

    /// Reads the resource before it exists, creates it and reads it again.
    pub(super) fn begin_opening(&mut self, pick: &mut Pick<'_>) {
        let name = "r0".into();
        self.exchange(0, Self::get(&name));
        // Not empty: lost content has to show.
        self.bodies += 1;
        let body = mark(self.bodies).repeat(1 + pick(4) as usize);
        self.exchange(0, AskRequest { method: Method::Put, body: Some(body.into()), ..Self::get(&name) });
        self.exchange(0, Self::get(&name));
    }

    /// Sends three reads on one connection without waiting. The first is completed when the others were sent.
    fn pipeline_reads(&mut self) {
        for at in 0..3 {
            let cuts = if at == 0 { vec![(9, 2)] } else { Vec::new() };
            self.queue.push_back(Step::Ask {
                on: Peer::Opened(0),
                ask: Self::get(&"r0".into()).into(),
                cuts,
            });
        }
        self.barrier();
    }

    /// Sends the next request of the opening.
    pub(super) fn continue_opening(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let Some(plain) = self.opening.draw(pick) else { return };
        let name = "r0".into();
        let known = Known::of(view.past, &name);
        let (current, weak) = (known.tag(AskTag::Seen), known.tag(AskTag::Weak));
        let other = AskTag::Guess(Tag::strong(Tag::MADE_UP));
        let get = Self::get(&name);
        let head = AskRequest { method: Method::Head, ..get.clone() };
        let delete = AskRequest { method: Method::Delete, ..get.clone() };
        let put = AskRequest { method: Method::Put, body: Some(self.body(pick)), ..get.clone() };
        let with = |ask: AskRequest, tag| AskRequest { if_match: Some(AskTags::one(tag)), ..ask };
        let without = |ask: AskRequest, tag| AskRequest { if_none_match: Some(AskTags::one(tag)), ..ask };
        let ask = match plain {
            Plain::FalseWrite => with(put, other),
            Plain::WeakWrite => with(put, weak),
            Plain::TrueWrite => with(put, current),
            Plain::LateWrite => without(put, current),
            Plain::WeakLateWrite => without(put, weak),
            Plain::SameRead => without(get, current),
            Plain::WeakRead => without(get, weak),
            Plain::OtherRead => without(get, other),
            Plain::Head => head,
            Plain::FalseDelete => with(delete, other),
            Plain::Delete => delete,
            Plain::Date => known.modified_since(without(get, other)),
            Plain::Part => AskRequest { range: vec![Span::Between(1, 4)], ..get },
            Plain::SameDate => known.unmodified_since(get),
            Plain::WeakPart => {
                AskRequest { range: vec![Span::Between(1, 4)], if_range: Some(AskIfRange::Tag(weak)), ..get }
            }
            Plain::Several => return self.pipeline_reads(),
            Plain::Expect => return self.expect(view, pick),
            Plain::Malformed(odd) => return self.malformed(odd, view, pick),
            Plain::Close => return self.close(view, pick),
            Plain::Patch => AskRequest { method: Method::Other("PATCH".into()), ..get },
            Plain::Options => {
                AskRequest { method: Method::Options, if_none_match: Some(AskTags::Any), ..get }
            }
        };
        self.exchange(0, ask);
        if matches!(plain, Plain::TrueWrite | Plain::Delete | Plain::Patch) {
            self.exchange(0, Self::get(&name));
        }
        if matches!(plain, Plain::Delete) {
            let put = self.put(&name, pick);
            self.exchange(0, put);
            self.exchange(0, Self::get(&name));
        }
    }
}
