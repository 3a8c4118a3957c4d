//! Private Apache: `mod_dav` over a temporary directory, optionally with `mod_proxy`, on a free port of the loopback
//! interface.
//!
//! The configuration is Debian's (the event MPM, several threads), but with `MaxKeepAliveRequests 0`: connections
//! persist, so that requests are concurrent because they were sent so, and not because connections come and go.

use std::net::SocketAddr;
use std::path::Path;

use crate::life::{Life, Recipe, ServerError, unprivileged};

const MODULES: &str = "/usr/lib/apache2/modules";

const APACHE: Recipe<'static> = Recipe {
    name: "apache2",
    packages: "apache2",
    program: "/usr/sbin/apache2",
    module: "/usr/lib/apache2/modules/mod_dav_fs.so",
    arguments: |dir| {
        let dir = dir.display();
        // Startup errors go to the file that the configuration names for all others.
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
    serves: true,
};

/// Modules that are not built into Debian's binary.
const LOADED: [&str; 4] = ["mpm_event", "authz_core", "dav", "dav_fs"];
/// Further modules that forwarding requires.
const LOADED_TO_FORWARD: [&str; 2] = ["proxy", "proxy_http"];

const VIA: &str = "ProxyVia On\n";

/// A running Apache. Dropping it stops the server and removes its directory.
#[derive(Debug)]
pub struct Apache(Life);

impl Apache {
    /// Starts an Apache and waits until it responds.
    pub fn start() -> Result<Self, ServerError> {
        Self::with(&APACHE, &load(&LOADED))
    }

    /// Starts an Apache that also forwards paths below `/proxy/` to the root of this origin, with the defaults of
    /// `mod_proxy`.
    pub fn forwarding(origin: SocketAddr) -> Result<Self, ServerError> {
        let modules = [&LOADED[..], &LOADED_TO_FORWARD].concat();
        Self::with(&APACHE, &format!("{}{}", load(&modules), forward(origin)))
    }

    /// Like [`forwarding`](Self::forwarding), but Apache adds itself to Via, as a gateway has to.
    pub fn forwarding_with_via(origin: SocketAddr) -> Result<Self, ServerError> {
        let modules = [&LOADED[..], &LOADED_TO_FORWARD].concat();
        Self::with(&APACHE, &format!("{}{}{VIA}", load(&modules), forward(origin)))
    }

    /// Like [`forwarding_with_via`](Self::forwarding_with_via), with a binary that has all modules built in and may
    /// be unable to serve any request.
    pub fn built(program: &Path, origin: SocketAddr) -> Result<Self, ServerError> {
        let program = &*program.to_string_lossy();
        let recipe = Recipe { program, module: program, serves: false, ..APACHE };
        Self::with(&recipe, &format!("{}{VIA}", forward(origin)))
    }

    /// Starts an Apache with additional lines of configuration.
    fn with(recipe: &Recipe<'_>, lines: &str) -> Result<Self, ServerError> {
        Life::begin(recipe, &|dir, address| config(dir, address, lines)).map(Self)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

fn load(modules: &[&str]) -> String {
    let line = |module: &&str| format!("LoadModule {module}_module {MODULES}/mod_{module}.so\n");
    modules.iter().map(line).collect()
}

fn forward(origin: SocketAddr) -> String {
    format!("ProxyPass /proxy/ http://{origin}/\n")
}

fn config(dir: &Path, address: SocketAddr, lines: &str) -> String {
    let dir = dir.display();
    // Apache must not serve as root.
    let user =
        unprivileged().map_or_else(String::new, |(user, group)| format!("User #{user}\nGroup #{group}"));
    format!(
        r#"ServerName 127.0.0.1
Listen {address}
PidFile "{dir}/pid"
ErrorLog "{dir}/error.log"
{user}
{lines}
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
"#
    )
}
