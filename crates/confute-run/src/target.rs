//! Where servers are, and the guard against writing to one by mistake.

use std::net::{SocketAddr, ToSocketAddrs as _};

use crate::RunError;

/// The address of `HOST:PORT`.
pub fn address(place: &str) -> Result<SocketAddr, RunError> {
    let unknown = |why: String| RunError::Usage(format!("cannot find {place}: {why}"));
    let mut found = place.to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    found.next().ok_or_else(|| unknown("it has no address".to_owned()))
}

/// Refuses a server on another machine unless that is meant: it would be written to. `flag` is how the user says so.
pub fn guard(address: SocketAddr, is_meant: bool, flag: &str) -> Result<(), RunError> {
    if is_meant || address.ip().is_loopback() {
        return Ok(());
    }
    Err(RunError::Usage(format!(
        "{address} is not on this machine, and it would be written to; say {flag} if that is meant"
    )))
}
