//! A Squid of one's own: a gateway (an accelerator, as Squid says) on a free port of this machine.
//!
//! It keeps no answers. It cannot take a prefix off a path, so what is below `/proxy/` is below `/proxy/` at the origin too.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use crate::life::{Life, Recipe, ServerError, unprivileged};

const SQUID: Recipe<'static> = Recipe {
    name: "squid",
    packages: "squid",
    program: "/usr/sbin/squid",
    module: "/usr/sbin/squid",
    arguments: |dir| {
        // In the foreground, and one process. What it shares with itself in memory has the name of the service, which
        // takes letters and digits only.
        let service = dir.file_name().unwrap_or_default().to_string_lossy().replace('-', "x");
        ["-N", "-n", &service, "-f", &dir.join("config").display().to_string()].map(str::to_owned).to_vec()
    },
    forks: true,
    serves: true,
};

/// What is below this is forwarded.
const PREFIX: &str = "/proxy/";

/// A running Squid; dropped, it is stopped and its folder removed. It takes a second to end.
#[derive(Debug)]
pub struct Squid(Life);

impl Squid {
    /// Starts one that forwards what is below `/proxy/` to this origin, with the path [as it is](Self::inner_prefix), and waits
    /// until it answers.
    pub fn forwarding(origin: SocketAddr) -> Result<Self, ServerError> {
        // It takes an origin for dead that is not there when it starts, and the first request that comes later is refused.
        let _nobody = TcpListener::bind(origin);
        Life::begin(&SQUID, &|dir, address| config(dir, address, origin)).map(Self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// What paths begin with at the origin.
    pub fn inner_prefix(&self) -> &'static str {
        PREFIX
    }
}

/// The file that shows who it is, it serves as the page that tells of a refusal; other such pages are its own. The origin may
/// fail however often, and is asked again.
fn config(dir: &Path, address: SocketAddr, origin: SocketAddr) -> String {
    let (dir, host, port) = (dir.display(), origin.ip(), origin.port());
    // It does not run as root, and wants a name.
    let user = unprivileged().map_or("", |_| "cache_effective_user www-data");
    format!(
        r#"configuration_includes_quoted_values on
cache_log "{dir}/error.log"
coredump_dir "{dir}/tmp"
error_directory "{dir}/root"
configuration_includes_quoted_values off
{user}
pid_filename none
access_log none
netdb_filename none
pinger_enable off
max_filedescriptors 4096
shutdown_lifetime 0 seconds
visible_hostname localhost
http_port {address} accel defaultsite={address}
cache_peer {host} parent {port} 0 no-query originserver no-digest no-netdb-exchange connect-fail-limit=1000000
never_direct allow all
cache deny all
acl ready urlpath_regex ^/ready$
acl forwarded urlpath_regex ^{PREFIX}
deny_info 200:ready ready
http_access deny ready
http_access allow forwarded
http_access deny all
"#
    )
}
