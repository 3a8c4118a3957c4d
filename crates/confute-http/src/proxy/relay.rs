//! Whether a response that came to a client is one that the origin sent, and what is wrong with it.

use super::breach::Breach;
use super::encode;
use super::forward::{differing, is_dropped, is_merged, leaks};
use super::message::{Frame, Request, Response};
use crate::message::Flaw;
use crate::text;

/// What is wrong with the wire.
pub(super) fn on_the_wire(seen: &Response) -> Breach {
    let mut breach = Breach::default();
    for flaw in &seen.flaws {
        let kind = match flaw {
            Flaw::Surplus => Breach::SURPLUS,
            Flaw::Chunks => Breach::CHUNKS,
            Flaw::Grammar | Flaw::Tag => Breach::ANSWER_GRAMMAR,
            Flaw::Framing => Breach::FRAMING,
            Flaw::AfterClose => Breach::LAST,
            Flaw::Stalled => Breach::SILENT,
            // Both dates are the origin's, which is the tester.
            Flaw::Later => continue,
        };
        breach.add(kind, true);
    }
    breach
}

/// What it is to be somebody else's answer.
pub(super) fn foreign(seen: &Response) -> Breach {
    if seen.pipelined { Breach::ORDER } else { Breach::OWN }
}

/// What is wrong with `seen` as the relayed form of `sent`, the answer to `request`.
pub(super) fn judge(request: &Request, sent: &Response, seen: &Response) -> Breach {
    let (breach, wire) = (unbroken(request, sent, seen), on_the_wire(seen));
    if sent.cut.is_none() || (seen.incomplete && breach == wire) {
        return breach;
    }
    // Who is asked for the head alone, or says that it has not changed, needs no more than the head.
    let is_head_enough = request.is_head() || (seen.status == 304 && evaluates(request, sent, seen));
    if is_head_enough && !seen.incomplete && encode::has_head(sent) {
        return breach;
    }
    // A part that lies wholly within what came of a 200 may be sent as 206 (RFC 9111, 3.3).
    if seen.status == 206 && evaluates(request, sent, seen) && !seen.incomplete && is_within(sent, seen) {
        return breach;
    }
    // Whatever is wrong with it comes of how the gateway takes a failure.
    let mut failure = wire;
    failure.add(Breach::FAILURE, true);
    failure
}

/// The same, for an answer that did not break off.
fn unbroken(request: &Request, sent: &Response, seen: &Response) -> Breach {
    let mut breach = on_the_wire(seen);
    if seen.incomplete && seen.status < 200 {
        // It broke off before it said anything: an interim response is not the answer.
        return breach;
    }
    if seen.fields.mark().is_some_and(|mark| Some(mark) != sent.fields.mark()) {
        breach.add(foreign(seen), true);
        return breach;
    }
    let evaluates = evaluates(request, sent, seen);
    breach.add(Breach::STATUS, seen.status != sent.status && !evaluates);
    for name in differing(&sent.fields, &seen.fields, seen.in_head) {
        let is_proxys = request.is_to_proxy() && is_dropped(name, &seen.fields);
        let kind = if is_proxys { Breach::DROPPED } else { Breach::ANSWER_FIELDS };
        breach.add(kind, !evaluates || is_told(name, seen.status));
    }
    leaks(&sent.fields, &seen.fields, &mut breach);
    breach.add(Breach::MERGED, is_merged(&sent.trailers, &sent.fields, &seen.fields));
    // A gateway may leave them out.
    let are_told = sent.interim.iter().all(|status| seen.interim.contains(status));
    breach.add(Breach::INTERIM, request.is_to_proxy() && !are_told);
    let (had, came) = (text::bytes(&sent.body), text::bytes(&seen.body));
    let is_part = had.starts_with(&came);
    if !evaluates {
        // Some ask the origin for all of it, to tell the head: nothing else may go to the client then.
        let is_bare = sent.frame == Frame::Bare || request.is_head();
        let is_whole = seen.incomplete || is_bare || had == came;
        // What wrong chunks make of the content is their fault.
        let is_clear = !is_bare && !breach.has(Breach::CHUNKS);
        breach.add(Breach::TRANSFORMED, is_clear && (!is_part || !is_whole));
    }
    breach
}

/// Whether the content of a 206 is a part of what the origin had sent of its answer before it broke off. Which part it claims to be is
/// not among the fields that are compared.
fn is_within(sent: &Response, seen: &Response) -> bool {
    let (came, part) = (encode::content_before_cut(sent), text::bytes(&seen.body));
    !part.is_empty() && came.windows(part.len()).any(|window| window == &*part)
}

/// Whether a cache that has an answer like this at hand says what the client asked to be told.
fn evaluates(request: &Request, sent: &Response, seen: &Response) -> bool {
    request.is_read()
        && sent.status == 200
        && matches!(seen.status, 206 | 304 | 412 | 416)
        && request.fields.0.iter().any(|field| field.0.starts_with("If-") || &*field.0 == "Range")
}

/// Whether such an answer has this field of the 200: 412 and 416 are about the request, and 304 needs to tell no more than
/// RFC 9110, 15.4.5, lists.
fn is_told(name: &str, status: u16) -> bool {
    match status {
        412 | 416 => false,
        304 => ["ETag", "Cache-Control"].iter().any(|each| name.eq_ignore_ascii_case(each)),
        _ => !["Content-Type", "Last-Modified"].iter().any(|each| name.eq_ignore_ascii_case(each)),
    }
}

/// What is wrong with a refusal of the gateway itself, where nothing is wrong with the request.
pub(super) fn own(seen: &Response) -> Option<Breach> {
    let mut breach = any(seen);
    breach.add(Breach::NEEDLESS, seen.status != 0);
    // Where it is known what the gateway failed at, a rule of its own says that it must not.
    (!seen.provoked && (seen.status >= 400 || seen.status == 0)).then_some(breach)
}

/// How long after its end a connection may be taken for one that can be used, in microseconds.
const NOTICED: i64 = 1_000_000;

/// What is wrong with what a client is told whose request went to a connection that the origin had ended; `None` if none was
/// ended that could have carried it.
pub(super) fn lost(seen: &Response) -> Option<Breach> {
    let (asked, ended) = seen.asked_at.zip(seen.origin_ended_at)?;
    let is_failure = matches!(seen.status, 502..=504) && seen.fields.mark().is_none();
    (is_failure && asked <= ended.saturating_add(NOTICED)).then(|| on_the_wire(seen))
}

/// The same for an answer to this request, which was not forwarded: a gateway may also send clients elsewhere, or be what they
/// ask about the options of (RFC 9110, 7.4 and 9.3.7).
pub(super) fn instead(request: &Request, seen: &Response) -> Option<Breach> {
    let is_elsewhere = (300..400).contains(&seen.status) && seen.status != 304;
    let is_about_itself = &*request.method == "OPTIONS" && (200..300).contains(&seen.status);
    if !(is_elsewhere || is_about_itself) || seen.fields.mark().is_some() {
        return own(seen);
    }
    let mut breach = any(seen);
    breach.add(Breach::NEEDLESS, true);
    Some(breach)
}

/// What is wrong with what a client is told after the origin has failed.
pub(super) fn failed(seen: &Response) -> Breach {
    let mut breach = on_the_wire(seen);
    breach.add(Breach::STORED, seen.fields.mark().is_some());
    breach.add(Breach::FAILURE, seen.status < 500 && seen.status != 0);
    breach
}

/// What is wrong with an answer that is the gateway's own affair.
pub(super) fn any(seen: &Response) -> Breach {
    let mut breach = on_the_wire(seen);
    breach.add(Breach::STORED, seen.fields.mark().is_some());
    breach
}
