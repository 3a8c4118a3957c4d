//! The border between models and the engine, and the engine for programs that hold many models.
//!
//! [`Tester`](crate::Tester), [`judge`](crate::judge()) and their like are typed faces of the functions here: use those unless your
//! program, like a driver for any protocol, cannot name the types of its model.
//!
//! A model has types of its own: what travels ([`ServerModel::Msg`]), what it sends ([`ServerModel::Out`]). The engine works on
//! [`Message`]s and [`Letter`]s, which hide them, so that a program with many models holds one copy of the search. Each call
//! across the border compares types first: values of two models are never equal. A fingerprint is made of the value alone; no
//! type id and no address enters it.

use std::any::Any;
use std::fmt::{self, Display};
use std::hash::Hash;
use std::marker::PhantomData;
use std::rc::Rc;

use crate::derive::turn::Runner;
pub use crate::engine::Engine;
use crate::engine::{self, Options};
use crate::explain::{self, Depth, Reasons};
use crate::fingerprint::Fingerprint;
use crate::knowledge::{Knowledge, Value, Var};
use crate::lang::{Incoming, Io, Mismatch, Pattern, Rule, ServerModel, Turn};
use crate::network::Network;
use crate::trace::Event;
use crate::verdict::{Blame, Diagnosis, Refutation, Verdict};

/// A message of any model, fully known.
pub(crate) type Message = dyn Opaque;

/// A message whose type is hidden, shared.
pub type SharedMessage = Rc<dyn Opaque>;

/// A message whose type is hidden. It is not `Display` itself: then a shared message would be a message too, and could be
/// taken for the one it holds.
pub trait Opaque: Any {
    /// Writes the message for people: see [`ServerModel`] for the two forms.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<M: Any + Display> Opaque for M {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// The text of a message whose type is hidden.
pub(crate) struct Shown<'a>(pub(crate) &'a Message);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show(f)
    }
}

/// Whether it is a message of this type, and which.
pub(crate) fn typed<M: 'static>(message: &Message) -> Option<&M> {
    (message as &dyn Any).downcast_ref()
}

impl Incoming<Message> {
    /// The same for the model whose messages these are.
    ///
    /// # Panics
    /// If the message is of another type: a [`Tester`](crate::Tester) gives its model what its events hold, which is of one type.
    pub(crate) fn typed<M: 'static>(self) -> Incoming<M> {
        match self {
            Incoming::Message(message) => {
                let message = Rc::downcast::<M>(message as Rc<dyn Any>);
                Incoming::Message(message.expect("a tester's events and its model have one type of messages"))
            }
            Incoming::Closed => Incoming::Closed,
        }
    }
}

/// An event without the type of its message. The message is shared.
pub(crate) fn event<M: Clone + Display + 'static>(event: &Event<M>) -> Event<Rc<Message>> {
    event.as_ref().map(|message| Rc::new(message.clone()) as Rc<Message>)
}

/// Events without the type of their messages.
pub(crate) fn events<M: Clone + Display + 'static>(events: &[Event<M>]) -> Vec<Event<Rc<Message>>> {
    events.iter().map(event).collect()
}

/// What any model sends: a message that may have unknown parts. See [`Pattern`].
pub(crate) trait Letter: Any + Display {
    fn unify(&self, seen: &Message, facts: &mut Knowledge) -> Result<(), Mismatch>;
    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Rc<Message>;
    fn vars(&self, visit: &mut dyn FnMut(Var));
    fn fingerprint(&self) -> Fingerprint;
    fn is(&self, other: &dyn Letter) -> bool;
}

/// What a model sends, with the type of what travels.
struct Sent<M, O> {
    message: O,
    travels: PhantomData<fn() -> M>,
}

/// What a model sends, for the engine: in a letter that is no longer needed, if it is of the right type. Most letters are
/// looked at once, so the search would spend much of its time on allocation.
pub(crate) fn letter<M: Display + 'static, O: Pattern<M> + Display>(
    message: O,
    spare: Option<Box<dyn Letter>>,
) -> Box<dyn Letter> {
    if let Some(mut spare) = spare
        && let Some(letter) = (&mut *spare as &mut dyn Any).downcast_mut::<Sent<M, O>>()
    {
        letter.message = message;
        return spare;
    }
    Box::new(Sent { message, travels: PhantomData::<fn() -> M> })
}

impl<M, O: Display> Display for Sent<M, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

impl<M: Display + 'static, O: Pattern<M> + Display + Hash> Letter for Sent<M, O> {
    fn unify(&self, seen: &Message, facts: &mut Knowledge) -> Result<(), Mismatch> {
        self.message.unify(typed(seen).ok_or(Mismatch)?, facts)
    }
    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Rc<Message> {
        Rc::new(self.message.instantiate(value))
    }
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        self.message.vars(visit);
    }
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.message)
    }
    fn is(&self, other: &dyn Letter) -> bool {
        (other as &dyn Any).downcast_ref::<Self>().is_some_and(|other| self.message == other.message)
    }
}

/// A model whose types are hidden.
#[derive(Clone, Copy)]
pub struct AnyModel<'m>(&'m dyn Model);

impl<'m> AnyModel<'m> {
    /// Hides the types of a model. Events that are judged by it have to hold messages of its own type.
    pub fn new<S: ServerModel>(model: &'m S) -> Self {
        Self(model)
    }

    /// The rules of the model.
    pub fn rules(self) -> &'static [Rule] {
        self.0.rules()
    }

    /// Derives a tester from the model and one of the network.
    pub fn tester(self, network: &'m dyn Network, options: Options<'m>) -> Engine<'m> {
        Engine::new(self.0, network, options)
    }

    /// Judges a whole trace: see [`judge`](crate::judge()).
    pub fn judge(
        self,
        network: &dyn Network,
        events: &[Event<SharedMessage>],
        options: &Options<'_>,
    ) -> Verdict {
        engine::judge(self.0, network, events, options)
    }

    /// Adds to a refutation what was expected: see [`explain`](crate::explain).
    pub fn explain(
        self,
        network: &dyn Network,
        events: &[Event<SharedMessage>],
        refutation: &Refutation,
        options: &Options<'_>,
    ) -> Refutation {
        explain::explain_erased(self.0, network, events, refutation, options)
    }

    /// Blames the last of these traces: see [`blame_by_parts`](crate::blame_by_parts).
    pub fn blame_by_parts(
        self,
        network: &dyn Network,
        parts: &[&[Event<SharedMessage>]],
        options: &Options<'_>,
        depth: Depth,
    ) -> Blame {
        explain::blame_erased(self.0, network, parts, options, depth)
    }

    /// The proof that nothing explains these events: see [`reasons`](crate::reasons).
    pub fn reasons(
        self,
        network: &dyn Network,
        events: &[Event<SharedMessage>],
        diagnoses: &[Diagnosis],
        options: &Options<'_>,
    ) -> Option<Reasons> {
        explain::reasons_of(self.0, network, events, diagnoses, options)
    }
}

/// Any model. See [`ServerModel`].
pub(crate) trait Model {
    fn serve(&self, runner: &mut Runner<'_>) -> Turn;
    fn internal(&self, runner: &mut Runner<'_>) -> Turn;
    fn may_grow_into(&self, sent: &dyn Letter, seen: &Message) -> bool;
    fn is_parallel(&self, request: &Message) -> bool;
    fn concerns(&self, rule: &Rule, message: &Message) -> bool;
    fn is_habitual(&self, rule: &Rule) -> bool;
    fn name(&self) -> &'static str;
    fn rules(&self) -> &'static [Rule];
}

impl<S: ServerModel> Model for S {
    fn serve(&self, runner: &mut Runner<'_>) -> Turn {
        ServerModel::serve(self, &mut Io::new(runner))
    }
    fn internal(&self, runner: &mut Runner<'_>) -> Turn {
        ServerModel::internal(self, &mut Io::new(runner))
    }
    fn may_grow_into(&self, sent: &dyn Letter, seen: &Message) -> bool {
        match ((sent as &dyn Any).downcast_ref::<Sent<S::Msg, S::Out>>(), typed(seen)) {
            (Some(sent), Some(seen)) => ServerModel::may_grow_into(self, &sent.message, seen),
            _ => true,
        }
    }
    fn is_parallel(&self, request: &Message) -> bool {
        typed(request).is_some_and(|request| ServerModel::is_parallel(self, request))
    }
    fn concerns(&self, rule: &Rule, message: &Message) -> bool {
        typed(message).is_none_or(|message| ServerModel::concerns(self, rule, message))
    }
    fn is_habitual(&self, rule: &Rule) -> bool {
        ServerModel::is_habitual(self, rule)
    }
    fn name(&self) -> &'static str {
        ServerModel::name(self)
    }
    fn rules(&self) -> &'static [Rule] {
        ServerModel::rules(self)
    }
}
