//! Queue of responses: they leave a connection in the order of its requests (RFC 9112, 9.3.2).
//!
//! The queue is generic over the responses: a gateway queues its own, and a server that contains a gateway all of its
//! responses.

use confute::knowledge::Var;
use confute::lang::{Conn, HasVars, Io, ServerModel, Stop, Table, Turn};

/// The pending responses to a client, in the order of its requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Queue<O> {
    next: u32,
    replies: Vec<(u32, Option<O>)>,
}

impl<O> Default for Queue<O> {
    fn default() -> Self {
        Self { next: 0, replies: Vec::new() }
    }
}

impl<O: HasVars> HasVars for Queue<O> {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        self.replies.iter().for_each(|(_, reply)| reply.vars(visit));
    }
}

/// Returns the table of queues, by client connection.
const fn queues<O: Clone + Eq + std::hash::Hash + std::fmt::Debug + HasVars + 'static>()
-> Table<Conn, Queue<O>> {
    Table::new("queues")
}

/// Adds a request of a client to its queue, and returns its ticket.
pub(crate) fn enter<S: ServerModel<Out: HasVars>>(io: &mut Io<'_, S>, client: Conn) -> Result<u32, Stop> {
    let cell = queues::<S::Out>().edit(io, &client)?;
    let Queue { next, mut replies } = cell.get(io)?.unwrap_or_default();
    replies.push((next, None));
    cell.set(io, Queue { next: next + 1, replies })?;
    Ok(next)
}

/// Sets the response to a request, and sends every response that has no earlier one pending.
pub(crate) fn tell<S: ServerModel<Out: HasVars>>(
    io: &mut Io<'_, S>,
    client: Conn,
    request: u32,
    reply: &S::Out,
) -> Turn {
    let cell = queues::<S::Out>().edit(io, &client)?;
    let Queue { next, mut replies } = cell.get(io)?.unwrap_or_default();
    for (ticket, known) in &mut replies {
        if *ticket == request {
            *known = Some(reply.clone());
        }
    }
    let ready = replies.iter().take_while(|(_, reply)| reply.is_some()).count();
    let told: Vec<_> = replies.drain(..ready).filter_map(|(_, reply)| reply).collect();
    cell.set(io, Queue { next, replies })?;
    told.into_iter().try_for_each(|reply| io.send(client, reply))
}
