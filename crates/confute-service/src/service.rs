//! A service: a model and a wire, which together are a protocol of the driver.

use confute::lang::ServerModel;
use confute_drive::{AnyGenerator, Asks, Evidence, Past, Protocol, Side, Target};
use confute_run::{RunError, Subject, address};

use crate::field::PartMut;
use crate::message::{self, Message, change_parts};
use crate::mix::{Draw, Mix, Traffic, references};
use crate::reader::WireReader;
use crate::wire::Wire;

/// A kind of server: the model of a correct one, and the wire that carries its messages.
#[derive(Clone, Debug)]
pub struct Service<S, W> {
    model: S,
    wire: W,
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
        Self { model, wire, branches: Vec::new() }
    }

    /// Returns the server of this service at an address, `HOST:PORT`, to be tested with this traffic.
    pub fn at(mut self, place: &str, mix: Mix<S::Msg>) -> Result<Subject, RunError> {
        self.wire.check().map_err(RunError::Usage)?;
        mix.check().map_err(RunError::Usage)?;
        self.branches = mix.branches(&self.model);
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
        WireReader::new(self.wire.clone())
    }

    fn asks(&self) -> &dyn Asks<Self> {
        self
    }

    fn evidence(&self) -> &dyn Evidence<Self> {
        self
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
        let mut ask = ask.clone();
        change_parts(&mut ask, &mut |part| {
            if let PartMut::Choice(choice) = part {
                references::renumber(choice, now);
            }
        });
        ask
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
    fn branches(&self) -> Vec<String> {
        let word = |kind: &usize| S::Msg::KINDS[*kind].name;
        self.branches.iter().map(|(asked, came)| format!("{}: {}", word(asked), word(came))).collect()
    }

    fn reached(&self, exchange: &confute_drive::Exchange<S::Msg, S::Msg>) -> Option<usize> {
        let pair = (exchange.request.kind(), exchange.replies.last()?.kind());
        self.branches.iter().position(|branch| *branch == pair)
    }
}

/// Returns the kinds of requests that change nothing.
fn reads<M: Message>() -> impl Iterator<Item = usize> {
    M::KINDS.iter().enumerate().filter(|(_, kind)| kind.reads).map(|(number, _)| number)
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
