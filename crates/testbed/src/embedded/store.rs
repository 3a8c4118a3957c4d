//! The store: all resources, under one lock.
//!
//! A condition is checked and its method performed while the lock is held, so that requests take effect one after the
//! other whatever their connections do. Replacing is atomic: content is immutable and only swapped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::bug::Bug;
use super::condition::Validators;
use super::date;
use super::switches::{Stop, Switches, WINDOW, mix};
use super::tag::Tag;

/// Style of entity tags. In every style the opaque part is new at every write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TagStyle {
    /// Always strong.
    #[default]
    Strong,
    /// Weak for this long after a write, then strong; Apache does it with one second.
    WeakAtFirst(Duration),
    /// Always weak.
    Weak,
}

impl TagStyle {
    fn weak(self, age: Duration) -> bool {
        match self {
            Self::Strong => false,
            Self::WeakAtFirst(time) => age < time,
            Self::Weak => true,
        }
    }
}

/// An immutable representation.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) content: Arc<[u8]>,
    pub(crate) media_type: Option<String>,
    opaque: Vec<u8>,
    modified: u64,
    alone: bool,
    written: Instant,
}

/// All resources.
#[derive(Debug)]
pub(crate) struct Store {
    style: TagStyle,
    shelves: Mutex<Shelves>,
    /// Held by a writer during the window in which, with [`Bug::TornRead`], only readers may interleave.
    writing: Mutex<()>,
}

/// The state that the lock protects.
#[derive(Debug, Default)]
pub(crate) struct Shelves {
    entries: HashMap<String, Arc<Entry>>,
    /// Former representations, kept for the bugs that serve them.
    past: HashMap<String, Arc<Entry>>,
    writes: u64,
    last_removal: u64,
}

/// Result of a write.
pub(crate) struct Written {
    pub(crate) entry: Arc<Entry>,
    pub(crate) replaced: Option<Arc<Entry>>,
}

impl Store {
    pub(crate) fn new(style: TagStyle) -> Self {
        Self { style, shelves: Mutex::default(), writing: Mutex::default() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().expect("nobody panics while holding it")
    }

    /// Locks the store for a write. With [`Bug::TornRead`], reads see half of a write, but writes still happen one by
    /// one: torn reads are the only bug.
    pub(crate) fn lock_to_write(
        &self,
        bugs: &Switches,
    ) -> (Option<MutexGuard<'_, ()>>, MutexGuard<'_, Shelves>) {
        let alone = bugs.has(Bug::TornRead);
        (alone.then(|| self.writing.lock().expect("nobody panics while holding it")), self.lock())
    }

    /// Releases the lock for the duration of a race window, then takes it again.
    pub(crate) fn window<'a>(
        &'a self,
        shelves: MutexGuard<'a, Shelves>,
        stop: &Stop,
    ) -> MutexGuard<'a, Shelves> {
        drop(shelves);
        stop.pause(WINDOW);
        self.lock()
    }

    pub(crate) fn validators(&self, entry: &Entry) -> Validators {
        let weak = self.style.weak(entry.written.elapsed());
        let tag = Tag { weak, opaque: entry.opaque.clone() };
        Validators { tag, modified: entry.modified, alone: entry.alone }
    }

    /// Stores content at a path, whatever is there.
    pub(crate) fn put<'a>(
        &'a self,
        mut shelves: MutexGuard<'a, Shelves>,
        path: &str,
        content: Vec<u8>,
        media_type: Option<String>,
        (bugs, stop): (&Switches, &Stop),
    ) -> Written {
        let replaced = shelves.entries.get(path).cloned();
        let mut content = content;
        if !content.is_empty() && bugs.strikes(Bug::PutLosesByte, 4) {
            content.pop();
        }
        if bugs.strikes(Bug::PutAddsByte, 4) {
            content.push(b'\n');
        }
        let mut entry = shelves.entry(content, media_type, replaced.as_deref(), bugs);
        if let Some(old) = &replaced {
            if bugs.strikes(Bug::LostPut, 4) {
                return Written { entry: Arc::new(entry), replaced };
            }
            if bugs.strikes(Bug::NewTagOldContent, 4) {
                entry.content = old.content.clone();
            }
            if bugs.has(Bug::TornRead) {
                let torn = Arc::new(Entry { content: torn(&old.content, &entry.content), ..copy(&entry) });
                shelves.entries.insert(path.to_owned(), torn);
                shelves = self.window(shelves, stop);
            }
        }
        let entry = Arc::new(entry);
        shelves.entries.insert(path.to_owned(), entry.clone());
        if let (Some(old), true) = (&replaced, bugs.has(Bug::StaleRead)) {
            shelves.past.insert(path.to_owned(), old.clone());
        }
        Written { entry, replaced }
    }
}

impl Shelves {
    /// Returns the current representation.
    pub(crate) fn get(&self, path: &str) -> Option<Arc<Entry>> {
        self.entries.get(path).cloned()
    }

    /// Returns the representation that a GET sees.
    pub(crate) fn read(&mut self, path: &str, bugs: &Switches) -> Option<Arc<Entry>> {
        let mut current = self.get(path);
        if let Some(old) = current.as_mut()
            && bugs.strikes(Bug::ContentChanges, 8)
        {
            let content = b"changed by itself".to_vec();
            *old = Arc::new(self.entry(content, old.media_type.clone(), Some(old), bugs));
            self.entries.insert(path.to_owned(), old.clone());
        }
        let past = || self.past.get(path).cloned();
        match current {
            Some(current) if bugs.strikes(Bug::StaleRead, 4) => past().or(Some(current)),
            None if bugs.strikes(Bug::DeletedComesBack, 3) => past(),
            current => current,
        }
    }

    /// Removes the representation.
    pub(crate) fn delete(&mut self, path: &str, bugs: &Switches) {
        if bugs.strikes(Bug::DeleteDoesNot, 3) {
            return;
        }
        self.last_removal = date::now();
        let removed = self.entries.remove(path);
        if let (Some(removed), true) = (removed, bugs.has(Bug::DeletedComesBack)) {
            self.past.insert(path.to_owned(), removed);
        }
        if bugs.has(Bug::DeleteTakesNeighbour) {
            // This imitates a hash collision, with the length of the path as its hash.
            let neighbour = self.entries.keys().filter(|it| it.len() == path.len()).min().cloned();
            neighbour.and_then(|it| self.entries.remove(&it));
        }
    }

    fn entry(
        &mut self,
        content: Vec<u8>,
        media_type: Option<String>,
        replaced: Option<&Entry>,
        bugs: &Switches,
    ) -> Entry {
        self.writes += 1;
        let modified = date::now() + if bugs.has(Bug::DateAhead) { 3600 } else { 0 };
        let number = if bugs.has(Bug::TagOfSecond) { modified } else { mix(self.writes) };
        Entry {
            content: Arc::from(content),
            media_type,
            opaque: format!("{number:x}").into_bytes(),
            modified,
            alone: replaced.map_or(self.last_removal, |it| it.modified) != modified,
            written: Instant::now(),
        }
    }
}

fn copy(entry: &Entry) -> Entry {
    Entry {
        content: entry.content.clone(),
        media_type: entry.media_type.clone(),
        opaque: entry.opaque.clone(),
        ..*entry
    }
}

/// Returns the first half of the new content followed by the second half of the old.
fn torn(old: &[u8], new: &[u8]) -> Arc<[u8]> {
    let half = new.len() / 2;
    Arc::from([&new[..half], &old[half.min(old.len())..]].concat())
}
