//! Runs a real server until its standard input ends: `cargo run -p confute-testbed --example real -- apache`. With an
//! address, as in `haproxy 127.0.0.1:9090`, the server is a gateway to the origin at that address.

#![allow(clippy::print_stdout, reason = "it says where it listens")]

use std::error::Error;
use std::net::SocketAddr;

use confute_testbed::apache::Apache;
use confute_testbed::haproxy::Haproxy;
use confute_testbed::lighttpd::Lighttpd;
use confute_testbed::nghttpx::Nghttpx;
use confute_testbed::nginx::Nginx;
use confute_testbed::rclone::Rclone;
use confute_testbed::rest::{RestServer, Service};
use confute_testbed::squid::Squid;
use confute_testbed::tomcat::Tomcat;
use confute_testbed::varnish::Varnish;
use confute_testbed::wsgidav::Wsgidav;

const USAGE: &str = "which? apache, lighttpd, nginx, rclone, tomcat or wsgidav; fastapi, django, smorest, kinto or json-server; \
    with ORIGIN (HOST:PORT): apache, haproxy, nghttpx, nginx, squid or varnish";

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1);
    let origin = std::env::args().nth(2).map(|origin| origin.parse()).transpose()?;
    match (name.as_deref(), origin) {
        (Some("apache"), None) => {
            let server = Apache::start()?;
            serve(server.address(), &["/"])
        }
        (Some("apache"), Some(origin)) => {
            let server = Apache::forwarding(origin)?;
            serve(server.address(), &["/", "/proxy/"])
        }
        (Some("haproxy"), Some(origin)) => {
            let server = Haproxy::forwarding(origin)?;
            serve(server.address(), &["/proxy/"])
        }
        (Some("lighttpd"), None) => {
            let server = Lighttpd::start()?;
            serve(server.address(), &["/"])
        }
        (Some("nghttpx"), Some(origin)) => {
            let server = Nghttpx::forwarding(origin)?;
            serve(server.address(), &["/"])
        }
        (Some("nginx"), None) => {
            let server = Nginx::start()?;
            serve(server.address(), &["/"])
        }
        (Some("nginx"), Some(origin)) => {
            let server = Nginx::gateway(origin)?;
            serve(server.address(), &["/plain/", "/kept/"])
        }
        (Some("rclone"), None) => {
            let server = Rclone::start()?;
            serve(server.address(), &["/"])
        }
        (Some("squid"), Some(origin)) => {
            let server = Squid::forwarding(origin)?;
            serve(server.address(), &["/proxy/"])
        }
        (Some("tomcat"), None) => {
            let server = Tomcat::start()?;
            serve(server.address(), &["/"])
        }
        (Some("varnish"), Some(origin)) => {
            let server = Varnish::forwarding(origin)?;
            serve(server.address(), &["/proxy/"])
        }
        (Some("wsgidav"), None) => {
            let server = Wsgidav::start()?;
            serve(server.address(), &["/"])
        }
        (Some(name), None) => {
            let service = Service::ALL.into_iter().find(|service| service.name() == name).ok_or(USAGE)?;
            let server = RestServer::start(service)?;
            serve(server.address(), &["/"])
        }
        _ => Err(USAGE.into()),
    }
}

fn serve(address: SocketAddr, paths: &[&str]) -> Result<(), Box<dyn Error>> {
    paths.iter().for_each(|path| println!("http://{address}{path}"));
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}
