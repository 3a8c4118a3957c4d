//! Values that the server chose: known, unknown, or as in an earlier response.

use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};

use confute::knowledge::{Knowledge, Sort, Term, Value, Var};
use confute::lang::{Formula, HasVars, Io, Mismatch, Number, Secret as Kind, ServerModel, Stop, Sym, Token};
use serde_json::json;

use crate::field::{Field, Part, PartMut};
use crate::mix::Draw;

/// A text that the server chose, such as a token or an id: it can only be equal to another one, or not.
pub type Secret = Chosen<Token>;

/// An integer that the server chose, such as an id, a version or a time: it also comes before or after another one.
pub type Id = Chosen<Number>;

/// A value that the server chose, in its three places:
///
/// - In a message on the wire it is known.
/// - In the state of a model and in the messages that a model sends it may be unknown: [`Chosen::fresh`]. Observing a message
///   reveals it.
/// - In a script it is "the one in the response to step n", or a value that nobody chose.
///
/// ```
/// use confute::lang::{Io, Register, ServerModel, Turn};
/// use confute_service::{Expected, Message, Secret};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)]
/// enum Lock {
///     #[request("LOCK")]
///     Lock,
///     #[request("UNLOCK {}")]
///     Unlock(Secret),
///     #[response("TOKEN {}")]
///     Token(Secret),
///     #[response("{}")]
///     Freed(bool),
///     #[unreadable]
///     Odd(String),
/// }
///
/// const HELD: Register<Secret> = Register::new("held");
///
/// struct Locks;
///
/// impl ServerModel for Locks {
///     type Msg = Lock;
///     type Out = Expected<Lock>;
///
///     fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
///         let (conn, request) = io.recv()?;
///         let held = HELD.edit(io)?;
///         match &*request {
///             // The server chooses the token; the response will tell it.
///             Lock::Lock => {
///                 let token = Secret::fresh(io)?;
///                 held.set(io, token.clone())?;
///                 io.send(conn, Lock::Token(token))
///             }
///             // Which of the two it is may not be known yet, so the turn asks.
///             Lock::Unlock(told) => {
///                 let is_right = match held.get(io)? {
///                     Some(token) => io.branch(token.equals(told))?,
///                     None => false,
///                 };
///                 io.send(conn, Lock::Freed(is_right))
///             }
///             _ => io.replies(0),
///         }
///     }
/// }
/// ```
pub struct Chosen<T: Kind>(Form<T>);

enum Form<T: Kind> {
    /// A value of a model or of the wire.
    Is(Sym<T>),
    /// A value of a script.
    Meant(Reference),
}

/// A value of a script that is chosen by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reference {
    /// Any value: the traffic decides before the request is sent.
    Any,
    /// The value in the response to a step.
    Seen {
        /// The step of the script.
        step: usize,
        /// The index among the values of the response that the server chose.
        place: usize,
    },
    /// A value that no server chose.
    MadeUp(u32),
}

/// A kind of value that can be chosen by a server and that travels as text.
pub trait Choosable: Kind {
    /// Returns the text of a value.
    fn text(plain: &Self::Plain) -> String;
    /// Reads a value from its text.
    fn parse(text: &str) -> Option<Self::Plain>;
    /// Returns the value as JSON.
    fn json(plain: &Self::Plain) -> serde_json::Value;
    /// Reads a value from JSON.
    fn from_json(value: &serde_json::Value) -> Option<Self::Plain>;
    /// Returns a value that no server chose.
    fn made_up(number: u32) -> Self::Plain;
}

impl Choosable for Token {
    fn text(plain: &Self::Plain) -> String {
        plain.as_ref().to_owned()
    }
    fn parse(text: &str) -> Option<Self::Plain> {
        Some(text.into())
    }
    fn json(plain: &Self::Plain) -> serde_json::Value {
        (&**plain).into()
    }
    fn from_json(value: &serde_json::Value) -> Option<Self::Plain> {
        value.as_str().map(Into::into)
    }
    fn made_up(number: u32) -> Self::Plain {
        format!("made-up-{number}").into()
    }
}

/// Made-up numbers are so large that they do not hit an object of somebody else.
const MADE_UP: i64 = 1 << 52;

impl Choosable for Number {
    fn text(plain: &i64) -> String {
        plain.to_string()
    }
    fn parse(text: &str) -> Option<i64> {
        text.parse().ok().filter(|number: &i64| number.to_string() == text)
    }
    fn json(plain: &i64) -> serde_json::Value {
        (*plain).into()
    }
    fn from_json(value: &serde_json::Value) -> Option<i64> {
        value.as_i64()
    }
    fn made_up(number: u32) -> i64 {
        MADE_UP + i64::from(number)
    }
}

/// A value of either kind that the server chose.
pub trait Choice {
    /// Returns the kind of value.
    fn sort(&self) -> Sort;
    /// Returns the reference of a script.
    fn reference(&self) -> Option<Reference>;
    /// Makes it a value of a script.
    fn refer(&mut self, to: Reference);
    /// Returns the value, if it is known.
    fn known(&self) -> Option<Value>;
    /// Makes the value known. Returns `false` if it is of another kind.
    fn become_known(&mut self, value: &Value) -> bool;
    /// Makes a reference a value that no server chose.
    fn make_up(&mut self);
    /// Replaces an unknown value by the one that an assignment returns.
    fn instantiate(&mut self, value: &mut dyn FnMut(Var) -> Value);
    /// Calls `visit` with the variable, if the value is unknown.
    fn variable(&self, visit: &mut dyn FnMut(Var));
}

impl<T: Choosable> Chosen<T> {
    /// Returns a new value that the server chooses and does not reveal yet.
    pub fn fresh<S: ServerModel + ?Sized>(io: &mut Io<'_, S>) -> Result<Self, Stop> {
        io.fresh().map(Self::from)
    }

    /// Returns a known value.
    pub fn known(plain: &T::Plain) -> Self {
        Self(Form::Is(Sym::known(plain)))
    }

    /// Returns a value that the traffic chooses before the request is sent: mostly one that a response has told.
    pub fn any() -> Self {
        Self(Form::Meant(Reference::Any))
    }

    /// Returns the formula that both values are equal, for [`Io::branch`] and [`Io::assume`].
    pub fn equals(&self, other: &Self) -> Formula {
        self.sym().equals(other.sym())
    }

    /// Returns the formula that the values differ.
    pub fn differs(&self, other: &Self) -> Formula {
        self.equals(other).negate()
    }

    /// Returns the value for a formula.
    ///
    /// # Panics
    /// If it is a reference of a script: those are resolved before a message is sent, so a model never meets one.
    pub fn sym(&self) -> &Sym<T> {
        match &self.0 {
            Form::Is(sym) => Some(sym),
            Form::Meant(_) => None,
        }
        .expect("references of a script are resolved before a model sees them")
    }

    fn plain(&self) -> Option<T::Plain> {
        T::decode(&Choice::known(self)?)
    }

    fn key(&self) -> (Option<&Sym<T>>, Option<Reference>) {
        match &self.0 {
            Form::Is(sym) => (Some(sym), None),
            Form::Meant(reference) => (None, Some(*reference)),
        }
    }
}

impl<T: Kind> From<Sym<T>> for Chosen<T> {
    fn from(sym: Sym<T>) -> Self {
        Self(Form::Is(sym))
    }
}

impl<T: Choosable> Choice for Chosen<T> {
    fn sort(&self) -> Sort {
        T::SORT
    }
    fn reference(&self) -> Option<Reference> {
        self.key().1
    }
    fn refer(&mut self, to: Reference) {
        self.0 = Form::Meant(to);
    }
    fn known(&self) -> Option<Value> {
        match self.key().0?.term() {
            Term::Const(value) => Some(value.clone()),
            Term::Var(_) => None,
        }
    }
    fn become_known(&mut self, value: &Value) -> bool {
        let Some(plain) = T::decode(value) else { return false };
        *self = Self::known(&plain);
        true
    }
    fn make_up(&mut self) {
        if let Form::Meant(Reference::MadeUp(number)) = self.0 {
            *self = Self::known(&T::made_up(number));
        }
    }
    fn instantiate(&mut self, value: &mut dyn FnMut(Var) -> Value) {
        if let Form::Is(sym) = &self.0 {
            *self = Self::known(&sym.instantiate(value));
        }
    }
    fn variable(&self, visit: &mut dyn FnMut(Var)) {
        if let Form::Is(sym) = &self.0 {
            sym.vars(visit);
        }
    }
}

impl<T: Choosable> HasVars for Chosen<T> {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        self.variable(visit);
    }
}

impl<T: Choosable> Field for Chosen<T> {
    fn text(&self) -> String {
        self.plain().map(|plain| T::text(&plain)).unwrap_or_default()
    }
    fn parse(text: &str) -> Option<Self> {
        T::parse(text).map(|plain| Self::known(&plain))
    }
    fn draw(_: &mut Draw<'_>) -> Self {
        Self::any()
    }
    fn show(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Is(sym) => fmt::Display::fmt(sym, f),
            Form::Meant(Reference::Any) => f.write_str("any"),
            Form::Meant(Reference::Seen { step, .. }) => write!(f, "the one of step {step}"),
            Form::Meant(Reference::MadeUp(number)) => write!(f, "made-up {number}"),
        }
    }
    fn json(&self) -> serde_json::Value {
        match self.0 {
            Form::Is(_) => self.plain().map_or(serde_json::Value::Null, |plain| T::json(&plain)),
            Form::Meant(Reference::Any) => json!({ "any": true }),
            Form::Meant(Reference::Seen { step, place }) => json!({ "step": step, "place": place }),
            Form::Meant(Reference::MadeUp(number)) => json!({ "made_up": number }),
        }
    }
    fn from_json(value: &serde_json::Value) -> Option<Self> {
        let number = |name: &str| value.get(name)?.as_u64()?.try_into().ok();
        if let Some(plain) = T::from_json(value) {
            return Some(Self::known(&plain));
        }
        let reference = match (number("step"), number("made_up"), value.get("any")) {
            (Some(step), ..) => Reference::Seen { step, place: number("place").unwrap_or_default() },
            (_, Some(made_up), _) => Reference::MadeUp(made_up as u32),
            (.., Some(_)) => Reference::Any,
            _ => return None,
        };
        Some(Self(Form::Meant(reference)))
    }
    fn simplify(&mut self, way: usize) -> bool {
        // A value that nobody chose needs no other request.
        let is_simpler = matches!(self.0, Form::Meant(Reference::Seen { .. } | Reference::Any)) && way == 0;
        if is_simpler {
            self.refer(Reference::MadeUp(0));
        }
        is_simpler
    }
    fn unify(&self, seen: &Self, facts: &mut Knowledge) -> Result<(), Mismatch> {
        match (&self.0, seen.plain()) {
            (Form::Is(sym), Some(plain)) => sym.unify(&plain, facts),
            _ => Err(Mismatch),
        }
    }
    fn parts(&self, visit: &mut dyn FnMut(Part<'_>)) {
        visit(Part::Choice(self));
    }
    fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        visit(PartMut::Choice(self));
    }
}

impl<T: Kind> Clone for Chosen<T> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Form::Is(sym) => Form::Is(sym.clone()),
            Form::Meant(reference) => Form::Meant(*reference),
        })
    }
}

impl<T: Choosable> PartialEq for Chosen<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T: Choosable> Eq for Chosen<T> {}

impl<T: Choosable> Hash for Chosen<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl<T: Choosable> Debug for Chosen<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.show(f)
    }
}
