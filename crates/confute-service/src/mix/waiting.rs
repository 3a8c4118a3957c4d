//! Requests that wait: which of the traffic's requests do, and which others wake them.
//!
//! A preview of the model tells both: it notes the request behind which a waiting one was answered. So an author says `waits` once, and
//! nothing about the rest. Several clients then wait for one name and are woken at one moment, which is where a response gets lost or
//! comes twice.

use confute_drive::{Exchange, Peer};

use super::{Draw, Mix};
use crate::message::{Message, kind_of, names};

/// Number of draws until a request is of the wanted kind.
const DRAWS: usize = 32;

/// The part of a mix that waits, and the part that wakes. Requests are given by their place in the mix and their kind of message, because
/// one place may make several kinds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    parking: Vec<(usize, usize)>,
    /// The kind that waits, and the request that wakes it.
    waking: Vec<(usize, (usize, usize))>,
}

impl Waiting {
    /// Notes that a request was left waiting. Returns `true` if that is new.
    pub(super) fn waits(&mut self, request: (usize, usize)) -> bool {
        let is_new = !self.parking.contains(&request);
        self.parking.extend(is_new.then_some(request));
        is_new
    }

    /// Notes that a waiting request was answered behind another one. Returns `true` if that is new.
    pub(super) fn wakes(&mut self, waiting: usize, request: (usize, usize)) -> bool {
        let is_new = !self.waking.contains(&(waiting, request));
        self.waking.extend(is_new.then_some((waiting, request)));
        is_new
    }

    /// Returns `true` if some request waits, and another wakes it.
    pub(super) fn is_known(&self) -> bool {
        !self.waking.is_empty()
    }
}

/// A connection whose oldest request waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parked {
    pub(super) on: u32,
    /// Kind of the request.
    pub(super) kind: usize,
    /// The first name in the request.
    pub(super) name: Option<u32>,
}

/// Returns the connections whose oldest outstanding request may wait.
pub(super) fn parked<M: Message>(past: &[Exchange<M, M>], outstanding: &[u32]) -> Vec<Parked> {
    if !M::KINDS.iter().any(|kind| kind.waits) {
        return Vec::new();
    }
    let mut parked = Vec::new();
    for (on, load) in (0..).zip(outstanding).filter(|(_, load)| **load > 0) {
        let sent = past.iter().rev().filter(|exchange| exchange.on == Peer::Opened(on));
        let Some(oldest) = sent.take(*load as usize).last() else { continue };
        if kind_of(&oldest.ask).waits && oldest.replies.is_empty() {
            let name = names(&oldest.ask).first().and_then(crate::Name::script_number);
            parked.push(Parked { on, kind: oldest.ask.kind(), name });
        }
    }
    parked
}

impl<M: Message> Mix<M> {
    /// Returns a request that waits.
    pub(super) fn draw_waiting(&self, draw: &mut Draw<'_>) -> Option<M> {
        self.draw_one_of(&self.waiting.parking, draw)
    }

    /// Returns a request that wakes one of this kind, or of any.
    pub(super) fn draw_waking(&self, kind: Option<usize>, draw: &mut Draw<'_>) -> Option<M> {
        let waking = self.waiting.waking.iter().filter(|(waits, _)| kind.is_none_or(|kind| kind == *waits));
        let waking: Vec<_> = waking.map(|(_, request)| *request).collect();
        self.draw_one_of(&waking, draw)
    }

    fn draw_one_of(&self, requests: &[(usize, usize)], draw: &mut Draw<'_>) -> Option<M> {
        if requests.is_empty() {
            return None;
        }
        let (place, kind) = draw.one_of(requests);
        let (_, make) = self.kinds.get(place)?;
        (0..DRAWS).map(|_| make(draw)).find(|made| made.kind() == kind)
    }
}
