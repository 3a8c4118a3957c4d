//! Whether a request that came to the origin is one that a client sent, and what is wrong with it.

use super::breach::Breach;
use super::message::{Fields, MARK, Request};
use super::model::Mapping;

/// About one connection, known to be (RFC 9110, 7.6.1). `Upgrade` and `Transfer-Encoding` are not sent in the first place.
const KNOWN: [&str; 3] = ["keep-alive", "proxy-connection", "te"];

/// Options of `Connection` that anybody may choose.
const COMMON: [&str; 6] = ["close", "keep-alive", "te", "upgrade", "http2-settings", "proxy-connection"];

/// What the origin evaluates, and a cache may evaluate in its place.
const CONDITIONS: [&str; 5] =
    ["If-Match", "If-None-Match", "If-Unmodified-Since", "If-Modified-Since", "If-Range"];

/// What is wrong with `seen` as the forwarded form of `sent`; `None` if it is another request altogether.
pub(super) fn judge(sent: &Request, seen: &Request, mapping: &Mapping) -> Option<Breach> {
    if seen.fields.mark().is_some_and(|mark| Some(mark) != sent.fields.mark()) {
        return None;
    }
    let mut breach = Breach::default();
    // A gateway that needs only the head may ask for all of it (RFC 9110, 3.7: inbound it speaks as it likes).
    let is_more = sent.is_head() && &*seen.method == "GET";
    breach.add(Breach::METHOD, seen.method != sent.method && !is_more);
    breach.add(Breach::TARGET, *seen.target != *mapping.target(&sent.target));
    breach.add(Breach::CONTENT, seen.content() != sent.content());
    breach.add(Breach::GRAMMAR, !seen.flaws.is_empty());
    match one_host(seen) {
        Some(host) => breach.add(Breach::PORT, !is_port_known(host, mapping)),
        // In HTTP/1.0 there need not be one.
        None => breach.add(Breach::HOST, seen.minor > 0 || seen.fields.has("Host")),
    }
    breach.add(Breach::VIA, !has_via(sent, seen));
    if let Some(forwards) = sent.max_forwards() {
        let left = seen.max_forwards();
        breach.add(Breach::FORWARDS, forwards > 0 && left.is_none_or(|left| left >= forwards));
        breach.add(Breach::ZERO, forwards == 0);
    }
    leaks(&sent.fields, &seen.fields, &mut breach);
    breach.add(Breach::MERGED, is_merged(&sent.trailers, &sent.fields, &seen.fields));
    // A cache may look for something else than it was asked for.
    let may_differ = |name: &str| sent.is_read() && is_condition(name);
    for name in end_to_end(&sent.fields) {
        let is_kept = is_kept(name, &sent.fields, &seen.fields);
        let kind = match () {
            () if is_condition(name) => Breach::CONDITIONS,
            () if sent.is_to_proxy() && is_dropped(name, &seen.fields) => Breach::DROPPED,
            () => Breach::FIELDS,
        };
        breach.add(kind, !is_kept && !may_differ(name));
    }
    Some(breach)
}

fn is_condition(name: &str) -> bool {
    CONDITIONS.iter().any(|each| each.eq_ignore_ascii_case(name)) || name.eq_ignore_ascii_case("Range")
}

/// The names of the fields that have to arrive as they are: those that the tester made up, and those that mean something
/// to the origin.
fn end_to_end(fields: &Fields) -> impl Iterator<Item = &str> {
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

/// Whether a field that nobody but the tester knows is missing: a proxy must forward it (RFC 9110, 5.1).
pub(super) fn is_dropped(name: &str, seen: &Fields) -> bool {
    let is_unknown = name.eq_ignore_ascii_case(MARK) || name.to_ascii_lowercase().starts_with("x-end");
    is_unknown && !seen.has(name)
}

/// The same for a response: those that differ. Where only a part of the head came, what is missing may have been to come.
pub(super) fn differing<'a>(
    sent: &'a Fields,
    seen: &'a Fields,
    in_part: bool,
) -> impl Iterator<Item = &'a str> {
    let is_kept = move |name: &str| is_kept(name, sent, seen) || (in_part && is_begun(name, sent, seen));
    end_to_end(sent).filter(move |name| !is_kept(name))
}

/// Whether what came of the field of this name may be its beginning.
fn is_begun(name: &str, sent: &Fields, seen: &Fields) -> bool {
    name.eq_ignore_ascii_case("Cache-Control") || sent.list(name).starts_with(&seen.list(name))
}

/// Whether the field of this name has its value still. Directives may be added to those of `Cache-Control`.
fn is_kept(name: &str, sent: &Fields, seen: &Fields) -> bool {
    let (sent, seen) = (sent.list(name), seen.list(name));
    if name.eq_ignore_ascii_case("Cache-Control") {
        return sent.iter().all(|each| seen.iter().any(|other| other.eq_ignore_ascii_case(each)));
    }
    sent == seen
}

/// Whether a field that came after the content is now before it.
pub(super) fn is_merged(trailers: &Fields, sent: &Fields, seen: &Fields) -> bool {
    trailers.0.iter().any(|field| !sent.has(&field.0) && seen.has(&field.0))
}

/// What is about a connection must stay there.
pub(super) fn leaks(sent: &Fields, seen: &Fields, breach: &mut Breach) {
    let (named, still_named) = (sent.connection(), seen.connection());
    let is_private = |option: &&String| !COMMON.contains(&&***option);
    let leaked = |name: &str| sent.all(name).any(|value| seen.all(name).any(|other| other == value));
    breach.add(Breach::CONNECTION, still_named.iter().filter(is_private).any(|it| named.contains(it)));
    for option in &named {
        // Where Connection still names it, the next recipient can do what this one should have done.
        let is_known = KNOWN.contains(&&**option) && option != "te";
        breach.add(Breach::NAMED, leaked(option) && !still_named.contains(option) && !is_known);
        breach.add(Breach::KNOWN, leaked(option) && is_known);
    }
    for name in KNOWN {
        let named = named.iter().any(|option| option == name);
        breach.add(Breach::KNOWN, !named && leaked(name));
    }
}

/// Whether there is a new member at the end of Via, with the version of the client.
fn has_via(sent: &Request, seen: &Request) -> bool {
    let (before, after) = (sent.fields.list("Via"), seen.fields.list("Via"));
    let protocol = |member: &String| {
        // The name of the protocol may be left out, and is any token: some say HTTPS.
        let word = member.split_ascii_whitespace().next().unwrap_or_default();
        word.rsplit_once('/').map_or(word, |(_, version)| version).to_owned()
    };
    let Some(last) = after.last() else { return false };
    // Equal versions in a row may be made one.
    let mut protocols: Vec<String> = before.iter().map(protocol).collect();
    protocols.push("1.1".to_owned());
    let mut told: Vec<String> = after.iter().map(protocol).collect();
    protocols.dedup();
    told.dedup();
    // Those who add more than themselves (a chain of two) tell the same version again, or another.
    told.starts_with(&protocols) && before.last() != Some(last)
}

/// The only Host, if there is one.
fn one_host(seen: &Request) -> Option<&str> {
    let mut hosts = seen.fields.all("Host");
    hosts.next().filter(|_| hosts.next().is_none())
}

/// Whether a Host that has a name that the gateway or the origin is known by has a port that belongs to it. The gateway may know
/// the origin by the name that clients know itself by, as where all is one machine. Without a port it is that of http, or of
/// https, as it is spoken on either side.
fn is_port_known(host: &str, mapping: &Mapping) -> bool {
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

/// Host and port, if there is one.
fn split(authority: &str) -> (&str, Option<u16>) {
    match authority.rsplit_once(':') {
        // An empty port is none (RFC 3986, 3.2.3).
        Some((host, "")) => (host, None),
        Some((host, port)) if !port.contains(']') => (host, Some(port.parse().unwrap_or(0))),
        _ => (authority, None),
    }
}
