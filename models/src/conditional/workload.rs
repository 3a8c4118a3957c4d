//! Traffic for the conditional store, with tags that are current, stale, of the other strength, or invented.

use super::{Conditional, Message, Tag};
use crate::{Workload, mark, one_of};

impl Workload for Conditional {
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, seen: &[Message]) -> Message {
        let key = format!("k{}", pick(2)).into();
        if pick(5) < 3 {
            Message::Get { key, if_none_match: (pick(2) == 0).then(|| tag(pick, seen)) }
        } else {
            let body = mark(pick).into();
            Message::Put { key, if_match: (pick(3) != 0).then(|| tag(pick, seen)), body }
        }
    }
}

/// Returns mostly one of the latest tags, sometimes an old one, sometimes with its weakness flipped,
/// sometimes a guess.
fn tag(pick: &mut dyn FnMut(u64) -> u64, seen: &[Message]) -> Tag {
    let tags = seen.iter().rev().filter_map(|message| match message {
        Message::Ok { tag, .. } => Some(tag.clone()),
        _ => None,
    });
    let tags: Vec<Tag> = tags.take(if pick(4) == 0 { usize::MAX } else { 3 }).collect();
    match one_of(&tags, pick) {
        Some(tag) if pick(10) != 0 => Tag { weak: tag.weak != (pick(6) == 0), ..tag },
        _ => Tag { weak: pick(2) == 0, opaque: format!("guess{}", pick(10)).into() },
    }
}
