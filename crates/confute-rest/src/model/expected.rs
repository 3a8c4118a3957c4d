//! The responses of a correct service.

use std::fmt::{self, Display, Formatter};
use std::rc::Rc;
use std::sync::Arc;

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{Mismatch, Number, Pattern, Sym, Token};

use super::entry::Version;
use crate::json::Fields;
use crate::message::{Flaw, Listed, Message, Response, Shown};

/// A response of a correct service to a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expected {
    pub(crate) kind: Kind,
    /// Defects of the response itself are tolerated, because the rules about them are broken.
    pub(crate) tolerates: Tolerance,
    /// Moment at which the write is over, if the model keeps it.
    pub(crate) changed: Option<Sym<Number>>,
}

/// The defects of a response that are tolerated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Tolerance {
    pub(crate) schema: bool,
    pub(crate) unreadable: bool,
}

/// The kinds of responses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// The item was created, with this id.
    Created(Sym<Token>, Version),
    /// The item as it is. A condition may replace it by 304 where it is false.
    Read(Version, Option<Arc<str>>),
    /// The item was written, and is this now.
    Written(Version),
    /// A write or a read whose content is not compared: it may not be any of these.
    Garbled { not: Vec<Version> },
    /// The item was removed.
    Removed,
    /// There is no such item. The flag is `true` for a removal, which may succeed all the same.
    Missing(bool),
    /// The response that there is no such item, although there is.
    Gone,
    /// The precondition is false.
    Failed,
    /// The request is refused, and has no effect. The flag is `true` if it has a precondition that holds.
    Refused(bool),
    /// The request is accepted, and its outcome open. The flag is `true` for a create whose response may just not tell the id.
    Accepted(bool),
    /// A server error.
    Error,
    /// The items of a collection.
    List(Rc<Vec<Due>>),
    /// The item of another case.
    Others,
    /// Any response.
    Any,
}

/// An item that a list shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Due {
    pub(crate) id: Sym<Token>,
    /// Its content, unless it may have any.
    pub(crate) version: Option<Version>,
    /// The list has to show it; otherwise it may.
    pub(crate) required: bool,
}

fn require(holds: bool) -> Result<(), Mismatch> {
    if holds { Ok(()) } else { Err(Mismatch) }
}

/// Returns `true` if the status says that a request was refused.
fn is_refusal(status: u16) -> bool {
    matches!(status, 300..=303 | 305..=499 | 501 | 505)
}

/// Checks the fields that a response shows. A field that is null may be left out.
fn compare(expected: &Fields, shown: &Fields) -> Result<(), Mismatch> {
    for (name, value) in expected {
        match shown.get(name) {
            Some(seen) => require(seen == value)?,
            None => require(&**value == "null")?,
        }
    }
    Ok(())
}

/// Checks a representation, and learns its tag.
fn show(version: &Version, seen: &Response, facts: &mut Knowledge) -> Result<(), Mismatch> {
    if let Some(fields) = &seen.fields {
        require(seen.is_ours != Some(false))?;
        compare(&version.fields, fields)?;
    }
    match &seen.tag {
        Some(tag) => version.tag.unify(tag, facts),
        None => Ok(()),
    }
}

impl Pattern<Message> for Expected {
    fn unify(&self, seen: &Message, facts: &mut Knowledge) -> Result<(), Mismatch> {
        let seen = seen.response().ok_or(Mismatch)?;
        for flaw in &seen.flaws {
            require(match flaw {
                Flaw::Schema(_) => self.tolerates.schema,
                Flaw::Unreadable(_) => self.tolerates.unreadable,
            })?;
        }
        if seen.status == 0 || seen.flaws.iter().any(|flaw| matches!(flaw, Flaw::Unreadable(_))) {
            // Nothing is known of what it says.
            return Ok(());
        }
        if let Some(changed) = &self.changed {
            changed.unify(&seen.at, facts)?;
        }
        self.kind.judge(seen, facts)
    }

    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Message {
        let (status, version) = match &self.kind {
            Kind::Created(_, version) => (201, Some(version)),
            Kind::Read(version, _) | Kind::Written(version) => (200, Some(version)),
            Kind::Garbled { .. } | Kind::List(_) | Kind::Others | Kind::Any => (200, None),
            Kind::Removed => (204, None),
            Kind::Missing(_) | Kind::Gone => (404, None),
            Kind::Failed => (412, None),
            Kind::Refused(_) => (400, None),
            Kind::Accepted(_) => (202, None),
            Kind::Error => (500, None),
        };
        let item = match &self.kind {
            Kind::Created(id, _) => Some(id.instantiate(value)),
            _ => None,
        };
        let items = match &self.kind {
            Kind::List(items) => {
                let mut listed = |due: &Due| Listed {
                    item: due.id.instantiate(value),
                    fields: due.version.as_ref().map(|version| (*version.fields).clone()).unwrap_or_default(),
                    is_ours: true,
                };
                Some(items.iter().map(&mut listed).collect())
            }
            _ => None,
        };
        let fields = version.map(|version| (*version.fields).clone());
        let shown = fields.as_ref().map(|fields| Shown(fields).to_string()).unwrap_or_default();
        Response { status, fields, item, items, shown: shown.into(), ..Response::default() }.into()
    }

    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        let mut version = |version: &Version| version.tag.vars(visit);
        match &self.kind {
            Kind::Created(_, one) | Kind::Read(one, _) | Kind::Written(one) => version(one),
            Kind::List(items) => items.iter().filter_map(|due| due.version.as_ref()).for_each(version),
            _ => {}
        }
        match &self.kind {
            Kind::Created(id, _) => id.vars(visit),
            Kind::List(items) => items.iter().for_each(|due| due.id.vars(visit)),
            _ => {}
        }
        if let Some(changed) = &self.changed {
            changed.vars(visit);
        }
    }
}

impl Kind {
    fn judge(&self, seen: &Response, facts: &mut Knowledge) -> Result<(), Mismatch> {
        let status = seen.status;
        match self {
            Kind::Created(id, version) => {
                require(seen.is_success())?;
                id.unify(seen.item.as_ref().ok_or(Mismatch)?, facts)?;
                show(version, seen, facts)
            }
            Kind::Read(version, condition) => match (status, condition) {
                (304, Some(tag)) => {
                    version.tag.unify(tag, facts)?;
                    seen.tag.as_ref().map_or(Ok(()), |tag| version.tag.unify(tag, facts))
                }
                (404 | 410, _) => Err(Mismatch),
                _ if is_refusal(status) => Ok(()),
                _ => {
                    require(seen.is_success())?;
                    show(version, seen, facts)
                }
            },
            Kind::Written(version) => {
                require(seen.is_success())?;
                show(version, seen, facts)
            }
            Kind::Garbled { not } => {
                require(seen.is_success())?;
                let Some(fields) = &seen.fields else { return Ok(()) };
                require(seen.is_ours != Some(false))?;
                require(not.iter().all(|version| compare(&version.fields, fields).is_err()))
            }
            Kind::Removed => require(seen.is_success()),
            // An item that others created since may have the id.
            Kind::Missing(is_removal) => {
                let is_others = seen.is_success() && seen.fields.is_some() && seen.is_ours != Some(true);
                require(is_refusal(status) || is_others || (*is_removal && seen.is_success()))
            }
            Kind::Gone => require(matches!(status, 404 | 410)),
            Kind::Failed => require(is_refusal(status) && !matches!(status, 404 | 410)),
            Kind::Refused(is_conditional) => {
                let says_failed = status == 412 || (status == 409 && *is_conditional);
                require(is_refusal(status) && !matches!(status, 404 | 410))?;
                require(!(*is_conditional && says_failed))
            }
            Kind::Accepted(is_create) => {
                require(status == 202 || (*is_create && seen.is_success() && seen.item.is_none()))
            }
            Kind::Error => require(status >= 500),
            Kind::List(items) => {
                if is_refusal(status) {
                    return Ok(());
                }
                require(seen.is_success())?;
                // A response that has no list says nothing.
                seen.items.as_ref().map_or(Ok(()), |shown| list(items, shown, seen, facts))
            }
            Kind::Others => require(seen.is_success() && seen.is_ours == Some(false)),
            Kind::Any => Ok(()),
        }
    }
}

/// Compares a list with the items that exist.
fn list(expected: &[Due], shown: &[Listed], seen: &Response, facts: &mut Knowledge) -> Result<(), Mismatch> {
    let mut is_matched = vec![false; shown.len()];
    let mut unknown = Vec::new();
    for due in expected {
        let Some(path) = due.id.value(facts) else {
            unknown.push(due);
            continue;
        };
        if seen.moving.contains(&path) {
            continue;
        }
        let mut places = shown.iter().enumerate().filter(|(_, listed)| listed.item == path);
        match (places.next(), places.next()) {
            (Some((place, listed)), None) => {
                is_matched[place] = true;
                let version = due.version.as_ref();
                version.map_or(Ok(()), |version| in_list(version, listed))?;
            }
            (Some(_), Some(_)) => return Err(Mismatch),
            // An item whose last write is open may be gone.
            (None, _) => require(seen.is_partial || !due.required)?,
        }
    }
    let rest: Vec<&Listed> = shown
        .iter()
        .zip(&is_matched)
        .filter(|(one, is_matched)| one.is_ours && !**is_matched && !seen.moving.contains(&one.item))
        .map(|(one, _)| one)
        .collect();
    require(rest.len() <= unknown.len() + seen.untold as usize)?;
    let must = unknown.iter().filter(|due| due.required).count();
    require(seen.is_partial || rest.len() >= must)?;
    match (unknown.as_slice(), rest.as_slice()) {
        ([Due { id, version: Some(version), required: true }], [only]) if seen.untold == 0 => {
            in_list(version, only)?;
            id.unify(&only.item, facts)
        }
        // Which is which is open. Nothing is concluded, which can only excuse more.
        _ => Ok(()),
    }
}

/// Checks an item of a list, which may show only some of its fields.
fn in_list(version: &Version, listed: &Listed) -> Result<(), Mismatch> {
    for (name, value) in &*version.fields {
        if let Some(seen) = listed.fields.get(name) {
            require(seen == value)?;
        }
    }
    Ok(())
}

impl Display for Expected {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let is_brief = f.alternate();
        let shown = |f: &mut Formatter<'_>, status: &str, version: &Version| {
            if is_brief { f.write_str(status) } else { write!(f, "{status} {}", Shown(&version.fields)) }
        };
        match &self.kind {
            Kind::Created(id, version) => {
                shown(f, "2xx", version)?;
                if is_brief { Ok(()) } else { write!(f, " (item {id})") }
            }
            Kind::Read(version, None) => shown(f, "200", version),
            Kind::Read(version, Some(_)) => shown(f, "200 or 304", version),
            Kind::Written(version) => shown(f, "2xx", version),
            Kind::Garbled { .. } | Kind::Removed => f.write_str("2xx"),
            Kind::Missing(_) | Kind::Gone => f.write_str("404"),
            Kind::Failed => f.write_str("412"),
            Kind::Refused(_) => f.write_str("a refusal (4xx)"),
            Kind::Accepted(_) => f.write_str("202"),
            Kind::Error => f.write_str("5xx"),
            Kind::List(_) if is_brief => f.write_str("200"),
            Kind::List(items) => {
                f.write_str("200, items of this case: [")?;
                for (place, due) in items.iter().enumerate() {
                    write!(f, "{}{}", if place > 0 { ", " } else { "" }, due.id)?;
                    if let Some(version) = &due.version {
                        write!(f, " {}", Shown(&version.fields))?;
                    }
                    if !due.required {
                        f.write_str(" perhaps")?;
                    }
                }
                f.write_str("]")
            }
            Kind::Others => f.write_str("the item of another case"),
            Kind::Any => f.write_str("any response"),
        }
    }
}
