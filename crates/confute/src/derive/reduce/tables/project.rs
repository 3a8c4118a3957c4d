//! Projections: an order of requests that contradicts the responses about few values is given up at once.
//!
//! *Leaves out*: states from which the requests about two values, considered without all others, can no longer get the
//! responses that were observed.
//!
//! *Why no verdict changes*: with [`ServerModel::about`](crate::lang::ServerModel::about) the model promises that a right
//! sequence of exchanges stays right without all exchanges about one value, or without one exchange about nothing. Take an
//! order of requests that explains the trace and begins with those handled so far. Without all requests but those about
//! two values it is an order of these, which the model promises to be right, each between its call and its response as
//! before, and beginning with those of them that were handled so far. So if these have no such order, the state leads to
//! no explanation. They are few, so that every order of them can be tried.
//!
//! *Premises*:
//! - *The order in which requests were handled is kept.* Of two items in a queue the first is the one enqueued first.
//! - *Requests that are sent later count*: the item in the way may be dequeued by one of them.
//! - *Requests about anything take part in every projection*, or do not happen: a dequeue without a response may have
//!   removed the item that a later dequeue does not find. When it is handled, the model tells what it is about by the
//!   response that it sends then. A model whose answered requests are about anything is not projected.
//! - *Every exchange about nothing stands alone.* Two dequeues that found the queue empty concern each other as little as
//!   two values.
//! - *No covered writes*: [unseen writes](Reduction::UnseenWrites) are handled later than they count. A model in which
//!   some turn writes the same in every state is not projected.
//!
//! Where the search finds no way on, it is asked once for each response if those observed so far about few values
//! contradict each other from the start; then nothing else has to be tried.
//!
//! The projections onto two values contain all that is to know of the order of items in a queue; a stack has
//! contradictions between three and more, which the search finds by trying.
//!
//! *Place in the order*: after a request was handled, before lost contents, which ask more.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::effects::Effects;
use super::{Change, NEVER, Outcome, Request, Step, Tables};
use crate::derive::book::Seen;
use crate::derive::compose::Composed;
use crate::derive::fault::{Fault, planted};
use crate::derive::reduce::Reduction;
use crate::lang::{About, Incoming, Val};

/// Number of requests above which a projection is not examined.
const MOST_REQUESTS: usize = 16;

/// Number of orders, whole ones and their beginnings, above which a projection is taken to be possible.
const MOST_ORDERS: u32 = 1000;

/// Number of requests about anything above which nothing is projected.
const MOST_LOOSE: usize = 4;

/// Number of requests handled last, and of those sent next, with which one that was handled early is compared.
const NEAR: usize = 12;

/// Number of changes of the list of requests in flight that are looked back upon.
const MOST_LOOKED_BACK: usize = 4096;

/// Number of contents above which the effects on them are forgotten.
const MOST_CONTENTS: usize = 1 << 12;

/// The values that requests are about, and the effects of requests without the others.
pub(super) struct Projections {
    /// By request: the number of its value, or one of its own if it is about nothing; `NEVER` if it is about anything.
    topics: Vec<u32>,
    /// By topic: where its requests begin among the members.
    starts: Vec<u32>,
    members: Vec<u32>,
    /// Requests about anything, which take part in every projection until they are handled, each with the topic that it
    /// had when it was handled last.
    loose: Vec<(u32, u32)>,
    /// Topics of the values, if there are requests about anything.
    known: FxHashMap<u128, u32>,
    effects: Effects,
    /// Requests for whose responses it was asked if the trace is hopeless.
    examined: FxHashSet<u32>,
}

impl Projections {
    /// Returns the projections of these requests; `None` if the model does not promise that there are any.
    pub(super) fn of(
        requests: &[Request],
        world: &Composed<'_>,
        (cell, initial): (u32, Option<&Val>),
    ) -> Option<Self> {
        let mut known: FxHashMap<u128, u32> = FxHashMap::default();
        let (mut topics, mut loose, mut count) = (Vec::with_capacity(requests.len()), Vec::new(), 0_u32);
        for (number, request) in requests.iter().enumerate() {
            let Incoming::Message(asked) = &request.delivery.item else { return None };
            let response = match world.answer(&request.delivery) {
                Some((_, Seen::Message(seen))) if request.answered != NEVER => Some(&**seen),
                _ => None,
            };
            let topic = match world.model.about(&**asked, response) {
                _ if request.fixed => return None,
                About::Anything if response.is_some() || loose.len() == MOST_LOOSE => return None,
                About::Anything => {
                    loose.push((number as u32, NEVER));
                    NEVER
                }
                About::Value(value) => *known.entry(value.0).or_insert_with(|| count),
                About::Nothing => count,
            };
            count += u32::from(topic == count);
            topics.push(topic);
        }
        let mut starts = vec![0; count as usize + 1];
        topics.iter().filter(|topic| **topic != NEVER).for_each(|topic| starts[*topic as usize + 1] += 1);
        for topic in 0..count as usize {
            starts[topic + 1] += starts[topic];
        }
        let mut members = vec![0; requests.len() - loose.len()];
        let mut next = starts.clone();
        for (number, topic) in topics.iter().enumerate().filter(|(_, topic)| **topic != NEVER) {
            members[next[*topic as usize] as usize] = number as u32;
            next[*topic as usize] += 1;
        }
        let mut effects = Effects::new(cell);
        effects.number(initial);
        if loose.is_empty() {
            known = FxHashMap::default();
        }
        Some(Self { topics, starts, members, loose, known, effects, examined: FxHashSet::default() })
    }

    fn members(&self, topic: u32) -> &[u32] {
        &self.members[self.range(topic)]
    }

    fn range(&self, topic: u32) -> Range<usize> {
        self.starts[topic as usize] as usize..self.starts[topic as usize + 1] as usize
    }

    /// Returns `true` if a turn was not a function of the content.
    pub(super) fn has_failed(&self) -> bool {
        self.effects.failed
    }

    /// Estimates the number of bytes in use.
    pub(super) fn bytes(&self) -> usize {
        (self.topics.len() + self.starts.len() + self.members.len()) * 4 + self.effects.bytes()
    }
}

/// Requests of a projection that are not handled yet, in any order.
type Rest = SmallVec<[u32; MOST_REQUESTS]>;

impl Tables {
    /// Returns `true` if the request that was just handled and some other contradict each other, with all about the same
    /// values. One in flight is then the next alternative, if it is one: it may have come before.
    pub(super) fn is_contradicted(&mut self, world: &Composed<'_>, request: u32, content: u32) -> bool {
        let Some(mut projections) = self.projections.take() else { return false };
        let mut topic = projections.topics[request as usize];
        if topic == NEVER {
            topic = self.topic_at(world, &mut projections, request, content);
        }
        let mut contradicted =
            topic != NEVER && self.contradict(world, &mut projections, &[topic], None, true);
        let mut next = self.behind[self.requests.len()];
        while (next as usize) < self.requests.len() && topic != NEVER && !contradicted {
            let other = projections.topics[next as usize];
            if other != topic && other != NEVER {
                contradicted = self.contradict(world, &mut projections, &[topic, other], None, true);
                if contradicted {
                    self.prefer(next);
                }
            }
            next = self.behind[next as usize];
        }
        let is_due = matches!(self.steps[self.place.at as usize], Step::Answered(due) if due == request);
        if topic != NEVER && !is_due && !contradicted {
            let near: SmallVec<[u32; 2 * NEAR]> = self.near(&projections).collect();
            contradicted = near.into_iter().any(|other| {
                other != topic
                    && other != NEVER
                    && self.contradict(world, &mut projections, &[topic, other], None, true)
            });
        }
        self.projections = Some(projections);
        if contradicted {
            world.left_out(Reduction::Projections);
        }
        contradicted
    }

    /// Returns the topic of a request about anything that is handled at this content; `NEVER` if it is not known.
    fn topic_at(
        &self,
        world: &Composed<'_>,
        projections: &mut Projections,
        request: u32,
        content: u32,
    ) -> u32 {
        let it = &self.requests[request as usize];
        let topic = match (&it.delivery.item, self.effects.response(world, it, content)) {
            (Incoming::Message(asked), Some(response)) => match world.model.about(&**asked, Some(&*response))
            {
                About::Value(value) => projections.known.get(&value.0).copied(),
                _ => None,
            },
            _ => None,
        };
        let topic = topic.unwrap_or(NEVER);
        if let Some(entry) = projections.loose.iter_mut().find(|(loose, _)| *loose == request) {
            entry.1 = topic;
        }
        topic
    }

    /// Returns the topics of the requests that were handled last and of those that are sent next: a request that was
    /// handled before its response was due might have been handled behind these.
    fn near<'t>(&'t self, projections: &'t Projections) -> impl Iterator<Item = u32> + 't {
        let handled = self.trail.iter().rev().filter_map(|change| match change {
            Change::Removed(request) => Some(request),
            Change::Added(_) => None,
        });
        let sent = self.steps[self.place.at as usize..].iter().filter_map(|step| match step {
            Step::Called(request) => Some(request),
            Step::Answered(_) => None,
        });
        handled.take(NEAR).chain(sent.take(NEAR)).map(|request| projections.topics[*request as usize])
    }

    /// Makes a request the next alternative, if it is one.
    fn prefer(&mut self, request: u32) {
        let first = self.choices.last().map_or(0, |choice| choice.alternatives as usize);
        if let Some(place) = self.alternatives[first..].iter().position(|other| *other == request) {
            self.alternatives[first + place..].rotate_left(1);
        }
    }

    /// Returns `true` if the responses observed so far about two values contradict each other, whatever was handled when:
    /// asked once for each response behind which there was no way on.
    pub(super) fn is_hopeless(&mut self, world: &Composed<'_>, at: u32) -> bool {
        let Some(mut projections) = self.projections.take() else { return false };
        let mut hopeless = false;
        if let Some(Step::Answered(due)) = self.steps.get(at as usize)
            && let topic = projections.topics[*due as usize]
            && topic != NEVER
            && projections.examined.insert(*due)
        {
            let now = Some(at);
            hopeless = self.contradict(world, &mut projections, &[topic], now, true);
            let around = if hopeless { Vec::new() } else { self.topics_around(world, &mut projections) };
            let mut apart: SmallVec<[u32; MOST_REQUESTS]> = SmallVec::from_slice(&[topic]);
            for other in around {
                if other != topic && self.contradict(world, &mut projections, &[topic, other], now, false) {
                    apart.push(other);
                    // Each request about anything may make up for one of them.
                    if apart.len() > projections.loose.len() + 1 {
                        break;
                    }
                }
            }
            hopeless |= apart.len() > 1 && self.contradict(world, &mut projections, &apart, now, true);
        }
        self.projections = Some(projections);
        if hopeless {
            world.left_out(Reduction::Projections);
        }
        hopeless
    }

    /// Returns the topics of requests in flight, and of those handled lately that left something behind.
    fn topics_around(&self, world: &Composed<'_>, projections: &mut Projections) -> Vec<u32> {
        let mut topics = Vec::new();
        let mut next = self.behind[self.requests.len()];
        while (next as usize) < self.requests.len() {
            topics.push(projections.topics[next as usize]);
            next = self.behind[next as usize];
        }
        let in_flight = topics.len();
        for change in self.trail.iter().rev().take(MOST_LOOKED_BACK) {
            if let Change::Removed(request) = change {
                topics.push(projections.topics[*request as usize]);
            }
        }
        topics[in_flight..].sort_unstable();
        topics.dedup();
        let mut place = 0;
        topics.retain(|topic| {
            place += 1;
            *topic != NEVER && (place <= in_flight || self.is_left(world, projections, *topic))
        });
        topics
    }

    /// Returns `true` if the requests about this value that were handled leave something behind.
    fn is_left(&self, world: &Composed<'_>, projections: &mut Projections, topic: u32) -> bool {
        let members = &projections.members[projections.range(topic)];
        let mut done: Rest = members
            .iter()
            .copied()
            .filter(|it| self.handled_at[*it as usize] != NEVER)
            .take(MOST_REQUESTS)
            .collect();
        done.sort_unstable_by_key(|request| self.handled_at[*request as usize]);
        let mut content = 0;
        for request in done {
            if let Outcome::To(after) = projections.effects.outcome(world, &self.requests, request, content) {
                content = after;
            }
        }
        content != 0
    }

    /// Returns `true` if the requests about these values cannot all get their responses: from the present state on, or,
    /// with a moment, from the start until then.
    fn contradict(
        &mut self,
        world: &Composed<'_>,
        projections: &mut Projections,
        topics: &[u32],
        until: Option<u32>,
        with_loose: bool,
    ) -> bool {
        let is_done = |request: u32| until.is_none() && self.handled_at[request as usize] != NEVER;
        let loose = projections.loose.iter().filter(|(request, topic)| {
            // One that was handled counts if it was about one of these values, or it is not known what it was about.
            with_loose
                && !planted(Fault::ProjectedWithoutLoose)
                && (!is_done(*request) || *topic == NEVER || topics.contains(topic))
        });
        let loose = loose.map(|(request, _)| request);
        let all = topics.iter().flat_map(|topic| projections.members(*topic)).chain(loose);
        let all =
            all.copied().filter(|it| until.is_none_or(|until| self.requests[*it as usize].called < until));
        let all: Rest = all.take(MOST_REQUESTS + 1).collect();
        if all.len() > MOST_REQUESTS {
            return false;
        }
        let (mut done, mut rest) = (Rest::new(), Rest::new());
        for request in all {
            if is_done(request) {
                done.push(request);
            } else if self.requests[request as usize].called <= self.place.at
                || !planted(Fault::ProjectedWithoutWhatComes)
            {
                rest.push(request);
            }
        }
        if !planted(Fault::ProjectedInAnyOrder) {
            done.sort_unstable_by_key(|request| self.handled_at[*request as usize]);
        }
        if projections.effects.len() > MOST_CONTENTS {
            projections.effects.forget();
        }
        let (loose, effects) = (&projections.loose, &mut projections.effects);
        let mut case = Case {
            world,
            requests: &self.requests,
            loose,
            effects,
            until: until.unwrap_or(NEVER),
            left: MOST_ORDERS,
        };
        let possible = case.continues(&done, 0, &mut rest);
        !possible && !projections.effects.failed
    }
}

/// Context in which the requests of a projection are examined.
struct Case<'c, 'w> {
    world: &'c Composed<'w>,
    requests: &'c [Request],
    loose: &'c [(u32, u32)],
    effects: &'c mut Effects,
    /// Moment behind which responses do not count.
    until: u32,
    /// Number of orders that may still be tried: what takes more is not examined, so that a step stays short.
    left: u32,
}

impl Case<'_, '_> {
    fn outcome(&mut self, request: u32, content: u32) -> Outcome {
        self.effects.outcome(self.world, self.requests, request, content)
    }

    /// Returns the step at which a request was answered.
    fn answered(&self, request: u32) -> u32 {
        let answered = self.requests[request as usize].answered;
        if answered > self.until { NEVER } else { answered }
    }

    /// Returns `true` if the rest can be completed once these requests were handled in this order. One of which it is not
    /// known what it was about may have been about a value that is left out here.
    fn continues(&mut self, done: &[u32], content: u32, rest: &mut Rest) -> bool {
        let Some((request, done)) = done.split_first() else { return self.completes(content, rest) };
        let is_loose = self.loose.contains(&(*request, NEVER));
        if is_loose && self.continues(done, content, rest) {
            return true;
        }
        match self.outcome(*request, content) {
            Outcome::To(after) => self.continues(done, after, rest),
            Outcome::Same => self.continues(done, content, rest),
            _ => false,
        }
    }

    /// Returns `true` if these requests can be handled in some order, from this content on, so that each gets its response.
    /// Those without a response need not be handled.
    fn completes(&mut self, content: u32, rest: &mut Rest) -> bool {
        let due = rest.iter().map(|request| self.answered(*request)).min().unwrap_or(NEVER);
        self.left = self.left.saturating_sub(1);
        if due == NEVER || self.left == 0 {
            return true;
        }
        for place in 0..rest.len() {
            let request = rest[place];
            if self.requests[request as usize].called > due {
                continue;
            }
            let after = match self.outcome(request, content) {
                Outcome::To(after) => after,
                Outcome::Same if self.answered(request) != NEVER => content,
                _ => continue,
            };
            rest.swap_remove(place);
            let found = self.completes(after, rest);
            rest.push(request);
            let last = rest.len() - 1;
            rest.swap(place, last);
            if found {
                return true;
            }
        }
        false
    }
}
