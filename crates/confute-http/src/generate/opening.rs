//! How a campaign begins: what is plain first, each once, with as few messages as that takes.
//!
//! Most servers that are wrong are wrong there, and nothing in front of it means that nothing has to be left out to see it.

use confute_drive::{Peer, Step, View};

use super::odd::ODDS;
use super::{Pick, Traffic, draw};
use crate::ask::Known;
use crate::mark::mark;
use crate::message::{Method, Odd, Span, Tag};
use crate::protocol::{Ask, AskIfRange, AskTag, AskTags, Http};

/// What is asked about one resource.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plain {
    /// A write whose condition is false, as the tag was never there,
    FalseWrite,
    /// or as it is marked as weak.
    WeakWrite,
    /// A write that is done,
    TrueWrite,
    /// one that is not, as what it replaces is known,
    LateWrite,
    /// also if it is known weakly.
    WeakLateWrite,
    /// A read of what is known,
    SameRead,
    /// also if it is known weakly,
    WeakRead,
    /// and of what is not.
    OtherRead,
    Head,
    FalseDelete,
    /// Removed, and put there again,
    Delete,
    /// and left as it is by a date that does not matter.
    Date,
    Part,
    Options,
    /// A method that need not be known, and may do anything.
    Patch,
    /// A read of what has not changed since it was changed,
    SameDate,
    /// and a part of what is known only weakly, which is not known well enough.
    WeakPart,
    /// Several reads at once on one connection,
    Several,
    /// and a write that waits to be told to go on.
    Expect,
    /// What no client should send,
    Wrong(Odd),
    /// and the last that a connection is for.
    Close,
}

/// These come first, in any order: conditions are what servers get wrong most.
const FIRST: [Plain; 7] = [
    Plain::FalseWrite,
    Plain::TrueWrite,
    Plain::LateWrite,
    Plain::SameRead,
    Plain::OtherRead,
    Plain::Head,
    Plain::FalseDelete,
];
/// Then these. Who ignores a condition also ignores that a tag is weak, and that would be the lesser reason.
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

/// Then what few clients ask; what none should comes after that.
const RARE: [Plain; 4] = [Plain::SameDate, Plain::WeakPart, Plain::Several, Plain::Expect];

/// What is still to be asked: one deck after the other.
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
    /// The same, but it begins like that.
    #[must_use]
    pub(crate) fn opening(mut self) -> Self {
        let last = ODDS.map(Plain::Wrong).into_iter().chain([Plain::Close]).collect();
        self.opening = Opening { decks: [FIRST.into(), THEN.into(), RARE.into(), last] };
        self
    }

    /// Whether that is not over yet.
    pub(crate) fn is_opening(&self) -> bool {
        !self.opening.is_over()
    }

    /// Whether the first things are in their places.
    pub(crate) fn has_begun(&self) -> bool {
        !self.is_new && self.queue.is_empty()
    }

    /// A look at nothing, something put there, and a look at that.
    pub(super) fn open(&mut self, pick: &mut Pick<'_>) {
        let name = "r0".into();
        self.exchange(0, Self::get(&name));
        // Not empty: what is lost has to be seen.
        self.bodies += 1;
        let body = mark(self.bodies).repeat(1 + pick(4) as usize);
        self.exchange(0, Ask { method: Method::Put, body: Some(body.into()), ..Self::get(&name) });
        self.exchange(0, Self::get(&name));
    }

    /// The first is held back until the others are there.
    fn several(&mut self) {
        for at in 0..3 {
            let cuts = if at == 0 { vec![(9, 2)] } else { Vec::new() };
            self.queue.push_back(Step::Ask { on: Peer::Opened(0), ask: Self::get(&"r0".into()), cuts });
        }
        self.barrier();
    }

    /// One of the plain questions.
    pub(super) fn ask_plainly(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let Some(plain) = self.opening.draw(pick) else { return };
        let name = "r0".into();
        let known = Known::of(view.past, &name);
        let (current, weak) = (known.tag(AskTag::Seen), known.tag(AskTag::Weak));
        let other = AskTag::Guess(Tag::strong(Tag::MADE_UP));
        let get = Self::get(&name);
        let head = Ask { method: Method::Head, ..get.clone() };
        let delete = Ask { method: Method::Delete, ..get.clone() };
        let put = Ask { method: Method::Put, body: Some(self.body(pick)), ..get.clone() };
        let with = |ask: Ask, tag| Ask { if_match: Some(AskTags::one(tag)), ..ask };
        let without = |ask: Ask, tag| Ask { if_none_match: Some(AskTags::one(tag)), ..ask };
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
            Plain::Date => known.dated(without(get, other)),
            Plain::Part => Ask { range: vec![Span::Between(1, 4)], ..get },
            Plain::SameDate => known.unmodified(get),
            Plain::WeakPart => {
                Ask { range: vec![Span::Between(1, 4)], if_range: Some(AskIfRange::Tag(weak)), ..get }
            }
            Plain::Several => return self.several(),
            Plain::Expect => return self.expect(view, pick),
            Plain::Wrong(odd) => return self.malformed(odd, view, pick),
            Plain::Close => return self.close(view, pick),
            Plain::Patch => Ask { method: Method::Other("PATCH".into()), ..get },
            Plain::Options => Ask { method: Method::Options, if_none_match: Some(AskTags::Any), ..get },
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
