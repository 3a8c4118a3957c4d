//! Messages for people, in a line. The short form is the method with the resource, or the status.

use std::fmt::{Display, Formatter, Result};

use confute_drive::short_name;

use super::message::{Fields, Message, Request, Response};
use crate::display::{content, flaws};

impl Display for Message {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Message::Request(request) => show_request(request, f),
            Message::Response(response) => show_response(response, f),
            Message::Unanswered if f.alternate() => f.write_str("the end"),
            Message::Unanswered => f.write_str("nothing: the connection has ended"),
        }
    }
}

fn show_request(request: &Request, f: &mut Formatter<'_>) -> Result {
    if f.alternate() {
        return write!(f, "{} {}", request.method, short_name(&request.target));
    }
    // In full: a gateway may have mapped the beginning wrongly.
    write!(f, "{} {}", request.method, request.target)?;
    if request.minor == 0 {
        f.write_str(" in HTTP/1.0")?;
    }
    fields(f, &request.fields)?;
    trailers(f, &request.trailers)?;
    if request.dropped {
        f.write_str(", on a connection that the origin has ended")?;
    }
    flaws(f, &request.flaws)?;
    show_content(f, request.content())
}

fn show_response(response: &Response, f: &mut Formatter<'_>) -> Result {
    if f.alternate() {
        return match (response.status, response.cut) {
            (_, Some(0)) => f.write_str("no response"),
            (0, _) => f.write_str("what is no response"),
            (status, _) => write!(f, "{status}"),
        };
    }
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
    flaws(f, &response.flaws)?;
    show_content(f, &response.body)
}

fn fields(f: &mut Formatter<'_>, fields: &Fields) -> Result {
    fields.0.iter().try_for_each(|field| write!(f, ", {}: {}", field.0, field.1))
}

fn trailers(f: &mut Formatter<'_>, trailers: &Fields) -> Result {
    trailers.0.iter().try_for_each(|field| write!(f, ", after the content {}: {}", field.0, field.1))
}

fn show_content(f: &mut Formatter<'_>, body: &str) -> Result {
    if body.is_empty() { Ok(()) } else { content(f, body) }
}
