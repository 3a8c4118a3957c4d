//! The interaction tree of a model: its next effect, given the answers so far.
//!
//! A turn is a pure function of its answers. Its tree is therefore found by running it over a list of
//! [`Answer`]s and stopping at the first effect without one: that effect is the tree's next [`Node`], and its
//! branches are the possible answers. Cell accesses are not effects here: their contents follow from the
//! state before the turn and the turn's own writes.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use confute::fingerprint::Fingerprint;
use confute::knowledge::{Literal, Sort, Var};
use confute::lang::{
    Access, Cause, CellKey, CellSpec, Conn, Handler, Incoming, Io, Pattern, Rule, Scope, ServerModel, Stop,
    Turn, Val,
};

/// A model that the oracles can judge by.
pub trait Judged: ServerModel<Msg = <Self as Judged>::M, Out = <Self as Judged>::O> + 'static {
    /// Type of its messages.
    type M: Clone + Eq + Hash + fmt::Debug + fmt::Display + 'static;
    /// Type of what it sends.
    type O: Naked<Self::M> + fmt::Display;

    /// Returns the initial content that `Table::unknown` defines: the oracles cannot construct a `Fresh`,
    /// which belongs to the engine.
    fn initial(&self, table: &'static str, key: &dyn CellKey, fresh: &mut dyn FnMut(Sort) -> Var) -> Val;
}

/// A pattern that exposes the facts implied by observing a message, without the engine's solver.
pub trait Naked<M>: Pattern<M> {
    /// Returns the facts that hold if `seen` is this message; `None` if it cannot be.
    fn literals(&self, seen: &M) -> Option<Vec<Literal>>;
}

/// A key that can be compared.
#[derive(Clone)]
pub struct Key(pub Rc<dyn CellKey>);

/// Identity of a cell.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// Name of the table.
    pub table: &'static str,
    /// Key in the table.
    pub key: Key,
}

/// Content of a cell, comparable.
#[derive(Clone)]
pub struct Content(pub Val);

/// Contents of the cells that were written.
pub type Cells = BTreeMap<Cell, Option<Content>>;

/// Answer to an effect.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Answer<M> {
    /// Completion of a send, a close or an assumption.
    Unit,
    /// The received message, or the close of the connection.
    Received(Conn, Option<Rc<M>>),
    /// The new connection.
    Connected(Conn),
    /// The new secret.
    Fresh(Var),
    /// The decision of a literal.
    Decided(bool),
    /// Index of the chosen alternative.
    Chosen(usize),
    /// Key of the picked cell.
    Picked(Key),
}

/// The next effect of a turn, or its end.
pub enum Node<O> {
    Recv {
        from: Option<Conn>,
        closes: bool,
    },
    Send(Conn, O),
    Connect,
    Close(Conn),
    Fresh(Sort),
    Decide(Literal),
    Assume(Literal),
    Choose(usize),
    Deviates(&'static Rule),
    Pick(&'static str),
    Done,
    /// The turn does not accept the message.
    Refused,
    /// The internal turn does nothing.
    Idle,
    /// The turn itself excludes this case.
    Dead,
}

/// State of a turn after a run over given answers.
pub struct Step<O> {
    /// Next effect of the turn.
    pub node: Node<O>,
    /// Cells opened so far.
    pub opened: BTreeSet<Cell>,
    /// Writes so far.
    pub writes: Cells,
    /// `true` if the turn is whole.
    pub whole: bool,
    /// Number of answers before the first opened cell: the choices that identify an internal action.
    pub leading: usize,
}

/// Runs one turn over these answers.
pub fn step<S: Judged>(model: &S, cells: &Cells, internal: bool, answers: &[Answer<S::M>]) -> Step<S::O> {
    run(model, cells, internal, answers, false)
}

/// Returns the cells that a turn on this message opens in any state.
pub fn footprint<S: Judged>(model: &S, conn: Conn, message: &Rc<S::M>) -> BTreeSet<Cell> {
    let answers = [Answer::Received(conn, Some(Rc::clone(message)))];
    run(model, &Cells::new(), false, &answers, true).opened
}

fn run<S: Judged>(
    model: &S,
    cells: &Cells,
    internal: bool,
    answers: &[Answer<S::M>],
    dry: bool,
) -> Step<S::O> {
    let mut replay = Replay {
        model,
        cells,
        answers,
        at: 0,
        dry,
        node: None,
        open: Vec::new(),
        writes: Cells::new(),
        whole: false,
        leading: None,
    };
    let end = {
        let mut io = Io::<S>::new(&mut replay);
        if internal { model.internal(&mut io) } else { model.serve(&mut io) }
    };
    let node = match (end, replay.node) {
        (Err(Stop::Looked), Some(node)) => node,
        (Ok(()), None) => Node::Done,
        (Err(Stop::Refused), None) => Node::Refused,
        (Err(Stop::Idle), None) => Node::Idle,
        (Err(Stop::Dead), None) => Node::Dead,
        (Err(Stop::Looked), None) if dry => Node::Done,
        (end, _) => panic!("the oracles cannot go on after {end:?}"),
    };
    Step {
        node,
        opened: replay.open.into_iter().map(|(cell, _)| cell).collect(),
        writes: replay.writes,
        whole: replay.whole,
        leading: replay.leading.unwrap_or(replay.at),
    }
}

/// Returns a variable's name: injective, and variables of different sorts never share one.
pub fn name(cause: Cause, index: usize, sort: Sort) -> Var {
    let (kind, number) = match cause {
        Cause::Delivery { sent, copy } => (1, u64::from(sent) << 8 | u64::from(copy)),
        Cause::Internal { n, .. } => (2, u64::from(n)),
        Cause::Cell(n) => (3, u64::from(n)),
    };
    let sort = match sort {
        Sort::Opaque => 0,
        Sort::Int => 1,
        Sort::Bool => 2,
        Sort::Choice(_) => 3,
    };
    Var::numbered(kind << 60 | number << 16 | (index as u64) << 2 | sort)
}

struct Replay<'a, S: Judged> {
    model: &'a S,
    cells: &'a Cells,
    answers: &'a [Answer<S::M>],
    at: usize,
    dry: bool,
    node: Option<Node<S::O>>,
    open: Vec<(Cell, Option<Content>)>,
    writes: Cells,
    whole: bool,
    leading: Option<usize>,
}

impl<S: Judged> Replay<'_, S> {
    fn ask(&mut self, node: Node<S::O>) -> Result<Answer<S::M>, Stop> {
        if let Some(answer) = self.answers.get(self.at) {
            self.at += 1;
            return Ok(answer.clone());
        }
        self.node = Some(node);
        Err(Stop::Looked)
    }

    /// Performs an effect whose answer carries no information. In a dry run such effects have no answers and
    /// need none.
    fn tell(&mut self, node: Node<S::O>) -> Turn {
        if self.dry { Ok(()) } else { self.ask(node).map(|_| ()) }
    }
}

impl<S: Judged> Handler<S::M, S::O> for Replay<'_, S> {
    fn recv(&mut self, from: Option<Conn>, closes: bool) -> Result<(Conn, Incoming<S::M>), Stop> {
        match self.ask(Node::Recv { from, closes })? {
            Answer::Received(conn, Some(message)) => Ok((conn, Incoming::Message(message))),
            Answer::Received(conn, None) => Ok((conn, Incoming::Closed)),
            _ => panic!("not deterministic"),
        }
    }

    fn send(&mut self, to: Conn, message: S::O) -> Turn {
        self.tell(Node::Send(to, message))
    }

    fn connect(&mut self) -> Result<Conn, Stop> {
        if self.dry {
            return Ok(Conn::opened(Cause::Delivery { sent: u32::MAX, copy: 0 }, 0));
        }
        let Answer::Connected(conn) = self.ask(Node::Connect)? else { panic!("not deterministic") };
        Ok(conn)
    }

    fn close(&mut self, conn: Conn) -> Turn {
        self.tell(Node::Close(conn))
    }

    fn fresh(&mut self, sort: Sort) -> Result<Var, Stop> {
        let Answer::Fresh(var) = self.ask(Node::Fresh(sort))? else { panic!("not deterministic") };
        Ok(var)
    }

    fn decide(&mut self, literal: &Literal) -> Result<bool, Stop> {
        let Answer::Decided(so) = self.ask(Node::Decide(literal.clone()))? else {
            panic!("not deterministic")
        };
        Ok(so)
    }

    fn assume(&mut self, literal: &Literal) -> Turn {
        self.tell(Node::Assume(literal.clone()))
    }

    fn choose(&mut self, options: usize) -> Result<usize, Stop> {
        let Answer::Chosen(way) = self.ask(Node::Choose(options))? else { panic!("not deterministic") };
        Ok(way)
    }

    fn deviates(&mut self, rule: &'static Rule) -> Result<bool, Stop> {
        let Answer::Decided(so) = self.ask(Node::Deviates(rule))? else { panic!("not deterministic") };
        Ok(so)
    }

    fn scope(&mut self, scope: Scope) -> Turn {
        self.whole |= scope == Scope::Whole;
        Ok(())
    }

    fn open(&mut self, spec: &CellSpec<'_>, _: Access) -> Result<u32, Stop> {
        self.leading.get_or_insert(self.at);
        let cell = Cell { table: spec.table, key: Key(spec.key.keep()) };
        let content = match self.cells.get(&cell) {
            Some(content) => content.clone(),
            None if spec.initial.is_some() => {
                let number = Fingerprint::of(&cell).0 as u32;
                let mut index = 0;
                let mut fresh = |sort| {
                    index += 1;
                    name(Cause::Cell(number), index, sort)
                };
                Some(Content(self.model.initial(spec.table, spec.key, &mut fresh)))
            }
            None => None,
        };
        self.open.push((cell, content));
        Ok(self.open.len() as u32 - 1)
    }

    fn read(&mut self, cell: u32) -> Result<Option<Val>, Stop> {
        if self.dry {
            return Err(Stop::Looked);
        }
        let (cell, before) = &self.open[cell as usize];
        let content = self.writes.get(cell).unwrap_or(before);
        Ok(content.as_ref().map(|content| Rc::clone(&content.0)))
    }

    fn write(&mut self, cell: u32, value: Option<Val>) -> Turn {
        let cell = self.open[cell as usize].0.clone();
        self.writes.insert(cell, value.map(Content));
        Ok(())
    }

    fn pick(&mut self, table: &'static str) -> Result<Rc<dyn CellKey>, Stop> {
        let Answer::Picked(key) = self.ask(Node::Pick(table))? else { panic!("not deterministic") };
        Ok(key.0)
    }

    fn scan(&mut self, table: &'static str) -> Result<Vec<(Rc<dyn CellKey>, u32)>, Stop> {
        if self.dry {
            return Err(Stop::Looked);
        }
        let mut found = Vec::new();
        for (cell, content) in self.cells.iter().filter(|(cell, _)| cell.table == table) {
            found.push((Rc::clone(&cell.key.0), self.open.len() as u32));
            self.open.push((cell.clone(), content.clone()));
        }
        Ok(found)
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.same(&*other.0)
    }
}
impl Eq for Key {}
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.fingerprint().cmp(&other.0.fingerprint())
    }
}
impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.fingerprint().hash(state);
    }
}
impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        self.0.fingerprint == other.0.fingerprint
    }
}
impl Eq for Content {}
impl Hash for Content {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.fingerprint.hash(state);
    }
}

/// Returns the sort of a variable, which is part of its name.
pub fn sort(var: Var) -> Sort {
    let shown = format!("{var:?}");
    match u64::from_str_radix(&shown[1..], 16).unwrap() & 3 {
        0 => Sort::Opaque,
        1 => Sort::Int,
        2 => Sort::Bool,
        _ => panic!("finite choices are not used here"),
    }
}
