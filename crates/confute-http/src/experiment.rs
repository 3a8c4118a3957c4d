//! Requests for experiments, which tell explanations of a violation apart.
//!
//! If a PUT with a weak tag in `If-Match` was performed, the server may compare tags weakly, or ignore the field. The
//! same PUT with a tag that nobody has tells which.

use crate::ask::{Ask, AskDate, AskIfRange, AskRequest, AskTag, AskTags};
use crate::message::{Method, Tag};
use crate::model::ROUNDED;
use crate::rules;

/// Number of seconds by which a date differs from the one seen, if it is to be surely before or after it, whatever the
/// server rounds.
const FAR: i64 = 4 * ROUNDED;

/// Returns a tag that no server has given out.
fn foreign() -> AskTag {
    AskTag::Guess(Tag::strong("confute-foreign"))
}

/// Returns variants of a request that differ from it in one aspect: another condition, none, other framing.
pub(crate) fn variants(ask: &Ask) -> Vec<Ask> {
    // The positions of cuts depend on the length of the bytes before them, and gateways forward conditions unread.
    let Some(ask) = ask.own_request().filter(|ask| ask.expect.is_none()) else { return Vec::new() };
    // The one that proves most comes first.
    let mut variants = pinned(ask);
    for tags in ask.if_match.as_ref().map(other_tags).unwrap_or_default() {
        variants.push(AskRequest { if_match: Some(tags), ..ask.clone() });
    }
    for tags in ask.if_none_match.as_ref().map(other_tags).unwrap_or_default() {
        variants.push(AskRequest { if_none_match: Some(tags), ..ask.clone() });
    }
    for date in ask.if_modified_since.map(other_dates).unwrap_or_default() {
        variants.push(AskRequest { if_modified_since: Some(date), ..ask.clone() });
    }
    for date in ask.if_unmodified_since.map(other_dates).unwrap_or_default() {
        variants.push(AskRequest { if_unmodified_since: Some(date), ..ask.clone() });
    }
    match &ask.if_range {
        Some(AskIfRange::Tag(tag)) => {
            let others = other_tag(tag).into_iter().map(|tag| Some(AskIfRange::Tag(tag)));
            variants.extend(others.map(|if_range| AskRequest { if_range, ..ask.clone() }));
        }
        Some(AskIfRange::Date(date)) => {
            let others = other_dates(*date).into_iter().map(|date| Some(AskIfRange::Date(date)));
            variants.extend(others.map(|if_range| AskRequest { if_range, ..ask.clone() }));
        }
        None => {}
    }
    variants.extend([
        AskRequest { if_match: None, ..ask.clone() },
        AskRequest { if_none_match: None, ..ask.clone() },
        AskRequest { if_modified_since: None, ..ask.clone() },
        AskRequest { if_unmodified_since: None, ..ask.clone() },
        AskRequest { if_range: None, ..ask.clone() },
        AskRequest { range: Vec::new(), if_range: None, ..ask.clone() },
        AskRequest { odd: None, ..ask.clone() },
        AskRequest { odd: None, chunked: false, ..ask.clone() },
    ]);
    if ask.body.is_some() && ask.odd.is_none() {
        variants.push(AskRequest { chunked: !ask.chunked, ..ask.clone() });
    }
    variants.retain(|one| one != ask);
    variants.dedup();
    variants.into_iter().map(Ask::Send).collect()
}

/// Returns variants of a list of tags: in one line, each member alone, with another tag, with the same tag strong or weak.
fn other_tags(tags: &AskTags) -> Vec<AskTags> {
    let AskTags::Lines(lines) = tags else {
        return vec![AskTags::one(foreign())];
    };
    let members: Vec<&AskTag> = lines.iter().flatten().collect();
    let mut others = Vec::new();
    if lines.len() > 1 {
        others.push(AskTags::Lines(vec![members.iter().map(|tag| (*tag).clone()).collect()]));
    }
    if members.len() > 1 {
        others.extend(members.iter().map(|tag| AskTags::one((*tag).clone())));
    }
    if let [only] = members[..] {
        others.extend(other_tag(only).into_iter().map(AskTags::one));
    } else {
        others.push(AskTags::one(foreign()));
    }
    others.push(AskTags::Any);
    others
}

/// Returns the write with If-Match beside If-None-Match: if both are evaluated, it proves which tag If-None-Match was
/// compared with, and that this tag had not changed by itself. A tag that was weak when it was seen stays weak in one of
/// them, though the server may make it strong before that.
fn pinned(ask: &AskRequest) -> Vec<AskRequest> {
    let Some(AskTags::Lines(lines)) = &ask.if_none_match else { return Vec::new() };
    let seen = |tag: &AskTag| match tag {
        AskTag::Seen(step) | AskTag::Weak(step) | AskTag::Strong(step) => Some(*step),
        AskTag::Guess(_) => None,
    };
    let Some(step) = lines.iter().flatten().find_map(seen) else { return Vec::new() };
    if ask.method.is_safe() || ask.if_match.is_some() {
        return Vec::new();
    }
    let weak = |tag: &AskTag| match tag {
        AskTag::Seen(step) => AskTag::Weak(*step),
        other => other.clone(),
    };
    let weakened = lines.iter().map(|line| line.iter().map(weak).collect()).collect();
    let if_match = Some(AskTags::one(AskTag::Strong(step)));
    let pinned = AskRequest { if_match, ..ask.clone() };
    let weakened = AskRequest { if_none_match: Some(AskTags::Lines(weakened)), ..pinned.clone() };
    vec![weakened, pinned]
}

/// Returns a foreign tag, and the same tag strong and weak.
fn other_tag(tag: &AskTag) -> Vec<AskTag> {
    let mut others = vec![foreign()];
    match tag {
        AskTag::Seen(step) | AskTag::Weak(step) | AskTag::Strong(step) => {
            others.extend([AskTag::Seen(*step), AskTag::Strong(*step), AskTag::Weak(*step)]);
        }
        AskTag::Guess(tag) => others.push(AskTag::Guess(Tag { weak: !tag.weak, ..tag.clone() })),
    }
    others.retain(|other| other != tag);
    others
}

/// Returns dates surely before and after one that was seen.
fn other_dates(AskDate(step, plus): AskDate) -> Vec<AskDate> {
    [-FAR, 0, FAR].into_iter().filter(|other| *other != plus).map(|other| AskDate(step, other)).collect()
}

/// Returns requests that show the state of the resource which the last of these asks is about: a GET, and writes whose
/// conditions depend on the state. Each ask has the number of its step.
pub(crate) fn follow_ups(asks: &[(usize, &Ask)], is_read_only: bool) -> Vec<Ask> {
    let Some(last) = asks.last().and_then(|(_, ask)| ask.own_request()) else { return Vec::new() };
    let get = AskRequest { name: last.name.clone(), ..AskRequest::default() };
    if is_read_only {
        return vec![Ask::Send(get)];
    }
    let put = AskRequest { method: Method::Put, body: Some("follow-up".into()), ..get.clone() };
    let mut follow_ups = vec![get, AskRequest { if_none_match: Some(AskTags::Any), ..put.clone() }];
    let is_same = |ask: &Ask| ask.own_request().is_some_and(|own| own.name == last.name);
    for (step, _) in asks.iter().rev().filter(|(_, ask)| is_same(ask)) {
        let tags = AskTags::one(AskTag::Seen(*step));
        follow_ups.push(AskRequest { if_match: Some(tags), ..put.clone() });
    }
    follow_ups.into_iter().map(Ask::Send).collect()
}

/// Returns the GET that shows the resource of this ask, if the ask is not that GET.
pub(crate) fn look(ask: &Ask) -> Option<Ask> {
    let own = ask.own_request()?;
    let look = AskRequest { name: own.name.clone(), ..AskRequest::default() };
    (look != *own).then_some(Ask::Send(look))
}

/// Returns `true` if the rule says that a resource does not change by itself, in a way that a GET shows.
fn shows(rule: &str) -> bool {
    let shows = [&rules::STAYS, &rules::STEADY_TAG, &rules::STEADY_DATE, &rules::STEADY_CONTENT];
    shows.iter().any(|one| one.name == rule)
}

/// Returns `true` if the rule says that a resource does not change by itself, or that it is served.
pub(crate) fn is_spontaneous(rule: &str) -> bool {
    shows(rule) || rule == rules::SERVES.name
}

/// Returns the GET that shows whether the resource of this ask changed by itself, in the way that the rule forbids. None
/// if no GET can show that, or if the ask is such a GET.
pub(crate) fn control(rule: &str, ask: &Ask) -> Option<Ask> {
    look(ask).filter(|_| shows(rule))
}
