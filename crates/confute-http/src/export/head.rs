//! Templates of requests: names are fresh in every run, and tags and dates come from the responses of the run.

use crate::ask::{AskDate, AskIfRange, AskTag, AskTags};
use crate::encode::{self, Target};
use crate::message::{IfRange, Request, Tag, Tags};
use crate::protocol::Http;
use confute_http1::date;

use super::program::{Asked, Program};

/// A request with placeholders, as head and body.
pub(super) struct Template {
    /// Head including the empty line. The placeholders are `{path:a}`, `{host}`, `{env:NAME}`, `{tag:1}` and
    /// `{date:1:-5}`, where 1 is the number of a request, counted from one, and -5 a number of seconds.
    pub(super) head: String,
    pub(super) body: Vec<u8>,
    /// Length of the head in the recorded request.
    pub(super) recorded: usize,
}

/// Returns the environment variable for the value of this field, which is not exported because it may be a secret.
pub(super) fn variable(field: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("CONFUTE_{}", field.chars().map(fits).collect::<String>())
}

/// Returns a request as a template.
pub(super) fn template(http: &Http, program: &Program, asked: &Asked) -> Option<Template> {
    let mut dates: Vec<(String, String)> = Vec::new();
    let request = open(http, program, asked, &mut dates)?;
    let field = |(name, _): &(String, String)| (name.clone(), format!("{{env:{}}}", variable(name)));
    let target = Target { host: "{host}".to_owned(), fields: http.target.fields.iter().map(field).collect() };
    let split = |bytes: Vec<u8>| {
        let at = bytes.windows(4).position(|part| part == b"\r\n\r\n")? + 4;
        Some((bytes[..at].to_vec(), bytes[at..].to_vec()))
    };
    let (head, body) = split(encode::request(&request, &target))?;
    let once = Request {
        close: asked.request.close || asked.request.close_twice,
        close_twice: false,
        ..asked.request.clone()
    };
    let (recorded, _) = split(encode::request(&once, &http.target))?;
    let head = head.iter().map(|byte| char::from(*byte)).collect::<String>();
    let head = dates.into_iter().fold(head, |head, (date, place)| head.replace(&date, &place));
    Some(Template { head, body, recorded: recorded.len() })
}

/// Replaces the values of a request that are known only in a run by placeholders. `dates` collects the encoded dates
/// that stand for placeholders.
fn open(http: &Http, program: &Program, asked: &Asked, dates: &mut Vec<(String, String)>) -> Option<Request> {
    let ask = &asked.ask;
    let tags = |asked: &Option<AskTags>, seen: &Option<Tags>| -> Option<Option<Tags>> {
        let (Some(AskTags::Lines(asked)), Some(Tags::Lines(seen))) = (asked, seen) else {
            return Some(seen.clone());
        };
        let line = |(asked, seen): (&Vec<AskTag>, &Vec<Tag>)| {
            asked.iter().zip(seen).map(|(asked, seen)| tag(program, asked, seen)).collect::<Option<Vec<_>>>()
        };
        Some(Some(Tags::Lines(asked.iter().zip(seen).map(line).collect::<Option<_>>()?)))
    };
    let mut fill = |AskDate(step, plus): AskDate| -> Option<i64> {
        // The last representable seconds stand for dates of responses, until `template` replaces them by
        // placeholders.
        let stands = date::LAST - i64::try_from(dates.len()).ok()?;
        let place = format!("{{date:{}:{plus}}}", program.place(step)? + 1);
        dates.push((date::format(stands), place));
        Some(stands)
    };
    let mut maybe = |asked: Option<AskDate>| asked.map_or(Some(None), |asked| fill(asked).map(Some));
    let (if_modified_since, if_unmodified_since) =
        (maybe(ask.if_modified_since)?, maybe(ask.if_unmodified_since)?);
    let if_range = match (&ask.if_range, &asked.request.if_range) {
        (Some(AskIfRange::Tag(asked)), Some(IfRange::Tag(seen))) => {
            Some(IfRange::Tag(tag(program, asked, seen)?))
        }
        (Some(AskIfRange::Date(asked)), _) => Some(IfRange::Date(fill(*asked)?)),
        _ => None,
    };
    Some(Request {
        path: if http.is_read_only() {
            asked.request.path.clone()
        } else {
            format!("{{path:{}}}", ask.name).into()
        },
        if_match: tags(&ask.if_match, &asked.request.if_match)?,
        if_none_match: tags(&ask.if_none_match, &asked.request.if_none_match)?,
        if_modified_since,
        if_unmodified_since,
        if_range,
        close: asked.request.close || asked.request.close_twice,
        close_twice: false,
        ..asked.request.clone()
    })
}

/// Returns a tag of recorded strength whose opaque part is a placeholder, unless the tester invented it.
fn tag(program: &Program, asked: &AskTag, seen: &Tag) -> Option<Tag> {
    match asked {
        AskTag::Seen(step) | AskTag::Weak(step) | AskTag::Strong(step) => {
            Some(Tag { weak: seen.weak, opaque: format!("{{tag:{}}}", program.place(*step)? + 1).into() })
        }
        AskTag::Guess(tag) => Some(tag.clone()),
    }
}
