//! An nginx of one's own: a DAV store in a temporary folder, or a gateway, on a free port of this machine.
//!
//! It is one process (no master, one worker), so that its requests are handled one after the other and it can be
//! stopped by its own id. With several workers two concurrent puts may both be told that they created the file.

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

/// A running nginx; dropped, it is stopped and its folder removed.
#[derive(Debug)]
pub struct Nginx(Life);

impl Nginx {
    /// Starts one, and waits until it answers.
    pub fn start() -> Result<Self, ServerError> {
        Self::with("location / { dav_methods PUT DELETE; create_full_put_path on; }")
    }

    /// Starts one that forwards what is below `/plain/` to the root of this origin, as it does by default, and what is below
    /// `/kept/` over connections that it keeps.
    pub fn gateway(origin: SocketAddr) -> Result<Self, ServerError> {
        Self::with(&format!(
            "location /plain/ {{ proxy_pass http://{origin}/; }}
             location /kept/ {{ proxy_pass http://kept/; proxy_http_version 1.1; proxy_set_header Connection ''; }}
             }} upstream kept {{ server {origin}; keepalive 16;"
        ))
    }

    /// Starts one with these lines for its server.
    fn with(lines: &str) -> Result<Self, ServerError> {
        Life::begin(&NGINX, &|dir, address| config(dir, address, lines)).map(Self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
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
