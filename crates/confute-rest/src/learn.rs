//! What a service does, before the first case: one item of each resource is created, read, listed and removed. The plan is
//! corrected by it, and the corrections are listed among its assumptions.
//!
//! A field that does not come back as it was sent is taken for one that the server computes. That may hide a violation, and is
//! reported; the opposite would accuse every service that trims a text.

use confute_drive::{Caller, Exchange, Past, Peer, Protocol as _, Talk, Trouble};

use crate::ask::{Ask, Condition, Ref};
use crate::body;
use crate::json::Fields;
use crate::message::{Message, Op, Response};
use crate::outline::Outline;
use crate::plan::{Owner, Plan, Validator};
use crate::protocol::Rest;
use crate::wire::Access;

/// A survey of a service.
struct Survey<'a> {
    rest: &'a Rest,
    talk: Talk<'a, Rest>,
    name: &'a str,
    past: Past<Rest>,
}

/// The reason why a resource cannot be tested.
enum Unfit {
    /// No resource can be tested.
    Service(Trouble),
    /// This one cannot.
    Resource(String),
}

impl From<Trouble> for Unfit {
    fn from(trouble: Trouble) -> Self {
        Unfit::Service(trouble)
    }
}

/// Corrects a plan by what the service does. Returns remarks.
pub(crate) fn learn(
    plan: &mut Plan,
    access: &Access,
    caller: &Caller,
    name: &str,
) -> Result<Vec<String>, Trouble> {
    let unusable = |why: String| Trouble::Unprepared(why);
    let outline = Outline::new(allowing(plan)).map_err(unusable)?;
    let rest = Rest::new(outline, access.clone());
    let talk = Talk::new(&rest, caller.clone());
    let mut survey = Survey { rest: &rest, talk, name, past: Past::default() };
    let mut remarks = Vec::new();
    let mut unfit: Vec<String> = Vec::new();
    for number in 0..plan.resources.len() {
        match survey.resource(number, plan, &mut remarks) {
            Ok(()) => {}
            Err(Unfit::Service(trouble)) => return Err(trouble),
            Err(Unfit::Resource(why)) => {
                let what = format!("the resource `{}` is not tested: {why}", plan.resources[number].name);
                plan.left_out.push(what.clone());
                remarks.push(what);
                unfit.push(plan.resources[number].name.clone());
            }
        }
    }
    survey.clean(plan);
    loop {
        let before = plan.resources.len();
        let names: Vec<String> = plan.resources.iter().map(|resource| resource.name.clone()).collect();
        plan.resources.retain(|resource| {
            let has_parent = resource.parent.as_ref().is_none_or(|parent| names.contains(parent));
            has_parent && !unfit.contains(&resource.name)
        });
        if plan.resources.len() == before {
            break;
        }
    }
    if plan.resources.is_empty() {
        return Err(Trouble::Unprepared(format!("nothing can be tested: {}", remarks.join("; "))));
    }
    Ok(remarks)
}

/// Returns the plan with validators read from all responses.
fn allowing(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for resource in &mut plan.resources {
        match &mut resource.validator {
            Some(Validator::Etag { on_write, .. }) => *on_write = true,
            Some(Validator::Version { .. }) => {}
            none => *none = Some(Validator::Etag { required: false, on_write: true }),
        }
    }
    plan
}

impl Survey<'_> {
    /// Sends a request, and returns its response.
    fn send(&mut self, ask: Ask) -> Result<Option<Response>, Trouble> {
        let Some(request) = self.rest.resolve(&ask, self.name, &self.past) else { return Ok(None) };
        let replies = self.talk.say(&request)?;
        let response = replies.iter().find_map(Message::response).cloned();
        let step = self.past.exchanges.len();
        self.past.exchanges.push(Exchange { step, on: Peer::Opened(0), ask, request, replies });
        match response {
            Some(response) => Ok(Some(response)),
            None => {
                let request = &self.past.exchanges[step].request;
                let why = format!("it closed the connection after {request:#}: is it an HTTP server?");
                Err(Trouble::Unprepared(why))
            }
        }
    }

    fn resource(&mut self, number: usize, plan: &mut Plan, remarks: &mut Vec<String>) -> Result<(), Unfit> {
        let rest = self.rest;
        let Some(ready) = rest.outline.get(number) else { return Ok(()) };
        let item = self.create(number, 1)?;
        let step = self.past.exchanges.len() - 1;
        let sent = self.past.exchanges[step].request.request().map(|request| request.fields.clone());
        let sent = sent.unwrap_or_default();
        let created_tag = self.past.exchanges[step].replies.iter().find_map(Message::response);
        let created_tag = created_tag.and_then(|response| response.tag.clone());
        let resource = &mut plan.resources[number];
        let name = resource.name.clone();
        let mut assumed = Vec::new();
        let mut differing = Vec::new();
        let mut tag = None;
        if ready.has(Op::Read)
            && let Some(read) = self.send(Ask::new(number, Op::Read).on(item))?
        {
            self.readable(&read)?;
            match &read.fields {
                Some(fields) => differing = differences(&sent, fields, false),
                None => assumed.push(format!(
                    "`{name}`: an item that was just created is read with status {}",
                    read.status
                )),
            }
            tag = read.tag;
        }
        if let (Some(list), true) = (&mut resource.list, ready.has(Op::List)) {
            let parent = self.past.exchanges[step]
                .ask
                .item
                .filter(|_| ready.parent.is_some() && ready.is_server_made());
            let parent = parent.or(self.past.exchanges[step].ask.parent);
            if let Some(shown) = self.send(Ask { item: parent, ..Ask::new(number, Op::List) })? {
                let path = self.path_of(step);
                let found = shown.items.iter().flatten().find(|listed| Some(&listed.item) == path.as_ref());
                match found {
                    Some(listed) => {
                        for field in differences(&sent, &listed.fields, true) {
                            if !differing.contains(&field) {
                                differing.push(field);
                            }
                        }
                    }
                    None if shown.is_success() && !shown.is_partial => {
                        list.partial = true;
                        assumed.push(format!(
                            "`{name}`: the list lacks an item that was just created, so it is taken for a part of all items"
                        ));
                    }
                    None => {}
                }
            }
        }
        for field in differing {
            resource.fields.insert(field.clone(), Owner::Unknown);
            if resource.mark.as_ref() == Some(&field) {
                resource.mark = None;
            }
            assumed.push(format!(
                "`{name}`: the field `{field}` does not come back as it was sent, so the server is taken to compute it"
            ));
        }
        match (&mut resource.validator, tag) {
            (Some(Validator::Etag { on_write, .. }), Some(tag)) => {
                *on_write = created_tag.as_ref() == Some(&tag);
            }
            (Some(Validator::Etag { .. }), None) => {
                assumed.push(format!("`{name}`: a read has no strong ETag, so If-Match is not tested"));
                resource.validator = None;
            }
            (none @ None, Some(tag)) if self.obeys(number, item)? => {
                *none = Some(Validator::Etag { required: false, on_write: created_tag == Some(tag) });
                assumed.push(format!(
                    "`{name}`: reads have strong ETags, and If-Match is obeyed, so it is tested"
                ));
            }
            (None, Some(_)) => {
                assumed.push(format!(
                    "`{name}`: reads have strong ETags, but a write with a false If-Match is performed, so If-Match is not tested"
                ));
            }
            _ => {}
        }
        if ready.has(Op::Delete) && ready.is_server_made() {
            self.send(Ask::new(number, Op::Delete).on(item))?;
            let before = self.path_of(step);
            let again = self.create(number, 2).is_ok();
            let step = self.past.exchanges.len() - 1;
            if again && before.is_some() && self.path_of(step) == before {
                plan.resources[number].id.reused = true;
                assumed.push(format!(
                    "`{name}`: the server gives the ids of removed items again, so the tester writes to no item that may be removed"
                ));
            }
        }
        remarks.extend(assumed.iter().cloned());
        for one in assumed {
            if !plan.assumed.contains(&one) {
                plan.assumed.push(one);
            }
        }
        Ok(())
    }

    /// Returns the path of the item that a step created.
    fn path_of(&self, step: usize) -> Option<std::sync::Arc<str>> {
        crate::ask::created(&self.past.exchanges, step)
    }

    /// Creates an item. Returns the reason why the resource cannot be tested if none is created.
    fn create(&mut self, number: usize, mark: u64) -> Result<Ref, Unfit> {
        let Some(ready) = self.rest.outline.get(number) else {
            return Err(Unfit::Resource("it is not in the plan".to_owned()));
        };
        let parent = match ready.parent {
            None => None,
            Some(parent) => Some(
                self.item_of(parent)
                    .ok_or_else(|| Unfit::Resource("its parent could not be created".to_owned()))?,
            ),
        };
        let ask = Ask::new(number, Op::Create).with(body::body(ready, Op::Create, mark, &mut |_| 0));
        let (ask, own) = if ready.is_server_made() {
            (Ask { item: parent, ..ask }, None)
        } else {
            let own = Ref::Own(mark as u32);
            (Ask { item: Some(own), parent, ..ask }, Some(own))
        };
        let step = self.past.exchanges.len();
        let Some(response) = self.send(ask)? else {
            return Err(Unfit::Resource("no request could be made".to_owned()));
        };
        let request = self.past.exchanges[step].request.to_string();
        let brief = format!("{:#}", self.past.exchanges[step].request);
        match response.status {
            401 | 403 | 407 => {
                let why = format!(
                    "it needs a login: {brief} is answered with {}; give one with -H 'Authorization: …' or --bearer-env VARIABLE",
                    response.status
                );
                Err(Unfit::Service(Trouble::Unprepared(why)))
            }
            404 | 405 => Err(Unfit::Resource(format!(
                "{brief} is answered with {}; does the URL name the place that the document describes?",
                response.status
            ))),
            300..=399 => Err(Unfit::Resource(format!(
                "{brief} is answered with a redirect ({}): name the place behind it",
                response.status
            ))),
            _ if !response.is_success() => {
                let answer = Message::from(response);
                Err(Unfit::Resource(format!("{request} is refused: {answer}")))
            }
            _ => {
                self.readable(&response)?;
                if response.item.is_none() {
                    let looks_html = response.shown.trim_start().starts_with('<');
                    let answer = Message::from(response);
                    let kind = if looks_html { "it answers with HTML: " } else { "no id is told: " };
                    return Err(Unfit::Resource(format!("{kind}{brief} is answered with {answer}")));
                }
                Ok(own.unwrap_or(Ref::Step(step)))
            }
        }
    }

    /// Returns the item of a resource that was created last.
    fn item_of(&self, number: usize) -> Option<Ref> {
        let mut all = self.past.exchanges.iter().rev();
        let created =
            all.find(|exchange| exchange.ask.resource == number && self.path_of(exchange.step).is_some())?;
        Some(match created.ask.item {
            Some(own @ Ref::Own(_)) => own,
            _ => Ref::Step(created.step),
        })
    }

    fn readable(&self, response: &Response) -> Result<(), Unfit> {
        if response.status == 0 {
            let answer = Message::from(response.clone());
            let why = format!("it is no HTTP server: {answer}");
            return Err(Unfit::Service(Trouble::Unprepared(why)));
        }
        Ok(())
    }

    /// Returns `true` if a write with a false If-Match is refused.
    fn obeys(&mut self, number: usize, item: Ref) -> Result<bool, Trouble> {
        let Some(ready) = self.rest.outline.get(number) else { return Ok(false) };
        let Some(op) = [Op::Replace, Op::Patch].into_iter().find(|op| ready.has(*op)) else {
            return Ok(false);
        };
        let ask = Ask::new(number, op).on(item).with(body::body(ready, op, 3, &mut |_| 0));
        let response = self.send(ask.when(Condition::MatchMadeUp))?;
        Ok(response.is_some_and(|response| response.status == 412))
    }

    /// Removes what the survey created, the latest first. Failures do not matter.
    fn clean(&mut self, plan: &Plan) {
        for step in (0..self.past.exchanges.len()).rev() {
            let Ask { op, resource, item, .. } = self.past.exchanges[step].ask;
            let was_created = op == Op::Create && self.path_of(step).is_some();
            let has_delete = self.rest.outline.get(resource).is_some_and(|ready| ready.has(Op::Delete));
            if !was_created || !has_delete || plan.resources.is_empty() {
                continue;
            }
            let item = match item {
                Some(own @ Ref::Own(_)) => own,
                _ => Ref::Step(step),
            };
            let deleted = self
                .past
                .exchanges
                .iter()
                .any(|exchange| exchange.ask.op == Op::Delete && exchange.ask.item == Some(item));
            if !deleted && self.send(Ask::new(resource, Op::Delete).on(item)).is_err() {
                return;
            }
        }
    }
}

/// Returns the fields that do not come back as they were sent.
fn differences(sent: &Fields, shown: &Fields, may_lack: bool) -> Vec<String> {
    let differs = |(name, value): &(&std::sync::Arc<str>, &std::sync::Arc<str>)| match shown.get(*name) {
        Some(seen) => seen != *value,
        None => !may_lack && &***value != "null",
    };
    sent.iter().filter(differs).map(|(name, _)| name.to_string()).collect()
}
