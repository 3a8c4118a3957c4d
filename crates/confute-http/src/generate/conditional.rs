//! Conditional requests with validators from earlier responses: the current tag, stale tags, tags of the other
//! strength, guesses, and lists of them; dates around the latest `Last-Modified`.

use std::sync::Arc;

use super::Pick;
use super::known::Known;
use super::moves::{choose, choose_weighted};
use crate::ask::{AskDate, AskIfRange, AskRequest, AskTag, AskTags};
use crate::message::{Method, Span, Tag};
use confute_http1::text;

/// The tags of an `If-Match` or `If-None-Match`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagsMove {
    /// The current tag.
    Current,
    /// A tag of earlier content.
    Stale,
    /// The current tag, marked as weak.
    CurrentAsWeak,
    /// A tag of earlier content, marked as weak, and the current tag.
    WeakStaleAndCurrent,
    /// A tag that should not match, and the current tag.
    WrongAndCurrent,
    /// A tag that should not match, and the current tag in a field line of its own.
    WrongAndCurrentInLines,
    /// `*`
    Any,
    /// One of the [`RareTagsMove`]s.
    Rare,
}

impl TagsMove {
    const ALL: [TagsMove; 8] = [
        TagsMove::Current,
        TagsMove::Stale,
        TagsMove::CurrentAsWeak,
        TagsMove::WeakStaleAndCurrent,
        TagsMove::WrongAndCurrent,
        TagsMove::WrongAndCurrentInLines,
        TagsMove::Any,
        TagsMove::Rare,
    ];
}

/// Rare tags of an `If-Match` or `If-None-Match`.
#[derive(Clone, Copy, Debug)]
enum RareTagsMove {
    /// The current tag without its mark as weak.
    CurrentAsStrong,
    /// Two tags that should not match.
    TwoWrong,
    /// In `If-Match`, which compares strongly, the current tag behind itself marked as weak. Elsewhere a tag that
    /// should not match.
    BehindItselfAsWeak,
    /// A tag that should not match.
    Wrong,
}

const RARE_TAGS: [RareTagsMove; 4] = [
    RareTagsMove::CurrentAsStrong,
    RareTagsMove::TwoWrong,
    RareTagsMove::BehindItselfAsWeak,
    RareTagsMove::Wrong,
];

/// A tag that should not match.
#[derive(Clone, Copy, Debug)]
enum WrongTagMove {
    /// A tag of earlier content, marked as weak.
    WeakStale,
    /// The tag of another resource.
    Foreign,
    /// A tag that no server has, weak or strong.
    MadeUp,
    /// A tag of earlier content.
    Stale,
}

const WRONG_TAGS: [WrongTagMove; 4] =
    [WrongTagMove::WeakStale, WrongTagMove::Foreign, WrongTagMove::MadeUp, WrongTagMove::Stale];

/// Seconds between the current date and a date in a condition.
const DATE_OFFSETS: [i64; 5] = [-1, 0, 0, 1, -3600];

/// Number of seconds by which a date lies before any that a server may have rounded.
const LONG_AGO: i64 = 365 * 86_400;

/// Field of a list of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TagsField {
    IfMatch,
    IfNoneMatch,
}

impl Known {
    /// Returns a tag that should not match.
    fn wrong_tag(&self, pick: &mut Pick<'_>) -> AskTag {
        match choose(&WRONG_TAGS, pick) {
            WrongTagMove::WeakStale => Self::seen(self.stale, AskTag::Weak),
            WrongTagMove::Foreign => Self::seen(self.foreign, AskTag::Seen),
            WrongTagMove::MadeUp => AskTag::Guess(Tag { weak: pick(2) == 0, opaque: Tag::MADE_UP.into() }),
            WrongTagMove::Stale => Self::seen(self.stale, AskTag::Seen),
        }
    }

    fn if_match(&self, tags: TagsMove, pick: &mut Pick<'_>) -> AskTags {
        self.tags(tags, TagsField::IfMatch, pick)
    }

    fn if_none_match(&self, tags: TagsMove, pick: &mut Pick<'_>) -> AskTags {
        self.tags(tags, TagsField::IfNoneMatch, pick)
    }

    fn tags(&self, tags: TagsMove, field: TagsField, pick: &mut Pick<'_>) -> AskTags {
        let line = |tags: Vec<AskTag>| AskTags::Lines(vec![tags]);
        match tags {
            TagsMove::Current => AskTags::one(self.current()),
            TagsMove::Stale => AskTags::one(Self::seen(self.stale, AskTag::Seen)),
            TagsMove::CurrentAsWeak => AskTags::one(self.tag(AskTag::Weak)),
            TagsMove::WeakStaleAndCurrent => line(vec![Self::seen(self.stale, AskTag::Weak), self.current()]),
            TagsMove::WrongAndCurrent => line(vec![self.wrong_tag(pick), self.current()]),
            TagsMove::WrongAndCurrentInLines => {
                AskTags::Lines(vec![vec![self.wrong_tag(pick)], vec![self.current()]])
            }
            TagsMove::Any => AskTags::Any,
            TagsMove::Rare => match choose(&RARE_TAGS, pick) {
                RareTagsMove::CurrentAsStrong => AskTags::one(self.tag(AskTag::Strong)),
                RareTagsMove::TwoWrong => line(vec![self.wrong_tag(pick), self.wrong_tag(pick)]),
                RareTagsMove::BehindItselfAsWeak if field == TagsField::IfMatch => {
                    line(vec![self.tag(AskTag::Weak), self.wrong_tag(pick), self.current()])
                }
                RareTagsMove::BehindItselfAsWeak | RareTagsMove::Wrong => AskTags::one(self.wrong_tag(pick)),
            },
        }
    }

    /// Returns a date around the current one.
    fn date_nearby(&self, pick: &mut Pick<'_>) -> Option<AskDate> {
        self.date_plus(choose(&DATE_OFFSETS, pick))
    }

    /// Returns the current date plus this many seconds.
    fn date_plus(&self, seconds: i64) -> Option<AskDate> {
        self.date.map(|step| AskDate(step, seconds))
    }

    /// Adds `If-Modified-Since` with the current date to a request.
    pub(super) fn modified_since(&self, ask: AskRequest) -> AskRequest {
        AskRequest { if_modified_since: self.date_plus(0), ..ask }
    }

    /// Adds `If-Unmodified-Since` with the current date to a request.
    pub(super) fn unmodified_since(&self, ask: AskRequest) -> AskRequest {
        AskRequest { if_unmodified_since: self.date_plus(0), ..ask }
    }
}

fn put(name: &Arc<str>, body: Arc<str>) -> AskRequest {
    AskRequest { method: Method::Put, name: name.clone(), body: Some(body), ..AskRequest::default() }
}

/// A write that competes with others for the same resource.
#[derive(Clone, Copy, Debug)]
enum RaceMove {
    /// DELETE on the condition that the resource has not changed.
    Delete,
    /// PUT without a condition.
    PlainPut,
    /// PUT on the condition that the resource has not changed, or that there is none.
    Put,
}

const RACES: [(RaceMove, u64); 3] = [(RaceMove::Delete, 2), (RaceMove::PlainPut, 1), (RaceMove::Put, 3)];

/// A conditional PUT to a resource that does not exist.
#[derive(Clone, Copy, Debug)]
enum CreateMove {
    /// `If-Match: *`
    MatchAny,
    /// `If-Match` with the tag that the resource had.
    MatchFormer,
    /// `If-None-Match` with the tag that the resource had.
    NoneMatchFormer,
    /// `If-None-Match: *`
    NoneMatchAny,
}

const CREATES: [CreateMove; 4] =
    [CreateMove::MatchAny, CreateMove::MatchFormer, CreateMove::NoneMatchFormer, CreateMove::NoneMatchAny];

/// Returns a write of which only the first of several may succeed.
pub(super) fn race(known: &Known, name: &Arc<str>, body: Arc<str>, pick: &mut Pick<'_>) -> AskRequest {
    let mut ask = put(name, body);
    match choose_weighted(&RACES, pick) {
        RaceMove::Delete => (ask.method, ask.body) = (Method::Delete, None),
        RaceMove::PlainPut => return ask,
        RaceMove::Put => {}
    }
    match known.tag.filter(|_| known.exists) {
        Some(step) => ask.if_match = Some(AskTags::one(AskTag::Seen(step))),
        None => ask.if_none_match = Some(AskTags::Any),
    }
    ask
}

/// Returns a conditional PUT to a resource that seems not to exist.
pub(super) fn create(known: &Known, name: &Arc<str>, body: Arc<str>, pick: &mut Pick<'_>) -> AskRequest {
    let ask = put(name, body);
    let former = Some(AskTags::one(known.current()));
    match choose(&CREATES, pick) {
        CreateMove::MatchAny => AskRequest { if_match: Some(AskTags::Any), ..ask },
        CreateMove::MatchFormer => AskRequest { if_match: former, ..ask },
        CreateMove::NoneMatchFormer => AskRequest { if_none_match: former, ..ask },
        CreateMove::NoneMatchAny => AskRequest { if_none_match: Some(AskTags::Any), ..ask },
    }
}

/// A conditional write.
#[derive(Clone, Copy, Debug)]
pub(super) enum WriteMove {
    /// PUT, now and then DELETE, with `If-Match`.
    IfMatch(TagsMove),
    /// PUT, now and then DELETE, with `If-None-Match`.
    IfNoneMatch(TagsMove),
    /// PUT with `If-Unmodified-Since` and a date before the current one.
    UnmodifiedSinceBefore,
    /// PUT with `If-Unmodified-Since` and a date before the current one, which a server has to ignore because there is
    /// an `If-Match`, which is true (RFC 9110, 13.1.4).
    MatchAndUnmodifiedSinceBefore,
    /// PUT with `If-Match`, `If-None-Match` and, every other time, `If-Unmodified-Since`.
    AllConditions,
    /// PUT with a true `If-Match` and with `If-None-Match` with the same tag, marked as weak.
    MatchAndNoneMatchWeak,
    /// PUT with a true `If-Match` and with `If-None-Match` with the same tag.
    MatchAndNoneMatch,
    /// PUT with `If-Match` and a tag that no server has.
    MadeUpMatch,
    /// DELETE with `If-Match` and a tag that no server has.
    DeleteMadeUpMatch,
    /// DELETE with `If-Match` and a tag of earlier content.
    DeleteStaleMatch,
    /// DELETE with `If-None-Match`.
    DeleteNoneMatch,
}

impl WriteMove {
    pub(super) const ALL: [WriteMove; 25] = [
        WriteMove::IfMatch(TagsMove::Current),
        WriteMove::IfMatch(TagsMove::Stale),
        WriteMove::IfMatch(TagsMove::CurrentAsWeak),
        WriteMove::IfMatch(TagsMove::WeakStaleAndCurrent),
        WriteMove::IfMatch(TagsMove::WrongAndCurrent),
        WriteMove::IfMatch(TagsMove::WrongAndCurrentInLines),
        WriteMove::IfMatch(TagsMove::Any),
        WriteMove::IfMatch(TagsMove::Rare),
        WriteMove::IfNoneMatch(TagsMove::Current),
        WriteMove::IfNoneMatch(TagsMove::Stale),
        WriteMove::IfNoneMatch(TagsMove::CurrentAsWeak),
        WriteMove::IfNoneMatch(TagsMove::WeakStaleAndCurrent),
        WriteMove::IfNoneMatch(TagsMove::WrongAndCurrent),
        WriteMove::IfNoneMatch(TagsMove::WrongAndCurrentInLines),
        WriteMove::IfNoneMatch(TagsMove::Any),
        WriteMove::IfNoneMatch(TagsMove::Rare),
        WriteMove::UnmodifiedSinceBefore,
        WriteMove::MatchAndUnmodifiedSinceBefore,
        WriteMove::AllConditions,
        WriteMove::MatchAndNoneMatchWeak,
        WriteMove::MatchAndNoneMatch,
        WriteMove::MadeUpMatch,
        WriteMove::DeleteMadeUpMatch,
        WriteMove::DeleteStaleMatch,
        WriteMove::DeleteNoneMatch,
    ];

    /// Chooses a random move.
    pub(super) fn any(pick: &mut Pick<'_>) -> Self {
        choose(&Self::ALL, pick)
    }

    /// `true` if the request is a DELETE. A list of tags is combined with either method. Two conditions are combined
    /// with PUT only: a server that ignores both breaks two rules at once, and with DELETE one other rule would explain
    /// as much.
    fn deletes(self, pick: &mut Pick<'_>) -> bool {
        match self {
            WriteMove::IfMatch(_) | WriteMove::IfNoneMatch(_) => pick(8) == 0,
            WriteMove::DeleteMadeUpMatch | WriteMove::DeleteStaleMatch | WriteMove::DeleteNoneMatch => true,
            _ => false,
        }
    }
}

/// Returns a conditional write.
pub(super) fn write(
    known: &Known,
    name: &Arc<str>,
    body: Arc<str>,
    chosen: WriteMove,
    pick: &mut Pick<'_>,
) -> AskRequest {
    let mut ask = put(name, body);
    if chosen.deletes(pick) {
        (ask.method, ask.body) = (Method::Delete, None);
    }
    match chosen {
        WriteMove::IfMatch(tags) => ask.if_match = Some(known.if_match(tags, pick)),
        WriteMove::IfNoneMatch(tags) => ask.if_none_match = Some(known.if_none_match(tags, pick)),
        WriteMove::UnmodifiedSinceBefore => {
            // A date that is a second off may be a matter of rounding; one from long ago is not.
            ask.if_unmodified_since = known.date_plus(choose(&[-1, -LONG_AGO], pick));
        }
        WriteMove::MatchAndUnmodifiedSinceBefore => {
            ask.if_match = Some(AskTags::one(known.current()));
            ask.if_unmodified_since = known.date_plus(-1);
        }
        WriteMove::AllConditions => {
            ask.if_match = Some(known.if_match(choose(&TagsMove::ALL, pick), pick));
            ask.if_none_match = Some(known.if_none_match(choose(&TagsMove::ALL, pick), pick));
            ask.if_unmodified_since = known.date_nearby(pick).filter(|_| pick(2) == 0);
        }
        // The first condition proves which tag the second one is compared with.
        WriteMove::MatchAndNoneMatchWeak | WriteMove::MatchAndNoneMatch => {
            let is_weak = matches!(chosen, WriteMove::MatchAndNoneMatchWeak);
            let again = known.tag(if is_weak { AskTag::Weak } else { AskTag::Seen });
            ask.if_match = Some(AskTags::one(known.current()));
            ask.if_none_match = Some(AskTags::one(again));
        }
        // A tag that was never current is not current now.
        WriteMove::MadeUpMatch | WriteMove::DeleteMadeUpMatch => {
            ask.if_match = Some(AskTags::one(AskTag::Guess(Tag::strong(Tag::MADE_UP))));
        }
        WriteMove::DeleteStaleMatch => {
            ask.if_match = Some(AskTags::one(Known::seen(known.stale, AskTag::Seen)));
        }
        WriteMove::DeleteNoneMatch => {
            ask.if_none_match = Some(known.if_none_match(choose(&TagsMove::ALL, pick), pick));
        }
    }
    ask
}

/// A read with a condition, of a part, or with HEAD.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReadMove {
    /// GET, now and then HEAD, with `If-None-Match`.
    IfNoneMatch(TagsMove),
    /// `If-None-Match`, true or false, with `If-Modified-Since`, which the server has to ignore then (RFC 9110,
    /// 13.1.3).
    NoneMatchAndModifiedSince,
    /// `If-Match` with a tag of earlier content.
    StaleMatch,
    /// `If-Match`
    IfMatch,
    /// `If-Modified-Since`
    ModifiedSince,
    /// `If-Unmodified-Since`
    UnmodifiedSince,
    /// HEAD without a condition.
    Head,
    /// HEAD with `Range`, which is defined for GET only (RFC 9110, 14.2).
    HeadPart,
    /// `Range`
    Part(PartMove),
}

impl ReadMove {
    pub(super) const ALL: [ReadMove; 24] = [
        ReadMove::IfNoneMatch(TagsMove::Current),
        ReadMove::IfNoneMatch(TagsMove::Stale),
        ReadMove::IfNoneMatch(TagsMove::CurrentAsWeak),
        ReadMove::IfNoneMatch(TagsMove::WeakStaleAndCurrent),
        ReadMove::IfNoneMatch(TagsMove::WrongAndCurrent),
        ReadMove::IfNoneMatch(TagsMove::WrongAndCurrentInLines),
        ReadMove::IfNoneMatch(TagsMove::Any),
        ReadMove::IfNoneMatch(TagsMove::Rare),
        ReadMove::NoneMatchAndModifiedSince,
        ReadMove::StaleMatch,
        ReadMove::IfMatch,
        ReadMove::ModifiedSince,
        ReadMove::UnmodifiedSince,
        ReadMove::Head,
        ReadMove::HeadPart,
        ReadMove::Part(PartMove::FromPosition),
        ReadMove::Part(PartMove::FromEnd),
        ReadMove::Part(PartMove::Last),
        ReadMove::Part(PartMove::BeyondEnd),
        ReadMove::Part(PartMove::LastOrAll),
        ReadMove::Part(PartMove::If(IfRangeMove::Current)),
        ReadMove::Part(PartMove::If(IfRangeMove::CurrentAsWeak)),
        ReadMove::Part(PartMove::If(IfRangeMove::Wrong)),
        ReadMove::Part(PartMove::If(IfRangeMove::Date)),
    ];

    /// Chooses a random move.
    pub(super) fn any(pick: &mut Pick<'_>) -> Self {
        choose(&Self::ALL, pick)
    }
}

/// Returns a read with a condition, of a part, or with HEAD.
pub(super) fn read(known: &Known, name: &Arc<str>, chosen: ReadMove, pick: &mut Pick<'_>) -> AskRequest {
    let mut ask = AskRequest { name: name.clone(), ..AskRequest::default() };
    match chosen {
        ReadMove::IfNoneMatch(tags) => {
            ask.if_none_match = Some(known.if_none_match(tags, pick));
            if pick(6) == 0 {
                ask.method = Method::Head;
            }
        }
        ReadMove::NoneMatchAndModifiedSince if pick(3) == 0 => {
            ask.if_none_match = Some(AskTags::one(known.current()));
            ask.if_modified_since = known.date_plus(-1);
        }
        ReadMove::NoneMatchAndModifiedSince => {
            ask.if_none_match = Some(AskTags::one(known.wrong_tag(pick)));
            ask.if_modified_since = known.date.map(|step| AskDate(step, choose(&[0, 3600], pick)));
        }
        ReadMove::StaleMatch => ask.if_match = Some(known.if_match(TagsMove::Stale, pick)),
        ReadMove::IfMatch => ask.if_match = Some(known.if_match(choose(&TagsMove::ALL, pick), pick)),
        ReadMove::ModifiedSince => ask.if_modified_since = known.date_nearby(pick),
        ReadMove::UnmodifiedSince => ask.if_unmodified_since = known.date_nearby(pick),
        ReadMove::Head => ask.method = Method::Head,
        ReadMove::HeadPart => {
            ask.method = Method::Head;
            ask.range = vec![PartMove::BeyondEnd.span(known, pick)];
        }
        ReadMove::Part(part) => {
            ask.range = vec![part.span(known, pick)];
            ask.if_range = part.if_range(known, pick);
        }
    }
    ask
}

/// A range of the content.
#[derive(Clone, Copy, Debug)]
pub(super) enum PartMove {
    /// Everything from a position within the content or at its end.
    FromPosition,
    /// Everything from the end of the content or a little after it, which is nothing.
    FromEnd,
    /// A number of last bytes that the content has.
    Last,
    /// From a position within the content or at its end to its end or beyond.
    BeyondEnd,
    /// A number of last bytes, perhaps more than the content has.
    LastOrAll,
    /// A few bytes, with `If-Range`.
    If(IfRangeMove),
}

/// The validator of an `If-Range`.
#[derive(Clone, Copy, Debug)]
pub(super) enum IfRangeMove {
    /// The current tag.
    Current,
    /// The current tag, marked as weak.
    CurrentAsWeak,
    /// A tag that should not match.
    Wrong,
    /// A date around the current one.
    Date,
}

impl PartMove {
    fn span(self, known: &Known, pick: &mut Pick<'_>) -> Span {
        let length = known.body.as_ref().map_or(20, |body| text::length(body)) as u64;
        match self {
            PartMove::FromPosition => Span::From(pick(length + 1)),
            PartMove::FromEnd => Span::From(length + pick(3)),
            PartMove::Last => Span::Last(1 + pick(length.max(2) - 1)),
            PartMove::BeyondEnd => Span::Between(pick(length + 1), length + pick(9)),
            PartMove::LastOrAll => Span::Last(1 + pick(length + 3)),
            PartMove::If(_) => {
                let first = pick(length + 1);
                Span::Between(first, first + pick(9))
            }
        }
    }

    fn if_range(self, known: &Known, pick: &mut Pick<'_>) -> Option<AskIfRange> {
        let PartMove::If(validator) = self else { return None };
        match validator {
            IfRangeMove::Current => Some(AskIfRange::Tag(known.current())),
            IfRangeMove::CurrentAsWeak => Some(AskIfRange::Tag(known.tag(AskTag::Weak))),
            IfRangeMove::Wrong => Some(AskIfRange::Tag(known.wrong_tag(pick))),
            IfRangeMove::Date => known.date_nearby(pick).map(AskIfRange::Date),
        }
    }
}
