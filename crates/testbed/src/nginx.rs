//! Private nginx: a DAV store in a temporary directory, or a gateway, on a free port of the loopback interface.
//!
//! nginx runs as one process (no master, one worker), so that requests are handled one after the other and the server
//! can be stopped by its process id. With several workers two concurrent PUTs may both get 201 Created.

use std::net::SocketAddr;
use std::path::Path;

use crate::life::{Life, Recipe, ServerError};

const NGINX: Recipe<'static> = Recipe {
    name: "nginx",
    packages: "nginx-extras",
    program: "/usr/sbin/nginx",
    module: "/usr/sbin/nginx",
    arguments: |dir| {
        let dir = dir.display();
        ["-p", &format!("{dir}"), "-c", &format!("{dir}/config"), "-e", &format!("{dir}/error.log")]
            .map(str::to_owned)
            .to_vec()
    },
    forks: false,
    serves: true,
};

/// A running nginx. Dropping it stops the server and removes its directory.
#[derive(Debug)]
pub struct Nginx(Life);

impl Nginx {
    /// Starts an nginx as a DAV store and waits until it responds.
    pub fn start() -> Result<Self, ServerError> {
        Self::with("location / { dav_methods PUT DELETE; create_full_put_path on; }")
    }

    /// Starts an nginx that forwards to the root of this origin: paths below `/plain/` with the default settings,
    /// paths below `/kept/` over persistent connections.
    pub fn gateway(origin: SocketAddr) -> Result<Self, ServerError> {
        Self::with(&format!(
            "location /plain/ {{ proxy_pass http://{origin}/; }}
             location /kept/ {{ proxy_pass http://kept/; proxy_http_version 1.1; proxy_set_header Connection ''; }}
             }} upstream kept {{ server {origin}; keepalive 16;"
        ))
    }

    /// Starts an nginx with these lines in its `server` block.
    fn with(lines: &str) -> Result<Self, ServerError> {
        Life::begin(&NGINX, &|dir, address| config(dir, address, lines)).map(Self)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

/// Returns the configuration. The server runs as the user that started it (`user` only concerns a master process).
/// Temporary files are on the same file system as the root, so that a PUT ends in a rename and is atomic.
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
