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

use super::client::{Client, start};

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

#[test]
fn every_bug_has_a_test() {
    let tested = [conditions::TESTED, framing::TESTED, proxying::TESTED, storage::TESTED].concat();
    let missing: BTreeSet<_> = Bug::all().iter().filter(|bug| !tested.contains(bug)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(tested.len(), Bug::all().len(), "and one only");
}
