//! Tells a server that was restarted from one that only closed many connections at once.
//!
//! A canary is something that is written before the cases and never changed. If it is still there as it was, the server has
//! forgotten nothing, however many connections ended: a refutation stands. That holds for a server that was restarted and
//! keeps its data too. If it is gone, or has changed, the server forgets what it was told, and what it is accused of may
//! follow from that. Only [protocols](crate::Setup::plant) that can write something have one.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use crate::erased::AnyProtocol;
use crate::limits::{Limits, Target};
use crate::net::Net;
use crate::talk::Caller;

/// How often to look for it: a server that has just ended many connections may take a moment to take another one.
const LOOKS: u32 = 3;
/// How long to wait between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// What was written.
pub(crate) struct Canary {
    /// What it is called.
    name: String,
    /// How it looked at first.
    seen: String,
}

impl Net {
    /// Writes a canary below this name, unless there is one, or there can be none.
    pub(crate) fn plant(&mut self, protocol: &dyn AnyProtocol, target: Target, limits: &Limits, name: &str) {
        if self.canary.is_some() {
            return;
        }
        let name = format!("{name}-{:08x}", RandomState::new().hash_one(name) as u32);
        let caller = Caller::new(target, limits).named(name.clone());
        if !protocol.plant(&caller) {
            self.canary = Some(None);
            return;
        }
        let look = || protocol.canary(&caller).ok().flatten();
        // One that looks different each time tells nothing; the next case tries again.
        let seen = look().filter(|seen| look().as_ref() == Some(seen));
        self.canary = seen.map(|seen| Some(Canary { name, seen }));
    }

    /// Whether there is a canary, and it is as it was. If it is not, the next case gets a new one.
    pub(crate) fn has_canary(&mut self, protocol: &dyn AnyProtocol, target: Target, limits: &Limits) -> bool {
        let Some(Some(canary)) = &self.canary else { return false };
        let caller = Caller::new(target, limits).named(canary.name.clone());
        let mut changed = false;
        for look in 0..LOOKS {
            if look > 0 {
                std::thread::sleep(PAUSE);
            }
            match protocol.canary(&caller) {
                // Nobody else could know what it looks like.
                Ok(Some(seen)) if seen == canary.seen => return true,
                Ok(_) => changed = true,
                Err(_) => {}
            }
        }
        if changed {
            self.canary = None;
        }
        false
    }
}
