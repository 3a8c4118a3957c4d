//! Private `HAProxy`: a gateway on a free port of the loopback interface.
//!
//! The configuration is the default (`mode http`, one thread per processor, connections to the origin are kept and
//! shared safely), but with a limit on connections: without one `HAProxy` allocates for as many as the system allows.

use std::net::SocketAddr;
use std::path::Path;

use crate::life::{Life, Recipe, ServerError};

const HAPROXY: Recipe<'static> = Recipe {
    name: "haproxy",
    packages: "haproxy",
    program: "/usr/sbin/haproxy",
    module: "/usr/sbin/haproxy",
    // `-db`: one process, in the foreground.
    arguments: |dir| vec!["-db".to_owned(), "-f".to_owned(), dir.join("config").display().to_string()],
    forks: false,
    serves: true,
};

/// A running `HAProxy`. Dropping it stops the server and removes its directory.
#[derive(Debug)]
pub struct Haproxy(Life);

impl Haproxy {
    /// Starts a `HAProxy` that forwards paths below `/proxy/` to the root of this origin, and waits until it
    /// responds.
    pub fn forwarding(origin: SocketAddr) -> Result<Self, ServerError> {
        Life::begin(&HAPROXY, &|dir, address| config(dir, address, origin)).map(Self)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

/// Returns the configuration. `HAProxy` serves no files, so the content of `/ready`, which identifies the server, is
/// part of the configuration. `HAProxy` has no error log file either.
fn config(dir: &Path, address: SocketAddr, origin: SocketAddr) -> String {
    let dir = dir.display();
    format!(
        r"global
    maxconn 1024
defaults
    mode http
    timeout client 60s
    timeout connect 60s
    timeout server 60s
frontend gateway
    bind {address}
    http-request return status 200 content-type text/plain string '{dir}' if {{ path /ready }}
    http-request deny deny_status 404 unless {{ path_beg /proxy/ }}
    http-request replace-path ^/proxy/(.*) /\1
    default_backend origin
backend origin
    server origin {origin}
"
    )
}
