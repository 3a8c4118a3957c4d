//! Type erasure at the border between protocols and the driver.
//!
//! A [`Protocol`] has types of its own: messages, asks, a reader. The driver works on [`AnyMessage`]s, [`AnyAsk`]s and an
//! [`AnyProtocol`], which hide them, so that a program with many protocols holds one copy of the driver. Every protocol is an
//! `AnyProtocol`; a generator becomes an [`AnyGenerator`] by [`AnyGenerator::new`].

use std::any::Any;
use std::fmt::{self, Debug, Display};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use confute::erased::{AnyModel, SharedMessage};
use confute::lang::{Level, Rule};
use confute::network::Network;
use confute::trace::Event;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::export::{Exports, KeptAny, KeptCase};
use crate::figures::Refusal;
use crate::protocol::{Exchange, Generator, Msg, Past, Protocol, Reader, Side, View};
use crate::script::{Peer, Step};
use crate::talk::{Caller, Surveyed, Talk};
use crate::trouble::Trouble;

/// Panic message for a value of another type. Such a value is a defect: all values of a case come from its
/// protocol.
const ONE_TYPE: &str = "the messages, asks and past of a case are those of its protocol";

/// A message of any protocol. Clones share it.
#[derive(Clone)]
pub struct AnyMessage(Arc<dyn HeldMessage>);

/// The bounds of a message.
trait Content: Clone + Display + Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<M: Clone + Display + Serialize + DeserializeOwned + Send + Sync + 'static> Content for M {}

trait HeldMessage: Any + Display + erased_serde::Serialize + Send + Sync {
    fn share(&self) -> SharedMessage;
    fn like(&self, json: Value) -> Result<AnyMessage, serde_json::Error>;
}

impl<M: Content> HeldMessage for M {
    fn share(&self) -> SharedMessage {
        Rc::new(self.clone())
    }
    fn like(&self, json: Value) -> Result<AnyMessage, serde_json::Error> {
        read::<M>(json).map(AnyMessage::new)
    }
}

impl AnyMessage {
    /// Hides the type of a message.
    pub fn new<M>(message: M) -> Self
    where
        M: Clone + Display + Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        Self(Arc::new(message))
    }

    /// Returns the message if it is of this type.
    pub fn typed<M: 'static>(&self) -> Option<&M> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    fn expect<M: 'static>(&self) -> &M {
        self.typed().expect(ONE_TYPE)
    }

    /// Changes the message. Clones that share it keep the old value.
    fn change<M: Content>(&mut self, change: impl FnOnce(&mut M)) {
        if Arc::get_mut(&mut self.0).is_none() {
            self.0 = Arc::new(self.expect::<M>().clone());
        }
        let held = Arc::get_mut(&mut self.0).and_then(|held| (held as &mut dyn Any).downcast_mut());
        change(held.expect(ONE_TYPE));
    }

    /// Parses a message of the same type from JSON.
    pub fn like(&self, json: Value) -> Result<AnyMessage, serde_json::Error> {
        self.0.like(json)
    }

    /// Returns the message in the form of the engine.
    pub(crate) fn share(&self) -> SharedMessage {
        self.0.share()
    }
}

/// Formats the message as its protocol does: see [`ServerModel`](confute::lang::ServerModel) for the two
/// forms.
impl Display for AnyMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&*self.0, f)
    }
}

/// Formats the text of the message in parentheses, for panics: the type is hidden.
impl Debug for AnyMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyMessage({self})")
    }
}

impl Serialize for AnyMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(&*self.0, serializer)
    }
}

/// Converts an event for the engine.
pub(crate) fn shared(event: &Event<AnyMessage>) -> Event<SharedMessage> {
    event.as_ref().map(AnyMessage::share)
}

/// Converts events for the engine.
pub(crate) fn all_shared(events: &[Event<AnyMessage>]) -> Vec<Event<SharedMessage>> {
    events.iter().map(shared).collect()
}

/// An ask of any protocol. Clones share it.
#[derive(Clone)]
pub struct AnyAsk(Arc<dyn HeldAsk>);

trait HeldAsk: Any + Debug + erased_serde::Serialize + Send + Sync {
    fn is(&self, other: &dyn HeldAsk) -> bool;
}

impl<A: Debug + PartialEq + Serialize + Send + Sync + 'static> HeldAsk for A {
    fn is(&self, other: &dyn HeldAsk) -> bool {
        (other as &dyn Any).downcast_ref::<A>().is_some_and(|other| self == other)
    }
}

impl AnyAsk {
    /// Hides the type of an ask.
    pub fn new<A: Debug + PartialEq + Serialize + Send + Sync + 'static>(ask: A) -> Self {
        Self(Arc::new(ask))
    }

    /// Returns the ask if it is of this type.
    pub fn typed<A: 'static>(&self) -> Option<&A> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    fn expect<A: 'static>(&self) -> &A {
        self.typed().expect(ONE_TYPE)
    }
}

impl Debug for AnyAsk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(&*self.0, f)
    }
}

impl PartialEq for AnyAsk {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(&*other.0)
    }
}

impl Serialize for AnyAsk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(&*self.0, serializer)
    }
}

/// The past of a case of any protocol: the parts that the driver itself reads, and a [`Past`] with the
/// protocol's types.
pub struct AnyPast {
    exchanges: Vec<(usize, AnyMessage)>,
    asked: usize,
    typed: Box<dyn HeldPast>,
}

trait HeldPast: Any {
    fn ask(&mut self, step: usize, on: Peer, ask: &AnyAsk, request: &AnyMessage);
    fn reply(&mut self, place: usize, message: &AnyMessage);
    fn asked(&mut self, peer: Peer, message: &AnyMessage);
}

impl<P: Protocol> HeldPast for Past<P> {
    fn ask(&mut self, step: usize, on: Peer, ask: &AnyAsk, request: &AnyMessage) {
        let (ask, request) = (ask.expect::<P::Ask>().clone(), request.expect::<Msg<P>>().clone());
        self.exchanges.push(Exchange { step, on, ask, request, replies: Vec::new() });
    }
    fn reply(&mut self, place: usize, message: &AnyMessage) {
        if let Some(exchange) = self.exchanges.get_mut(place) {
            exchange.replies.push(message.expect::<Msg<P>>().clone());
        }
    }
    fn asked(&mut self, peer: Peer, message: &AnyMessage) {
        self.asked.push((peer, message.expect::<Msg<P>>().clone()));
    }
}

impl AnyPast {
    pub(crate) fn typed<P: Protocol>(&self) -> &Past<P> {
        (&*self.typed as &dyn Any).downcast_ref().expect(ONE_TYPE)
    }

    /// Returns the number of exchanges.
    pub(crate) fn len(&self) -> usize {
        self.exchanges.len()
    }

    /// Returns the number of messages on connections that the server opened.
    pub(crate) fn asked(&self) -> usize {
        self.asked
    }

    /// Returns the step of an exchange.
    pub(crate) fn step(&self, place: usize) -> Option<usize> {
        self.exchanges.get(place).map(|(step, _)| *step)
    }

    /// Returns the request of an exchange.
    pub(crate) fn request(&self, place: usize) -> Option<&AnyMessage> {
        self.exchanges.get(place).map(|(_, request)| request)
    }

    /// Returns the index of the exchange of a step.
    pub(crate) fn place(&self, step: usize) -> Option<usize> {
        self.exchanges.binary_search_by_key(&step, |(step, _)| *step).ok()
    }

    /// Adds an exchange.
    pub(crate) fn ask(&mut self, step: usize, on: Peer, ask: &AnyAsk, request: AnyMessage) {
        self.typed.ask(step, on, ask, &request);
        self.exchanges.push((step, request));
    }

    /// Adds a response to an exchange.
    pub(crate) fn reply(&mut self, place: usize, message: &AnyMessage) {
        self.typed.reply(place, message);
    }

    /// Adds a message on a connection that the server opened.
    pub(crate) fn was_asked(&mut self, peer: Peer, message: &AnyMessage) {
        self.typed.asked(peer, message);
        self.asked += 1;
    }
}

/// A [`Protocol`] with hidden types. The methods are those of the protocol and its roles.
#[expect(missing_docs, reason = "each method is documented where a protocol implements it")]
pub trait AnyProtocol: Send + Sync {
    fn model(&self) -> AnyModel<'_>;
    fn network(&self) -> &dyn Network;
    fn resolve(&self, ask: &AnyAsk, case: &str, past: &AnyPast) -> Option<AnyMessage>;
    fn encode(&self, message: &AnyMessage, bytes: &mut Vec<u8>);
    fn greet(&self, bytes: &mut Vec<u8>);
    fn reader(&self, side: Side) -> Box<dyn Reader<AnyMessage>>;
    fn conceal(&self, bytes: &mut [u8]);
    /// Creates an empty past.
    fn past(&self) -> AnyPast;
    /// Parses an ask from JSON.
    fn read_ask(&self, json: Value) -> Result<AnyAsk, serde_json::Error>;
    /// Parses a message from JSON.
    fn read_message(&self, json: Value) -> Result<AnyMessage, serde_json::Error>;

    fn answers(&self, message: &AnyMessage) -> u32;
    fn parts(&self, message: &AnyMessage) -> Option<Vec<AnyMessage>>;
    fn completes(&self, reply: &AnyMessage) -> bool;
    fn may_wait(&self, request: &AnyMessage) -> bool;
    fn is_unasked(&self, message: &AnyMessage) -> bool;
    fn has_unasked(&self) -> bool;
    fn announces_end(&self, reply: &AnyMessage) -> bool;
    fn close_is_free(&self) -> bool;
    fn is_last(&self, message: &AnyMessage) -> bool;
    fn is_excused(&self, answer: &AnyMessage) -> bool;
    fn turns_away(&self, first: &AnyMessage) -> bool;
    fn refusal(&self, request: &AnyMessage, reply: &AnyMessage) -> Option<Refusal>;
    fn broken_off(&self, reply: &AnyMessage) -> Option<String>;
    fn stamp(&self, message: &mut AnyMessage, micros: u64);
    fn notice(&self, past: &AnyPast, place: usize, message: &mut AnyMessage);
    fn follows(&self, message: &mut AnyMessage);

    fn probe(&self) -> Option<AnyAsk>;
    fn behind(&self, request: &AnyMessage) -> Option<AnyAsk>;
    fn renumber(&self, ask: &AnyAsk, now: &dyn Fn(usize) -> usize) -> AnyAsk;
    fn simpler(&self, ask: &AnyAsk) -> Vec<AnyAsk>;
    fn plainer(&self, asks: &[&AnyAsk]) -> Vec<Vec<AnyAsk>>;
    fn is_plain(&self, ask: &AnyAsk) -> bool;
    fn variants(&self, ask: &AnyAsk) -> Vec<AnyAsk>;
    fn follow_ups(&self, asks: &[(usize, &AnyAsk)]) -> Vec<AnyAsk>;
    fn look(&self, ask: &AnyAsk) -> Option<AnyAsk>;
    fn is_spontaneous(&self, rule: &Rule) -> bool;
    fn control(&self, rule: &Rule, ask: &AnyAsk) -> Option<AnyAsk>;

    fn belongs(&self, message: &AnyMessage, case: &str) -> bool;
    fn has_single_exchanges(&self) -> bool;
    fn courtesy(&self, request: &AnyMessage) -> Option<AnyMessage>;
    fn suits(&self, ask: &AnyAsk, request: &AnyMessage) -> bool;
    fn unanswered(&self) -> Option<AnyMessage>;
    fn half_closed(&self, answer: &mut AnyMessage);
    fn dropped(&self, request: &mut AnyMessage);
    fn note_causes(&self, reply: &mut AnyMessage, request: &AnyMessage, past: &AnyPast, ended: Option<i64>);

    fn level(&self, rule: &Rule) -> Level;
    fn subject(&self, request: &AnyMessage) -> Option<String>;
    fn subjects(&self, request: &AnyMessage, reply: Option<&AnyMessage>) -> Vec<String>;
    fn spans(&self, request: &AnyMessage, reply: Option<&AnyMessage>) -> bool;
    fn is_idle(&self, request: &AnyMessage, reply: Option<&AnyMessage>) -> bool;
    fn annotate(&self, trace: &mut [Event<AnyMessage>]);
    fn alone(&self, trace: &[Event<AnyMessage>]) -> Option<Vec<Event<AnyMessage>>>;
    fn branches(&self) -> Vec<String>;
    /// Returns the branch that the exchange at this index of the past reached.
    fn reached(&self, past: &AnyPast, place: usize) -> Option<usize>;

    fn survey(&self, caller: &Caller, relaxed: &[&'static str], stop: &AtomicBool) -> Surveyed;
    fn waives(&self, caller: &Caller) -> Vec<&'static str>;
    fn plant(&self, caller: &Caller) -> bool;
    fn canary(&self, caller: &Caller) -> Result<Option<String>, Trouble>;
    fn prepare(&self, case: &str, caller: &Caller) -> Result<(), Trouble>;

    fn exports(&self, kept: &KeptAny<'_>) -> Exports;
}

impl<P: Protocol> AnyProtocol for P {
    fn model(&self) -> AnyModel<'_> {
        AnyModel::new(Protocol::model(self))
    }
    fn network(&self) -> &dyn Network {
        Protocol::network(self)
    }
    fn resolve(&self, ask: &AnyAsk, case: &str, past: &AnyPast) -> Option<AnyMessage> {
        Protocol::resolve(self, ask.expect(), case, past.typed::<P>()).map(AnyMessage::new)
    }
    fn encode(&self, message: &AnyMessage, bytes: &mut Vec<u8>) {
        Protocol::encode(self, message.expect(), bytes);
    }
    fn greet(&self, bytes: &mut Vec<u8>) {
        Protocol::greet(self, bytes);
    }
    fn reader(&self, side: Side) -> Box<dyn Reader<AnyMessage>> {
        Box::new(TypedReader { reader: Protocol::reader(self, side), messages: Vec::<Msg<P>>::new() })
    }
    fn conceal(&self, bytes: &mut [u8]) {
        Protocol::conceal(self, bytes);
    }
    fn past(&self) -> AnyPast {
        AnyPast { exchanges: Vec::new(), asked: 0, typed: Box::new(Past::<P>::default()) }
    }
    fn read_ask(&self, json: Value) -> Result<AnyAsk, serde_json::Error> {
        read::<P::Ask>(json).map(AnyAsk::new)
    }
    fn read_message(&self, json: Value) -> Result<AnyMessage, serde_json::Error> {
        read::<Msg<P>>(json).map(AnyMessage::new)
    }

    fn answers(&self, message: &AnyMessage) -> u32 {
        self.dialogue().answers(message.expect())
    }
    fn parts(&self, message: &AnyMessage) -> Option<Vec<AnyMessage>> {
        let parts = self.dialogue().parts(message.expect())?;
        Some(parts.into_iter().map(AnyMessage::new).collect())
    }
    fn completes(&self, reply: &AnyMessage) -> bool {
        self.dialogue().completes(reply.expect())
    }
    fn may_wait(&self, request: &AnyMessage) -> bool {
        self.dialogue().may_wait(request.expect())
    }
    fn is_unasked(&self, message: &AnyMessage) -> bool {
        self.dialogue().is_unasked(message.expect())
    }
    fn has_unasked(&self) -> bool {
        self.dialogue().has_unasked()
    }
    fn announces_end(&self, reply: &AnyMessage) -> bool {
        self.dialogue().announces_end(reply.expect())
    }
    fn close_is_free(&self) -> bool {
        self.dialogue().close_is_free()
    }
    fn is_last(&self, message: &AnyMessage) -> bool {
        self.dialogue().is_last(message.expect())
    }
    fn is_excused(&self, answer: &AnyMessage) -> bool {
        self.dialogue().is_excused(answer.expect())
    }
    fn turns_away(&self, first: &AnyMessage) -> bool {
        self.dialogue().turns_away(first.expect())
    }
    fn refusal(&self, request: &AnyMessage, reply: &AnyMessage) -> Option<Refusal> {
        self.dialogue().refusal(request.expect(), reply.expect())
    }
    fn broken_off(&self, reply: &AnyMessage) -> Option<String> {
        self.dialogue().broken_off(reply.expect())
    }
    fn stamp(&self, message: &mut AnyMessage, micros: u64) {
        message.change(|message| self.dialogue().stamp(message, micros));
    }
    fn notice(&self, past: &AnyPast, place: usize, message: &mut AnyMessage) {
        message.change(|message| self.dialogue().notice(past.typed::<P>(), place, message));
    }
    fn follows(&self, message: &mut AnyMessage) {
        message.change(|message| self.dialogue().follows(message));
    }

    fn probe(&self) -> Option<AnyAsk> {
        self.asks().probe().map(AnyAsk::new)
    }
    fn behind(&self, request: &AnyMessage) -> Option<AnyAsk> {
        self.asks().behind(request.expect()).map(AnyAsk::new)
    }
    fn renumber(&self, ask: &AnyAsk, now: &dyn Fn(usize) -> usize) -> AnyAsk {
        AnyAsk::new(self.asks().renumber(ask.expect(), now))
    }
    fn simpler(&self, ask: &AnyAsk) -> Vec<AnyAsk> {
        self.asks().simpler(ask.expect()).into_iter().map(AnyAsk::new).collect()
    }
    fn plainer(&self, asks: &[&AnyAsk]) -> Vec<Vec<AnyAsk>> {
        let asks: Vec<&P::Ask> = asks.iter().map(|ask| ask.expect()).collect();
        let plainer = self.asks().plainer(&asks).into_iter();
        plainer.map(|asks| asks.into_iter().map(AnyAsk::new).collect()).collect()
    }
    fn variants(&self, ask: &AnyAsk) -> Vec<AnyAsk> {
        self.asks().variants(ask.expect()).into_iter().map(AnyAsk::new).collect()
    }
    fn follow_ups(&self, asks: &[(usize, &AnyAsk)]) -> Vec<AnyAsk> {
        let asks: Vec<(usize, &P::Ask)> = asks.iter().map(|(step, ask)| (*step, ask.expect())).collect();
        self.asks().follow_ups(&asks).into_iter().map(AnyAsk::new).collect()
    }
    fn look(&self, ask: &AnyAsk) -> Option<AnyAsk> {
        self.asks().look(ask.expect()).map(AnyAsk::new)
    }
    fn is_spontaneous(&self, rule: &Rule) -> bool {
        self.evidence().is_spontaneous(rule)
    }
    fn control(&self, rule: &Rule, ask: &AnyAsk) -> Option<AnyAsk> {
        self.evidence().control(rule, ask.expect()).map(AnyAsk::new)
    }
    fn is_plain(&self, ask: &AnyAsk) -> bool {
        self.asks().is_plain(ask.expect())
    }

    fn belongs(&self, message: &AnyMessage, case: &str) -> bool {
        self.upstream().belongs(message.expect(), case)
    }
    fn has_single_exchanges(&self) -> bool {
        self.upstream().has_single_exchanges()
    }
    fn courtesy(&self, request: &AnyMessage) -> Option<AnyMessage> {
        self.upstream().courtesy(request.expect()).map(AnyMessage::new)
    }
    fn suits(&self, ask: &AnyAsk, request: &AnyMessage) -> bool {
        self.upstream().suits(ask.expect(), request.expect())
    }
    fn unanswered(&self) -> Option<AnyMessage> {
        self.upstream().unanswered().map(AnyMessage::new)
    }
    fn half_closed(&self, answer: &mut AnyMessage) {
        answer.change(|answer| self.upstream().half_closed(answer));
    }
    fn dropped(&self, request: &mut AnyMessage) {
        request.change(|request| self.upstream().dropped(request));
    }
    fn note_causes(&self, reply: &mut AnyMessage, request: &AnyMessage, past: &AnyPast, ended: Option<i64>) {
        reply.change(|reply| {
            self.upstream().note_causes(reply, request.expect(), past.typed::<P>(), ended);
        });
    }

    fn level(&self, rule: &Rule) -> Level {
        self.evidence().level(rule)
    }
    fn subject(&self, request: &AnyMessage) -> Option<String> {
        self.evidence().subject(request.expect())
    }
    fn subjects(&self, request: &AnyMessage, reply: Option<&AnyMessage>) -> Vec<String> {
        self.evidence().subjects(request.expect(), reply.map(AnyMessage::expect))
    }
    fn spans(&self, request: &AnyMessage, reply: Option<&AnyMessage>) -> bool {
        self.evidence().spans(request.expect(), reply.map(AnyMessage::expect))
    }
    fn is_idle(&self, request: &AnyMessage, reply: Option<&AnyMessage>) -> bool {
        self.evidence().is_idle(request.expect(), reply.map(AnyMessage::expect))
    }
    fn annotate(&self, trace: &mut [Event<AnyMessage>]) {
        let mut typed = typed_events::<Msg<P>>(trace);
        self.evidence().annotate(&mut typed);
        for (event, typed) in trace.iter_mut().zip(typed) {
            *event = typed.map(AnyMessage::new);
        }
    }
    fn alone(&self, trace: &[Event<AnyMessage>]) -> Option<Vec<Event<AnyMessage>>> {
        let alone = self.evidence().alone(&typed_events::<Msg<P>>(trace))?;
        Some(alone.into_iter().map(|event| event.map(AnyMessage::new)).collect())
    }
    fn branches(&self) -> Vec<String> {
        self.evidence().branches()
    }
    fn reached(&self, past: &AnyPast, place: usize) -> Option<usize> {
        self.evidence().reached(past.typed::<P>().exchanges.get(place)?)
    }

    fn survey(&self, caller: &Caller, relaxed: &[&'static str], stop: &AtomicBool) -> Surveyed {
        let talk = Talk::new(self, caller.clone()).relaxing(relaxed).until(stop);
        let said = self.setup().survey(&talk);
        Surveyed { said, cases: talk.into_cases() }
    }
    fn waives(&self, caller: &Caller) -> Vec<&'static str> {
        self.setup().waives(&Talk::new(self, caller.clone()))
    }
    fn plant(&self, caller: &Caller) -> bool {
        self.setup().plant(&Talk::new(self, caller.clone()))
    }
    fn canary(&self, caller: &Caller) -> Result<Option<String>, Trouble> {
        self.setup().canary(&Talk::new(self, caller.clone()))
    }
    fn prepare(&self, case: &str, caller: &Caller) -> Result<(), Trouble> {
        self.setup().prepare(case, &Talk::new(self, caller.clone()))
    }

    fn exports(&self, kept: &KeptAny<'_>) -> Exports {
        let script = typed_steps::<P::Ask>(kept.script);
        let trace = typed_events::<Msg<P>>(kept.trace);
        let judge = |events: &[Event<Msg<P>>], also: &[&'static str]| {
            let events: Vec<_> = events.iter().map(|event| event.clone().map(AnyMessage::new)).collect();
            (kept.judge)(&events, also)
        };
        self.exporting().exports(&KeptCase::of(kept, &script, &trace, &judge))
    }
}

fn read<T: DeserializeOwned>(json: Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(json)
}

/// Converts a trace to the types of its protocol.
///
/// # Panics
/// If its messages are of another type.
pub fn typed_events<M: Clone + 'static>(trace: &[Event<AnyMessage>]) -> Vec<Event<M>> {
    trace.iter().map(|event| event.as_ref().map(|message| message.expect::<M>().clone())).collect()
}

/// Converts a script to the types of its protocol.
///
/// # Panics
/// If its asks are of another type.
pub fn typed_steps<A: Clone + 'static>(script: &[Step<AnyAsk>]) -> Vec<Step<A>> {
    script.iter().map(|step| step.clone().map(|ask| ask.expect::<A>().clone())).collect()
}

/// Reader that hides the type of its messages.
struct TypedReader<R, M> {
    reader: R,
    messages: Vec<M>,
}

impl<R, M: Content> TypedReader<R, M> {
    fn hand_over(&mut self, messages: &mut Vec<AnyMessage>) {
        messages.extend(self.messages.drain(..).map(AnyMessage::new));
    }
}

impl<R, M> Reader<AnyMessage> for TypedReader<R, M>
where
    R: Reader<M>,
    M: Content,
{
    fn sent(&mut self, message: &AnyMessage) {
        self.reader.sent(message.expect());
    }
    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<AnyMessage>) {
        self.reader.feed(bytes, &mut self.messages);
        self.hand_over(messages);
    }
    fn end(&mut self, orderly: bool, messages: &mut Vec<AnyMessage>) {
        self.reader.end(orderly, &mut self.messages);
        self.hand_over(messages);
    }
    fn stalled(&mut self, silence: Duration, messages: &mut Vec<AnyMessage>) {
        self.reader.stalled(silence, &mut self.messages);
        self.hand_over(messages);
    }
    fn amend(&self, bytes: &mut Vec<u8>, from: usize) {
        self.reader.amend(bytes, from);
    }
    fn prompt(&self) -> Option<&'static [u8]> {
        self.reader.prompt()
    }
    fn goes_on(&self) -> bool {
        self.reader.goes_on()
    }
    fn has_head(&self) -> bool {
        self.reader.has_head()
    }
    fn held(&self) -> usize {
        self.reader.held()
    }
    fn is_lost(&self) -> bool {
        self.reader.is_lost()
    }
}

/// A generator's view of a case, with hidden types. See [`View`].
pub(crate) struct AnyView<'a> {
    pub(crate) past: &'a AnyPast,
    pub(crate) steps: usize,
    pub(crate) connections: u32,
    pub(crate) wide: u32,
    pub(crate) outstanding: &'a [u32],
    pub(crate) asked: &'a [(Peer, AnyMessage)],
    pub(crate) alternatives: usize,
    pub(crate) reached: &'a [AtomicU64],
    pub(crate) disagreement: &'a dyn Fn(&AnyAsk) -> usize,
}

/// A generator of any protocol.
pub struct AnyGenerator<'g>(Box<dyn HeldGenerator + 'g>);

trait HeldGenerator {
    fn next(&mut self, view: &AnyView<'_>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<AnyAsk>>;
    fn is_replay(&self) -> bool;
}

impl<'g> AnyGenerator<'g> {
    /// Hides the protocol of a generator.
    pub fn new<P: Protocol>(generator: impl Generator<P> + 'g) -> Self {
        Self(Box::new(TypedGenerator { generator, protocol: PhantomData::<fn() -> P> }))
    }

    /// Creates a generator that repeats a script.
    pub fn replay(steps: Vec<Step<AnyAsk>>) -> Self {
        Self(Box::new(steps.into_iter()))
    }

    pub(crate) fn next(
        &mut self,
        view: &AnyView<'_>,
        pick: &mut dyn FnMut(u64) -> u64,
    ) -> Option<Step<AnyAsk>> {
        self.0.next(view, pick)
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.0.is_replay()
    }
}

impl HeldGenerator for std::vec::IntoIter<Step<AnyAsk>> {
    fn next(&mut self, _: &AnyView<'_>, _: &mut dyn FnMut(u64) -> u64) -> Option<Step<AnyAsk>> {
        Iterator::next(self)
    }
    fn is_replay(&self) -> bool {
        true
    }
}

struct TypedGenerator<P, G> {
    generator: G,
    protocol: PhantomData<fn() -> P>,
}

impl<P: Protocol, G: Generator<P>> HeldGenerator for TypedGenerator<P, G> {
    fn next(&mut self, view: &AnyView<'_>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<AnyAsk>> {
        let asked: Vec<_> = view.asked.iter().map(|(peer, message)| (*peer, message.expect())).collect();
        let disagreement = |ask: &P::Ask| (view.disagreement)(&AnyAsk::new(ask.clone()));
        let AnyView { past, steps, connections, wide, outstanding, alternatives, reached, .. } = *view;
        let view = View {
            past: past.typed::<P>(),
            steps,
            connections,
            wide,
            outstanding,
            asked: &asked,
            alternatives,
            reached,
            disagreement: &disagreement,
        };
        self.generator.next(&view, pick).map(|step| step.map(AnyAsk::new))
    }
    fn is_replay(&self) -> bool {
        self.generator.is_replay()
    }
}
