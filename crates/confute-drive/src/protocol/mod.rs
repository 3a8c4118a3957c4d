//! What a protocol says about itself: its model, its wire, and the roles it plays.
//!
//! A [`Protocol`] has types of its own; the driver works on an [`AnyProtocol`](crate::AnyProtocol), which hides them, so that a
//! program with many protocols holds one copy of the driver.

mod generate;
mod roles;

use std::fmt::Debug;

use confute::lang::ServerModel;
use confute::network::{Network, Tcp};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use generate::{Exchange, Generator, Past, View};
pub use roles::{Asks, Dialogue, Evidence, Exporting, Plain, Setup, Upstream};

/// The side of a connection: who opened it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The tester: it asks, the server answers.
    Opened,
    /// The server: it asks, the tester answers.
    Accepted,
}

/// The messages of a protocol's model.
pub type Msg<P> = <<P as Protocol>::Model as ServerModel>::Msg;

/// A kind of server: the model of a correct one, what can be asked of it, and how messages look on the wire.
///
/// The required methods are enough for a plain protocol of requests and answers. Whatever else there is to know belongs to a role,
/// each of which has defaults: see [`Dialogue`], [`Asks`], [`Upstream`], [`Evidence`], [`Setup`], [`Exporting`].
pub trait Protocol: Send + Sync + Sized + 'static {
    /// The model of a correct server.
    type Model: ServerModel<Msg: Clone + Debug + Serialize + DeserializeOwned + Send + Sync> + Send + Sync;
    /// A request that may refer to earlier answers ("the tag in the reply to step 3"). Scripts are made of these, so that they can be
    /// stored, run again and shrunk.
    type Ask: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// The reader of one connection.
    type Reader: Reader<Msg<Self>> + 'static;

    /// The model of a correct server.
    fn model(&self) -> &Self::Model;

    /// The message that an ask stands for, below the names that belong to this case. `None` if it refers to something that was never
    /// seen: then nothing is sent.
    fn resolve(&self, ask: &Self::Ask, case: &str, past: &Past<Self>) -> Option<Msg<Self>>;

    /// Appends the bytes of a message.
    fn encode(&self, message: &Msg<Self>, bytes: &mut Vec<u8>);

    /// A reader for a new connection.
    fn reader(&self, side: Side) -> Self::Reader;

    /// Overwrites what nobody is to read in reports, in the bytes of a message. The length stays.
    fn conceal(&self, bytes: &mut [u8]) {
        let _ = bytes;
    }

    /// The network between the tester and the server.
    fn network(&self) -> &dyn Network {
        &Tcp { breaks: false }
    }

    /// How a conversation goes.
    fn dialogue(&self) -> &dyn Dialogue<Self> {
        &Plain
    }

    /// How asks are renumbered and made simpler.
    fn asks(&self) -> &dyn Asks<Self> {
        &Plain
    }

    /// Connections that the server opens.
    fn upstream(&self) -> &dyn Upstream<Self> {
        &Plain
    }

    /// What blame and coverage need.
    fn evidence(&self) -> &dyn Evidence<Self> {
        &Plain
    }

    /// What happens around cases.
    fn setup(&self) -> &dyn Setup<Self> {
        &Plain
    }

    /// Counterexamples for people without Confute.
    fn exporting(&self) -> &dyn Exporting<Self> {
        &Plain
    }
}

/// Makes messages of the bytes of one connection. Whatever comes, it yields messages and never fails: bytes that cannot be read are a
/// message too, one that says so.
pub trait Reader<M> {
    /// The tester is about to send this on the connection.
    fn sent(&mut self, message: &M) {
        let _ = message;
    }

    /// Takes bytes that came. Messages that are complete now are appended.
    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<M>);

    /// Takes the end of the connection, orderly or broken off: nothing more will come.
    fn end(&mut self, orderly: bool, messages: &mut Vec<M>);

    /// Appends the message that was begun, if there is one: the connection is open, but nothing has come for so long that nothing will.
    fn stalled(&mut self, messages: &mut Vec<M>) {
        let _ = messages;
    }

    /// The bytes that the tester sends at once to a server that waits for them in the middle of a request (HTTP's 100). They are sent
    /// once for each request, when everything before is answered.
    fn prompt(&self) -> Option<&'static [u8]> {
        None
    }

    /// `true` if the server has asked for what the tester holds back: then it need not wait any longer.
    fn goes_on(&self) -> bool {
        false
    }

    /// The number of bytes of an unfinished message that it holds: a flood is noticed by it.
    fn held(&self) -> usize;

    /// `true` if a message was too long to be read, so that nothing more can be read on this connection. Long messages are legal: the
    /// tester hangs up, and nothing is known of what was outstanding.
    fn is_lost(&self) -> bool {
        false
    }
}
