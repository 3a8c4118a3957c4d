//! Private memcached, on a free port of the loopback interface.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use crate::life::{PATIENCE, Process, ServerError, free_port};

const NAME: &str = "memcached";

/// A running memcached. Dropping it stops the server.
#[derive(Debug)]
pub struct Memcached {
    address: SocketAddr,
    _process: Process,
}

impl Memcached {
    /// Starts a memcached with four threads and waits until it responds.
    pub fn start() -> Result<Self, ServerError> {
        let setup = |source| ServerError::Setup { name: NAME, dir: std::env::temp_dir(), source };
        let address = free_port().map_err(setup)?;
        let mut command = Command::new(NAME);
        // memcached refuses to run as root without `-u`; for other users the option has no effect.
        command.args([
            "-l",
            "127.0.0.1",
            "-p",
            &address.port().to_string(),
            "-U",
            "0",
            "-u",
            "nobody",
            "-t",
            "4",
        ]);
        let mut process = match Process::spawn(&mut command) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ServerError::NotInstalled { name: NAME, packages: NAME });
            }
            other => other.map_err(setup)?,
        };
        if process.comes_up(|| answers(address)).map_err(setup)? {
            return Ok(Self { address, _process: process });
        }
        Err(ServerError::Down { name: NAME, log: String::new() })
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn answers(address: SocketAddr) -> bool {
    let ask = || -> io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"version\r\n")?;
        let mut answer = [0; 8];
        stream.read_exact(&mut answer)?;
        Ok(&answer == b"VERSION ")
    };
    ask().unwrap_or(false)
}
