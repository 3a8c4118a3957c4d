//! A memcached of one's own, on a free port of this machine.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use crate::life::{PATIENCE, Process, ServerError, free_port};

const NAME: &str = "memcached";

/// A running memcached; dropped, it is stopped.
#[derive(Debug)]
pub struct Memcached {
    address: SocketAddr,
    _process: Process,
}

impl Memcached {
    /// Starts one with four threads, and waits until it answers.
    pub fn start() -> Result<Self, ServerError> {
        let setup = |source| ServerError::Setup { name: NAME, dir: std::env::temp_dir(), source };
        let address = free_port().map_err(setup)?;
        let mut command = Command::new(NAME);
        // Root has to say who it is to run as; others cannot.
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

    /// Where it listens.
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
