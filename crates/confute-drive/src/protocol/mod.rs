//! The interface of a protocol: its model, its encoding, and its roles.
//!
//! A [`Protocol`] has types of its own; the driver works on an [`AnyProtocol`](crate::AnyProtocol), which hides them, so that a
//! program with many protocols holds one copy of the driver.

mod generate;
mod roles;

use std::fmt::Debug;
use std::time::Duration;

use confute::lang::ServerModel;
use confute::network::{Network, Tcp};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use generate::{Exchange, Generator, Past, View};
pub use roles::{Asks, Dialogue, Evidence, Exporting, Plain, Setup, Upstream};

/// The side that opened a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The tester: it sends requests, the server responds.
    Opened,
    /// The server: it sends requests, the tester responds.
    Accepted,
}

/// The messages of a protocol's model.
pub type Msg<P> = <<P as Protocol>::Model as ServerModel>::Msg;

/// A kind of server: the model of a correct one, the requests that it takes, and the encoding of its
/// messages.
///
/// The required methods are enough for a plain protocol of requests and responses. Everything else belongs to
/// a role, each of which has defaults: see [`Dialogue`], [`Asks`], [`Upstream`], [`Evidence`], [`Setup`],
/// [`Exporting`].
pub trait Protocol: Send + Sync + Sized + 'static {
    /// The model of a correct server.
    type Model: ServerModel<Msg: Clone + Debug + Serialize + DeserializeOwned + Send + Sync> + Send + Sync;
    /// A symbolic request that may refer to earlier responses ("the tag in the response to step 3"). Scripts
    /// consist of asks, so that they can be stored, run again and shrunk.
    type Ask: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// The reader of one connection.
    type Reader: Reader<Msg<Self>> + 'static;

    /// Returns the model of a correct server.
    fn model(&self) -> &Self::Model;

    /// Returns the message of an ask, with names that belong to this case. `None` if the ask refers to
    /// something that was never seen: then nothing is sent.
    fn resolve(&self, ask: &Self::Ask, case: &str, past: &Past<Self>) -> Option<Msg<Self>>;

    /// Appends the bytes of a message.
    fn encode(&self, message: &Msg<Self>, bytes: &mut Vec<u8>);

    /// Creates the reader of a new connection.
    fn reader(&self, side: Side) -> Self::Reader;

    /// Appends the bytes that the tester writes at the beginning of each connection that it opens, before any message: a password,
    /// say. They are part of no event, and the [reader](Self::reader) leaves out what the server responds to them.
    fn greet(&self, bytes: &mut Vec<u8>) {
        let _ = bytes;
    }

    /// Overwrites secrets in bytes that were sent or received, for reports. The length stays.
    fn conceal(&self, bytes: &mut [u8]) {
        let _ = bytes;
    }

    /// Returns the network model between the tester and the server.
    fn network(&self) -> &dyn Network {
        &Tcp { breaks: false }
    }

    /// Returns the role that matches responses with requests.
    fn dialogue(&self) -> &dyn Dialogue<Self> {
        &Plain
    }

    /// Returns the role that renumbers and simplifies asks.
    fn asks(&self) -> &dyn Asks<Self> {
        &Plain
    }

    /// Returns the role for connections that the server opens.
    fn upstream(&self) -> &dyn Upstream<Self> {
        &Plain
    }

    /// Returns the role that provides facts for blame and coverage.
    fn evidence(&self) -> &dyn Evidence<Self> {
        &Plain
    }

    /// Returns the role for actions outside cases.
    fn setup(&self) -> &dyn Setup<Self> {
        &Plain
    }

    /// Returns the role that exports counterexamples for people without Confute.
    fn exporting(&self) -> &dyn Exporting<Self> {
        &Plain
    }
}

/// Parser of the bytes of one connection. It yields messages and never fails: bytes that cannot be parsed
/// become a message that says so.
pub trait Reader<M> {
    /// Notes that the tester is about to send this message on the connection.
    fn sent(&mut self, message: &M) {
        let _ = message;
    }

    /// Changes the bytes of a message, which begin at `from`, by what the server has said on this connection, if messages depend on it
    /// without being others: cookies, for instance.
    fn amend(&self, bytes: &mut Vec<u8>, from: usize) {
        let _ = (bytes, from);
    }

    /// Parses received bytes, and appends the messages that are complete now.
    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<M>);

    /// Takes the end of the connection, orderly or broken off, and appends the messages that it completes.
    /// Nothing more will arrive.
    fn end(&mut self, orderly: bool, messages: &mut Vec<M>);

    /// Appends a message that stands for the unfinished response, if the protocol has one: the connection is
    /// open, but it was silent for so long that the rest will not arrive.
    fn stalled(&mut self, silence: Duration, messages: &mut Vec<M>) {
        let _ = (silence, messages);
    }

    /// Returns the bytes that the tester sends at once to a server that waits for them in the middle of a
    /// request (HTTP's 100). They are sent once for each request, when everything before it is answered.
    fn prompt(&self) -> Option<&'static [u8]> {
        None
    }

    /// Returns `true` if the server has asked for the bytes that the tester holds back, so that their pause
    /// can end.
    fn goes_on(&self) -> bool {
        false
    }

    /// Returns `true` if the head of the outstanding response was read, and its announced end is still to come.
    fn has_head(&self) -> bool {
        false
    }

    /// Returns the size of the unfinished message in bytes, by which a flood is noticed.
    fn held(&self) -> usize;

    /// Returns `true` if a message was too long to be read, so that nothing more can be read on this
    /// connection. Long messages are legal: the tester hangs up, and the outcome of outstanding requests is
    /// unknown.
    fn is_lost(&self) -> bool {
        false
    }
}
