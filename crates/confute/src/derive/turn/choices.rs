//! The choices of a turn: secrets, formulas about them, alternatives, and deviations from rules.

use super::{Answer, Runner};
use crate::fingerprint::Fingerprint;
use crate::knowledge::{Literal, Sort, Term, Var};
use crate::lang::{Mistake, Rule, Stop, Turn};

impl Runner<'_> {
    /// Takes the next answer from the path, or the first option.
    pub(super) fn ask(&mut self, question: u32, options: usize) -> Result<usize, Stop> {
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

    pub(super) fn replaying(&self) -> bool {
        self.asked < self.start.fixed
    }

    pub(super) fn fresh(&mut self, sort: Sort) -> Result<Var, Stop> {
        self.tick()?;
        let var = Var(self.start.cause.named(self.fresh));
        self.fresh += 1;
        self.ran.facts.declare(var, sort);
        Ok(var)
    }

    pub(super) fn decide(&mut self, literal: &Literal) -> Result<bool, Stop> {
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

    pub(super) fn assume(&mut self, literal: &Literal) -> Turn {
        self.tick()?;
        self.ran.facts.assert(literal).map_err(|_| Stop::Dead)
    }

    pub(super) fn choose(&mut self, options: usize) -> Result<usize, Stop> {
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

    pub(super) fn deviates(&mut self, rule: &'static Rule) -> Result<bool, Stop> {
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

fn mentions_var(literal: &Literal) -> bool {
    let (Literal::Eq(a, b) | Literal::Ne(a, b) | Literal::AtMost { left: a, right: b, .. }) = literal;
    matches!(a, Term::Var(_)) || matches!(b, Term::Var(_))
}
