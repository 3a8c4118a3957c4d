//! The tables: what each request does at each content.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::{Outcome, Request};
use crate::derive::compose::Composed;
use crate::derive::inquire::Effect;
use crate::erased::Message;
use crate::lang::Val;

/// Contents of a cell, by number, and the effects of requests at them, as far as they were asked for.
pub(super) struct Effects {
    cell: u32,
    contents: Vec<Option<Val>>,
    numbers: FxHashMap<u128, u32>,
    outcomes: FxHashMap<u64, Outcome>,
    /// `true` if a turn was not a function of the content.
    pub(super) failed: bool,
}

impl Effects {
    pub(super) fn new(cell: u32) -> Self {
        Self {
            cell,
            contents: Vec::new(),
            numbers: FxHashMap::default(),
            outcomes: FxHashMap::default(),
            failed: false,
        }
    }

    /// Returns the number of contents.
    pub(super) fn len(&self) -> usize {
        self.contents.len()
    }

    /// Forgets all contents but the first.
    pub(super) fn forget(&mut self) {
        let first = self.contents.first().cloned();
        self.contents.clear();
        self.numbers.clear();
        self.outcomes.clear();
        if let Some(first) = first {
            self.number(first.as_ref());
        }
    }

    /// Returns the number of a content, new or known.
    pub(super) fn number(&mut self, value: Option<&Val>) -> u32 {
        let next = self.contents.len() as u32;
        let number = *self.numbers.entry(value.map_or(1, |value| value.fingerprint.0)).or_insert(next);
        if number == next {
            self.contents.push(value.cloned());
        }
        number
    }

    /// Returns the effect of a request at a content.
    pub(super) fn outcome(
        &mut self,
        world: &Composed<'_>,
        requests: &[Request],
        request: u32,
        content: u32,
    ) -> Outcome {
        let key = u64::from(request) << 32 | u64::from(content);
        if let Some(outcome) = self.outcomes.get(&key) {
            return *outcome;
        }
        let value = self.contents[content as usize].clone();
        let delivery = &requests[request as usize].delivery;
        let outcome = match world.effect(delivery, self.cell, value.as_ref()) {
            None => {
                self.failed = true;
                Outcome::Differs
            }
            Some(Effect { never: true, .. }) => Outcome::Never,
            Some(Effect { matches: false, .. }) => Outcome::Differs,
            Some(Effect { after: None, .. }) => Outcome::Same,
            Some(Effect { after: Some(after), .. }) => match self.number(after.as_ref()) {
                number if number == content => Outcome::Same,
                number => Outcome::To(number),
            },
        };
        self.outcomes.insert(key, outcome);
        outcome
    }

    /// Returns the response that a request gives at a content.
    pub(super) fn response(
        &self,
        world: &Composed<'_>,
        request: &Request,
        content: u32,
    ) -> Option<Rc<Message>> {
        world.response_at(&request.delivery, self.cell, self.contents[content as usize].as_ref())
    }

    /// Estimates the number of bytes in use.
    pub(super) fn bytes(&self) -> usize {
        self.contents.len() * (size_of::<Option<Val>>() + 24) + self.outcomes.capacity() * 18
    }
}
