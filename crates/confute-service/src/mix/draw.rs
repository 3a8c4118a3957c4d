//! Random choices for requests.

use crate::chosen::{Choosable, Chosen};
use crate::field::Field;
use crate::message::{Message, Source};
use crate::name::Name;

/// Source of random choices for a request.
///
/// ```
/// use confute_service::{Message, Mix, Name};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)]
/// enum Store {
///     #[request("PUT {} {} {}")]
///     Put { name: Name, seconds: u32, text: String },
///     #[response("OK")]
///     Done,
///     #[unreadable]
///     Odd(String),
/// }
///
/// let mix = Mix::new().kind(1, |draw| Store::Put {
///     name: draw.name(),
///     seconds: draw.one_of(&[0, 1, 3_600]),
///     text: if draw.below(10) == 0 { String::new() } else { draw.text() },
/// });
/// ```
pub struct Draw<'a> {
    pick: &'a mut dyn FnMut(u64) -> u64,
    /// Number of names to choose from.
    names: u32,
    /// The only name, if a few requests are to meet.
    focus: Option<u32>,
    /// Number of texts made so far.
    marks: u64,
}

impl<'a> Draw<'a> {
    pub(crate) fn new(
        pick: &'a mut dyn FnMut(u64) -> u64,
        names: u32,
        focus: Option<u32>,
        marks: u64,
    ) -> Self {
        Self { pick, names, focus, marks }
    }

    /// Returns a random number below `bound`, and 0 below 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        (self.pick)(bound.max(1))
    }

    /// Returns one of these values.
    ///
    /// # Panics
    /// If there is none.
    pub fn one_of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize].clone()
    }

    /// Returns one of the names of the case.
    pub fn name(&mut self) -> Name {
        let number = match self.focus {
            Some(name) => name,
            None => self.below(u64::from(self.names)) as u32,
        };
        Name::number(number)
    }

    /// Returns a text that mostly occurs once in the case, so that a response with it tells which request it saw.
    pub fn text(&mut self) -> String {
        if self.below(8) == 7 {
            return self.one_of(&["0", "1", "7", "same"]).to_owned();
        }
        self.marks += 1;
        format!("v{}", self.marks)
    }

    /// Returns a value that the server chose, mostly the latest that was told about the names of the request; sometimes an older one, one
    /// of other names, or one that nobody chose.
    pub fn chosen<T: Choosable>(&mut self) -> Chosen<T> {
        Chosen::any()
    }

    /// Returns the message of a kind with random fields.
    pub(crate) fn message<M: Message>(&mut self, kind: usize) -> Option<M> {
        M::build(kind, self)
    }

    pub(crate) fn marks(&self) -> u64 {
        self.marks
    }
}

impl Draw<'static> {
    /// Returns a source with this name and the first of all choices.
    pub(crate) fn fixed(name: u32) -> Self {
        // A closure without captures takes no space, so nothing leaks.
        let first: &'static mut dyn FnMut(u64) -> u64 = Box::leak(Box::new(|_| 0));
        Self { pick: first, names: 1, focus: Some(name), marks: 0 }
    }
}

impl Source for Draw<'_> {
    fn take<F: Field>(&mut self, _: usize) -> Option<F> {
        Some(F::draw(self))
    }
}
