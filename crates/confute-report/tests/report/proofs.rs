//! Proofs of fabricated findings.

use confute::Diagnosis;
use confute::lang::Level;
use confute::trace::{Event, WireConn};
use confute_drive::AnyMessage;
use confute_run::proof::prove;

use crate::fabricated::finding;
use crate::protocol::{Lines, Message, SAYS_OK, SERVES, SET_LASTS};

/// Returns the last sentence of the proof of a case: with the rules `relaxed`, only `set-lasts` explains it. The first set
/// is answered with `done`, as `says-ok` forbids, if `ok` is `false`.
fn last_sentence(ok: bool, relaxed: &[&'static str]) -> String {
    let conn = WireConn(0);
    let sent = |message| Event::Sent(conn, AnyMessage::new(message));
    let received = |message| Event::Received(conn, AnyMessage::new(message));
    let mut found = finding(1, 4, 1, "", false);
    found.counterexample.trace = vec![
        Event::Opened(conn),
        sent(Message::Set("k".into(), 5)),
        received(Message::Done { ok }),
        sent(Message::Set("k".into(), 6)),
        received(Message::Done { ok: true }),
        sent(Message::Get("k".into())),
        received(Message::Value(5)),
    ];
    found.counterexample.refutation.event = 6;
    found.diagnoses = vec![Diagnosis { rules: vec![SET_LASTS.name], deviations: 1, level: Level::Must }];
    found.relaxed = relaxed.to_vec();
    prove(&Lines::default(), &mut found);
    found.proof.unwrap().sentences.pop().unwrap()
}

#[test]
fn rules_that_were_relaxed_and_are_needed_are_named() {
    let sentence = last_sentence(false, &[SERVES.name, SAYS_OK.name]);
    assert_eq!(sentence, "That explanation also breaks line/says-ok, which was not required in this case.");
    for (ok, relaxed) in [(true, &[SERVES.name, SAYS_OK.name][..]), (true, &[])] {
        assert!(!last_sentence(ok, relaxed).contains("also breaks"), "{ok}");
    }
}
