//! Private `WsgiDAV`: its file system provider over a temporary directory, served by Cheroot on a free port of the
//! loopback interface.
//!
//! Debian does not package `WsgiDAV`. `cargo xtask` installs the `PyPI` packages `wsgidav` and `cheroot` into
//! `target/python` of this workspace, which is not in Python's path by default.

use std::net::SocketAddr;
use std::path::Path;

use crate::life::{Life, Recipe, ServerError};

/// Directory in which the packages are installed.
const PACKAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/python");

const WSGIDAV: Recipe<'static> = Recipe {
    name: "wsgidav",
    packages: "python3-pip, then python3 -m pip install --target target/python wsgidav cheroot",
    program: "python3",
    module: concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/python/wsgidav"),
    arguments: |dir| vec![dir.join("config").display().to_string()],
    forks: false,
    serves: true,
};

/// A running `WsgiDAV`. Dropping it stops the server and removes its directory.
#[derive(Debug)]
pub struct Wsgidav(Life);

impl Wsgidav {
    /// Starts a `WsgiDAV` and waits until it responds.
    pub fn start() -> Result<Self, ServerError> {
        Life::begin(&WSGIDAV, &program).map(Self)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

/// Returns the configuration, a Python program that runs the command line of `WsgiDAV` with its defaults. `-q`
/// suppresses the log line for each request.
fn program(dir: &Path, address: SocketAddr) -> String {
    let (dir, host, port) = (dir.display(), address.ip(), address.port());
    format!(
        r#"import sys
sys.dont_write_bytecode = True
sys.path.insert(0, "{PACKAGES}")
sys.argv[1:] = [
    "--no-config", "-q", "-q", "--server", "cheroot", "--auth", "anonymous",
    "--host", "{host}", "--port", "{port}", "--root", "{dir}/root",
]
from wsgidav.server.server_cli import run
run()
"#
    )
}
