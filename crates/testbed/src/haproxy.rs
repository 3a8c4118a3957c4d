//! A `HAProxy` of one's own: a gateway on a free port of this machine.
//!
//! As it comes (`mode http`, as many threads as there are processors, connections to the origin are kept and shared safely),
//! but with a bound on connections, as it would prepare for as many as the system allows.

use std::net::SocketAddr;
use std::path::Path;

use crate::life::{Life, Recipe, ServerError};

const HAPROXY: Recipe<'static> = Recipe {
    name: "haproxy",
    packages: "haproxy",
    program: "/usr/sbin/haproxy",
    module: "/usr/sbin/haproxy",
    // In the foreground, and one process.
    arguments: |dir| vec!["-db".to_owned(), "-f".to_owned(), dir.join("config").display().to_string()],
    forks: false,
    serves: true,
};

/// A running `HAProxy`; dropped, it is stopped and its folder removed.
#[derive(Debug)]
pub struct Haproxy(Life);

impl Haproxy {
    /// Starts one that forwards what is below `/proxy/` to the root of this origin, and waits until it answers.
    pub fn forwarding(origin: SocketAddr) -> Result<Self, ServerError> {
        Life::begin(&HAPROXY, &|dir, address| config(dir, address, origin)).map(Self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

/// It has no files to serve: what is in the one that shows who it is, it says by itself. It has no file for errors either.
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
