//! Servers to run the tester against. Unpublished.
//!
//! | module | contents |
//! |---|---|
//! | [`nginx`] | starts and stops a private nginx |
//! | [`apache`], [`lighttpd`], [`memcached`], [`rclone`], [`tomcat`], [`wsgidav`] | likewise for these servers |
//! | [`haproxy`], [`nghttpx`], [`squid`], [`varnish`] | likewise for these gateways |
//! | [`redis`] | Redis, and a proxy in front of it with faults to switch on |
//! | [`rest`] | REST services on `FastAPI`, Django, flask-smorest, Kinto and json-server |
//! | [`swap`] | a swap server in C, with bugs chosen when it is compiled |
//! | [`embedded`] | a small HTTP server inside this process, with bugs to switch on |
//! | [`odd`] | servers inside this process that are correct but deliberately unusual |

pub mod apache;
pub mod embedded;
pub mod haproxy;
mod life;
pub mod lighttpd;
pub mod memcached;
pub mod nghttpx;
pub mod nginx;
pub mod odd;
pub mod rclone;
pub mod redis;
pub mod rest;
pub mod squid;
pub mod swap;
pub mod tomcat;
pub mod varnish;
pub mod wsgidav;

pub use life::{ServerError, free_port};
