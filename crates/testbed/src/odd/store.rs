//! The store: all resources, under one lock.
//!
//! A version is immutable; a write swaps it for another. The number of the previous version is kept only for twins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use crate::embedded::date;

/// The content of a resource between two writes.
#[derive(Debug)]
pub(super) struct Version {
    pub(super) content: Arc<[u8]>,
    /// Unique number of the version, higher than that of all versions before.
    pub(super) number: u64,
    /// Number of the first version since the resource was created.
    pub(super) first: u64,
    /// Number of the version that this one replaced, if it replaced one.
    pub(super) before: Option<u64>,
    /// Time of the write, in seconds since 1970.
    pub(super) modified: u64,
    /// `true` if no earlier version of the resource was written or deleted in the same second.
    pub(super) alone: bool,
    pub(super) written: Instant,
}

/// The state that the lock protects.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) versions: BTreeMap<String, Arc<Version>>,
    /// Paths of deleted resources, with the time of the deletion.
    pub(super) removed: BTreeMap<String, u64>,
    /// Paths of resources that were put again after they had been deleted.
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
    /// Stores content at a path, whatever is there.
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

    /// Removes the resource.
    pub(super) fn delete(&mut self, path: &str) {
        self.versions.remove(path);
        self.removed.insert(path.to_owned(), date::now());
    }

    /// Sets the resource to this version, or removes it.
    pub(super) fn restore(&mut self, path: &str, version: Option<Arc<Version>>) {
        match version {
            Some(version) => self.versions.insert(path.to_owned(), version),
            None => self.versions.remove(path),
        };
    }
}
