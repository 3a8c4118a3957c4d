//! Simplification of asks, for shrinking. Methods are kept, because the framing of a response depends on them.

use std::sync::Arc;

use crate::ask::{Ask, AskDate, AskIfRange, AskRequest, AskResponse, AskTag, AskTags};
use crate::message::{Field, Tag};
use confute_http1::text;

/// Returns `true` if the request has no unusual feature on the wire.
pub(crate) fn is_plain(ask: &AskRequest) -> bool {
    ask.odd.is_none() && ask.expect.is_none() && !ask.close && !ask.close_twice
}

/// Returns the request with its references to steps renumbered.
pub(crate) fn renumber(ask: &AskRequest, now: &dyn Fn(usize) -> usize) -> AskRequest {
    let tag = |tag: &AskTag| match tag {
        AskTag::Seen(step) => AskTag::Seen(now(*step)),
        AskTag::Weak(step) => AskTag::Weak(now(*step)),
        AskTag::Strong(step) => AskTag::Strong(now(*step)),
        AskTag::Guess(tag) => AskTag::Guess(tag.clone()),
    };
    let tags = |tags: &AskTags| tags.map(|one| Some(tag(one)));
    let date = |AskDate(step, plus): AskDate| AskDate(now(step), plus);
    AskRequest {
        if_match: ask.if_match.as_ref().and_then(tags),
        if_none_match: ask.if_none_match.as_ref().and_then(tags),
        if_modified_since: ask.if_modified_since.map(date),
        if_unmodified_since: ask.if_unmodified_since.map(date),
        if_range: ask.if_range.as_ref().map(|value| match value {
            AskIfRange::Tag(one) => AskIfRange::Tag(tag(one)),
            AskIfRange::Date(one) => AskIfRange::Date(date(*one)),
        }),
        ..ask.clone()
    }
}

/// Returns variants of the asks with fewer resources of the server itself, then one with resources numbered from zero.
pub(crate) fn plainer(asks: &[&Ask]) -> Vec<Vec<Ask>> {
    let mut names: Vec<&Arc<str>> = Vec::new();
    for ask in asks.iter().filter_map(|ask| ask.own_request()) {
        if !names.contains(&&ask.name) {
            names.push(&ask.name);
        }
    }
    if names.is_empty() {
        return Vec::new();
    }
    let renamed = |now: &dyn Fn(usize) -> Arc<str>| -> Option<Vec<Ask>> {
        asks.iter()
            .map(|ask| {
                let Some(own) = ask.own_request() else { return Some((*ask).clone()) };
                let name = now(names.iter().position(|name| **name == own.name)?);
                // If content is held back, the position of the cut depends on the length of the bytes before it.
                let fits = own.expect.is_none() || name.len() == own.name.len();
                fits.then(|| Ask::Send(AskRequest { name, ..own.clone() }))
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

/// Returns simpler variants of an ask, the simplest first.
pub(crate) fn simpler(ask: &Ask) -> Vec<Ask> {
    let mut simpler: Vec<Ask> = match ask {
        Ask::Send(request) => requests(request).into_iter().map(Ask::Send).collect(),
        Ask::Answer(response) => responses(response).into_iter().map(Ask::Answer).collect(),
    };
    simpler.retain(|one| one != ask);
    simpler
}

/// Returns simpler variants of a request. There are none if the content is held back: the positions of the cuts depend
/// on the length of the bytes before them.
fn requests(ask: &AskRequest) -> Vec<AskRequest> {
    if ask.expect.is_some() {
        return Vec::new();
    }
    let bare = AskRequest {
        if_match: None,
        if_none_match: None,
        if_modified_since: None,
        if_unmodified_since: None,
        range: Vec::new(),
        if_range: None,
        fields: Vec::new(),
        trailers: Vec::new(),
        ..ask.clone()
    };
    let mut simpler = Vec::new();
    if ask.is_forwarded() {
        // This applies to forwarded requests only. To the server itself, a PUT without content would be a different
        // request.
        simpler.push(AskRequest { body: None, chunked: false, ..bare.clone() });
        simpler.push(AskRequest { body: None, chunked: false, trailers: Vec::new(), ..ask.clone() });
        let path = ask.name.split_once('?').map(|(path, _)| path.into());
        simpler.extend(path.map(|name| AskRequest { name, ..ask.clone() }));
    }
    simpler.extend([
        bare,
        AskRequest { if_match: None, ..ask.clone() },
        AskRequest { if_none_match: None, ..ask.clone() },
        AskRequest { if_modified_since: None, ..ask.clone() },
        AskRequest { if_unmodified_since: None, ..ask.clone() },
        AskRequest { if_range: None, ..ask.clone() },
        AskRequest { chunked: false, trailers: Vec::new(), ..ask.clone() },
        AskRequest { trailers: Vec::new(), ..ask.clone() },
        // A request without references needs no earlier steps.
        AskRequest { if_match: ask.if_match.as_ref().and_then(guessed), ..ask.clone() },
        AskRequest { if_none_match: ask.if_none_match.as_ref().and_then(guessed), ..ask.clone() },
    ]);
    let shorter = |tags: &Option<AskTags>| tags.as_ref().map(fewer).unwrap_or_default().into_iter().map(Some);
    simpler.extend(shorter(&ask.if_match).map(|if_match| AskRequest { if_match, ..ask.clone() }));
    simpler
        .extend(shorter(&ask.if_none_match).map(|if_none_match| AskRequest { if_none_match, ..ask.clone() }));
    simpler.extend(without_one(&ask.fields).map(|fields| AskRequest { fields, ..ask.clone() }));
    let short = ask.body.as_ref().and_then(|body| short(body));
    simpler.extend(short.map(|body| AskRequest { body: Some(body), ..ask.clone() }));
    simpler
}

/// Returns simpler variants of a response. There are none if it is cut off: the position of the cut depends on the
/// length of the bytes before it. The status is kept, because the framing depends on it.
fn responses(ask: &AskResponse) -> Vec<AskResponse> {
    if ask.cut.is_some() {
        return Vec::new();
    }
    let bare = AskResponse { fields: Vec::new(), trailers: Vec::new(), interim: Vec::new(), ..ask.clone() };
    let mut simpler = vec![
        AskResponse { body: "".into(), ..bare.clone() },
        bare,
        AskResponse { interim: Vec::new(), ..ask.clone() },
        AskResponse { trailers: Vec::new(), ..ask.clone() },
    ];
    simpler.extend(without_one(&ask.fields).map(|fields| AskResponse { fields, ..ask.clone() }));
    simpler.extend(short(&ask.body).map(|body| AskResponse { body, ..ask.clone() }));
    simpler
}

fn without_one(fields: &[Field]) -> impl Iterator<Item = Vec<Field>> {
    (0..fields.len()).map(|place| [&fields[..place], &fields[place + 1..]].concat())
}

/// Replaces each tag from a response by one that never existed.
fn guessed(tags: &AskTags) -> Option<AskTags> {
    tags.map(|tag| match tag {
        AskTag::Guess(_) => Some(tag.clone()),
        _ => Some(AskTag::Guess(Tag::strong(Tag::MADE_UP))),
    })
}

/// Returns the lists with one tag less, and the list with all tags on one line.
fn fewer(tags: &AskTags) -> Vec<AskTags> {
    let AskTags::Lines(lines) = tags else { return Vec::new() };
    let all: Vec<AskTag> = tags.iter().cloned().collect();
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

/// Returns a single letter in place of longer content. It depends on the number in the mark of the content, so that
/// different contents mostly stay different.
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
    use crate::message::Method;

    /// Returns all asks that this one can become.
    fn all(ask: Ask) -> Vec<Ask> {
        let (mut open, mut seen) = (vec![ask], Vec::new());
        while let Some(one) = open.pop() {
            assert!(seen.len() < 2000, "no end");
            if !seen.contains(&one) {
                open.extend(simpler(&one));
                seen.push(one);
            }
        }
        seen
    }

    #[test]
    fn every_one_is_simpler_and_it_ends() {
        let tags = |tags: Vec<Vec<AskTag>>| Some(AskTags::Lines(tags));
        let ask = AskRequest {
            if_match: tags(vec![
                vec![AskTag::Seen(3), AskTag::Guess(Tag::strong("x"))],
                vec![AskTag::Weak(1)],
            ]),
            if_none_match: Some(AskTags::Any),
            if_modified_since: Some(AskDate(2, 0)),
            body: Some("<00012><00012>".into()),
            chunked: true,
            ..AskRequest::default()
        };
        let seen = all(ask.clone().into());
        let has = |one: &AskRequest| seen.contains(&Ask::Send(one.clone()));
        assert!(has(&AskRequest { body: Some("d".into()), ..AskRequest::default() }));
        let only = AskRequest { if_match: tags(vec![vec![AskTag::Weak(1)]]), ..ask.clone() };
        assert!(has(&only));
        let made_up = tags(vec![vec![AskTag::Guess(Tag::strong(Tag::MADE_UP))]]);
        assert!(has(&AskRequest { if_match: made_up, ..only.clone() }));
        assert_eq!(renumber(&only, &|step| step + 7).if_match, tags(vec![vec![AskTag::Weak(8)]]));
        assert_eq!(renumber(&ask, &|step| step), ask);
    }

    #[test]
    fn what_a_gateway_forwards_is_made_simpler_on_both_sides() {
        let fields = vec![Field::new("A", "1"), Field::new("B", "2")];
        let bare =
            AskRequest { method: Method::Put, name: "x".into(), mark: Some(7), ..AskRequest::default() };
        let ask = AskRequest {
            name: "x?y=z".into(),
            fields: fields.clone(),
            body: Some("<00001>".into()),
            chunked: true,
            trailers: vec![Field::new("C", "3")],
            ..bare.clone()
        };
        let seen = all(ask.into());
        assert!(seen.contains(&Ask::Send(bare.clone())));
        assert!(seen.contains(&Ask::Send(AskRequest { body: Some("b".into()), ..bare })));
        let plain = AskResponse { status: 200, ..AskResponse::default() };
        let answer = AskResponse { fields, body: "much".into(), interim: vec![103], ..plain.clone() };
        assert!(all(Ask::Answer(answer.clone())).contains(&Ask::Answer(plain)));
        assert!(simpler(&Ask::Answer(AskResponse { cut: Some(9), ..answer })).is_empty());
    }

    #[test]
    fn there_are_fewer_resources_or_plainer_ones() {
        let ask = |name: &str| AskRequest { name: name.into(), ..AskRequest::default() };
        let told = |asks: &[AskRequest]| -> Vec<Vec<String>> {
            let asks: Vec<Ask> = asks.iter().cloned().map(Ask::Send).collect();
            let name = |ask: &Ask| ask.own_request().map(|own| own.name.to_string()).unwrap_or_default();
            let plainer = plainer(&asks.iter().collect::<Vec<_>>());
            plainer.iter().map(|asks| asks.iter().map(name).collect()).collect()
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
        let held = [ask("r0"), AskRequest { expect: Some(500), ..ask("r10") }];
        assert!(told(&held).is_empty());
    }

    #[test]
    fn content_held_back_is_left_alone() {
        let ask = AskRequest { expect: Some(500), body: Some("<00012>".into()), ..AskRequest::default() };
        assert!(requests(&ask).is_empty() && !is_plain(&ask) && is_plain(&AskRequest::default()));
    }
}
