//! The enabled bugs, the schedule by which they strike, and two primitives they need: an interruptible sleep and a
//! place where two threads swap values.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::bug::Bug;

/// Duration of a race window, and maximum time that a response waits to be swapped with another.
pub(crate) const WINDOW: Duration = Duration::from_millis(3);

/// The bugs of one server.
#[derive(Debug)]
pub(crate) struct Switches {
    on: Vec<bool>,
    chances: Vec<AtomicU64>,
}

impl Switches {
    pub(crate) fn new(bugs: &[Bug]) -> Self {
        let mut on = vec![false; Bug::all().len()];
        for &bug in bugs {
            on[bug as usize] = true;
        }
        Self { on, chances: Bug::all().iter().map(|_| AtomicU64::new(0)).collect() }
    }

    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.on[bug as usize]
    }

    /// Returns `true` if the bug strikes at this opportunity. It strikes exactly once in every `one_in` consecutive
    /// opportunities, and not always at the same position.
    pub(crate) fn strikes(&self, bug: Bug, one_in: u64) -> bool {
        if !self.has(bug) {
            return false;
        }
        let chance = self.chances[bug as usize].fetch_add(1, Ordering::Relaxed);
        chance % one_in == mix(chance / one_in) % one_in
    }

    /// Lets the bugs that rewrite heads strike at the head of a response, the bytes from this position on.
    pub(crate) fn rewrite(&self, out: &mut Vec<u8>, head_at: usize) {
        for bug in Bug::all() {
            let Some(rewrite) = bug.rewrite().filter(|_| self.strikes(*bug, REWRITTEN)) else { continue };
            if let Some(head) = std::str::from_utf8(&out[head_at..]).ok().map(rewrite) {
                out.truncate(head_at);
                out.extend_from_slice(head.as_bytes());
            }
        }
    }
}

/// Number of responses of which a bug that rewrites heads spoils one.
const REWRITTEN: u64 = 6;

/// Maps a count to a pseudorandom number, one to one.
pub(crate) fn mix(count: u64) -> u64 {
    let mut z = count.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Signal to all threads of a server that it stops.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    pub(crate) fn now(&self) {
        *self.stopped.lock().expect("nobody panics while holding it") = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_now(&self) -> bool {
        *self.stopped.lock().expect("nobody panics while holding it")
    }

    /// Sleeps for `time`, or less if the server stops.
    pub(crate) fn pause(&self, time: Duration) {
        let stopped = self.stopped.lock().expect("nobody panics while holding it");
        drop(self.changed.wait_timeout_while(stopped, time, |stopped| !*stopped));
    }
}

/// Meeting point where two threads that arrive at about the same time swap values.
#[derive(Debug)]
pub(crate) struct SwapPoint<T> {
    table: Mutex<Table<T>>,
    changed: Condvar,
}

#[derive(Debug)]
enum Table<T> {
    Empty,
    /// The first thread has offered this value and waits.
    Offered(T),
    /// The second thread has taken the offer and left this value.
    Left(T),
}

impl<T> Default for SwapPoint<T> {
    fn default() -> Self {
        Self { table: Mutex::new(Table::Empty), changed: Condvar::new() }
    }
}

impl<T> SwapPoint<T> {
    /// Returns the other thread's value, or `mine` if no thread with a suitable value arrives.
    pub(crate) fn meet(&self, mine: T, suits: impl Fn(&T) -> bool) -> T {
        let mut table = self.table.lock().expect("nobody panics while holding it");
        match std::mem::replace(&mut *table, Table::Empty) {
            Table::Offered(theirs) if !suits(&theirs) => {
                *table = Table::Offered(theirs);
                mine
            }
            Table::Offered(theirs) => {
                *table = Table::Left(mine);
                self.changed.notify_all();
                theirs
            }
            Table::Left(theirs) => {
                *table = Table::Left(theirs);
                mine
            }
            Table::Empty => {
                *table = Table::Offered(mine);
                let (mut table, _) = self
                    .changed
                    .wait_timeout_while(table, WINDOW, |table| matches!(table, Table::Offered(_)))
                    .expect("nobody panics while holding it");
                match std::mem::replace(&mut *table, Table::Empty) {
                    Table::Offered(thing) | Table::Left(thing) => thing,
                    Table::Empty => unreachable!("whoever offers is the one to clear the table"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_strikes_once_in_so_many_chances() {
        let (on, off) = (Switches::new(&[Bug::LostPut]), Switches::new(&[]));
        for _ in 0..100 {
            assert_eq!((0..7).filter(|_| on.strikes(Bug::LostPut, 7)).count(), 1);
            assert!(!off.strikes(Bug::LostPut, 7));
        }
    }

    #[test]
    fn two_exchange_what_they_bring_and_one_alone_keeps_it() {
        let exchange = SwapPoint::default();
        let any = |_: &i32| true;
        assert_eq!(exchange.meet(1, any), 1);
        let mixed = (0..100).filter(|_| {
            std::thread::scope(|scope| {
                let other = scope.spawn(|| exchange.meet(2, any));
                let pair = (exchange.meet(1, any), other.join().unwrap());
                assert!(pair == (1, 2) || pair == (2, 1));
                pair == (2, 1)
            })
        });
        assert_ne!(mixed.count(), 0);
    }
}
