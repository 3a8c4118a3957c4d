//! Runs a real server until its standard input ends: `cargo run -p confute-testbed --example real -- apache`.

#![allow(clippy::print_stdout, reason = "it says where it listens")]

use std::error::Error;
use std::net::SocketAddr;

use confute_testbed::apache::Apache;
use confute_testbed::lighttpd::Lighttpd;
use confute_testbed::nginx::Nginx;

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("apache") => {
            let server = Apache::start()?;
            serve(server.address())
        }
        Some("lighttpd") => {
            let server = Lighttpd::start()?;
            serve(server.address())
        }
        Some("nginx") => {
            let server = Nginx::start()?;
            serve(server.address())
        }
        _ => Err("which? apache, lighttpd or nginx".into()),
    }
}

fn serve(address: SocketAddr) -> Result<(), Box<dyn Error>> {
    println!("http://{address}/");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}
