//! Every bug shows, and only where it is on: what is counted here is never seen on a correct server.
//!
//! Each scenario plays with a fresh server and yields how often it saw the very thing that the bug is about.

mod conditions;
mod framing;
mod proxying;
mod storage;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use confute_testbed::embedded::{Bug, Config, Embedded};

use super::client::{Client, start};

/// Starts servers that all have a bug, or none of them.
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

/// A test for every bug, and the list of them.
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
