//! REST as a [`Protocol`] for the driver.

use std::sync::Arc;
use std::time::Duration;

use confute::lang::{Level, Rule};
use confute_drive::{
    Asks, Dialogue, Evidence, Exchange, Exporting, Exports, Kept, Past, Protocol, Refusal, Setup, Side, Talk,
    Trouble,
};
use serde_json::{Value, json};

use crate::ask::{self, Ask, Condition, Exchanges, Ref};
use crate::json;
use crate::message::{Listed, Message, Op, Request, Response};
use crate::model::RestModel;
use crate::outline::{Outline, Ready};
use crate::plan::{BodyPlan, JSON_PATCH};
use crate::wire::{self, Access, RestReader};
use crate::{export, pages, rules};

/// An entity tag that no item has.
const MADE_UP_TAG: &str = "\"confute-made-this-up\"";

/// REST spoken with one service.
pub struct Rest {
    pub(crate) outline: Outline,
    pub(crate) access: Access,
    model: RestModel,
    /// Facts that the survey found about the service before the first case.
    surveyed: Result<Vec<String>, Trouble>,
}

impl Rest {
    /// Creates the protocol for a service.
    pub fn new(outline: Outline, access: Access) -> Self {
        let model = RestModel::new(outline.clone());
        Self { outline, access, model, surveyed: Ok(Vec::new()) }
    }

    /// Sets what was found out about the service.
    pub(crate) fn surveyed(self, surveyed: Result<Vec<String>, Trouble>) -> Self {
        Self { surveyed, ..self }
    }

    /// Returns the path of the collection below the item that this parent is.
    fn collection(&self, number: usize, parent: Option<Ref>, past: &Exchanges) -> Option<Arc<str>> {
        let ready = self.outline.get(number)?;
        let Some(parent_number) = ready.parent else { return ready.collection(None) };
        let item = match parent? {
            Ref::Step(step) => ask::created(past, step)?,
            Ref::Own(_) | Ref::MadeUp(_) => return None,
        };
        ready.collection(Some((self.outline.get(parent_number)?, &item)))
    }

    /// Returns the path of the item that a request is about, if the client knows it.
    fn item(&self, ask: &Ask, case: &str, past: &Exchanges) -> Option<Arc<str>> {
        let ready = self.outline.get(ask.resource)?;
        match ask.item? {
            Ref::Step(step) => ask::created(past, step),
            Ref::Own(number) => {
                let collection = self.collection(ask.resource, ask.parent, past)?;
                ready.item(&collection, &own_id(ready, case, number))
            }
            Ref::MadeUp(number) => {
                let collection = self.collection(ask.resource, ask.parent, past)?;
                ready.item(&collection, &made_up_id(ready, number))
            }
        }
    }

    /// Returns the path that a request is sent to, and that of the item that it is about.
    fn paths(&self, ask: &Ask, case: &str, past: &Exchanges) -> Option<(Arc<str>, Option<Arc<str>>)> {
        let ready = self.outline.get(ask.resource)?;
        let is_in_collection = ask.op == Op::List || (ask.op == Op::Create && ready.is_server_made());
        if is_in_collection {
            return Some((self.collection(ask.resource, ask.item, past)?, None));
        }
        let item = self.item(ask, case, past)?;
        if ask.op == Op::Create && &*ready.method(Op::Create) != "PUT" {
            return Some((ready.collection_of(&item)?, Some(item)));
        }
        Some((Arc::clone(&item), Some(item)))
    }
}

/// Returns the id of an item that the client names.
fn own_id(ready: &Ready, case: &str, number: u32) -> String {
    if ready.resource.id.schema["type"] == "integer" {
        // Cases have different names, so their numbers differ as good as certainly.
        let hash = case.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        return ((hash % 1_000_000) * 1_000 + u64::from(number) + 1_000_000_000).to_string();
    }
    format!("{case}-i{number}")
}

/// Returns an id that no item has.
fn made_up_id(ready: &Ready, number: u32) -> String {
    if ready.resource.id.schema["format"] == "uuid" {
        return format!("deadbeef-0000-4000-8000-{number:012}");
    }
    (987_654_321 + u64::from(number)).to_string()
}

/// Returns the body of a request as it is sent.
fn body(ready: &Ready, plan: &BodyPlan, ask: &Ask, request: &Request) -> Option<Value> {
    let mut body = ask::marked(ask.body.as_ref()?, &request.mark);
    let version = request.if_match.as_deref();
    // A body that repeats the id of its item repeats the right one.
    if let Some(field) = &ready.resource.id.field
        && let Some(id) = request.item.as_ref().and_then(|item| ready.id_of(item))
    {
        let is_known = body.pointer(&plan.at).and_then(|shown| shown.get(field)).cloned();
        let is_needed = ask.op == Op::Create && request.item.as_ref() != Some(&request.path);
        if is_known.is_some() || is_needed {
            let is_number = is_known.is_some_and(|known| known.is_number());
            let number =
                id.parse::<i64>().ok().filter(|_| is_number || ready.resource.id.schema["type"] == "integer");
            let shown = json::place(&mut body, &plan.at)?;
            shown.as_object_mut()?.insert(field.clone(), number.map_or_else(|| id.into(), Value::from));
        }
    }
    if let (Some(field), Some(version)) = (ready.version_field(), version) {
        let version = serde_json::from_str(version).unwrap_or(Value::Null);
        let shown = json::place(&mut body, &plan.at)?;
        *json::place(shown, &format!("/{}", field.replace('~', "~0").replace('/', "~1")))? = version;
    }
    Some(body)
}

/// Returns a merge patch of the representation at a pointer as JSON Patch (RFC 6902) of the representation.
fn json_patch(merge: &Value, at: &str) -> Value {
    let fields = merge.pointer(at).and_then(Value::as_object).into_iter().flatten();
    let change = |(name, value): (&String, &Value)| {
        let path = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        json!({ "op": "add", "path": path, "value": value })
    };
    fields.map(change).collect()
}

impl Protocol for Rest {
    type Model = RestModel;
    type Ask = Ask;
    type Reader = RestReader;

    fn model(&self) -> &RestModel {
        &self.model
    }

    fn resolve(&self, ask: &Ask, case: &str, past: &Past<Self>) -> Option<Message> {
        let past = &past.exchanges;
        let ready = self.outline.get(ask.resource)?;
        let mark: Arc<str> = format!("{case}-").into();
        let (path, item) = self.paths(ask, case, past)?;
        if let Some(item) = item.as_ref().filter(|_| ready.resource.id.reused)
            && may_be_others(ask.op, item, past)
        {
            return None;
        }
        let mut request = Request {
            at: 0,
            resource: Arc::clone(&ready.name),
            op: ask.op,
            method: ready.method(ask.op),
            path,
            item,
            fields: json::Fields::new(),
            body: None,
            media: None,
            if_match: None,
            if_none_match: None,
            query: None,
            filter: None,
            mark,
        };
        if let Some(list) = ready.list().filter(|_| ask.op == Op::List) {
            let filter = pages::filter(ask, past);
            let filter = filter.map(|(name, value)| (name, ask::marked(value, &request.mark)));
            request.query = match ask.after {
                Some(step) => Some(pages::next_of(past, step)?),
                None if ask.size.is_none() && filter.is_none() => None,
                None => {
                    let filter = filter.as_ref().map(|(name, value)| (*name, value));
                    Some(pages::text(&pages::first(list, ask.size, filter)).into())
                }
            };
            request.filter = filter.map(|(name, value)| (name.into(), json::text(&value)));
        }
        match ask.condition {
            None => {}
            Some(Condition::Match(step)) => request.if_match = Some(ask::told_tag(past, step)?),
            Some(Condition::MatchMadeUp) => request.if_match = Some(MADE_UP_TAG.into()),
            Some(Condition::NoneMatch(step)) => request.if_none_match = Some(ask::told_tag(past, step)?),
            Some(Condition::Absent) => request.if_none_match = Some("*".into()),
        }
        if let Some(plan) = ready.body(ask.op)
            && let Some(body) = body(ready, plan, ask, &request)
        {
            if let Some(shown) = body.pointer(&plan.at) {
                request.fields = wire::own(ready, shown);
            }
            let is_json_patch = ask.json_patch || plan.media == JSON_PATCH;
            request.media = is_json_patch.then(|| JSON_PATCH.into());
            let sent = if is_json_patch { json_patch(&body, &plan.at) } else { body };
            request.body = Some(sent.to_string().into());
        }
        Some(request.into())
    }

    fn encode(&self, message: &Message, bytes: &mut Vec<u8>) {
        if let Some(request) = message.request() {
            wire::encode(request, &self.outline, &self.access, bytes);
        }
    }

    fn reader(&self, _: Side) -> RestReader {
        RestReader::new(self.outline.clone())
    }

    fn conceal(&self, bytes: &mut [u8]) {
        self.access.conceal(bytes);
    }

    fn dialogue(&self) -> &dyn Dialogue<Self> {
        self
    }

    fn asks(&self) -> &dyn Asks<Self> {
        self
    }

    fn evidence(&self) -> &dyn Evidence<Self> {
        self
    }

    fn setup(&self) -> &dyn Setup<Self> {
        self
    }

    fn exporting(&self) -> &dyn Exporting<Self> {
        self
    }
}

/// Returns `true` if an item may be that of another case by the time a request arrives, where ids are given again: it was removed, or
/// a write of it may still be on its way when it is removed. Such a request could change what belongs to somebody else.
fn may_be_others(op: Op, item: &Arc<str>, past: &Exchanges) -> bool {
    let mut about = past.iter().filter(|exchange| {
        let request = exchange.request.request();
        request.is_some_and(|request| request.item.as_ref() == Some(item))
    });
    match op {
        Op::Replace | Op::Patch => about.any(|exchange| exchange.ask.op == Op::Delete),
        Op::Delete => about.any(|exchange| {
            exchange.ask.op == Op::Delete || (!exchange.ask.op.is_safe() && exchange.replies.is_empty())
        }),
        Op::Create | Op::Read | Op::List => false,
    }
}

/// Returns `true` if a create may have made an item although its response tells no id.
fn is_untold(exchange: &Exchange<Ask, Message>) -> bool {
    if exchange.ask.op != Op::Create {
        return false;
    }
    match exchange.replies.iter().find_map(Message::response) {
        // It may be answered by a server error later.
        None => true,
        Some(response) => {
            response.status >= 500
                || response.status == 202
                || (response.is_success() && response.item.is_none())
        }
    }
}

/// Returns the items with a write that was on its way while the request at this place was: it was answered after this request was sent,
/// or is not answered yet.
fn moving(past: &Exchanges, place: usize) -> Vec<Arc<str>> {
    let sent =
        past.get(place).and_then(|exchange| exchange.request.request()).map_or(0, |request| request.at);
    let mut items = Vec::new();
    for exchange in past.iter().filter(|exchange| !exchange.ask.op.is_safe()) {
        let response = exchange.replies.iter().find_map(Message::response);
        if response.is_some_and(|response| response.at < sent) {
            continue;
        }
        let asked = exchange.request.request().and_then(|request| request.item.clone());
        let item = asked.or_else(|| response.and_then(|response| response.item.clone()));
        items.extend(item.filter(|item| !items.contains(item)));
    }
    items
}

impl Dialogue<Rest> for Rest {
    fn stamp(&self, message: &mut Message, micros: u64) {
        let micros = i64::try_from(micros).unwrap_or(i64::MAX);
        match message {
            Message::Request(request) => Arc::make_mut(request).at = micros,
            Message::Response(response) => Arc::make_mut(response).at = micros,
        }
    }

    /// Leaves out of a list the items that do not belong to this case, and notes how many items of this case may have unknown ids.
    fn notice(&self, past: &Past<Self>, place: usize, message: &mut Message) {
        let Message::Response(response) = message else { return };
        let is_list = past.exchanges.get(place).is_some_and(|exchange| exchange.ask.op == Op::List);
        if !is_list || response.items.is_none() {
            return;
        }
        let response: &mut Response = Arc::make_mut(response);
        let is_known = |listed: &Listed| {
            past.exchanges.iter().any(|exchange| {
                let told = exchange.replies.iter().filter_map(Message::response);
                let mut told = told.filter_map(|response| response.item.as_ref());
                let asked = exchange.request.request().and_then(|request| request.item.as_ref());
                told.any(|item| *item == listed.item) || asked == Some(&listed.item)
            })
        };
        if let Some(items) = &mut response.items {
            items.retain(|listed| listed.is_ours || is_known(listed));
        }
        let since = pages::complete(&past.exchanges, place, response).unwrap_or(place);
        response.moving = moving(&past.exchanges, since);
        response.untold = past.exchanges.iter().filter(|exchange| is_untold(exchange)).count() as u32;
    }

    fn refusal(&self, request: &Message, reply: &Message) -> Option<Refusal> {
        let (request, response) = (request.request()?, reply.response()?);
        let is_conditional = request.if_match.is_some() || request.if_none_match.is_some();
        let is_refused = match response.status {
            304 | 404 | 410 => false,
            409 | 412 => !is_conditional,
            status => status >= 300,
        };
        is_refused.then(|| Refusal {
            status: response.status,
            retry_after: response.retry_after.map(Duration::from_secs),
        })
    }

    fn announces_end(&self, reply: &Message) -> bool {
        reply.response().is_some_and(|response| response.is_last)
    }
}

impl Asks<Rest> for Rest {
    fn probe(&self) -> Option<Ask> {
        let without_parent =
            |number: &usize| self.outline.get(*number).is_some_and(|one| one.parent.is_none());
        let number = (0..self.outline.len()).find(without_parent)?;
        let ready = self.outline.get(number)?;
        if ready.has(Op::Read) {
            return Some(Ask::new(number, Op::Read).on(Ref::MadeUp(0)));
        }
        ready.has(Op::List).then(|| Ask::new(number, Op::List))
    }

    fn renumber(&self, ask: &Ask, now: &dyn Fn(usize) -> usize) -> Ask {
        ask.renumbered(now)
    }

    /// Returns the request without its condition, and with fewer fields.
    fn simpler(&self, ask: &Ask) -> Vec<Ask> {
        let mut simpler = Vec::new();
        if ask.filter.is_some() || ask.size.is_some() {
            simpler.push(Ask { filter: None, size: None, ..ask.clone() });
        }
        let Some(ready) = self.outline.get(ask.resource) else { return simpler };
        if ask.condition.is_some() && ready.version_field().is_none() {
            simpler.push(ask.clone().when(None));
        }
        if ask.json_patch {
            simpler.push(Ask { json_patch: false, ..ask.clone() });
        }
        let (Some(plan), Some(body)) = (ready.body(ask.op), &ask.body) else { return simpler };
        let shown = body.pointer(&plan.at).and_then(Value::as_object);
        let mark = ready.resource.mark.as_ref();
        for name in shown.into_iter().flat_map(|shown| shown.keys()).filter(|name| Some(*name) != mark) {
            let mut fewer = body.clone();
            let Some(fields) = fewer.pointer_mut(&plan.at).and_then(Value::as_object_mut) else { continue };
            fields.remove(name);
            if !fields.is_empty() && ready.misfit(ask.op, &fewer).is_none() {
                simpler.push(ask.clone().with(fewer));
            }
        }
        simpler
    }

    fn look(&self, ask: &Ask) -> Option<Ask> {
        let ready = self.outline.get(ask.resource)?;
        let is_write = matches!(ask.op, Op::Replace | Op::Patch | Op::Delete);
        (is_write && ready.has(Op::Read)).then(|| Ask {
            op: Op::Read,
            body: None,
            condition: None,
            ..ask.clone()
        })
    }

    /// Returns a read of each item, and a list of each collection.
    fn follow_ups(&self, asks: &[(usize, &Ask)]) -> Vec<Ask> {
        let mut looks: Vec<Ask> = Vec::new();
        for (step, ask) in asks {
            let Some(ready) = self.outline.get(ask.resource) else { continue };
            let item = match (ask.op, ask.item) {
                (Op::Create, Some(Ref::Own(_))) => ask.item,
                (Op::Create, _) => Some(Ref::Step(*step)),
                (Op::List, _) => None,
                (_, item) => item,
            };
            if let Some(item) = item.filter(|_| ready.has(Op::Read)) {
                looks.push(Ask { parent: ask.parent, ..Ask::new(ask.resource, Op::Read) }.on(item));
            }
            let lists = ready.has(Op::List) && matches!(ask.op, Op::Create | Op::List);
            if lists {
                let parent = if ready.is_server_made() || ask.op == Op::List { ask.item } else { ask.parent };
                looks.push(Ask { item: parent, ..Ask::new(ask.resource, Op::List) });
            }
        }
        let mut different: Vec<Ask> = Vec::new();
        for look in looks {
            if !different.contains(&look) {
                different.push(look);
            }
        }
        different
    }
}

/// The branches that a run can reach: an operation and its outcome.
const OUTCOMES: [(&str, fn(&Request, &Response) -> bool); 4] = [
    ("performed", |request, response| response.is_success() && request.if_match.is_none()),
    ("performed under a condition", |request, response| response.is_success() && request.if_match.is_some()),
    ("no such item", |_, response| matches!(response.status, 404 | 410)),
    ("condition false", |_, response| matches!(response.status, 304 | 409 | 412)),
];

impl Rest {
    /// Returns `true` if an operation on a resource can have an outcome.
    fn can(ready: &Ready, op: Op, outcome: usize) -> bool {
        let has_tags = ready.resource.validator.is_some();
        let is_write = matches!(op, Op::Replace | Op::Patch | Op::Delete);
        let has_version = ready.version_field().is_some();
        ready.has(op)
            && match outcome {
                0 => !(has_version && op == Op::Replace),
                1 => has_tags && is_write && (!has_version || op == Op::Replace),
                2 => !matches!(op, Op::Create | Op::List),
                _ => {
                    has_tags
                        && (is_write || (op == Op::Read && !has_version))
                        && (!has_version || op == Op::Replace)
                }
            }
    }

    fn all_branches(&self) -> impl Iterator<Item = (&Arc<Ready>, Op, usize)> {
        let all = self.outline.all().flat_map(|ready| Op::ALL.map(|op| (ready, op)));
        all.flat_map(|(ready, op)| (0..OUTCOMES.len()).map(move |outcome| (ready, op, outcome)))
            .filter(|(ready, op, outcome)| Self::can(ready, *op, *outcome))
    }
}

impl Evidence<Rest> for Rest {
    /// Lowers the level of rules that rest on the identity of an item, if the service gives ids again: then an id says less about who
    /// it belongs to.
    fn level(&self, rule: &Rule) -> Level {
        let rests_on_ids = [rules::CREATED_IS_THERE.name, rules::ID_UNIQUE.name].contains(&rule.name);
        let is_reused = rests_on_ids && self.outline.all().any(|ready| ready.resource.id.reused);
        if is_reused { Level::Should } else { rule.level }
    }

    fn subjects(&self, request: &Message, reply: Option<&Message>) -> Vec<String> {
        let asked = request.request().and_then(|request| request.item.as_ref());
        let told = || reply.and_then(Message::response).and_then(|response| response.item.as_ref());
        asked.or_else(told).iter().map(ToString::to_string).collect()
    }

    fn subject(&self, request: &Message) -> Option<String> {
        self.subjects(request, None).pop()
    }

    /// A list depends on all items, and so does a create whose id nobody knows: it may be that of any item.
    fn spans(&self, request: &Message, reply: Option<&Message>) -> bool {
        let Some(request) = request.request() else { return false };
        request.op == Op::List || (request.op == Op::Create && request.item.is_none() && reply.is_none())
    }

    fn is_idle(&self, request: &Message, _: Option<&Message>) -> bool {
        request.request().is_some_and(|request| request.op.is_safe())
    }

    fn is_spontaneous(&self, rule: &Rule) -> bool {
        [rules::TAG_STEADY.name, rules::SERVES.name].contains(&rule.name)
    }

    fn branches(&self) -> Vec<String> {
        let name = |(ready, op, outcome): (&Arc<Ready>, Op, usize)| {
            format!("{} {}: {}", ready.name, op.name(), OUTCOMES[outcome].0)
        };
        self.all_branches().map(name).collect()
    }

    fn reached(&self, exchange: &Exchange<Ask, Message>) -> Option<usize> {
        let (request, response) = (exchange.request.request()?, exchange.replies.last()?.response()?);
        self.all_branches().position(|(ready, op, outcome)| {
            ready.name == request.resource && op == request.op && OUTCOMES[outcome].1(request, response)
        })
    }
}

impl Setup<Rest> for Rest {
    fn survey(&self, _: &Talk<'_, Self>) -> Result<Vec<String>, Trouble> {
        self.surveyed.clone()
    }
}

impl Exporting<Rest> for Rest {
    fn exports(&self, kept: &Kept<'_, Self>) -> Exports {
        export::exports(self, kept)
    }
}
