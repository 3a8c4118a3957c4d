//! Lists of objects, in no particular order, among objects of other cases.

use std::fmt::{self, Formatter};

use confute::knowledge::Knowledge;
use confute::lang::Mismatch;
use serde_json::Value;

use crate::field::{Field, Part, PartMut};
use crate::mix::Draw;
use crate::name::Name;

/// A field that lists objects, in no particular order. Observed objects that carry a [`Name`] of another case are ignored: cases run
/// side by side, and a server lists the objects of all of them.
///
/// ```
/// use confute::knowledge::Value;
/// use confute::lang::{Io, Number, Objects, ServerModel, Turn};
/// use confute_service::{Expected, Id, Listing, Message, Name, told};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)]
/// enum Todo {
///     #[request("ADD {}")]
///     Add(Name),
///     #[request("LIST", reads)]
///     List,
///     #[response("ADDED {}")]
///     Added(Id),
///     #[response("ALL {}")]
///     All(Listing<Name>),
///     #[unreadable]
///     Odd(String),
/// }
///
/// const TODOS: Objects<Number, Name> = Objects::new("todos");
///
/// struct Todos;
///
/// impl ServerModel for Todos {
///     type Msg = Todo;
///     type Out = Expected<Todo>;
///
///     fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
///         let (conn, request) = io.recv()?;
///         match &*request {
///             Todo::Add(title) => {
///                 let (id, slot) = TODOS.create(io)?;
///                 slot.set(io, title.clone())?;
///                 io.send(conn, Todo::Added(id.into()))
///             }
///             _ => {
///                 let titles = TODOS.list(io)?.into_iter().map(|(_, title)| title);
///                 io.send(conn, Todo::All(titles.collect()))
///             }
///         }
///     }
///
///     fn told(&self, message: &Todo, visit: &mut dyn FnMut(Value)) {
///         told(message, visit);
///     }
/// }
/// # use confute::{Options, judge, network::Tcp, trace::{Event, WireConn}};
/// # let (c, tcp) = (WireConn(0), Tcp { breaks: false });
/// # let name = |text: &str| Name::from(text);
/// # let judged = |all: &[&str]| judge(&Todos, &tcp, &[
/// #     Event::Sent(c, Todo::Add(name("x-c1-k0"))), Event::Received(c, Todo::Added(Id::known(&7))),
/// #     Event::Sent(c, Todo::Add(name("x-c1-k1"))), Event::Received(c, Todo::Added(Id::known(&5))),
/// #     Event::Sent(c, Todo::List), Event::Received(c, Todo::All(all.iter().map(|text| name(text)).collect())),
/// # ], &Options::default());
/// # assert!(judged(&["x-c1-k1", "x-c2-k0", "x-c1-k0"]).is_unrefuted());
/// # assert!(judged(&["x-c1-k0", "x-c2-k0"]).is_refuted());
/// # assert!(judged(&["x-c1-k0", "x-c1-k1", "x-c1-k1"]).is_refuted());
/// ```
///
/// In an empty list nothing tells which case it belongs to: every object that carries a name is then of another case, unless
/// [`Listing::of`] says which case is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Listing<T> {
    items: Vec<T>,
    /// A name of the case.
    of: Option<Name>,
}

impl<T> Listing<T> {
    /// Returns a list of the objects of the case to which this name belongs, for instance a name in the request.
    pub fn of(name: &Name, items: impl IntoIterator<Item = T>) -> Self {
        Self { items: items.into_iter().collect(), of: Some(name.clone()) }
    }

    /// Returns the listed objects.
    pub fn items(&self) -> &[T] {
        &self.items
    }
}

impl<T> FromIterator<T> for Listing<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self { items: items.into_iter().collect(), of: None }
    }
}

/// Returns the first name in a field.
fn name_in(field: &dyn Field) -> Option<Name> {
    let mut found = None;
    field.parts(&mut |part| {
        if let Part::Name(name) = part {
            found.get_or_insert_with(|| name.clone());
        }
    });
    found
}

/// The matchings of a list that were found.
#[derive(Default)]
struct Matchings {
    /// The facts that follow from each.
    facts: Vec<Knowledge>,
}

impl Matchings {
    /// Looks for ways to match what is left of a list with objects that were seen, until two have different facts.
    fn search<T: Field + PartialEq>(&mut self, left: &[&T], seen: &mut Vec<&T>, facts: &Knowledge) {
        let Some((first, rest)) = left.split_first() else {
            if self.facts.iter().all(|known| known.fingerprint() != facts.fingerprint()) {
                self.facts.push(facts.clone());
            }
            return;
        };
        for place in 0..seen.len() {
            if self.facts.len() > 1 {
                return;
            }
            let mut learnt = facts.clone();
            if seen[..place].contains(&seen[place]) || first.unify(seen[place], &mut learnt).is_err() {
                continue;
            }
            let adds_nothing = learnt.fingerprint() == facts.fingerprint();
            let taken = seen.remove(place);
            self.search(rest, seen, &learnt);
            seen.insert(place, taken);
            if adds_nothing {
                // An object that is known is this one: objects that are equal may stand for each other.
                return;
            }
        }
    }
}

impl<T: Field + PartialEq> Field for Listing<T> {
    fn text(&self) -> String {
        self.items.text()
    }
    fn parse(text: &str) -> Option<Self> {
        Vec::parse(text).map(|items| Self { items, of: None })
    }
    fn draw(draw: &mut Draw<'_>) -> Self {
        Self { items: Vec::draw(draw), of: None }
    }
    fn show(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.items.show(f)
    }
    fn json(&self) -> Value {
        self.items.json()
    }
    fn from_json(value: &Value) -> Option<Self> {
        Vec::from_json(value).map(|items| Self { items, of: None })
    }
    fn simplify(&mut self, way: usize) -> bool {
        self.items.simplify(way)
    }
    fn unify(&self, seen: &Self, facts: &mut Knowledge) -> Result<(), Mismatch> {
        let of = self.of.clone().or_else(|| self.items.iter().find_map(|item| name_in(item)));
        let is_ours = |item: &&T| match (name_in(*item), &of) {
            (Some(name), Some(of)) => name.case() == of.case(),
            (Some(_), None) => false,
            (None, _) => true,
        };
        let mut ours: Vec<&T> = seen.items.iter().filter(is_ours).collect();
        if ours.len() != self.items.len() {
            return Err(Mismatch);
        }
        // Known objects first: each of them has at most one place.
        let mut left: Vec<&T> = self.items.iter().collect();
        left.sort_by_key(|item| {
            let mut is_open = false;
            item.parts(&mut |part| {
                if let Part::Choice(choice) = part {
                    choice.variable(&mut |_| is_open = true);
                }
            });
            is_open
        });
        let mut found = Matchings::default();
        found.search(&left, &mut ours, facts);
        match found.facts.len() {
            0 => Err(Mismatch),
            1 => {
                *facts = found.facts.remove(0);
                Ok(())
            }
            // Which is which is open. Nothing is concluded, which can only excuse more.
            _ => Ok(()),
        }
    }
    fn parts(&self, visit: &mut dyn FnMut(Part<'_>)) {
        self.items.parts(visit);
    }
    fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        self.items.parts_mut(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing<T>(items: impl IntoIterator<Item = T>) -> Listing<T> {
        items.into_iter().collect()
    }

    #[test]
    fn the_order_makes_no_difference() {
        let mut facts = Knowledge::new();
        assert!(listing([1, 2, 2]).unify(&listing([2, 1, 2]), &mut facts).is_ok());
        assert!(listing([1, 2, 2]).unify(&listing([2, 1, 1]), &mut facts).is_err());
        assert!(listing([1, 2]).unify(&listing([2, 1, 1]), &mut facts).is_err());
    }

    #[test]
    fn objects_of_other_cases_are_ignored() {
        let mut facts = Knowledge::new();
        let name = |text: &str| Name::from(text);
        let seen = listing([name("r-c1-k0"), name("r-c2-k0"), name("other")]);
        assert!(listing([name("r-c1-k0")]).unify(&seen, &mut facts).is_ok());
        assert!(listing([name("r-c1-k1")]).unify(&seen, &mut facts).is_err());
        assert!(Listing::of(&name("r-c3-k0"), []).unify(&seen, &mut facts).is_ok());
        assert!(Listing::of(&name("r-c1-k9"), []).unify(&seen, &mut facts).is_err());
    }
}
