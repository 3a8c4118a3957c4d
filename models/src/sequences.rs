//! Contents of queues and stacks: sequences that are cheap to copy, to compare and to hash.
//!
//! The search keeps many versions of a cell and compares them all the time. A plain `Vec` would be copied and hashed
//! whole for every element that is added. These share their common part, and two are equal if their length and a
//! digest of their elements are equal (as for [`Text`](confute::lang::Text)): adding and removing at an end takes
//! constant time, a removal from a queue logarithmic time, whatever the length.

use std::fmt;
use std::hash::{Hash, Hasher};

use confute::fingerprint::Fingerprint;
use rpds::{List, Queue};

use crate::item::{Item, bracketed};

/// A sequence to which elements are added at the end and removed at the front.
#[derive(Clone, Default)]
pub struct Fifo {
    items: Queue<Item>,
    digest: Digest,
}
confute::plain!(Fifo, Lifo);

impl Fifo {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns `true` if there is no element.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns this sequence with an element behind the last.
    #[must_use]
    pub fn push(&self, item: Item) -> Self {
        Self { digest: self.digest.push(&item), items: self.items.enqueue(item) }
    }

    /// Returns the element at a place, counted from the front, and this sequence without it.
    pub fn take(&self, place: usize) -> Option<(Item, Self)> {
        if place > 0 {
            let taken = self.items.iter().nth(place)?.clone();
            let others = self.items.iter().enumerate().filter(|(at, _)| *at != place);
            return Some((taken, others.map(|(_, item)| item.clone()).collect()));
        }
        let first = self.items.peek()?.clone();
        let rest = Self { digest: self.digest.pop_front(&first, self.len()), items: self.items.dequeue()? };
        Some((first, rest))
    }
}

impl FromIterator<Item> for Fifo {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> Self {
        items.into_iter().fold(Self::default(), |sequence, item| sequence.push(item))
    }
}

impl PartialEq for Fifo {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.digest == other.digest
    }
}

impl Eq for Fifo {}

impl Hash for Fifo {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.digest.hash(state);
    }
}

impl fmt::Debug for Fifo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bracketed(f, &self.items)
    }
}

/// Digest of a sequence, two polynomials over a prime field: the elements are the coefficients, the last one that of
/// the power 0. The first can thus be removed without looking at the others.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Digest([u64; 2]);

const PRIME: u64 = (1 << 61) - 1;
const BASES: [u64; 2] = [0x0b2d_6e7f_35c1_94a3, 0x17c9_4f02_e8a5_d661];

fn times(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    add(wide as u64 & PRIME, (wide >> 61) as u64)
}

fn add(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= PRIME { sum - PRIME } else { sum }
}

fn power(base: u64, exponent: usize) -> u64 {
    let (mut result, mut square, mut left) = (1, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = times(result, square);
        }
        square = times(square, square);
        left >>= 1;
    }
    result
}

impl Digest {
    /// Returns the coefficients of an element.
    fn of(item: &Item) -> [u64; 2] {
        let Fingerprint(bits) = Fingerprint::of(item);
        // Less than the prime, and not zero: a zero in front would not count.
        [bits as u64, (bits >> 64) as u64].map(|half| half % (PRIME - 1) + 1)
    }

    fn push(self, item: &Item) -> Self {
        let item = Self::of(item);
        Self([0, 1].map(|lane| add(times(self.0[lane], BASES[lane]), item[lane])))
    }

    /// Removes the first of `len` elements.
    fn pop_front(self, item: &Item, len: usize) -> Self {
        let item = Self::of(item);
        Self([0, 1].map(|lane| {
            let first = times(item[lane], power(BASES[lane], len - 1));
            add(self.0[lane], PRIME - first)
        }))
    }
}

/// A sequence to which elements are added at the top and removed there.
#[derive(Clone, Default)]
pub struct Lifo {
    /// Elements, each with the fingerprint of everything up to it.
    items: List<(Item, Fingerprint)>,
}

impl Lifo {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns `true` if there is no element.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns this sequence with an element on top.
    #[must_use]
    pub fn push(&self, item: Item) -> Self {
        let all = Fingerprint::of(&(self.fingerprint().0, &item));
        Self { items: self.items.push_front((item, all)) }
    }

    /// Returns the element that so many others lie on, and this sequence without it.
    pub fn take(&self, place: usize) -> Option<(Item, Self)> {
        let mut below = self.items.clone();
        let mut above = Vec::new();
        for _ in 0..place {
            above.push(below.first()?.0.clone());
            below = below.drop_first()?;
        }
        let (taken, _) = below.first()?.clone();
        let below = Self { items: below.drop_first()? };
        Some((taken, above.into_iter().rev().fold(below, |sequence, item| sequence.push(item))))
    }

    fn fingerprint(&self) -> Fingerprint {
        self.items.first().map_or(Fingerprint::default(), |(_, all)| *all)
    }
}

impl FromIterator<Item> for Lifo {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> Self {
        items.into_iter().fold(Self::default(), |sequence, item| sequence.push(item))
    }
}

impl PartialEq for Lifo {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.fingerprint() == other.fingerprint()
    }
}

impl Eq for Lifo {}

impl Hash for Lifo {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.fingerprint().hash(state);
    }
}

impl fmt::Debug for Lifo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bracketed(f, self.items.iter().map(|(item, _)| item))
    }
}
