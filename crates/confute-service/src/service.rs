//! A service: a model and a wire, which together are a protocol of the driver.

use std::sync::Arc;

use confute::lang::ServerModel;
use confute_drive::{
    AnyGenerator, Asks, Dialogue, Evidence, Past, Protocol, Setup, Side, Talk, Target, Trouble,
};
use confute_run::{RunError, Subject, address};

use crate::field::PartMut;
use crate::message::{self, Message, Role, change_parts};
use crate::mix::{Draw, Mix, Traffic, references};
use crate::outside::{Nothing, Outside};
use crate::reader::WireReader;
use crate::script;
use crate::wire::Wire;

/// A kind of server: the model of a correct one, and the wire that carries its messages.
pub struct Service<S: ServerModel, W> {
    model: S,
    wire: W,
    outside: Arc<dyn Outside<S::Msg>>,
    /// Requests with different names have nothing in common.
    is_apart: bool,
    /// Requests and the responses that a correct server may give to them.
    branches: Vec<(usize, usize)>,
}

impl<S, W> Service<S, W>
where
    S: ServerModel<Msg: Message> + Send + Sync + 'static,
    W: Wire<S::Msg>,
{
    /// Creates a service.
    pub fn new(model: S, wire: W) -> Self {
        Self { model, wire, outside: Arc::new(Nothing), is_apart: false, branches: Vec::new() }
    }

    /// Returns the service with requests outside of its cases: a survey of the server, a canary, a greeting.
    #[must_use]
    pub fn outside(mut self, outside: impl Outside<S::Msg>) -> Self {
        self.outside = Arc::new(outside);
        self
    }

    /// States that a request touches nothing but what its names stand for, and its connection: the model keeps everything in tables
    /// by name. A violation is then explained from the requests for its names alone, which is faster.
    #[must_use]
    pub fn apart(mut self) -> Self {
        self.is_apart = true;
        self
    }

    /// Returns the server of this service at an address, `HOST:PORT`, to be tested with this traffic.
    pub fn at(mut self, place: &str, mix: Mix<S::Msg>) -> Result<Subject, RunError> {
        self.wire.check().map_err(RunError::Usage)?;
        mix.check().map_err(RunError::Usage)?;
        let preview = mix.preview(&self.model);
        let mix = mix.knowing(&preview);
        self.branches = preview.branches;
        let name = short(self.model.name());
        let target = Target::new(address(place)?);
        let subject = Subject::new(&name, self, target, move |case| {
            AnyGenerator::new::<Self>(Traffic::new(mix.clone(), case))
        });
        Ok(Subject { shown: place.to_owned(), ..subject })
    }
}

/// Returns the last part of the path of a type, in lower case.
fn short(path: &str) -> String {
    path.rsplit("::").next().unwrap_or(path).to_lowercase()
}

impl<S, W> Protocol for Service<S, W>
where
    S: ServerModel<Msg: Message> + Send + Sync + 'static,
    W: Wire<S::Msg>,
{
    type Model = S;
    type Ask = S::Msg;
    type Reader = WireReader<S::Msg, W>;

    fn model(&self) -> &S {
        &self.model
    }

    fn resolve(&self, ask: &S::Msg, case: &str, past: &Past<Self>) -> Option<S::Msg> {
        references::resolved(ask, case, &past.exchanges)
    }

    fn encode(&self, message: &S::Msg, bytes: &mut Vec<u8>) {
        self.wire.encode(message, bytes);
    }

    fn reader(&self, _: Side) -> Self::Reader {
        WireReader::new(self.wire.clone(), !self.outside.greeting().is_empty())
    }

    fn greet(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.outside.greeting());
    }

    fn dialogue(&self) -> &dyn Dialogue<Self> {
        self
    }

    fn asks(&self) -> &dyn Asks<Self> {
        self
    }

    fn evidence(&self) -> &dyn Evidence<Self> {
        self
    }

    fn setup(&self) -> &dyn Setup<Self> {
        self
    }
}

impl<S, W> Dialogue<Self> for Service<S, W>
where
    S: ServerModel<Msg: Message> + Send + Sync + 'static,
    W: Wire<S::Msg>,
{
    fn completes(&self, reply: &S::Msg) -> bool {
        !self.is_unasked(reply)
    }

    fn may_wait(&self, request: &S::Msg) -> bool {
        message::kind_of(request).waits
    }

    fn is_unasked(&self, message: &S::Msg) -> bool {
        message::kind_of(message).role == Role::Push
    }

    fn has_unasked(&self) -> bool {
        S::Msg::KINDS.iter().any(|kind| kind.role == Role::Push)
    }
}

impl<S, W> Setup<Self> for Service<S, W>
where
    S: ServerModel<Msg: Message> + Send + Sync + 'static,
    W: Wire<S::Msg>,
{
    fn survey(&self, talk: &Talk<'_, Self>) -> Result<Vec<String>, Trouble> {
        self.outside.survey(&|ask| talk.ask(ask, talk.name()))
    }

    fn waives(&self, talk: &Talk<'_, Self>) -> Vec<&'static str> {
        self.outside.waives(&|ask| talk.ask(ask, talk.name()))
    }

    fn plant(&self, talk: &Talk<'_, Self>) -> bool {
        let Some((write, read)) = self.outside.canary() else { return false };
        let written = talk.ask(&write, talk.name());
        written.and_then(|_| talk.ask(&read, talk.name())).is_ok_and(|replies| !replies.is_empty())
    }

    fn canary(&self, talk: &Talk<'_, Self>) -> Result<Option<String>, Trouble> {
        let Some((_, read)) = self.outside.canary() else { return Ok(None) };
        let replies = talk.ask(&read, talk.name())?;
        Ok(replies.first().map(ToString::to_string))
    }
}

impl<S, W> Asks<Self> for Service<S, W>
where
    S: ServerModel<Msg: Message> + Send + Sync + 'static,
    W: Wire<S::Msg>,
{
    fn probe(&self) -> Option<S::Msg> {
        reads::<S::Msg>().find_map(|kind| Draw::fixed(0).message(kind))
    }

    fn renumber(&self, ask: &S::Msg, now: &dyn Fn(usize) -> usize) -> S::Msg {
        script::renumbered(ask, now)
    }

    fn simpler(&self, ask: &S::Msg) -> Vec<S::Msg> {
        message::simpler(ask)
    }

    /// Returns scripts with one name less: the last one becomes one of the others.
    fn plainer(&self, asks: &[&S::Msg]) -> Vec<Vec<S::Msg>> {
        let names = numbers(asks.iter().copied());
        let Some((last, others)) = names.split_last() else { return Vec::new() };
        let mut variants = Vec::new();
        for other in others {
            let renamed = asks.iter().copied().map(|ask| renamed(ask, *last, *other));
            variants.push(renamed.collect());
        }
        // The names of a script count from zero.
        if let Some(free) = (0..*last).find(|number| !names.contains(number)) {
            variants.push(asks.iter().copied().map(|ask| renamed(ask, *last, free)).collect());
        }
        variants
    }

    fn look(&self, ask: &S::Msg) -> Option<S::Msg> {
        if message::kind_of(ask).reads {
            return None;
        }
        let name = numbers([ask].into_iter()).first().copied().unwrap_or(0);
        reads::<S::Msg>().find_map(|kind| Draw::fixed(name).message(kind))
    }

    fn follow_ups(&self, asks: &[(usize, &S::Msg)]) -> Vec<S::Msg> {
        let mut names = numbers(asks.iter().map(|(_, ask)| *ask));
        if names.is_empty() {
            names.push(0);
        }
        let all = names
            .iter()
            .flat_map(|name| reads::<S::Msg>().filter_map(|kind| Draw::fixed(*name).message(kind)));
        let mut looks: Vec<S::Msg> = Vec::new();
        for one in all {
            if !looks.contains(&one) {
                looks.push(one);
            }
        }
        looks
    }
}

impl<S, W> Evidence<Self> for Service<S, W>
where
    S: ServerModel<Msg: Message> + Send + Sync + 'static,
    W: Wire<S::Msg>,
{
    fn subjects(&self, request: &S::Msg, _: Option<&S::Msg>) -> Vec<String> {
        let mut names: Vec<String> = if self.is_apart {
            message::names(request).iter().map(|name| name.as_str().to_owned()).collect()
        } else {
            Vec::new()
        };
        names.sort_unstable();
        names.dedup();
        names
    }

    fn subject(&self, request: &S::Msg) -> Option<String> {
        let mut names = self.subjects(request, None);
        names.pop().filter(|_| names.is_empty())
    }

    fn is_idle(&self, request: &S::Msg, _: Option<&S::Msg>) -> bool {
        message::kind_of(request).reads
    }

    fn branches(&self) -> Vec<String> {
        let word = |kind: &usize| S::Msg::KINDS[*kind].name;
        self.branches.iter().map(|(asked, came)| format!("{}: {}", word(asked), word(came))).collect()
    }

    fn reached(&self, exchange: &confute_drive::Exchange<S::Msg, S::Msg>) -> Option<usize> {
        let pair = (exchange.request.kind(), exchange.replies.last()?.kind());
        self.branches.iter().position(|branch| *branch == pair)
    }
}

/// Returns the kinds of requests that change nothing, and are answered at once.
fn reads<M: Message>() -> impl Iterator<Item = usize> {
    M::KINDS.iter().enumerate().filter(|(_, kind)| kind.reads && !kind.waits).map(|(number, _)| number)
}

/// Returns the numbers of the names in requests of a script, in order.
fn numbers<'a, M: Message>(asks: impl Iterator<Item = &'a M>) -> Vec<u32> {
    let mut numbers: Vec<u32> =
        asks.flat_map(|ask| message::names(ask)).filter_map(|name| name.script_number()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Returns a request of a script with another name in place of this one.
fn renamed<M: Message>(ask: &M, from: u32, to: u32) -> M {
    let mut ask = ask.clone();
    change_parts(&mut ask, &mut |part| {
        if let PartMut::Name(name) = part
            && name.script_number() == Some(from)
        {
            *name = crate::Name::number(to);
        }
    });
    ask
}
