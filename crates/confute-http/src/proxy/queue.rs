//! Answers leave a connection in the order of its requests, whoever gives them (RFC 9112, 9.3.2).
//!
//! It does not matter here what the answers are: a gateway keeps its own here, and a server that is more than a gateway all
//! of them.

use confute::knowledge::Var;
use confute::lang::{Conn, HasVars, Io, ServerModel, Stop, Table, Turn};

/// What a client will be told, in the order of its requests.
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

/// By client.
const fn queues<O: Clone + Eq + std::hash::Hash + std::fmt::Debug + HasVars + 'static>()
-> Table<Conn, Queue<O>> {
    Table::new("queues")
}

/// A client asks. The number stands for its request.
pub(crate) fn enter<S: ServerModel<Out: HasVars>>(io: &mut Io<'_, S>, client: Conn) -> Result<u32, Stop> {
    let cell = queues::<S::Out>().edit(io, &client)?;
    let Queue { next, mut replies } = cell.get(io)?.unwrap_or_default();
    replies.push((next, None));
    cell.set(io, Queue { next: next + 1, replies })?;
    Ok(next)
}

/// Tells a client, as soon as all that it asked before is told.
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
