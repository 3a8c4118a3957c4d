//! Every bug shows if it is switched on, and only then: the symptom counted here never occurs on a correct server.
//!
//! Each scenario runs against a fresh server and returns the number of times it observed the symptom of the bug.

mod conditions;
mod framing;
mod proxying;
mod storage;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use confute_testbed::embedded::{Bug, Config, Embedded};

use super::client::{Client, request, start};

/// Factory of servers that all have a certain bug, or none.
pub(crate) struct Lab(Option<Bug>);

impl Lab {
    fn config(&self) -> Config {
        Config { bugs: self.0.into_iter().collect(), ..Config::default() }
    }

    fn server(&self) -> (Embedded, Client) {
        let server = start(self.config());
        let client = Client::to(server.addr());
        (server, client)
    }

    fn proxy(&self, origin: SocketAddr) -> (Embedded, Client) {
        let server = start(self.config().proxy("/proxy/", origin));
        let client = Client::to(server.addr());
        (server, client)
    }
}

fn shows(bug: Bug, scenario: fn(&Lab) -> usize) {
    assert_eq!(scenario(&Lab(None)), 0, "{bug} shows on a correct server");
    assert_ne!(scenario(&Lab(Some(bug))), 0, "{bug} does not show");
}

/// Expands to a test for every bug, and the list of the tested bugs.
macro_rules! tests {
    ($($name:ident $bug:ident $scenario:expr;)*) => {
        $(#[test] fn $name() { super::shows(confute_testbed::embedded::Bug::$bug, $scenario); })*
        pub(crate) const TESTED: &[confute_testbed::embedded::Bug] = &[$(confute_testbed::embedded::Bug::$bug),*];
    };
}
use tests;

/// Returns the bugs that do nothing but rewrite the heads of responses. One test covers them all.
fn rewriting() -> Vec<Bug> {
    Bug::all().iter().copied().filter(|bug| bug.rewrite().is_some()).collect()
}

/// Sends GETs, each on a new connection, and returns the heads of the responses.
fn heads(lab: &Lab) -> Vec<String> {
    let (server, mut client) = lab.server();
    client.put("/a", "content");
    let bytes = request("GET /a", "Connection: close", "");
    (0..20).map(|_| Client::to(server.addr()).raw(&bytes)).collect()
}

#[test]
fn heads_are_rewritten() {
    // Times differ from one response to the next.
    let shape = |head: &str| head.replace(|char: char| char.is_ascii_digit(), "0");
    let right = heads(&Lab(None)).remove(0);
    for bug in rewriting() {
        let wrong = shape(&bug.rewrite().unwrap()(&right));
        assert_ne!(wrong, shape(&right), "{bug} rewrites nothing");
        let shown = heads(&Lab(Some(bug))).iter().filter(|head| shape(head) == wrong).count();
        assert!((1..20).contains(&shown), "{bug} shows {shown} times");
    }
}

#[test]
fn every_bug_has_a_test() {
    let tested =
        [conditions::TESTED, framing::TESTED, proxying::TESTED, storage::TESTED, &rewriting()].concat();
    let missing: BTreeSet<_> = Bug::all().iter().filter(|bug| !tested.contains(bug)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(tested.len(), Bug::all().len(), "and one only");
}
