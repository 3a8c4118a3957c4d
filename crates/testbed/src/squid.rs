//! Private Squid: a gateway (an accelerator, in Squid's terms) on a free port of the loopback interface.
//!
//! Squid caches nothing here. It cannot remove a prefix from a path, so a path below `/proxy/` is below `/proxy/` at
//! the origin too.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use crate::life::{Life, Recipe, ServerError, unprivileged};

const SQUID: Recipe<'static> = Recipe {
    name: "squid",
    packages: "squid",
    program: "/usr/sbin/squid",
    module: "/usr/sbin/squid",
    arguments: |dir| {
        // `-N`: one process, in the foreground. `-n`: its shared memory is named after the service, whose name may
        // contain only letters and digits.
        let service = dir.file_name().unwrap_or_default().to_string_lossy().replace('-', "x");
        ["-N", "-n", &service, "-f", &dir.join("config").display().to_string()].map(str::to_owned).to_vec()
    },
    forks: true,
    serves: true,
};

/// Prefix of the forwarded paths.
const PREFIX: &str = "/proxy/";

/// A running Squid. Dropping it stops the server, which takes a second, and removes its directory.
#[derive(Debug)]
pub struct Squid(Life);

impl Squid {
    /// Starts a Squid that forwards paths below `/proxy/` to this origin, with the path
    /// [unchanged](Self::inner_prefix), and waits until it responds.
    pub fn forwarding(origin: SocketAddr) -> Result<Self, ServerError> {
        // Squid marks an origin that does not listen when Squid starts as dead, and refuses the first request after
        // that.
        let _nobody = TcpListener::bind(origin);
        Life::begin(&SQUID, &|dir, address| config(dir, address, origin)).map(Self)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// Returns the prefix of forwarded paths at the origin.
    pub fn inner_prefix(&self) -> &'static str {
        PREFIX
    }
}

/// Returns the configuration. The file that identifies the server is served as the error page of a refusal; other
/// error pages are Squid's own. However often the origin fails, it is retried.
fn config(dir: &Path, address: SocketAddr, origin: SocketAddr) -> String {
    let (dir, host, port) = (dir.display(), origin.ip(), origin.port());
    // Squid must not serve as root, and the option takes a user name.
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
