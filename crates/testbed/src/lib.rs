//! Real servers to test. Unpublished.
//!
//! | module | what it is |
//! |---|---|
//! | [`nginx`] | starts and stops an nginx of one's own |
//! | [`apache`], [`lighttpd`], [`memcached`] | the same for these |
//! | [`embedded`] | a small HTTP server inside this process, with bugs to switch on |

pub mod apache;
pub mod embedded;
mod life;
pub mod lighttpd;
pub mod memcached;
pub mod nginx;

pub use life::{ServerError, free_port};
