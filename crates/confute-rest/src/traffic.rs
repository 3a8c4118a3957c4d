//! The traffic of a case: patterns of a few requests about items of one resource, most of them at the same time.

use std::collections::VecDeque;

use confute_drive::{Generator, Peer, Step, Until, View};
use serde_json::Value;

use crate::ask::{self, Ask, Condition, Exchanges, Ref};
use crate::message::{Message, Op};
use crate::outline::{Outline, Ready};
use crate::protocol::Rest;
use crate::{body, pages};

type Pick<'a> = dyn FnMut(u64) -> u64 + 'a;

/// Number of requests of a case.
const REQUESTS: usize = 120;
/// Maximum number of outstanding responses.
const OUTSTANDING: usize = 10;
/// Number of items from which on a case removes some.
const ITEMS: usize = 8;
/// Maximum number of pages after the first one.
const PAGES: u64 = 6;
/// Number of entity tags among which a request finds an outdated one.
const RECENT: usize = 4;

/// A step to come. Requests are made when their turn comes, because they refer to responses.
#[derive(Clone, Debug)]
enum Plan {
    /// A request for an operation on an item, on this connection or on an idle one.
    Ask {
        op: Op,
        item: Item,
        when: When,
        on: Option<u32>,
        field: usize,
    },
    /// A read or a list, whichever says more.
    Look(Item),
    /// A list of at most so many items on a page, or one that is filtered.
    Page(u64),
    Filter,
    /// The page after the latest list.
    Next,
    Gather,
    Hold(u32),
    Release(u32),
    Wait(Until),
    HangUp(u32),
}

/// The item of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    /// This one.
    Is(Ref),
    /// The latest that was created.
    Newest,
    /// Any that exists.
    Any,
    /// One that was removed.
    Removed,
    /// One that never was.
    MadeUp,
}

/// The precondition of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// The latest validator that was told about the item.
    Current,
    /// An older one.
    Outdated,
    /// One that no item has.
    MadeUp,
    /// The latest one, for a read.
    Changed,
}

const BARRIER: Plan = Plan::Wait(Until::Outstanding(0));

fn plan(op: Op, item: Item) -> Plan {
    Plan::Ask { op, item, when: When::Always, on: None, field: 0 }
}

fn plan_when(op: Op, item: Item, when: When) -> Plan {
    Plan::Ask { op, item, when, on: None, field: 0 }
}

/// The random traffic of a case.
pub struct Traffic {
    outline: Outline,
    /// Number of the resource that the case is about.
    resource: usize,
    /// Numbers of the resources that it belongs to, the oldest first.
    ancestors: Vec<usize>,
    plans: VecDeque<Plan>,
    held: Vec<u32>,
    asked: usize,
    requests: usize,
    /// Number of marks so far.
    marks: u64,
    /// Number of items so far whose ids the client made.
    named: u32,
    is_ending: bool,
}

impl Traffic {
    /// Creates the traffic of the case with this number.
    pub fn new(outline: Outline, case: u64) -> Self {
        let resource = (case % outline.len().max(1) as u64) as usize;
        let ancestors = outline.ancestors(resource);
        let mut traffic = Self {
            outline,
            resource,
            ancestors,
            plans: VecDeque::new(),
            held: Vec::new(),
            asked: 0,
            requests: REQUESTS,
            marks: 0,
            named: 0,
            is_ending: false,
        };
        if case < traffic.outline.len() as u64 {
            traffic.open();
        }
        traffic
    }

    fn ready(&self) -> &Ready {
        // The number is that of a resource, and an outline has at least one.
        self.outline.get(self.resource).expect("an outline has a resource")
    }

    fn has(&self, op: Op) -> bool {
        self.ready().has(op)
    }

    fn has_tags(&self) -> bool {
        self.ready().resource.validator.is_some()
    }

    /// Plans the opening: every operation once. What fails at once should fail in the smallest case.
    fn open(&mut self) {
        use Op::{Create, Delete, List, Patch, Read, Replace};
        let newest = Item::Newest;
        let mut plans = vec![plan(Create, newest), plan(Read, newest)];
        plans.extend(self.whole_list());
        plans.extend([plan(Replace, newest), plan(Read, newest), plan(Patch, newest), plan(Read, newest)]);
        plans.extend([
            plan_when(Read, newest, When::Changed),
            plan_when(Replace, newest, When::Current),
            plan_when(Replace, newest, When::Outdated),
            plan(Read, newest),
            plan(List, newest),
            plan(Delete, newest),
            plan(Read, Item::Removed),
        ]);
        plans.extend(self.whole_list());
        plans.extend([plan(Read, Item::MadeUp), plan(Create, newest)]);
        self.plans = plans.into_iter().flat_map(|plan| [plan, BARRIER]).collect();
    }

    /// Returns the operations that change an item.
    fn writes(&self) -> Vec<Op> {
        [Op::Replace, Op::Patch].into_iter().filter(|op| self.has(*op)).collect()
    }

    /// Adds a pattern of a few requests.
    fn plan(&mut self, cast: &Cast, connections: u32, pick: &mut Pick<'_>) {
        let connections = u64::from(connections.max(1));
        if cast.items.is_empty() || (cast.items.len() < 3 && pick(3) == 0) {
            self.plans.extend([plan(Op::Create, Item::Newest), BARRIER]);
            return;
        }
        if cast.items.len() > ITEMS {
            self.plans.extend([plan(Op::Delete, Item::Any), plan(Op::Delete, Item::Any), BARRIER]);
            return;
        }
        let item = Item::Is(cast.items[pick(cast.items.len() as u64) as usize]);
        let writes = self.writes();
        match pick(20) {
            0 => self.walk(item, &writes, pick),
            1..=3 if !writes.is_empty() => self.burst(item, &writes, connections, pick),
            4..=6 if self.has_tags() && !writes.is_empty() => self.race(item, &writes, connections, pick),
            7 | 8 => self.births(connections, pick),
            9 => {
                let look = [plan(Op::Read, Item::Newest), plan(Op::List, Item::Any)];
                self.plans.extend([BARRIER, plan(Op::Delete, Item::Newest), BARRIER]);
                self.plans.extend([plan(Op::Create, Item::Any), BARRIER]);
                self.plans.extend(look.into_iter().flat_map(|plan| [plan, BARRIER]));
            }
            10 => self.lists(item, &writes, pick),
            15 | 16 if self.ready().list().is_some_and(|list| list.partial || !list.filters.is_empty()) => {
                self.lists(item, &writes, pick);
            }
            11 if self.has_tags() => {
                let op =
                    if writes.is_empty() { Op::Delete } else { writes[pick(writes.len() as u64) as usize] };
                let when = if pick(4) == 0 { When::MadeUp } else { When::Outdated };
                self.plans.extend([plan(Op::Read, item), BARRIER, plan(op, item), BARRIER]);
                self.plans.extend([plan_when(op, item, when), BARRIER, plan(Op::Read, item)]);
                self.plans.push_back(plan_when(Op::Read, item, When::Changed));
            }
            12 => self.plans.extend([
                plan(Op::Read, Item::MadeUp),
                plan(Op::Read, Item::Removed),
                plan(Op::Delete, item),
                BARRIER,
                plan(Op::Read, item),
            ]),
            13 => {
                let on = pick(connections) as u32;
                self.plans.extend([BARRIER, Plan::HangUp(on), plan(Op::Read, item)]);
            }
            14 => {
                let on = pick(connections) as u32;
                let held = Plan::Ask { op: Op::Read, item, when: When::Always, on: Some(on), field: 0 };
                self.plans.extend([BARRIER, Plan::Hold(on), held]);
                self.plans.extend(writes.iter().map(|op| plan(*op, item)));
                self.plans.extend([Plan::Wait(Until::Millis(1)), Plan::Release(on), BARRIER]);
            }
            // As many as may be outstanding.
            _ => {
                for _ in 0..6 + pick(10) {
                    let op = match pick(8) {
                        0 => Op::Create,
                        1 | 2 if !writes.is_empty() => writes[pick(writes.len() as u64) as usize],
                        3 => Op::List,
                        _ => Op::Read,
                    };
                    self.plans.push_back(plan(op, Item::Any));
                }
            }
        }
    }

    /// One after the other.
    fn walk(&mut self, item: Item, writes: &[Op], pick: &mut Pick<'_>) {
        for op in writes {
            self.plans.extend([plan(*op, item), BARRIER, plan(Op::Read, item), BARRIER]);
        }
        if pick(2) == 0 {
            self.plans.extend([plan(Op::Delete, item), BARRIER, plan(Op::Read, item), BARRIER]);
        }
    }

    /// Several writes of an item at one moment.
    fn burst(&mut self, item: Item, writes: &[Op], connections: u64, pick: &mut Pick<'_>) {
        self.plans.push_back(BARRIER);
        if pick(3) > 0 {
            self.plans.push_back(Plan::Gather);
        }
        // An item that is removed meanwhile may be somebody else's by the time of a write.
        let may_remove = !self.ready().resource.id.reused;
        // Patches of different fields must all be kept.
        let only = if writes.contains(&Op::Patch) && pick(2) == 0 { Some(Op::Patch) } else { None };
        for number in 0..(2 + pick(3)).min(connections.max(2)) {
            let op = match pick(10) {
                0 if may_remove => Op::Delete,
                1 | 2 => Op::Read,
                _ => only.unwrap_or(writes[pick(writes.len() as u64) as usize]),
            };
            let field = number as usize;
            self.plans.push_back(Plan::Ask { op, item, when: When::Always, on: None, field });
        }
        self.plans.extend([BARRIER, Plan::Look(item), BARRIER, Plan::Look(item), BARRIER]);
    }

    /// Several writes of an item at one moment, each under the condition that the item is as it was.
    fn race(&mut self, item: Item, writes: &[Op], connections: u64, pick: &mut Pick<'_>) {
        self.plans.extend([BARRIER, plan(Op::Read, item), BARRIER, Plan::Gather]);
        let op = writes[pick(writes.len() as u64) as usize];
        for number in 0..(2 + pick(3)).min(connections.max(2)) {
            let op = if pick(8) == 0 && !self.ready().resource.id.reused { Op::Delete } else { op };
            self.plans.push_back(Plan::Ask {
                op,
                item,
                when: When::Current,
                on: None,
                field: number as usize,
            });
        }
        self.plans.extend([BARRIER, plan(Op::Read, item), BARRIER]);
    }

    /// Several items are created at one moment.
    fn births(&mut self, connections: u64, pick: &mut Pick<'_>) {
        self.plans.extend([BARRIER, Plan::Gather]);
        for _ in 0..(2 + pick(3)).min(connections.max(2)) {
            self.plans.push_back(plan(if pick(6) == 0 { Op::List } else { Op::Create }, Item::Any));
        }
        self.plans.push_back(BARRIER);
        self.plans.extend(self.whole_list());
        self.plans.extend([plan(Op::Read, Item::Newest), plan(Op::Read, Item::Any), BARRIER]);
    }

    /// Lists before, during and after changes.
    fn lists(&mut self, item: Item, writes: &[Op], pick: &mut Pick<'_>) {
        let change = match pick(3) {
            0 => plan(Op::Create, Item::Any),
            1 => plan(Op::Delete, item),
            _ => writes.first().map_or(plan(Op::Create, Item::Any), |op| plan(*op, item)),
        };
        let Some(list) = self.ready().list() else { return };
        if !list.filters.is_empty() && pick(3) == 0 {
            self.plans.extend([
                BARRIER,
                Plan::Filter,
                BARRIER,
                change,
                Plan::Filter,
                BARRIER,
                Plan::Filter,
                BARRIER,
            ]);
            return;
        }
        if list.partial && pick(3) > 0 {
            self.plans.extend([BARRIER, Plan::Page(2 + pick(7)), BARRIER]);
            let when = pick(2 * PAGES);
            for number in 0..PAGES {
                self.plans.extend((number == when).then(|| change.clone()));
                self.plans.extend([Plan::Next, BARRIER]);
            }
            return;
        }
        self.plans.extend([BARRIER, plan(Op::List, Item::Any), BARRIER, change]);
        if pick(2) == 0 {
            self.plans.push_back(plan(Op::List, Item::Any));
        }
        self.plans.push_back(BARRIER);
        self.plans.extend(self.whole_list());
        self.plans.extend([BARRIER, plan(Op::List, Item::Any), BARRIER]);
    }

    /// Returns a list with the pages after it that prove it whole, if the service counts items before a page.
    fn whole_list(&self) -> Vec<Plan> {
        let pages = self.ready().list().and_then(|list| list.pages.as_ref());
        let mut plans = vec![plan(Op::List, Item::Any)];
        if pages.is_some_and(|pages| pages.offset.is_some()) {
            plans.extend([BARRIER, Plan::Next, BARRIER, Plan::Next]);
        }
        plans
    }

    /// Plans the requests that end the case: they remove what it created.
    fn end(&mut self, cast: &Cast) -> bool {
        if std::mem::replace(&mut self.is_ending, true) {
            return false;
        }
        self.plans.clear();
        self.plans.push_back(BARRIER);
        if self.has(Op::Delete) {
            self.plans.extend(cast.items.iter().map(|item| plan(Op::Delete, Item::Is(*item))));
        }
        true
    }

    /// Returns the request of a plan; `None` if there is no such item, operation or validator.
    fn ask(&mut self, step: &Plan, cast: &Cast, view: &View<'_, Rest>, pick: &mut Pick<'_>) -> Option<Ask> {
        let past = &view.past.exchanges;
        match step {
            Plan::Ask { op, item, when, field, .. } => {
                self.request(*op, *item, *when, *field, (cast, past), pick)
            }
            Plan::Look(item) => {
                let read = self.request(Op::Read, *item, When::Always, 0, (cast, past), pick);
                let list = self.request(Op::List, *item, When::Always, 0, (cast, past), pick);
                match (read, list) {
                    (Some(read), Some(list)) => {
                        let is_better = (view.disagreement)(&list) > (view.disagreement)(&read);
                        Some(if is_better { list } else { read })
                    }
                    (read, list) => read.or(list),
                }
            }
            Plan::Page(_) | Plan::Filter | Plan::Next => {
                let mut list = self.request(Op::List, Item::Any, When::Always, 0, (cast, past), pick)?;
                match step {
                    Plan::Page(size) => list.size = Some(*size),
                    Plan::Next => list.after = Some(pages::unfinished(past, self.resource)?),
                    _ => list.filter = Some(self.filter(past, pick)?),
                }
                Some(list)
            }
            _ => None,
        }
    }

    /// Returns a field by which the list can be filtered, and a value that some request of the case has given to it.
    fn filter(&self, past: &Exchanges, pick: &mut Pick<'_>) -> Option<(String, Value)> {
        let filters = &self.ready().list()?.filters;
        let name = filters.get(pick(filters.len() as u64) as usize)?;
        let sent =
            past.iter().filter(|exchange| exchange.ask.resource == self.resource).filter_map(|exchange| {
                let plan = self.ready().body(exchange.ask.op)?;
                exchange.ask.body.as_ref()?.pointer(&plan.at)?.get(name)
            });
        let values: Vec<&Value> = sent.filter(|value| !value.is_null()).collect();
        let value = values.get(pick(values.len() as u64) as usize)?;
        Some((name.clone(), (*value).clone()))
    }

    fn request(
        &mut self,
        op: Op,
        item: Item,
        when: When,
        field: usize,
        (cast, past): (&Cast, &Exchanges),
        pick: &mut Pick<'_>,
    ) -> Option<Ask> {
        if !self.has(op) {
            return None;
        }
        let parent = cast.parent;
        let mut ask = Ask::new(self.resource, op);
        if op == Op::List || (op == Op::Create && self.ready().is_server_made()) {
            ask.item = parent;
        } else if op == Op::Create {
            // Sometimes one that is there already.
            let again = (pick(6) == 0).then(|| cast.items.last().copied()).flatten();
            ask.item = again.or_else(|| {
                self.named += 1;
                Some(Ref::Own(self.named))
            });
            ask.parent = parent;
        } else {
            ask.item = Some(match item {
                Item::Is(item) => item,
                Item::Newest => *cast.items.last()?,
                Item::Any => *cast.items.get(pick(cast.items.len() as u64) as usize)?,
                Item::Removed => *cast.removed.last()?,
                Item::MadeUp => Ref::MadeUp(pick(3) as u32),
            });
            let is_gone = ask.item.is_some_and(|item| cast.removed.contains(&item));
            if is_gone && op != Op::Read && (self.ready().resource.id.reused || op != Op::Delete) {
                return None;
            }
            ask.parent = parent;
        }
        self.marks += 1;
        ask.body = match op {
            Op::Patch => body::patch(self.ready(), field + pick(2) as usize * field, self.marks, pick),
            _ => body::body(self.ready(), op, self.marks, pick),
        };
        let may_list_changes = op == Op::Patch && self.ready().body(op).is_some_and(|plan| plan.json_patch);
        ask.json_patch = may_list_changes && pick(2) == 0;
        if let Some(on) = ask.item {
            ask.condition = self.condition(op, on, when, past, pick)?;
        }
        Some(ask)
    }

    /// Returns the precondition of a request; `None` if it needs a validator that no response has told.
    fn condition(
        &self,
        op: Op,
        item: Ref,
        when: When,
        past: &Exchanges,
        pick: &mut Pick<'_>,
    ) -> Option<Option<Condition>> {
        let ready = self.ready();
        let has_version = ready.version_field().is_some();
        if !self.has_tags() || (has_version && op != Op::Replace) || matches!(op, Op::Create | Op::List) {
            return Some(None);
        }
        let is_required = has_version
            || (op != Op::Read
                && matches!(
                    ready.resource.validator,
                    Some(crate::plan::Validator::Etag { required: true, .. })
                ));
        let when = match when {
            When::Always if is_required => When::Current,
            When::MadeUp if has_version => When::Outdated,
            when => when,
        };
        let mut told = past.iter().rev().filter(|exchange| is_about(exchange, item)).filter_map(|exchange| {
            let response = exchange.replies.iter().find_map(Message::response)?;
            response.tag.as_ref().map(|tag| (exchange.step, tag))
        });
        Some(Some(match when {
            When::Always => return Some(None),
            When::MadeUp => Condition::MatchMadeUp,
            When::Current => Condition::Match(told.next()?.0),
            When::Changed => Condition::NoneMatch(told.next()?.0),
            When::Outdated => {
                let (_, latest) = told.next()?;
                let older: Vec<usize> =
                    told.filter(|(_, tag)| *tag != latest).take(RECENT).map(|(step, _)| step).collect();
                Condition::Match(*older.get(pick(older.len() as u64) as usize)?)
            }
        }))
    }

    /// Returns the request that creates the next ancestor, if one is missing.
    fn ancestor(&mut self, past: &Exchanges, pick: &mut Pick<'_>) -> Option<Ask> {
        let mut parent = None;
        for number in &self.ancestors {
            let of = past.iter().find(|exchange| exchange.ask.resource == *number);
            match of {
                Some(exchange) => parent = Some(Ref::Step(exchange.step)),
                None => {
                    self.marks += 1;
                    let ready = self.outline.get(*number)?;
                    let body = body::body(ready, Op::Create, self.marks, pick);
                    let ask = Ask::new(*number, Op::Create).with(body);
                    return Some(if ready.is_server_made() {
                        Ask { item: parent, ..ask }
                    } else {
                        Ask { item: Some(Ref::Own(0)), parent, ..ask }
                    });
                }
            }
        }
        None
    }

    /// Returns an idle connection, or the wanted one if it is idle.
    fn connection(&self, view: &View<'_, Rest>, wanted: Option<u32>, pick: &mut Pick<'_>) -> Option<u32> {
        let load = |on: &u32| view.outstanding.get(*on as usize).copied().unwrap_or(0);
        let count = view.connections.max(1);
        if let Some(on) = wanted.filter(|on| *on < count) {
            return Some(on).filter(|on| load(on) == 0);
        }
        let first = pick(u64::from(count)) as u32;
        let mut all = (0..count).map(|offset| (first + offset) % count);
        all.find(|on| load(on) == 0 && !self.held.contains(on))
    }
}

/// Returns `true` if an exchange is about this item.
fn is_about(exchange: &confute_drive::Exchange<Ask, Message>, item: Ref) -> bool {
    let is_its_birth = exchange.ask.op == Op::Create && item == Ref::Step(exchange.step);
    is_its_birth || (exchange.ask.op != Op::List && exchange.ask.item == Some(item))
}

/// The items of a case.
#[derive(Default)]
struct Cast {
    /// Those that exist, the latest last.
    items: Vec<Ref>,
    /// Those that were removed.
    removed: Vec<Ref>,
    /// The parent of the collection.
    parent: Option<Ref>,
}

impl Cast {
    /// Returns the items of a resource. One whose outcome is open is left alone.
    fn of(resource: usize, parent: Option<usize>, ready: &Ready, past: &Exchanges) -> Self {
        let mut cast = Self::default();
        for exchange in past {
            let response = exchange.replies.iter().find_map(Message::response);
            let Ask { op, item, .. } = exchange.ask;
            if Some(exchange.ask.resource) == parent && cast.parent.is_none() {
                cast.parent = Some(match item {
                    Some(own @ Ref::Own(_)) => own,
                    _ => Ref::Step(exchange.step),
                });
            }
            if exchange.ask.resource != resource {
                continue;
            }
            let is_open = response.is_some_and(|response| response.status >= 500 || response.status == 202);
            let item = match (op, item) {
                (Op::Create, _) if ready.is_server_made() => {
                    ask::created(past, exchange.step).map(|_| Ref::Step(exchange.step))
                }
                (_, item) => item,
            };
            let Some(item) = item else { continue };
            match op {
                Op::Create if response.is_some_and(crate::message::Response::is_success) => {
                    cast.removed.retain(|known| *known != item);
                    cast.items.retain(|known| *known != item);
                    cast.items.push(item);
                }
                Op::Delete => {
                    if cast.items.contains(&item) {
                        cast.removed.push(item);
                    }
                    cast.items.retain(|known| *known != item);
                }
                _ if is_open && !op.is_safe() => cast.items.retain(|known| *known != item),
                _ => {}
            }
        }
        cast
    }
}

impl Generator<Rest> for Traffic {
    fn next(&mut self, view: &View<'_, Rest>, pick: &mut Pick<'_>) -> Option<Step<Ask>> {
        let past = &view.past.exchanges;
        if let Some(ask) = self.ancestor(past, pick) {
            return Some(Step::Ask { on: Peer::Opened(0), ask, cuts: Vec::new() });
        }
        let parent = self.ancestors.last().copied();
        if self.ancestors.iter().any(|number| {
            let of = past.iter().find(|exchange| exchange.ask.resource == *number);
            of.is_some_and(|exchange| exchange.replies.is_empty())
        }) {
            return Some(Step::Wait(Until::Outstanding(0)));
        }
        loop {
            let cast = Cast::of(self.resource, parent, self.ready(), past);
            let is_enough = self.asked >= self.requests;
            if is_enough && let Some(on) = self.held.pop() {
                return Some(Step::Release(Peer::Opened(on)));
            }
            if is_enough && (!self.is_ending || self.plans.is_empty()) && !self.end(&cast) {
                return None;
            }
            let Some(step) = self.plans.pop_front() else {
                self.plan(&cast, view.connections, pick);
                // A service that creates nothing must not keep the tester for ever.
                self.asked += usize::from(cast.items.is_empty());
                continue;
            };
            let wanted = match &step {
                Plan::Wait(until) => return Some(Step::Wait(*until)),
                Plan::Gather => return Some(Step::Gather),
                Plan::HangUp(on) => return Some(Step::HangUp(Peer::Opened(*on))),
                Plan::Hold(on) => {
                    self.held.push(*on);
                    return Some(Step::Hold(Peer::Opened(*on)));
                }
                Plan::Release(on) => {
                    self.held.retain(|held| held != on);
                    return Some(Step::Release(Peer::Opened(*on)));
                }
                Plan::Ask { on, .. } => *on,
                Plan::Look(_) | Plan::Page(_) | Plan::Filter | Plan::Next => None,
            };
            let total: usize = view.outstanding.iter().map(|count| *count as usize).sum();
            if total > 0
                && self.ready().resource.id.reused
                && matches!(step, Plan::Ask { op: Op::Delete, .. })
            {
                // A write that arrives after the removal might change the item of somebody else.
                self.plans.push_front(step);
                return Some(Step::Wait(Until::Outstanding(0)));
            }
            let Some(on) = self.connection(view, wanted, pick).filter(|_| total < OUTSTANDING) else {
                self.plans.push_front(step);
                return Some(match self.held.pop() {
                    Some(on) => Step::Release(Peer::Opened(on)),
                    None => Step::Wait(Until::Something),
                });
            };
            let Some(ask) = self.ask(&step, &cast, view, pick) else {
                self.asked += usize::from(self.plans.is_empty());
                continue;
            };
            self.asked += 1;
            let cuts = if pick(32) == 0 { vec![(1 + pick(40) as usize, pick(2))] } else { Vec::new() };
            return Some(Step::Ask { on: Peer::Opened(on), ask, cuts });
        }
    }
}
