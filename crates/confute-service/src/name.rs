//! Names that belong to a case.

use std::fmt::{self, Formatter};
use std::sync::Arc;

use confute::knowledge::Var;
use confute::lang::HasVars;
use confute_drive::short_name;
use serde_json::{Value, json};

use crate::field::{Field, Part, PartMut};
use crate::mix::Draw;

/// A name of something on the server that belongs to one case: a key, a lock, a user.
///
/// ```
/// use confute_service::Name;
///
/// // A script holds a number; on the wire it is a text, as in a response that names the key.
/// assert_eq!(Name::number(3).to_string(), "k3");
/// assert_eq!(Name::from("confute-1-k3").as_str(), "confute-1-k3");
/// ```
///
/// Scripts hold a number. When a request is sent, the number becomes a name that no other case has, so that cases do not meet, and
/// a replayed case finds nothing of earlier ones. A model uses a name as the key of a [`Table`](confute::lang::Table).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Form);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Form {
    /// A name of a script.
    Number(u32),
    /// A name that travels.
    Text(Arc<str>),
}

impl Name {
    /// Returns the name of a script with this number.
    pub fn number(number: u32) -> Self {
        Self(Form::Number(number))
    }

    /// Returns the name as it travels.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Form::Text(text) => text,
            Form::Number(_) => "",
        }
    }

    /// Returns the part of a name that travels which names its case.
    pub(crate) fn case(&self) -> Option<&str> {
        self.as_str().rsplit_once('-').map(|(case, _)| case)
    }

    /// Returns the number of a name of a script. A name that travels has none.
    pub fn script_number(&self) -> Option<u32> {
        if let Form::Number(number) = self.0 { Some(number) } else { None }
    }

    pub(crate) fn resolve(&mut self, case: &str) {
        if let Form::Number(number) = self.0 {
            self.0 = Form::Text(format!("{case}-k{number}").into());
        }
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(Form::Text(text.into()))
    }
}

impl HasVars for Name {
    fn vars(&self, _: &mut dyn FnMut(Var)) {}
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Number(number) => write!(f, "k{number}"),
            // Whoever reads a report needs no part of a name that all names have.
            Form::Text(text) => write!(f, "{}", short_name(text).escape_debug()),
        }
    }
}

impl Field for Name {
    fn text(&self) -> String {
        self.as_str().to_owned()
    }
    fn parse(text: &str) -> Option<Self> {
        Some(Self::from(text))
    }
    fn draw(draw: &mut Draw<'_>) -> Self {
        draw.name()
    }
    fn show(&self, f: &mut Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
    fn json(&self) -> Value {
        match &self.0 {
            Form::Number(number) => json!({ "name": number }),
            Form::Text(text) => (&**text).into(),
        }
    }
    fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::from(&**text)),
            other => other.get("name")?.as_u64()?.try_into().ok().map(Self::number),
        }
    }
    fn parts(&self, visit: &mut dyn FnMut(Part<'_>)) {
        visit(Part::Name(self));
    }
    fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        visit(PartMut::Name(self));
    }
}
