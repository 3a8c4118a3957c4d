//! Real servers to test. Unpublished.
//!
//! | module | what it is |
//! |---|---|
//! | [`nginx`] | starts and stops an nginx of one's own |
//! | [`apache`], [`lighttpd`], [`memcached`], [`rclone`], [`tomcat`], [`wsgidav`] | the same for these |
//! | [`haproxy`], [`nghttpx`], [`squid`], [`varnish`] | the same for these, which are gateways |
//! | [`embedded`] | a small HTTP server inside this process, with bugs to switch on |
//! | [`odd`] | servers inside this process that are correct and odd on purpose |

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
pub mod squid;
pub mod tomcat;
pub mod varnish;
pub mod wsgidav;

pub use life::{ServerError, free_port};
