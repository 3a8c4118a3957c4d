//! The boundary between models and the engine, and the engine for programs that hold many models.
//!
//! [`Tester`](crate::Tester), [`judge`](crate::judge()) and their like are typed interfaces of the functions here:
//! use those unless your program, like a driver for any protocol, cannot name the types of its model.
//!
//! A model has types of its own: the messages on the wire ([`ServerModel::Msg`]) and the messages that it sends
//! ([`ServerModel::Out`]). The engine works on `Message`s and `Letter`s, which hide them, so that a program with
//! many models holds one copy of the search. Each call across the boundary compares types first: values of two models
//! are never equal. A fingerprint is made of the value alone; no type id and no address enters it.

use std::any::{Any, type_name};
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
use crate::lang::{About, Incoming, Io, Mismatch, Pattern, Rule, ServerModel, Turn, attributed};
use crate::network::Network;
use crate::trace::Event;
use crate::verdict::{Blame, Diagnosis, Refutation, Verdict};

/// A message of any model, fully known.
pub(crate) type Message = dyn Opaque;

/// A shared message whose type is hidden.
pub type SharedMessage = Rc<dyn Opaque>;

/// A message whose type is hidden. It is not `Display` itself: otherwise a shared message would be a message too, and
/// could be taken for the one it holds.
pub trait Opaque: Any {
    /// Writes the message for people: see [`ServerModel`] for the two forms.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<M: Any + Display> Opaque for M {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        attributed(type_name::<M>(), "Display", || Display::fmt(self, f))
    }
}

/// The text of a message whose type is hidden.
pub(crate) struct Shown<'a>(pub(crate) &'a Message);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show(f)
    }
}

/// Returns the message if it is of this type.
pub(crate) fn typed<M: 'static>(message: &Message) -> Option<&M> {
    (message as &dyn Any).downcast_ref()
}

impl Incoming<Message> {
    /// Converts the message to the type of the model that it belongs to.
    ///
    /// # Panics
    /// If the message is of another type: a [`Tester`](crate::Tester) gives its model the messages of its events,
    /// which are of one type.
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

/// Hides the type of an event's message. The message is shared.
pub(crate) fn event<M: Clone + Display + 'static>(event: &Event<M>) -> Event<Rc<Message>> {
    event.as_ref().map(|message| Rc::new(message.clone()) as Rc<Message>)
}

/// Hides the type of the events' messages.
pub(crate) fn events<M: Clone + Display + 'static>(events: &[Event<M>]) -> Vec<Event<Rc<Message>>> {
    events.iter().map(event).collect()
}

/// A message that a model sends, with its type hidden; it may have unknown parts. See [`Pattern`].
pub(crate) trait Letter: Any + Display {
    fn unify(&self, seen: &Message, facts: &mut Knowledge) -> Result<(), Mismatch>;
    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Rc<Message>;
    fn vars(&self, visit: &mut dyn FnMut(Var));
    fn fingerprint(&self) -> Fingerprint;
    fn is(&self, other: &dyn Letter) -> bool;
    #[cfg(feature = "faults")]
    fn copied(&self) -> Box<dyn Letter>;
}

/// A message that a model sends, with the type of the messages on the wire.
struct Sent<M, O> {
    message: O,
    travels: PhantomData<fn() -> M>,
}

/// Hides the type of a message that a model sends. Reuses a letter that is no longer needed, if it has the right
/// type: most letters are used once, so the search would otherwise spend much of its time on allocation.
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
        attributed(type_name::<O>(), "Display", || self.message.fmt(f))
    }
}

impl<M: Display + 'static, O: Pattern<M> + Display + Hash> Letter for Sent<M, O> {
    fn unify(&self, seen: &Message, facts: &mut Knowledge) -> Result<(), Mismatch> {
        let seen = typed(seen).ok_or(Mismatch)?;
        attributed(type_name::<O>(), "Pattern::unify", || self.message.unify(seen, facts))
    }
    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Rc<Message> {
        Rc::new(attributed(type_name::<O>(), "Pattern::instantiate", || self.message.instantiate(value)))
    }
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        attributed(type_name::<O>(), "Pattern::vars", || self.message.vars(visit));
    }
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.message)
    }
    #[cfg(feature = "faults")]
    fn copied(&self) -> Box<dyn Letter> {
        letter::<M, O>(self.message.clone(), None)
    }
    fn is(&self, other: &dyn Letter) -> bool {
        (other as &dyn Any).downcast_ref::<Self>().is_some_and(|other| self.message == other.message)
    }
}

/// A message that the model does not describe: any message explains it.
pub(crate) struct Anything;

impl Display for Anything {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any response")
    }
}

impl Letter for Anything {
    fn unify(&self, _: &Message, _: &mut Knowledge) -> Result<(), Mismatch> {
        Ok(())
    }
    fn instantiate(&self, _: &mut dyn FnMut(Var) -> Value) -> Rc<Message> {
        // It is only shown.
        Rc::new(Self)
    }
    fn vars(&self, _: &mut dyn FnMut(Var)) {}
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&0xa9_u8)
    }
    #[cfg(feature = "faults")]
    fn copied(&self) -> Box<dyn Letter> {
        Box::new(Self)
    }
    fn is(&self, other: &dyn Letter) -> bool {
        (other as &dyn Any).is::<Self>()
    }
}

/// A model whose types are hidden.
#[derive(Clone, Copy)]
pub struct AnyModel<'m>(&'m dyn Model);

impl<'m> AnyModel<'m> {
    /// Hides the types of a model. Events that are judged by it must hold messages of its own type.
    pub fn new<S: ServerModel>(model: &'m S) -> Self {
        Self(model)
    }

    /// Returns the rules of the model.
    pub fn rules(self) -> &'static [Rule] {
        self.0.rules()
    }

    /// Returns `true` if the number of deviations from this rule is no evidence (`ServerModel::is_habitual`).
    pub fn is_habitual(self, rule: &Rule) -> bool {
        self.0.is_habitual(rule)
    }

    /// Derives a tester from the model and a network model.
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

    /// Adds the expected responses to a refutation: see [`explain`](crate::explain()).
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

    /// Proves that nothing explains these events: see [`reasons`](crate::reasons).
    pub fn reasons(
        self,
        network: &dyn Network,
        events: &[Event<SharedMessage>],
        diagnoses: &[Diagnosis],
        options: &Options<'_>,
    ) -> Option<Reasons> {
        explain::reasons_of(self.0, network, events, diagnoses, options)
    }

    /// Returns the indices of sent messages whose exchanges contradict each other by themselves; `None` if nothing
    /// refutes the events within the budget.
    pub fn core(
        self,
        network: &dyn Network,
        events: &[Event<SharedMessage>],
        options: &Options<'_>,
    ) -> Option<Vec<usize>> {
        explain::core_of(self.0, network, events, options)
    }
}

/// A model whose types are hidden, as the engine sees it. See [`ServerModel`].
pub(crate) trait Model {
    fn serve(&self, runner: &mut Runner<'_>) -> Turn;
    fn internal(&self, runner: &mut Runner<'_>) -> Turn;
    fn may_grow_into(&self, sent: &dyn Letter, seen: &Message) -> bool;
    fn is_parallel(&self, request: &Message) -> bool;
    fn concerns(&self, rule: &Rule, message: &Message) -> bool;
    fn is_habitual(&self, rule: &Rule) -> bool;
    fn told(&self, response: &Message, visit: &mut dyn FnMut(Value));
    fn about(&self, request: &Message, response: Option<&Message>) -> About;
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
            (Some(sent), Some(seen)) => {
                attributed(ServerModel::name(self), "ServerModel::may_grow_into", || {
                    ServerModel::may_grow_into(self, &sent.message, seen)
                })
            }
            _ => true,
        }
    }
    fn is_parallel(&self, request: &Message) -> bool {
        let asked = |request| {
            attributed(ServerModel::name(self), "ServerModel::is_parallel", || {
                ServerModel::is_parallel(self, request)
            })
        };
        typed(request).is_some_and(asked)
    }
    fn concerns(&self, rule: &Rule, message: &Message) -> bool {
        let asked = |message| {
            attributed(ServerModel::name(self), "ServerModel::concerns", || {
                ServerModel::concerns(self, rule, message)
            })
        };
        typed(message).is_none_or(asked)
    }
    fn is_habitual(&self, rule: &Rule) -> bool {
        attributed(ServerModel::name(self), "ServerModel::is_habitual", || {
            ServerModel::is_habitual(self, rule)
        })
    }
    fn told(&self, response: &Message, visit: &mut dyn FnMut(Value)) {
        if let Some(response) = typed(response) {
            attributed(ServerModel::name(self), "ServerModel::told", || {
                ServerModel::told(self, response, visit);
            });
        }
    }
    fn about(&self, request: &Message, response: Option<&Message>) -> About {
        let asked = |request, response| {
            attributed(ServerModel::name(self), "ServerModel::about", || {
                ServerModel::about(self, request, response)
            })
        };
        match (typed(request), response.map(typed)) {
            (Some(request), None) => asked(request, None),
            (Some(request), Some(Some(response))) => asked(request, Some(response)),
            _ => About::Anything,
        }
    }
    fn name(&self) -> &'static str {
        ServerModel::name(self)
    }
    fn rules(&self) -> &'static [Rule] {
        ServerModel::rules(self)
    }
}
