//! Runs one turn of the model inside one hypothesis.
//!
//! The [`Runner`] is the handler that the search puts behind [`Io`](crate::lang::Io). It answers from the hypothesis
//! (cells, facts), from the messages delivered to this turn, and from a [`Path`] of choices; where the path ends it
//! takes the first option and records the number of options, so that running the turn once for each path enumerates
//! its outcomes. It changes nothing: the effects of the turn are collected in a [`Ran`], to be applied by
//! [`compose`](super::compose).
//!
//! The runner also makes the *dry run* that finds a message's [`Footprint`]: it stops at the first look, before
//! anything could depend on the state.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Display};
use std::rc::Rc;

use smallvec::SmallVec;

use super::book::{CellBook, suits};
use super::coverage::Coverage;
use super::hypothesis::{Footprint, Hypothesis, Ids};
use crate::erased::{self, Letter, Message, Model, Shown};
use crate::fingerprint::Fingerprint;
use crate::knowledge::{Knowledge, Literal, Sort, Term, Var};
use crate::lang::{
    Access, Cause, CellKey, CellSpec, Change, Conn, Handler, Incoming, Mistake, ObjectKey, ObjectTable,
    Pattern, Rule, Scope, Stop, Text, Turn, Val, guarded, objects, turn_of,
};

/// Maximum number of calls to `io` in one turn: more than any turn needs.
const MOST_EFFECTS: usize = 100_000;
/// Maximum number of messages in one turn: a turn that waits for more must be a loop.
const MOST_MESSAGES: usize = 500;

/// The answer to one question of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Answer {
    pub(crate) taken: u32,
    pub(crate) options: u32,
    /// Identifier of the question, to detect turns that are not deterministic.
    pub(crate) question: u32,
}

/// The answers of one run, in the order of the questions.
pub(crate) type Path = SmallVec<[Answer; 4]>;

/// Moves to the next untried path, leaving the first `fixed` answers unchanged. Returns `false` when all were tried.
pub(crate) fn next_path(path: &mut Path, fixed: usize) -> bool {
    while path.len() > fixed {
        let last = path.len() - 1;
        if path[last].taken + 1 < path[last].options {
            path[last].taken += 1;
            return true;
        }
        path.pop();
    }
    false
}

/// Returns `true` if there are untried paths after this one.
pub(crate) fn has_more(path: &Path, fixed: usize) -> bool {
    path.iter().skip(fixed).any(|answer| answer.taken + 1 < answer.options)
}

/// An action of a turn that is visible outside.
pub(crate) enum Act {
    Send(Conn, Box<dyn Letter>),
    Connect(Conn),
    Close(Conn),
}

impl Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Act::Send(to, message) => write!(f, "send {message} on {to}"),
            Act::Connect(conn) => write!(f, "open {conn}"),
            Act::Close(conn) => write!(f, "close {conn}"),
        }
    }
}

impl Act {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Act::Send(to, message), Act::Send(other_to, other)) => to == other_to && message.is(&**other),
            (Act::Connect(conn), Act::Connect(other)) | (Act::Close(conn), Act::Close(other)) => {
                conn == other
            }
            _ => false,
        }
    }
}

/// The effects of one run.
pub(crate) struct Ran {
    pub(crate) end: Turn,
    pub(crate) acts: SmallVec<[Act; 1]>,
    pub(crate) writes: SmallVec<[(u32, Option<Val>); 1]>,
    pub(crate) opened: SmallVec<[(u32, Access); 2]>,
    pub(crate) facts: Knowledge,
    pub(crate) deviations: SmallVec<[&'static Rule; 1]>,
    /// Rules that were consulted and kept.
    pub(crate) kept: SmallVec<[&'static Rule; 1]>,
    /// `true` if the turn touches more than its own connection and the cells that its footprint lists.
    pub(crate) whole: bool,
    /// `true` if the turn has seen a content or made a choice, so that later steps may depend on the state.
    pub(crate) looked: bool,
    /// Number of choices made.
    pub(crate) asked: usize,
    /// `true` if the run listed the cells of a table.
    pub(crate) scanned: bool,
    /// `true` if the run made new content from old without a look.
    pub(crate) updated: bool,
    /// Tables in which the run created objects, each with the cell of an object whose id no message contains.
    pub(crate) creates: SmallVec<[(&'static str, u32); 1]>,
    /// `true` if the run listed objects.
    pub(crate) lists: bool,
    pub(crate) replies: Option<u32>,
    pub(crate) received: usize,
    /// Identity of an internal turn: its choices before it opened any cell.
    pub(crate) action: Fingerprint,
}

impl Ran {
    /// Describes the first difference between two runs over the same answers, if there is one.
    pub(crate) fn differs(&self, other: &Self, book: &CellBook) -> Option<(String, String)> {
        let tell = |what: fn(&Self, &CellBook) -> String| Some((what(self, book), what(other, book)));
        let is_same = |(one, two): (&Act, &Act)| one.is(two);
        if self.acts.len() != other.acts.len() || !std::iter::zip(&self.acts, &other.acts).all(is_same) {
            return tell(Self::acts_in_words);
        }
        if self.opened != other.opened {
            return tell(Self::opened_in_words);
        }
        let print = |ran: &Self| -> SmallVec<[_; 2]> {
            let print = |value: &Option<Val>| value.as_ref().map(|value| value.fingerprint);
            ran.writes.iter().map(|(cell, value)| (*cell, print(value))).collect()
        };
        if print(self) != print(other) {
            return tell(Self::writes_in_words);
        }
        if self.asked != other.asked {
            return tell(|ran, _| format!("made {} choices", ran.asked));
        }
        if self.end != other.end {
            return tell(|ran, _| ran.end_in_words().to_owned());
        }
        let learnt = |ran: &Self| (ran.facts.fingerprint(), ran.received, ran.replies, ran.whole);
        let names =
            |ran: &Self| -> SmallVec<[_; 4]> { ran.deviations.iter().map(|rule| rule.name).collect() };
        let is_other = learnt(self) != learnt(other) || names(self) != names(other);
        is_other.then(|| ("one thing".to_owned(), "another".to_owned()))
    }

    fn acts_in_words(&self, _: &CellBook) -> String {
        in_words(self.acts.iter().map(ToString::to_string), "sent nothing")
    }

    fn opened_in_words(&self, book: &CellBook) -> String {
        let tell = |(cell, access): &(u32, Access)| {
            let access = if *access == Access::Read { "to read" } else { "to write" };
            format!("opened {} {access}", book.cells[*cell as usize].describe())
        };
        in_words(self.opened.iter().map(tell), "opened no cell")
    }

    fn writes_in_words(&self, book: &CellBook) -> String {
        let tell = |(cell, value): &(u32, Option<Val>)| {
            let cell = book.cells[*cell as usize].describe();
            match value {
                Some(value) => format!("wrote {:?} to {cell}", &value.data),
                None => format!("cleared {cell}"),
            }
        };
        in_words(self.writes.iter().map(tell), "wrote nothing")
    }

    fn end_in_words(&self) -> &'static str {
        match self.end {
            Ok(()) => "came to its end",
            Err(Stop::Blocked) => "waited for another message",
            Err(Stop::Refused) => "did not take the message",
            Err(Stop::Dead) => "contradicted what is known",
            Err(Stop::Idle) => "did nothing",
            Err(Stop::Looked) => "looked at the state",
            Err(Stop::Mistake(_)) => "made a mistake",
        }
    }
}

fn in_words(parts: impl Iterator<Item = String>, none: &str) -> String {
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() { none.to_owned() } else { parts.join(", ") }
}

impl Ran {
    /// Returns `true` if the server took all of these messages, whatever came of it.
    pub(crate) fn took(&self, messages: usize) -> bool {
        self.received >= messages && !matches!(self.end, Err(Stop::Mistake(_)))
    }

    /// Returns a table in which the run created an object whose id the response does not tell, though it is this response.
    pub(crate) fn untold(&self, foot: &Footprint) -> Option<&'static str> {
        let response = foot.ids.as_ref()?.response.as_ref()?;
        let is_written = |cell: &u32| self.writes.iter().any(|(written, _)| written == cell);
        let (table, _) = self.creates.iter().find(|(_, cell)| is_written(cell))?;
        let [Act::Send(_, message)] = self.acts.as_slice() else { return None };
        let fits = self.end.is_ok() && message.unify(&**response, &mut self.facts.clone()).is_ok();
        fits.then_some(table)
    }

    /// Returns `true` if the run left every cell unchanged, and taught no fact.
    pub(crate) fn changes_nothing(&self, before: &Hypothesis) -> bool {
        self.writes.is_empty() && self.facts.fingerprint() == before.facts.fingerprint()
    }
}

/// The inputs of a run.
pub(crate) struct Start<'a> {
    /// Origin of the run, from which new names are made.
    pub(crate) cause: Cause,
    /// Messages of this turn so far.
    pub(crate) inbox: &'a [(Conn, Incoming<Message>)],
    /// Number of acts that had taken effect when the turn was suspended.
    pub(crate) acted: usize,
    /// Number of answers on the path that were given before the turn was suspended.
    pub(crate) fixed: usize,
    /// Footprint from the dry run; `None` in a dry run and in internal turns.
    pub(crate) foot: Option<&'a Footprint>,
    /// Earlier version of a cell, shown instead of the present one.
    pub(crate) version: Option<(u32, Option<&'a Val>)>,
    /// `true` in a dry run, which stops at the first look.
    pub(crate) dry: bool,
    /// Cells that an internal turn may pick; `None` outside internal turns.
    pub(crate) pickable: Option<&'a [u32]>,
    /// `true` if counted rules may be broken in this turn.
    pub(crate) may_break: bool,
    /// `true` if new objects are to have ids that the response does not tell.
    pub(crate) untold: bool,
}

impl<'a> Start<'a> {
    /// Returns the inputs of a turn that handles these messages from its beginning.
    pub(crate) fn of(cause: Cause, inbox: &'a [(Conn, Incoming<Message>)]) -> Self {
        Self {
            cause,
            inbox,
            acted: 0,
            fixed: 0,
            foot: None,
            version: None,
            dry: false,
            pickable: None,
            may_break: true,
            untold: false,
        }
    }
}

impl Clone for Start<'_> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

/// The rules that a run may break, and how often.
#[derive(Clone, Copy)]
pub(crate) struct Leeway<'a> {
    /// Rules that may be broken at all.
    pub(crate) relaxed: &'a [&'static str],
    /// Relaxed rules whose deviations are not counted.
    pub(crate) free: &'a [&'static str],
    /// Relaxed rules that are broken whenever they can be.
    pub(crate) always: &'a [&'static str],
    /// Number of deviations from the other relaxed rules that the hypothesis has left.
    pub(crate) left: u32,
    /// Record of the rules that were consulted.
    pub(crate) coverage: &'a Coverage,
}

/// The handler of one run.
pub(crate) struct Runner<'a> {
    pub(crate) book: &'a RefCell<CellBook>,
    /// See [`Composed::spare`](super::compose::Composed::spare).
    spare: &'a Cell<Option<Box<dyn Letter>>>,
    leeway: Leeway<'a>,
    /// Number of counted deviations in this run.
    counted: u32,
    pub(crate) hypothesis: &'a Hypothesis,
    pub(crate) start: Start<'a>,
    pub(crate) path: &'a mut Path,
    asked: usize,
    effects: usize,
    acted: usize,
    fresh: u32,
    connects: u32,
    own: Option<Conn>,
    /// Connections that the turn closed.
    closed: SmallVec<[Conn; 1]>,
    sent_to_own: u32,
    ran: Ran,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(
        (book, spare): (&'a RefCell<CellBook>, &'a Cell<Option<Box<dyn Letter>>>),
        leeway: Leeway<'a>,
        hypothesis: &'a Hypothesis,
        start: Start<'a>,
        path: &'a mut Path,
    ) -> Self {
        let whole = start.foot.is_some_and(|foot| foot.whole);
        let ran = Ran {
            end: Ok(()),
            acts: SmallVec::new(),
            writes: SmallVec::new(),
            opened: SmallVec::new(),
            facts: hypothesis.facts.clone(),
            deviations: SmallVec::new(),
            kept: SmallVec::new(),
            whole,
            looked: false,
            asked: 0,
            scanned: false,
            updated: false,
            creates: SmallVec::new(),
            lists: false,
            replies: None,
            received: 0,
            action: Fingerprint::default(),
        };
        Self {
            book,
            spare,
            leeway,
            counted: 0,
            hypothesis,
            start,
            path,
            asked: 0,
            effects: 0,
            acted: 0,
            fresh: 0,
            connects: 0,
            own: None,
            closed: SmallVec::new(),
            sent_to_own: 0,
            ran,
        }
    }

    /// Runs `serve` (or `internal`) once along the path.
    pub(crate) fn run(mut self, model: &dyn Model) -> Ran {
        let internal = self.start.pickable.is_some();
        let end = guarded(|| if internal { model.internal(&mut self) } else { model.serve(&mut self) });
        self.ran.end = end.unwrap_or_else(|why| Err(self.panicked(model, why)));
        self.ran.asked = self.asked;
        if !internal && self.ran.received == 0 && self.ran.end.is_ok() {
            // The search runs `serve` only for messages, so the behaviour that such a turn stands for would be
            // missing, and a correct server refuted.
            self.ran.end = Err(Mistake::NotReceived { what: "ends".to_owned() }.into());
        }
        if !self.ran.whole && !internal && self.ran.end.is_ok() {
            // The number of responses on which the search relies: the one declared with `replies`, or else that of the dry
            // run. In the dry run itself it is one if the turn looked at state, and what the turn sent if it did not.
            let announced = self.ran.replies.unwrap_or(if self.ran.looked || self.start.foot.is_some() {
                self.start.foot.map_or(1, |foot| foot.replies)
            } else {
                self.sent_to_own
            });
            if announced != self.sent_to_own {
                self.ran.end = Err(Mistake::Replies { sent: self.sent_to_own, announced }.into());
            }
            if !self.ran.looked && self.ran.replies.is_none() {
                self.ran.replies = Some(self.sent_to_own);
            }
        }
        self.ran
    }

    #[cold]
    fn panicked(&self, model: &dyn Model, why: String) -> Stop {
        let last = self.start.inbox.get(self.ran.received.saturating_sub(1));
        let message = last.map(|(_, item)| match item {
            Incoming::Message(message) => Shown(&**message).to_string(),
            Incoming::Closed => "Closed".to_owned(),
        });
        Mistake::Panicked { model: model.name(), turn: turn_of(message), why }.into()
    }

    fn tick(&mut self) -> Turn {
        self.effects += 1;
        if self.effects > MOST_EFFECTS {
            return Err(Mistake::Endless { effects: self.effects - 1 }.into());
        }
        Ok(())
    }

    /// Notes that the turn may depend on the state from here on.
    fn look(&mut self) -> Turn {
        if self.has_not_received() {
            return Err(Mistake::NotReceived { what: "makes a choice".to_owned() }.into());
        }
        if self.start.dry {
            return Err(Stop::Looked);
        }
        self.ran.looked = true;
        Ok(())
    }

    /// Returns `true` if the turn should have received first: its footprint has to follow from its message, unless
    /// the turn is `whole`.
    fn has_not_received(&self) -> bool {
        self.ran.received == 0 && !self.ran.whole && self.start.pickable.is_none()
    }

    /// Extends the turn beyond its own connection and cells, which is possible before its first look only.
    fn widen(&mut self, what: &'static str) -> Turn {
        if !self.ran.whole {
            if self.ran.looked {
                return Err(Mistake::WidenedLate { what }.into());
            }
            self.ran.whole = true;
        }
        Ok(())
    }

    /// Takes the next answer from the path, or the first option.
    fn ask(&mut self, question: u32, options: usize) -> Result<usize, Stop> {
        let options = u32::try_from(options).unwrap_or(u32::MAX);
        if let Some(answer) = self.path.get(self.asked) {
            if answer.question != question || (answer.options != options && self.asked >= self.start.fixed) {
                return Err(Mistake::NotDeterministic {
                    first: asked(answer.question, answer.options),
                    second: asked(question, options),
                }
                .into());
            }
        } else {
            self.path.push(Answer { taken: 0, options, question });
        }
        self.asked += 1;
        Ok(self.path[self.asked - 1].taken as usize)
    }

    fn replaying(&self) -> bool {
        self.asked < self.start.fixed
    }

    fn act(&mut self, act: Act) {
        self.acted += 1;
        if self.acted > self.start.acted {
            self.ran.acts.push(act);
        }
    }

    /// Returns the number of a cell. Usually the dry run has opened the same cells in the same order.
    fn number(&self, cell: &CellSpec<'_>) -> u32 {
        if let Some(&(number, _)) = self.start.foot.and_then(|foot| foot.cells.get(self.ran.opened.len())) {
            let book = self.book.borrow();
            let info = &book.cells[number as usize];
            if info.table == cell.table && cell.key.same(&*info.key) {
                return number;
            }
        }
        self.book.borrow_mut().number(cell)
    }

    /// Returns `true` if the value is the present content with more text at its end.
    fn is_grown(&self, cell: u32, value: Option<&Val>) -> bool {
        // A dry run does not know the present content.
        if self.start.dry {
            return true;
        }
        let text =
            |value: Option<&Val>| value.and_then(|value| value.data.as_any().downcast_ref::<Text>().cloned());
        let before = text(self.current(cell).as_ref()).unwrap_or_default();
        text(value).is_some_and(|after| after.starts_with(&before))
    }

    fn current(&self, cell: u32) -> Option<Val> {
        if let Some((_, value)) = self.ran.writes.iter().rev().find(|(number, _)| *number == cell) {
            return value.clone();
        }
        if let Some((number, value)) = self.start.version
            && number == cell
        {
            return value.cloned();
        }
        match self.hypothesis.cell(cell) {
            Some(state) => state.now.clone(),
            None => self.book.borrow().cells[cell as usize].initial.clone(),
        }
    }
}

/// Describes a question of a turn for the author of the model.
fn asked(question: u32, options: u32) -> String {
    match question {
        2 => format!("io.choose({options})"),
        3 => "io.deviates".to_owned(),
        4 => format!("a pick among {options} cells"),
        5 => format!("the id of a new object, of {options}"),
        _ => format!("io.branch, on the formula {question:08x}"),
    }
}

/// Returns the identity of a question about a formula, by which a repeated turn is compared with the first run.
fn question(kind: u32, literal: &Literal) -> u32 {
    (Fingerprint::of(literal).0 as u32) ^ kind
}

/// The effects, independent of the model's types.
impl Runner<'_> {
    fn recv(&mut self, from: Option<Conn>, closes: bool) -> Result<(Conn, Incoming<Message>), Stop> {
        self.tick()?;
        if self.start.pickable.is_some() {
            return Err(Stop::Blocked);
        }
        if from.is_some() || self.ran.received > 0 || !self.ran.opened.is_empty() {
            if self.ran.received > 0 && !self.ran.whole && self.ran.looked {
                return Err(Mistake::SecondReceive.into());
            }
            self.widen("recv")?;
            if self.start.dry {
                return Err(Stop::Looked);
            }
        }
        let Some((conn, item)) = self.start.inbox.get(self.ran.received) else { return Err(Stop::Blocked) };
        if from.is_some_and(|from| from != *conn) || (!closes && matches!(item, Incoming::Closed)) {
            return Err(Stop::Refused);
        }
        self.ran.received += 1;
        if self.ran.received > MOST_MESSAGES {
            return Err(Mistake::Endless { effects: self.effects }.into());
        }
        self.own = Some(*conn);
        Ok((*conn, item.clone()))
    }

    fn send(&mut self, to: Conn, message: Box<dyn Letter>) -> Turn {
        self.tick()?;
        if self.closed.contains(&to) {
            return Err(Mistake::SendOnClosed { conn: to.to_string() }.into());
        }
        if self.own == Some(to) {
            self.sent_to_own += 1;
        } else if !self.ran.whole {
            if self.ran.looked {
                return Err(Mistake::ForeignSend { conn: to.to_string() }.into());
            }
            self.ran.whole = true;
        }
        self.act(Act::Send(to, message));
        Ok(())
    }

    fn connect(&mut self) -> Result<Conn, Stop> {
        self.tick()?;
        self.widen("connect")?;
        let conn = Conn::opened(self.start.cause, self.connects);
        self.connects += 1;
        self.act(Act::Connect(conn));
        Ok(conn)
    }

    fn close(&mut self, conn: Conn) -> Turn {
        self.tick()?;
        if self.own != Some(conn) || self.ran.looked {
            self.widen("close")?;
        }
        self.closed.push(conn);
        self.act(Act::Close(conn));
        Ok(())
    }

    fn fresh(&mut self, sort: Sort) -> Result<Var, Stop> {
        self.tick()?;
        let var = Var(self.start.cause.named(self.fresh));
        self.fresh += 1;
        self.ran.facts.declare(var, sort);
        Ok(var)
    }

    fn decide(&mut self, literal: &Literal) -> Result<bool, Stop> {
        self.tick()?;
        if let (false, Some(known)) = (mentions_var(literal), self.ran.facts.decide(literal)) {
            return Ok(known);
        }
        self.look()?;
        if self.replaying() {
            return Ok(self.ask(question(1, literal), 2)? == 0);
        }
        match self.ran.facts.decide(literal) {
            // Known answers are recorded as well: when a suspended turn continues, more may be known than now.
            Some(known) => {
                let answer = self.ask(question(1, literal), 1)?;
                debug_assert_eq!(answer.min(1), answer);
                let last = self.asked - 1;
                self.path[last].taken = u32::from(!known);
                Ok(known)
            }
            None => {
                let holds = self.ask(question(1, literal), 2)? == 0;
                let fact = if holds { literal.clone() } else { literal.negated() };
                self.ran.facts.assert(&fact).map_err(|_| Stop::Dead)?;
                Ok(holds)
            }
        }
    }

    fn assume(&mut self, literal: &Literal) -> Turn {
        self.tick()?;
        self.ran.facts.assert(literal).map_err(|_| Stop::Dead)
    }

    fn choose(&mut self, options: usize) -> Result<usize, Stop> {
        self.tick()?;
        if options == 0 {
            return Err(Mistake::EmptyChoice.into());
        }
        self.look()?;
        let taken = self.ask(2, options)?;
        if self.start.pickable.is_some() && self.ran.opened.is_empty() {
            self.ran.action = Fingerprint::of(&(self.ran.action.0, 2u8, taken));
        }
        Ok(taken)
    }

    fn deviates(&mut self, rule: &'static Rule) -> Result<bool, Stop> {
        self.tick()?;
        self.leeway.coverage.note(rule);
        if !self.leeway.relaxed.contains(&rule.name) {
            self.ran.kept.push(rule);
            return Ok(false);
        }
        self.look()?;
        let counts = !self.leeway.free.contains(&rule.name);
        // A run with one deviation too many is dropped at its end (`Composed::apply`), so it is not started: of the
        // subsets of the relaxed rules only the small ones are tried. Answers that were given before a suspension are
        // not reconsidered.
        let is_open = !counts || self.counted < self.leeway.left || self.replaying();
        let is_forced = is_open && self.leeway.always.contains(&rule.name);
        let deviates = is_forced || self.ask(3, if is_open { 2 } else { 1 })? == 1;
        if deviates {
            self.counted += u32::from(counts);
            self.ran.deviations.push(rule);
        } else {
            self.ran.kept.push(rule);
        }
        Ok(deviates)
    }

    fn scope(&mut self, scope: Scope) -> Turn {
        self.tick()?;
        match scope {
            Scope::Whole => self.widen("whole"),
            Scope::Replies(count) => {
                if self.ran.looked {
                    return Err(Mistake::WidenedLate { what: "replies" }.into());
                }
                self.ran.replies = Some(count);
                Ok(())
            }
        }
    }

    fn open(&mut self, cell: &CellSpec<'_>, access: Access) -> Result<u32, Stop> {
        self.tick()?;
        // A relaxed rule may be the very one that forbids doing more than append.
        let access =
            if access == Access::Grow && !self.leeway.relaxed.is_empty() { Access::Write } else { access };
        let number = self.number(cell);
        if cell.initial.is_some() && self.hypothesis.cell(number).is_none() {
            for (var, sort) in &self.book.borrow().cells[number as usize].secrets {
                self.ran.facts.declare(*var, *sort);
            }
        }
        if self.has_not_received() {
            return Err(Mistake::NotReceived { what: format!("opens `{cell:?}`") }.into());
        }
        match self.ran.opened.iter_mut().find(|(open, _)| *open == number) {
            Some((_, had)) if *had >= access => {}
            Some((_, had)) if self.ran.whole || !self.ran.looked => *had = access,
            Some(_) => return Err(Mistake::WriteToView { cell: format!("{cell:?}") }.into()),
            None => {
                // An internal turn may open any cell: its cells are compared with those of the part afterwards.
                if self.ran.looked && !self.ran.whole && self.start.pickable.is_none() {
                    let access = if access == Access::Read { "to read" } else { "to write" };
                    return Err(Mistake::OpenedLate { cell: format!("{cell:?}"), access }.into());
                }
                self.ran.opened.push((number, access));
            }
        }
        Ok(number)
    }

    fn read(&mut self, cell: u32) -> Result<Option<Val>, Stop> {
        self.tick()?;
        // The turn learns nothing by reading its own write, unless that was made from the content before.
        if self.ran.updated || !self.ran.writes.iter().any(|(number, _)| *number == cell) {
            self.look()?;
        }
        Ok(self.current(cell))
    }

    fn write(&mut self, cell: u32, value: Option<Val>) -> Turn {
        self.tick()?;
        // The search relies on the access with which a cell was opened, unless the turn may touch anything.
        if !self.ran.whole {
            let open = self.ran.opened.iter().find(|(number, _)| *number == cell).map(|(_, access)| *access);
            let describe = || self.book.borrow().cells[cell as usize].describe();
            match open {
                Some(Access::Write) => {}
                Some(Access::Grow) if self.is_grown(cell, value.as_ref()) => {}
                Some(Access::Grow) => return Err(Mistake::NotGrown { cell: describe() }.into()),
                _ => return Err(Mistake::WriteToView { cell: describe() }.into()),
            }
        }
        match self.ran.writes.iter_mut().find(|(number, _)| *number == cell) {
            Some(entry) => entry.1 = value,
            None => self.ran.writes.push((cell, value)),
        }
        Ok(())
    }

    fn update(&mut self, cell: u32, change: &Change<'_>) -> Turn {
        self.ran.updated = true;
        // A dry run does not know the content to change; the value it writes is not used.
        let value = if self.start.dry { None } else { change(self.current(cell))? };
        self.write(cell, value)
    }

    fn pick(&mut self, table: &'static str) -> Result<Rc<dyn CellKey>, Stop> {
        self.tick()?;
        let Some(pickable) = self.start.pickable else {
            return Err(Mistake::WidenedLate { what: "pick" }.into());
        };
        if self.start.dry {
            self.ran.action = Fingerprint(1);
            return Err(Stop::Looked);
        }
        let cells: Vec<u32> = {
            let book = self.book.borrow();
            pickable.iter().copied().filter(|cell| book.cells[*cell as usize].table == table).collect()
        };
        if cells.is_empty() {
            return Err(Stop::Idle);
        }
        let taken = cells[self.ask(4, cells.len())?];
        self.ran.action = Fingerprint::of(&(self.ran.action.0, 4u8, taken));
        self.start.cause = Cause::Internal { cell: taken, n: self.hypothesis.internals };
        Ok(Rc::clone(&self.book.borrow().cells[taken as usize].key))
    }

    fn scan(&mut self, table: &'static str) -> Result<Vec<(Rc<dyn CellKey>, u32)>, Stop> {
        self.tick()?;
        self.widen("scan")?;
        self.ran.scanned = true;
        self.look()?;
        let book = self.book.borrow();
        Ok((0..book.cells.len() as u32)
            .filter(|cell| book.cells[*cell as usize].table == table)
            .map(|cell| (Rc::clone(&book.cells[cell as usize].key), cell))
            .collect())
    }
}

/// The effects that concern objects.
impl Runner<'_> {
    /// Returns the ids that matter to this turn; `None` in a dry run for nothing but the question if there are any.
    fn ids(&self) -> Option<Rc<Ids>> {
        self.start.foot.and_then(|foot| foot.ids.clone())
    }

    fn open_object(&mut self, table: ObjectTable, key: &ObjectKey, access: Access) -> Result<u32, Stop> {
        self.open(&CellSpec { table: table.name, key, initial: None }, access)
    }

    /// Opens the cells in which the new object may be, and chooses one of them: of an id that the response tells, if there is a response;
    /// otherwise of any id, known or not.
    fn create(&mut self, table: ObjectTable) -> Result<(Term, u32), Stop> {
        self.tick()?;
        self.book.borrow_mut().register(table);
        let var = Var(self.start.cause.named(self.fresh));
        self.fresh += 1;
        let ids = self.ids();
        let mut options: SmallVec<[(ObjectKey, u32); 2]> = SmallVec::new();
        let mut is_open = true;
        match ids.as_deref() {
            None if self.start.dry => {}
            None => {
                // The turn may touch anything: see `Engine::ids`.
                self.ran.scanned = true;
                options.extend(self.book.borrow().told(table.name, u32::MAX));
            }
            Some(Ids { response: None, limit, .. }) => {
                options.extend(self.book.borrow().told(table.name, *limit));
            }
            Some(Ids { told, .. }) => {
                for value in told.iter().filter(|value| suits(table.sort, value)) {
                    let key = ObjectKey::Told(value.clone());
                    let cell = self.open_object(table, &key, Access::Write)?;
                    if options.iter().all(|(_, other)| *other != cell) {
                        options.push((key, cell));
                    }
                }
                is_open = options.is_empty();
            }
        }
        for (key, _) in &options {
            self.open_object(table, key, Access::Write)?;
        }
        let made = ObjectKey::Made(var);
        if !is_open && !self.start.untold {
            let taken = if options.len() == 1 || self.start.dry { 0 } else { self.ask(5, options.len())? };
            let (key, cell) = &options[taken];
            return Ok((key.term(), *cell));
        }
        let cell = self.open_object(table, &made, Access::Write)?;
        self.ran.creates.push((table.name, cell));
        let all = options.len() + 1;
        let taken = if all == 1 || self.start.dry || self.start.untold { 0 } else { self.ask(5, all)? };
        if taken > 0 {
            let (key, cell) = &options[taken - 1];
            return Ok((key.term(), *cell));
        }
        self.ran.facts.declare(var, table.sort);
        for (key, _) in &options {
            self.ran.facts.assert(&Literal::Ne(made.term(), key.term())).map_err(|_| Stop::Dead)?;
        }
        Ok((made.term(), cell))
    }

    /// Opens all cells in which there may be objects.
    fn roster(&mut self, table: ObjectTable) -> Result<Vec<(Term, u32)>, Stop> {
        self.tick()?;
        self.book.borrow_mut().register(table);
        self.ran.lists = true;
        let cells = match self.ids() {
            None if self.start.dry => Vec::new(),
            None => {
                self.widen("list")?;
                self.ran.scanned = true;
                self.look()?;
                self.book.borrow().all_objects(table.name)
            }
            Some(ids) => {
                let roster = self.book.borrow().roster(table.name, ids.limit, ids.loose);
                if self.ran.looked && !self.ran.whole {
                    return Err(Mistake::WidenedLate { what: "list" }.into());
                }
                let before = self.ran.opened.len();
                for (_, cell) in &roster {
                    if !self.ran.opened[..before].iter().any(|(open, _)| open == cell) {
                        self.ran.opened.push((*cell, Access::Read));
                    }
                }
                roster
            }
        };
        Ok(cells.into_iter().map(|(key, cell)| (key.term(), cell)).collect())
    }
}

/// The effects with the types of a model, which only received and sent messages need.
impl<M: Display + 'static, O: Pattern<M> + Display> Handler<M, O> for Runner<'_> {
    fn recv(&mut self, from: Option<Conn>, closes: bool) -> Result<(Conn, Incoming<M>), Stop> {
        let (conn, item) = Runner::recv(self, from, closes)?;
        Ok((conn, item.typed()))
    }
    fn send(&mut self, to: Conn, message: O) -> Turn {
        Runner::send(self, to, erased::letter::<M, O>(message, self.spare.take()))
    }
    fn connect(&mut self) -> Result<Conn, Stop> {
        Runner::connect(self)
    }
    fn close(&mut self, conn: Conn) -> Turn {
        Runner::close(self, conn)
    }
    fn fresh(&mut self, sort: Sort) -> Result<Var, Stop> {
        Runner::fresh(self, sort)
    }
    fn decide(&mut self, literal: &Literal) -> Result<bool, Stop> {
        Runner::decide(self, literal)
    }
    fn assume(&mut self, literal: &Literal) -> Turn {
        Runner::assume(self, literal)
    }
    fn choose(&mut self, options: usize) -> Result<usize, Stop> {
        Runner::choose(self, options)
    }
    fn deviates(&mut self, rule: &'static Rule) -> Result<bool, Stop> {
        Runner::deviates(self, rule)
    }
    fn forgives(&mut self, rule: &'static Rule) -> bool {
        self.leeway.free.contains(&rule.name) && self.leeway.relaxed.contains(&rule.name)
    }
    fn relaxes(&mut self, rule: &'static Rule) -> bool {
        self.leeway.relaxed.contains(&rule.name)
    }
    fn anything(&mut self, to: Conn) -> Turn {
        Runner::send(self, to, Box::new(erased::Anything))
    }
    fn scope(&mut self, scope: Scope) -> Turn {
        Runner::scope(self, scope)
    }
    fn open(&mut self, cell: &CellSpec<'_>, access: Access) -> Result<u32, Stop> {
        Runner::open(self, cell, access)
    }
    fn read(&mut self, cell: u32) -> Result<Option<Val>, Stop> {
        Runner::read(self, cell)
    }
    fn write(&mut self, cell: u32, value: Option<Val>) -> Turn {
        Runner::write(self, cell, value)
    }
    fn update(&mut self, cell: u32, change: &Change<'_>) -> Turn {
        Runner::update(self, cell, change)
    }
    fn pick(&mut self, table: &'static str) -> Result<Rc<dyn CellKey>, Stop> {
        Runner::pick(self, table)
    }
    fn scan(&mut self, table: &'static str) -> Result<Vec<(Rc<dyn CellKey>, u32)>, Stop> {
        Runner::scan(self, table)
    }
    fn create(&mut self, table: ObjectTable) -> Result<(Term, u32), Stop> {
        Runner::create(self, table)
    }
    fn find(&mut self, table: ObjectTable, id: &Term, access: Access) -> Result<u32, Stop> {
        self.book.borrow_mut().register(table);
        let Term::Var(_) = id else { return self.open_object(table, &ObjectKey::of(id), access) };
        // The facts about a secret are a part of the state.
        self.look()?;
        if !self.ran.whole {
            return Err(Mistake::FoundBySecret { table: table.name }.into());
        }
        match self.ran.facts.value(id) {
            Some(value) => self.open_object(table, &ObjectKey::Told(value), access),
            None => objects::find::<M, O, _>(self, table, id, access),
        }
    }
    fn claim(&mut self, _: ObjectTable, cell: u32, _: &Term) -> Result<(u32, Option<Val>), Stop> {
        // Every id has a cell of its own.
        let content = Runner::read(self, cell)?;
        Ok((cell, content))
    }
    fn roster(&mut self, table: ObjectTable) -> Result<Vec<(Term, u32)>, Stop> {
        Runner::roster(self, table)
    }
}

fn mentions_var(literal: &Literal) -> bool {
    let (Literal::Eq(a, b) | Literal::Ne(a, b) | Literal::AtMost { left: a, right: b, .. }) = literal;
    matches!(a, Term::Var(_)) || matches!(b, Term::Var(_))
}
