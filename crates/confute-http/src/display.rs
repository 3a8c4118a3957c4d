//! One-line form of messages for people. The alternate form is the method with the resource, or the status.

use std::fmt::{Display, Formatter, Result};

use confute_drive::short_name;

use crate::message::{Fields, Flaw, IfRange, Message, Request, Response, Span, Tag, Tags};

/// Number of characters of content that are shown.
const SHOWN: usize = 24;

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
    // A forwarded request is shown with its whole path: a gateway may have mapped the beginning wrongly.
    let is_short = f.alternate() || !request.forwarded.is_there();
    let path = if is_short { short_name(&request.path) } else { (&*request.path).into() };
    write!(f, "{} {path}", request.method.name())?;
    if f.alternate() {
        return Ok(());
    }
    let forwarded = &request.forwarded;
    if forwarded.minor == 0 {
        f.write_str(" in HTTP/1.0")?;
    }
    fields(f, &forwarded.fields)?;
    trailers(f, &forwarded.trailers)?;
    if forwarded.dropped {
        f.write_str(", on a connection that the origin has ended")?;
    }
    flaws(f, &forwarded.flaws)?;
    tags(f, "If-Match", request.if_match.as_ref())?;
    tags(f, "If-None-Match", request.if_none_match.as_ref())?;
    date(f, "If-Modified-Since", request.if_modified_since)?;
    date(f, "If-Unmodified-Since", request.if_unmodified_since)?;
    if !request.range.is_empty() {
        write!(f, ", Range: {}", Span::list(&request.range))?;
    }
    match &request.if_range {
        Some(IfRange::Tag(one)) => write!(f, ", If-Range: {one}")?,
        Some(IfRange::Date(seconds)) => date(f, "If-Range", Some(*seconds))?,
        None => {}
    }
    if request.expect.is_some() {
        f.write_str(", Expect: 100-continue")?;
    }
    if request.close || request.close_twice {
        f.write_str(", Connection: close")?;
    }
    if let Some(odd) = request.odd {
        write!(f, ", wrong on purpose: {odd}")?;
    }
    match &request.body {
        Some(body) if !(body.is_empty() && forwarded.is_there()) => content(f, body),
        _ => Ok(()),
    }
}

fn show_response(response: &Response, f: &mut Formatter<'_>) -> Result {
    let forwarded = &response.forwarded;
    if forwarded.is_there() && !f.alternate() {
        response.interim.iter().try_for_each(|status| write!(f, "{status}, then "))?;
    }
    match (response.status, forwarded.cut) {
        (_, Some(0)) if f.alternate() => return f.write_str("no response"),
        (_, Some(0)) => return f.write_str("nothing: the origin ends the connection"),
        (0, _) if response.partial.is_some() => f.write_str("no response")?,
        (0, _) => f.write_str("an invalid response")?,
        (status, _) => write!(f, "{status}")?,
    }
    if f.alternate() {
        return Ok(());
    }
    fields(f, &forwarded.fields)?;
    trailers(f, &forwarded.trailers)?;
    if let Some(one) = &response.etag {
        write!(f, ", ETag: {one}")?;
    }
    date(f, "Last-Modified", response.last_modified)?;
    if let Some(part) = &response.content_range {
        write!(f, ", Content-Range: {part}")?;
    }
    if response.status == 405 && response.allow && !forwarded.is_there() {
        f.write_str(", Allow: …")?;
    }
    if response.close && !forwarded.is_there() {
        f.write_str(", Connection: close")?;
    }
    if response.notes.reused {
        f.write_str(" (a tag that was seen with other content)")?;
    }
    if response.notes.untold {
        f.write_str(" (a tag that a 304 has just left out)")?;
    }
    match response.partial {
        Some(partial) => write!(f, ", broken off ({partial})")?,
        None if response.incomplete || forwarded.cut.is_some() => f.write_str(", broken off")?,
        None => {}
    }
    // That the response stalled is said already.
    let is_said = |flaw: &&Flaw| **flaw == Flaw::Stalled && response.partial.is_some();
    flaws(f, &response.flaws.iter().filter(|flaw| !is_said(flaw)).copied().collect::<Vec<_>>())?;
    if response.body.is_empty() { Ok(()) } else { content(f, &response.body) }
}

fn tags(f: &mut Formatter<'_>, name: &str, tags: Option<&Tags>) -> Result {
    match tags {
        None => Ok(()),
        Some(Tags::Any) => write!(f, ", {name}: *"),
        Some(Tags::Lines(lines)) => lines.iter().try_for_each(|line| {
            let line: Vec<String> = line.iter().map(Tag::to_string).collect();
            write!(f, ", {name}: {}", line.join(", "))
        }),
    }
}

/// Formats the time of day of a date: the dates of a case hardly differ in more.
pub(crate) fn clock(seconds: i64) -> String {
    let second = seconds.rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

fn date(f: &mut Formatter<'_>, name: &str, seconds: Option<i64>) -> Result {
    seconds.map_or(Ok(()), |seconds| write!(f, ", {name}: {}", clock(seconds)))
}

fn fields(f: &mut Formatter<'_>, fields: &Fields) -> Result {
    fields.0.iter().try_for_each(|field| write!(f, ", {}: {}", field.0, field.1))
}

fn trailers(f: &mut Formatter<'_>, trailers: &Fields) -> Result {
    trailers.0.iter().try_for_each(|field| write!(f, ", after the content {}: {}", field.0, field.1))
}

/// Writes the flaws of a message on the wire, if there are any.
fn flaws(f: &mut Formatter<'_>, flaws: &[Flaw]) -> Result {
    if flaws.is_empty() {
        return Ok(());
    }
    let words: Vec<String> = flaws.iter().map(ToString::to_string).collect();
    write!(f, ", wrong on the wire: {}", words.join(" and "))
}

/// Writes the beginning of some content, quoted and escaped.
fn content(f: &mut Formatter<'_>, body: &str) -> Result {
    let shown: String = body.chars().take(SHOWN).collect();
    let more = if shown.len() < body.len() { "…" } else { "" };
    write!(f, " {shown:?}{more}")
}

#[cfg(test)]
mod tests {
    use crate::message::Method;

    use super::*;

    #[test]
    fn in_a_line() {
        let request = Request {
            method: Method::Put,
            path: "/x/7-1f-2-r0".into(),
            if_match: Some(Tags::Lines(vec![vec![Tag::weak("a"), Tag::strong("b")]])),
            if_unmodified_since: Some(3_661),
            body: Some("<00001><00001><00001><00001>".into()),
            ..Request::default()
        };
        assert_eq!(
            Message::from(request.clone()).to_string(),
            "PUT …r0, If-Match: W/\"a\", \"b\", If-Unmodified-Since: 01:01:01 \"<00001><00001><00001><00\"…"
        );
        assert_eq!(format!("{:#}", Message::from(request)), "PUT …r0");
        let response =
            Response { status: 200, etag: Some(Tag::strong("t")), body: "hi".into(), ..Response::default() };
        assert_eq!(Message::from(response.clone()).to_string(), "200, ETag: \"t\" \"hi\"");
        assert_eq!(format!("{:#}", Message::from(response)), "200");
    }
}
