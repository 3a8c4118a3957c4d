//! The simulated server: runs turns of a model, one at a time.
//!
//! A turn happens completely or not at all. A turn that contradicts itself is tried again with other choices,
//! a few times; after that it does not happen for now. A turn that waits for another message is suspended
//! with its answers, and no other starts.

use rustc_hash::FxHashMap;

use super::attempt::{Attempt, MakeResponse};
use super::habits::Habits;
use super::peers::Peers;
use super::store::Store;
use crate::fingerprint::Fingerprint;
use crate::knowledge::{Knowledge, Literal, Term, Value, Var};
use crate::lang::{Cause, Conn, Incoming, Io, Mistake, Pattern, Rule, ServerModel, Stop, guarded, turn_of};
use crate::random::Random;

/// Number of attempts at a turn that contradicts itself.
const ATTEMPTS: usize = 16;

/// Number of new secrets after which those that no cell contains are forgotten.
const MANY: usize = 32;

/// Output of a turn.
pub(super) enum Posted<M> {
    Message(Conn, M),
    Close(Conn),
}

/// Result of a turn.
pub(super) enum Made<M> {
    /// The turn ran, at least up to a wait for another message, and sent this.
    Happened(Vec<Posted<M>>),
    /// The turn does not accept this message now.
    Refused,
    /// The turn did not happen.
    Nothing,
}

/// Rules that this server breaks, and their frequency.
#[derive(Default)]
pub(super) struct Deviant {
    rules: Vec<Box<str>>,
    one_in: u64,
}

impl Deviant {
    pub(super) fn new(rules: &[&str], one_in: u64) -> Self {
        Self { rules: rules.iter().map(|rule| Box::from(*rule)).collect(), one_in }
    }

    pub(super) fn breaks(&self, rule: &Rule, random: &mut Random) -> bool {
        self.rules.iter().any(|name| **name == *rule.name) && random.chance(1, self.one_in)
    }
}

/// Internal actions that have happened since a message touched the same cells.
#[derive(Default)]
struct Spent {
    by_action: FxHashMap<Fingerprint, Option<Vec<u32>>>,
}

impl Spent {
    /// Makes the internal actions at these cells available again, after a message turn touched them; `None`
    /// for all.
    fn renew(&mut self, footprint: Option<&[u32]>) {
        let Some(footprint) = footprint else { return self.by_action.clear() };
        self.by_action.retain(|_, cells| match cells {
            None => false,
            Some(cells) => !cells.iter().any(|cell| footprint.contains(cell)),
        });
    }
}

/// A turn that waits for another message.
struct Suspended<M, O> {
    cause: Cause,
    internal: bool,
    answers: Vec<MakeResponse<M, O>>,
}

/// The server's side of a simulation.
pub(super) struct Machine<'m, S: ServerModel> {
    model: &'m S,
    store: Store,
    facts: Knowledge,
    pub(super) peers: Peers,
    pub(super) deviant: Deviant,
    pub(super) deviations: u64,
    spent: Spent,
    suspended: Option<Suspended<S::Msg, S::Out>>,
    internals: u32,
    declared: usize,
    live: usize,
}

impl<'m, S: ServerModel<Msg: Clone>> Machine<'m, S> {
    pub(super) fn new(model: &'m S) -> Self {
        Self {
            model,
            store: Store::default(),
            facts: Knowledge::new(),
            peers: Peers::default(),
            deviant: Deviant::default(),
            deviations: 0,
            spent: Spent::default(),
            suspended: None,
            internals: 0,
            declared: 0,
            live: 0,
        }
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// Runs a turn without a message.
    pub(super) fn internal(&mut self, random: &mut Random) -> Result<Made<S::Msg>, Mistake> {
        // The name only has to be new: the cell of the turn is needed only where different orders are
        // compared.
        let cause = Cause::Internal { cell: self.internals, n: 0 };
        self.turn(None, Suspended { cause, internal: true, answers: Vec::new() }, random)
    }

    /// Runs a turn for this message, or continues the suspended turn.
    pub(super) fn deliver(
        &mut self,
        conn: Conn,
        incoming: Incoming<S::Msg>,
        cause: Cause,
        random: &mut Random,
    ) -> Result<Made<S::Msg>, Mistake> {
        let start =
            self.suspended.take().unwrap_or(Suspended { cause, internal: false, answers: Vec::new() });
        self.turn(Some(&(conn, incoming)), start, random)
    }

    fn turn(
        &mut self,
        offer: Option<&(Conn, Incoming<S::Msg>)>,
        start: Suspended<S::Msg, S::Out>,
        random: &mut Random,
    ) -> Result<Made<S::Msg>, Mistake> {
        let (facts, cells) = (self.facts.clone(), self.store.len());
        let mut made = Made::Nothing;
        for _ in 0..ATTEMPTS {
            match self.attempt(offer.cloned(), &start, random) {
                Ok(posted) => return Ok(Made::Happened(posted)),
                Err(Stop::Mistake(mistake)) => return Err(*mistake),
                Err(stop) => {
                    self.facts = facts.clone();
                    self.store.truncate(cells);
                    match stop {
                        Stop::Dead => continue,
                        Stop::Refused => made = Made::Refused,
                        Stop::Blocked | Stop::Idle | Stop::Looked | Stop::Mistake(_) => {}
                    }
                    break;
                }
            }
        }
        if !start.answers.is_empty() {
            self.suspended = Some(start);
        }
        Ok(made)
    }

    fn attempt(
        &mut self,
        offer: Option<(Conn, Incoming<S::Msg>)>,
        start: &Suspended<S::Msg, S::Out>,
        random: &mut Random,
    ) -> Result<Vec<Posted<S::Msg>>, Stop> {
        let mut attempt = Attempt {
            store: &mut self.store,
            facts: &mut self.facts,
            peers: &self.peers,
            random,
            deviant: &self.deviant,
            cause: start.cause,
            answers: start.answers.clone(),
            at: 0,
            offer,
            habits: Habits::new(start.internal),
            writes: Vec::new(),
            declared: 0,
            action: Fingerprint::default(),
            fresh: 0,
            connects: 0,
        };
        let message = attempt.offer.as_ref().map(|(_, message)| message.clone());
        let mut io = Io::new(&mut attempt);
        let result = guarded(self.model.name(), || {
            if start.internal { self.model.internal(&mut io) } else { self.model.serve(&mut io) }
        });
        let result = result.unwrap_or_else(|why| {
            let turn = turn_of(message.map(|message| match message {
                Incoming::Message(message) => format!("{message}"),
                Incoming::Closed => "Closed".to_owned(),
            }));
            Err(Mistake::Panicked { model: self.model.name(), turn, why }.into())
        });
        let blocked = match result {
            Ok(()) => false,
            Err(Stop::Blocked) if !start.internal && !attempt.answers.is_empty() => true,
            Err(stop) => return Err(stop),
        };
        if !blocked {
            attempt.habits.end()?;
        }
        let action = attempt.action;
        if start.internal && self.spent.by_action.contains_key(&action) {
            return Err(Stop::Idle);
        }
        let Attempt { facts, random, answers, habits, writes, declared, .. } = attempt;
        let posted = post(&answers[start.answers.len()..], facts, random)?;

        // The attempt has succeeded: from here on its effects are applied.
        self.declared += declared;
        for answer in &answers[start.answers.len()..] {
            match answer {
                MakeResponse::Connected(conn) => self.peers.connect(*conn),
                MakeResponse::Closed(conn) => self.peers.close(*conn),
                MakeResponse::Deviated(true) => self.deviations += 1,
                _ => {}
            }
        }
        if blocked {
            self.suspended = Some(Suspended { answers, ..*start });
            return Ok(posted);
        }
        for (cell, value) in writes {
            self.store.write(cell, value);
        }
        if start.internal {
            self.internals += 1;
            self.spent.by_action.insert(action, habits.footprint());
        } else {
            self.spent.renew(habits.footprint().as_deref());
        }
        self.forget();
        Ok(posted)
    }

    /// Forgets facts about secrets that no cell contains: every message was made concrete when it was sent,
    /// so these facts have no further use.
    fn forget(&mut self) {
        if self.declared > MANY.max(self.live) {
            let live = self.store.secrets();
            self.facts.forget(&|var| live.contains(&var));
            self.live = live.len();
            self.declared = 0;
        }
    }
}

/// Returns the output of these answers, with a value chosen for every secret that has none yet.
fn post<M, O: Pattern<M>>(
    answers: &[MakeResponse<M, O>],
    facts: &mut Knowledge,
    random: &mut Random,
) -> Result<Vec<Posted<M>>, Stop> {
    let mut posted = Vec::new();
    let mut consistent = true;
    let mut reveal = |var: Var| -> Value {
        let term = Term::Var(var);
        facts.value(&term).unwrap_or_else(|| {
            let value = facts.witness(var, &mut |bound| random.below(bound));
            consistent &= facts.assert(&Literal::Eq(term, Term::Const(value.clone()))).is_ok();
            value
        })
    };
    for answer in answers {
        match answer {
            MakeResponse::Sent(to, message) => {
                posted.push(Posted::Message(*to, message.instantiate(&mut reveal)));
            }
            MakeResponse::Closed(conn) => posted.push(Posted::Close(*conn)),
            _ => {}
        }
    }
    if consistent { Ok(posted) } else { Err(Stop::Dead) }
}
