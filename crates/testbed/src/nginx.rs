//! An nginx of one's own: a DAV store in a temporary folder, or a gateway, on a free port of this machine.
//!
//! It is one process (no master, one worker), so that its requests are handled one after the other and it can be
//! stopped by its own id. With several workers two concurrent puts may both be told that they created the file.
//! Nothing outside its folder is read or written.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often another port is tried.
const ATTEMPTS: usize = 5;
/// How long it may take to answer its first request.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why nginx does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NginxError {
    /// There is none.
    #[error("nginx not installed (apt-get install nginx-extras)")]
    NotInstalled,
    /// Its folder could not be made, or it could not be started.
    #[error("could not set up nginx in {}: {source}", dir.display())]
    Setup {
        /// Its folder.
        dir: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// It ended, or does not answer.
    #[error("nginx did not come up on {ATTEMPTS} ports; its last words: {log}")]
    Down {
        /// The end of its error log.
        log: String,
    },
}

/// A running nginx; dropped, it is stopped and its folder removed.
#[derive(Debug)]
pub struct Nginx {
    address: SocketAddr,
    // In this order: the process ends before its folder goes.
    _process: Process,
    _dir: Dir,
}

impl Nginx {
    /// Starts one, and waits until it answers.
    pub fn start() -> Result<Self, NginxError> {
        let store = "location / { dav_methods PUT DELETE; create_full_put_path on; }";
        Self::with(store)
    }

    /// Starts one that forwards what is below `/plain/` to the root of this origin, as it does by default, and what is below
    /// `/kept/` over connections that it keeps.
    pub fn gateway(origin: SocketAddr) -> Result<Self, NginxError> {
        Self::with(&format!(
            "location /plain/ {{ proxy_pass http://{origin}/; }}
             location /kept/ {{ proxy_pass http://kept/; proxy_http_version 1.1; proxy_set_header Connection ''; }}
             }} upstream kept {{ server {origin}; keepalive 16;"
        ))
    }

    /// Starts one with these lines for its server.
    fn with(lines: &str) -> Result<Self, NginxError> {
        let path = fresh_dir();
        let setup = |source: io::Error| NginxError::Setup { dir: path.clone(), source };
        let dir = Dir(path.clone());
        fs::create_dir_all(dir.0.join("root")).map_err(setup)?;
        fs::create_dir_all(dir.0.join("tmp")).map_err(setup)?;
        // Whoever serves this file is our nginx, not somebody who took the port in the meantime.
        let token = dir.0.display().to_string();
        fs::write(dir.0.join("root/ready"), &token).map_err(setup)?;
        for _ in 0..ATTEMPTS {
            let address = free_port().map_err(setup)?;
            fs::write(dir.0.join("nginx.conf"), config(&dir.0, address, lines)).map_err(setup)?;
            let mut process = match spawn(&dir.0) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(NginxError::NotInstalled);
                }
                other => other.map_err(setup)?,
            };
            if process.comes_up(address, &token).map_err(setup)? {
                return Ok(Self { address, _process: process, _dir: dir });
            }
        }
        let log = fs::read_to_string(dir.0.join("error.log")).unwrap_or_default();
        Err(NginxError::Down { log: log.lines().rev().take(3).collect::<Vec<_>>().join(" | ") })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn spawn(dir: &Path) -> io::Result<Process> {
    // Debian keeps it where only root's PATH looks.
    let program = ["nginx", "/usr/sbin/nginx"].into_iter().find_map(|program| {
        let mut command = Command::new(program);
        command.arg("-p").arg(dir).arg("-c").arg(dir.join("nginx.conf")).arg("-e").arg(dir.join("error.log"));
        match command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            result => Some(result),
        }
    });
    program.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into())).map(Process)
}

/// A process that ends with its owner.
#[derive(Debug)]
struct Process(Child);

impl Process {
    fn comes_up(&mut self, address: SocketAddr, token: &str) -> io::Result<bool> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && self.0.try_wait()?.is_none() {
            if fetch_ready(address).is_ok_and(|answer| answer.ends_with(token)) {
                return Ok(true);
            }
            sleep(Duration::from_millis(5));
        }
        Ok(false)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has no children and nothing to save. That it may be gone already is no matter.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder that goes with its owner.
#[derive(Debug)]
struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn fresh_dir() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("confute-nginx-{}-{count}", std::process::id()))
}

fn free_port() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

fn fetch_ready(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /ready HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(1 << 16).read_to_string(&mut answer)?;
    Ok(answer)
}

/// It keeps the user that started it (`user` is a master's affair). Temporary files lie on the file system of the
/// root, so that a put ends in a rename and is atomic.
fn config(dir: &Path, address: SocketAddr, lines: &str) -> String {
    let dir = dir.display();
    format!(
        r#"daemon off;
master_process off;
pid "{dir}/pid";
error_log "{dir}/error.log" warn;
events {{ worker_connections 256; }}
http {{
    access_log "{dir}/access.log";
    log_not_found off;
    client_body_temp_path "{dir}/tmp/body";
    proxy_temp_path "{dir}/tmp/proxy";
    fastcgi_temp_path "{dir}/tmp/fastcgi";
    uwsgi_temp_path "{dir}/tmp/uwsgi";
    scgi_temp_path "{dir}/tmp/scgi";
    default_type text/plain;
    etag on;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    server {{
        listen {address};
        root "{dir}/root";
        {lines}
    }}
}}
"#
    )
}
