//! Fields of messages: plain data, names of the case, and values that the server chose.

use std::fmt::{self, Debug, Formatter};

use confute::knowledge::Knowledge;
use confute::lang::Mismatch;
use serde_json::Value;

use crate::chosen::Choice;
use crate::mix::Draw;
use crate::name::Name;

/// A type that can be a field of a [`Message`](crate::Message).
///
/// Plain data needs three methods: its text, the way back, and a random value. Everything else has a default. A type of your own
/// becomes a field like this:
///
/// ```
/// use confute_service::{Draw, Field};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash)]
/// struct Celsius(i32);
///
/// impl Field for Celsius {
///     fn text(&self) -> String {
///         format!("{}C", self.0)
///     }
///     fn parse(text: &str) -> Option<Self> {
///         text.strip_suffix('C')?.parse().ok().map(Self)
///     }
///     fn draw(draw: &mut Draw<'_>) -> Self {
///         Self(draw.below(40) as i32)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a message",
    label = "Confute does not know how to send, read and shrink this type",
    note = "a field is a number, `bool`, `String`, an `Option` or `Vec` of a field, `Name` (belongs to the case), `Secret` or `Id` (chosen by the server)",
    note = "next step: write `impl Field for {Self}` with `text`, `parse` and `draw`"
)]
pub trait Field: Debug + 'static {
    /// Returns the text of the field, as wires send it.
    fn text(&self) -> String;

    /// Reads a field from its text. `None` if it is none.
    fn parse(text: &str) -> Option<Self>
    where
        Self: Sized;

    /// Returns a random field for a request.
    fn draw(draw: &mut Draw<'_>) -> Self
    where
        Self: Sized;

    /// Writes the field for people, in one line.
    fn show(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }

    /// Returns the field as JSON, for JSON wires and stored cases.
    fn json(&self) -> Value {
        Value::String(self.text())
    }

    /// Reads a field from JSON. `None` if it is none.
    fn from_json(value: &Value) -> Option<Self>
    where
        Self: Sized,
    {
        value.as_str().and_then(Self::parse)
    }

    /// Changes the field to the `way`-th of its simpler variants, the simplest first. Returns `false` if there are
    /// not so many. Each variant has to be simpler than the field, because simplification is applied to its own results.
    fn simplify(&mut self, way: usize) -> bool {
        let _ = way;
        false
    }

    /// Adds the facts that follow from observing `seen` where the model sent this field.
    fn unify(&self, seen: &Self, facts: &mut Knowledge) -> Result<(), Mismatch>
    where
        Self: Sized + PartialEq,
    {
        let _ = facts;
        if self == seen { Ok(()) } else { Err(Mismatch) }
    }

    /// Visits the names and the chosen values in the field. Plain data has none.
    fn parts(&self, visit: &mut dyn FnMut(Part<'_>)) {
        let _ = visit;
    }

    /// Visits the names and the chosen values in the field, to change them. Plain data has none.
    fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        let _ = visit;
    }
}

/// A part of a field that is no plain data.
pub enum Part<'a> {
    /// A name that belongs to the case.
    Name(&'a Name),
    /// A value that the server chose.
    Choice(&'a dyn Choice),
}

/// A part of a field that is no plain data, to change it.
pub enum PartMut<'a> {
    /// A name that belongs to the case.
    Name(&'a mut Name),
    /// A value that the server chose.
    Choice(&'a mut dyn Choice),
}

/// Small numbers and a larger one.
const NUMBERS: [u32; 8] = [0, 1, 1, 2, 3, 5, 10, 100];

macro_rules! numbers {
    ($($type:ty),+) => {$(
        impl Field for $type {
            fn text(&self) -> String {
                self.to_string()
            }
            fn parse(text: &str) -> Option<Self> {
                // `parse` also accepts a sign or zeros in front, which the server has to explain.
                text.parse().ok().filter(|number: &Self| number.to_string() == text)
            }
            fn draw(draw: &mut Draw<'_>) -> Self {
                <$type>::try_from(NUMBERS[draw.below(NUMBERS.len() as u64) as usize]).unwrap_or_default()
            }
            fn show(&self, f: &mut Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
            fn json(&self) -> Value {
                (*self).into()
            }
            fn from_json(value: &Value) -> Option<Self> {
                serde_json::from_value(value.clone()).ok()
            }
            fn simplify(&mut self, way: usize) -> bool {
                let now = *self;
                let simpler = [0, 1, now / 2].into_iter().filter(|less| *less < now);
                replace(self, simpler, way)
            }
        }
    )+};
}
numbers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

impl Field for bool {
    fn text(&self) -> String {
        self.to_string()
    }
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
    fn draw(draw: &mut Draw<'_>) -> Self {
        draw.below(2) == 0
    }
    fn show(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
    fn json(&self) -> Value {
        (*self).into()
    }
    fn from_json(value: &Value) -> Option<Self> {
        value.as_bool()
    }
    fn simplify(&mut self, way: usize) -> bool {
        way == 0 && std::mem::take(self)
    }
}

impl Field for String {
    fn text(&self) -> String {
        self.clone()
    }
    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
    fn draw(draw: &mut Draw<'_>) -> Self {
        draw.text()
    }
    fn simplify(&mut self, way: usize) -> bool {
        let length = self.chars().count();
        let simpler = [1, length / 2].into_iter().filter(|less| (1..length).contains(less));
        let simpler: Vec<String> = simpler.map(|less| self.chars().take(less).collect()).collect();
        replace(self, simpler.into_iter(), way)
    }
}

/// Replaces a value by the `way`-th of its simpler variants, if there is one.
fn replace<T>(value: &mut T, mut simpler: impl Iterator<Item = T>, way: usize) -> bool {
    match simpler.nth(way) {
        Some(other) => {
            *value = other;
            true
        }
        None => false,
    }
}

impl<T: Field + PartialEq> Field for Option<T> {
    fn text(&self) -> String {
        self.as_ref().map(Field::text).unwrap_or_default()
    }
    /// Reads nothing from the empty text.
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() { Some(None) } else { T::parse(text).map(Some) }
    }
    fn draw(draw: &mut Draw<'_>) -> Self {
        (draw.below(2) == 0).then(|| T::draw(draw))
    }
    fn show(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.as_ref().map_or(Ok(()), |inner| inner.show(f))
    }
    fn json(&self) -> Value {
        self.as_ref().map_or(Value::Null, Field::json)
    }
    fn from_json(value: &Value) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::from_json(value).map(Some) }
    }
    fn simplify(&mut self, way: usize) -> bool {
        match (self.as_mut(), way) {
            (None, _) => false,
            (_, 0) => self.take().is_some(),
            (Some(inner), _) => inner.simplify(way - 1),
        }
    }
    fn unify(&self, seen: &Self, facts: &mut Knowledge) -> Result<(), Mismatch> {
        match (self, seen) {
            (Some(sent), Some(seen)) => sent.unify(seen, facts),
            (None, None) => Ok(()),
            _ => Err(Mismatch),
        }
    }
    fn parts(&self, visit: &mut dyn FnMut(Part<'_>)) {
        self.iter().for_each(|inner| inner.parts(visit));
    }
    fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        self.iter_mut().for_each(|inner| inner.parts_mut(visit));
    }
}

/// The texts of the elements are separated by commas.
impl<T: Field + PartialEq> Field for Vec<T> {
    fn text(&self) -> String {
        self.iter().map(Field::text).collect::<Vec<_>>().join(",")
    }
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() { Some(Vec::new()) } else { text.split(',').map(T::parse).collect() }
    }
    fn draw(draw: &mut Draw<'_>) -> Self {
        (0..draw.below(4)).map(|_| T::draw(draw)).collect()
    }
    fn show(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (place, inner) in self.iter().enumerate() {
            f.write_str(if place == 0 { "" } else { ", " })?;
            inner.show(f)?;
        }
        f.write_str("]")
    }
    fn json(&self) -> Value {
        self.iter().map(Field::json).collect()
    }
    fn from_json(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::from_json).collect()
    }
    fn simplify(&mut self, way: usize) -> bool {
        if way < self.len() {
            self.remove(way);
            return true;
        }
        let mut left = way - self.len();
        for inner in self.iter_mut() {
            let mut ways = 0;
            while ways <= left {
                // Each way changes the element, so the ways are counted on the way.
                if inner.simplify(ways) {
                    if ways == left {
                        return true;
                    }
                } else {
                    break;
                }
                ways += 1;
            }
            left -= ways.min(left);
        }
        false
    }
    fn unify(&self, seen: &Self, facts: &mut Knowledge) -> Result<(), Mismatch> {
        if self.len() != seen.len() {
            return Err(Mismatch);
        }
        self.iter().zip(seen).try_for_each(|(sent, seen)| sent.unify(seen, facts))
    }
    fn parts(&self, visit: &mut dyn FnMut(Part<'_>)) {
        self.iter().for_each(|inner| inner.parts(visit));
    }
    fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        self.iter_mut().for_each(|inner| inner.parts_mut(visit));
    }
}
