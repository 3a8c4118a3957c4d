//! The effects of a turn with the types of a model, which only received and sent messages need.

use std::fmt::Display;
use std::rc::Rc;

use super::Runner;
use crate::erased;
use crate::knowledge::{Literal, Sort, Term, Var};
use crate::lang::{
    Access, CellKey, CellSpec, Change, Conn, Handler, Incoming, Mistake, ObjectKey, ObjectTable, Pattern,
    Rule, Scope, Stop, Turn, Val, objects,
};

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
