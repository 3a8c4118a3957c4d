//! Messages of a protocol: declared once, and used as requests of a script, on the wire, and by the model.

use std::fmt::{self, Debug, Display, Formatter};
use std::hash::Hash;

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{Mismatch, Pattern};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::field::{Field, Part, PartMut};

/// The messages of a protocol, in both directions: an enum with `#[derive(Message)]`.
///
/// ```
/// use confute_service::{Message, Name, Secret};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)] // not needed with `use confute_test::service`
/// enum Locks {
///     #[request("LOCK {}")]
///     Lock(Name),
///     #[request("UNLOCK {} {}")]
///     Unlock(Name, Secret),
///     #[response("OK {}")]
///     Locked(Secret),
///     #[response("BUSY")]
///     Busy,
///     #[unreadable]
///     Odd(String),
/// }
/// ```
///
/// Every variant is a `#[request]`, which the tester sends, a `#[response]`, or a `#[push]`, which the server sends without a request.
/// `#[request("GET {}", reads)]` is a request that changes nothing: experiments look at the server with it.
/// `#[request("TAKE {}", waits)]` is one that the server may answer only once others have come, or never: the traffic goes on on other
/// connections, and nothing is missing unless the model says so. One variant is `#[unreadable]`: it holds bytes that are no message.
///
/// ```
/// use confute_service::{Message, Name};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)]
/// enum Jobs {
///     #[request("PUT {} {}")]
///     Put(Name, String),
///     /// Waits until there is a job.
///     #[request("TAKE {}", waits)]
///     Take(Name),
///     #[response("OK")]
///     Done,
///     #[response("JOB {}")]
///     Job(String),
///     /// Comes to all who listen, whether they ask or not.
///     #[push("NEWS {}")]
///     News(String),
///     #[unreadable]
///     Odd(String),
/// }
/// ```
///
/// The text is a template: `{}` is the next field, `{name}` the field of that name. Wires of text send it, JSON takes from it the
/// word that tells kinds apart, and reports show it. Without a text the template is the name of the variant in snake case,
/// followed by the fields.
///
/// From the enum follow the requests of scripts, the messages on the wire, the messages that a model expects, their comparison,
/// renumbering, simplification, JSON and the text for people. `#[message(by_hand(Display))]` leaves `Display` to the
/// author, `by_hand(Serde)` leaves `Serialize` and `Deserialize`.
pub trait Message:
    Clone + Eq + Hash + Debug + Display + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The kinds of messages, in the order of their declaration.
    const KINDS: &'static [Kind];

    /// Returns the index of the kind of this message.
    fn kind(&self) -> usize;

    /// Visits the fields in order.
    fn each(&self, visit: &mut dyn FnMut(&dyn Field));

    /// Visits the fields in order, to change them.
    fn each_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Field));

    /// Adds the facts that follow from observing `seen` where the model sent this message.
    fn unify(&self, seen: &Self, facts: &mut Knowledge) -> Result<(), Mismatch>;

    /// Makes a message of a kind out of fields. `None` if a field is missing or malformed.
    fn build(kind: usize, source: &mut impl Source) -> Option<Self>;

    /// Returns the message that stands for bytes that are no message.
    fn unreadable(text: String) -> Self;
}

/// A kind of message.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Name of the variant.
    pub name: &'static str,
    /// Direction of the message.
    pub role: Role,
    /// `true` for a request that changes nothing.
    pub reads: bool,
    /// `true` for a request that may be answered only once others have come, or never.
    pub waits: bool,
    /// The template.
    pub pieces: &'static [Piece],
    /// Names of the fields; those of a tuple are numbers.
    pub fields: &'static [&'static str],
}

/// Direction of a kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// From the tester to the server.
    Request,
    /// From the server to the tester, as the response to a request.
    Response,
    /// From the server to the tester, without a request.
    Push,
    /// Bytes that are no message.
    Unreadable,
}

impl Role {
    /// Returns `true` if the server sends such messages.
    pub fn is_from_server(self) -> bool {
        matches!(self, Role::Response | Role::Push)
    }
}

/// Part of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text that is the same in every message of the kind.
    Text(&'static str),
    /// The field with this index.
    Field(usize),
}

/// Source of the fields of a message: texts, JSON, or random choices.
pub trait Source {
    /// Returns the field with this index.
    fn take<F: Field>(&mut self, place: usize) -> Option<F>;
}

impl Kind {
    /// Returns the text before the first field, which tells kinds apart.
    pub fn word(&self) -> &'static str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text.trim(),
            _ => "",
        }
    }

    /// Returns the template as it is written in the attribute.
    pub fn template(&self) -> String {
        let written = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Field(place) => match self.fields[*place] {
                tuple if tuple.parse::<usize>().is_ok() => "{}".to_owned(),
                name => format!("{{{name}}}"),
            },
        });
        written.collect()
    }
}

/// Returns the kind of a message.
pub fn kind_of<M: Message>(message: &M) -> &'static Kind {
    &M::KINDS[message.kind()]
}

/// Returns the texts of the fields.
pub fn texts<M: Message>(message: &M) -> Vec<String> {
    let mut texts = Vec::new();
    message.each(&mut |field| texts.push(field.text()));
    texts
}

/// Visits the values in a message that the server chose, as far as they are known. A model with [`Objects`](confute::lang::Objects)
/// implements [`ServerModel::told`](confute::lang::ServerModel::told) with it:
///
/// ```
/// # use confute::knowledge::Value;
/// # use confute_service::{Id, Message};
/// # #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// # #[message(crate = confute_service)]
/// # enum Line {
/// #     #[response("ID {}")]
/// #     Added(Id),
/// #     #[unreadable]
/// #     Odd(String),
/// # }
/// let mut ids = Vec::new();
/// confute_service::told(&Line::Added(Id::known(&7)), &mut |id| ids.push(id));
/// assert_eq!(ids, [Value::Int(7)]);
/// ```
pub fn told<M: Message>(message: &M, visit: &mut dyn FnMut(Value)) {
    message.each(&mut |field| {
        field.parts(&mut |part| {
            if let Part::Choice(choice) = part
                && let Some(value) = choice.known()
            {
                visit(value);
            }
        });
    });
}

/// Returns the names in a message.
pub(crate) fn names<M: Message>(message: &M) -> Vec<crate::Name> {
    let mut names = Vec::new();
    message.each(&mut |field| {
        field.parts(&mut |part| {
            if let Part::Name(name) = part {
                names.push(name.clone());
            }
        });
    });
    names
}

/// Returns variants of a message with one simpler field, the simplest first.
pub(crate) fn simpler<M: Message>(message: &M) -> Vec<M> {
    let mut fields = 0;
    message.each(&mut |_| fields += 1);
    let mut variants = Vec::new();
    for wanted in 0..fields {
        for way in 0.. {
            let (mut variant, mut place, mut changed) = (message.clone(), 0, false);
            variant.each_mut(&mut |field| {
                changed |= place == wanted && field.simplify(way);
                place += 1;
            });
            if !changed {
                break;
            }
            variants.push(variant);
        }
    }
    variants
}

/// Changes the parts of a message that are no plain data.
pub(crate) fn change_parts<M: Message>(message: &mut M, change: &mut dyn FnMut(PartMut<'_>)) {
    message.each_mut(&mut |field| field.parts_mut(change));
}

/// Length up to which a message is its own name in a sentence: `COUNT 1` says more than `COUNT`.
const BRIEF: usize = 16;

/// Writes a message for people: `{}` is the template with its fields; `{:#}` is the same if it is short, otherwise the first
/// word and the names.
pub fn show<M: Message>(message: &M, f: &mut Formatter<'_>) -> fmt::Result {
    let kind = kind_of(message);
    if kind.role == Role::Unreadable {
        let text = texts(message).pop().unwrap_or_default();
        return f.write_str(if f.alternate() { "an unreadable response" } else { &text });
    }
    let word = kind.word();
    if f.alternate() && !word.is_empty() {
        let whole = message.to_string();
        if whole.chars().count() <= BRIEF {
            return f.write_str(&whole);
        }
        f.write_str(word)?;
        return names(message).iter().try_for_each(|name| write!(f, " {name}"));
    }
    let fields = std::cell::RefCell::new(Vec::new());
    message.each(&mut |field| fields.borrow_mut().push(Shown(field).to_string()));
    let fields = fields.into_inner();
    for piece in kind.pieces {
        match piece {
            Piece::Text(text) => write!(f, "{}", text.escape_debug())?,
            Piece::Field(place) => f.write_str(&fields[*place])?,
        }
    }
    // A template of HTTP names only the fields of the path: the others follow as in JSON.
    let is_placed = |place: &usize| kind.pieces.contains(&Piece::Field(*place));
    for place in (0..fields.len()).filter(|place| !is_placed(place)) {
        write!(f, " {}={}", kind.fields[place], fields[place])?;
    }
    Ok(())
}

struct Shown<'a>(&'a dyn Field);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.show(f)
    }
}

/// Returns a message as JSON for stored cases: `{"Lock": {"0": "k1"}}`.
pub fn to_json<M: Message>(message: &M) -> serde_json::Value {
    let kind = kind_of(message);
    json!({ kind.name: fields_json(message) })
}

/// Returns the fields of a message as a JSON object.
pub(crate) fn fields_json<M: Message>(message: &M) -> serde_json::Map<String, serde_json::Value> {
    let mut names = kind_of(message).fields.iter();
    let mut fields = serde_json::Map::new();
    message.each(&mut |field| {
        if let Some(name) = names.next() {
            fields.insert((*name).to_owned(), field.json());
        }
    });
    fields
}

/// Reads a message from its JSON in a stored case.
pub fn from_json<M: Message>(value: &serde_json::Value) -> Result<M, String> {
    let single = value.as_object().and_then(|object| object.iter().next());
    let (name, fields) = single.ok_or_else(|| format!("no message: {value}"))?;
    let kind = M::KINDS.iter().position(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| format!("no kind of message is called {name}"))?;
    let built = M::build(kind, &mut JsonSource { names: M::KINDS[kind].fields, fields });
    built.ok_or_else(|| format!("the fields of {name} do not fit: {fields}"))
}

/// Fields of a JSON object.
pub(crate) struct JsonSource<'a> {
    pub(crate) names: &'static [&'static str],
    pub(crate) fields: &'a serde_json::Value,
}

impl Source for JsonSource<'_> {
    fn take<F: Field>(&mut self, place: usize) -> Option<F> {
        F::from_json(self.fields.get(self.names[place]).unwrap_or(&serde_json::Value::Null))
    }
}

/// A message that a model sends. Values in it that the server chose may be unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expected<M>(pub M);

impl<M> From<M> for Expected<M> {
    fn from(message: M) -> Self {
        Self(message)
    }
}

impl<M: Display> Display for Expected<M> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<M: Message> Pattern<M> for Expected<M> {
    fn unify(&self, seen: &M, facts: &mut Knowledge) -> Result<(), Mismatch> {
        self.0.unify(seen, facts)
    }

    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> M {
        let mut message = self.0.clone();
        change_parts(&mut message, &mut |part| {
            if let PartMut::Choice(choice) = part {
                choice.instantiate(value);
            }
        });
        message
    }

    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        self.0.each(&mut |field| {
            field.parts(&mut |part| {
                if let Part::Choice(choice) = part {
                    choice.variable(visit);
                }
            });
        });
    }
}
