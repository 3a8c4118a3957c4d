//! Real servers to test, and what it takes to test them until the real driver is there. Unpublished.
//!
//! | module | what it is |
//! |---|---|
//! | [`nginx`] | starts and stops an nginx of one's own |
//! | [`apache`], [`lighttpd`], [`memcached`] | the same for these |
//! | [`embedded`] | a small HTTP server inside this process, with bugs to switch on |
//! | [`http`] | just enough HTTP/1.1 to carry the messages of the conditional store |
//! | [`traffic`] | which requests to send |
//! | [`driver`] | eight connections, one thread, one total order of observations |
//!
//! The servers are here to stay. The others are a **stopgap**: they show that a derived tester refutes a real server, and
//! give way to a driver with scripts and timing, and to a lossless HTTP reader.

pub mod apache;
pub mod driver;
pub mod embedded;
pub mod http;
mod life;
pub mod lighttpd;
mod line;
pub mod memcached;
pub mod nginx;
pub mod traffic;

pub use life::ServerError;
