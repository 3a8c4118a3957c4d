//! Requests that test the handling of messages on the wire: malformed ones, `Connection: close`, `Expect:
//! 100-continue`.

use confute_drive::{Past, Peer, Step, Until, View};

use super::moves::draw;
use super::{Pick, Traffic};
use crate::ask::AskRequest;
use crate::encode;
use crate::message::{Odd, Request};
use crate::protocol::Http;
use confute_http1::text;

impl Traffic {
    /// Sends one of the malformed requests.
    pub(super) fn malformed_any(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        if let Some(odd) = draw(&mut self.odds, Odd::ALL.into_iter(), pick) {
            self.malformed(odd, view, pick);
        }
    }

    /// Sends a malformed request on a connection of its own, and reads its resource afterwards.
    pub(super) fn malformed(&mut self, odd: Odd, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let name = self.name(pick);
        let is_about_content = !Odd::without_content().contains(&odd);
        let ask = if is_about_content || pick(2) == 0 { self.put(&name, pick) } else { Self::get(&name) };
        let on = self.spare(view);
        self.barrier();
        self.ask(on, AskRequest { chunked: false, odd: Some(odd), ..ask });
        // A server may wait for the rest of a chunk that never comes.
        let until = if odd.is_too_long() { Until::Soon(20) } else { Until::Something };
        self.queue.push_back(Step::Wait(until));
        self.queue.push_back(Step::HangUp(Peer::Opened(on)));
        self.read_back(&[name]);
    }

    /// Returns a connection that nothing else uses: its number is above those for traffic.
    fn spare(&mut self, view: &View<'_, Http>) -> u32 {
        self.spare += 1;
        view.wide + self.spare
    }

    /// Sends a request with `Connection: close`, mostly with the same once more behind it, which must get no response
    /// (RFC 9112, 9.6).
    pub(super) fn close(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let name = self.name(pick);
        let on = self.spare(view);
        self.barrier();
        if pick(4) == 0 {
            self.exchange(on, AskRequest { close: true, ..Self::get(&name) });
            return;
        }
        self.exchange(on, AskRequest { close_twice: true, ..Self::get(&name) });
        self.queue.push_back(Step::Wait(Until::Millis(5)));
        self.queue.push_back(Step::HangUp(Peer::Opened(on)));
    }

    /// Sends a request whose content is held back until the server has sent something or the time is over. Its resource
    /// is used by no other request, so no other request has to wait for it.
    pub(super) fn expect(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let hold = self.hold_millis;
        let ask = AskRequest { chunked: false, expect: Some(hold), ..self.put(&"e".into(), pick) };
        let length = ask.body.as_ref().map_or(0, |body| text::length(body));
        let Some(head) = self.head_length(view.past, &ask).filter(|_| length > 0) else { return };
        let on = self.spare(view);
        self.queue.push_back(Step::Ask {
            on: Peer::Opened(on),
            ask: ask.into(),
            cuts: vec![(head, u64::from(hold) + 20)],
        });
    }

    /// Returns the length of the head of a request in bytes, if any request was sent before.
    fn head_length(&self, past: &Past<Http>, ask: &AskRequest) -> Option<usize> {
        let mut own = past.exchanges.iter().rev();
        let (before, sent) =
            own.find_map(|exchange| Some((exchange.ask.own_request()?, exchange.request.request()?)))?;
        let prefix = sent.path.strip_suffix(&*before.name)?;
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
