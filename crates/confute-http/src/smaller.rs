//! Simpler asks: what a script is made smaller with.

use std::sync::Arc;

use crate::message::Tag;
use crate::protocol::{Ask, AskDate, AskIfRange, AskTag, AskTags};
use crate::text;

/// Whether nothing about it is out of the ordinary on the wire.
pub(crate) fn is_plain(ask: &Ask) -> bool {
    ask.odd.is_none() && ask.expect.is_none() && !ask.close && !ask.close_twice
}

/// The same with other numbers of steps.
pub(crate) fn renumber(ask: &Ask, now: &dyn Fn(usize) -> usize) -> Ask {
    let tag = |tag: &AskTag| match tag {
        AskTag::Seen(step) => AskTag::Seen(now(*step)),
        AskTag::Weak(step) => AskTag::Weak(now(*step)),
        AskTag::Strong(step) => AskTag::Strong(now(*step)),
        AskTag::Guess(tag) => AskTag::Guess(tag.clone()),
    };
    let tags = |tags: &AskTags| match tags {
        AskTags::Any => AskTags::Any,
        AskTags::Lines(lines) => {
            AskTags::Lines(lines.iter().map(|line| line.iter().map(tag).collect()).collect())
        }
    };
    let date = |AskDate(step, plus): AskDate| AskDate(now(step), plus);
    Ask {
        if_match: ask.if_match.as_ref().map(tags),
        if_none_match: ask.if_none_match.as_ref().map(tags),
        if_modified_since: ask.if_modified_since.map(date),
        if_unmodified_since: ask.if_unmodified_since.map(date),
        if_range: ask.if_range.as_ref().map(|value| match value {
            AskIfRange::Tag(one) => AskIfRange::Tag(tag(one)),
            AskIfRange::Date(one) => AskIfRange::Date(date(*one)),
        }),
        ..ask.clone()
    }
}

/// The same about fewer resources, then about ones that are numbered from zero.
pub(crate) fn plainer(asks: &[&Ask]) -> Vec<Vec<Ask>> {
    let mut names: Vec<&Arc<str>> = Vec::new();
    for ask in asks {
        if !names.contains(&&ask.name) {
            names.push(&ask.name);
        }
    }
    let renamed = |now: &dyn Fn(usize) -> Arc<str>| -> Option<Vec<Ask>> {
        asks.iter()
            .map(|ask| {
                let name = now(names.iter().position(|name| **name == ask.name)?);
                // Where content is held back, the place counts on the length of what is before.
                let fits = ask.expect.is_none() || name.len() == ask.name.len();
                fits.then(|| Ask { name, ..(*ask).clone() })
            })
            .collect()
    };
    let mut plainer = Vec::new();
    for from in (1..names.len()).rev() {
        for to in 0..from {
            plainer.extend(renamed(&|place| names[if place == from { to } else { place }].clone()));
        }
    }
    plainer.extend(renamed(&|place| format!("r{place}").into()));
    plainer
}

/// Asks that want less, the simplest first. Where the content is held back nothing is changed: its pieces count on the length
/// of what is before.
pub(crate) fn simpler(ask: &Ask) -> Vec<Ask> {
    if ask.expect.is_some() {
        return Vec::new();
    }
    let mut simpler = vec![
        Ask {
            if_match: None,
            if_none_match: None,
            if_modified_since: None,
            if_unmodified_since: None,
            range: Vec::new(),
            if_range: None,
            ..ask.clone()
        },
        Ask { if_match: None, ..ask.clone() },
        Ask { if_none_match: None, ..ask.clone() },
        Ask { if_modified_since: None, ..ask.clone() },
        Ask { if_unmodified_since: None, ..ask.clone() },
        Ask { if_range: None, ..ask.clone() },
        Ask { chunked: false, ..ask.clone() },
    ];
    // What refers to nothing needs nothing before it.
    simpler.extend([
        Ask { if_match: ask.if_match.as_ref().map(guessed), ..ask.clone() },
        Ask { if_none_match: ask.if_none_match.as_ref().map(guessed), ..ask.clone() },
    ]);
    let shorter = |tags: &Option<AskTags>| tags.as_ref().map(fewer).unwrap_or_default();
    simpler
        .extend(shorter(&ask.if_match).into_iter().map(|tags| Ask { if_match: Some(tags), ..ask.clone() }));
    simpler.extend(
        shorter(&ask.if_none_match).into_iter().map(|tags| Ask { if_none_match: Some(tags), ..ask.clone() }),
    );
    simpler.extend(
        ask.body.as_ref().and_then(|body| short(body)).map(|body| Ask { body: Some(body), ..ask.clone() }),
    );
    simpler.retain(|one| one != ask);
    simpler
}

/// The same, with a tag that was never there in place of each that was told.
fn guessed(tags: &AskTags) -> AskTags {
    let guessed = |tag: &AskTag| match tag {
        AskTag::Guess(tag) => AskTag::Guess(tag.clone()),
        _ => AskTag::Guess(Tag::strong(Tag::MADE_UP)),
    };
    match tags {
        AskTags::Any => AskTags::Any,
        AskTags::Lines(lines) => {
            AskTags::Lines(lines.iter().map(|line| line.iter().map(guessed).collect()).collect())
        }
    }
}

/// Lists with one tag less, and all on one line.
fn fewer(tags: &AskTags) -> Vec<AskTags> {
    let AskTags::Lines(lines) = tags else { return Vec::new() };
    let all: Vec<AskTag> = lines.iter().flatten().cloned().collect();
    let mut fewer = Vec::new();
    if all.len() > 1 {
        for left_out in 0..all.len() {
            let mut kept = lines.clone();
            let mut place = 0;
            for line in &mut kept {
                line.retain(|_| {
                    place += 1;
                    place - 1 != left_out
                });
            }
            kept.retain(|line| !line.is_empty());
            fewer.push(AskTags::Lines(kept));
        }
    }
    if lines.len() > 1 {
        fewer.push(AskTags::Lines(vec![all]));
    }
    fewer
}

/// A letter in place of many, by the number that the content is marked with: different contents mostly stay different.
fn short(body: &str) -> Option<Arc<str>> {
    if text::length(body) < 2 {
        return None;
    }
    let number: u64 =
        body.chars().skip(1).take(5).filter_map(|digit| digit.to_digit(10)).map(u64::from).sum();
    Some(char::from(b'a' + (number % 26) as u8).to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_one_is_simpler_and_it_ends() {
        let tags = |tags: Vec<Vec<AskTag>>| Some(AskTags::Lines(tags));
        let ask = Ask {
            if_match: tags(vec![
                vec![AskTag::Seen(3), AskTag::Guess(Tag::strong("x"))],
                vec![AskTag::Weak(1)],
            ]),
            if_none_match: Some(AskTags::Any),
            if_modified_since: Some(AskDate(2, 0)),
            body: Some("<00012><00012>".into()),
            chunked: true,
            ..Ask::default()
        };
        let mut open = vec![ask.clone()];
        let mut seen: Vec<Ask> = Vec::new();
        while let Some(one) = open.pop() {
            assert!(seen.len() < 2000, "no end");
            if !seen.contains(&one) {
                open.extend(simpler(&one));
                seen.push(one);
            }
        }
        assert!(seen.contains(&Ask { body: Some("d".into()), ..Ask::default() }));
        let only = Ask { if_match: tags(vec![vec![AskTag::Weak(1)]]), ..ask.clone() };
        assert!(seen.contains(&only));
        let guess =
            Ask { if_match: tags(vec![vec![AskTag::Guess(Tag::strong(Tag::MADE_UP))]]), ..only.clone() };
        assert!(seen.contains(&guess));
        assert_eq!(renumber(&only, &|step| step + 7).if_match, tags(vec![vec![AskTag::Weak(8)]]));
        assert_eq!(renumber(&ask, &|step| step), ask);
    }

    #[test]
    fn there_are_fewer_resources_or_plainer_ones() {
        let ask = |name: &str| Ask { name: name.into(), ..Ask::default() };
        let told = |asks: &[Ask]| -> Vec<Vec<String>> {
            let plainer = plainer(&asks.iter().collect::<Vec<_>>());
            plainer.iter().map(|asks| asks.iter().map(|ask| ask.name.to_string()).collect()).collect()
        };
        let three = [ask("r4"), ask("r1"), ask("r4"), ask("r2")];
        assert_eq!(
            told(&three),
            [
                ["r4", "r1", "r4", "r4"],
                ["r4", "r1", "r4", "r1"],
                ["r4", "r4", "r4", "r2"],
                ["r0", "r1", "r0", "r2"]
            ]
        );
        let held = [ask("r0"), Ask { expect: Some(500), ..ask("r10") }];
        assert!(told(&held).is_empty());
    }

    #[test]
    fn content_held_back_is_left_alone() {
        let ask = Ask { expect: Some(500), body: Some("<00012>".into()), ..Ask::default() };
        assert!(simpler(&ask).is_empty() && !is_plain(&ask) && is_plain(&Ask::default()));
    }
}
