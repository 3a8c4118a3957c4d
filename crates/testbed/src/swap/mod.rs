//! A swap server in C (`swap.c`): one thread, `select`, and five bugs that are chosen when it is compiled.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};

use crate::life::{Dir, ServerError};

const NAME: &str = "swap";
const SOURCE: &str = include_str!("swap.c");

/// Number of bytes of each message.
pub const SIZE: usize = 256;

/// A bug of the swap server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A response is the request itself.
    Own = 1,
    /// Requests that are ready at the same time get the same response.
    Round,
    /// A response that is sent in pieces continues with a later message.
    Torn,
    /// A part of a request is taken for the whole.
    Partial,
    /// The last message is kept where the next request of its connection is received.
    Alias,
}

impl Mutant {
    /// All bugs.
    pub const ALL: [Self; 5] = [Self::Own, Self::Round, Self::Torn, Self::Partial, Self::Alias];
}

/// A running swap server. Dropping it stops the server.
#[derive(Debug)]
pub struct Swap {
    address: SocketAddr,
    child: Child,
    _dir: Dir,
}

impl Swap {
    /// Compiles the server with this bug, or without one, and starts it on a free port.
    pub fn start(mutant: Option<Mutant>) -> Result<Self, ServerError> {
        let dir = Dir::fresh(NAME);
        let setup = |source| ServerError::Setup { name: NAME, dir: dir.0.clone(), source };
        fs::create_dir_all(&dir.0).map_err(setup)?;
        let (source, program) = (dir.0.join("swap.c"), dir.0.join("swap"));
        fs::write(&source, SOURCE).map_err(setup)?;
        let number = mutant.map_or(0, |mutant| mutant as u8);
        let mut compiler = Command::new("cc");
        compiler.arg("-O1").arg(format!("-DMUTANT={number}")).arg("-o").arg(&program).arg(&source);
        let compiled = match compiler.stdin(Stdio::null()).output() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ServerError::NotInstalled { name: "cc", packages: "gcc libc6-dev" });
            }
            other => other.map_err(setup)?,
        };
        if !compiled.status.success() {
            let log = String::from_utf8_lossy(&compiled.stderr).into_owned();
            return Err(ServerError::Down { name: NAME, log });
        }
        let mut command = Command::new(&program);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(setup)?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(setup)?;
        }
        // An owner that stops the process comes first: without a port the process must end, too.
        let swap = Self {
            address: (Ipv4Addr::LOCALHOST, line.trim().parse().unwrap_or(0)).into(),
            child,
            _dir: dir,
        };
        if swap.address.port() == 0 {
            return Err(ServerError::Down { name: NAME, log: "it printed no port".to_owned() });
        }
        Ok(swap)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
