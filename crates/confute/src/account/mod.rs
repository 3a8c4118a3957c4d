//! A log of a search, for people: what was tried, what each reduction left out, and where the work went.
//!
//! The search sends [`Note`]s to a [`SearchLog`] ([`Options::log`](crate::Options::log)); without one it does nothing
//! of the kind. [`SearchAccount`] is a log that keeps an account of bounded size and prints it. The core has no clock:
//! whoever has one may give it to the account.
//!
//! ```
//! use confute::network::Tcp;
//! use confute::trace::{Event, WireConn};
//! use confute::{Options, SearchAccount, judge};
//! # use confute::lang::{Io, Register, ServerModel, Turn};
//! # struct Swap;
//! # const LAST: Register<String> = Register::new("last");
//! # impl ServerModel for Swap {
//! #     type Msg = String;
//! #     type Out = String;
//! #     fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
//! #         let (conn, message) = io.recv()?;
//! #         let cell = LAST.edit(io)?;
//! #         let before = cell.get(io)?.unwrap_or_default();
//! #         cell.set(io, message.to_string())?;
//! #         io.send(conn, before)
//! #     }
//! # }
//! let [one, two] = [WireConn(1), WireConn(2)];
//! let events = [
//!     Event::Sent(one, "a".to_owned()),
//!     Event::Sent(two, "b".to_owned()),
//!     Event::Received(one, "b".to_owned()),
//! ];
//! let account = SearchAccount::new(100, None);
//! let options = Options { log: Some(&account), ..Options::default() };
//! assert!(judge(&Swap, &Tcp::default(), &events, &options).is_unrefuted());
//! assert!(account.to_string().contains("deliver b"));
//! ```

mod ledger;
mod steps;

use std::cell::RefCell;
use std::fmt::{self, Display};
use std::time::Duration;

use crate::Reduction;
use ledger::Ledger;
use steps::Steps;

/// One thing that a search did.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Note<'a> {
    /// The search of a part begins or goes on.
    Part {
        /// Number of the part. The number of one that was merged into another may be used again.
        number: usize,
        /// Cells of the part.
        cells: &'a dyn Display,
        /// Number of log entries that are to be explained.
        entries: usize,
    },
    /// An alternative is taken up.
    Taken {
        /// Position in the trace of the event to explain.
        event: u64,
        /// The move that is tried.
        action: &'a dyn Display,
        /// Number of deliveries that were conjectured before the event's own one.
        depth: usize,
        /// Number of alternatives left.
        open: usize,
    },
    /// A reduction left something out.
    LeftOut(Reduction),
    /// The work of a reduction begins; it may begin within that of another.
    Enter(Reduction),
    /// The work of the reduction that began last ends.
    Leave,
    /// The search of the part ends for now.
    Outcome {
        /// Furthest event that was reached, counted from 1.
        event: u64,
        /// The outcome, in a few words.
        outcome: &'static str,
    },
}

/// Receiver of notes about a search.
pub trait SearchLog {
    /// Called with each note, and with the number of turns of the model that were run before. The search waits for
    /// it, and goes on the same way whatever it does.
    fn note(&self, turns: u64, note: Note<'_>);
}

/// Clock of an account: the time since any moment.
pub type Clock<'a> = &'a dyn Fn() -> Duration;

/// An account of a search, of bounded size.
///
/// It prints two tables, by reduction and by part, and the steps of the search: the first half and the last half of
/// as many lines as it may keep, with the number of those left out between them.
pub struct SearchAccount<'a> {
    clock: Option<Clock<'a>>,
    state: RefCell<State>,
}

struct State {
    ledger: Ledger,
    steps: Steps,
}

impl<'a> SearchAccount<'a> {
    /// Returns an account that keeps at most `lines` lines of steps. With a clock it also says how long the work took;
    /// the account itself takes time, too, so the shares say more than the sum.
    pub fn new(lines: usize, clock: Option<Clock<'a>>) -> Self {
        Self { clock, state: RefCell::new(State { ledger: Ledger::default(), steps: Steps::new(lines) }) }
    }
}

impl SearchLog for SearchAccount<'_> {
    fn note(&self, turns: u64, note: Note<'_>) {
        let time = self.clock.map_or(Duration::ZERO, |clock| clock());
        let State { ledger, steps } = &mut *self.state.borrow_mut();
        ledger.charge(turns, time);
        ledger.note(&note);
        steps.note(turns, &note);
    }
}

impl Display for SearchAccount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let State { ledger, steps } = &*self.state.borrow();
        ledger.write(f, self.clock.is_some())?;
        writeln!(f)?;
        steps.write(f)
    }
}

#[cfg(test)]
mod tests;
