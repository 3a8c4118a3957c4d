//! Messages for people, in a line. The short form is the method with the resource, or the status.

use std::fmt::{Display, Formatter, Result};

use confute_drive::short_name;

use crate::message::{Flaw, IfRange, Msg, Request, Response, Span, Tag, Tags};

/// How much of a text is shown.
const SHOWN: usize = 24;

impl Display for Msg {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Msg::Request(request) => show_request(request, f),
            Msg::Response(response) => show_response(response, f),
        }
    }
}

fn show_request(request: &Request, f: &mut Formatter<'_>) -> Result {
    write!(f, "{} {}", request.method.name(), short_name(&request.path))?;
    if f.alternate() {
        return Ok(());
    }
    tags(f, "If-Match", request.if_match.as_ref())?;
    tags(f, "If-None-Match", request.if_none_match.as_ref())?;
    date(f, "If-Modified-Since", request.if_modified_since)?;
    date(f, "If-Unmodified-Since", request.if_unmodified_since)?;
    if !request.range.is_empty() {
        write!(f, ", Range: {}", Span::list(&request.range))?;
    }
    match &request.if_range {
        Some(IfRange::Tag(one)) => write!(f, ", If-Range: {}", tag(one))?,
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
        Some(body) => content(f, body),
        None => Ok(()),
    }
}

fn show_response(response: &Response, f: &mut Formatter<'_>) -> Result {
    match response.status {
        0 => f.write_str("what is no response")?,
        status => write!(f, "{status}")?,
    }
    if f.alternate() {
        return Ok(());
    }
    if let Some(one) = &response.etag {
        write!(f, ", ETag: {}", tag(one))?;
    }
    date(f, "Last-Modified", response.last_modified)?;
    if let Some(part) = &response.content_range {
        write!(f, ", Content-Range: {part}")?;
    }
    if response.close {
        f.write_str(", Connection: close")?;
    }
    if response.notes.reused {
        f.write_str(" (a tag that was seen with other content)")?;
    }
    if response.notes.untold {
        f.write_str(" (a tag that a 304 has just left out)")?;
    }
    if response.incomplete {
        f.write_str(", broken off")?;
    }
    flaws(f, &response.flaws)?;
    if response.body.is_empty() { Ok(()) } else { content(f, &response.body) }
}

fn tags(f: &mut Formatter<'_>, name: &str, tags: Option<&Tags>) -> Result {
    match tags {
        None => Ok(()),
        Some(Tags::Any) => write!(f, ", {name}: *"),
        Some(Tags::Lines(lines)) => lines.iter().try_for_each(|line| {
            let line: Vec<String> = line.iter().map(tag).collect();
            write!(f, ", {name}: {}", line.join(", "))
        }),
    }
}

fn tag(tag: &Tag) -> String {
    format!("{}\"{}\"", if tag.weak { "W/" } else { "" }, tag.opaque)
}

fn date(f: &mut Formatter<'_>, name: &str, seconds: Option<i64>) -> Result {
    let clock = |seconds: i64| {
        let second = seconds.rem_euclid(86_400);
        format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
    };
    seconds.map_or(Ok(()), |seconds| write!(f, ", {name}: {}", clock(seconds)))
}

/// Writes what is wrong with a message on the wire, if anything is.
pub(crate) fn flaws(f: &mut Formatter<'_>, flaws: &[Flaw]) -> Result {
    if flaws.is_empty() {
        return Ok(());
    }
    let words: Vec<String> = flaws.iter().map(ToString::to_string).collect();
    write!(f, ", wrong on the wire: {}", words.join(" and "))
}

/// Writes the beginning of some content, quoted and escaped.
pub(crate) fn content(f: &mut Formatter<'_>, body: &str) -> Result {
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
            Msg::Request(request.clone()).to_string(),
            "PUT …r0, If-Match: W/\"a\", \"b\", If-Unmodified-Since: 01:01:01 \"<00001><00001><00001><00\"…"
        );
        assert_eq!(format!("{:#}", Msg::Request(request)), "PUT …r0");
        let response =
            Response { status: 200, etag: Some(Tag::strong("t")), body: "hi".into(), ..Response::default() };
        assert_eq!(Msg::Response(response.clone()).to_string(), "200, ETag: \"t\" \"hi\"");
        assert_eq!(format!("{:#}", Msg::Response(response)), "200");
    }
}
