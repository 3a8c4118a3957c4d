//! Conditional requests about what was seen: current tags, stale ones, of another strength, guesses, and lists of them;
//! dates around the one told.

use std::sync::Arc;

use confute_drive::Past;

use crate::generate::Pick;
use crate::message::{Method, Msg, Response, Span, Tag};
use crate::protocol::{Ask, AskDate, AskIfRange, AskTag, AskTags, Http};

/// How far back to look.
const RECENT: usize = 200;

/// How many kinds of tags there are to ask with.
const TAGS: u64 = 8;
/// How many kinds of conditional writes there are.
pub(crate) const WRITES: u64 = 2 * TAGS + 9;
/// Kinds that are always DELETE.
const DELETES: std::ops::Range<u64> = WRITES - 3..WRITES;
/// How many kinds of reads there are.
pub(crate) const READS: u64 = TAGS + 16;

/// Whether a resource has this name, or took the place of one that had.
fn is_named(full: &str, name: &str) -> bool {
    full.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The resource that takes the place of `name` after so many that were given up.
pub(crate) fn successor(name: &Arc<str>, generation: u32) -> Arc<str> {
    if generation == 0 { name.clone() } else { format!("{name}.{generation}").into() }
}

/// How many writes to a resource were answered in a way that leaves open whether they are performed.
pub(crate) fn left_open(past: &Past<Http>, name: &str) -> usize {
    let latest = past.exchanges.iter().rev().take(RECENT);
    latest
        .filter(|exchange| &*exchange.ask.name == name && !exchange.ask.method.is_safe())
        .filter(|exchange| exchange.replies.iter().find_map(response).is_some_and(Response::leaves_open))
        .count()
}

/// What the past says of a resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Whether something seems to be there.
    pub(crate) is_there: bool,
    /// The step whose reply told the tag that seems to be current.
    tag: Option<usize>,
    /// Whether that is weak.
    pub(crate) is_weak: bool,
    /// One that told another tag before.
    stale: Option<usize>,
    /// One that told another resource's tag.
    foreign: Option<usize>,
    /// The step whose reply told the date that seems to be current.
    date: Option<usize>,
    /// The content that was put or seen last.
    pub(crate) body: Option<Arc<str>>,
}

impl Known {
    pub(crate) fn of(past: &Past<Http>, name: &Arc<str>) -> Self {
        let mut known = Known::default();
        let mut current: Option<&Tag> = None;
        let mut is_decided = false;
        let mut latest: Option<&Arc<str>> = None;
        for exchange in past.exchanges.iter().rev().take(RECENT) {
            let response = exchange.replies.iter().rev().find_map(response);
            let Some(response) = response else { continue };
            if latest.is_none() && is_named(&exchange.ask.name, name) {
                latest = Some(&exchange.ask.name);
            }
            if latest != Some(&exchange.ask.name) {
                if response.etag.is_some() {
                    known.foreign.get_or_insert(exchange.step);
                }
                continue;
            }
            let is_success = (200..300).contains(&response.status) && response.status != 202;
            if !is_decided {
                let deletes = exchange.ask.method == Method::Delete && is_success;
                known.is_there = !deletes && (is_success || matches!(response.status, 304 | 412 | 416));
                is_decided = deletes || is_success || response.status == 404;
            }
            if known.body.is_none() && is_success {
                let is_get = exchange.ask.method == Method::Get && response.status == 200;
                known.body = if is_get { Some(response.body.clone()) } else { exchange.ask.body.clone() };
            }
            if response.last_modified.is_some() {
                known.date.get_or_insert(exchange.step);
            }
            match (&response.etag, current) {
                (Some(tag), None) => {
                    (known.tag, current) = (Some(exchange.step), Some(tag));
                    known.is_weak = tag.weak;
                }
                (Some(tag), Some(other)) if tag.opaque != other.opaque => {
                    known.stale = Some(exchange.step);
                    break;
                }
                _ => {}
            }
        }
        known
    }

    /// A tag: that of `step` or, without one, a guess.
    fn seen(step: Option<usize>, kind: fn(usize) -> AskTag) -> AskTag {
        step.map_or_else(|| AskTag::Guess(Tag::strong(Tag::MADE_UP)), kind)
    }

    /// A tag that should not match.
    fn wrong(&self, pick: &mut Pick<'_>) -> AskTag {
        match pick(4) {
            0 => Self::seen(self.stale, AskTag::Weak),
            1 => Self::seen(self.foreign, AskTag::Seen),
            2 => AskTag::Guess(Tag { weak: pick(2) == 0, opaque: Tag::MADE_UP.into() }),
            _ => Self::seen(self.stale, AskTag::Seen),
        }
    }

    fn current(&self) -> AskTag {
        self.tag(AskTag::Seen)
    }

    /// The same, if it was not modified since the date that seems to be current.
    pub(crate) fn dated(&self, ask: Ask) -> Ask {
        Ask { if_modified_since: self.date.map(|step| AskDate(step, 0)), ..ask }
    }

    /// The same, only if it was not modified after the date that seems to be current.
    pub(crate) fn unmodified(&self, ask: Ask) -> Ask {
        Ask { if_unmodified_since: self.date.map(|step| AskDate(step, 0)), ..ask }
    }

    /// The current tag, as it is or marked.
    pub(crate) fn tag(&self, kind: fn(usize) -> AskTag) -> AskTag {
        Self::seen(self.tag, kind)
    }

    /// Tags of this kind for If-None-Match, of which there are [`TAGS`].
    fn tags(&self, kind: u64, pick: &mut Pick<'_>) -> AskTags {
        self.list(kind, false, pick)
    }

    /// The same for If-Match, which compares strongly: there the current tag may stand behind itself marked as weak.
    fn match_tags(&self, kind: u64, pick: &mut Pick<'_>) -> AskTags {
        self.list(kind, true, pick)
    }

    fn list(&self, kind: u64, for_match: bool, pick: &mut Pick<'_>) -> AskTags {
        match kind {
            0 => AskTags::one(self.current()),
            1 => AskTags::one(Self::seen(self.stale, AskTag::Seen)),
            2 => AskTags::one(Self::seen(self.tag, AskTag::Weak)),
            3 => AskTags::Lines(vec![vec![Self::seen(self.stale, AskTag::Weak), self.current()]]),
            4 => AskTags::Lines(vec![vec![self.wrong(pick), self.current()]]),
            5 => AskTags::Lines(vec![vec![self.wrong(pick)], vec![self.current()]]),
            6 => AskTags::Any,
            _ => match pick(4) {
                0 => AskTags::one(Self::seen(self.tag, AskTag::Strong)),
                1 => AskTags::Lines(vec![vec![self.wrong(pick), self.wrong(pick)]]),
                2 if for_match => AskTags::Lines(vec![vec![
                    Self::seen(self.tag, AskTag::Weak),
                    self.wrong(pick),
                    self.current(),
                ]]),
                _ => AskTags::one(self.wrong(pick)),
            },
        }
    }

    /// A date around the current one.
    fn date(&self, pick: &mut Pick<'_>) -> Option<AskDate> {
        let plus = [-1, 0, 0, 1, -3600][pick(5) as usize];
        self.date.map(|step| AskDate(step, plus))
    }

    /// A write that only the first of several may win.
    pub(crate) fn race(&self, name: &Arc<str>, body: Arc<str>, pick: &mut Pick<'_>) -> Ask {
        let mut ask = Ask { method: Method::Put, name: name.clone(), body: Some(body), ..Ask::default() };
        match pick(6) {
            0 | 1 => (ask.method, ask.body) = (Method::Delete, None),
            2 => return ask,
            _ => {}
        }
        match self.tag.filter(|_| self.is_there) {
            Some(step) => ask.if_match = Some(AskTags::one(AskTag::Seen(step))),
            None => ask.if_none_match = Some(AskTags::Any),
        }
        ask
    }

    /// A write where nothing seems to be.
    pub(crate) fn write_to_nothing(&self, name: &Arc<str>, body: Arc<str>, pick: &mut Pick<'_>) -> Ask {
        let mut ask = Ask { method: Method::Put, name: name.clone(), body: Some(body), ..Ask::default() };
        match pick(4) {
            0 => ask.if_match = Some(AskTags::Any),
            1 => ask.if_match = Some(AskTags::one(Self::seen(self.tag, AskTag::Seen))),
            2 => ask.if_none_match = Some(AskTags::one(Self::seen(self.tag, AskTag::Seen))),
            _ => ask.if_none_match = Some(AskTags::Any),
        }
        ask
    }
}

fn response(message: &Msg) -> Option<&Response> {
    if let Msg::Response(response) = message { Some(response) } else { None }
}

/// A conditional write of this kind, of which there are [`WRITES`].
pub(crate) fn write(known: &Known, name: &Arc<str>, body: Arc<str>, kind: u64, pick: &mut Pick<'_>) -> Ask {
    let mut ask = Ask { method: Method::Put, name: name.clone(), body: Some(body), ..Ask::default() };
    // Two conditions that are both ignored are two rules broken at once; with DELETE one other would explain as much.
    if DELETES.contains(&kind) || (kind < 2 * TAGS && pick(8) == 0) {
        (ask.method, ask.body) = (Method::Delete, None);
    }
    if kind < TAGS {
        ask.if_match = Some(known.match_tags(kind, pick));
    } else if kind < 2 * TAGS {
        ask.if_none_match = Some(known.tags(kind - TAGS, pick));
    } else {
        match kind - 2 * TAGS {
            0 => ask.if_unmodified_since = known.date.map(|step| AskDate(step, -1)),
            1 => {
                ask.if_match = Some(AskTags::one(known.current()));
                ask.if_unmodified_since = known.date.map(|step| AskDate(step, -1));
            }
            2 => {
                ask.if_match = Some(known.match_tags(pick(TAGS), pick));
                ask.if_none_match = Some(known.tags(pick(TAGS), pick));
                ask.if_unmodified_since = known.date(pick).filter(|_| pick(2) == 0);
            }
            // The first condition proves which tag the second one is compared with.
            3 | 4 => {
                let again = if kind == 2 * TAGS + 3 { AskTag::Weak } else { AskTag::Seen };
                ask.if_match = Some(AskTags::one(known.current()));
                ask.if_none_match = Some(AskTags::one(Known::seen(known.tag, again)));
            }
            // A tag that was never there is not there now.
            5 | 6 => ask.if_match = Some(AskTags::one(AskTag::Guess(Tag::strong(Tag::MADE_UP)))),
            7 => ask.if_match = Some(AskTags::one(Known::seen(known.stale, AskTag::Seen))),
            _ => ask.if_none_match = Some(known.tags(pick(TAGS), pick)),
        }
    }
    ask
}

/// A read of this kind, of which there are [`READS`]: mostly with conditions, or for a part.
pub(crate) fn read(known: &Known, name: &Arc<str>, kind: u64, pick: &mut Pick<'_>) -> Ask {
    let mut ask = Ask { name: name.clone(), ..Ask::default() };
    if kind < TAGS {
        ask.if_none_match = Some(known.tags(kind, pick));
        if pick(6) == 0 {
            ask.method = Method::Head;
        }
        return ask;
    }
    match kind - TAGS {
        0 if pick(3) == 0 => {
            ask.if_none_match = Some(AskTags::one(known.current()));
            ask.if_modified_since = known.date.map(|step| AskDate(step, -1));
        }
        0 => {
            ask.if_none_match = Some(AskTags::one(known.wrong(pick)));
            ask.if_modified_since = known.date.map(|step| AskDate(step, [0, 3600][pick(2) as usize]));
        }
        STALE_READ => ask.if_match = Some(known.match_tags(1, pick)),
        2 => ask.if_match = Some(known.match_tags(pick(TAGS), pick)),
        3 => ask.if_modified_since = known.date(pick),
        4 => ask.if_unmodified_since = known.date(pick),
        5 => ask.method = Method::Head,
        6 => {
            ask.method = Method::Head;
            part(known, &mut ask, 3, pick);
        }
        other => part(known, &mut ask, other - 7, pick),
    }
    ask
}

/// The place after [`TAGS`] of a read with an old tag in If-Match.
const STALE_READ: u64 = 1;

/// A read that is false where something is, and must not matter where nothing is.
pub(crate) fn stale_read(known: &Known, name: &Arc<str>, pick: &mut Pick<'_>) -> Ask {
    read(known, name, TAGS + STALE_READ, pick)
}

/// Makes it a read of a part.
fn part(known: &Known, ask: &mut Ask, kind: u64, pick: &mut Pick<'_>) {
    let length = known.body.as_ref().map_or(20, |body| crate::text::length(body)) as u64;
    let span = match kind {
        0 => Span::From(pick(length + 1)),
        1 => Span::From(length + pick(3)),
        2 => Span::Last(1 + pick(length.max(2) - 1)),
        3 => Span::Between(pick(length + 1), length + pick(9)),
        4 => Span::Last(1 + pick(length + 3)),
        _ => {
            let first = pick(length + 1);
            Span::Between(first, first + pick(9))
        }
    };
    ask.range = vec![span];
    ask.if_range = match kind {
        5 => Some(AskIfRange::Tag(known.current())),
        6 => Some(AskIfRange::Tag(Known::seen(known.tag, AskTag::Weak))),
        7 => Some(AskIfRange::Tag(known.wrong(pick))),
        8 => known.date(pick).map(AskIfRange::Date),
        _ => None,
    };
}
