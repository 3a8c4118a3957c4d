//! Private Varnish: a gateway on a free port of the loopback interface.
//!
//! Varnish caches nothing here: every request is passed (`return (pass)`). It responds itself to requests that it
//! does not forward.

use std::net::SocketAddr;
use std::path::Path;

use crate::life::{Life, Plan, Recipe, ServerError};

const VARNISH: Recipe<'static> = Recipe {
    name: "varnish",
    packages: "varnish",
    program: "/usr/sbin/varnishd",
    module: "/usr/sbin/varnishd",
    arguments: |dir| {
        let inside = |part: &str| dir.join(part).display().to_string();
        // `-F`: in the foreground, where it still has a child process, which it stops with itself. `-T none`: no
        // management port. `backend_remote_error_holddown=0`: an origin that refused a connection is retried at once.
        let fixed = ["-F", "-T", "none", "-s", "malloc,64m", "-p", "backend_remote_error_holddown=0"];
        let own = ["-n", &inside("tmp"), "-f", &inside("config")];
        fixed.iter().chain(&own).map(|&argument| argument.to_owned()).collect()
    },
    // The child writes as another user, but Varnish sets the permissions itself.
    forks: false,
    serves: true,
};

/// A running Varnish. Dropping it stops the server and removes its directory.
#[derive(Debug)]
pub struct Varnish(Life);

impl Varnish {
    /// Starts a Varnish that forwards paths below `/proxy/` to the root of this origin, and waits until it responds.
    /// Compiling the configuration takes a second.
    pub fn forwarding(origin: SocketAddr) -> Result<Self, ServerError> {
        let plan = |dir: &Path, address: SocketAddr| Plan {
            files: vec![("config", config(dir, origin))],
            arguments: vec!["-a".to_owned(), address.to_string()],
        };
        Life::begin_planned(&VARNISH, &plan).map(Self)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

/// Returns the configuration. Varnish serves no files, so the content of `/ready`, which identifies the server, is
/// part of the configuration.
fn config(dir: &Path, origin: SocketAddr) -> String {
    let (dir, host, port) = (dir.display(), origin.ip(), origin.port());
    format!(
        r#"vcl 4.1;
backend origin {{
    .host = "{host}";
    .port = "{port}";
}}
sub vcl_recv {{
    if (req.url == "/ready") {{
        return (synth(200));
    }}
    if (req.url !~ "^/proxy/") {{
        return (synth(404));
    }}
    set req.url = regsub(req.url, "^/proxy", "");
    return (pass);
}}
sub vcl_synth {{
    if (req.url == "/ready") {{
        set resp.body = "{dir}";
        return (deliver);
    }}
}}
"#
    )
}
