//! Comparison of fields: those that must be forwarded, those that must not, and those that a gateway adds.

use super::model::Mapping;
use crate::message::{Field, Fields, MARK, Request};
use crate::rules::RuleSet;

/// Fields known to apply to one connection (RFC 9110, 7.6.1). The tester sends neither `Upgrade` nor
/// `Transfer-Encoding` here.
const KNOWN: [&str; 3] = ["keep-alive", "proxy-connection", "te"];

/// Connection options that any sender may use on its own.
const COMMON: [&str; 6] = ["close", "keep-alive", "te", "upgrade", "http2-settings", "proxy-connection"];

/// Precondition fields, which the origin evaluates, or a cache in its place.
const CONDITIONS: [&str; 5] =
    ["If-Match", "If-None-Match", "If-Unmodified-Since", "If-Modified-Since", "If-Range"];

/// Returns `true` if the field is a precondition or Range, which the origin evaluates, or a cache in its place.
pub(super) fn is_condition(name: &str) -> bool {
    CONDITIONS.iter().any(|each| each.eq_ignore_ascii_case(name)) || name.eq_ignore_ascii_case("Range")
}

/// Returns the names of the fields that must be forwarded unchanged: those that the tester made up, and those with a
/// meaning for the recipient.
pub(super) fn end_to_end(fields: &Fields) -> impl Iterator<Item = &str> {
    let named = fields.connection();
    let looked_at = |name: &str| {
        let lower = name.to_ascii_lowercase();
        is_condition(name)
            || lower.starts_with("x-end")
            || name.eq_ignore_ascii_case(MARK)
            || matches!(&*lower, "content-type" | "cache-control" | "etag" | "last-modified")
    };
    fields
        .0
        .iter()
        .map(|field| &*field.0)
        .filter(move |name| looked_at(name) && !named.iter().any(|option| option.eq_ignore_ascii_case(name)))
}

/// Returns `true` if a field that only the tester knows is missing: a proxy must forward it (RFC 9110, 5.1).
pub(super) fn is_dropped(name: &str, seen: &Fields) -> bool {
    let is_unknown = name.eq_ignore_ascii_case(MARK) || name.to_ascii_lowercase().starts_with("x-end");
    is_unknown && !seen.has(name)
}

/// Returns the names of the end-to-end fields of a response that differ. If the response is truncated within its
/// header section (`in_part`), a missing rest is no difference.
pub(super) fn differing<'a>(
    sent: &'a Fields,
    seen: &'a Fields,
    in_part: bool,
) -> impl Iterator<Item = &'a str> {
    let is_kept = move |name: &str| is_kept(name, sent, seen) || (in_part && is_begun(name, sent, seen));
    end_to_end(sent).filter(move |name| !is_kept(name))
}

/// Returns `true` if the received lines of this field may be a prefix of the sent ones.
fn is_begun(name: &str, sent: &Fields, seen: &Fields) -> bool {
    name.eq_ignore_ascii_case("Cache-Control") || sent.list(name).starts_with(&seen.list(name))
}

/// Returns `true` if the field still has its value. Directives may be added to `Cache-Control`.
pub(super) fn is_kept(name: &str, sent: &Fields, seen: &Fields) -> bool {
    let (sent, seen) = (sent.list(name), seen.list(name));
    if name.eq_ignore_ascii_case("Cache-Control") {
        return sent.iter().all(|each| seen.iter().any(|other| other.eq_ignore_ascii_case(each)));
    }
    sent == seen
}

/// Returns `true` if a trailer field has been merged into the header section.
pub(super) fn is_merged(trailers: &Fields, sent: &Fields, seen: &Fields) -> bool {
    trailers.0.iter().any(|field| !sent.has(&field.0) && seen.has(&field.0))
}

/// Adds the rules that are broken by fields and options of one connection on the next one.
pub(super) fn leaks(sent: &Fields, seen: &Fields, broken: &mut RuleSet) {
    let (named, still_named) = (sent.connection(), seen.connection());
    let is_private = |option: &&String| !COMMON.contains(&&***option);
    let leaked = |name: &str| sent.all(name).any(|value| seen.all(name).any(|other| other == value));
    broken.add_if(still_named.iter().filter(is_private).any(|it| named.contains(it)), RuleSet::CONNECTION);
    for option in &named {
        // If Connection still lists the field, the next recipient can remove it as this one should have done.
        let is_known = KNOWN.contains(&&**option) && option != "te";
        broken.add_if(leaked(option) && !still_named.contains(option) && !is_known, RuleSet::NAMED);
        broken.add_if(leaked(option) && is_known, RuleSet::KNOWN);
    }
    for name in KNOWN {
        let named = named.iter().any(|option| option == name);
        broken.add_if(!named && leaked(name), RuleSet::KNOWN);
    }
}

/// Returns `true` if Via has a new member at its end, with the protocol version of the client's request.
pub(super) fn has_via(sent: &Request, seen: &Request) -> bool {
    let (before, after) = (sent.forwarded.fields.list("Via"), seen.forwarded.fields.list("Via"));
    let protocol = |member: &String| {
        // The protocol name is optional, and may be any token: some gateways send HTTPS.
        let word = member.split_ascii_whitespace().next().unwrap_or_default();
        word.rsplit_once('/').map_or(word, |(_, version)| version).to_owned()
    };
    let Some(last) = after.last() else { return false };
    // Consecutive members with equal protocols may be combined into one.
    let mut protocols: Vec<String> = before.iter().map(protocol).collect();
    protocols.push("1.1".to_owned());
    let mut told: Vec<String> = after.iter().map(protocol).collect();
    protocols.dedup();
    told.dedup();
    // A gateway that is a chain of two adds two members, with the same version or another.
    told.starts_with(&protocols) && before.last() != Some(last)
}

/// Returns the value of Host, if there is exactly one.
pub(super) fn one_host(seen: &Request) -> Option<&str> {
    let mut hosts = seen.forwarded.fields.all("Host");
    hosts.next().filter(|_| hosts.next().is_none())
}

/// Returns `false` if Host has the name of the gateway or the origin, but not a port of it. The gateway may know the
/// origin by the name by which clients know the gateway, for example if both run on one machine. The default port is
/// that of http or https, because either may be used on either side.
pub(super) fn is_port_known(host: &str, mapping: &Mapping) -> bool {
    let (name, port) = split(host);
    let [client, origin] = [&*mapping.host, &*mapping.origin].map(split);
    let is_default = |port: Option<u16>| matches!(port, None | Some(80 | 443));
    let is_same = |known: Option<u16>| known == port || (is_default(known) && is_default(port));
    match [client, origin].map(|(known, _)| known.eq_ignore_ascii_case(name)) {
        [true, _] => is_same(client.1) || is_same(origin.1),
        [false, true] => is_same(origin.1),
        [false, false] => true,
    }
}

/// Splits an authority into the host and the port, if any.
fn split(authority: &str) -> (&str, Option<u16>) {
    match authority.rsplit_once(':') {
        // An empty port is equivalent to none (RFC 3986, 3.2.3).
        Some((host, "")) => (host, None),
        Some((host, port)) if !port.contains(']') => (host, Some(port.parse().unwrap_or(0))),
        _ => (authority, None),
    }
}

/// Returns the fields that do not apply to one connection only.
pub(super) fn kept(fields: &Fields) -> Fields {
    let named = fields.connection();
    let known = ["connection", "keep-alive", "proxy-connection", "te"];
    let is_kept = |field: &&Field| {
        let name = field.0.to_ascii_lowercase();
        !named.contains(&name) && !known.contains(&&*name)
    };
    Fields(fields.0.iter().filter(is_kept).cloned().collect())
}
