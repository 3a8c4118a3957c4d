//! Private Redis servers, on free ports of the loopback interface.

mod faulty;
mod resp;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use crate::life::{Dir, PATIENCE, Process, ServerError, free_port};

pub use faulty::{Fault, Faulty};

const NAME: &str = "redis-server";

/// A running Redis. Dropping it stops the server.
#[derive(Debug)]
pub struct Redis {
    address: SocketAddr,
    // The process ends before its directory is removed.
    _process: Process,
    _dir: Dir,
}

impl Redis {
    /// Starts a Redis that stores nothing, with these additional arguments, and waits until it responds.
    pub fn start(arguments: &[&str]) -> Result<Self, ServerError> {
        let dir = Dir::fresh("redis");
        let setup = |source| ServerError::Setup { name: NAME, dir: dir.0.clone(), source };
        std::fs::create_dir_all(&dir.0).map_err(setup)?;
        let address = free_port().map_err(setup)?;
        let mut command = Command::new(NAME);
        command.args(["--bind", "127.0.0.1", "--port", &address.port().to_string()]);
        command.args(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
        command.arg("--dir").arg(&dir.0).args(arguments);
        let mut process = match Process::spawn(&mut command) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ServerError::NotInstalled { name: NAME, packages: NAME });
            }
            other => other.map_err(setup)?,
        };
        if process.comes_up(|| answers(address)).map_err(setup)? {
            return Ok(Self { address, _process: process, _dir: dir });
        }
        Err(ServerError::Down { name: NAME, log: String::new() })
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Returns `true` if PING is answered, with an error if the server needs a password.
fn answers(address: SocketAddr) -> bool {
    let ask = || -> io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(matches!(&answer, b"+PONG" | b"-NOAU"))
    };
    ask().unwrap_or(false)
}
