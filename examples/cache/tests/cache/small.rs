//! A small cache with races to switch on.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cache::Op;
use confute_test::prelude::Name;

/// A race of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Race {
    /// `get_or_put` looks for the key and sets it under two locks.
    TwoWinners,
    /// `add` reads the value and writes the sum under two locks.
    LostAddition,
    /// The entry that was read last is kept aside, and a write drops it before it writes: a read in between keeps the old one.
    StaleEntry,
}

#[derive(Default)]
pub(crate) struct Small {
    race: Option<Race>,
    values: Mutex<HashMap<Name, i64>>,
    /// The entry that was read last.
    latest: Mutex<Option<(Name, Option<i64>)>>,
}

/// Lets other threads run where a correct cache would still hold its lock: on a busy machine threads seldom meet otherwise.
fn gap() {
    std::thread::yield_now();
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Small {
    pub(crate) fn new(race: Option<Race>) -> Self {
        Self { race, ..Self::default() }
    }

    fn get(&self, key: &Name) -> Option<i64> {
        if self.race != Some(Race::StaleEntry) {
            return lock(&self.values).get(key).copied();
        }
        if let Some((latest, value)) = &*lock(&self.latest)
            && latest == key
        {
            return *value;
        }
        let value = lock(&self.values).get(key).copied();
        gap();
        *lock(&self.latest) = Some((key.clone(), value));
        value
    }

    /// Changes a value. Returns the old one and the new one.
    fn change(&self, key: &Name, change: impl Fn(Option<i64>) -> Option<i64>) -> (Option<i64>, Option<i64>) {
        if self.race == Some(Race::StaleEntry) {
            *lock(&self.latest) = None;
            gap();
        }
        let mut values = lock(&self.values);
        let old = values.get(key).copied();
        let new = change(old);
        match new {
            Some(new) => values.insert(key.clone(), new),
            None => values.remove(key),
        };
        (old, new)
    }

    pub(crate) fn call(&self, op: &Op) -> Op {
        Op::from(match op {
            Op::Get(key) => self.get(key),
            Op::Put(key, value) => self.change(key, |_| Some(*value)).0,
            Op::GetOrPut(key, value) if self.race == Some(Race::TwoWinners) => {
                let found = lock(&self.values).get(key).copied();
                gap();
                found.or_else(|| self.change(key, |_| Some(*value)).1)
            }
            Op::GetOrPut(key, value) => self.change(key, |old| old.or(Some(*value))).1,
            Op::Add(key, more) if self.race == Some(Race::LostAddition) => {
                let old = lock(&self.values).get(key).copied().unwrap_or(0);
                gap();
                self.change(key, |_| Some(old + more)).1
            }
            Op::Add(key, more) => self.change(key, |old| Some(old.unwrap_or(0) + more)).1,
            Op::Remove(key) => self.change(key, |_| None).0,
            other => return other.clone(),
        })
    }
}
