//! Private lighttpd: `mod_webdav` over a temporary directory, on a free port of the loopback interface.
//!
//! lighttpd is one process, which handles requests one after the other.

use std::net::SocketAddr;
use std::path::Path;

use crate::life::{Life, Recipe, ServerError};

const LIGHTTPD: Recipe<'static> = Recipe {
    name: "lighttpd",
    packages: "lighttpd lighttpd-mod-webdav",
    program: "/usr/sbin/lighttpd",
    module: "/usr/lib/lighttpd/mod_webdav.so",
    arguments: |dir| vec!["-D".to_owned(), "-f".to_owned(), dir.join("config").display().to_string()],
    forks: false,
    serves: true,
};

/// A running lighttpd. Dropping it stops the server and removes its directory.
#[derive(Debug)]
pub struct Lighttpd(Life);

impl Lighttpd {
    /// Starts a lighttpd and waits until it responds.
    pub fn start() -> Result<Self, ServerError> {
        Life::begin(&LIGHTTPD, &config).map(Self)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

fn config(dir: &Path, address: SocketAddr) -> String {
    let (dir, port) = (dir.display(), address.port());
    format!(
        r#"server.bind = "127.0.0.1"
server.port = {port}
server.document-root = "{dir}/root"
server.errorlog = "{dir}/error.log"
server.upload-dirs = ( "{dir}/tmp" )
server.modules = ( "mod_webdav" )
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = 3600
mimetype.assign = ( "" => "text/plain" )
webdav.activate = "enable"
webdav.is-readonly = "disable"
"#
    )
}
