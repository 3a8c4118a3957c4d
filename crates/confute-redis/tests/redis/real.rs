//! A real Redis: never refuted, and clear messages where it cannot be tested.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use confute_redis::{Password, server, traffic};
use confute_test::Check;

use super::start;

#[test]
fn redis_is_not_refuted() {
    let Some(redis) = start(&[]) else { return };
    let subject = server(&redis.address().to_string(), None, traffic());
    let check = Check::of(subject).connections(32).cases(20).max_time(Duration::from_mins(1));
    let outcome = check.regressions(None).run();
    assert!(outcome.figures.answers >= 1_000, "{}", outcome.figures.answers);
    assert!(outcome.tally.inconclusive <= 1, "{:?}", outcome.tally);
}

fn password(password: &str) -> Password {
    Password { user: None, password: password.to_owned() }
}

#[test]
fn a_password_opens_the_server_and_is_in_no_report() {
    let Some(redis) = start(&["--requirepass", "open-sesame"]) else { return };
    let place = redis.address().to_string();
    let folder = std::env::temp_dir().join(format!("confute-redis-password-{}", std::process::id()));
    let check = Check::of(server(&place, Some(password("open-sesame")), traffic()));
    let outcome = check.cases(2).regressions(None).report_dir(folder.clone()).run();
    assert!(outcome.figures.answers > 100, "{}", outcome.figures.answers);
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let is_told = path.is_file() && std::fs::read_to_string(&path).unwrap().contains("sesame");
        assert!(!is_told, "{}", path.display());
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        message(&place, Some(password("wrong")))
            .contains("it refused the password in CONFUTE_REDIS_PASSWORD")
    );
    let why = message(&place, None);
    assert!(why.contains("it needs a password: set CONFUTE_REDIS_PASSWORD"), "{why}");
}

/// Returns the message about a server that cannot be tested, without its line breaks.
fn message(place: &str, password: Option<Password>) -> String {
    let check = Check::of(server(place, password, traffic()));
    let check = check.cases(1).regressions(None).patience(Duration::from_secs(2));
    match check.try_run() {
        Ok((outcome, text)) => {
            assert_eq!(outcome.figures.answers, 0, "{text}");
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        }
        Err(error) => error.to_string(),
    }
}

/// Starts a server that sends this after the first bytes that it receives.
fn answering(text: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 256]).and_then(|_| stream.write_all(text.as_bytes()));
        }
    });
    place
}

#[test]
fn what_is_no_redis_gets_one_clear_message() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let why = message(&nobody, None);
    assert!(why.contains(&nobody), "{why}");
    let http = answering("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    let why = message(&http, None);
    assert!(why.contains("it is no Redis server: PING is answered with unreadable \"HTTP/1.1 400"), "{why}");
    let why = message(&answering(""), None);
    assert!(why.contains("it closed the connection after PING: is it a Redis server?"), "{why}");
    let why = message(&answering("-DENIED Redis is running in protected mode\r\n"), None);
    assert!(why.contains("it is in protected mode"), "{why}");
}

#[test]
fn a_replica_is_not_tested() {
    let Some(redis) = start(&["--replicaof", "127.0.0.1", "1"]) else { return };
    let why = message(&redis.address().to_string(), None);
    assert!(why.contains("it is a read-only replica: test its primary"), "{why}");
}
