//! Servers that cannot be tested: they are distinguished from wrong ones, and the tester survives them.

use std::time::{Duration, Instant};

use confute::Verdict;
use confute::trace::Event;
use confute_drive::{Ended, Limits, Trouble};

use crate::protocol::{Busy, Lines};
use crate::server::{Manner, Server, nobody};
use crate::{limits, run, run_as};

fn impatient() -> Limits {
    Limits { patience: Duration::from_millis(200), ..limits() }
}

#[test]
fn refused() {
    let run = run(nobody(), &limits(), 0, &mut Busy::new(100));
    assert!(matches!(run.trouble, Some(Trouble::Refused { .. })), "{:?}", run.trouble);
    assert_eq!((run.verdict, run.ended), (Verdict::Unrefuted, Ended::Trouble));
}

#[test]
fn dies() {
    for seed in 0..5 {
        let server = Server::start(Manner::DiesAfter(100));
        let run = run(server.address, &limits(), seed, &mut Busy { most: 1, ..Busy::new(3000) });
        assert!(matches!(run.trouble, Some(Trouble::Gone { .. })), "{:?}", run.trouble);
        assert_eq!(run.verdict, Verdict::Unrefuted);
        assert!(run.figures.answers > 20);
    }
}

#[test]
fn restarts() {
    let mut noticed = 0;
    for seed in 0..10 {
        let server = Server::start(Manner::ForgetsAll(200));
        let run = run(server.address, &limits(), seed, &mut Busy { most: 1, ..Busy::new(3000) });
        if run.verdict.is_refuted() {
            assert!(matches!(run.trouble, Some(Trouble::Restarted { .. })), "{:?}", run.trouble);
            noticed += 1;
        }
    }
    assert!(noticed > 0);
}

#[test]
fn closes_or_resets() {
    for manner in [Manner::ClosesAtOnce, Manner::Resets] {
        let server = Server::start(manner);
        let run = run(server.address, &limits(), 0, &mut Busy { most: 1, ..Busy::new(3000) });
        assert!(matches!(run.trouble, Some(Trouble::Fruitless { .. })), "{manner:?} {:?}", run.trouble);
        assert_eq!(run.verdict, Verdict::Unrefuted, "{manner:?}");
    }
}

#[test]
fn hangs() {
    for has_probe in [false, true] {
        let server = Server::start(Manner::Hangs);
        let start = Instant::now();
        let run = run_as(
            &Lines { has_probe, ..Lines::default() },
            server.address,
            &impatient(),
            0,
            &mut Busy::new(100),
        );
        assert!(matches!(run.trouble, Some(Trouble::Silent { alive: false, .. })), "{:?}", run.trouble);
        assert_eq!(run.verdict, Verdict::Unrefuted);
        assert!(start.elapsed() < Duration::from_secs(2));
    }
}

#[test]
fn skips_one_answer() {
    let server = Server::start(Manner::SkipsOne(50));
    let lines = Lines { has_probe: true, ..Lines::default() };
    // One request at a time on each connection, or the next response is taken for the missing one.
    let run = run_as(&lines, server.address, &impatient(), 0, &mut Busy { most: 1, ..Busy::new(200) });
    assert!(matches!(run.trouble, Some(Trouble::Silent { alive: true, .. })), "{:?}", run.trouble);
    assert!(run.verdict.is_refuted());
    assert!(matches!(run.trace.last(), Some(Event::Quiescent)));
}

#[test]
fn slow_is_not_silent() {
    let server = Server::start(Manner::Slow(120));
    let lines = Lines { has_probe: true, ..Lines::default() };
    let run = run_as(&lines, server.address, &impatient(), 0, &mut Busy { most: 1, ..Busy::new(30) });
    assert_eq!((run.verdict, run.trouble), (Verdict::Unrefuted, None));
}

#[test]
fn a_server_whose_every_response_breaks_off_does_not_hang() {
    let lines = Lines { has_probe: true, ..Lines::default() };
    for from in [1, 20] {
        let server = Server::start(Manner::BreaksOff(from));
        let run = run_as(&lines, server.address, &impatient(), 0, &mut Busy { most: 1, ..Busy::new(100) });
        let trouble = format!("{:?}", run.trouble);
        assert!(matches!(run.trouble, Some(Trouble::Silent { alive: true, came: 4, .. })), "{trouble}");
        assert!(run.verdict.is_refuted(), "{from}");
        assert!(matches!(run.trace.last(), Some(Event::Quiescent)), "{from}");
        let text = run.trouble.unwrap().to_string();
        assert!(text.starts_with("4 bytes of the response to ") && text.contains("within 200 ms"), "{text}");
    }
}

#[test]
fn bytes_that_come_slowly_are_not_silence() {
    let lines = Lines { has_probe: true, ..Lines::default() };
    // A response takes longer than the patience, and no byte of it does.
    let server = Server::start(Manner::Trickles(60));
    let run = run_as(&lines, server.address, &impatient(), 0, &mut Busy { most: 1, ..Busy::new(20) });
    assert_eq!((run.verdict, run.trouble), (Verdict::Unrefuted, None));
    // A response that has no end is not silence either, and the tester does not wait for it forever.
    let server = Server::start(Manner::TricklesOn(60));
    let start = Instant::now();
    let run = run_as(&lines, server.address, &impatient(), 0, &mut Busy { most: 1, ..Busy::new(20) });
    assert!(matches!(run.trouble, Some(Trouble::Slow { .. })), "{:?}", run.trouble);
    assert_eq!(run.verdict, Verdict::Unrefuted);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn floods() {
    let limits = Limits { message: 1 << 20, unasked: 4 << 20, ..limits() };
    let server = Server::start(Manner::Endless);
    let run = run(server.address, &limits, 0, &mut Busy::new(100));
    assert!(matches!(run.trouble, Some(Trouble::Flood { unfinished: true, .. })), "{:?}", run.trouble);
    assert_eq!(run.verdict, Verdict::Unrefuted);
    // Here the first surplus line is a violation, which the tester sees before the flood.
    let server = Server::start(Manner::Chatty);
    let run = crate::run(server.address, &limits, 0, &mut Busy::new(100));
    assert!(run.verdict.is_refuted(), "{:?} {:?}", run.verdict, run.trouble);
}
