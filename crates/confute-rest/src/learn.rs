//! What a service does, before the first case: one item of each resource is created, read, listed and removed. The plan is
//! corrected by it, and the corrections are listed among its assumptions.
//!
//! A field that does not come back as it was sent is taken for one that the server computes. That may hide a violation, and is
//! reported; the opposite would accuse every service that trims a text.

use std::sync::Arc;

use confute_drive::{Caller, Exchange, Past, Peer, Protocol as _, Talk, Trouble};
use serde_json::Value;

use crate::ask::{Ask, Condition, Ref};
use crate::body;
use crate::json::Fields;
use crate::message::{Message, Op, Response};
use crate::outline::{Outline, Ready};
use crate::plan::{Owner, Plan, Resource, Validator};
use crate::protocol::Rest;
use crate::wire::Access;

/// A survey of a service.
struct Survey<'a> {
    rest: &'a Rest,
    talk: Talk<'a, Rest>,
    name: &'a str,
    past: Past<Rest>,
}

/// Facts that the survey found about a resource.
#[derive(Default)]
struct Found {
    /// Name of the resource.
    name: String,
    assumed: Vec<String>,
    /// Fields that do not come back as they were sent.
    differing: Vec<String>,
}

impl Found {
    fn assume(&mut self, what: &str) {
        self.assumed.push(format!("`{}`: {what}", self.name));
    }
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
    let outline = Outline::new(allowing(plan)).map_err(Trouble::Unprepared)?;
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

    /// Tries the operations of a resource on an item of its own, and corrects the plan.
    fn resource(&mut self, number: usize, plan: &mut Plan, remarks: &mut Vec<String>) -> Result<(), Unfit> {
        let rest = self.rest;
        let Some(ready) = rest.outline.get(number) else { return Ok(()) };
        let item = self.create(number, 1)?;
        let birth = self.past.exchanges.len() - 1;
        let mut found = Found { name: plan.resources[number].name.clone(), ..Found::default() };
        let tag = self.read(ready, number, item, birth, &mut found)?;
        let told_at = self.past.exchanges.len() - 1;
        self.list(ready, number, birth, &mut plan.resources[number], &mut found)?;
        self.filters(number, birth, &mut plan.resources[number], &mut found)?;
        let resource = &mut plan.resources[number];
        for field in std::mem::take(&mut found.differing) {
            if resource.mark.as_ref() == Some(&field) {
                resource.mark = None;
            }
            found.assume(&format!(
                "the field `{field}` does not come back as it was sent, so the server is taken to compute it"
            ));
            resource.fields.insert(field, Owner::Unknown);
        }
        self.validator(number, item, (birth, tag), resource, &mut found)?;
        if ready.has(Op::Delete) && ready.is_server_made() {
            let is_required = matches!(resource.validator, Some(Validator::Etag { required: true, .. }));
            let condition = is_required.then_some(Condition::Match(told_at));
            self.send(Ask::new(number, Op::Delete).on(item).when(condition))?;
            let before = self.path_of(birth);
            let again = self.create(number, 2).is_ok();
            if again && before.is_some() && self.path_of(self.past.exchanges.len() - 1) == before {
                resource.id.reused = true;
                found.assume(
                    "the server gives the ids of removed items again, so the tester writes to no item that may be removed",
                );
            }
        }
        for one in found.assumed {
            if !plan.assumed.contains(&one) {
                plan.assumed.push(one.clone());
            }
            remarks.push(one);
        }
        Ok(())
    }

    /// Returns the fields that the request of a step sent.
    fn fields_of(&self, step: usize) -> Fields {
        let request = self.past.exchanges[step].request.request();
        request.map(|request| request.fields.clone()).unwrap_or_default()
    }

    /// Reads an item, and returns its tag.
    fn read(
        &mut self,
        ready: &Ready,
        number: usize,
        item: Ref,
        birth: usize,
        found: &mut Found,
    ) -> Result<Option<Arc<str>>, Unfit> {
        if !ready.has(Op::Read) {
            return Ok(None);
        }
        let Some(read) = self.send(Ask::new(number, Op::Read).on(item))? else { return Ok(None) };
        Self::readable(&read)?;
        match &read.fields {
            Some(fields) => found.differing = differences(&self.fields_of(birth), fields, false),
            None => {
                found.assume(&format!("an item that was just created is read with status {}", read.status));
            }
        }
        Ok(read.tag)
    }

    /// Lists a collection, in which the item of a step should be.
    fn list(
        &mut self,
        ready: &Ready,
        number: usize,
        birth: usize,
        resource: &mut Resource,
        found: &mut Found,
    ) -> Result<(), Unfit> {
        let Some(list) = &mut resource.list else { return Ok(()) };
        let create = &self.past.exchanges[birth].ask;
        let parent = if ready.is_server_made() { create.item } else { create.parent };
        let Some(shown) = self.send(Ask { item: parent, ..Ask::new(number, Op::List) })? else {
            return Ok(());
        };
        let path = self.path_of(birth);
        match shown.items.iter().flatten().find(|listed| Some(&listed.item) == path.as_ref()) {
            Some(listed) => {
                let differing = differences(&self.fields_of(birth), &listed.fields, true);
                let new = differing.into_iter().filter(|field| !found.differing.contains(field));
                let new: Vec<String> = new.collect();
                found.differing.extend(new);
            }
            None if shown.is_success() && !shown.is_partial => {
                list.partial = true;
                found.assume(
                    "the list lacks an item that was just created, so it is taken for a part of all items",
                );
            }
            None => {}
        }
        Ok(())
    }

    /// Keeps the filters that select an item by its value, and leave it out for another value.
    fn filters(
        &mut self,
        number: usize,
        birth: usize,
        resource: &mut Resource,
        found: &mut Found,
    ) -> Result<(), Unfit> {
        let (Some(list), Some(ready)) = (&mut resource.list, self.rest.outline.get(number)) else {
            return Ok(());
        };
        let create = &self.past.exchanges[birth].ask;
        let parent = if ready.is_server_made() { create.item } else { create.parent };
        // The defaults of the service are values too.
        let mut told = self.past.exchanges[birth..]
            .iter()
            .filter_map(|exchange| exchange.replies.iter().find_map(Message::response));
        let fields = told.find_map(|response| response.fields.clone()).unwrap_or_default();
        let path = self.path_of(birth);
        let mut kept = Vec::new();
        for name in std::mem::take(&mut list.filters) {
            let value = fields.get(name.as_str()).and_then(|text| serde_json::from_str::<Value>(text).ok());
            let other = value.as_ref().and_then(other_value);
            let mut shows = |value: Option<Value>| -> Result<Option<bool>, Trouble> {
                let Some(value) = value else { return Ok(None) };
                let filter = Some((name.clone(), value));
                let Some(shown) = self.send(Ask { item: parent, filter, ..Ask::new(number, Op::List) })?
                else {
                    return Ok(None);
                };
                let items = shown.items.filter(|_| shown.status < 300);
                Ok(items.map(|items| items.iter().any(|listed| Some(&listed.item) == path.as_ref())))
            };
            if shows(value)? == Some(true) && shows(other)? == Some(false) {
                kept.push(name);
            } else {
                found.assume(&format!(
                    "the parameter `{name}` of the list is not seen to select by the field, so it is not used"
                ));
            }
        }
        list.filters = kept;
        Ok(())
    }

    /// Finds out whether entity tags can be relied on. `told` is the step that created the item, and the tag of a read.
    fn validator(
        &mut self,
        number: usize,
        item: Ref,
        (birth, tag): (usize, Option<Arc<str>>),
        resource: &mut Resource,
        found: &mut Found,
    ) -> Result<(), Trouble> {
        let created = self.past.exchanges[birth].replies.iter().find_map(Message::response);
        let created = created.and_then(|response| response.tag.clone());
        match (&mut resource.validator, tag) {
            (Some(Validator::Etag { on_write, .. }), Some(tag)) => *on_write = created == Some(tag),
            (Some(Validator::Etag { .. }), None) => {
                found.assume("a read has no strong ETag, so If-Match is not tested");
                resource.validator = None;
            }
            (none @ None, Some(tag)) if self.obeys(number, item)? => {
                *none = Some(Validator::Etag { required: false, on_write: created == Some(tag) });
                found.assume("reads have strong ETags, and If-Match is obeyed, so it is tested");
            }
            (None, Some(_)) => found.assume(
                "reads have strong ETags, but a write with a false If-Match is not refused with 412, so If-Match is not tested",
            ),
            _ => {}
        }
        Ok(())
    }

    /// Returns the path of the item that a step created.
    fn path_of(&self, step: usize) -> Option<Arc<str>> {
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
                Self::readable(&response)?;
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

    fn readable(response: &Response) -> Result<(), Unfit> {
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

/// Returns another value of the same kind, for a value that a filter can name.
fn other_value(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(one) => Some((!one).into()),
        Value::Number(one) => Some((one.as_i64()? + 1).into()),
        Value::String(one) => Some(format!("{one}-none").into()),
        _ => None,
    }
}

/// Returns the fields that do not come back as they were sent.
fn differences(sent: &Fields, shown: &Fields, may_lack: bool) -> Vec<String> {
    let differs = |(name, value): &(&Arc<str>, &Arc<str>)| match shown.get(*name) {
        Some(seen) => seen != *value,
        None => !may_lack && &***value != "null",
    };
    sent.iter().filter(differs).map(|(name, _)| name.to_string()).collect()
}
