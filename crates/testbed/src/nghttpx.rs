//! An nghttpx of one's own: a gateway on a free port of this machine, with HTTP/1.1 and without TLS on both sides.
//!
//! It cannot take a prefix off a path, so it forwards every path as it is. It serves nothing itself.

use std::net::SocketAddr;
use std::path::Path;

use crate::life::{Life, Recipe, ServerError};

const NGHTTPX: Recipe<'static> = Recipe {
    name: "nghttpx",
    packages: "nghttp2-proxy",
    program: "/usr/sbin/nghttpx",
    module: "/usr/sbin/nghttpx",
    arguments: |dir| vec![format!("--conf={}", dir.join("config").display())],
    forks: false,
    serves: false,
};

/// A running nghttpx; dropped, it is stopped and its folder removed.
#[derive(Debug)]
pub struct Nghttpx(Life);

impl Nghttpx {
    /// Starts one that forwards everything to this origin, and waits until it listens.
    pub fn forwarding(origin: SocketAddr) -> Result<Self, ServerError> {
        Life::begin(&NGHTTPX, &|dir, address| config(dir, address, origin)).map(Self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

/// An origin that failed is tried again at once: by default it would be left alone for ever longer. The file with the process
/// number is that of the first of its two processes.
fn config(dir: &Path, address: SocketAddr, origin: SocketAddr) -> String {
    let dir = dir.display();
    format!(
        r"frontend={},{};no-tls
backend={},{};;proto=http/1.1
pid-file={dir}/pid
errorlog-file={dir}/error.log
accesslog-file=/dev/null
backend-max-backoff=0
",
        address.ip(),
        address.port(),
        origin.ip(),
        origin.port()
    )
}
