//! The roles of a protocol: what the driver, the shrinker and blame may want to know beyond the wire.
//!
//! Each role is a trait whose methods all have defaults. A [`Protocol`] that needs a role implements its trait and returns itself
//! from the accessor of that role (`fn upstream(&self) -> &dyn Upstream<Self> { self }`); every other accessor returns [`Plain`],
//! which has the defaults.

use std::fmt::Debug;

use confute::lang::{Level, Rule};
use confute::trace::Event;

use super::{Exchange, Msg, Past, Protocol};
use crate::export::{Exports, Kept};
use crate::figures::Refusal;
use crate::talk::Talk;
use crate::trouble::Trouble;

/// The defaults of every role.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

/// How a conversation goes: how many answers there are, what completes one, and what the end of a connection means.
pub trait Dialogue<P: Protocol>: Send + Sync {
    /// The number of answers that a message gets from a correct server.
    fn answers(&self, message: &Msg<P>) -> u32 {
        let _ = message;
        1
    }

    /// The parts of a message that is several messages to the model, such as a request for many keys in one line. Each part gets
    /// its own answer.
    fn parts(&self, message: &Msg<P>) -> Option<Vec<Msg<P>>> {
        let _ = message;
        None
    }

    /// `true` if a reply completes an answer. One that only announces another (HTTP's 100) does not.
    fn completes(&self, reply: &Msg<P>) -> bool {
        let _ = reply;
        true
    }

    /// `true` if the server announces with this reply that it will end the connection. The end itself then tells nothing more.
    fn announces_end(&self, reply: &Msg<P>) -> bool {
        let _ = reply;
        false
    }

    /// `true` if a server may close a connection whenever it likes. An end is then reported to the tester as a hang-up: requests
    /// outstanding there may or may not have been performed, and no answer is owed. Otherwise the model has to explain the end.
    fn close_is_free(&self) -> bool {
        true
    }

    /// `true` if the tester sends nothing more on the connection after this message.
    fn is_last(&self, message: &Msg<P>) -> bool {
        let _ = message;
        false
    }

    /// `true` if an answer says nothing about the server, because the tester itself may be its cause (it was slow, say). It is
    /// reported as the end of its connection.
    fn is_excused(&self, answer: &Msg<P>) -> bool {
        let _ = answer;
        false
    }

    /// The refusal in a reply by which the server declines to serve a request that has nothing wrong with it. Refusals are counted:
    /// a server that refuses more than it serves was not tested.
    fn refusal(&self, request: &Msg<P>, reply: &Msg<P>) -> Option<Refusal> {
        let _ = (request, reply);
        None
    }

    /// Notes in a message when it was sent (its first byte) or received (its last), in microseconds since the case began.
    fn stamp(&self, message: &mut Msg<P>, micros: u64) {
        let _ = (message, micros);
    }

    /// Notes in a received message what it shows only together with earlier ones. `place` is the exchange that it belongs to, among
    /// those of the past; the message is not there yet.
    fn notice(&self, past: &Past<P>, place: usize, message: &mut Msg<P>) {
        let _ = (past, place, message);
    }

    /// Notes in a message that it is sent while answers to earlier ones are still to come on its connection.
    fn follows(&self, message: &mut Msg<P>) {
        let _ = message;
    }
}

/// How asks are renumbered and made simpler when a script is shrunk, and the ask that every live server answers.
pub trait Asks<P: Protocol>: Send + Sync {
    /// An ask that every live server answers. It is sent on a fresh connection when an answer does not come: if this one is
    /// answered, the other is really missing. Without it a silent server is merely silent.
    fn probe(&self) -> Option<P::Ask> {
        None
    }

    /// The same ask with the steps that it refers to called by other numbers. A protocol whose asks refer to steps has to implement
    /// this, or its scripts cannot be shrunk.
    fn renumber(&self, ask: &P::Ask, now: &dyn Fn(usize) -> usize) -> P::Ask {
        let _ = now;
        ask.clone()
    }

    /// Asks that want less than this one: without a condition, with less content. The simplest first. They are tried again and
    /// again, so each has to be simpler than the one before.
    fn simpler(&self, ask: &P::Ask) -> Vec<P::Ask> {
        let _ = ask;
        Vec::new()
    }

    /// The asks of a whole script, about fewer or plainer things: one resource in place of two, say. The plainest first. They are
    /// tried again and again, so there has to be an end to it.
    fn plainer(&self, asks: &[&P::Ask]) -> Vec<Vec<P::Ask>> {
        let _ = asks;
        Vec::new()
    }

    /// `true` if an ask can be sent on any connection, before and after anything else, in pieces or as a whole. Otherwise it keeps
    /// its connection and its pieces when a script is shrunk.
    fn is_plain(&self, ask: &P::Ask) -> bool {
        let _ = ask;
        true
    }
}

/// Connections that the server under test opens to the tester, which is then its origin.
pub trait Upstream<P: Protocol>: Send + Sync {
    /// `true` if a request from the server belongs to this case. Others (a health check, a straggler of an earlier case) are not
    /// judged, and their connection is ended.
    fn belongs(&self, message: &Msg<P>, case: &str) -> bool {
        let _ = (message, case);
        true
    }

    /// `true` if each request on a connection that the server opened is an exchange of its own: one request, one answer. Each is then
    /// reported as a connection of its own, because which connections the server reuses is its own affair. A request that comes
    /// before the one before it was answered waits.
    fn has_single_exchanges(&self) -> bool {
        false
    }

    /// The answer to a request of the server that no script answers: one that belongs to no case (and is not judged), or that comes
    /// while a case ends. Without it the connection is ended, or the request left open.
    fn courtesy(&self, request: &Msg<P>) -> Option<Msg<P>> {
        let _ = request;
        None
    }

    /// `true` if this ask may answer that request of the server. In a replay requests may come in another order, and an answer goes to
    /// one that it suits.
    fn suits(&self, ask: &P::Ask, request: &Msg<P>) -> bool {
        let _ = (ask, request);
        true
    }

    /// The message that stands for the end of a connection before its request was answered, whoever ended it; it counts as sent by the
    /// tester. Without it, and where exchanges are not single, the end is reported as a hang-up.
    fn unanswered(&self) -> Option<Msg<P>> {
        None
    }

    /// Notes in an answer to the server that the server had ended its side of the connection before. It may still read the answer (a
    /// half-close) or not, and nobody can tell.
    fn half_closed(&self, answer: &mut Msg<P>) {
        let _ = answer;
    }

    /// Notes in a request of the server that it came on a connection that the tester had ended: nobody will answer it. The server may
    /// have answered its client before the tester read the request.
    fn dropped(&self, request: &mut Msg<P>) {
        let _ = request;
    }

    /// Notes in a reply to a request what the tester did before that may have caused it: what it answered to the server, and when it
    /// last ended a connection that the server had opened, an idle one included (in microseconds since the case began, below zero if
    /// that was before).
    fn note_causes(&self, reply: &mut Msg<P>, request: &Msg<P>, past: &Past<P>, ended: Option<i64>) {
        let _ = (reply, request, past, ended);
    }
}

/// What blame and coverage need to know about messages.
pub trait Evidence<P: Protocol>: Send + Sync {
    /// The level of a rule in this run. A protocol may raise that of a rule which the server was promised to keep.
    fn level(&self, rule: &Rule) -> Level {
        rule.level
    }

    /// The thing that a request is about, if requests about different things have nothing to do with each other but their connection.
    fn subject(&self, request: &Msg<P>) -> Option<String> {
        let _ = request;
        None
    }

    /// `true` if a request that got this answer, or none so far, changed nothing: whatever explains a case with it explains the case
    /// without.
    fn is_idle(&self, request: &Msg<P>, reply: Option<&Msg<P>>) -> bool {
        let _ = (request, reply);
        false
    }

    /// Notes in the messages of a trace what the others tell of them, for models that want to know when they name what a server
    /// broke. A trace that is right has to stay so.
    fn annotate(&self, trace: &mut [Event<Msg<P>>]) {
        let _ = trace;
    }

    /// The exchange that the last event of a trace ends, if whatever explains the trace explains that exchange by itself, with no more
    /// deviations. Blame tries rules on it first.
    fn alone(&self, trace: &[Event<Msg<P>>]) -> Option<Vec<Event<Msg<P>>>> {
        let _ = trace;
        None
    }

    /// The branches that there are to reach, in words: kinds of requests with what can come of each, say. Those never reached are
    /// listed at the end, and generators may prefer them.
    fn branches(&self) -> Vec<String> {
        Vec::new()
    }

    /// The number of the [branch](Self::branches) that a completed exchange reached.
    fn reached(&self, exchange: &Exchange<P::Ask, Msg<P>>) -> Option<usize> {
        let _ = exchange;
        None
    }
}

/// What happens around cases: a look at the server before a campaign, room for each case, and the canary.
pub trait Setup<P: Protocol>: Send + Sync {
    /// Finds out before a campaign what the server can do; returns remarks about it.
    fn survey(&self, talk: &Talk<'_, P>) -> Result<Vec<String>, Trouble> {
        let _ = talk;
        Ok(Vec::new())
    }

    /// Rules that this server need not keep, because it lacks something optional that they are about. Asked before the
    /// [survey](Self::survey), which says why.
    fn waives(&self, talk: &Talk<'_, P>) -> Vec<&'static str> {
        let _ = talk;
        Vec::new()
    }

    /// Writes a canary under the name of this talk: something that a server loses only if it forgets what it was told, as after a
    /// restart. `false` where nothing can be written at all.
    fn plant(&self, talk: &Talk<'_, P>) -> bool {
        let _ = talk;
        false
    }

    /// The look of the [canary](Self::plant) under the name of this talk: another one if it was changed, `None` if it is gone, an
    /// error if the server does not answer.
    fn canary(&self, talk: &Talk<'_, P>) -> Result<Option<String>, Trouble> {
        let _ = talk;
        Ok(None)
    }

    /// Makes room for a case on the server: a collection, say. Not judged.
    fn prepare(&self, case: &str, talk: &Talk<'_, P>) -> Result<(), Trouble> {
        let _ = (case, talk);
        Ok(())
    }
}

/// Counterexamples for people without Confute.
pub trait Exporting<P: Protocol>: Send + Sync {
    /// Files that show a counterexample: scripts that tell whether a server still does it, recordings for other tools.
    fn exports(&self, kept: &Kept<'_, P>) -> Exports {
        let _ = kept;
        Exports::default()
    }
}

impl<P: Protocol> Dialogue<P> for Plain {}
impl<P: Protocol> Asks<P> for Plain {}
impl<P: Protocol> Upstream<P> for Plain {}
impl<P: Protocol> Evidence<P> for Plain {}
impl<P: Protocol> Setup<P> for Plain {}
impl<P: Protocol> Exporting<P> for Plain {}
