//! Mistakes of model authors, each with what to do about it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Turn;

/// The most characters of a message that are shown.
const SHOWN: usize = 200;

/// Runs a turn. If it panics, the message of the panic is the error. Whoever runs it drops what the turn changed.
pub(crate) fn guarded(turn: impl FnOnce() -> Turn) -> Result<Turn, String> {
    let message = |panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        text.or_else(|| panic.downcast_ref::<String>().cloned())
    };
    catch_unwind(AssertUnwindSafe(turn))
        .map_err(|panic| message(panic).unwrap_or_else(|| "no message".to_owned()))
}

/// A name for the turn that handles this message, or that has none.
pub(crate) fn turn_of(message: Option<String>) -> String {
    let Some(message) = message else { return "an internal turn".to_owned() };
    let shown: String = message.chars().take(SHOWN).collect();
    let more = if shown.len() < message.len() { "…" } else { "" };
    format!("the turn of `{shown}{more}`")
}

/// A mistake in a model. It ends a judgement as inconclusive: nothing that such a model says can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    /// Asked the same, the turn did something else.
    #[error(
        "the turn is not deterministic: run twice over the same answers it did `{first}`, then `{second}`. A turn may depend only on what `io` tells it: no clock, no random numbers, no state outside tables (choices: `io.choose`, secrets: `io.fresh`)"
    )]
    NotDeterministic {
        /// What it did first.
        first: String,
        /// What it did the second time.
        second: String,
    },
    /// A panic.
    #[error(
        "`{model}` panicked in {turn}: {why}. A turn has to cope with every message, in every state that its tables can be in; where it panicked is on standard error"
    )]
    Panicked {
        /// The [name](super::ServerModel::name) of the model.
        model: &'static str,
        /// Which turn it was.
        turn: String,
        /// The message of the panic.
        why: String,
    },
    /// Far too many effects in one turn.
    #[error(
        "the turn does not end: it made {effects} calls to `io`. One turn of the loop handles one message and returns; do not loop over `io.recv` inside a turn"
    )]
    Endless {
        /// How many calls were made.
        effects: usize,
    },
    /// A send after a close.
    #[error(
        "the turn sends on {conn}, which the model itself closed before. Keep open connections in the state, or send before `io.close`"
    )]
    SendOnClosed {
        /// The connection.
        conn: String,
    },
    /// A cell opened too late.
    #[error(
        "the turn opens `{cell}` ({access}) after it has read a cell or made a choice. Open every cell before the first look (`TABLE.edit` to write, `TABLE.view` to read), or begin the turn with `io.whole()?`"
    )]
    OpenedLate {
        /// Which cell.
        cell: String,
        /// For reading or writing.
        access: &'static str,
    },
    /// A write to a cell opened for reading.
    #[error(
        "the turn writes `{cell}`, which it opened only to read. Open it with `TABLE.edit` before the first look"
    )]
    WriteToView {
        /// Which cell.
        cell: String,
    },
    /// A text was replaced instead of added to.
    #[error(
        "the turn replaces `{cell}`, which it opened with `TABLE.grow`, by something that does not begin with what was there. Open it with `TABLE.edit`"
    )]
    NotGrown {
        /// Which cell.
        cell: String,
    },
    /// Beyond one's own connection, too late.
    #[error(
        "the turn calls `io.{what}` after it has read a cell or made a choice. Begin the turn with `io.whole()?`"
    )]
    WidenedLate {
        /// The operation.
        what: &'static str,
    },
    /// Not the announced number of answers.
    #[error(
        "the turn sent {sent} message(s) to the connection it received from, but announced {announced}. Call `io.replies({sent})?` before the first look, or begin the turn with `io.whole()?`"
    )]
    Replies {
        /// What it sent.
        sent: u32,
        /// What it had announced.
        announced: u32,
    },
    /// An answer to somebody else.
    #[error(
        "the turn sends to {conn}, which is not the connection it received from. Begin the turn with `io.whole()?`"
    )]
    ForeignSend {
        /// The connection.
        conn: String,
    },
    /// Two types in one cell.
    #[error(
        "table `{table}` holds values of another type than the one asked for. Give every table a name of its own"
    )]
    WrongType {
        /// The table.
        table: &'static str,
    },
    /// A choice without options.
    #[error("`io.choose(0)`: there is nothing to choose from")]
    EmptyChoice,
    /// Something else than a receive at the beginning of a turn.
    #[error(
        "the turn {what} before it has received a message. Begin the turn with `io.recv()?`; what happens without a message is a turn of `ServerModel::internal`"
    )]
    NotReceived {
        /// What it does instead.
        what: String,
    },
    /// A second receive in a turn that is not whole.
    #[error("the turn receives a second message. Begin the turn with `io.whole()?`")]
    SecondReceive,
}
