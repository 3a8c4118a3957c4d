//! Addresses of servers, and the guard against writing to one by mistake.

use std::net::{SocketAddr, ToSocketAddrs as _};

use crate::RunError;

/// Returns the address of `HOST:PORT`.
pub fn address(place: &str) -> Result<SocketAddr, RunError> {
    let unknown = |why: String| RunError::Usage(format!("cannot find {place}: {why}"));
    let mut found = place.to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
    found.next().ok_or_else(|| unknown("it has no address".to_owned()))
}

/// Refuses a server on another machine, because it would be written to, unless the user confirms that with
/// `flag`.
pub fn guard(address: SocketAddr, is_meant: bool, flag: &str) -> Result<(), RunError> {
    if is_meant || address.ip().is_loopback() {
        return Ok(());
    }
    Err(RunError::Usage(format!(
        "{address} is not on this machine, and the tester would write to it; pass {flag} to allow that"
    )))
}
