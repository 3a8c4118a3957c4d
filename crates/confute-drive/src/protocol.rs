//! What a protocol has to say about itself.

use std::fmt::{self, Debug};
use std::sync::atomic::AtomicU64;

use confute::lang::{Level, Rule, ServerModel};
use confute::trace::Event;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::export::{Exports, Kept};
use crate::figures::Refusal;
use crate::script::{Peer, Step};
use crate::talk::Talk;
use crate::trouble::Trouble;

/// Who opened a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The tester: it asks, the server answers.
    Opened,
    /// The server: it asks, the tester answers.
    Accepted,
}

/// The messages of a protocol's model.
pub type Msg<P> = <<P as Protocol>::Model as ServerModel>::Msg;

/// How a model's messages look on the wire, and what can be asked.
pub trait Protocol: Send + Sync {
    /// What a correct server does.
    type Model: ServerModel<Msg: Clone + Debug + Serialize + DeserializeOwned + Send> + Send + Sync;
    /// What can be asked: a request that may refer to earlier answers ("the tag in the reply to step 3"). Scripts are made
    /// of these, so that they can be stored, run again and made smaller.
    type Ask: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send;
    /// Reads one connection.
    type Reader: Reader<Msg<Self>>;

    /// What a correct server does.
    fn model(&self) -> &Self::Model;

    /// The level of a rule in this run. A protocol may raise that of a rule which the server was promised to keep, so that a
    /// violation counts for more.
    fn level(&self, rule: &Rule) -> Level {
        rule.level
    }

    /// What a server said if it declined, with this reply, to serve this request, though nothing is wrong with the request.
    /// Refusals are counted: a server that refuses more than it serves was not tested.
    fn refusal(&self, request: &Msg<Self>, reply: &Msg<Self>) -> Option<Refusal> {
        let _ = (request, reply);
        None
    }

    /// The message that an ask stands for, below the names that belong to this case. `None` if what it refers to was
    /// never seen: then nothing is sent.
    fn resolve(&self, ask: &Self::Ask, case: &str, past: &Past<Self>) -> Option<Msg<Self>>;

    /// Its bytes.
    fn encode(&self, message: &Msg<Self>, bytes: &mut Vec<u8>);

    /// Notes when a message was sent (its first byte) or received (its last), in microseconds since the case began, if the
    /// model wants to know.
    fn stamp(&self, message: &mut Msg<Self>, micros: u64) {
        let _ = (message, micros);
    }

    /// Notes in a message that was received what it shows only together with earlier ones, if the model wants to know.
    /// `place` is the exchange that it belongs to, among those of the past; the message is not there yet.
    fn notice(&self, past: &Past<Self>, place: usize, message: &mut Msg<Self>) {
        let _ = (past, place, message);
    }

    /// Notes that a message is sent while answers to earlier ones are still to come on its connection, if the model wants to
    /// know.
    fn follows(&self, message: &mut Msg<Self>) {
        let _ = message;
    }

    /// What a message is to the model, where it is several there: a request for many things in one line, say. Each part gets
    /// its own answer.
    fn parts(&self, message: &Msg<Self>) -> Option<Vec<Msg<Self>>> {
        let _ = message;
        None
    }

    /// How many answers a message will get from a correct server.
    fn answers(&self, message: &Msg<Self>) -> u32;

    /// A reader for a new connection.
    fn reader(&self, side: Side) -> Self::Reader;

    /// Whether a reply completes an answer. One that only announces another (HTTP's 100) does not.
    fn completes(&self, reply: &Msg<Self>) -> bool {
        let _ = reply;
        true
    }

    /// Whether the server said with this reply that it will end the connection. Such an end tells nothing else.
    fn announces_end(&self, reply: &Msg<Self>) -> bool {
        let _ = reply;
        false
    }

    /// Whether a server may close a connection whenever it likes. If so, an end is told to the tester as a hang-up: what was
    /// outstanding there may or may not have happened, and no answer is owed. If not, the model has to explain it.
    fn close_is_free(&self) -> bool {
        true
    }

    /// Whether a request that the server sent to the tester belongs to this case. What does not (a health check, a
    /// straggler of an earlier case) is not judged, and its connection is ended.
    fn belongs(&self, message: &Msg<Self>, case: &str) -> bool {
        let _ = (message, case);
        true
    }

    /// Whether what the server asks on a connection that it opened is an exchange of its own each time: one question, one
    /// answer. Then each is told as a connection of its own, because which of them the server uses again is its own affair.
    /// A question that comes before the one before it was answered has to wait.
    fn exchanges_apart(&self) -> bool {
        false
    }

    /// What to answer to the server where nobody else does: to what belongs to no case (then it is not judged), and while
    /// a case ends. Without it the connection is ended, or the question left open.
    fn courtesy(&self, asked: &Msg<Self>) -> Option<Msg<Self>> {
        let _ = asked;
        None
    }

    /// Whether this may be said in answer to that question of the server. Where a script is done again, questions may come in
    /// another order, and an answer goes to one that it suits.
    fn suits(&self, ask: &Self::Ask, asked: &Msg<Self>) -> bool {
        let _ = (ask, asked);
        true
    }

    /// Stands for the end of a connection that the server opened, where that came before its answer, whoever ended it; it
    /// counts as sent by the tester. Without it, and where exchanges are not told apart, the end is told as a hang-up.
    fn unanswered(&self) -> Option<Msg<Self>> {
        None
    }

    /// Notes in an answer to the server that the server had ended its side of the connection before: it may still read the
    /// answer (a half-close), or not, and nobody can tell.
    fn half_closed(&self, answer: &mut Msg<Self>) {
        let _ = answer;
    }

    /// Notes in a question of the server that it came on a connection that the tester had ended: nobody will answer it. The
    /// server may have told its client before the tester read it.
    fn dropped(&self, question: &mut Msg<Self>) {
        let _ = question;
    }

    /// Notes in a reply to this request what the tester itself did before that may have caused it: what it answered to the server,
    /// and when it last ended a connection that the server had opened, an idle one included (in microseconds since the case
    /// began, below zero if that was before).
    fn note_causes(&self, reply: &mut Msg<Self>, request: &Msg<Self>, past: &Past<Self>, ended: Option<i64>) {
        let _ = (reply, request, past, ended);
    }

    /// Whether an answer says nothing about the server, because the tester itself may be its cause (it was slow, say). It is
    /// told as the end of its connection, which it then is.
    fn is_excused(&self, answer: &Msg<Self>) -> bool {
        let _ = answer;
        false
    }

    /// Whether the tester sends nothing more on the connection after this message.
    fn is_last(&self, message: &Msg<Self>) -> bool {
        let _ = message;
        false
    }

    /// What a request is about, if requests about different things have nothing to do with each other but their
    /// connection.
    fn subject(&self, request: &Msg<Self>) -> Option<String> {
        let _ = request;
        None
    }

    /// Whether a request that got this answer, or none so far, changed nothing: whatever explains a case with it explains
    /// the case without.
    fn is_idle(&self, request: &Msg<Self>, reply: Option<&Msg<Self>>) -> bool {
        let _ = (request, reply);
        false
    }

    /// Notes in the messages of a trace what the others tell of them, if the model wants to know when it says what a server
    /// broke. A trace that is right must stay so.
    fn annotate(&self, trace: &mut [Event<Msg<Self>>]) {
        let _ = trace;
    }

    /// The exchange that the last event of a trace ends, if whatever explains the trace explains the exchange by itself, with no
    /// more deviations. Blame tries rules on it first.
    fn alone(&self, trace: &[Event<Msg<Self>>]) -> Option<Vec<Event<Msg<Self>>>> {
        let _ = trace;
        None
    }

    /// Something that every live server answers. It is asked on a fresh connection when an answer does not come: if this
    /// one does, the other is really missing. Without it a silent server is merely silent.
    fn probe(&self) -> Option<Self::Ask> {
        None
    }

    /// Overwrites what nobody is to read in reports, in the bytes of a message. The length stays.
    fn conceal(&self, bytes: &mut [u8]) {
        let _ = bytes;
    }

    /// Finds out before the campaign what the server can do, and says so, a line each.
    fn survey(&self, talk: &Talk<'_, Self>) -> Result<Vec<String>, Trouble> {
        let _ = talk;
        Ok(Vec::new())
    }

    /// Rules that are not asked of this server, because it lacks something optional that they are about. Asked before the
    /// [survey](Self::survey), which says why.
    fn waives(&self, talk: &Talk<'_, Self>) -> Vec<&'static str> {
        let _ = talk;
        Vec::new()
    }

    /// The same ask with the steps that it refers to called by other numbers. Whoever refers to steps has to say so, or else
    /// scripts cannot be made smaller.
    fn renumber(&self, ask: &Self::Ask, now: &dyn Fn(usize) -> usize) -> Self::Ask {
        let _ = now;
        ask.clone()
    }

    /// Asks that want less: without a condition, with less content. The simplest first. They are tried when a script is made
    /// smaller, again and again, so each must be simpler than the one before.
    fn simpler(&self, ask: &Self::Ask) -> Vec<Self::Ask> {
        let _ = ask;
        Vec::new()
    }

    /// All asks of a script, about fewer or plainer things: the same resource in place of two, say. The plainest first. They are
    /// tried when a script is made smaller, again and again, so there has to be an end to it.
    fn plainer(&self, asks: &[&Self::Ask]) -> Vec<Vec<Self::Ask>> {
        let _ = asks;
        Vec::new()
    }

    /// Whether it can be asked on any connection, before and after anything else, in pieces or as a whole. If not, it keeps
    /// its connection and its pieces when a script is made smaller.
    fn is_plain(&self, ask: &Self::Ask) -> bool {
        let _ = ask;
        true
    }

    /// What there is to reach, in words: kinds of requests with what can come of each, say. What was never reached is told in
    /// the end, and generators may prefer it.
    fn branches(&self) -> Vec<String> {
        Vec::new()
    }

    /// Which of the [branches](Self::branches) an exchange reached that has its answer.
    fn reached(&self, exchange: &Exchange<Self::Ask, Msg<Self>>) -> Option<usize> {
        let _ = exchange;
        None
    }

    /// A counterexample for people without Confute: scripts that say whether a server still does it, recordings for other
    /// tools. Nothing unless a protocol knows how.
    fn exports(&self, kept: &Kept<'_, Self>) -> Exports {
        let _ = kept;
        Exports::default()
    }

    /// Writes a canary under the name of this talk: something that a server loses only if it forgets what it was told, as
    /// after a restart. `false` where nothing can be written at all.
    fn plant(&self, talk: &Talk<'_, Self>) -> bool {
        let _ = talk;
        false
    }

    /// How the [canary](Self::plant) under the name of this talk looks: differently if it was changed. `None` if there is none,
    /// an error if the server does not say.
    fn canary(&self, talk: &Talk<'_, Self>) -> Result<Option<String>, Trouble> {
        let _ = talk;
        Ok(None)
    }

    /// Makes room for a case, where the server wants that: a collection, say. Not judged.
    fn prepare(&self, case: &str, talk: &Talk<'_, Self>) -> Result<(), Trouble> {
        let _ = (case, talk);
        Ok(())
    }
}

/// Makes messages of the bytes of one connection. Whatever comes, it yields messages and never fails: what cannot be read
/// is a message too, one that says so.
pub trait Reader<M> {
    /// The tester is about to send this on the connection.
    fn sent(&mut self, message: &M) {
        let _ = message;
    }

    /// These bytes came. Messages that are complete now are appended.
    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<M>);

    /// Nothing more will come: by an orderly end, or else broken off.
    fn end(&mut self, orderly: bool, messages: &mut Vec<M>);

    /// The connection is open, but nothing has come for so long that nothing will: what was begun, if a message can say so.
    fn stalled(&mut self, messages: &mut Vec<M>) {
        let _ = messages;
    }

    /// What the tester has to send at once to a server that waits for it in the middle of a request (HTTP's 100). It is sent once
    /// for each request, when everything before is answered.
    fn prompt(&self) -> Option<&'static [u8]> {
        None
    }

    /// Whether the server has asked for what the tester holds back: then it need not wait any longer.
    fn goes_on(&self) -> bool {
        false
    }

    /// How many bytes of an unfinished message it holds: a flood is noticed by it.
    fn held(&self) -> usize;

    /// Whether a message was too long to be read, so that nothing more can be read on this connection. Long messages are
    /// legal: the tester hangs up, and nothing is known of what was outstanding.
    fn is_lost(&self) -> bool {
        false
    }
}

/// What was asked in a step and what came of it.
#[derive(Clone, Debug)]
pub struct Exchange<A, M> {
    /// The step of the script, counted from zero.
    pub step: usize,
    /// On which connection.
    pub on: Peer,
    /// What was asked.
    pub ask: A,
    /// The message that was sent for it.
    pub request: M,
    /// What came back.
    pub replies: Vec<M>,
}

/// What a case has done and seen so far.
pub struct Past<P: Protocol + ?Sized> {
    /// In the order of asking.
    pub exchanges: Vec<Exchange<P::Ask, Msg<P>>>,
    /// What came on connections that the server opened, in order, answered or not.
    pub asked: Vec<(Peer, Msg<P>)>,
}

impl<P: Protocol + ?Sized> Default for Past<P> {
    fn default() -> Self {
        Self { exchanges: Vec::new(), asked: Vec::new() }
    }
}

impl<P: Protocol + ?Sized> Clone for Past<P> {
    fn clone(&self) -> Self {
        Self { exchanges: self.exchanges.clone(), asked: self.asked.clone() }
    }
}

impl<P: Protocol + ?Sized> Debug for Past<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Past").field("exchanges", &self.exchanges).field("asked", &self.asked).finish()
    }
}

/// What a generator can look at.
pub struct View<'a, P: Protocol + ?Sized> {
    /// What was asked and answered.
    pub past: &'a Past<P>,
    /// How many steps were done.
    pub steps: usize,
    /// How many connections may compete for the same thing.
    pub connections: u32,
    /// How many the tester may have open if what they ask for has little to do with each other.
    pub wide: u32,
    /// How many answers are outstanding, per connection that the tester opened.
    pub outstanding: &'a [u32],
    /// Requests that the server under test sent to the tester as origin and that were not answered yet.
    pub asked: &'a [(Peer, Msg<P>)],
    /// How many alternatives the tester has open.
    pub alternatives: usize,
    /// How often each of the [branches](Protocol::branches) was reached so far, over the cases of this thread. Nothing where
    /// nobody counts.
    pub reached: &'a [AtomicU64],
    /// How many different answers the live hypotheses would give to this: more than one, and the answer tells them apart. 0
    /// if nobody knows, as while answers are outstanding.
    pub disagreement: &'a dyn Fn(&P::Ask) -> usize,
}

/// Decides what to do next in one case.
pub trait Generator<P: Protocol + ?Sized> {
    /// The next step, or `None` when the case is over. `pick(n)` is a random number below `n`.
    fn next(&mut self, view: &View<'_, P>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<P::Ask>>;

    /// Whether this was done before. Then an ask that refers to something not seen yet waits for it, because last time it
    /// was there, and nothing is added to the script.
    fn is_replay(&self) -> bool {
        false
    }
}
