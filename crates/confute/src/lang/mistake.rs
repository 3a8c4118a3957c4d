//! Mistakes of model authors, each with a remedy.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Turn;

/// Maximum number of characters of a message that are printed.
const SHOWN: usize = 200;

/// Runs a turn. If it panics, the panic message is the error, and the caller discards everything the turn
/// changed.
pub(crate) fn guarded(model: &'static str, turn: impl FnOnce() -> Turn) -> Result<Turn, String> {
    let message = |panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        text.or_else(|| panic.downcast_ref::<String>().cloned())
    };
    let before = RUNNING.replace(Some(Running { model, function: "a turn" }));
    let ended = catch_unwind(AssertUnwindSafe(turn));
    RUNNING.set(before);
    ended.map_err(|panic| message(panic).unwrap_or_else(|| "no message".to_owned()))
}

/// A function of a model, for the attribution of a panic.
#[derive(Clone, Copy)]
struct Running {
    /// Name of the model or of the type of its messages.
    model: &'static str,
    function: &'static str,
}

thread_local! {
    /// The function of a model that this thread runs, or that has panicked.
    static RUNNING: Cell<Option<Running>> = const { Cell::new(None) };
}

/// Runs a function of a model, so that [`panicked_model`] names the model if it panics.
pub(crate) fn attributed<T>(model: &'static str, function: &'static str, work: impl FnOnce() -> T) -> T {
    let before = RUNNING.replace(Some(Running { model, function }));
    let result = work();
    RUNNING.set(before);
    result
}

/// Returns `true` if this thread runs a function of a model. A panic hook that asks for it can tell a panic of a model from
/// one of the program.
pub fn runs_model() -> bool {
    RUNNING.get().is_some()
}

/// Attributes a panic that was just caught on this thread: a panic in a function of a model is a mistake of its author, any other one
/// is a defect of the program, and its message is returned as it is.
pub fn panicked_model(why: String) -> Result<Mistake, String> {
    match RUNNING.take() {
        Some(Running { model, function }) => Ok(Mistake::PanickedOutside { model, function, why }),
        None => Err(why),
    }
}

/// Returns a name for the turn that handles this message; `None` is an internal turn.
pub(crate) fn turn_of(message: Option<String>) -> String {
    let Some(message) = message else { return "an internal turn".to_owned() };
    let shown: String = message.chars().take(SHOWN).collect();
    let more = if shown.len() < message.len() { "…" } else { "" };
    format!("the turn of `{shown}{more}`")
}

/// A mistake in a model. It makes the judgement inconclusive: no verdict of such a model can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    /// The turn did something different when it was run again over the same answers.
    #[error(
        "the turn is not deterministic: run twice over the same answers it did `{first}`, then `{second}`. A turn may depend only on values from `io`: no clock, no random numbers, no state outside tables (choices: `io.choose`, secrets: `io.fresh`)"
    )]
    NotDeterministic {
        /// Effect of the first run.
        first: String,
        /// Effect of the second run.
        second: String,
    },
    /// The turn panicked.
    #[error(
        "`{model}` panicked in {turn}: {why}. A turn must handle every message in every state; the location of the panic is on standard error"
    )]
    Panicked {
        /// The [name](super::ServerModel::name) of the model.
        model: &'static str,
        /// Name of the turn.
        turn: String,
        /// Message of the panic.
        why: String,
    },
    /// A function of the model other than a turn panicked.
    #[error(
        "`{model}` panicked in {function}: {why}. This function must handle every message; the location of the panic is on standard error"
    )]
    PanickedOutside {
        /// The [name](super::ServerModel::name) of the model, or the type of the messages that it sends.
        model: &'static str,
        /// The function.
        function: &'static str,
        /// Message of the panic.
        why: String,
    },
    /// The turn has far too many effects.
    #[error(
        "the turn does not end: it made {effects} calls to `io`. A turn handles one message and returns; do not loop over `io.recv` inside a turn"
    )]
    Endless {
        /// Number of calls to `io`.
        effects: usize,
    },
    /// The turn sends on a connection that the model closed.
    #[error(
        "the turn sends on {conn}, which the model itself closed before. Keep open connections in the state, or send before `io.close`"
    )]
    SendOnClosed {
        /// The connection.
        conn: String,
    },
    /// The turn opens a cell too late.
    #[error(
        "the turn opens `{cell}` ({access}) after it has read a cell or made a choice. Open every cell before the first look (`TABLE.edit` to write, `TABLE.view` to read), or begin the turn with `io.whole()?`"
    )]
    OpenedLate {
        /// The cell.
        cell: String,
        /// Access to the cell: reading or writing.
        access: &'static str,
    },
    /// The turn writes a cell that it opened for reading.
    #[error(
        "the turn writes `{cell}`, which it opened only to read. Open it with `TABLE.edit` before the first look"
    )]
    WriteToView {
        /// The cell.
        cell: String,
    },
    /// The turn replaces a text that it opened only to append to.
    #[error(
        "the turn replaces `{cell}`, which it opened with `TABLE.grow`, by a text that does not begin with the old one. Open it with `TABLE.edit`"
    )]
    NotGrown {
        /// The cell.
        cell: String,
    },
    /// The turn does too late what only a whole turn may do.
    #[error(
        "the turn calls `io.{what}` after it has read a cell or made a choice. Begin the turn with `io.whole()?`"
    )]
    WidenedLate {
        /// Name of the operation.
        what: &'static str,
    },
    /// The turn did not send the announced number of messages.
    #[error(
        "the turn sent {sent} message(s) to the connection it received from, but announced {announced}. Call `io.replies({sent})?` before the first look, or begin the turn with `io.whole()?`"
    )]
    Replies {
        /// Number of messages sent.
        sent: u32,
        /// Number of messages announced.
        announced: u32,
    },
    /// The turn sends to a connection other than the one it received from.
    #[error(
        "the turn sends to {conn}, which is not the connection it received from. Begin the turn with `io.whole()?`"
    )]
    ForeignSend {
        /// The connection.
        conn: String,
    },
    /// A table contains values of different types.
    #[error("table `{table}` holds values of another type than requested. Give every table its own name")]
    WrongType {
        /// The table.
        table: &'static str,
    },
    /// A choice has no options.
    #[error("`io.choose(0)`: there is nothing to choose from")]
    EmptyChoice,
    /// The turn creates an object, and its response does not tell the id.
    #[error(
        "the turn creates an object in `{table}`, but its response does not tell the id. Send the id in the response, and visit it in `ServerModel::told`"
    )]
    Untold {
        /// The table of objects.
        table: &'static str,
    },
    /// The turn looks for an object whose id is a secret.
    #[error(
        "the turn looks for an object of `{table}` by an id that no message of this turn contains. Begin the turn with `io.whole()?`"
    )]
    FoundBySecret {
        /// The table of objects.
        table: &'static str,
    },
    /// The turn does not begin with a receive.
    #[error(
        "the turn {what} before it has received a message. Begin the turn with `io.recv()?`; what happens without a message is a turn of `ServerModel::internal`"
    )]
    NotReceived {
        /// Description of the effect before the first receive.
        what: String,
    },
    /// The turn sends something, and then lets its request wait.
    #[error(
        "the turn acts and then calls `io.wait`, which says that nothing has happened. Wait before the first `io.send`; a first response, and a second one later, are two turns"
    )]
    ActsAndWaits,
    /// A turn that is not whole receives a second message.
    #[error("the turn receives a second message. Begin the turn with `io.whole()?`")]
    SecondReceive,
}
