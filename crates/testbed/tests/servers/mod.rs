//! Helpers shared by the tests of real servers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use confute_testbed::ServerError;

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Returns the running server, or `None` if it is not installed. Under CI a missing server is a failure.
pub(crate) fn running<T>(started: Result<T, ServerError>) -> Option<T> {
    match started {
        Ok(server) => Some(server),
        Err(error @ ServerError::NotInstalled { .. }) => {
            assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "{error}, and this is CI");
            println!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Sends one GET and returns the complete response.
pub(crate) fn get(server: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Returns `true` if a directory or shared memory of such a server, started by this process, still exists.
pub(crate) fn is_left(name: &str) -> bool {
    let own = format!("confute-{name}-{}-", std::process::id());
    [&std::env::temp_dir(), Path::new("/dev/shm")].iter().any(|folder| {
        let Ok(mut entries) = folder.read_dir() else { return false };
        entries.any(|entry| {
            let entry = entry.unwrap().file_name();
            // The name of Squid's shared memory has x in place of other characters than letters and digits.
            [own.clone(), own.replace('-', "x")].iter().any(|own| entry.to_string_lossy().starts_with(own))
        })
    })
}

pub(crate) fn is_gone(server: SocketAddr, name: &str) -> bool {
    TcpStream::connect(server).is_err() && !is_left(name)
}
