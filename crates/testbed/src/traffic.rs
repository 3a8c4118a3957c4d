//! Which requests to send to a conditional store: random, but the same for the same seed and the same answers.
//!
//! It does not ask the tester what it believes; the real generator will. Bodies are unique, and no two have the same
//! length unless asked for: a tag made of a time in seconds and a length (nginx, Apache) then still differs between two contents of the
//! same second. If-Match goes only to keys that are known to exist: RFC 9110 13.1.1 makes its evaluation a must for
//! a request "that selects a representation", so on an absent one the case is arguable.

use std::sync::Arc;

use confute::random::Random;
use confute_models::conditional::{Message, Tag};

/// What kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Habits {
    /// How many keys.
    pub keys: usize,
    /// Whether puts may carry If-Match.
    pub conditional_puts: bool,
    /// Whether all bodies have the same length.
    pub equal_lengths: bool,
}

/// A stream of requests.
#[derive(Debug)]
pub struct Traffic {
    habits: Habits,
    random: Random,
    /// For each key the tags seen, in the order of first sight.
    tags: Vec<Vec<Tag>>,
    puts: usize,
}

impl Traffic {
    /// The stream of this seed.
    pub fn new(seed: u64, habits: Habits) -> Self {
        Self { habits, random: Random::new(seed), tags: vec![Vec::new(); habits.keys], puts: 0 }
    }

    /// A random number below this bound, for choices that are not about messages.
    pub fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    /// The next request.
    pub fn request(&mut self) -> Message {
        let number = self.below(self.habits.keys);
        let key: Arc<str> = format!("k{number}").into();
        if self.random.chance(3, 5) {
            let tag = if self.random.chance(1, 2) { self.tag(number) } else { None };
            // The weak comparison of If-None-Match must not mind.
            let turn = self.random.chance(1, 4);
            Message::Get { key, if_none_match: tag.map(|tag| Tag { weak: tag.weak != turn, ..tag }) }
        } else {
            let conditional = self.habits.conditional_puts && self.random.chance(1, 2);
            let if_match = if conditional { self.tag(number) } else { None };
            Message::Put { key, if_match, body: self.body() }
        }
    }

    /// Takes note of an answer.
    pub fn saw(&mut self, request: &Message, answer: &Message) {
        if let (Message::Get { key, .. }, Message::Ok { tag, .. }) = (request, answer)
            && let Some(tags) =
                key.strip_prefix('k').and_then(|number| self.tags.get_mut(number.parse::<usize>().ok()?))
            && !tags.contains(tag)
        {
            tags.push(tag.clone());
        }
    }

    /// A tag for a key that has one: mostly the latest seen, or an earlier one, or one that nobody gave out.
    fn tag(&mut self, number: usize) -> Option<Tag> {
        let count = self.tags[number].len();
        if count == 0 {
            return None;
        }
        let back = match self.below(6) {
            0..=2 => 0,
            3 | 4 => self.below(count),
            _ => return Some(Tag { weak: false, opaque: format!("guess{}", self.below(10)).into() }),
        };
        Some(self.tags[number][count - 1 - back].clone())
    }

    fn body(&mut self) -> Arc<str> {
        self.puts += 1;
        let length = if self.habits.equal_lengths { 8 } else { 4 + self.puts };
        format!("{:.<length$}", format!("{}.", self.puts)).into()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_and_no_two_bodies_of_a_length() {
        let mut traffic = Traffic::new(1, Habits { keys: 2, conditional_puts: true, equal_lengths: false });
        let (mut lengths, mut puts, mut conditional, mut weak) = (BTreeSet::new(), 0, 0, 0);
        for number in 0..1_000 {
            match traffic.request() {
                Message::Put { if_match, body, .. } => {
                    puts += 1;
                    conditional += usize::from(if_match.is_some());
                    lengths.insert(body.len());
                }
                get @ Message::Get { .. } => {
                    weak += usize::from(
                        matches!(&get, Message::Get { if_none_match: Some(tag), .. } if tag.weak),
                    );
                    let tag = Tag { weak: false, opaque: format!("t{number}").into() };
                    traffic.saw(&get, &Message::Ok { tag, body: "".into() });
                }
                other => panic!("not a request: {other:?}"),
            }
        }
        assert_eq!(lengths.len(), puts);
        assert!(conditional > 100 && weak > 20, "{conditional} {weak}");
    }

    #[test]
    fn no_condition_before_a_tag_is_known() {
        let mut traffic = Traffic::new(2, Habits { keys: 2, conditional_puts: true, equal_lengths: false });
        for _ in 0..100 {
            assert!(matches!(
                traffic.request(),
                Message::Get { if_none_match: None, .. } | Message::Put { if_match: None, .. }
            ));
        }
    }
}
