//! An answer as a simulated server gives it: one of those that are right.

use confute::knowledge::{Value, Var};

use super::expected::{Expected, Kind, Put, Read, Validators};
use super::lax::Lax;
use super::precondition::{Applies, Truth};
use super::validators::Entry;
use crate::message::{Response, Tag, Told};
use crate::text;

type Values<'a> = dyn FnMut(Var) -> Value + 'a;

impl Expected {
    /// The plain answer.
    pub(super) fn show(&self, value: &mut Values<'_>) -> Response {
        let status = |status| Response { status, ..Response::default() };
        let response = match &*self.kind {
            Kind::Read(read) => self.show_read(read, value),
            Kind::Torn { .. } => Response { status: 200, body: "torn".into(), ..Response::default() },
            Kind::Put(put) => {
                let response = status(if put.created == self.lax.has(Lax::CREATED) { 204 } else { 201 });
                match put.validators {
                    Validators::True | Validators::Told => self.described(response, &put.entry, value),
                    Validators::Wrong => Response { etag: Some(Tag::strong("wrong")), ..response },
                    Validators::Absent | Validators::Idle => response,
                }
            }
            Kind::Kept { .. } | Kind::Failed => status(if self.lax.has(Lax::IS_304) { 304 } else { 412 }),
            Kind::Removed { .. } => status(204),
            Kind::Missing { .. } => status(404),
            Kind::Bad | Kind::Rejected => status(400),
            Kind::Status([one, _]) => status(*one),
            Kind::Refused { is_write: false, .. } => status(503),
            Kind::Refused { .. } => status(403),
            Kind::Open { failed } => status(if *failed { 503 } else { 202 }),
            Kind::Untold => Response { incomplete: true, ..Response::default() },
            Kind::Stage { body } => Response { status: 200, body: body.clone(), ..Response::default() },
            Kind::Options => Response { allow: true, ..status(204) },
            Kind::Other { changes: false } => Response { allow: true, ..status(405) },
            Kind::Other { changes: true } => status(200),
            // Nobody can see that nothing came; what comes instead is as good as a broken connection.
            Kind::Never => Response { incomplete: true, ..Response::default() },
        };
        let interim = if self.held.is_some() { vec![100] } else { Vec::new() };
        let moment = match &*self.kind {
            Kind::Put(Put { strong_by: Some(moment), .. })
            | Kind::Removed { strong_by: Some(moment), .. } => moment.instantiate(value),
            _ => self.sent,
        };
        let moment = self.by.as_ref().map_or(moment, |by| by.instantiate(value).max(moment));
        Response { interim, received_at: moment.max(self.sent), ..response }
    }

    fn described(&self, response: Response, entry: &Entry, value: &mut Values<'_>) -> Response {
        let (_, _, etag) = entry.tag.show(self.sent, value);
        let date = entry.modified.instantiate(value);
        Response { etag, last_modified: (date >= 0).then_some(date), ..response }
    }

    fn show_read(&self, read: &Read, value: &mut Values<'_>) -> Response {
        let (entry, conditions) = (&read.entry, &read.conditions);
        let status = |status| Response { status, ..Response::default() };
        if self.lax.has(Lax::STAYS) || !entry.present.instantiate(value) {
            let fails = self.lax.has(Lax::ON_MISSING) && conditions.if_match == Some(Truth::No);
            return status(if fails { 412 } else { 404 });
        }
        let (_, is_weak, _) = entry.tag.show(self.sent, value);
        let date = entry.modified.instantiate(value);
        let holds = |truth: Truth| truth == Truth::Yes || (truth == Truth::IfStrong && !is_weak);
        if conditions.refused
            || !conditions.if_match.is_none_or(holds)
            || conditions.unmodified.is_some_and(|since| date > since)
        {
            return status(412);
        }
        let is_known =
            conditions.modified.is_some_and(|since| date <= since && !self.lax.has(Lax::IF_MODIFIED_SINCE));
        let is_matched = conditions.matched == Some(true) || (conditions.needs_weak && !is_weak);
        if is_matched || is_known || conditions.spared {
            return self.described(status(304), entry, value);
        }
        let body = entry.body.instantiate(value);
        let content = text::bytes(&body);
        let length = content.len() as u64;
        let whole = Response { body: body.clone(), content_length: Some(length), ..status(200) };
        let applies = match read.applies {
            Applies::Tag(truth) => holds(truth),
            Applies::Date(wanted) => wanted == date,
        };
        let response = match &read.range[..] {
            _ if read.head => Response { body: "".into(), ..whole },
            [span] if applies => match span.within(length) {
                Some((first, last)) => Response {
                    body: text::text(&content[first as usize..=last as usize]),
                    content_range: Some(Told::Part(first, last, Some(length))),
                    ..status(206)
                },
                None => return Response { content_range: Some(Told::Nothing(length)), ..status(416) },
            },
            _ => whole,
        };
        self.described(response, entry, value)
    }
}
