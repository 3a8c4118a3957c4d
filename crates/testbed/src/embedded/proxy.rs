//! The reverse proxy: forwards requests under a prefix to an origin (RFC 9110, 7.6).
//!
//! The proxy is a gateway without a cache: it neither evaluates conditions nor changes content. A request is received
//! in full before it is forwarded, a response in full before it is relayed.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::bug::Bug;
use super::date;
use super::input::Trouble;
use super::message::{Fields, Request};
use super::origin::ALLOW;
use super::pool::{Pool, Received, is_idempotent};
use super::response::{AnnouncedLength, Response, reason};
use super::switches::{Stop, SwapPoint, Switches};

/// Prefix of forwarded paths, and the origin they are forwarded to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Prefix of the forwarded paths, removed from the target: `/proxy/` makes `/proxy/a` the origin's `/a`.
    pub prefix: String,
    /// Address of the origin.
    pub origin: SocketAddr,
    /// Maximum time for a response of the origin; after that the client gets 504.
    pub patience: Duration,
}

/// Connection-specific fields, which are removed even if Connection does not list them.
const HOP_BY_HOP: [&str; 7] =
    ["connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "transfer-encoding"];

/// The reverse proxy and the state of its bugs.
#[derive(Debug)]
pub(crate) struct Proxy {
    upstream: Upstream,
    /// Pseudonym of the proxy in Via.
    name: String,
    pool: Pool,
    switches: Arc<Switches>,
    mixing: SwapPoint<Response>,
    last_put: Mutex<Vec<u8>>,
    old: Mutex<HashMap<String, (u64, Response)>>,
}

impl Proxy {
    pub(crate) fn new(
        upstream: Upstream,
        port: u16,
        limit: usize,
        switches: Arc<Switches>,
        stop: Arc<Stop>,
    ) -> Self {
        let pool = Pool::new(upstream.origin, upstream.patience, limit, stop);
        let name = format!("embedded:{port}");
        let (mixing, last_put, old) = (SwapPoint::default(), Mutex::default(), Mutex::default());
        Self { upstream, name, pool, switches, mixing, last_put, old }
    }

    /// Returns the target at the origin if the path is to be forwarded.
    pub(crate) fn maps(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(&self.upstream.prefix)?;
        Some(format!("/{}", rest.strip_prefix('/').unwrap_or(rest)))
    }

    /// Forwards a request that was received in full.
    pub(crate) fn answer(&self, mut request: Request, target: &str) -> Response {
        if request.fields.tokens("via").iter().any(|it| it.contains(&self.name)) {
            return Response::explained(502, "this request has been here before");
        }
        let limited = matches!(&request.method[..], "OPTIONS" | "TRACE");
        let forwards =
            request.fields.only("max-forwards").and_then(|it| it.parse::<u64>().ok()).filter(|_| limited);
        if forwards == Some(0) && !self.switches.has(Bug::MaxForwardsIgnored) {
            return last_recipient(&request);
        }
        if !request.content.is_empty() && self.switches.strikes(Bug::ProxyCutsRequest, 4) {
            request.content.pop();
        }
        let target = match target.split_once('?') {
            Some((path, _)) if self.switches.has(Bug::ProxyDropsQuery) => path,
            _ => target,
        };
        if request.method == "GET" && self.switches.strikes(Bug::ProxyAnswersItself, 4) {
            return Response::explained(200, "welcome");
        }
        if let Some(old) = self.remembered(&request, target) {
            return old;
        }
        if self.switches.strikes(Bug::ProxyAsksUnasked, 6) {
            let unasked =
                format!("GET {target} HTTP/1.1\r\nHost: {}\r\nVia: 1.1 me\r\n\r\n", self.upstream.origin);
            let _ = self.pool.exchange(unasked.as_bytes(), "GET");
        }
        if request.method == "POST" && self.switches.has(Bug::ProxyChangesMethod) {
            "PUT".clone_into(&mut request.method);
        }
        let bytes = self.forwarded(&request, target, forwards);
        if !is_idempotent(&request.method) && self.switches.has(Bug::ProxySendsTwice) {
            let _ = self.pool.exchange(&bytes, &request.method);
        }
        let mut received = self.pool.exchange(&bytes, &request.method);
        if received.is_err() && !is_idempotent(&request.method) && self.switches.has(Bug::ProxyRetriesPost) {
            received = self.pool.exchange(&bytes, &request.method);
        }
        let response = match received {
            Ok(received)
                if received.trailers.iter().next().is_some()
                    && self.switches.has(Bug::ProxyFailsAtTrailers) =>
            {
                return Response::explained(502, "something is left over");
            }
            Err(_) if self.switches.has(Bug::ProxyHidesFailure) => return Response::empty(204),
            Ok(received)
                if !received.interim.is_empty() && self.switches.has(Bug::ProxyStartledByInterim) =>
            {
                return Response::explained(502, "this is no answer");
            }
            Ok(received) => self.relayed(received, &request.method),
            Err(Trouble::Late) => return Response::explained(504, "the origin takes too long"),
            Err(Trouble::Gone) => return Response::explained(502, "the origin does not answer"),
            Err(Trouble::Bad(_, why)) => return Response::explained(502, why),
        };
        self.afterwards(&request, target, bytes, response)
    }

    /// Serializes the request for the origin.
    fn forwarded(&self, request: &Request, target: &str, forwards: Option<u64>) -> Vec<u8> {
        let host = if self.switches.has(Bug::ProxyHostWithoutPort) {
            self.upstream.origin.ip().to_string()
        } else {
            self.upstream.origin.to_string()
        };
        let end = if self.switches.has(Bug::ProxyBareLineFeed) { "\n" } else { "\r\n" };
        let mut bytes = format!("{} {target} HTTP/1.1{end}Host: {host}\r\n", request.method).into_bytes();
        let mut line = |name: &str, value: &[u8]| {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                bytes.extend_from_slice(part);
            }
        };
        for (name, value) in self.end_to_end(&request.fields) {
            let condition = ["if-match", "if-none-match"].iter().any(|it| name.eq_ignore_ascii_case(it));
            match name.to_ascii_lowercase().as_str() {
                "host" if self.switches.has(Bug::ProxyTwoHosts) => line(name, value),
                "host" | "content-length" | "expect" => {}
                lower if lower.starts_with("x-end") && self.switches.has(Bug::ProxyDropsFields) => {}
                "max-forwards" if forwards.is_some() => {}
                _ if condition && self.switches.has(Bug::ProxyDropsConditions) => {}
                _ => line(name, value),
            }
        }
        if let Some(forwards) = forwards {
            let less = u64::from(!self.switches.has(Bug::MaxForwardsKept));
            line("Max-Forwards", forwards.saturating_sub(less).to_string().as_bytes());
        }
        if !self.switches.has(Bug::ViaMissing) {
            line("Via", format!("1.{} {}", request.minor, self.name).as_bytes());
        }
        let measured = request.fields.has("content-length") || request.fields.has("transfer-encoding");
        if measured || !request.content.is_empty() {
            line("Content-Length", request.content.len().to_string().as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&request.content);
        bytes
    }

    /// Returns the fields that are not connection-specific (7.6.1).
    fn end_to_end<'a>(&self, fields: &'a Fields) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let named = fields.tokens("connection");
        let (all, some) = (self.switches.has(Bug::HopByHopLeak), self.switches.has(Bug::NamedFieldLeak));
        fields.iter().filter(move |(name, _)| {
            let name = name.to_ascii_lowercase();
            let known = HOP_BY_HOP.contains(&&name[..]) && !(all && name != "transfer-encoding");
            let named = named.contains(&name) && !(all || some);
            !known && !named
        })
    }

    /// Converts a response of the origin into the one for the client.
    fn relayed(&self, received: Received, method: &str) -> Response {
        let Received { minor, status, fields, content, trailers, interim } = received;
        let status = match status {
            404 if self.switches.has(Bug::ProxyChangesStatus) => 410,
            200 if self.switches.strikes(Bug::ProxyChangesStatus, 4) => 203,
            status => status,
        };
        let mut response = Response::with(status, Arc::from(content));
        let is_untold =
            |name: &str| name.eq_ignore_ascii_case("etag") && self.switches.has(Bug::ProxyDropsTag);
        for (name, value) in self.end_to_end(&fields) {
            if !name.eq_ignore_ascii_case("content-length") && !is_untold(name) {
                response.fields.push((name.to_owned(), value.to_vec()));
            }
        }
        if self.switches.has(Bug::ProxyMergesTrailers) {
            let merged = trailers.iter().map(|(name, value)| (name.to_owned(), value.to_vec()));
            response.fields.extend(merged);
        }
        response = response.field("Via", format!("1.{minor} {}", self.name));
        if method == "HEAD" || status == 304 {
            let length = fields.only("content-length").and_then(|it| it.parse().ok());
            response.announced = length.map_or(AnnouncedLength::Nothing, AnnouncedLength::This);
        }
        for (status, fields) in interim {
            let lines = &mut response.interim;
            lines.extend_from_slice(format!("HTTP/1.1 {status} {}\r\n", reason(status)).as_bytes());
            for (name, value) in self.end_to_end(&fields) {
                lines.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
            }
            lines.extend_from_slice(b"\r\n");
        }
        response
    }

    /// Applies the bugs that strike after the origin has responded.
    fn afterwards(
        &self,
        request: &Request,
        target: &str,
        bytes: Vec<u8>,
        mut response: Response,
    ) -> Response {
        let bugs = &self.switches;
        match &request.method[..] {
            "PUT" if bugs.has(Bug::ProxyReplaysPut) => {
                *self.last_put.lock().expect("nobody panics while holding it") = bytes;
            }
            "DELETE" if bugs.strikes(Bug::ProxyReplaysPut, 2) => {
                let again = self.last_put.lock().expect("nobody panics while holding it").clone();
                if !again.is_empty() {
                    let _ = self.pool.exchange(&again, "PUT");
                }
            }
            "GET" if response.status == 200 => {
                if bugs.has(Bug::ProxyKeepsOld) {
                    let mut old = self.old.lock().expect("nobody panics while holding it");
                    old.insert(target.to_owned(), (date::now(), response.clone()));
                }
                if !response.part.is_empty() && bugs.strikes(Bug::ProxyCutsResponse, 4) {
                    response.part.end -= 1;
                }
                if bugs.strikes(Bug::ProxyMixUp, 2) {
                    response = self.mixing.meet(response, |_| true);
                }
            }
            _ => {}
        }
        response
    }

    /// Returns a stored response that no PUT or DELETE has invalidated, for [`Bug::ProxyKeepsOld`].
    fn remembered(&self, request: &Request, target: &str) -> Option<Response> {
        let plain = request.method == "GET"
            && !["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "range"]
                .iter()
                .any(|it| request.fields.has(it));
        if !plain || !self.switches.strikes(Bug::ProxyKeepsOld, 3) {
            return None;
        }
        let (since, old) = self.old.lock().expect("nobody panics while holding it").get(target)?.clone();
        Some(old.field("Age", date::now().saturating_sub(since).to_string()))
    }
}

/// Returns the response to an OPTIONS or TRACE that must not be forwarded (7.6.2).
fn last_recipient(request: &Request) -> Response {
    if request.method == "OPTIONS" {
        return Response::empty(204).field("Allow", format!("{ALLOW}, TRACE"));
    }
    let mut text = format!("TRACE {} HTTP/1.{}\r\n", request.target, request.minor).into_bytes();
    for (name, value) in request.fields.iter() {
        // Fields that may contain credentials are not echoed (9.3.8).
        if !["authorization", "cookie", "proxy-authorization"].iter().any(|it| name.eq_ignore_ascii_case(it))
        {
            text.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
    }
    text.extend_from_slice(b"\r\n");
    Response::with(200, Arc::from(text)).field("Content-Type", "message/http")
}
