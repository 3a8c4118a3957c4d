//! Both as the driver needs them: each thing is left to the protocol that it belongs to.

use std::cell::RefCell;
use std::collections::BTreeSet;

use confute::lang::{Level, Rule};
use confute::trace::Event;
use confute_drive::{
    Asks, Dialogue, Evidence, Exchange, Exporting, Exports, Kept, Past, Protocol, Refusal, Setup, Side, Talk,
    Trouble, Upstream,
};
use serde::{Deserialize, Serialize};

use super::message::Message;
use super::model::Server;
use super::reader::DualReader;
use crate::message::Msg;
use crate::protocol::{Ask as Serve, Http};
use crate::proxy::{Ask as Pass, Proxy, note_causes};
use crate::{export, notice, settled, smaller, stray};

/// HTTP/1.1 with a server that is an origin and a gateway.
#[derive(Clone, Debug)]
pub struct Dual {
    http: Http,
    proxy: Proxy,
    model: Server,
}

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Of the server itself.
    Serve(Serve),
    /// Of the origin behind it, or by that origin.
    Pass(Pass),
}

impl Dual {
    /// A server that is spoken to like this, and like that. What is below the prefix of the one must not be below that of
    /// the other.
    pub fn new(http: Http, proxy: Proxy) -> Self {
        let model = Server { origin: http.model, gateway: proxy.model.clone() };
        Self { http, proxy, model }
    }

    /// What is asked of the server itself.
    pub fn http(&self) -> &Http {
        &self.http
    }

    /// What of the past this refers to.
    fn referred(ask: &Serve, past: &Past<Self>) -> Past<Http> {
        let steps = RefCell::new(BTreeSet::new());
        smaller::renumber(ask, &|step| {
            steps.borrow_mut().insert(step);
            step
        });
        let exchange = |step: &usize| {
            let at = past.exchanges.partition_point(|exchange| exchange.step < *step);
            past.exchanges.get(at).filter(|exchange| exchange.step == *step).and_then(one_served)
        };
        Past { exchanges: steps.borrow().iter().filter_map(exchange).collect(), asked: Vec::new() }
    }
}

/// What of the past concerns the server itself, brought up to date instead of being made anew at each step.
#[derive(Clone, Debug, Default)]
pub(super) struct Served {
    past: Past<Http>,
    /// Of each, its place in the whole past, and how many replies it had there.
    places: Vec<(usize, usize)>,
    /// How much of the whole was looked at.
    taken: usize,
}

impl Served {
    pub(super) fn of(&mut self, past: &Past<Dual>) -> &Past<Http> {
        for ((place, count), mine) in self.places.iter_mut().zip(&mut self.past.exchanges) {
            let replies = &past.exchanges[*place].replies;
            if replies.len() != *count {
                *count = replies.len();
                mine.replies = replies.iter().filter_map(Message::served).cloned().collect();
            }
        }
        for (place, exchange) in past.exchanges.iter().enumerate().skip(self.taken) {
            if let Some(mine) = one_served(exchange) {
                self.places.push((place, exchange.replies.len()));
                self.past.exchanges.push(mine);
            }
        }
        self.taken = past.exchanges.len();
        &self.past
    }
}

/// An exchange with the server itself.
fn one_served(exchange: &Exchange<Ask, Message>) -> Option<Exchange<Serve, Msg>> {
    let Ask::Serve(ask) = &exchange.ask else { return None };
    Some(Exchange {
        step: exchange.step,
        on: exchange.on,
        ask: ask.clone(),
        request: exchange.request.served()?.clone(),
        replies: exchange.replies.iter().filter_map(Message::served).cloned().collect(),
    })
}

impl Protocol for Dual {
    type Model = Server;
    type Ask = Ask;
    type Reader = DualReader;

    fn model(&self) -> &Server {
        &self.model
    }

    fn resolve(&self, ask: &Ask, case: &str, past: &Past<Self>) -> Option<Message> {
        match ask {
            Ask::Serve(ask) => self.http.resolve(ask, case, &Self::referred(ask, past)).map(Message::Served),
            Ask::Pass(ask) => self.proxy.resolve(ask, case, &Past::default()).map(Message::Passed),
        }
    }

    fn encode(&self, message: &Message, bytes: &mut Vec<u8>) {
        match message {
            Message::Served(message) | Message::Behind(message) => self.http.encode(message, bytes),
            Message::Passed(message) => self.proxy.encode(message, bytes),
        }
    }

    fn reader(&self, side: Side) -> DualReader {
        DualReader::new(side)
    }

    fn conceal(&self, bytes: &mut [u8]) {
        self.http.conceal(bytes);
        self.proxy.conceal(bytes);
    }

    fn dialogue(&self) -> &dyn Dialogue<Self> {
        self
    }

    fn asks(&self) -> &dyn Asks<Self> {
        self
    }

    fn upstream(&self) -> &dyn Upstream<Self> {
        self
    }

    fn evidence(&self) -> &dyn Evidence<Self> {
        self
    }

    fn setup(&self) -> &dyn Setup<Self> {
        self
    }

    fn exporting(&self) -> &dyn Exporting<Self> {
        self
    }
}

impl Dialogue<Dual> for Dual {
    fn refusal(&self, request: &Message, reply: &Message) -> Option<Refusal> {
        match (request, reply) {
            (Message::Passed(request), Message::Passed(reply)) => self.proxy.refusal(request, reply),
            _ => self.http.refusal(request.served()?, reply.served()?),
        }
    }

    fn stamp(&self, message: &mut Message, micros: u64) {
        match message {
            Message::Served(message) | Message::Behind(message) => self.http.stamp(message, micros),
            Message::Passed(message) => self.proxy.stamp(message, micros),
        }
    }

    fn notice(&self, past: &Past<Self>, place: usize, message: &mut Message) {
        let Some(Msg::Response(response)) = message.served_mut() else { return };
        self.http.note(past, place, Message::served, response);
    }

    fn follows(&self, message: &mut Message) {
        if let Message::Served(request) = message {
            *message = Message::Behind(request.clone());
        }
    }

    fn answers(&self, message: &Message) -> u32 {
        match message {
            Message::Served(message) | Message::Behind(message) => self.http.answers(message),
            Message::Passed(message) => self.proxy.answers(message),
        }
    }

    fn announces_end(&self, reply: &Message) -> bool {
        match reply {
            Message::Served(reply) | Message::Behind(reply) => self.http.announces_end(reply),
            Message::Passed(reply) => self.proxy.announces_end(reply),
        }
    }

    fn is_excused(&self, answer: &Message) -> bool {
        answer.passed().is_some_and(|answer| self.proxy.is_excused(answer))
    }

    fn is_last(&self, message: &Message) -> bool {
        match message {
            Message::Served(message) | Message::Behind(message) => self.http.is_last(message),
            Message::Passed(message) => self.proxy.is_last(message),
        }
    }
}

impl Asks<Dual> for Dual {
    fn probe(&self) -> Option<Ask> {
        self.http.probe().map(Ask::Serve)
    }

    fn renumber(&self, ask: &Ask, now: &dyn Fn(usize) -> usize) -> Ask {
        match ask {
            Ask::Serve(ask) => Ask::Serve(self.http.renumber(ask, now)),
            Ask::Pass(ask) => Ask::Pass(self.proxy.renumber(ask, now)),
        }
    }

    fn simpler(&self, ask: &Ask) -> Vec<Ask> {
        match ask {
            Ask::Serve(ask) => self.http.simpler(ask).into_iter().map(Ask::Serve).collect(),
            Ask::Pass(ask) => self.proxy.simpler(ask).into_iter().map(Ask::Pass).collect(),
        }
    }

    fn plainer(&self, asks: &[&Ask]) -> Vec<Vec<Ask>> {
        let served = |ask: &&&Ask| if let Ask::Serve(ask) = **ask { Some(ask.clone()) } else { None };
        let all: Vec<Serve> = asks.iter().filter_map(|ask| served(&ask)).collect();
        let plainer = self.http.plainer(&all.iter().collect::<Vec<_>>()).into_iter();
        plainer
            .map(|served| {
                let mut served = served.into_iter();
                asks.iter()
                    .map(|ask| match ask {
                        Ask::Serve(_) => served.next().map_or_else(|| (*ask).clone(), Ask::Serve),
                        Ask::Pass(_) => (*ask).clone(),
                    })
                    .collect()
            })
            .collect()
    }

    fn is_plain(&self, ask: &Ask) -> bool {
        match ask {
            Ask::Serve(ask) => self.http.is_plain(ask),
            Ask::Pass(ask) => self.proxy.is_plain(ask),
        }
    }
}

impl Upstream<Dual> for Dual {
    fn belongs(&self, message: &Message, case: &str) -> bool {
        message.passed().is_some_and(|message| self.proxy.belongs(message, case))
    }

    fn has_single_exchanges(&self) -> bool {
        self.proxy.has_single_exchanges()
    }

    fn courtesy(&self, asked: &Message) -> Option<Message> {
        self.proxy.courtesy(asked.passed()?).map(Message::Passed)
    }

    fn suits(&self, ask: &Ask, asked: &Message) -> bool {
        match (ask, asked.passed()) {
            (Ask::Pass(ask), Some(asked)) => self.proxy.suits(ask, asked),
            _ => true,
        }
    }

    fn unanswered(&self) -> Option<Message> {
        self.proxy.unanswered().map(Message::Passed)
    }

    fn dropped(&self, question: &mut Message) {
        if let Message::Passed(question) = question {
            self.proxy.dropped(question);
        }
    }

    fn half_closed(&self, answer: &mut Message) {
        if let Message::Passed(answer) = answer {
            self.proxy.half_closed(answer);
        }
    }

    fn note_causes(&self, reply: &mut Message, request: &Message, past: &Past<Self>, ended: Option<i64>) {
        let (Message::Passed(reply), Some(request)) = (reply, request.passed()) else { return };
        let asked = past.asked.iter().filter_map(|(peer, message)| Some((*peer, message.passed()?)));
        let answers =
            past.exchanges.iter().filter_map(|exchange| Some((exchange.on, exchange.request.passed()?)));
        note_causes(reply, request, asked, answers, ended);
    }
}

impl Evidence<Dual> for Dual {
    fn level(&self, rule: &Rule) -> Level {
        self.http.level(rule)
    }

    fn branches(&self) -> Vec<String> {
        self.http.branches()
    }

    fn reached(&self, exchange: &Exchange<Ask, Message>) -> Option<usize> {
        self.http.reached(&one_served(exchange)?)
    }

    fn subject(&self, request: &Message) -> Option<String> {
        match request {
            Message::Served(request) | Message::Behind(request) => self.http.subject(request),
            Message::Passed(request) => self.proxy.subject(request),
        }
    }

    fn annotate(&self, trace: &mut [Event<Message>]) {
        notice::cite(trace, Message::served, Message::served_mut);
        stray::note(trace, Message::served, Message::served_mut);
        settled::note(trace, Message::served, Message::served_mut);
    }

    fn is_idle(&self, request: &Message, reply: Option<&Message>) -> bool {
        match request {
            Message::Served(request) | Message::Behind(request) => {
                self.http.is_idle(request, reply.and_then(Message::served))
            }
            Message::Passed(request) => self.proxy.is_idle(request, reply.and_then(Message::passed)),
        }
    }
}

impl Setup<Dual> for Dual {
    fn survey(&self, talk: &Talk<'_, Self>) -> Result<Vec<String>, Trouble> {
        let mut said = self.http.survey(&talk.speaking(&self.http))?;
        said.extend(self.proxy.survey(&talk.speaking(&self.proxy))?);
        Ok(said)
    }

    fn prepare(&self, case: &str, talk: &Talk<'_, Self>) -> Result<(), Trouble> {
        self.http.prepare(case, &talk.speaking(&self.http))?;
        self.proxy.prepare(case, &talk.speaking(&self.proxy))
    }
}

impl Exporting<Dual> for Dual {
    fn exports(&self, kept: &Kept<'_, Self>) -> Exports {
        export::of_gateway(kept)
    }
}
