//! The roles of a protocol: facts beyond the encoding that the driver, the shrinker and blame may need.
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

/// Implementation of every role by its defaults.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

/// Role that matches responses with requests: the number of responses, the message that completes one, and
/// the meaning of the end of a connection.
pub trait Dialogue<P: Protocol>: Send + Sync {
    /// Returns the number of responses that a correct server sends to a message.
    fn answers(&self, message: &Msg<P>) -> u32 {
        let _ = message;
        1
    }

    /// Splits a message that is several messages to the model, such as a request for many keys in one line.
    /// Each part gets its own response.
    fn parts(&self, message: &Msg<P>) -> Option<Vec<Msg<P>>> {
        let _ = message;
        None
    }

    /// Returns `true` if a message completes a response. One that only announces another (HTTP's 100) does
    /// not.
    fn completes(&self, reply: &Msg<P>) -> bool {
        let _ = reply;
        true
    }

    /// Returns `true` if a correct server may answer this request only once others have come, or never: a blocking pop. Such
    /// a response is not waited for, and nothing is missing without it unless the model says so at the end of the case.
    fn may_wait(&self, request: &Msg<P>) -> bool {
        let _ = request;
        false
    }

    /// Returns `true` if this message answers no request: the server sent it because of something else, such as a publish on
    /// another connection.
    fn is_unasked(&self, message: &Msg<P>) -> bool {
        let _ = message;
        false
    }

    /// Returns `true` if the server sends messages that answer no request. At the end of a case the tester then waits for those that
    /// the model expects.
    fn has_unasked(&self) -> bool {
        false
    }

    /// Returns `true` if the server announces with this response that it will end the connection. The end
    /// itself then adds no information.
    fn announces_end(&self, reply: &Msg<P>) -> bool {
        let _ = reply;
        false
    }

    /// Returns `true` if a server may close a connection at any time. An end is then recorded as a hang-up:
    /// requests outstanding there may or may not have been performed, and no response is required. Otherwise
    /// the model has to explain the end.
    fn close_is_free(&self) -> bool {
        true
    }

    /// Returns `true` if the tester sends nothing more on the connection after this message.
    fn is_last(&self, message: &Msg<P>) -> bool {
        let _ = message;
        false
    }

    /// Returns `true` if a response reveals nothing about the server, because the tester itself may have
    /// caused it (by being slow, say). It is recorded as the end of its connection.
    fn is_excused(&self, answer: &Msg<P>) -> bool {
        let _ = answer;
        false
    }

    /// Returns `true` if the first response on a connection tells that the server takes no more connections. It is recorded as
    /// the end of the connection, whose requests were not read.
    fn turns_away(&self, first: &Msg<P>) -> bool {
        let _ = first;
        false
    }

    /// Returns the refusal in a response by which the server declines to serve a request that has nothing
    /// wrong with it. Refusals are counted: a server that refuses more than it serves was not tested.
    fn refusal(&self, request: &Msg<P>, reply: &Msg<P>) -> Option<Refusal> {
        let _ = (request, reply);
        None
    }

    /// Describes how far a response came, if its connection ended before it did. Such responses are counted: they
    /// show less than complete ones.
    fn broken_off(&self, reply: &Msg<P>) -> Option<String> {
        let _ = reply;
        None
    }

    /// Notes in a message when it was sent (its first byte) or received (its last), in microseconds since the case began.
    fn stamp(&self, message: &mut Msg<P>, micros: u64) {
        let _ = (message, micros);
    }

    /// Notes in a received message what it shows only together with earlier ones. `place` is the index of its
    /// exchange in the past, which does not contain the message yet.
    fn notice(&self, past: &Past<P>, place: usize, message: &mut Msg<P>) {
        let _ = (past, place, message);
    }

    /// Notes in a message that it is sent while responses to earlier ones on its connection are outstanding.
    fn follows(&self, message: &mut Msg<P>) {
        let _ = message;
    }
}

/// Role that changes asks, for shrinking and for experiments, and provides the probe.
pub trait Asks<P: Protocol>: Send + Sync {
    /// Returns an ask that every live server answers. It is sent on a fresh connection when a response is
    /// missing: if the probe is answered, the other response is really missing. Without a probe, silence is
    /// trouble and never a violation.
    fn probe(&self) -> Option<P::Ask> {
        None
    }

    /// Returns an ask to send on the same connection behind this request, whose response broke off: the next
    /// response shows whether the end of that one was announced wrongly. `None` if no request may follow.
    fn behind(&self, request: &Msg<P>) -> Option<P::Ask> {
        let _ = request;
        None
    }

    /// Replaces the step numbers that an ask refers to. A protocol whose asks refer to steps has to implement
    /// this, or its scripts cannot be shrunk.
    fn renumber(&self, ask: &P::Ask, now: &dyn Fn(usize) -> usize) -> P::Ask {
        let _ = now;
        ask.clone()
    }

    /// Returns variants of an ask that request less, the simplest first: without a condition, with less
    /// content. Simplification is applied to its own results, so each variant has to be simpler than the ask.
    fn simpler(&self, ask: &P::Ask) -> Vec<P::Ask> {
        let _ = ask;
        Vec::new()
    }

    /// Returns variants of all asks of a script with fewer or simpler subjects, the simplest first: one
    /// resource in place of two, say. Simplification is applied to its own results, so it has to reach an
    /// end.
    fn plainer(&self, asks: &[&P::Ask]) -> Vec<Vec<P::Ask>> {
        let _ = asks;
        Vec::new()
    }

    /// Returns `true` if an ask can be sent on any connection, before and after anything else, in pieces or
    /// as a whole. Otherwise it keeps its connection and its pieces when a script is shrunk.
    fn is_plain(&self, ask: &P::Ask) -> bool {
        let _ = ask;
        true
    }

    /// Returns asks that differ from this one in a single aspect: the same request with another condition, say.
    /// They take its place in experiments, which tell explanations of a violation apart.
    fn variants(&self, ask: &P::Ask) -> Vec<P::Ask> {
        let _ = ask;
        Vec::new()
    }

    /// Returns an ask whose response reveals the state that this ask depends on, and changes nothing. `None` if there is
    /// none, or if the ask is such a one.
    fn look(&self, ask: &P::Ask) -> Option<P::Ask> {
        let _ = ask;
        None
    }

    /// Returns asks whose responses reveal the state after these asks, each of which has the number of its step:
    /// a read, or a write with a condition that depends on the state. Experiments perform them after a script.
    fn follow_ups(&self, asks: &[(usize, &P::Ask)]) -> Vec<P::Ask> {
        let _ = asks;
        Vec::new()
    }
}

/// Role for connections that the server under test opens to the tester, which is then its origin.
pub trait Upstream<P: Protocol>: Send + Sync {
    /// Returns `true` if a request from the server belongs to this case. Others (a health check, a late
    /// request of an earlier case) are not judged: they get a [courtesy](Self::courtesy), or their connection
    /// is ended.
    fn belongs(&self, message: &Msg<P>, case: &str) -> bool {
        let _ = (message, case);
        true
    }

    /// Returns `true` if each request on a connection that the server opened is an exchange of its own: one
    /// request, one response. Each is then recorded as a connection of its own, because the server is free to
    /// choose which connections it reuses. A request that arrives before the previous one was answered waits.
    fn has_single_exchanges(&self) -> bool {
        false
    }

    /// Returns the response to a request of the server that no script answers: one that belongs to no case
    /// (and is not judged), or that arrives while a case ends. Without it the connection is ended, or the
    /// request stays unanswered.
    fn courtesy(&self, request: &Msg<P>) -> Option<Msg<P>> {
        let _ = request;
        None
    }

    /// Returns `true` if this ask may answer that request of the server. In a replay requests may arrive in
    /// another order, and a response goes to a request that it suits.
    fn suits(&self, ask: &P::Ask, request: &Msg<P>) -> bool {
        let _ = (ask, request);
        true
    }

    /// Returns the message that represents the end of a connection before its request was answered, whichever
    /// side ended it; it counts as sent by the tester. Without it, and where exchanges are not single, the
    /// end is recorded as a hang-up.
    fn unanswered(&self) -> Option<Msg<P>> {
        None
    }

    /// Notes in a response to the server that the server had already ended its side of the connection. It may
    /// still read the response (a half-close) or not, and the tester cannot distinguish the two.
    fn half_closed(&self, answer: &mut Msg<P>) {
        let _ = answer;
    }

    /// Notes in a request of the server that it will not be answered, because it arrived on a connection on
    /// which the tester can send nothing more. The server may have answered its client before the tester read
    /// the request.
    fn dropped(&self, request: &mut Msg<P>) {
        let _ = request;
    }

    /// Notes in a response the actions of the tester that may have caused it: its responses to the server,
    /// and when it last ended a connection that the server had opened, an idle one included (in microseconds
    /// since the case began, below zero if that was before).
    fn note_causes(&self, reply: &mut Msg<P>, request: &Msg<P>, past: &Past<P>, ended: Option<i64>) {
        let _ = (reply, request, past, ended);
    }
}

/// Role that provides facts about messages for blame and coverage.
pub trait Evidence<P: Protocol>: Send + Sync {
    /// Returns the level of a rule in this run. A protocol may raise the level of a rule that the user
    /// asserts the server keeps.
    fn level(&self, rule: &Rule) -> Level {
        rule.level
    }

    /// Returns the subject of a request (a resource, say), if requests with different subjects have nothing
    /// in common but their connection.
    fn subject(&self, request: &Msg<P>) -> Option<String> {
        let _ = request;
        None
    }

    /// Returns the subjects of a request, if it may have several. Requests without a common subject have nothing in common but their
    /// connection, unless other requests connect their subjects. None at all means that the subjects are unknown.
    /// The response, if there is one, may name them.
    fn subjects(&self, request: &Msg<P>, reply: Option<&Msg<P>>) -> Vec<String> {
        let _ = reply;
        self.subject(request).into_iter().collect()
    }

    /// Returns `true` if the response to a request depends on requests with any subject, as a list of all items does. Without
    /// them the request is no evidence.
    fn spans(&self, request: &Msg<P>, reply: Option<&Msg<P>>) -> bool {
        let _ = (request, reply);
        false
    }

    /// Returns `true` if a request with this response, or with none so far, changed nothing: whatever
    /// explains a case with it explains the case without it.
    fn is_idle(&self, request: &Msg<P>, reply: Option<&Msg<P>>) -> bool {
        let _ = (request, reply);
        false
    }

    /// Notes in the messages of a trace what the others reveal about them, for models that use it to name the
    /// broken rule. A trace that is explained has to stay so.
    fn annotate(&self, trace: &mut [Event<Msg<P>>]) {
        let _ = trace;
    }

    /// Returns the exchange that the last event of a trace ends, if whatever explains the trace explains that
    /// exchange by itself, with no more deviations. Blame tries rules on it first.
    fn alone(&self, trace: &[Event<Msg<P>>]) -> Option<Vec<Event<Msg<P>>>> {
        let _ = trace;
        None
    }

    /// Returns `true` if the rule says that something does not change, or fail, by itself. Only a control experiment
    /// sets such a rule aside.
    fn is_spontaneous(&self, rule: &Rule) -> bool {
        let _ = rule;
        false
    }

    /// Returns the ask that takes the place of this one in a control experiment: its response would show that the
    /// change which the rule forbids happened by itself. `None` if the rule forbids no such change, or if no
    /// ask can show it.
    fn control(&self, rule: &Rule, ask: &P::Ask) -> Option<P::Ask> {
        let _ = (rule, ask);
        None
    }

    /// Returns descriptions of the branches that can be reached: kinds of requests with the possible outcomes
    /// of each, say. Branches that were never reached are listed at the end, and generators may prefer them.
    fn branches(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the index of the [branch](Self::branches) that a completed exchange reached.
    fn reached(&self, exchange: &Exchange<P::Ask, Msg<P>>) -> Option<usize> {
        let _ = exchange;
        None
    }
}

/// Role for actions outside cases: a survey of the server before a campaign, the preparation of each case,
/// and the canary.
pub trait Setup<P: Protocol>: Send + Sync {
    /// Finds out before a campaign what the server can do; returns remarks about it.
    fn survey(&self, talk: &Talk<'_, P>) -> Result<Vec<String>, Trouble> {
        let _ = talk;
        Ok(Vec::new())
    }

    /// Returns rules that this server need not keep, because it lacks an optional feature that they concern.
    /// Called before the [survey](Self::survey), which reports why.
    fn waives(&self, talk: &Talk<'_, P>) -> Vec<&'static str> {
        let _ = talk;
        Vec::new()
    }

    /// Writes a canary under the name of this talk: an item that a server loses only if it loses its data, as
    /// after a restart. Returns `false` if nothing can be written at all.
    fn plant(&self, talk: &Talk<'_, P>) -> bool {
        let _ = talk;
        false
    }

    /// Returns the content of the [canary](Self::plant) under the name of this talk, which differs if the
    /// canary was changed; `None` if it is gone, an error if the server does not answer.
    fn canary(&self, talk: &Talk<'_, P>) -> Result<Option<String>, Trouble> {
        let _ = talk;
        Ok(None)
    }

    /// Prepares the server for a case: creates a collection, say. Not judged.
    fn prepare(&self, case: &str, talk: &Talk<'_, P>) -> Result<(), Trouble> {
        let _ = (case, talk);
        Ok(())
    }
}

/// Role that exports counterexamples for people without Confute.
pub trait Exporting<P: Protocol>: Send + Sync {
    /// Returns files that show a counterexample: scripts that check whether a server still fails, recordings
    /// for other tools.
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
