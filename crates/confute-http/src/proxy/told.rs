//! Messages as people would tell of them, in a line.

use std::fmt::{Debug, Formatter, Result};

use super::message::{Fields, Message, Request, Response};

/// How much of a text is shown.
const SHOWN: usize = 24;

impl Debug for Message {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Message::Request(request) => tell_request(request, f),
            Message::Response(response) => tell_response(response, f),
            Message::Unanswered => f.write_str("nothing: the connection has ended"),
        }
    }
}

fn tell_request(request: &Request, f: &mut Formatter<'_>) -> Result {
    write!(f, "{} {}", request.method, request.target)?;
    if request.minor == 0 {
        f.write_str(" in HTTP/1.0")?;
    }
    fields(f, &request.fields)?;
    trailers(f, &request.trailers)?;
    if request.dropped {
        f.write_str(", on a connection that the origin has ended")?;
    }
    if !request.flaws.is_empty() {
        write!(f, ", {:?}", request.flaws)?;
    }
    content(f, request.content())
}

fn tell_response(response: &Response, f: &mut Formatter<'_>) -> Result {
    response.interim.iter().try_for_each(|status| write!(f, "{status}, then "))?;
    match (response.status, response.cut) {
        (_, Some(0)) => return f.write_str("nothing: the origin ends the connection"),
        (0, _) => f.write_str("what is no response")?,
        (status, _) => write!(f, "{status}")?,
    }
    fields(f, &response.fields)?;
    trailers(f, &response.trailers)?;
    if response.incomplete || response.cut.is_some() {
        f.write_str(", broken off")?;
    }
    if !response.flaws.is_empty() {
        write!(f, ", {:?}", response.flaws)?;
    }
    content(f, &response.body)
}

fn fields(f: &mut Formatter<'_>, fields: &Fields) -> Result {
    fields.0.iter().try_for_each(|field| write!(f, ", {}: {}", field.0, field.1))
}

fn trailers(f: &mut Formatter<'_>, trailers: &Fields) -> Result {
    trailers.0.iter().try_for_each(|field| write!(f, ", after the content {}: {}", field.0, field.1))
}

fn content(f: &mut Formatter<'_>, body: &str) -> Result {
    if body.is_empty() {
        return Ok(());
    }
    let shown: String = body.chars().take(SHOWN).collect();
    let more = if shown.len() < body.len() { "…" } else { "" };
    write!(f, " {shown:?}{more}")
}
