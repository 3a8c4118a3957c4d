//! An rclone of one's own: `rclone serve webdav` over a temporary folder, on a free port of this machine.
//!
//! It runs with its own defaults: no cache for files (`--vfs-cache-mode off`), and entity tags made of time and length.

use std::net::SocketAddr;
use std::path::Path;

use crate::life::{Life, Plan, Recipe, ServerError};

const RCLONE: Recipe<'static> = Recipe {
    name: "rclone",
    packages: "rclone",
    program: "rclone",
    // There is no other file: it is one program, wherever the path has it.
    module: "/",
    arguments: |_| ["serve", "webdav"].map(str::to_owned).to_vec(),
    forks: false,
    serves: true,
};

/// A running rclone; dropped, it is stopped and its folder removed.
#[derive(Debug)]
pub struct Rclone(Life);

impl Rclone {
    /// Starts one, and waits until it answers.
    pub fn start() -> Result<Self, ServerError> {
        Life::begin_planned(&RCLONE, &plan).map(Self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

/// The configuration is empty: without one it would read that of whoever starts it.
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
