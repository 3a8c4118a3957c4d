//! Waiting: online, a part is explained up to the oldest request that is still due a response.
//!
//! *Leaves out*, for the time being: the orders of what is in flight among which the next responses will decide.
//!
//! *Why no verdict changes*: nothing is dropped. The log behind that request is explained when its response comes, when its
//! connection ends, or when a verdict on all events is asked for ([`Tester::verdict`](crate::Tester::verdict)); a
//! violation is reported at most as many events late as requests are outstanding.
//!
//! *Premises*: a request that waits too long does not hold up the rest for ever (more than a stretch of events), and
//! without a network there is nothing to wait for: the order is known. On a network that loses messages no response is
//! sure to come, so the log is explained up to the last rest.
//!
//! *Place in the order*: when an event comes, after [`parts`](super::parts). Offline nothing waits: all is known.

use crate::derive::compose::Composed;
use crate::derive::dualize::{Entry, Task};
use crate::derive::reduce::Reduction;
use crate::derive::search::{Part, STRETCH};

impl Part {
    /// Returns the index up to which the log can be explained without guessing responses that are yet to come. A
    /// request that waits too long for its response does not hold up the rest for ever.
    pub(crate) fn ripe(&mut self, world: &Composed<'_>) -> usize {
        let waits = |entry: &Entry| match &entry.task {
            Task::Given(delivery) => {
                !delivery.foot.whole
                    && delivery.foot.replies > 0
                    && !world.is_answered(delivery)
                    && !world.has_ended_at_all(delivery)
            }
            _ => false,
        };
        while self.settling.answered < self.log.len() && !waits(&self.log[self.settling.answered]) {
            self.settling.answered += 1;
        }
        if !world.transport.is_reliable && !world.transport.is_direct {
            // Where messages get lost no request is sure to get a response, but the network may come to rest.
            let rested = self.log.iter().rposition(|entry| matches!(entry.task, Task::Rest));
            self.settling.answered = rested.map_or(0, |rested| rested + 1);
        }
        if !world.reduces(Reduction::Waiting)
            || world.transport.is_direct
            || self.log.len() - self.settling.answered > STRETCH
        {
            return self.log.len();
        }
        self.settling.answered.max(self.front.horizon)
    }
}
