//! Canaries: they distinguish a server that was restarted from one that only closed many connections at once.
//!
//! A canary is an item that is written before the cases and never changed. If it is unchanged, the server has
//! lost nothing, however many connections ended, and a refutation stands. This holds for a server that was
//! restarted and keeps its data too. If the canary is gone or changed, the server loses its data, and the
//! violation may follow from that. Only [protocols](crate::Setup::plant) that can write have a canary.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use crate::erased::AnyProtocol;
use crate::limits::{Limits, Target};
use crate::net::Net;
use crate::talk::Caller;
use crate::trouble::Trouble;

/// Number of attempts to read the canary: a server that has just ended many connections may need a moment
/// before it accepts another one.
const LOOKS: u32 = 3;
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// A canary that was written.
pub(crate) struct Canary {
    /// Name of the canary on the server.
    name: String,
    /// Content of the canary when it was first read.
    seen: String,
}

/// Result of a look for the canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// It is unchanged.
    Kept,
    /// It is changed or gone.
    Lost,
    /// There is none, or it could not be read.
    None,
}

impl Net {
    /// Writes a canary below this name, unless there is one already or the protocol cannot write one.
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
        // A canary that reads differently each time proves nothing; the next case tries again.
        let look = || protocol.canary(&caller);
        let seen = look().map(|first| first.filter(|seen| look().is_ok_and(|it| it.as_ref() == Some(seen))));
        self.canary = match seen {
            Ok(seen) => seen.map(|seen| Some(Canary { name, seen })),
            // Every attempt would take as long.
            Err(Trouble::Silent { .. }) => Some(None),
            Err(_) => None,
        };
    }

    /// Looks for the canary. If it is changed or gone, the next case writes a new one.
    pub(crate) fn look_for_canary(
        &mut self,
        protocol: &dyn AnyProtocol,
        target: Target,
        limits: &Limits,
    ) -> Sight {
        let Some(Some(canary)) = &self.canary else { return Sight::None };
        let caller = Caller::new(target, limits).named(canary.name.clone());
        let mut changed = false;
        for look in 0..LOOKS {
            if look > 0 {
                std::thread::sleep(PAUSE);
            }
            match protocol.canary(&caller) {
                // A server that has lost the canary cannot know its content.
                Ok(Some(seen)) if seen == canary.seen => return Sight::Kept,
                Ok(_) => changed = true,
                Err(_) => {}
            }
        }
        if changed {
            self.canary = None;
            return Sight::Lost;
        }
        Sight::None
    }
}
