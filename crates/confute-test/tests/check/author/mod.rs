//! Mistakes of model authors in `cargo test`: each is named, and none leads to a verdict on the server.

mod own;

use std::panic::catch_unwind;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use confute::lang::{Io, Turn};
use confute_drive::Conclusion;
use own::{Message, Own, Serve, VALUES, check, check_of, check_with, right};

/// Returns the error of `try_run`, on one line, for a correct server and the model with this turn.
fn said(serve: Serve) -> String {
    let text = match check(serve, false).try_run() {
        Ok((outcome, text)) => panic!("{:?}\n{text}", outcome.conclusion),
        Err(why) => format!("{why:#}"),
    };
    assert!(text.contains("inconclusive") && !text.contains("unrefuted:"), "{text}");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the panic message of `run`.
fn panicked(serve: Serve) -> String {
    let Err(panic) = catch_unwind(|| check(serve, false).run()) else { panic!("it passed") };
    let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_model_without_a_mistake() {
    let outcome = check(right, false).run();
    assert_eq!((outcome.tally.unrefuted, outcome.tally.cases), (40, 40));
    let (outcome, text) = check(right, true).try_run().unwrap();
    assert_eq!(outcome.conclusion, Conclusion::Refuted, "{text}");
    assert!(!text.contains('\u{1b}'), "no colours: {text:?}");
}

/// Opens a second cell after reading the first.
fn opens_late(_: &Own, io: &mut Io<'_, Own>) -> Turn {
    let (conn, request) = io.recv()?;
    match &*request {
        Message::Get(key) => {
            let value = VALUES.get(io, key)?.unwrap_or(0);
            VALUES.get(io, &format!("{key}-again"))?;
            io.send(conn, Message::Value(value))
        }
        Message::Set(key, value) => {
            VALUES.edit(io, key)?.set(io, *value)?;
            io.send(conn, Message::Ok)
        }
        _ => io.replies(0),
    }
}

#[test]
fn a_broken_habit_ends_the_run() {
    let text = said(opens_late);
    let what = "mistake in the model: the turn opens `values[";
    let remedy = "after it has read a cell or made a choice. Open every cell before the first look";
    assert!(text.contains(what) && text.contains(remedy), "{text}");
    // The run ends at the first such mistake.
    assert!(text.contains(" in 1 case"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    let text = panicked(opens_late);
    assert!(text.contains(what) && text.contains(remedy) && !text.contains("unrefuted:"), "{text}");
}

/// Cases whose generators send nothing cannot be judged.
#[test]
fn most_cases_have_to_be_judged() {
    let run = |steps| check_with(right, false, steps).try_run().unwrap();
    let (outcome, text) = run(|case| if case < 30 { 60 } else { 0 });
    let why = "30 of 40 cases judged, but 95 % are required";
    assert_eq!(outcome.conclusion, Conclusion::Inconclusive(why.to_owned()));
    assert!(text.contains("30 of 40 cases judged") && !text.contains("unrefuted:"), "{text}");
    let (outcome, text) = run(|case| if case < 38 { 60 } else { 0 });
    assert_eq!(outcome.conclusion, Conclusion::Unrefuted, "{text}");
}

/// Reads a cell before receiving.
fn receives_late(_: &Own, io: &mut Io<'_, Own>) -> Turn {
    let key = "greeting".to_owned();
    VALUES.get(io, &key)?;
    let (conn, _) = io.recv()?;
    io.send(conn, Message::Ok)
}

/// Receives a second time after reading a cell.
fn receives_twice(_: &Own, io: &mut Io<'_, Own>) -> Turn {
    let (conn, request) = io.recv()?;
    if let Message::Get(key) | Message::Set(key, _) = &*request {
        VALUES.edit(io, key)?.get(io)?;
    }
    io.recv()?;
    io.send(conn, Message::Ok)
}

#[test]
fn a_receive_after_a_look() {
    let text = said(receives_late);
    let what = "mistake in the model: the turn opens `values[\"greeting\"]` before it has received a message. Begin \
                the turn with `io.recv()?`";
    assert!(text.contains(what), "{text}");
    let text = said(receives_twice);
    let what = "mistake in the model: the turn receives a second message. Begin the turn with `io.whole()?`";
    assert!(text.contains(what), "{text}");
}

/// Responds to a get with a wrong value at intervals.
fn counts(own: &Own, io: &mut Io<'_, Own>) -> Turn {
    let run = own.runs.fetch_add(1, Ordering::Relaxed);
    let (conn, request) = io.recv()?;
    match &*request {
        Message::Get(key) => {
            let value = VALUES.get(io, key)?.unwrap_or(0);
            io.send(conn, Message::Value(if run % 50 == 49 { value + 1 } else { value }))
        }
        Message::Set(key, value) => {
            VALUES.edit(io, key)?.set(io, *value)?;
            io.send(conn, Message::Ok)
        }
        _ => io.replies(0),
    }
}

/// Stores values outside of tables: a turn repeated at once gives the same result, but not later.
fn keeps_outside(own: &Own, io: &mut Io<'_, Own>) -> Turn {
    let (conn, request) = io.recv()?;
    match &*request {
        Message::Get(key) => {
            let value = own.outside.lock().unwrap().get(key).copied().unwrap_or(0);
            io.send(conn, Message::Value(value))
        }
        Message::Set(key, value) => {
            own.outside.lock().unwrap().insert(key.clone(), *value);
            io.send(conn, Message::Ok)
        }
        _ => io.replies(0),
    }
}

/// Responds with the time of day.
fn tells_the_time(_: &Own, io: &mut Io<'_, Own>) -> Turn {
    let (conn, _) = io.recv()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    io.send(conn, Message::Value(now.subsec_nanos()))
}

#[test]
fn hidden_state() {
    for serve in [counts, keeps_outside, tells_the_time] {
        let text = said(serve);
        let what = "mistake in the model: the turn is not deterministic: run twice over the same answers it did `send value ";
        let remedy = "A turn may depend only on values from `io`: no clock, no random numbers, no state outside tables";
        assert!(text.contains(what) && text.contains(remedy), "{text}");
    }
}

/// Panics for long keys: its table has ten entries.
fn panics(_: &Own, io: &mut Io<'_, Own>) -> Turn {
    let (conn, request) = io.recv()?;
    let (Message::Get(key) | Message::Set(key, _)) = &*request else { return io.replies(0) };
    let known = [0; 10];
    let place = key.len();
    io.send(conn, Message::Value(known[place]))
}

#[test]
fn a_panic_in_the_model() {
    let text = said(panics);
    let what = "mistake in the model: `check::author::own::Own` panicked in the turn of `";
    assert!(text.contains(what) && text.contains("`: index out of bounds: the len is 10"), "{text}");
    assert!(!text.contains("defect"), "{text}");
    let text = panicked(panics);
    assert!(text.contains(what), "{text}");
}

/// A panic outside of the turns is a mistake of the model, too, and ends the run: it would meet in every case.
#[test]
fn a_panic_outside_of_a_turn() {
    let visit = |message: &Message| assert!(!matches!(message, Message::Value(1..)), "no value is expected");
    let text = match check_of(Own { visit, ..Own::new(right) }, false, |_| 60).try_run() {
        Ok((outcome, text)) => panic!("{:?}\n{text}", outcome.conclusion),
        Err(why) => why.to_string(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let what = "mistake in the model: `check::author::own::Own` panicked in ServerModel::told: no value is expected. This \
                function must handle every message";
    assert!(text.contains(what) && !text.contains("defect"), "{text}");
}

/// The binary does not know the rules of a user-defined model, and cannot replay its cases.
#[test]
fn advice_that_works() {
    let reports = crate::folder("own-reports");
    for check in [check(right, true), check(right, true).report_dir(reports.clone())] {
        let (outcome, text) = check.try_run().unwrap();
        assert_eq!(outcome.conclusion, Conclusion::Refuted, "{text}");
        assert!(text.contains("own/current") && text.contains("must"), "{text}");
        assert!(!text.contains("confute explain") && !text.contains("confute replay"), "{text}");
    }
    std::fs::remove_dir_all(&reports).unwrap();
    let why = check(right, false).allow("own/older").try_run().err().unwrap();
    assert_eq!(why.to_string(), "no rule is called own/older; the model has own/current");
}
