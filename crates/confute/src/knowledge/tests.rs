//! Unit tests of knowledge. The property test against z3 is `tests/knowledge_z3.rs`.

use super::*;

const X: Var = Var::numbered(1);
const Y: Var = Var::numbered(2);
const Z: Var = Var::numbered(3);

fn int(value: i64) -> Term {
    Term::Const(Value::Int(value))
}

fn text(value: &str) -> Term {
    Term::Const(Value::Opaque(value.into()))
}

fn truth(value: bool) -> Term {
    Term::Const(Value::Bool(value))
}

fn eq(a: impl Into<Term>, b: impl Into<Term>) -> Literal {
    Literal::Eq(a.into(), b.into())
}

fn ne(a: impl Into<Term>, b: impl Into<Term>) -> Literal {
    Literal::Ne(a.into(), b.into())
}

fn at_most(left: impl Into<Term>, right: impl Into<Term>, by: i64) -> Literal {
    Literal::AtMost { left: left.into(), right: right.into(), by }
}

impl From<Var> for Term {
    fn from(var: Var) -> Self {
        Term::Var(var)
    }
}

fn declared(sort: Sort) -> Knowledge {
    let mut knowledge = Knowledge::new();
    for var in [X, Y, Z] {
        knowledge.declare(var, sort);
    }
    knowledge
}

fn with(sort: Sort, facts: &[Literal]) -> Knowledge {
    let mut knowledge = declared(sort);
    for fact in facts {
        knowledge.assert(fact).unwrap();
    }
    knowledge
}

#[test]
fn declared_variables_are_no_facts() {
    let knowledge = declared(Sort::Choice(3));
    assert!(knowledge.is_empty());
    assert_eq!(knowledge.fingerprint(), Knowledge::new().fingerprint());
    let single = declared(Sort::Choice(1));
    assert_eq!(single.value(&X.into()), Some(Value::Int(0)));
    assert!(single.is_empty());
    assert_eq!(single.fingerprint(), Knowledge::new().fingerprint());
}

#[test]
fn equality_passes_through_unknowns() {
    let mut knowledge = with(Sort::Opaque, &[eq(X, Y), eq(Y, Z), eq(Z, text("a"))]);
    assert_eq!(knowledge.value(&X.into()), Some(Value::Opaque("a".into())));
    assert_eq!(knowledge.assert(&ne(X, Y)).unwrap_err().reason, Reason::Same);
}

#[test]
fn a_copy_does_not_see_later_facts() {
    let before = with(Sort::Opaque, &[ne(X, Y)]);
    let mut after = before.clone();
    after.assert(&eq(X, text("a"))).unwrap();
    assert_eq!(before.decide(&eq(Y, text("a"))), None);
    assert_eq!(after.decide(&eq(Y, text("a"))), Some(false));
}

#[test]
fn values_of_different_sorts_are_different() {
    let mut knowledge = declared(Sort::Opaque);
    assert_eq!(knowledge.decide(&eq(X, int(3))), Some(false));
    assert_eq!(knowledge.decide(&ne(truth(true), int(1))), Some(true));
    assert_eq!(knowledge.assert(&at_most(X, Y, 0)).unwrap_err().reason, Reason::Unordered);
}

#[test]
fn the_sort_of_an_undeclared_variable_shows() {
    let mut knowledge = Knowledge::new();
    knowledge.assert(&ne(X, int(3))).unwrap();
    knowledge.assert(&ne(X, text("a"))).unwrap();
    knowledge.assert(&at_most(int(3), X, 0)).unwrap();
    assert_eq!(knowledge.decide(&at_most(int(4), X, 0)), Some(true), "3 is excluded");
    assert_eq!(knowledge.decide(&eq(X, text("b"))), Some(false));
}

#[test]
fn booleans_have_two_values() {
    let knowledge = with(Sort::Bool, &[ne(X, Y), ne(Y, Z)]);
    assert_eq!(knowledge.decide(&eq(X, Z)), Some(true));
    let mut bound = knowledge.clone();
    bound.assert(&ne(Z, truth(true))).unwrap();
    assert_eq!(bound.value(&Y.into()), Some(Value::Bool(true)));
    assert!(with(Sort::Bool, &[ne(X, Y), ne(Y, Z)]).assert(&ne(X, Z)).is_err());
}

#[test]
fn the_last_choice_is_fixed() {
    let mut knowledge = with(Sort::Choice(4), &[ne(X, int(1)), ne(X, int(0)), ne(X, int(3))]);
    assert_eq!(knowledge.value(&X.into()), Some(Value::Int(2)));
    assert_eq!(knowledge.decide(&eq(Y, int(4))), Some(false));
    assert!(knowledge.assert(&ne(X, int(2))).is_err());
}

#[test]
fn integers_differ_at_the_end_of_a_bound() {
    let knowledge = with(Sort::Int, &[at_most(X, Y, 0), ne(X, Y)]);
    assert_eq!(knowledge.decide(&at_most(X, Y, -1)), Some(true));
    let closed = with(Sort::Int, &[at_most(X, Y, 0), at_most(Y, X, 0)]);
    assert_eq!(closed.fingerprint(), with(Sort::Int, &[eq(X, Y)]).fingerprint());
}

#[test]
fn extremes_contradict_nobody() {
    let (low, high) = (int(i64::MIN), int(i64::MAX));
    let mut knowledge = with(Sort::Int, &[eq(X, high.clone()), at_most(Y, X, i64::MAX)]);
    knowledge.assert(&at_most(X, Y, -i64::MAX)).unwrap();
    assert_eq!(knowledge.value(&Y.into()), None, "beyond what can be written down");
    assert_eq!(knowledge.decide(&eq(Y, low.clone())), Some(false));
    assert_eq!(knowledge.decide(&at_most(high, low, i64::MAX)), Some(false));
}

#[test]
fn the_order_of_assertions_does_not_matter() {
    let families: [(Sort, Vec<Literal>); 3] = [
        (Sort::Opaque, vec![ne(X, Y), eq(Y, Z), ne(Z, text("a")), eq(X, text("b"))]),
        (Sort::Int, vec![at_most(X, Y, 2), at_most(Y, Z, 0), ne(Y, Z), at_most(int(3), X, 0), ne(X, int(3))]),
        (Sort::Choice(3), vec![ne(X, Y), ne(X, int(1)), at_most(Y, Z, -1), ne(Z, int(2))]),
    ];
    for (sort, facts) in families {
        let expected = with(sort, &facts).fingerprint();
        for order in permutations(facts) {
            assert_eq!(with(sort, &order).fingerprint(), expected, "{order:?}");
        }
    }
}

fn permutations(items: Vec<Literal>) -> Vec<Vec<Literal>> {
    if items.len() <= 1 {
        return vec![items];
    }
    let mut all = Vec::new();
    for at in 0..items.len() {
        let mut rest = items.clone();
        let first = rest.remove(at);
        for mut order in permutations(rest) {
            order.push(first.clone());
            all.push(order);
        }
    }
    all
}

#[test]
fn forgetting_keeps_what_is_implied() {
    let mut knowledge = with(Sort::Int, &[at_most(X, Y, -1), at_most(Y, Z, -1), ne(Y, int(7))]);
    knowledge.forget(&|var| var != Y);
    assert_eq!(knowledge.decide(&at_most(X, Z, -2)), Some(true));

    let mut opaque = with(Sort::Opaque, &[eq(X, Y), ne(X, text("a")), ne(Y, Z)]);
    opaque.forget(&|var| var == Y);
    assert_eq!(opaque.decide(&eq(Y, text("a"))), Some(false));
    assert_eq!(opaque.len(), 1, "{opaque:?}");
    opaque.forget(&|_| false);
    assert!(opaque.is_empty());
    assert_eq!(opaque.fingerprint(), Knowledge::new().fingerprint());
}

#[test]
fn a_dead_variable_that_can_run_out_of_values_stays() {
    // Y is 0 or 1 and differs from both others, so X and Z cannot be 0 and 1.
    let mut knowledge = with(Sort::Choice(2), &[ne(X, Y), ne(Y, Z)]);
    knowledge.forget(&|var| var != Y);
    knowledge.assert(&eq(X, int(0))).unwrap();
    assert_eq!(knowledge.decide(&eq(Z, int(1))), Some(false));
}

#[test]
fn a_bound_learnt_from_a_forgotten_equal_is_kept_and_counted() {
    let mut knowledge = Knowledge::new();
    knowledge.declare(X, Sort::Int);
    knowledge.declare(Y, Sort::Choice(5));
    knowledge.assert(&eq(X, Y)).unwrap();
    let mut other = knowledge.clone();
    knowledge.forget(&|var| var == X);
    assert_eq!(knowledge.decide(&at_most(X, int(4), 0)), Some(true));
    assert_eq!(knowledge.len(), 1);
    other.forget(&|var| var == Y);
    assert!(other.is_empty(), "its sort says as much: {other:?}");
}

#[test]
fn absorbing_adds_all_facts() {
    let mut left = Knowledge::new();
    left.assert(&eq(X, text("a"))).unwrap();
    let mut right = Knowledge::new();
    right.declare(Y, Sort::Int);
    right.assert(&at_most(Y, Z, -1)).unwrap();
    let mut both = left.clone();
    both.absorb(&right);
    assert_eq!(both.fingerprint(), left.fingerprint().plus(right.fingerprint()));
    assert_eq!(both.decide(&eq(Y, Z)), Some(false));

    let mut clashing = Knowledge::new();
    clashing.assert(&eq(X, text("b"))).unwrap();
    both.absorb(&clashing);
    assert_eq!(both.assert(&eq(Y, int(1))).unwrap_err().reason, Reason::Absorbed);
}

#[test]
fn witnesses_fit() {
    let mut state = 7u64;
    let mut pick = |bound: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) % bound
    };
    for _ in 0..100 {
        let mut times = with(Sort::Int, &[at_most(X, Y, -1), at_most(Y, Z, -1), ne(Y, int(1))]);
        for var in [Y, X, Z] {
            let value = times.witness(var, &mut pick);
            times.assert(&eq(var, Term::Const(value))).unwrap();
        }
        let mut tags = with(Sort::Opaque, &[ne(X, Y), ne(Y, Z), eq(X, text("a"))]);
        for var in [X, Y, Z] {
            let value = tags.witness(var, &mut pick);
            tags.assert(&eq(var, Term::Const(value))).unwrap();
        }
    }
}

#[test]
fn reading_shows_the_facts() {
    let knowledge = with(Sort::Int, &[at_most(X, Y, -1), at_most(int(3), Z, 0), ne(Y, int(9))]);
    assert_eq!(format!("{knowledge:?}"), "{?2 ≠ 9, 3 ≤ ?3, ?1 − ?2 ≤ -1}");
}
