//! Access to an HTTP server: from a URL, header fields and trust settings to an address and the fields of every
//! request.

use std::path::Path;

use confute_drive::{Target, Tls, Trust};

use crate::kit::{Reach, secrets_of};
use crate::{RunError, Secrets, address};

/// Access to a server: its address and the fields of every request.
pub struct Way {
    /// Address of the server, with TLS settings.
    pub place: Target,
    /// Path that all requests are below. It ends in a slash.
    pub path: String,
    /// The value of `Host`.
    pub host: String,
    /// Additional fields of every request.
    pub fields: Vec<(String, String)>,
    /// Values that must not be shown.
    pub secrets: Secrets,
}

/// Returns the access to the server at this URL.
pub fn way(url: &str, reach: &Reach) -> Result<Way, RunError> {
    let Place { secure, mut host, address: named, path } = place(url)?;
    let mut fields = Vec::new();
    for field in &reach.fields {
        let (name, value) = header(field)?;
        if name.eq_ignore_ascii_case("Host") {
            host = value;
        } else {
            fields.push((name, value));
        }
    }
    let secrets = secrets_of(&fields);
    let mut place = Target::new(address(&named)?);
    if secure {
        place.tls = Some(tls(url, reach, &named)?);
    } else if reach.ca.is_some() || reach.insecure {
        return Err(usage(format!("--ca and --insecure are about https://; {url} is not")));
    }
    Ok(Way { place, path, host, fields, secrets })
}

fn usage(what: String) -> RunError {
    RunError::Usage(what)
}

fn read(path: &Path) -> Result<Vec<u8>, RunError> {
    std::fs::read(path)
        .map_err(|error| RunError::Input(format!("--ca {}: cannot be read: {error}", path.display())))
}

/// Returns the TLS settings for the host of this address. They are leaked, because they are needed until the program
/// ends.
fn tls(url: &str, reach: &Reach, address: &str) -> Result<&'static Tls, RunError> {
    let pem;
    let trust = match &reach.ca {
        _ if reach.insecure => Trust::Anyone,
        Some(path) => {
            pem = read(path)?;
            Trust::Only(&pem)
        }
        None => Trust::System,
    };
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let tls = Tls::new(host, trust, &["http/1.1"]).map_err(|why| match &reach.ca {
        Some(path) => usage(format!("--ca {}: {why}", path.display())),
        None => usage(format!("{url}: {why}; --ca FILE names whom to trust")),
    })?;
    Ok(Box::leak(Box::new(tls)))
}

/// Fields that the tester sets itself.
const OWN: [&str; 14] = [
    "Accept-Encoding",
    "Content-Length",
    "Transfer-Encoding",
    "TE",
    "Trailer",
    "Upgrade",
    "Connection",
    "Expect",
    "Range",
    "If-Range",
    "If-Match",
    "If-None-Match",
    "If-Modified-Since",
    "If-Unmodified-Since",
];

/// Parses a header field of the command line. Its value is not repeated in an error message, because it may be a
/// secret.
fn header(field: &str) -> Result<(String, String), RunError> {
    let Some((name, value)) = field.split_once(':') else {
        return Err(usage("-H: a header field is NAME: VALUE, with a colon".to_owned()));
    };
    let (name, value) = (name.trim(), value.trim());
    let in_name = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(in_name) {
        return Err(usage(format!("-H {name:?}: no field can have this name")));
    }
    if !value.chars().all(|c| c == '\t' || c == ' ' || c.is_ascii_graphic()) {
        return Err(usage(format!("-H {name}: its value has characters that cannot be sent")));
    }
    if let Some(own) = OWN.iter().find(|own| own.eq_ignore_ascii_case(name)) {
        return Err(usage(format!("-H {own}: the tester decides about this field itself")));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// The parts of a URL.
struct Place {
    /// `true` if the scheme is https.
    secure: bool,
    /// The value of `Host`.
    host: String,
    /// Host and port.
    address: String,
    /// The path, which ends in a slash.
    path: String,
}

fn place(url: &str) -> Result<Place, RunError> {
    let (secure, rest) = match url.split_once("://") {
        Some(("http", rest)) => (false, rest),
        Some(("https", rest)) => (true, rest),
        Some((scheme, _)) => {
            return Err(usage(format!(
                "{url}: {scheme} is not spoken; a URL begins with http:// or https://"
            )));
        }
        None => {
            return Err(usage(format!(
                "{url}: a URL begins with http:// or https://; did you mean http://{url}?"
            )));
        }
    };
    if rest.contains(['?', '#', ' ', '@']) {
        return Err(usage(format!("{url}: a URL to test has a host, a port and a path, nothing else")));
    }
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() {
        return Err(usage(format!("{url}: there is no host in it")));
    }
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    let address =
        if has_port { host.to_owned() } else { format!("{host}:{}", if secure { 443 } else { 80 }) };
    let path = if path.is_empty() { "/".to_owned() } else { format!("/{}/", path.trim_matches('/')) };
    Ok(Place { secure, host: host.to_owned(), address, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        assert_eq!(header("X-A:  b c ").unwrap(), ("X-A".to_owned(), "b c".to_owned()));
        for wrong in ["X-A", ": b", "X A: b", "X-A: a\r\nB: c", "content-length: 5", "If-Match: *"] {
            let complaint = header(wrong).unwrap_err().to_string();
            assert!(!complaint.contains("\r\nB"), "{complaint}");
        }
    }

    #[test]
    fn urls() {
        let read = |url| place(url).map(|place| (place.host, place.address, place.path)).ok();
        let some = |host: &str, address: &str, path: &str| {
            Some((host.to_owned(), address.to_owned(), path.to_owned()))
        };
        assert_eq!(read("http://a"), some("a", "a:80", "/"));
        assert_eq!(read("http://a:81/x/y"), some("a:81", "a:81", "/x/y/"));
        assert_eq!(read("http://[::1]/"), some("[::1]", "[::1]:80", "/"));
        assert_eq!(read("https://a/b"), some("a", "a:443", "/b/"));
        assert_eq!(read("https://a:8443"), some("a:8443", "a:8443", "/"));
        for wrong in ["a", "ftp://a", "http://", "http://a/?b", "http://u@a/"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
