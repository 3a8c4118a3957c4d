//! Private nghttpx: a gateway on a free port of the loopback interface, with HTTP/1.1 and without TLS on both sides.
//!
//! nghttpx cannot remove a prefix from a path, so it forwards every path unchanged. It serves nothing itself.

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

/// A running nghttpx. Dropping it stops the server and removes its directory.
#[derive(Debug)]
pub struct Nghttpx(Life);

impl Nghttpx {
    /// Starts an nghttpx that forwards everything to this origin, and waits until it listens.
    pub fn forwarding(origin: SocketAddr) -> Result<Self, ServerError> {
        Life::begin(&NGHTTPX, &|dir, address| config(dir, address, origin)).map(Self)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

/// Returns the configuration. An origin that failed is retried at once: by default nghttpx would avoid it for ever
/// longer periods. The pid file has the id of the first of its two processes.
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
