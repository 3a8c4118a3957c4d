//! One attempt at a turn: the [`Handler`] that answers a model's effects at random.
//!
//! Answers are recorded in order. A turn that must wait for a second message is run again over them, and
//! messages it has already sent are not sent again. An attempt does not change the server before it has
//! succeeded, except for facts and newly opened cells: [`super::machine`] reverts those when it fails.

use std::rc::Rc;

use super::habits::Habits;
use super::machine::Deviant;
use super::peers::Peers;
use super::store::Store;
use crate::fingerprint::Fingerprint;
use crate::knowledge::{Knowledge, Literal, Sort, Term, Var};
use crate::lang::{
    Access, Cause, CellKey, CellSpec, Change, Conn, Handler, Incoming, Mistake, ObjectTable, Rule, Scope,
    Stop, Turn, Val,
};
use crate::random::Random;

/// Recorded answer to an effect of a turn.
#[derive(Clone)]
pub(super) enum MakeResponse<M, O> {
    Received(Conn, Incoming<M>),
    Sent(Conn, O),
    Connected(Conn),
    Closed(Conn),
    Fresh,
    Decided(bool),
    Assumed,
    Chosen(usize),
    Deviated(bool),
    Picked(Rc<dyn CellKey>),
}

impl<M, O> MakeResponse<M, O> {
    fn name(&self) -> &'static str {
        match self {
            MakeResponse::Received(..) => "recv",
            MakeResponse::Sent(..) => "send",
            MakeResponse::Connected(_) => "connect",
            MakeResponse::Closed(_) => "close",
            MakeResponse::Fresh => "fresh",
            MakeResponse::Decided(_) => "branch",
            MakeResponse::Assumed => "assume",
            MakeResponse::Chosen(_) => "choose",
            MakeResponse::Deviated(_) => "deviates",
            MakeResponse::Picked(_) => "pick",
        }
    }
}

/// A running attempt.
pub(super) struct Attempt<'a, M, O> {
    pub(super) store: &'a mut Store,
    pub(super) facts: &'a mut Knowledge,
    pub(super) peers: &'a Peers,
    pub(super) random: &'a mut Random,
    pub(super) deviant: &'a Deviant,
    pub(super) cause: Cause,
    /// Answers so far; those before `at` have been used in this attempt.
    pub(super) answers: Vec<MakeResponse<M, O>>,
    pub(super) at: usize,
    /// The message to be received.
    pub(super) offer: Option<(Conn, Incoming<M>)>,
    pub(super) habits: Habits,
    pub(super) writes: Vec<(u32, Option<Val>)>,
    pub(super) declared: usize,
    /// Identity of the internal action: the choices before the first opened cell, and the picked cells.
    pub(super) action: Fingerprint,
    pub(super) fresh: u32,
    pub(super) connects: u32,
}

impl<M: Clone, O: Clone> Attempt<'_, M, O> {
    /// Returns the recorded answer to this effect, if an earlier run had it.
    fn recorded(&mut self) -> Option<MakeResponse<M, O>> {
        let answer = self.answers.get(self.at).cloned();
        self.at += usize::from(answer.is_some());
        answer
    }

    fn record(&mut self, answer: MakeResponse<M, O>) {
        self.answers.push(answer);
        self.at += 1;
    }
}

fn changed<T, M, O>(before: &MakeResponse<M, O>, now: &'static str) -> Result<T, Stop> {
    Err(Mistake::NotDeterministic { first: before.name().to_owned(), second: now.to_owned() }.into())
}

impl<M: Clone, O: Clone + Eq> Handler<M, O> for Attempt<'_, M, O> {
    fn recv(&mut self, from: Option<Conn>, closes: bool) -> Result<(Conn, Incoming<M>), Stop> {
        self.habits.effect()?;
        self.habits.receive(from.is_some())?;
        let (conn, incoming) = match self.recorded() {
            Some(MakeResponse::Received(conn, incoming)) => (conn, incoming),
            Some(other) => return changed(&other, "recv"),
            None => {
                let (conn, incoming) = self.offer.take().ok_or(Stop::Blocked)?;
                let wanted = from.is_none_or(|from| from == conn);
                if !wanted || (matches!(incoming, Incoming::Closed) && !closes) {
                    return Err(Stop::Refused);
                }
                self.record(MakeResponse::Received(conn, incoming.clone()));
                (conn, incoming)
            }
        };
        self.habits.received(conn);
        Ok((conn, incoming))
    }

    fn send(&mut self, to: Conn, message: O) -> Turn {
        self.habits.effect()?;
        self.habits.send(to)?;
        match self.recorded() {
            Some(MakeResponse::Sent(conn, before)) if conn == to && before == message => return Ok(()),
            Some(other) => return changed(&other, "send"),
            None => {}
        }
        let closed = |answer: &MakeResponse<M, O>| matches!(answer, MakeResponse::Closed(own) if *own == to);
        if self.peers.is_closed(to) || self.answers.iter().any(closed) {
            return Err(Mistake::SendOnClosed { conn: to.to_string() }.into());
        }
        self.record(MakeResponse::Sent(to, message));
        Ok(())
    }

    fn connect(&mut self) -> Result<Conn, Stop> {
        self.habits.effect()?;
        self.habits.widen("connect")?;
        let conn = Conn::opened(self.cause, self.connects);
        self.connects += 1;
        match self.recorded() {
            Some(MakeResponse::Connected(_)) => {}
            Some(other) => return changed(&other, "connect"),
            None => self.record(MakeResponse::Connected(conn)),
        }
        Ok(conn)
    }

    fn close(&mut self, conn: Conn) -> Turn {
        self.habits.effect()?;
        self.habits.close(conn)?;
        match self.recorded() {
            Some(MakeResponse::Closed(before)) if before == conn => return Ok(()),
            Some(other) => return changed(&other, "close"),
            None => {}
        }
        self.record(MakeResponse::Closed(conn));
        Ok(())
    }

    fn fresh(&mut self, sort: Sort) -> Result<Var, Stop> {
        self.habits.effect()?;
        let var = Var(self.cause.named(self.fresh));
        self.fresh += 1;
        match self.recorded() {
            Some(MakeResponse::Fresh) => {}
            Some(other) => return changed(&other, "fresh"),
            None => {
                self.facts.declare(var, sort);
                self.declared += 1;
                self.record(MakeResponse::Fresh);
            }
        }
        Ok(var)
    }

    fn decide(&mut self, literal: &Literal) -> Result<bool, Stop> {
        self.habits.effect()?;
        if !is_constant(literal) {
            self.habits.look()?;
        }
        match self.recorded() {
            Some(MakeResponse::Decided(holds)) => return Ok(holds),
            Some(other) => return changed(&other, "branch"),
            None => {}
        }
        let holds = match self.facts.decide(literal) {
            Some(entailed) => entailed,
            None => guess(literal, self.facts, self.random)?,
        };
        self.record(MakeResponse::Decided(holds));
        Ok(holds)
    }

    fn assume(&mut self, literal: &Literal) -> Turn {
        self.habits.effect()?;
        match self.recorded() {
            Some(MakeResponse::Assumed) => return Ok(()),
            Some(other) => return changed(&other, "assume"),
            None => {}
        }
        self.facts.assert(literal).map_err(|_| Stop::Dead)?;
        self.record(MakeResponse::Assumed);
        Ok(())
    }

    fn choose(&mut self, options: usize) -> Result<usize, Stop> {
        self.habits.effect()?;
        if options == 0 {
            return Err(Mistake::EmptyChoice.into());
        }
        let chosen = match self.recorded() {
            Some(MakeResponse::Chosen(chosen)) => chosen,
            Some(other) => return changed(&other, "choose"),
            None => {
                let chosen = self.random.below(options as u64) as usize;
                self.record(MakeResponse::Chosen(chosen));
                chosen
            }
        };
        self.habits.look()?;
        if !self.habits.has_opened() {
            self.action = Fingerprint::of(&(self.action, chosen));
        }
        Ok(chosen)
    }

    fn deviates(&mut self, rule: &'static Rule) -> Result<bool, Stop> {
        self.habits.effect()?;
        self.habits.look()?;
        match self.recorded() {
            Some(MakeResponse::Deviated(deviates)) => Ok(deviates),
            Some(other) => changed(&other, "deviates"),
            None => {
                let deviates = self.deviant.breaks(rule, self.random);
                self.record(MakeResponse::Deviated(deviates));
                Ok(deviates)
            }
        }
    }

    fn scope(&mut self, scope: Scope) -> Turn {
        self.habits.effect()?;
        Ok(self.habits.scope(scope)?)
    }

    fn open(&mut self, cell: &CellSpec<'_>, access: Access) -> Result<u32, Stop> {
        self.habits.effect()?;
        let (facts, declared) = (&mut *self.facts, &mut self.declared);
        let number = self.store.open(cell, &mut |var, sort| {
            facts.declare(var, sort);
            *declared += 1;
        });
        self.habits.open(number, access, || format!("{cell:?}"))?;
        Ok(number)
    }

    fn read(&mut self, cell: u32) -> Result<Option<Val>, Stop> {
        self.habits.effect()?;
        if let Some((_, value)) = self.writes.iter().rev().find(|(number, _)| *number == cell) {
            return Ok(value.clone());
        }
        self.habits.look()?;
        Ok(self.store.read(cell))
    }

    fn write(&mut self, cell: u32, value: Option<Val>) -> Turn {
        self.habits.effect()?;
        self.habits.write(cell, || self.store.describe(cell))?;
        self.writes.push((cell, value));
        Ok(())
    }

    fn update(&mut self, cell: u32, change: &Change<'_>) -> Turn {
        let own = self.writes.iter().rev().find(|(number, _)| *number == cell);
        let before = own.map_or_else(|| self.store.read(cell), |(_, value)| value.clone());
        self.write(cell, change(before)?)
    }

    fn pick(&mut self, table: &'static str) -> Result<Rc<dyn CellKey>, Stop> {
        self.habits.effect()?;
        let key = match self.recorded() {
            Some(MakeResponse::Picked(key)) => key,
            Some(other) => return changed(&other, "pick"),
            None => {
                let mut cells = self.store.table(table);
                if cells.is_empty() {
                    return Err(Stop::Idle);
                }
                let (key, _) = cells.swap_remove(self.random.below(cells.len() as u64) as usize);
                self.record(MakeResponse::Picked(Rc::clone(&key)));
                key
            }
        };
        self.action = Fingerprint::of(&(self.action, table, key.fingerprint()));
        Ok(key)
    }

    fn scan(&mut self, table: &'static str) -> Result<Vec<(Rc<dyn CellKey>, u32)>, Stop> {
        self.habits.effect()?;
        self.habits.widen("scan")?;
        self.habits.look()?;
        Ok(self.store.table(table))
    }

    /// Makes the id of a new object differ from all others. Where a decision is open, a guess would be wrong half of the time, for each object.
    fn claim(&mut self, table: ObjectTable, cell: u32, id: &Term) -> Result<(u32, Option<Val>), Stop> {
        for (other, place) in Handler::<M, O>::roster(self, table)? {
            if other != *id && Handler::<M, O>::read(self, place)?.is_some() {
                Handler::<M, O>::assume(self, &Literal::Ne(other, id.clone()))?;
            }
        }
        Ok((cell, None))
    }
}

fn is_constant(literal: &Literal) -> bool {
    let (Literal::Eq(left, right) | Literal::Ne(left, right) | Literal::AtMost { left, right, .. }) = literal;
    matches!((left, right), (Term::Const(_), Term::Const(_))) || left == right
}

/// Decides an open literal at random, and adds the decision to the facts.
fn guess(literal: &Literal, facts: &mut Knowledge, random: &mut Random) -> Result<bool, Stop> {
    let first = random.chance(1, 2);
    for holds in [first, !first] {
        let mut learnt = facts.clone();
        let fact = if holds { literal.clone() } else { literal.negated() };
        if learnt.assert(&fact).is_ok() {
            *facts = learnt;
            return Ok(holds);
        }
    }
    Err(Stop::Dead)
}
