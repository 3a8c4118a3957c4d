//! Private rclone: `rclone serve webdav` over a temporary directory, on a free port of the loopback interface.
//!
//! rclone runs with its defaults: no cache for files (`--vfs-cache-mode off`), and entity tags derived from time and
//! length.

use std::net::SocketAddr;
use std::path::Path;

use crate::life::{Life, Plan, Recipe, ServerError};

const RCLONE: Recipe<'static> = Recipe {
    name: "rclone",
    packages: "rclone",
    program: "rclone",
    // No other file is required: rclone is a single binary, found through PATH.
    module: "/",
    arguments: |_| ["serve", "webdav"].map(str::to_owned).to_vec(),
    forks: false,
    serves: true,
};

/// A running rclone. Dropping it stops the server and removes its directory.
#[derive(Debug)]
pub struct Rclone(Life);

impl Rclone {
    /// Starts an rclone and waits until it responds.
    pub fn start() -> Result<Self, ServerError> {
        Life::begin_planned(&RCLONE, &plan).map(Self)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

/// Returns the arguments and an empty configuration: without one rclone would read that of the user.
fn plan(dir: &Path, address: SocketAddr) -> Plan {
    let inside = |part: &str| dir.join(part).display().to_string();
    let arguments = [
        inside("root"),
        "--config".to_owned(),
        inside("config"),
        "--cache-dir".to_owned(),
        inside("tmp"),
        "--addr".to_owned(),
        address.to_string(),
    ];
    Plan { files: vec![("config", String::new())], arguments: arguments.to_vec() }
}
