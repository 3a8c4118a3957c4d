//! An Apache of one's own: `mod_dav` over a temporary folder, perhaps `mod_proxy` too, on a free port of this machine.
//!
//! As Debian has it (the event MPM, several threads), but with `MaxKeepAliveRequests 0`: connections last, so that requests
//! are concurrent because they were sent so, and not because connections come and go.

use std::net::SocketAddr;
use std::path::Path;

use crate::life::{Life, Recipe, ServerError, unprivileged};

const MODULES: &str = "/usr/lib/apache2/modules";

const APACHE: Recipe = Recipe {
    name: "apache2",
    packages: "apache2",
    program: "/usr/sbin/apache2",
    module: "/usr/lib/apache2/modules/mod_dav_fs.so",
    arguments: |dir| {
        let dir = dir.display();
        // Startup errors go where the configuration sends all others.
        [
            "-DFOREGROUND",
            "-d",
            &format!("{dir}"),
            "-f",
            &format!("{dir}/config"),
            "-E",
            &format!("{dir}/error.log"),
        ]
        .map(str::to_owned)
        .to_vec()
    },
    forks: true,
};

/// A running Apache; dropped, it is stopped and its folder removed.
#[derive(Debug)]
pub struct Apache(Life);

impl Apache {
    /// Starts one, and waits until it answers.
    pub fn start() -> Result<Self, ServerError> {
        Self::with("")
    }

    /// Starts one that also forwards what is below `/proxy/` to the root of this origin, as `mod_proxy` does by default.
    pub fn forwarding(origin: SocketAddr) -> Result<Self, ServerError> {
        Self::with(&format!(
            "LoadModule proxy_module {MODULES}/mod_proxy.so
LoadModule proxy_http_module {MODULES}/mod_proxy_http.so
ProxyPass /proxy/ http://{origin}/"
        ))
    }

    /// Starts one with more lines.
    fn with(lines: &str) -> Result<Self, ServerError> {
        Life::begin(&APACHE, &|dir, address| config(dir, address, lines)).map(Self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

fn config(dir: &Path, address: SocketAddr, lines: &str) -> String {
    let dir = dir.display();
    // It does not run as root.
    let user =
        unprivileged().map_or_else(String::new, |(user, group)| format!("User #{user}\nGroup #{group}"));
    format!(
        r#"ServerName 127.0.0.1
Listen {address}
PidFile "{dir}/pid"
ErrorLog "{dir}/error.log"
{user}
LoadModule mpm_event_module {MODULES}/mod_mpm_event.so
LoadModule authz_core_module {MODULES}/mod_authz_core.so
LoadModule dav_module {MODULES}/mod_dav.so
LoadModule dav_fs_module {MODULES}/mod_dav_fs.so
StartServers 1
MinSpareThreads 16
ThreadsPerChild 32
MaxRequestWorkers 64
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 3600
Timeout 60
DavLockDB "{dir}/tmp/lock"
DocumentRoot "{dir}/root"
<Directory "{dir}/root">
    Dav On
    ForceType text/plain
    Require all granted
</Directory>
{lines}
"#
    )
}
