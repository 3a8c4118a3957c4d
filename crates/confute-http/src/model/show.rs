//! Responses of a simulated server: a correct one, or one that breaks a rule if the server deviates.

use confute::knowledge::{Value, Var};
use confute::lang::Sym;

use super::condition::{RangeApplies, Truth};
use super::deviations::{Deviance, Instead, PutValidators};
use super::entry::Entry;
use super::expected::{ExpectedResponse, Kind, Put, Read};
use crate::message::{RangeSent, Response, Tag};
use crate::rules::RuleSet;
use confute_http1::text;

type Values<'a> = dyn FnMut(Var) -> Value + 'a;

impl ExpectedResponse {
    /// Returns one response that fits.
    pub(super) fn show(&self, value: &mut Values<'_>) -> Response {
        let status = |status| Response { status, ..Response::default() };
        let response = match &*self.kind {
            _ if self.deviance.is_some() => self.show_deviance(value),
            Kind::Read(read) => self.show_read(read, value),
            Kind::Put(put) => self.described(status(if put.created { 201 } else { 204 }), &put.entry, value),
            Kind::Kept { .. } | Kind::Failed => status(412),
            Kind::Removed { .. } => status(204),
            Kind::Missing { .. } => status(404),
            Kind::Bad | Kind::Rejected => status(400),
            Kind::Status([one, _]) => status(*one),
            Kind::Open { failed } => status(if *failed { 503 } else { 202 }),
            Kind::Untold => Response { incomplete: true, ..Response::default() },
            Kind::Options => Response { allow: true, ..status(204) },
            Kind::Other { changes: false } => Response { allow: true, ..status(405) },
            Kind::Other { changes: true } => status(200),
            // The absence of a response cannot be sent: a truncated response stands for a broken connection.
            Kind::Never => Response { incomplete: true, ..Response::default() },
        };
        let interim = if self.held.is_some() { vec![100] } else { Vec::new() };
        let moment = match &*self.kind {
            Kind::Put(Put { strong_by: Some(moment), .. }) | Kind::Removed { strong_by: Some(moment) } => {
                moment.instantiate(value)
            }
            _ => self.sent,
        };
        let moment = self.by.as_ref().map_or(moment, |by| by.instantiate(value).max(moment));
        Response { interim, at: moment.max(self.sent), ..response }
    }

    /// Returns an incorrect response: a correct one with a change, or one for another state of the resource.
    fn show_deviance(&self, value: &mut Values<'_>) -> Response {
        let Some(deviance) = &self.deviance else { return Response::default() };
        let status = |status| Response { status, ..Response::default() };
        let has = |rules| deviance.tolerates(rules);
        let plain = ExpectedResponse { deviance: None, ..self.clone() };
        match (&deviance.instead, &*self.kind) {
            (Some(Instead::Torn { .. }), _) => Response { body: "(old and new mixed)".into(), ..status(200) },
            (Some(Instead::Stage { body }), _) => Response { body: body.clone(), ..status(200) },
            (Some(Instead::Refused { is_write, .. }), _) => status(if *is_write { 403 } else { 503 }),
            (None, Kind::Read(read)) => self.show_read_of(deviance, read, value),
            (None, Kind::Put(put)) => {
                let is_swapped = has(RuleSet::CREATED) || has(RuleSet::REPLACED);
                let response = status(if put.created == is_swapped { 204 } else { 201 });
                match deviance.validators {
                    PutValidators::Right | PutValidators::Present => {
                        self.described(response, &put.entry, value)
                    }
                    PutValidators::Wrong => Response { etag: Some(Tag::strong("wrong")), ..response },
                    PutValidators::Absent | PutValidators::Ignored => response,
                }
            }
            (None, Kind::Failed) if has(RuleSet::IF_NONE_MATCH_412) => status(304),
            _ => plain.show(value),
        }
    }

    /// Returns an incorrect response to a read.
    fn show_read_of(&self, deviance: &Deviance, read: &Read, value: &mut Values<'_>) -> Response {
        let has = |rules| deviance.tolerates(rules);
        let mut read = read.clone();
        let if_match = read.conditions.if_match;
        if has(RuleSet::STAYS) {
            read.entry.present = Sym::known(&false);
        }
        if has(RuleSet::FAILED_CAUSE) {
            read.conditions.if_match = Some(Truth::No);
        }
        if has(RuleSet::IF_MODIFIED_SINCE) {
            read.conditions.modified = None;
        }
        let (_, is_weak, _) = read.entry.tag.show(self.sent, value);
        if has(RuleSet::NOT_MODIFIED_CAUSE) || (has(RuleSet::IF_NONE_MATCH_WEAK_READ) && !is_weak) {
            read.conditions.matched = Some(true);
        }
        let response = self.show_read(&read, value);
        let fails = response.status == 404 && has(RuleSet::ON_MISSING) && if_match == Some(Truth::No);
        Response { status: if fails { 412 } else { response.status }, ..response }
    }

    fn described(&self, response: Response, entry: &Entry, value: &mut Values<'_>) -> Response {
        let (_, _, etag) = entry.tag.show(self.sent, value);
        let date = entry.modified.instantiate(value);
        Response { etag, last_modified: (date >= 0).then_some(date), ..response }
    }

    fn show_read(&self, read: &Read, value: &mut Values<'_>) -> Response {
        let (entry, conditions) = (&read.entry, &read.conditions);
        let status = |status| Response { status, ..Response::default() };
        if !entry.present.instantiate(value) {
            return status(404);
        }
        let (_, is_weak, _) = entry.tag.show(self.sent, value);
        let date = entry.modified.instantiate(value);
        let holds = |truth: Truth| truth == Truth::Yes || (truth == Truth::IfStrong && !is_weak);
        if !conditions.if_match.is_none_or(holds) || conditions.unmodified.is_some_and(|since| date > since) {
            return status(412);
        }
        let is_known = conditions.modified.is_some_and(|since| date <= since);
        if conditions.matched == Some(true) || is_known {
            return self.described(status(304), entry, value);
        }
        let body = entry.body.instantiate(value);
        let content = text::bytes(&body);
        let length = content.len() as u64;
        let whole = Response { body: body.clone(), content_length: Some(length), ..status(200) };
        let applies = match read.applies {
            RangeApplies::Tag(truth) => holds(truth),
            RangeApplies::Date(wanted) => wanted == date,
        };
        let response = match &read.range[..] {
            _ if read.head => Response { body: "".into(), ..whole },
            [span] if applies => match span.within(length) {
                Some((first, last)) => Response {
                    body: text::text(&content[first as usize..=last as usize]),
                    content_range: Some(RangeSent::Part(first, last, Some(length))),
                    ..status(206)
                },
                None => return Response { content_range: Some(RangeSent::Nothing(length)), ..status(416) },
            },
            _ => whole,
        };
        self.described(response, entry, value)
    }
}
