//! Lifecycle of a private server: a temporary directory, a free port, and a process, all of which end with their
//! owner.
//!
//! A server counts as up when it serves a file that only this server has, so that another process that took the port
//! is not mistaken for it. Nothing outside its directory is written.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};

/// Maximum number of ports that are tried.
const ATTEMPTS: usize = 5;
/// Maximum time until a server responds to its first request, and until it exits. A Java virtual machine on a busy
/// computer needs most of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// Maximum time that child processes may outlive their server. A process that listens on the port after that is
/// unrelated and has taken the port.
const FAREWELL: Duration = Duration::from_secs(2);

/// Reason why a server does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The server is not installed.
    #[error("{name} not installed (apt-get install {packages})")]
    NotInstalled {
        /// Name of the server.
        name: &'static str,
        /// Packages to install.
        packages: &'static str,
    },
    /// The directory could not be created, or the process could not be started.
    #[error("could not set up {name} in {}: {source}", dir.display())]
    Setup {
        /// Name of the server.
        name: &'static str,
        /// Directory of the server.
        dir: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The server exited, or does not respond.
    #[error("{name} did not come up on {ATTEMPTS} ports; its last words: {log}")]
    Down {
        /// Name of the server.
        name: &'static str,
        /// Last lines of the error log.
        log: String,
    },
}

/// Description of a server program and how to start it.
pub(crate) struct Recipe<'a> {
    /// Name of the server.
    pub(crate) name: &'static str,
    /// Packages that contain the server: Debian's, unless the module of the server says otherwise.
    pub(crate) packages: &'static str,
    /// Path or name of the binary.
    pub(crate) program: &'a str,
    /// Another file that must exist for the server to count as installed.
    pub(crate) module: &'a str,
    /// Command-line arguments, given the directory of the server.
    pub(crate) arguments: fn(&Path) -> Vec<String>,
    /// `true` if the server, started by root, has child processes that write as another user.
    pub(crate) forks: bool,
    /// `true` if the server serves a file, which shows that it is up and identifies it. Otherwise an open port and
    /// the process id in the pid file do.
    pub(crate) serves: bool,
}

/// The part of a server's setup that depends on its directory and port.
pub(crate) struct Plan {
    /// Files to write before the start: the path of each, relative to the server's directory, and its content.
    pub(crate) files: Vec<(&'static str, String)>,
    /// Arguments that follow those of the recipe.
    pub(crate) arguments: Vec<String>,
}

/// A running server. Dropping it stops the server and removes its directory.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) address: SocketAddr,
    // Fields are dropped in this order: first the process ends, then its children, and the directory is removed last.
    _process: Process,
    _children: Children,
    _dir: Dir,
}

impl Life {
    /// Starts a server and waits until it responds. In the server's directory, `config` is its configuration and
    /// `root` the directory that it serves; it writes to `tmp` and `error.log`.
    pub(crate) fn begin(
        recipe: &Recipe<'_>,
        config: &dyn Fn(&Path, SocketAddr) -> String,
    ) -> Result<Self, ServerError> {
        let plan = |dir: &Path, address| Plan {
            files: vec![("config", config(dir, address))],
            arguments: Vec::new(),
        };
        Self::begin_planned(recipe, &plan)
    }

    /// Like [`begin`](Self::begin), for a server that has any number of configuration files, or that takes its port
    /// from an argument.
    pub(crate) fn begin_planned(
        recipe: &Recipe<'_>,
        plan: &dyn Fn(&Path, SocketAddr) -> Plan,
    ) -> Result<Self, ServerError> {
        let Recipe { name, packages, .. } = *recipe;
        let dir = Dir::fresh(name);
        let setup = |source: io::Error| ServerError::Setup { name, dir: dir.0.clone(), source };
        let absent = ServerError::NotInstalled { name, packages };
        if !Path::new(recipe.module).exists() {
            return Err(absent);
        }
        let token = dir.furnish(recipe.forks).map_err(setup)?;
        for _ in 0..ATTEMPTS {
            let address = free_port().map_err(setup)?;
            let plan = plan(&dir.0, address);
            for (path, content) in plan.files {
                fs::write(dir.0.join(path), content).map_err(setup)?;
            }
            let mut command = Command::new(recipe.program);
            command.args((recipe.arguments)(&dir.0)).args(plan.arguments);
            let log = File::options().append(true).open(dir.0.join("error.log")).map_err(setup)?;
            let mut process = match Process::spawn_logging(&mut command, log) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(absent),
                other => other.map_err(setup)?,
            };
            let id = process.0.id().to_string();
            let is_ours = || {
                if recipe.serves {
                    return fetch_ready(address).is_ok_and(|answer| answer.ends_with(&token));
                }
                let is_it = fs::read_to_string(dir.0.join("pid")).is_ok_and(|text| text.trim() == id);
                is_it && TcpStream::connect_timeout(&address, PATIENCE).is_ok()
            };
            if process.comes_up(is_ours).map_err(setup)? {
                return Ok(Self { address, _process: process, _children: Children(address), _dir: dir });
            }
        }
        let log = fs::read_to_string(dir.0.join("error.log")).unwrap_or_default();
        Err(ServerError::Down { name, log: log.lines().rev().take(3).collect::<Vec<_>>().join(" | ") })
    }
}

/// A process that is stopped when its owner is dropped.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(Self)
    }

    /// Starts a process whose standard output and standard error both go to this file.
    fn spawn_logging(command: &mut Command, log: File) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn().map(Self)
    }

    /// Waits until `is_up` holds. Returns `false` if the process exits or the timeout expires first.
    pub(crate) fn comes_up(&mut self, is_up: impl Fn() -> bool) -> io::Result<bool> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && self.0.try_wait()?.is_none() {
            if is_up() {
                return Ok(true);
            }
            sleep(Duration::from_millis(5));
        }
        Ok(false)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // SIGTERM comes first, so that the process can stop its children too.
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            sleep(Duration::from_millis(5));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The child processes of a server that has exited, identified by the address they listen on. Those of nghttpx notice
/// a moment later that their parent is gone, and exit.
#[derive(Debug)]
struct Children(SocketAddr);

impl Drop for Children {
    fn drop(&mut self) {
        let deadline = Instant::now() + FAREWELL;
        while Instant::now() < deadline && TcpStream::connect_timeout(&self.0, FAREWELL).is_ok() {
            sleep(Duration::from_millis(5));
        }
    }
}

/// A directory that is removed when its owner is dropped.
#[derive(Debug)]
pub(crate) struct Dir(pub(crate) PathBuf);

impl Dir {
    pub(crate) fn fresh(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("confute-{name}-{}-{count}", std::process::id())))
    }

    /// Creates the files that every server needs, and returns the content of the file that identifies this server.
    fn furnish(&self, for_others: bool) -> io::Result<String> {
        let token = self.0.display().to_string();
        for part in ["root", "tmp", "error.log"] {
            let path = self.0.join(part);
            match part {
                "error.log" => fs::write(&path, "")?,
                _ => fs::create_dir_all(&path)?,
            }
            if let Some((user, group)) = unprivileged().filter(|_| for_others) {
                chown(&path, Some(user), Some(group))?;
            }
        }
        fs::write(self.0.join("root/ready"), &token)?;
        Ok(token)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the user and group that servers started by root run as: Debian's `www-data`. Returns `None` if this
/// process does not run as root.
pub(crate) fn unprivileged() -> Option<(u32, u32)> {
    if !geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let fields: Vec<&str> = users.lines().find(|line| line.starts_with("www-data:"))?.split(':').collect();
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

/// Returns a free port of the loopback interface. It is outside the range of ephemeral ports, so that no outgoing
/// connection takes it before the server listens.
pub fn free_port() -> io::Result<SocketAddr> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const FIRST: u32 = 18_000;
    const COUNT: u32 = 14_000;
    let start = std::process::id().wrapping_mul(97);
    for _ in 0..COUNT {
        let number = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, (FIRST + number) as u16));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, "no port is free"))
}

fn fetch_ready(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /ready HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(1 << 16).read_to_string(&mut answer)?;
    Ok(answer)
}
