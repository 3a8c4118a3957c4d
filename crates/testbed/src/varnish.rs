//! A Varnish of one's own: a gateway on a free port of this machine.
//!
//! It keeps no answers: every request is passed on (`return (pass)`). A request for what it does not forward, it answers itself.

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
        // In the foreground, where it still has a child, which it ends with itself; no port for commands. An origin that
        // refused a connection is asked again at once.
        let fixed = ["-F", "-T", "none", "-s", "malloc,64m", "-p", "backend_remote_error_holddown=0"];
        let own = ["-n", &inside("tmp"), "-f", &inside("config")];
        fixed.iter().chain(&own).map(|&argument| argument.to_owned()).collect()
    },
    // Its child writes as somebody else, but it arranges for that itself.
    forks: false,
    serves: true,
};

/// A running Varnish; dropped, it is stopped and its folder removed.
#[derive(Debug)]
pub struct Varnish(Life);

impl Varnish {
    /// Starts one that forwards what is below `/proxy/` to the root of this origin, and waits until it answers. It needs a
    /// second to compile its configuration.
    pub fn forwarding(origin: SocketAddr) -> Result<Self, ServerError> {
        let plan = |dir: &Path, address: SocketAddr| Plan {
            files: vec![("config", config(dir, origin))],
            arguments: vec!["-a".to_owned(), address.to_string()],
        };
        Life::begin_planned(&VARNISH, &plan).map(Self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

/// It has no files to serve: what is in the one that shows who it is, it says by itself.
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
