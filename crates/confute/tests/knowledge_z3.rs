//! Property test of `Knowledge` against z3, on random conjunctions.
//!
//! For all families: a contradiction is one for z3 too, a decided literal is entailed, the order of facts
//! changes nothing, and forgetting loses nothing. For opaque values, booleans and differences of integers the
//! decisions must equal those of z3; elsewhere missed ones are counted and printed.

use std::process::{Command, Stdio};

use confute::knowledge::{Knowledge, Literal, Sort, Term, Value, Var};
use easy_smt::{Context, ContextBuilder, SExpr};

/// Number of conjunctions per family; there are seven families.
const PER_FAMILY: usize = 600;

#[test]
fn agrees_with_z3() {
    let installed = Command::new("z3").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !installed {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "z3 must be installed in CI");
        println!("skipped: z3 not installed");
        return;
    }
    let mut oracle = Oracle::start();
    for family in Family::ALL {
        let mut random = Random(0x5eed + family as u64);
        let mut tally = Tally::default();
        for number in 0..PER_FAMILY {
            let case = Case::random(family, &mut random);
            case.judge(&mut oracle, &mut random, &mut tally).unwrap_or_else(|complaint| {
                panic!("{family:?} case {number}: {complaint}\nsorts {:?}\n{:#?}", case.sorts, case.facts)
            });
        }
        println!("{family:?}: {tally:?}");
        if family.exact() {
            assert_eq!((tally.missed_contradictions, tally.missed_decisions, tally.bad_witnesses), (0, 0, 0));
        }
        assert!(tally.facts > PER_FAMILY && tally.contradictions > PER_FAMILY / 2, "a fair mix: {tally:?}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Family {
    /// Equality and difference of opaque values.
    Opaque,
    /// Bounds, differences and equalities of integers.
    Differences,
    /// Bounds, differences and equalities of integers near the limits of 64 bits.
    Extremes,
    /// Bounds, differences, equalities and disequalities of integers.
    Integers,
    /// Booleans only.
    Booleans,
    /// Finite choices.
    Choices,
    /// Everything, with comparisons across sorts.
    Mixed,
}

impl Family {
    const ALL: [Family; 7] = [
        Family::Opaque,
        Family::Differences,
        Family::Extremes,
        Family::Integers,
        Family::Booleans,
        Family::Choices,
        Family::Mixed,
    ];

    /// Returns `true` if the knowledge must decide exactly what z3 decides.
    fn exact(self) -> bool {
        matches!(self, Family::Opaque | Family::Differences | Family::Extremes | Family::Booleans)
    }
}

#[derive(Debug, Default)]
struct Tally {
    facts: usize,
    contradictions: usize,
    missed_contradictions: usize,
    decided: usize,
    undecided: usize,
    missed_decisions: usize,
    witnesses: usize,
    bad_witnesses: usize,
    projections: usize,
    projections_stronger: usize,
}

struct Case {
    family: Family,
    sorts: Vec<Sort>,
    facts: Vec<Literal>,
}

impl Case {
    fn random(family: Family, random: &mut Random) -> Self {
        let count = 2 + random.below(5);
        let sorts: Vec<Sort> = (0..count)
            .map(|_| match (family, random.below(4)) {
                (Family::Opaque, _) | (Family::Mixed, 0) => Sort::Opaque,
                (Family::Differences | Family::Extremes | Family::Integers, _) | (Family::Mixed, 1) => {
                    Sort::Int
                }
                (Family::Booleans, _) | (Family::Mixed, 2) => Sort::Bool,
                _ => Sort::Choice(1 + random.below(4) as u32),
            })
            .collect();
        let mut case = Case { family, sorts, facts: Vec::new() };
        let all: Vec<usize> = (0..count as usize).collect();
        case.facts = (0..=random.below(14)).map(|_| case.literal(&all, true, random)).collect();
        case
    }

    /// Returns a random literal over some of the variables. A `fact` is limited to what the family asserts; a
    /// question is not.
    fn literal(&self, among: &[usize], fact: bool, random: &mut Random) -> Literal {
        let left = among[random.below(among.len() as u64) as usize];
        // Mostly compares variables of the same kind: random pairs would end nearly every mixed case at once.
        let alike: Vec<usize> =
            among.iter().copied().filter(|at| kind(self.sorts[*at]) == kind(self.sorts[left])).collect();
        let right = if random.below(12) == 0 {
            Term::Var(var(among[random.below(among.len() as u64) as usize]))
        } else if random.below(5) < if self.family == Family::Choices { 4 } else { 3 } {
            Term::Var(var(alike[random.below(alike.len() as u64) as usize]))
        } else {
            Term::Const(self.constant(self.sorts[left], random))
        };
        let left = Term::Var(var(left));
        let (left, right) = if random.below(2) == 0 { (left, right) } else { (right, left) };
        let ordered = [&left, &right].into_iter().all(|term| match term {
            Term::Const(value) => matches!(value, Value::Int(_)),
            Term::Var(var) => kind(self.sorts[index(*var)]) == 1,
        });
        let equalities_only = fact && matches!(self.family, Family::Differences | Family::Extremes);
        match random.below(6) {
            // Choices are mostly asserted to differ: those are the cases that counting would decide.
            1..=2 if self.family == Family::Choices => Literal::Ne(left, right),
            0..=2 if ordered => {
                let by =
                    if self.family == Family::Extremes { extreme(random) } else { random.between(-4, 5) };
                Literal::AtMost { left, right, by }
            }
            0 | 3 => Literal::Eq(left, right),
            _ if equalities_only => match random.below(4) {
                0 => Literal::Eq(left, right),
                _ => Literal::AtMost { left, right, by: random.between(-2, 7) },
            },
            _ => Literal::Ne(left, right),
        }
    }

    fn constant(&self, sort: Sort, random: &mut Random) -> Value {
        let sort = if self.family == Family::Mixed && random.below(16) == 0 {
            [Sort::Opaque, Sort::Int, Sort::Bool][random.below(3) as usize]
        } else {
            sort
        };
        match sort {
            Sort::Opaque => Value::Opaque(["a", "b", "c", "d"][random.below(4) as usize].into()),
            Sort::Bool => Value::Bool(random.below(2) == 1),
            Sort::Int if self.family == Family::Extremes => Value::Int(extreme(random)),
            Sort::Int => Value::Int(random.between(-4, 5)),
            Sort::Choice(count) => Value::Int(random.between(0, i64::from(count) + 1)),
        }
    }

    fn judge(&self, oracle: &mut Oracle, random: &mut Random, tally: &mut Tally) -> Result<(), String> {
        let mut knowledge = Knowledge::new();
        for (at, sort) in self.sorts.iter().enumerate() {
            knowledge.declare(var(at), *sort);
        }
        let blank = knowledge.clone();
        oracle.enter(&self.sorts);
        let verdict = self.judge_within(knowledge, &blank, oracle, random, tally);
        oracle.leave();
        verdict
    }

    fn judge_within(
        &self,
        mut knowledge: Knowledge,
        blank: &Knowledge,
        oracle: &mut Oracle,
        random: &mut Random,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let (mut taken, mut refused, mut script) = (Vec::new(), Vec::new(), Vec::new());
        for fact in &self.facts {
            script.push(Step::Ask(vec![oracle.literal(fact)]));
            let mut next = knowledge.clone();
            if next.assert(fact).is_ok() {
                knowledge = next;
                taken.push(fact);
                script.push(Step::Keep(oracle.literal(fact)));
            } else {
                // The case continues without this fact, so that later facts are tested in combination.
                refused.push(fact);
            }
        }
        for (fact, possible) in self.facts.iter().zip(oracle.run(script)) {
            match (taken.contains(&fact), possible) {
                (true, true) => {}
                (false, false) => tally.contradictions += 1,
                (false, true) => return Err(format!("false contradiction at {fact:?}")),
                (true, false) => {
                    tally.missed_contradictions += 1;
                    return if self.family.exact() { Err(format!("missed {fact:?}")) } else { Ok(()) };
                }
            }
        }
        tally.facts += taken.len();
        // Asserted in reverse order, the facts must give the same knowledge.
        let mut backwards = blank.clone();
        if let Err(contradiction) = taken.iter().rev().try_for_each(|fact| backwards.assert(fact)) {
            return Err(format!("{contradiction} backwards only"));
        }
        if backwards.fingerprint() != knowledge.fingerprint() {
            return Err(format!("order matters: {knowledge:?} or {backwards:?}"));
        }
        if let Some(fact) = refused.iter().find(|fact| backwards.clone().assert(fact).is_ok()) {
            return Err(format!("{fact:?} contradicts {knowledge:?} in one order only"));
        }
        self.judge_decisions(&knowledge, oracle, random, tally)?;
        self.judge_witnesses(&knowledge, oracle, random, tally)?;
        self.judge_projection(&knowledge, oracle, random, tally)
    }

    fn judge_decisions(
        &self,
        knowledge: &Knowledge,
        oracle: &mut Oracle,
        random: &mut Random,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let all: Vec<usize> = (0..self.sorts.len()).collect();
        let questions: Vec<Literal> = (0..4).map(|_| self.literal(&all, false, random)).collect();
        let script = questions.iter().map(|question| oracle.literal(question));
        // An order between unordered values is false, and so is the negated literal; so the formula is
        // negated in z3, and `Literal::negated` is not used.
        let script = script.flat_map(|holds| [Step::Ask(vec![holds]), Step::Ask(vec![oracle.z3.not(holds)])]);
        let script = script.collect();
        for (question, answers) in questions.iter().zip(oracle.run(script).chunks(2)) {
            let (can_hold, can_fail) = (answers[0], answers[1]);
            match (knowledge.decide(question), can_hold, can_fail) {
                (Some(true), _, false) | (Some(false), false, _) => tally.decided += 1,
                (None, true, true) => tally.undecided += 1,
                (None, ..) => {
                    tally.missed_decisions += 1;
                    if self.family.exact() {
                        return Err(format!("{question:?} not decided by {knowledge:?}"));
                    }
                }
                (Some(answer), ..) => return Err(format!("{question:?} wrongly {answer} by {knowledge:?}")),
            }
        }
        Ok(())
    }

    /// Checks witnesses: each variable in turn gets a value, as in a simulation.
    fn judge_witnesses(
        &self,
        knowledge: &Knowledge,
        oracle: &mut Oracle,
        random: &mut Random,
        tally: &mut Tally,
    ) -> Result<(), String> {
        if self.family == Family::Extremes {
            return Ok(()); // all assignments may lie beyond 64 bits
        }
        let mut knowledge = knowledge.clone();
        let mut chosen = Vec::new();
        let mut fits = true;
        for at in 0..self.sorts.len() {
            let value = knowledge.witness(var(at), &mut |bound| random.below(bound));
            let choice = Literal::Eq(Term::Var(var(at)), Term::Const(value));
            chosen.push(choice.clone());
            tally.witnesses += 1;
            fits &= knowledge.assert(&choice).is_ok();
        }
        let script = vec![Step::Ask(chosen.iter().map(|choice| oracle.literal(choice)).collect())];
        if !fits || !oracle.run(script)[0] {
            tally.bad_witnesses += 1;
            if self.family.exact() {
                return Err(format!("bad choice in {chosen:?}"));
            }
        }
        Ok(())
    }

    fn judge_projection(
        &self,
        knowledge: &Knowledge,
        oracle: &mut Oracle,
        random: &mut Random,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let one = random.below(self.sorts.len() as u64) as usize;
        let only_one = random.below(2) == 0;
        let dies = |at: usize, random: &mut Random| if only_one { at == one } else { random.below(3) == 0 };
        let live: Vec<usize> = (0..self.sorts.len()).filter(|at| !dies(*at, random)).collect();
        if live.is_empty() {
            return Ok(());
        }
        let mut small = knowledge.clone();
        small.forget(&|dead| live.contains(&index(dead)));
        let additions: Vec<Vec<Literal>> = (0..3)
            .map(|_| (0..=random.below(5)).map(|_| self.literal(&live, false, random)).collect())
            .collect();
        let script = additions.iter().map(|more| more.iter().map(|fact| oracle.literal(fact)).collect());
        let script = script.map(Step::Ask).collect();
        for (more, possible) in additions.iter().zip(oracle.run(script)) {
            let assert = |knowledge: &Knowledge| {
                let mut knowledge = knowledge.clone();
                more.iter().all(|fact| knowledge.assert(fact).is_ok())
            };
            let (full, projected) = (assert(knowledge), assert(&small));
            tally.projections += 1;
            if !projected && possible {
                return Err(format!("{small:?} contradicts {more:?}, {knowledge:?} does not"));
            }
            if projected && !full {
                return Err(format!("{small:?} has lost what {knowledge:?} says about {more:?}"));
            }
            // Facts may contain disequalities here, which for integers are beyond the exact part.
            let differing = more.iter().any(|fact| matches!(fact, Literal::Ne(..)));
            let exact = matches!(self.family, Family::Opaque | Family::Booleans) || !differing;
            if self.family.exact() && exact && projected != possible {
                return Err(format!("{small:?} misses that {more:?} contradicts {knowledge:?}"));
            }
            tally.projections_stronger += usize::from(!projected && full);
        }
        Ok(())
    }
}

fn var(at: usize) -> Var {
    Var::numbered(at as u64)
}

fn index(var: Var) -> usize {
    (0..64).find(|at| self::var(*at) == var).expect("variables are numbered from zero")
}

fn kind(sort: Sort) -> u8 {
    match sort {
        Sort::Opaque => 0,
        Sort::Int | Sort::Choice(_) => 1,
        Sort::Bool => 2,
    }
}

fn extreme(random: &mut Random) -> i64 {
    let near = random.between(0, 3);
    match random.below(4) {
        0 => i64::MAX - near,
        1 => i64::MIN + near,
        _ => near - 1,
    }
}

/// One z3 process. Variables are declared once for every kind; opaque values are integers that are never
/// ordered.
struct Oracle {
    z3: Context,
    sorts: Vec<Sort>,
}

const MOST_VARS: usize = 6;

enum Step {
    /// Asserts a fact for the rest of the script.
    Keep(SExpr),
    /// Queries whether these facts can hold as well.
    Ask(Vec<SExpr>),
}

impl Oracle {
    fn start() -> Self {
        let mut z3 = ContextBuilder::new().with_z3_defaults().build().expect("z3 starts");
        let (int, bool) = (z3.int_sort(), z3.bool_sort());
        for at in 0..MOST_VARS {
            z3.declare_const(format!("i{at}"), int).expect("z3 answers");
            z3.declare_const(format!("b{at}"), bool).expect("z3 answers");
        }
        Self { z3, sorts: Vec::new() }
    }

    fn enter(&mut self, sorts: &[Sort]) {
        self.sorts = sorts.to_vec();
        self.z3.push().expect("z3 answers");
        let ranges = sorts.iter().enumerate().filter_map(|(at, sort)| {
            let Sort::Choice(count) = sort else { return None };
            let name = self.z3.atom(format!("i{at}"));
            let (low, high) = (self.integer(0), self.integer(i64::from(*count)));
            Some(Step::Keep(self.z3.and(self.z3.lte(low, name), self.z3.lt(name, high))))
        });
        let script = ranges.collect();
        self.run(script);
    }

    fn leave(&mut self) {
        self.z3.pop().expect("z3 answers");
    }

    /// Runs the script. All commands are sent before the first response is read: waiting for each would take
    /// most of the time.
    fn run(&mut self, script: Vec<Step>) -> Vec<bool> {
        let [push, pop, check, assert] =
            ["push", "pop", "check-sat", "assert"].map(|word| self.z3.atom(word));
        let one = self.z3.numeral(1u8);
        let mut commands = Vec::new();
        for step in script {
            match step {
                Step::Keep(fact) => commands.push(vec![assert, fact]),
                Step::Ask(facts) => {
                    commands.push(vec![push, one]);
                    commands.extend(facts.into_iter().map(|fact| vec![assert, fact]));
                    commands.push(vec![check]);
                    commands.push(vec![pop, one]);
                }
            }
        }
        let count = commands.len();
        for command in commands {
            let command = self.z3.list(command);
            self.z3.raw_send(command).expect("z3 listens");
        }
        let mut answers = Vec::new();
        for _ in 0..count {
            let answer = self.z3.raw_recv().expect("z3 answers");
            match self.z3.get_atom(answer) {
                Some("success") => {}
                Some("sat") => answers.push(true),
                Some("unsat") => answers.push(false),
                _ => panic!("z3 says {}", self.z3.display(answer)),
            }
        }
        answers
    }

    fn literal(&self, literal: &Literal) -> SExpr {
        match literal {
            Literal::Eq(a, b) => self.equal(a, b),
            Literal::Ne(a, b) => self.z3.not(self.equal(a, b)),
            Literal::AtMost { left, right, by } => {
                let ((left, 1), (right, 1)) = (self.term(left), self.term(right)) else {
                    return self.z3.false_();
                };
                self.z3.lte(self.z3.sub(left, right), self.integer(*by))
            }
        }
    }

    fn equal(&self, a: &Term, b: &Term) -> SExpr {
        let ((a, kind), (b, other)) = (self.term(a), self.term(b));
        if kind == other { self.z3.eq(a, b) } else { self.z3.false_() }
    }

    fn term(&self, term: &Term) -> (SExpr, u8) {
        match term {
            Term::Var(var) => {
                let at = index(*var);
                let kind = kind(self.sorts[at]);
                (self.z3.atom(format!("{}{at}", if kind == 2 { 'b' } else { 'i' })), kind)
            }
            Term::Const(Value::Bool(value)) => (if *value { self.z3.true_() } else { self.z3.false_() }, 2),
            Term::Const(Value::Int(value)) => (self.integer(*value), 1),
            Term::Const(Value::Opaque(text)) => {
                let number = text.bytes().fold(1i128, |sum, byte| sum * 256 + i128::from(byte));
                (self.z3.numeral(number), 0)
            }
        }
    }

    fn integer(&self, value: i64) -> SExpr {
        let size = self.z3.numeral(value.unsigned_abs());
        if value < 0 { self.z3.negate(size) } else { size }
    }
}

/// Deterministic random numbers.
struct Random(u64);

impl Random {
    /// Returns a number from `low` up to, but not including, `high`.
    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below(low.abs_diff(high)).cast_signed()
    }

    /// Returns a number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
