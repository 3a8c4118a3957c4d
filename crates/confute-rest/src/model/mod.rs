//! The model of a correct REST service: every item is an object with a content, and a request about it is one step.
//!
//! A turn handles one request. If a service may perform a request, refuse it, or leave its outcome open, the turn chooses, and the
//! received response decides. `io.deviates(…)` marks what a service does that breaks a rule; a correct one does none of it.
//!
//! Three decisions keep the model sound for services that it knows little about:
//!
//! - Nothing is known of a field that the server owns, and after a refused or garbled write nothing is concluded from it.
//! - A write whose outcome is open (202, 5xx) makes its item [untold](State::Untold): from then on every response about it is
//!   right. The traffic leaves such items alone.
//! - Ids belong to the whole service, cases only to the tester: an item that another client creates may take the id of a removed one.
//!   A representation counts only if it belongs to this case, by its mark or by its path.

mod entry;
mod expected;
#[cfg(test)]
mod tests;

use std::rc::Rc;
use std::sync::Arc;

use confute::knowledge::Value;
use confute::lang::{Conn, ObjectSlot, Objects, Rule, ServerModel, Stop, Sym, Token, Turn};

use crate::json::Fields;
use crate::message::{Message, Op, Request};
use crate::outline::{Outline, Ready};
use crate::rules;
use entry::{Entry, State, Version};
pub use expected::Expected;
use expected::{Due, Kind, Tolerance};

type Io<'a> = confute::lang::Io<'a, RestModel>;
type Items = Objects<Token, Entry>;
type ItemSlot = ObjectSlot<Entry>;

/// The model of a correct service with these resources.
pub struct RestModel {
    outline: Outline,
    /// The items of each resource, by their paths.
    items: Vec<Items>,
}

impl RestModel {
    /// Returns the model of a service.
    pub fn new(outline: Outline) -> Self {
        // The name of a table is a constant of the program; there is one for each resource of a plan.
        let table = |name: &str| Objects::new(String::leak(name.to_owned()));
        let items = outline.all().map(|ready| table(&ready.name)).collect();
        Self { outline, items }
    }
}

impl ServerModel for RestModel {
    type Msg = Message;
    type Out = Expected;

    fn serve(&self, io: &mut Io<'_>) -> Turn {
        let (conn, message) = io.recv()?;
        let place = message
            .request()
            .and_then(|request| self.outline.all().position(|ready| ready.name == request.resource));
        let (Some(request), Some(place)) = (message.request(), place) else { return io.replies(0) };
        let Some(ready) = self.outline.get(place) else { return io.replies(0) };
        OneTurn { items: &self.items[place], request, conn, ready }.serve(io)
    }

    fn rules(&self) -> &'static [Rule] {
        rules::ALL
    }

    fn name(&self) -> &'static str {
        "rest"
    }

    fn told(&self, message: &Message, visit: &mut dyn FnMut(Value)) {
        let mut path = |path: &Arc<str>| visit(Value::Opaque(Arc::clone(path)));
        match message {
            Message::Request(request) => {
                request.item.iter().for_each(&mut path);
            }
            Message::Response(response) => {
                response.item.iter().for_each(&mut path);
                response.items.iter().flatten().for_each(|listed| path(&listed.item));
            }
        }
    }

    fn is_habitual(&self, rule: &Rule) -> bool {
        [rules::SERVES.name, rules::SCHEMA.name, rules::TAG_STEADY.name].contains(&rule.name)
    }

    fn concerns(&self, rule: &Rule, message: &Message) -> bool {
        concerns(rule, message)
    }
}

/// Returns `true` if a deviation from a rule can show in a message.
fn concerns(rule: &Rule, message: &Message) -> bool {
    use crate::message::Flaw;
    let about_lists = [rules::LIST_AGREES.name, rules::PAGES_AGREE.name, rules::FILTER_AGREES.name];
    match message {
        Message::Response(response) => {
            if rule.name == rules::SERVES.name {
                return response.status >= 500;
            }
            if rule.name == rules::SCHEMA.name {
                return response.flaws.iter().any(|flaw| matches!(flaw, Flaw::Schema(_)));
            }
            if rule.name == rules::READABLE.name {
                let is_unreadable = |flaw: &Flaw| matches!(flaw, Flaw::Unreadable(_));
                return response.status == 0 || response.flaws.iter().any(is_unreadable);
            }
            if about_lists.contains(&rule.name) {
                return response.items.is_some();
            }
            true
        }
        Message::Request(request) => {
            let about_tags = [rules::IF_MATCH.name, rules::IF_MATCH_RACE.name, rules::TAG_STEADY.name];
            if about_tags.contains(&rule.name) {
                return request.if_match.is_some();
            }
            if rule.name == rules::PATCH_KEEPS.name {
                return request.op == Op::Patch;
            }
            if rule.name == rules::DELETED_IS_GONE.name {
                return request.op == Op::Delete;
            }
            let only_responses = [rules::SERVES.name, rules::SCHEMA.name, rules::READABLE.name];
            !only_responses.contains(&rule.name) && !about_lists.contains(&rule.name)
        }
    }
}

/// Returns `true` if a rule is broken here, which counts twice: another rule is more likely to be broken.
fn twice(io: &mut Io<'_>, rule: &'static Rule) -> Result<bool, Stop> {
    if !io.deviates(rule)? {
        return Ok(false);
    }
    // Counting it once would be the same behaviour at a lower price.
    if io.deviates(rule)? { Ok(true) } else { Err(Stop::Dead) }
}

/// A turn that handles a request.
struct OneTurn<'a> {
    items: &'a Items,
    request: &'a Request,
    conn: Conn,
    ready: &'a Ready,
}

/// The effect of a write that is not refused.
enum Outcome {
    Performed,
    Refused,
    Open,
}

impl OneTurn<'_> {
    fn serve(&self, io: &mut Io<'_>) -> Turn {
        match self.request.op {
            Op::Create if self.ready.is_server_made() => self.create(io),
            Op::Create => self.put(io),
            Op::Read => self.read(io),
            Op::Replace | Op::Patch => self.write(io),
            Op::Delete => self.delete(io),
            Op::List => self.list(io),
        }
    }

    /// Returns the id of the item that the request is about: its path.
    fn id(&self) -> Sym<Token> {
        Sym::known(self.request.item.as_ref().unwrap_or(&self.request.path))
    }

    fn send(&self, io: &mut Io<'_>, kind: Kind) -> Turn {
        let tolerates =
            Tolerance { schema: io.deviates(&rules::SCHEMA)?, unreadable: io.deviates(&rules::READABLE)? };
        io.send(self.conn, Expected { kind, tolerates, changed: None })
    }

    /// Chooses the outcome of a write that has nothing wrong with it.
    fn outcome(io: &mut Io<'_>) -> Result<Outcome, Stop> {
        Ok(match io.choose(3)? {
            0 => Outcome::Performed,
            1 => Outcome::Refused,
            _ => Outcome::Open,
        })
    }

    fn entry(collection: &str, state: State) -> Entry {
        Entry { collection: collection.into(), state, older: Vec::new(), changed: None }
    }

    /// Handles a POST to a collection.
    fn create(&self, io: &mut Io<'_>) -> Turn {
        let (id, mut slot) = self.items.create(io)?;
        if io.deviates(&rules::SERVES)? {
            return self.send(io, Kind::Error);
        }
        match Self::outcome(io)? {
            Outcome::Refused => return self.send(io, Kind::Refused(false)),
            Outcome::Open => return self.send(io, Kind::Accepted(true)),
            Outcome::Performed => {}
        }
        let is_again = match slot.taken(io)?.map(|entry| entry.state) {
            None => true,
            Some(State::Present(_)) => io.deviates(&rules::ID_UNIQUE)?,
            Some(State::Removed(_) | State::Untold) => io.deviates(&rules::ID_REUSED)?,
        };
        if !is_again {
            return Err(Stop::Dead);
        }
        let version = self.sent(io)?;
        if io.deviates(&rules::AS_SENT)? {
            let unknown = Version { fields: Rc::default(), tag: version.tag };
            slot.set(io, Self::entry(&self.request.path, State::Present(unknown.clone())))?;
            return self.send(io, Kind::Created(id, unknown));
        }
        let state = if io.deviates(&rules::CREATED_IS_THERE)? {
            State::Removed(version.clone())
        } else {
            State::Present(version.clone())
        };
        slot.set(io, Self::entry(&self.request.path, state))?;
        self.send(io, Kind::Created(id, version))
    }

    /// Returns the content that the request brings, with a new tag.
    fn sent(&self, io: &mut Io<'_>) -> Result<Version, Stop> {
        Ok(Version { fields: Rc::new(self.request.fields.clone()), tag: io.fresh()? })
    }

    /// Handles a GET of an item.
    fn read(&self, io: &mut Io<'_>) -> Turn {
        let slot = self.items.find(io, &self.id())?;
        if io.deviates(&rules::SERVES)? {
            return self.send(io, Kind::Error);
        }
        let Some(entry) = slot.get(io)? else { return self.send(io, Kind::Missing(false)) };
        let condition = self.request.if_none_match.clone();
        if io.deviates(&rules::READS_LATEST)? {
            // An old content, or that of the time before the item was created.
            let mut older = entry.older;
            if let State::Removed(last) = entry.state {
                older.push(last);
            }
            let taken = io.choose(older.len() + 1)?;
            return match older.into_iter().nth(taken) {
                Some(version) => self.send(io, Kind::Read(version, condition)),
                None => self.send(io, Kind::Missing(false)),
            };
        }
        match entry.state {
            State::Untold => self.send(io, Kind::Any),
            State::Removed(last) => {
                let kind = if io.deviates(&rules::DELETED_IS_GONE)? {
                    Kind::Read(last, condition)
                } else {
                    Kind::Missing(false)
                };
                self.send(io, kind)
            }
            State::Present(mut version) => {
                if io.deviates(&rules::CREATED_IS_THERE)? {
                    return self.send(io, Kind::Gone);
                }
                if io.deviates(&rules::TAG_STEADY)? {
                    // A tag of its own: one of an earlier content says that tags do not change with the content.
                    let tag = io.fresh()?;
                    let earlier = entry.older.iter().chain([&version]);
                    earlier.into_iter().try_for_each(|other| io.assume(tag.equals(&other.tag).negate()))?;
                    version.tag = tag;
                }
                if io.deviates(&rules::ID_UNIQUE)? {
                    // The item of another case, which got the same id.
                    return self.send(io, Kind::Others);
                }
                if io.deviates(&rules::AS_SENT)? {
                    let mut not = entry.older;
                    not.push(version);
                    return self.send(io, Kind::Garbled { not });
                }
                self.send(io, Kind::Read(version, condition))
            }
        }
    }

    /// Handles PUT and PATCH of an item.
    fn write(&self, io: &mut Io<'_>) -> Turn {
        let slot = self.items.edit(io, &self.id())?;
        let entry = slot.get(io)?;
        if io.deviates(&rules::SERVES)? {
            if let Some(entry) = entry {
                slot.set(io, Entry { state: State::Untold, ..entry })?;
            }
            return self.send(io, Kind::Error);
        }
        let Some(entry) = entry else { return self.write_missing(io, None, &slot) };
        let version = match &entry.state {
            State::Untold => return self.send(io, Kind::Any),
            State::Removed(last) => {
                let last = last.clone();
                return self.write_missing(io, Some((entry, last)), &slot);
            }
            State::Present(version) => version.clone(),
        };
        if io.deviates(&rules::CREATED_IS_THERE)? {
            return self.send(io, Kind::Gone);
        }
        if io.deviates(&rules::ID_UNIQUE)? {
            // The item of another case, which got the same id.
            slot.set(io, Entry { state: State::Untold, ..entry })?;
            return self.send(io, Kind::Others);
        }
        if !self.is_met(io, &entry, &version)? {
            return self.send(io, Kind::Failed);
        }
        match Self::outcome(io)? {
            Outcome::Refused => return self.send(io, Kind::Refused(self.request.if_match.is_some())),
            Outcome::Open => {
                slot.set(io, Entry { state: State::Untold, ..entry })?;
                return self.send(io, Kind::Accepted(false));
            }
            Outcome::Performed => {}
        }
        self.perform(io, entry, version, &slot)
    }

    /// Handles PUT and PATCH of an item that does not exist. PUT may create it.
    fn write_missing(&self, io: &mut Io<'_>, was: Option<(Entry, Version)>, slot: &ItemSlot) -> Turn {
        if let Some((entry, last)) = &was
            && twice(io, &rules::DELETED_IS_GONE)?
        {
            if !self.is_met(io, entry, last)? {
                return self.send(io, Kind::Failed);
            }
            return self.perform(io, entry.clone(), last.clone(), slot);
        }
        // RFC 9110, 13.1.1: If-Match is false where there is nothing.
        if self.request.op == Op::Replace && self.request.if_match.is_none() && io.choose(2)? == 1 {
            let version = self.sent(io)?;
            if let Some((_, last)) = &was
                && last.fields != version.fields
                && !io.deviates(&rules::TAG_CHANGES)?
            {
                io.assume(version.tag.equals(&last.tag).negate())?;
            }
            slot.set(io, Self::entry(&self.collection(), State::Present(version.clone())))?;
            let kind = Self::written(io, version)?;
            return self.send(io, kind);
        }
        self.send(io, Kind::Missing(false))
    }

    /// Performs a PUT or a PATCH.
    fn perform(&self, io: &mut Io<'_>, mut entry: Entry, old: Version, slot: &ItemSlot) -> Turn {
        let is_patch = self.request.op == Op::Patch;
        let mut base = old.fields.clone();
        let mut lost = None;
        if io.deviates(&rules::UPDATE_KEPT)? {
            // It overwrites the result of another update, or is overwritten by one: in both cases there is a new tag. A server that
            // forgets the update and its tag is less likely, because it has told the tag: it would break the rule twice.
            let others = if is_patch { entry.older.len() } else { 0 };
            match io.choose(others + 2)? {
                0 => lost = Some(Version { fields: old.fields.clone(), tag: io.fresh()? }),
                1 if !io.deviates(&rules::UPDATE_KEPT)? => return Err(Stop::Dead),
                1 => lost = Some(old.clone()),
                taken => base = entry.older[taken - 2].fields.clone(),
            }
            if let Some(Version { tag, .. }) = lost.as_ref().filter(|lost| **lost != old) {
                io.assume(tag.equals(&old.tag).negate())?;
            }
        }
        // Where another update came before, the loss of that one is the simpler explanation.
        let resets = match (is_patch, entry.older.is_empty()) {
            (false, _) => false,
            (true, true) => io.deviates(&rules::PATCH_KEEPS)?,
            (true, false) => twice(io, &rules::PATCH_KEEPS)?,
        };
        let mut fields = if is_patch && !resets { (*base).clone() } else { Fields::new() };
        for (name, value) in &self.request.fields {
            if is_patch && &**value == "null" {
                // What a service makes of a field that is taken away differs.
                fields.remove(name);
            } else {
                fields.insert(name.clone(), value.clone());
            }
        }
        let is_garbled = twice(io, &rules::AS_SENT)?;
        let version = Version { fields: Rc::new(fields), tag: io.fresh()? };
        if version.fields != old.fields && !io.deviates(&rules::TAG_CHANGES)? {
            io.assume(version.tag.equals(&old.tag).negate())?;
        }
        let shown = if is_garbled { Version { fields: self.unsent(&version), ..version } } else { version };
        Self::remember(io, &mut entry, old);
        entry.state = State::Present(lost.unwrap_or_else(|| shown.clone()));
        let changed = if io.relaxes(&rules::IF_MATCH_RACE) { Some(io.fresh()?) } else { None };
        entry.changed.clone_from(&changed);
        slot.set(io, entry)?;
        let kind = Self::written(io, shown)?;
        let tolerates =
            Tolerance { schema: io.deviates(&rules::SCHEMA)?, unreadable: io.deviates(&rules::READABLE)? };
        io.send(self.conn, Expected { kind, tolerates, changed })
    }

    /// Returns the response to a write after which the item is this.
    fn written(io: &mut Io<'_>, version: Version) -> Result<Kind, Stop> {
        // The item may have changed again before the response was made of it.
        let is_later = io.deviates(&rules::RESPONSE_OWN)?;
        Ok(if is_later { Kind::Garbled { not: Vec::new() } } else { Kind::Written(version) })
    }

    /// Returns the fields that the request did not send.
    fn unsent(&self, version: &Version) -> Rc<Fields> {
        let mut fields = (*version.fields).clone();
        fields.retain(|name, _| !self.request.fields.contains_key(name));
        Rc::new(fields)
    }

    /// Keeps the content that is replaced, while a rule is relaxed with which it can show.
    fn remember(io: &mut Io<'_>, entry: &mut Entry, old: Version) {
        let is_kept = io.relaxes(&rules::READS_LATEST)
            || io.relaxes(&rules::UPDATE_KEPT)
            || io.relaxes(&rules::AS_SENT)
            || io.relaxes(&rules::PATCH_KEEPS)
            || io.relaxes(&rules::TAG_STEADY)
            || io.relaxes(&rules::IF_MATCH_RACE);
        if is_kept {
            entry.older.retain(|version| *version != old);
            entry.older.push(old);
        }
    }

    /// Returns `true` if the precondition of a write holds, or if the service ignores that it does not.
    fn is_met(&self, io: &mut Io<'_>, entry: &Entry, version: &Version) -> Result<bool, Stop> {
        let Some(tag) = &self.request.if_match else { return Ok(true) };
        let holds = io.branch(version.tag.is(tag))?;
        if holds {
            return Ok(!io.deviates(&rules::TAG_STEADY)?);
        }
        // A race, which is the weaker claim, counts less.
        if twice(io, &rules::IF_MATCH)? {
            return Ok(true);
        }
        if let (Some(before), Some(changed)) = (entry.older.last(), &entry.changed)
            && io.deviates(&rules::IF_MATCH_RACE)?
        {
            // The condition was true when it was evaluated, which was before the latest write was over.
            io.assume(before.tag.is(tag))?;
            io.assume(Sym::known(&self.request.at).at_most(changed, -1))?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Handles a PUT, or a POST, that creates an item whose id the client made.
    fn put(&self, io: &mut Io<'_>) -> Turn {
        let slot = self.items.edit(io, &self.id())?;
        let entry = slot.get(io)?;
        if io.deviates(&rules::SERVES)? {
            slot.set(io, Self::entry(&self.collection(), State::Untold))?;
            return self.send(io, Kind::Error);
        }
        let present = match &entry {
            Some(Entry { state: State::Untold, .. }) => return self.send(io, Kind::Any),
            Some(Entry { state: State::Present(version), .. }) => Some(version.clone()),
            _ => None,
        };
        let wants_absent = self.request.if_none_match.is_some();
        let is_post = self.request.item.as_ref() != Some(&self.request.path);
        if present.is_some() && is_post && !io.deviates(&rules::ID_UNIQUE)? {
            return self.send(io, Kind::Refused(false));
        }
        if present.is_some() && wants_absent && !io.deviates(&rules::IF_MATCH)? {
            return self.send(io, Kind::Failed);
        }
        match Self::outcome(io)? {
            Outcome::Refused => return self.send(io, Kind::Refused(wants_absent)),
            Outcome::Open => {
                slot.set(io, Self::entry(&self.collection(), State::Untold))?;
                return self.send(io, Kind::Accepted(false));
            }
            Outcome::Performed => {}
        }
        if let (Some(entry), Some(version)) = (entry, present) {
            return self.perform(io, entry, version, &slot);
        }
        let version = self.sent(io)?;
        if !io.deviates(&rules::CREATED_IS_THERE)? {
            let garbled = io.deviates(&rules::AS_SENT)?;
            let fields = if garbled { Rc::default() } else { Rc::clone(&version.fields) };
            let stored = Version { fields, tag: version.tag.clone() };
            slot.set(io, Self::entry(&self.collection(), State::Present(stored)))?;
        }
        let kind = Self::written(io, version)?;
        self.send(io, kind)
    }

    /// Returns the path of the collection of the item that the request is about.
    fn collection(&self) -> Arc<str> {
        let item = self.request.item.as_ref().unwrap_or(&self.request.path);
        self.ready.collection_of(item).unwrap_or_default()
    }

    /// Handles a DELETE of an item.
    fn delete(&self, io: &mut Io<'_>) -> Turn {
        let slot = self.items.edit(io, &self.id())?;
        let entry = slot.get(io)?;
        if io.deviates(&rules::SERVES)? {
            if let Some(entry) = entry {
                slot.set(io, Entry { state: State::Untold, ..entry })?;
            }
            return self.send(io, Kind::Error);
        }
        let Some(mut entry) = entry else { return self.send(io, Kind::Missing(true)) };
        let version = match &entry.state {
            State::Untold => return self.send(io, Kind::Any),
            State::Removed(_) => return self.send(io, Kind::Missing(true)),
            State::Present(version) => version.clone(),
        };
        if io.deviates(&rules::CREATED_IS_THERE)? {
            return self.send(io, Kind::Gone);
        }
        if !self.is_met(io, &entry, &version)? {
            return self.send(io, Kind::Failed);
        }
        match Self::outcome(io)? {
            Outcome::Refused => self.send(io, Kind::Refused(self.request.if_match.is_some())),
            Outcome::Open => {
                slot.set(io, Entry { state: State::Untold, ..entry })?;
                self.send(io, Kind::Accepted(false))
            }
            Outcome::Performed => {
                if !io.deviates(&rules::DELETED_IS_GONE)? {
                    entry.state = State::Removed(version);
                    slot.set(io, entry)?;
                }
                self.send(io, Kind::Removed)
            }
        }
    }

    /// Handles a GET of a collection.
    fn list(&self, io: &mut Io<'_>) -> Turn {
        let all = self.items.list(io)?;
        if io.deviates(&rules::SERVES)? {
            return self.send(io, Kind::Error);
        }
        let is_filtered = self.request.filter.is_some();
        // The rule about the part that was asked for is the better name.
        let is_wrong = match &self.request.query {
            None => io.deviates(&rules::LIST_AGREES)?,
            Some(_) => {
                (is_filtered && io.deviates(&rules::FILTER_AGREES)?) || twice(io, &rules::LIST_AGREES)?
            }
        };
        if is_wrong {
            return self.send(io, Kind::Any);
        }
        let lacks = self.request.query.is_some() && !is_filtered && io.deviates(&rules::PAGES_AGREE)?;
        let items = all.into_iter().filter(|(_, entry)| *entry.collection == *self.request.path);
        let items = items.filter_map(|(id, entry)| {
            let version = match entry.state {
                State::Present(version) => Some(version),
                State::Untold => None,
                State::Removed(_) => return None,
            };
            let required = self.selects(version.as_ref())?;
            Some(Due { id, version, required: required && !lacks })
        });
        self.send(io, Kind::List(Rc::new(items.collect())))
    }

    /// Returns `true` if a list has to show an item, `false` if it may, and `None` if it may not.
    fn selects(&self, version: Option<&Version>) -> Option<bool> {
        let Some(version) = version else { return Some(false) };
        let Some((name, wanted)) = &self.request.filter else { return Some(true) };
        let Some(value) = version.fields.get(name) else { return Some(false) };
        if value == wanted {
            return Some(true);
        }
        // Many services take the text of a filter for a part of the value.
        let plain = |text: &str| text.trim_matches('"').to_lowercase();
        plain(value).contains(&plain(wanted)).then_some(false)
    }
}
