//! The reverse proxy: forwards what comes under a prefix to an origin (RFC 9110, 7.6).
//!
//! It is a gateway without a cache: it neither evaluates conditions nor changes content. A request is received in full
//! before it is forwarded, a response in full before it is relayed.

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
use super::response::{Response, Told, reason};
use super::switches::{Exchange, Stop, Switches};

/// Where to forward what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Paths that begin with this are forwarded, without it: `/proxy/` makes `/proxy/a` the origin's `/a`.
    pub prefix: String,
    /// The origin.
    pub origin: SocketAddr,
    /// How long the origin may take; then the client is told 504.
    pub patience: Duration,
}

/// Fields of one connection, whether or not Connection names them.
const HOP_BY_HOP: [&str; 7] =
    ["connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "transfer-encoding"];

#[derive(Debug)]
pub(crate) struct Proxy {
    upstream: Upstream,
    /// What it calls itself in Via.
    name: String,
    pool: Pool,
    switches: Arc<Switches>,
    mixing: Exchange<Response>,
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
        let (mixing, last_put, old) = (Exchange::default(), Mutex::default(), Mutex::default());
        Self { upstream, name, pool, switches, mixing, last_put, old }
    }

    /// The target at the origin, if the path is to be forwarded.
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
        if let Some(old) = self.remembered(&request, target) {
            return old;
        }
        let bytes = self.forwarded(&request, target, forwards);
        if !is_idempotent(&request.method) && self.switches.has(Bug::ProxySendsTwice) {
            let _ = self.pool.exchange(&bytes, &request.method);
        }
        let response = match self.pool.exchange(&bytes, &request.method) {
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

    /// The request as it goes to the origin.
    fn forwarded(&self, request: &Request, target: &str, forwards: Option<u64>) -> Vec<u8> {
        let host = if self.switches.has(Bug::ProxyHostWithoutPort) {
            self.upstream.origin.ip().to_string()
        } else {
            self.upstream.origin.to_string()
        };
        let mut bytes = format!("{} {target} HTTP/1.1\r\nHost: {host}\r\n", request.method).into_bytes();
        let mut line = |name: &str, value: &[u8]| {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                bytes.extend_from_slice(part);
            }
        };
        for (name, value) in self.end_to_end(&request.fields) {
            let condition = ["if-match", "if-none-match"].iter().any(|it| name.eq_ignore_ascii_case(it));
            match name.to_ascii_lowercase().as_str() {
                "host" | "content-length" | "expect" => {}
                "max-forwards" if forwards.is_some() => {}
                _ if condition && self.switches.has(Bug::ProxyDropsConditions) => {}
                _ => line(name, value),
            }
        }
        if let Some(forwards) = forwards {
            line("Max-Forwards", forwards.saturating_sub(1).to_string().as_bytes());
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

    /// The fields that are not about one connection (7.6.1).
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

    /// The response as it goes to the client.
    fn relayed(&self, received: Received, method: &str) -> Response {
        let Received { minor, status, fields, content, trailers, interim } = received;
        let mut response = Response::with(status, Arc::from(content));
        for (name, value) in self.end_to_end(&fields) {
            if !name.eq_ignore_ascii_case("content-length") {
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
            response.told = length.map_or(Told::Nothing, Told::This);
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

    /// What some bugs do once the origin has answered.
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

    /// What a cache would say that nobody has told about changes.
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

/// The answer to OPTIONS or TRACE that must not go on (7.6.2).
fn last_recipient(request: &Request) -> Response {
    if request.method == "OPTIONS" {
        return Response::empty(204).field("Allow", format!("{ALLOW}, TRACE"));
    }
    let mut text = format!("TRACE {} HTTP/1.{}\r\n", request.target, request.minor).into_bytes();
    for (name, value) in request.fields.iter() {
        // What might be secret is not repeated (9.3.8).
        if !["authorization", "cookie", "proxy-authorization"].iter().any(|it| name.eq_ignore_ascii_case(it))
        {
            text.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
    }
    text.extend_from_slice(b"\r\n");
    Response::with(200, Arc::from(text)).field("Content-Type", "message/http")
}
