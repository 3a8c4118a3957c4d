//! Messages inside of messages: the requests of a transaction, and the responses to them.

use std::fmt::{self, Formatter};

use confute::knowledge::Knowledge;
use confute::lang::Mismatch;
use serde_json::Value;

use crate::field::{Part, PartMut};
use crate::message::{self, Message, from_json, simpler, to_json};

/// Makes a list of messages a field of the same messages: `nested!(pub Queue, Redis)` declares `struct Queue(pub Vec<Redis>)`.
///
/// A generic type cannot do this: that messages have the field would follow from being messages, and the other way round.
///
/// ```
/// use confute_service::{Message, Name, nested};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)]
/// enum Store {
///     #[request("GET {}", reads)]
///     Get(Name),
///     #[request("ALL {}")]
///     All(Batch),
///     #[response("{}")]
///     Value(String),
///     #[response]
///     Values(Batch),
///     #[unreadable]
///     Odd(String),
/// }
/// nested!(Batch, Store);
///
/// let all = Store::All(Batch(vec![Store::Get(Name::number(0)), Store::Get(Name::number(1))]));
/// assert_eq!(all.to_string(), "ALL [GET k0; GET k1]");
/// ```
#[macro_export]
macro_rules! nested {
    ($visible:vis $list:ident, $message:ty) => {
        /// A list of messages.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
        $visible struct $list(
            /// The messages.
            pub Vec<$message>,
        );

        impl $crate::Field for $list {
            fn text(&self) -> String {
                $crate::Field::json(self).to_string()
            }
            fn parse(text: &str) -> Option<Self> {
                <Self as $crate::Field>::from_json(&::serde_json::from_str(text).ok()?)
            }
            fn draw(_: &mut $crate::Draw<'_>) -> Self {
                Self::default()
            }
            fn show(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::nested::show(&self.0, f)
            }
            fn json(&self) -> ::serde_json::Value {
                $crate::nested::json(&self.0)
            }
            fn from_json(value: &::serde_json::Value) -> Option<Self> {
                $crate::nested::read(value).map(Self)
            }
            fn simplify(&mut self, way: usize) -> bool {
                $crate::nested::simplify(&mut self.0, way)
            }
            fn unify(
                &self,
                seen: &Self,
                facts: &mut $crate::Knowledge,
            ) -> ::std::result::Result<(), $crate::Mismatch> {
                $crate::nested::unify(&self.0, &seen.0, facts)
            }
            fn parts(&self, visit: &mut dyn FnMut($crate::Part<'_>)) {
                $crate::nested::parts(&self.0, visit);
            }
            fn parts_mut(&mut self, visit: &mut dyn FnMut($crate::PartMut<'_>)) {
                $crate::nested::parts_mut(&mut self.0, visit);
            }
        }
    };
}

/// Writes messages for people, in one line.
pub fn show<M: Message>(messages: &[M], f: &mut Formatter<'_>) -> fmt::Result {
    let texts: Vec<String> = messages.iter().map(ToString::to_string).collect();
    write!(f, "[{}]", texts.join("; "))
}

/// Returns messages as JSON.
pub fn json<M: Message>(messages: &[M]) -> Value {
    messages.iter().map(to_json).collect()
}

/// Reads messages from JSON.
pub fn read<M: Message>(value: &Value) -> Option<Vec<M>> {
    value.as_array()?.iter().map(|one| from_json(one).ok()).collect()
}

/// Changes messages to the `way`-th of their simpler variants: without one of them, or with a simpler one.
pub fn simplify<M: Message>(messages: &mut Vec<M>, way: usize) -> bool {
    if way < messages.len() {
        messages.remove(way);
        return true;
    }
    let variants = messages
        .iter()
        .enumerate()
        .flat_map(|(place, one)| simpler(one).into_iter().map(move |variant| (place, variant)));
    let Some((place, variant)) = variants.collect::<Vec<_>>().into_iter().nth(way - messages.len()) else {
        return false;
    };
    messages[place] = variant;
    true
}

/// Adds the facts that follow from observing `seen` where the model sent these messages.
pub fn unify<M: Message>(sent: &[M], seen: &[M], facts: &mut Knowledge) -> Result<(), Mismatch> {
    if sent.len() != seen.len() {
        return Err(Mismatch);
    }
    sent.iter().zip(seen).try_for_each(|(sent, seen)| sent.unify(seen, facts))
}

/// Visits the parts of messages that are no plain data.
pub fn parts<M: Message>(messages: &[M], visit: &mut dyn FnMut(Part<'_>)) {
    messages.iter().for_each(|one| one.each(&mut |field| field.parts(visit)));
}

/// Visits the parts of messages that are no plain data, to change them.
pub fn parts_mut<M: Message>(messages: &mut [M], visit: &mut dyn FnMut(PartMut<'_>)) {
    messages.iter_mut().for_each(|one| message::change_parts(one, visit));
}
