//! Single cases: order, timing, pieces, replays.

use std::time::{Duration, Instant};

use confute::Verdict;
use confute::trace::Event;
use confute_drive::{Ended, Generator, Limits, Peer, Replay, Step, Until, View, typed_events, typed_steps};

use crate::protocol::{Ask, Busy, Lines, Message};
use crate::server::{Manner, Server};
use crate::{limits, run};

fn ask(on: u32, ask: Ask) -> Step<Ask> {
    Step::Ask { on: Peer::Opened(on), ask, cuts: Vec::new() }
}

#[test]
fn correct_server_is_unrefuted() {
    for (manner, connections) in [(Manner::Correct, 8), (Manner::Slow(1), 16)] {
        let server = Server::start(manner);
        for seed in 0..20 {
            let limits = Limits { connections, ..limits() };
            let run = run(server.address, &limits, seed, &mut Busy { most: 1, ..Busy::new(1000) });
            assert_eq!(run.verdict, Verdict::Unrefuted, "seed {seed}");
            assert_eq!((run.ended, run.trouble), (Ended::Done, None));
            let outstanding = run.figures.outstanding.quantiles();
            assert!(manner == Manner::Correct || outstanding.median > 4, "{outstanding:?}");
            assert_eq!(run.figures.requests, run.figures.answers);
            assert!(run.figures.requests > 500 && run.figures.opened == u64::from(connections));
        }
    }
}

#[test]
fn closing_is_free() {
    let server = Server::start(Manner::ClosesAfter(3));
    for seed in 0..5 {
        // Each lost request makes the rest harder to judge.
        let limits = Limits { lost: 6, ..limits() };
        let run = run(server.address, &limits, seed, &mut Busy { most: 1, keys: 16, ..Busy::new(500) });
        assert_eq!((run.verdict, run.trouble), (Verdict::Unrefuted, None), "seed {seed}");
        assert!(run.figures.ended > 10 && run.figures.opened > 18, "{:?}", run.figures);
    }
    // But half a response is none: the reader reports it as such, and the model knows no such message.
    let server = Server::start(Manner::TearsAnswers(50));
    let run = run(server.address, &limits(), 1, &mut Busy { most: 1, ..Busy::new(500) });
    assert!(run.verdict.is_refuted(), "{:?}", run.verdict);
}

#[test]
fn wrong_servers_are_refuted() {
    for manner in [Manner::ReadsNothing(20), Manner::Forgets(20), Manner::Garbage] {
        let server = Server::start(manner);
        let run = run(server.address, &limits(), 1, &mut Busy { most: 1, ..Busy::new(5000) });
        assert!(run.verdict.is_refuted(), "{manner:?}: {:?}", run.verdict);
        assert_eq!((run.ended, run.trouble), (Ended::Judged, None));
        assert!(!run.raw.is_empty());
    }
}

#[test]
fn cuts_and_waits_take_time() {
    let server = Server::start(Manner::Correct);
    let cuts = vec![(2, 60), (4, 60)];
    let script = vec![
        Step::Ask { on: Peer::Opened(0), ask: Ask::Set(0, 7), cuts },
        ask(1, Ask::Get(0)),
        Step::Wait(Until::Outstanding(0)),
        Step::Wait(Until::Millis(50)),
        ask(1, Ask::Get(0)),
    ];
    let run = run(server.address, &limits(), 0, &mut Replay::new(script.clone()));
    assert_eq!((run.verdict, run.trouble), (Verdict::Unrefuted, None));
    assert_eq!(typed_steps::<Ask>(&run.script), script);
    let seen = server.seen.lock().unwrap();
    let words: Vec<&str> = seen.iter().map(|(_, line)| &line[..3]).collect();
    // The cut request was begun first, and arrived after the next one.
    assert_eq!(words, ["get", "set", "get"]);
    assert!(seen[1].0 - seen[0].0 >= Duration::from_millis(30), "{seen:?}");
    assert!(seen[2].0 - seen[1].0 >= Duration::from_millis(30), "{seen:?}");
    let trace = typed_events(&run.trace);
    let mut sent = trace.iter().filter(|event| matches!(event, Event::Sent(..)));
    assert!(matches!(sent.next(), Some(Event::Sent(_, Message::Set(..)))));
    let pieces: Vec<&[u8]> = run
        .raw
        .iter()
        .filter(|chunk| chunk.sent && chunk.conn.0 == 0)
        .map(|chunk| &chunk.bytes[..])
        .collect();
    assert_eq!(pieces[..2], [&b"se"[..], b"t "]);
}

/// Generator that pauses before each step.
struct Slowly(Vec<Step<Ask>>);

impl Generator<Lines> for Slowly {
    fn next(&mut self, _: &View<'_, Lines>, _: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        std::thread::sleep(Duration::from_millis(50));
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }
}

#[test]
fn what_is_gathered_is_sent_at_once() {
    let server = Server::start(Manner::Correct);
    let barrier = || Step::Wait(Until::Outstanding(0));
    let first = (0..3).map(|on| ask(on, Ask::Get(0))).chain([barrier()]);
    let mut warm = Slowly(first.collect());
    let run_of = |generator: &mut Slowly| {
        let run = run(server.address, &limits(), 0, generator);
        assert_eq!((run.verdict, run.trouble), (Verdict::Unrefuted, None));
        let seen: Vec<Instant> =
            std::mem::take(&mut *server.seen.lock().unwrap()).iter().map(|it| it.0).collect();
        assert_eq!(seen.len(), 3);
        seen[2] - seen[0]
    };
    let one_by_one = run_of(&mut warm);
    let gathered = [Step::Gather].into_iter().chain((0..3).map(|on| ask(on, Ask::Get(0)))).chain([barrier()]);
    let at_once = run_of(&mut Slowly(gathered.collect()));
    assert!(at_once * 2 < one_by_one, "{at_once:?}, {one_by_one:?}");
}

#[test]
fn held_answers_are_seen_late() {
    let server = Server::start(Manner::Correct);
    let script = vec![
        ask(0, Ask::Set(0, 5)),
        Step::Wait(Until::Outstanding(0)),
        Step::Hold(Peer::Opened(1)),
        ask(1, Ask::Get(0)),
        // The held connection does not count.
        Step::Wait(Until::Outstanding(0)),
        Step::Wait(Until::Millis(50)),
        ask(0, Ask::Set(0, 6)),
        Step::Wait(Until::Outstanding(0)),
        Step::Release(Peer::Opened(1)),
        Step::Wait(Until::Outstanding(0)),
    ];
    let run = run(server.address, &limits(), 0, &mut Replay::new(script));
    assert_eq!((run.verdict, run.trouble), (Verdict::Unrefuted, None));
    // The read happened before the second write, and was seen after it.
    let seen: Vec<Message> = typed_events(&run.trace)
        .into_iter()
        .filter_map(|event| match event {
            Event::Received(_, message) => Some(message),
            _ => None,
        })
        .collect();
    assert_eq!(seen, [Message::Done { ok: true }, Message::Done { ok: true }, Message::Value(5)]);
}

#[test]
fn replay_sends_the_same() {
    let server = Server::start(Manner::Correct);
    let first = run(server.address, &limits(), 3, &mut Busy { most: 1, ..Busy::new(400) });
    // This server is slower, so references would be resolved too early if they did not wait.
    let server = Server::start(Manner::Slow(1));
    let again = run(server.address, &limits(), 3, Replay::new(typed_steps(&first.script)));
    assert_eq!(again.verdict, Verdict::Unrefuted);
    assert!(first.script == again.script);
    let kinds = |run: &confute_drive::CaseRun| {
        let sent = typed_events(&run.trace).into_iter().filter_map(|event| match event {
            Event::Sent(conn, Message::Get(key)) => {
                Some((conn, 'g', key.rsplit_once('.').unwrap().1.to_owned()))
            }
            Event::Sent(conn, Message::Set(key, _)) => {
                Some((conn, 's', key.rsplit_once('.').unwrap().1.to_owned()))
            }
            _ => None,
        });
        sent.collect::<Vec<_>>()
    };
    assert!(kinds(&first).len() > 100);
    assert_eq!(again.figures.skipped, 0);
    assert!(kinds(&first) == kinds(&again));
}

#[test]
fn finish_and_hang_up() {
    let server = Server::start(Manner::Slow(20));
    let script = vec![
        ask(0, Ask::Set(0, 5)),
        Step::Finish(Peer::Opened(0)),
        // A new connection, while the old one is still read.
        ask(0, Ask::Get(1)),
        ask(1, Ask::Get(0)),
        Step::HangUp(Peer::Opened(1)),
        ask(1, Ask::Get(0)),
        Step::Wait(Until::Outstanding(0)),
    ];
    let run = run(server.address, &limits(), 0, &mut Replay::new(script));
    assert_eq!((run.verdict, run.trouble), (Verdict::Unrefuted, None));
    assert_eq!((run.figures.opened, run.figures.requests, run.figures.answers), (4, 4, 3));
    let hung: Vec<u32> = run
        .trace
        .iter()
        .filter_map(|event| if let Event::HungUp(conn) = event { Some(conn.0) } else { None })
        .collect();
    assert!(hung.contains(&2), "{hung:?}");
}

#[test]
fn pipelines() {
    let server = Server::start(Manner::Correct);
    let limits = Limits { connections: 1, ..limits() };
    let run = run(server.address, &limits, 0, &mut Busy { most: 200, ..Busy::new(3000) });
    assert_eq!((run.verdict, run.trouble), (Verdict::Unrefuted, None));
    assert_eq!(run.figures.requests, run.figures.answers);
    assert!(run.figures.outstanding.median() > 4);
}
