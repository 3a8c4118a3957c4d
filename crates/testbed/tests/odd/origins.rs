//! Tests of the odd origin server.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use confute_testbed::odd::{Habits, OddServer, Oddity, Side, TABLE, Theme};

use crate::client::{Client, request};

fn start(oddities: &[Oddity]) -> (OddServer, Client) {
    let server = OddServer::origin(Habits::of(oddities.iter().copied(), 7)).unwrap();
    let client = Client::to(server.addr());
    (server, client)
}

/// Sends more than the first requests, in which no oddity strikes.
pub(crate) fn warm(client: &mut Client) {
    for _ in 0..20 {
        client.ask("OPTIONS /warm", &[], None);
    }
}

fn text(content: &[u8]) -> String {
    String::from_utf8(content.to_vec()).unwrap()
}

/// Checks that every read returns a content that the resource may have: exactly one, unless a write has an unknown
/// outcome.
fn one_client_sees_a_store(oddity: Oddity, rounds: u32) {
    let entry = oddity.entry();
    let (_server, mut client) = start(&[oddity]);
    warm(&mut client);
    let mut may: BTreeSet<Option<String>> = [None].into();
    // Contents of writes with unknown outcome, which may still be performed.
    let mut open: BTreeSet<Option<String>> = BTreeSet::new();
    for round in 0..rounds {
        let content = format!("content {round} ").repeat(1 + round as usize % 3);
        let (line, new) = match round % 5 {
            0 | 1 | 3 => ("PUT /one", Some(content)),
            4 => ("DELETE /one", None),
            _ => ("GET /one", None),
        };
        let writes = !line.starts_with("GET");
        let answer = client.ask(line, &[], new.as_deref());
        let status = answer.as_ref().map(|answer| answer.status);
        match status {
            Some(200 | 201 | 204 | 303 | 404 | 410) if writes => may = [new].into(),
            Some(202 | 500..) | None if writes => {
                open.insert(new);
            }
            Some(200) => {
                let answer = answer.unwrap();
                if answer.field("content-encoding").is_none() {
                    let seen = Some(text(&answer.content));
                    let all: BTreeSet<_> = may.union(&open).cloned().collect();
                    assert!(all.contains(&seen), "{}: {seen:?}, and not one of {all:?}", entry.name);
                    may = [seen].into();
                }
            }
            Some(204) => assert_eq!(oddity, Oddity::Empty204),
            Some(404 | 410) => {
                let all: BTreeSet<_> = may.union(&open).cloned().collect();
                assert!(all.contains(&None), "{}: nothing, and not one of {all:?}", entry.name);
                may = [None].into();
            }
            Some(299 | 307 | 308 | 403 | 408 | 423 | 429 | 503) => {
                assert_eq!(entry.warns, ["store/serves"], "{status:?}");
            }
            Some(500..) | None => {}
            other => panic!("{}: {line} is answered {other:?}", entry.name),
        }
    }
}

#[test]
fn each_oddity_alone_is_a_store() {
    let own: Vec<_> = TABLE.iter().filter(|entry| entry.side == Side::Origin).collect();
    let count = |theme| own.iter().filter(|entry| entry.theme == theme).count();
    assert!(own.len() + count(Theme::Upstream) >= 60);
    thread::scope(|scope| {
        for part in own.chunks(own.len().div_ceil(8)) {
            scope.spawn(move || part.iter().for_each(|entry| one_client_sees_a_store(entry.oddity, 150)));
        }
    });
}

#[test]
fn conditions_hold_with_every_kind_of_tag() {
    let kinds = TABLE.iter().filter(|entry| entry.group == "tag").map(|entry| entry.oddity);
    for oddity in kinds {
        let (_server, mut client) = start(&[oddity]);
        client.ask("PUT /a", &[], Some("first")).unwrap();
        thread::sleep(Duration::from_millis(if oddity == Oddity::RipeningTag { 60 } else { 35 }));
        // A tag that changes with time may have changed by the next request, so the check is repeated.
        let is_met = (0..6).any(|_| {
            let seen = client.ask("GET /a", &[], None).unwrap();
            let Some(tag) = seen.raw("etag") else { return oddity == Oddity::NoTag };
            let again = client.ask("GET /a", &[("If-None-Match", &tag)], None).unwrap();
            again.status == 304 && again.raw("etag") == Some(tag)
        });
        assert!(is_met, "{oddity:?}");
        let wrong = client.ask("PUT /a", &[("If-Match", b"\"nobody's\"")], Some("second")).unwrap();
        assert_eq!(wrong.status, 412, "{oddity:?}");
        let tag = client.ask("GET /a", &[], None).unwrap().raw("etag").unwrap_or_default();
        let weak = [b"W/", &tag[..]].concat();
        let weak = client.ask("PUT /a", &[("If-Match", &weak)], Some("second")).unwrap();
        assert_eq!(weak.status, 412, "{oddity:?}");
    }
}

#[test]
fn a_weak_tag_used_as_strong_is_the_twin() {
    let server = OddServer::origin(Habits::twin(Oddity::WeakTag, 1)).unwrap();
    let mut client = Client::to(server.addr());
    warm(&mut client);
    client.ask("PUT /a", &[], Some("first")).unwrap();
    let tag = client.ask("GET /a", &[], None).unwrap().raw("etag").unwrap();
    assert!(tag.starts_with(b"W/"));
    assert_eq!(client.ask("PUT /a", &[("If-Match", &tag)], Some("second")).unwrap().status, 204);
}

/// Returns one entry for each time that a client sees the effect of a write with an unknown outcome. The client
/// overwrites the effect each time, so several entries show that the write was performed several times.
fn seen_after(habits: Habits, statuses: &[u16]) -> Vec<String> {
    let server = OddServer::origin(habits).unwrap();
    let mut client = Client::to(server.addr());
    warm(&mut client);
    let mut seen = Vec::new();
    for round in 0..400 {
        client.ask("PUT /a", &[], Some("before"));
        let late = format!("late {round}");
        let status = client.ask("PUT /a", &[], Some(&late)).map(|answer| answer.status);
        if !status.is_some_and(|status| statuses.contains(&status)) {
            continue;
        }
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(4));
            let now = client.ask("GET /a", &[], None).filter(|answer| answer.status == 200);
            if now.is_some_and(|now| now.content == late.as_bytes()) {
                seen.push(late.clone());
                while !client
                    .ask("PUT /a", &[], Some("between"))
                    .is_some_and(|answer| matches!(answer.status, 200..=201 | 204))
                {}
            }
        }
        if !seen.is_empty() {
            return seen;
        }
    }
    seen
}

#[test]
fn what_happens_later_happens_once_and_with_the_twin_twice() {
    let late = seen_after(Habits::of([Oddity::ErrorLater], 3), &[500, 502, 504]);
    assert_eq!(late.len(), 1, "{late:?}");
    let late = seen_after(Habits::of([Oddity::AcceptedLater], 3), &[202]);
    assert_eq!(late.len(), 1, "{late:?}");
    let twice = seen_after(Habits::twin(Oddity::ErrorLater, 3), &[500, 502, 504]);
    assert_eq!(twice.len(), 2, "{twice:?}");
}

#[test]
fn pipelined_reads_are_answered_in_order_whatever_the_order_of_evaluation() {
    let (_server, mut client) = start(&[Oddity::Parallel]);
    client.ask("PUT /a", &[], Some("a")).unwrap();
    client.ask("PUT /b", &[], Some("bb")).unwrap();
    for _ in 0..20 {
        let both = [request("GET /a", &[], None), request("GET /b", &[], None)].concat();
        client.send(&both);
        assert_eq!(client.answer("GET").unwrap().content, b"a");
        assert_eq!(client.answer("GET").unwrap().content, b"bb");
    }
}

#[test]
fn a_read_keeps_behind_the_write_on_its_connection_but_for_the_twin() {
    let overtakes = |habits: Habits| {
        let server = OddServer::origin(habits).unwrap();
        let mut client = Client::to(server.addr());
        warm(&mut client);
        client.ask("PUT /a", &[], Some("old")).unwrap();
        let both = [request("PUT /a", &[], Some("new")), request("GET /a", &[], None)].concat();
        client.send(&both);
        client.answer("PUT").unwrap();
        client.answer("GET").unwrap().content == b"old"
    };
    assert!(!overtakes(Habits::of([Oddity::Parallel], 1)));
    assert!(overtakes(Habits::twin(Oddity::Parallel, 1)));
}

#[test]
fn dates_are_rounded_but_never_later_than_the_response() {
    for (oddity, habits) in [
        (Oddity::RoundedDate, Habits::of([Oddity::RoundedDate], 1)),
        (Oddity::CoarseDate, Habits::of([Oddity::CoarseDate], 1)),
        (Oddity::EpochDate, Habits::of([Oddity::EpochDate], 1)),
    ] {
        let server = OddServer::origin(habits).unwrap();
        let mut client = Client::to(server.addr());
        client.ask("PUT /a", &[], Some("a")).unwrap();
        let answer = client.ask("GET /a", &[], None).unwrap();
        let date = answer.field("last-modified").unwrap();
        let same = client.ask("PUT /a", &[("If-Unmodified-Since", date.as_bytes())], Some("a")).unwrap();
        // A date that was rounded up but limited to the current second may be earlier than the one sent a second
        // later.
        assert!(same.status == 204 || oddity == Oddity::RoundedDate, "{oddity:?}: {}", same.status);
        if oddity == Oddity::EpochDate {
            assert_eq!(date, "Thu, 01 Jan 1970 00:00:00 GMT");
        }
    }
}

#[test]
fn what_breaks_off_is_seen_to_break_off() {
    for oddity in [Oddity::BrokenHead, Oddity::BrokenInterim, Oddity::BrokenContent] {
        let (_server, mut client) = start(&[oddity, Oddity::UntilClose]);
        warm(&mut client);
        while client.ask("PUT /a", &[], Some("the whole content")).is_none() {}
        let mut broken = 0;
        for _ in 0..600 {
            match client.ask("GET /a", &[], None) {
                None => broken += 1,
                Some(answer) => assert_eq!(text(&answer.content), "the whole content", "{oddity:?}"),
            }
        }
        assert!(broken > 0, "{oddity:?}");
    }
}
