//! Whether a response that came to a client is one that the origin sent, and what is wrong with it.

use super::breach::Breach;
use super::forward::{differing, is_merged, leaks};
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
    // Whatever is wrong with it comes of how the gateway takes a failure.
    let mut failure = wire;
    failure.add(Breach::FAILURE, true);
    failure
}

/// The same, for an answer that did not break off.
fn unbroken(request: &Request, sent: &Response, seen: &Response) -> Breach {
    let mut breach = on_the_wire(seen);
    if seen.status == 0 && seen.incomplete {
        // It broke off before it said anything.
        return breach;
    }
    if seen.fields.mark().is_some_and(|mark| Some(mark) != sent.fields.mark()) {
        breach.add(foreign(seen), true);
        return breach;
    }
    // With an answer like this at hand, a cache may say what the client asked to be told.
    let evaluates = request.is_read()
        && sent.status == 200
        && matches!(seen.status, 206 | 304 | 412 | 416)
        && request.fields.0.iter().any(|field| field.0.starts_with("If-") || &*field.0 == "Range");
    breach.add(Breach::STATUS, seen.status != sent.status && !evaluates);
    let names = |name: &&str| {
        // 304 tells little of what 200 would.
        !evaluates || !matches!(&*name.to_ascii_lowercase(), "content-type" | "last-modified")
    };
    breach.add(Breach::ANSWER_FIELDS, differing(&sent.fields, &seen.fields).any(|name| names(&name)));
    leaks(&sent.fields, &seen.fields, &mut breach);
    breach.add(Breach::MERGED, is_merged(&sent.trailers, &sent.fields, &seen.fields));
    // A gateway may leave them out. Whoever is asked for a whole URL is a proxy.
    let is_proxy = !request.target.starts_with('/');
    breach.add(Breach::INTERIM, is_proxy && !sent.interim.iter().all(|status| seen.interim.contains(status)));
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

/// What is wrong with a refusal of the gateway itself, where nothing is wrong with the request.
pub(super) fn own(seen: &Response) -> Option<Breach> {
    let mut breach = any(seen);
    breach.add(Breach::NEEDLESS, seen.status != 0);
    (seen.status >= 400 || seen.status == 0).then_some(breach)
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
