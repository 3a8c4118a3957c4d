//! What servers get wrong on the wire: malformed requests, closing, expectations.

use confute_drive::{Past, Peer, Step, Until, View};

use super::{Pick, Traffic, draw};
use crate::message::{Msg, Odd, Request};
use crate::protocol::{Ask, Http};
use crate::{encode, text};

pub(super) const ODDS: [Odd; 9] = [
    Odd::NoHost,
    Odd::TwoHosts,
    Odd::SpaceBeforeColon,
    Odd::ConflictingLengths,
    Odd::LengthBesideChunks,
    Odd::HugeChunk,
    Odd::VastChunk,
    Odd::EqualLengths,
    Odd::Folded,
];

impl Traffic {
    /// Something wrong, on a connection of its own.
    pub(super) fn odd(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        if let Some(odd) = draw(&mut self.odds, ODDS.into_iter(), pick) {
            self.malformed(odd, view, pick);
        }
    }

    pub(super) fn malformed(&mut self, odd: Odd, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let name = self.name(pick);
        let is_too_long = matches!(odd, Odd::HugeChunk | Odd::VastChunk);
        let is_about_content = is_too_long
            || matches!(odd, Odd::ConflictingLengths | Odd::LengthBesideChunks | Odd::EqualLengths);
        let ask = if is_about_content || pick(2) == 0 { self.put(&name, pick) } else { Self::get(&name) };
        let on = self.spare(view);
        self.barrier();
        self.ask(on, Ask { chunked: false, odd: Some(odd), ..ask });
        // A server may wait for the rest of a chunk that never comes.
        let until = if is_too_long { Until::Soon(20) } else { Until::Something };
        self.queue.push_back(Step::Wait(until));
        self.queue.push_back(Step::HangUp(Peer::Opened(on)));
        self.audit(&[name]);
    }

    /// A connection that nothing else uses: above those that are for traffic.
    fn spare(&mut self, view: &View<'_, Http>) -> u32 {
        self.spare += 1;
        view.wide + self.spare
    }

    /// A request that says close, mostly with another behind it.
    pub(super) fn close(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let name = self.name(pick);
        let on = self.spare(view);
        self.barrier();
        if pick(4) == 0 {
            self.exchange(on, Ask { close: true, ..Self::get(&name) });
            return;
        }
        self.exchange(on, Ask { close_twice: true, ..Self::get(&name) });
        self.queue.push_back(Step::Wait(Until::Millis(5)));
        self.queue.push_back(Step::HangUp(Peer::Opened(on)));
    }

    /// Content held back, until the server has said something or time is up. It concerns nothing else, so nothing else
    /// has to wait for it.
    pub(super) fn expect(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let hold = self.hold;
        let ask = Ask { chunked: false, expect: Some(hold), ..self.put(&"e".into(), pick) };
        let length = ask.body.as_ref().map_or(0, |body| text::length(body));
        let Some(head) = self.head(view.past, &ask).filter(|_| length > 0) else { return };
        let on = self.spare(view);
        self.queue.push_back(Step::Ask {
            on: Peer::Opened(on),
            ask,
            cuts: vec![(head, u64::from(hold) + 20)],
        });
    }

    /// How long the head of a request will be, if any request was sent before.
    fn head(&self, past: &Past<Http>, ask: &Ask) -> Option<usize> {
        let before = past.exchanges.last()?;
        let Msg::Request(sent) = &before.request else { return None };
        let prefix = sent.path.strip_suffix(&*before.ask.name)?;
        let request = Request {
            method: ask.method.clone(),
            path: format!("{prefix}{}", ask.name).into(),
            body: ask.body.clone(),
            expect: ask.expect,
            ..Request::default()
        };
        let length = text::length(ask.body.as_deref()?);
        encode::request(&request, &self.http.target).len().checked_sub(length)
    }
}
