//! Traffic off the shelf.
//!
//! The author lists the kinds of request with their weights. [`Mix`] adds what finds bugs: a plain opening, many connections, bursts
//! sent at one moment, requests that meet at one name, pipelines, responses that are read late, barriers; references to values
//! that are current, outdated, of other names, or made up; and requests about which the live hypotheses disagree, so that the response
//! decides between them.
//!
//! Where requests wait for others, the traffic goes on on other connections: see [`waiting`].

mod draw;
mod moods;
mod preview;
pub(crate) mod references;
mod waiting;

use std::sync::Arc;

use crate::message::{Message, Role};
use crate::name::Name;

pub use draw::Draw;
pub(crate) use moods::Traffic;
use references::Weights;
use waiting::Waiting;

type Maker<M> = Arc<dyn Fn(&mut Draw<'_>) -> M + Send + Sync>;
type SequenceMaker<M> = Arc<dyn Fn(&mut Draw<'_>) -> Vec<M> + Send + Sync>;
type LastMaker<M> = Arc<dyn Fn(Name) -> M + Send + Sync>;

/// The traffic of a service: kinds of requests with weights, and how they meet.
///
/// ```
/// use confute_service::{Message, Mix, Name};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)]
/// enum Counter {
///     #[request("INCR {} {}")]
///     Incr(Name, u32),
///     #[request("GET {}", reads)]
///     Get(Name),
///     #[response("{}")]
///     Count(u32),
///     #[unreadable]
///     Odd(String),
/// }
///
/// // Every kind of request as often, with fields drawn by their types:
/// let mix = Mix::<Counter>::all();
/// // Three times as many increments, by small numbers:
/// let mix = Mix::new()
///     .kind(3, |draw| Counter::Incr(draw.name(), 1 + draw.below(3) as u32))
///     .kind(1, |draw| Counter::Get(draw.name()));
/// // A look, and a write behind it on the same connection; at the end of a case every name is read once more:
/// let mix = mix
///     .sequence(1, |draw| {
///         let name = draw.name();
///         vec![Counter::Get(name.clone()), Counter::Incr(name, 1)]
///     })
///     .last(Counter::Get);
/// // Long cases in which many requests meet at two names:
/// let mix = mix.names(2).requests(1_000).outstanding(16);
/// ```
pub struct Mix<M> {
    kinds: Vec<(u32, Maker<M>)>,
    sequences: Vec<(u32, SequenceMaker<M>)>,
    last: Option<LastMaker<M>>,
    pub(crate) names: u32,
    requests: usize,
    outstanding: usize,
    is_flooding: bool,
    pub(crate) weights: Weights,
    /// Requests that wait, and those that wake them, as the model has shown.
    waiting: Waiting,
}

impl<M> Clone for Mix<M> {
    fn clone(&self) -> Self {
        let Self { kinds, sequences, last, names, requests, outstanding, is_flooding, weights, waiting } =
            self;
        Self {
            kinds: kinds.clone(),
            sequences: sequences.clone(),
            last: last.clone(),
            names: *names,
            requests: *requests,
            outstanding: *outstanding,
            is_flooding: *is_flooding,
            weights: *weights,
            waiting: waiting.clone(),
        }
    }
}

impl<M: Message> Default for Mix<M> {
    fn default() -> Self {
        Self::all()
    }
}

impl<M: Message> Mix<M> {
    /// Returns traffic without requests, to add kinds to.
    pub fn new() -> Self {
        let weights = Weights { fresh: 12, stale: 3, foreign: 2, made_up: 1 };
        let (kinds, sequences, last) = (Vec::new(), Vec::new(), None);
        let (is_flooding, waiting) = (false, Waiting::default());
        Self {
            kinds,
            sequences,
            last,
            names: 4,
            requests: 200,
            outstanding: 12,
            is_flooding,
            weights,
            waiting,
        }
    }

    /// Returns traffic of all kinds of requests, each as often as the others, with fields drawn by their types.
    pub fn all() -> Self {
        let requests = M::KINDS.iter().enumerate().filter(|(_, kind)| kind.role == Role::Request);
        requests.fold(Self::new(), |mix, (number, _)| {
            // Random choices always have a field, so the message can be built.
            mix.kind(1, move |draw| draw.message(number).unwrap_or_else(|| M::unreadable(String::new())))
        })
    }

    /// Adds a kind of request. It is sent `weight` times as often as one of weight 1.
    #[must_use]
    pub fn kind(mut self, weight: u32, make: impl Fn(&mut Draw<'_>) -> M + Send + Sync + 'static) -> Self {
        self.kinds.push((weight, Arc::new(make)));
        self
    }

    /// Adds requests that belong together, such as a look and a write that depends on it. They are sent on one connection in this
    /// order, while others send theirs. Sequences are as frequent as single requests; `weight` compares them with each other.
    #[must_use]
    pub fn sequence(
        mut self,
        weight: u32,
        make: impl Fn(&mut Draw<'_>) -> Vec<M> + Send + Sync + 'static,
    ) -> Self {
        self.sequences.push((weight, Arc::new(make)));
        self
    }

    /// Sets the request that ends a case, once for each name: one that removes what is stored under it.
    #[must_use]
    pub fn last(mut self, make: impl Fn(Name) -> M + Send + Sync + 'static) -> Self {
        self.last = Some(Arc::new(make));
        self
    }

    /// Sets the number of names in a case. The fewer, the more requests meet. The default is 4; a part of the cases has fewer.
    #[must_use]
    pub fn names(mut self, names: u32) -> Self {
        self.names = names.max(1);
        self
    }

    /// Sets the number of requests of a case. The default is 200.
    #[must_use]
    pub fn requests(mut self, requests: usize) -> Self {
        self.requests = requests;
        self
    }

    /// Sets the maximum number of outstanding responses. The default is 12. The order of requests that are outstanding at the same time is
    /// unknown, so judging takes longer the more there are.
    #[must_use]
    pub fn outstanding(mut self, outstanding: usize) -> Self {
        self.outstanding = outstanding.max(1);
        self
    }

    /// Sends as many requests at a time as may be outstanding, and rarely waits for all of them: for long runs under load.
    #[must_use]
    pub fn flooding(mut self) -> Self {
        self.is_flooding = true;
        self
    }

    /// Sets how often a value chosen by the server is the latest one that was told about the names of a request, an older one, one that
    /// was told about other names, and one that nobody chose. The default is 12, 3, 2 and 1.
    #[must_use]
    pub fn references(mut self, fresh: u32, stale: u32, foreign: u32, made_up: u32) -> Self {
        self.weights = Weights { fresh, stale, foreign, made_up };
        self
    }

    /// Returns the reason why nothing can be sent, and the next step.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.kinds.iter().all(|(weight, _)| *weight == 0) {
            let why = "the traffic has no kind of request: add one with `Mix::kind`, or use `Mix::all`";
            return Err(why.to_owned());
        }
        Ok(())
    }

    /// Returns a random request. References to values that the server chose are left open.
    pub(crate) fn draw(&self, draw: &mut Draw<'_>) -> M {
        self.draw_with_place(draw).1
    }

    /// Returns a random request with the index of its kind in this mix.
    fn draw_with_place(&self, draw: &mut Draw<'_>) -> (usize, M) {
        let place = weighted(&self.kinds, draw).unwrap_or(0);
        let made = self.kinds.get(place).map(|(_, make)| make(draw));
        (place, made.unwrap_or_else(|| M::unreadable(String::new())))
    }

    /// Returns random requests that belong together. Empty if the author has given none.
    fn draw_sequence(&self, draw: &mut Draw<'_>) -> Vec<M> {
        weighted(&self.sequences, draw).map_or_else(Vec::new, |place| (self.sequences[place].1)(draw))
    }
}

/// Returns the index of one of these values at random, by weight.
fn weighted<T>(values: &[(u32, T)], draw: &mut Draw<'_>) -> Option<usize> {
    let all: u64 = values.iter().map(|(weight, _)| u64::from(*weight)).sum();
    let mut number = draw.below(all);
    values.iter().position(|(weight, _)| {
        let here = number < u64::from(*weight);
        number = number.saturating_sub(u64::from(*weight));
        here
    })
}
