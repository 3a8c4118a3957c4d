//! The resources: what is where, under one lock.
//!
//! A version never changes; a write exchanges it for another. The previous tag is kept only for twins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use crate::embedded::date;

/// The content of a resource between two writes.
#[derive(Debug)]
pub(super) struct Version {
    pub(super) content: Arc<[u8]>,
    /// Unlike that of any other version, and higher than that of all versions before.
    pub(super) number: u64,
    /// The number of the first version since the resource was created.
    pub(super) first: u64,
    /// The number of the version that this one replaced, if it replaced one.
    pub(super) before: Option<u64>,
    /// The second of the write.
    pub(super) modified: u64,
    /// No other version of the resource has this second.
    pub(super) alone: bool,
    pub(super) written: Instant,
}

/// What the lock protects.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) versions: BTreeMap<String, Arc<Version>>,
    /// What was deleted, and when.
    pub(super) removed: BTreeMap<String, u64>,
    /// Resources that were there before and are put again.
    pub(super) revived: BTreeSet<String>,
    writes: u64,
}

/// All resources.
#[derive(Debug, Default)]
pub(super) struct Store(Mutex<Shelf>);

impl Store {
    pub(super) fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

impl Shelf {
    /// Puts content where the path says, whatever is there.
    pub(super) fn put(&mut self, path: &str, content: Arc<[u8]>) -> Arc<Version> {
        self.writes += 1;
        let modified = date::now();
        let old = self.versions.get(path);
        let last = old.map(|old| old.modified).into_iter().chain(self.removed.get(path).copied()).max();
        let version = Arc::new(Version {
            content,
            number: self.writes,
            first: old.map_or(self.writes, |old| old.first),
            before: old.map(|old| old.number),
            modified,
            alone: last != Some(modified),
            written: Instant::now(),
        });
        if self.removed.remove(path).is_some() {
            self.revived.insert(path.to_owned());
        }
        self.versions.insert(path.to_owned(), version.clone());
        version
    }

    /// Takes away what is there.
    pub(super) fn delete(&mut self, path: &str) {
        self.versions.remove(path);
        self.removed.insert(path.to_owned(), date::now());
    }

    /// Puts a version back as it was.
    pub(super) fn restore(&mut self, path: &str, version: Option<Arc<Version>>) {
        match version {
            Some(version) => self.versions.insert(path.to_owned(), version),
            None => self.versions.remove(path),
        };
    }
}
