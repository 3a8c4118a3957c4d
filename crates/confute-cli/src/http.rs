//! `confute http`: an HTTP/1.1 origin server, or a gateway in front of the tester; behind TLS or not.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use confute_drive::{Generator, Replay, Target, Tls, Trust};
use confute_http::encode;
use confute_http::{Exhaust, Http, Reads, Traffic};

use crate::args::{self, Color};
use crate::exit::Exit;
use crate::gateway;
use crate::live::bound::Bound;
use crate::live::secrets::Secrets;
use crate::live::{self, Subject, flags};

/// How many steps a case has.
const STEPS: usize = 300;

pub(crate) fn run(args: &args::Http, color: Color, out: &mut dyn Write) -> Result<Exit> {
    let Place { secure, mut host, address, path } = place(&args.url)?;
    let mut fields = Vec::new();
    for field in &args.header {
        let (name, value) = header(field)?;
        if name.eq_ignore_ascii_case("Host") {
            host = value;
        } else {
            fields.push((name, value));
        }
    }
    let secrets = Secrets::new(fields.iter().map(|(_, value)| &**value));
    let resources = args.path.iter().map(|path| resource(path)).collect::<Result<Vec<_>>>()?;
    let premise = if resources.is_empty() {
        "nobody else writes below this URL"
    } else {
        "nobody changes these resources"
    };
    let mut place = Target::new(flags::address(&address)?);
    if secure {
        place.tls = Some(tls(args, &address)?);
    } else if args.ca.is_some() || args.insecure {
        bail!("--ca and --insecure are about https://; {} is not", args.url);
    }
    let target = encode::Target { host, fields };
    if let Some(origin) = &args.origin {
        return gateway::run(args, origin, (place, &path, target), secrets, color, out);
    }
    let http = Http { target, prefix: path, resources, is_store: args.no_survey, ..Http::default() };
    let subject = Subject {
        model: "http",
        premise,
        shown: &args.url,
        target: place,
        rules: confute_http::rules::RULES,
        secrets,
        bound: None,
    };
    if let Some(requests) = args.exhaustive {
        let all = Exhaust::new(requests.into());
        let bound = Bound { requests: requests.into(), scripts: all.len() };
        let subject = Subject { bound: Some(bound), ..subject };
        let make = |case: u64| -> Box<dyn Generator<Http>> { Box::new(Replay::new(all.script(case))) };
        return live::run(&http, &subject, &args.flags, &make, color, out);
    }
    let make = |case: u64| traffic(&http, case);
    live::run(&http, &subject, &args.flags, &make, color, out)
}

/// How to speak TLS with the host of this address. It is needed until the program ends.
fn tls(args: &args::Http, address: &str) -> Result<&'static Tls> {
    let pem;
    let trust = match &args.ca {
        _ if args.insecure => Trust::Anyone,
        Some(path) => {
            pem = std::fs::read(path).with_context(|| format!("--ca {}: cannot be read", path.display()))?;
            Trust::Only(&pem)
        }
        None => Trust::System,
    };
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let tls = Tls::new(host, trust, &["http/1.1"]).map_err(|why| match &args.ca {
        Some(path) => anyhow!("--ca {}: {why}", path.display()),
        None => anyhow!("{}: {why}; --ca FILE names whom to trust", args.url),
    })?;
    Ok(Box::leak(Box::new(tls)))
}

/// The tester decides about these itself.
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

/// A field of the command line. Its value is not repeated in a complaint: it may be a secret.
fn header(field: &str) -> Result<(String, String)> {
    let Some((name, value)) = field.split_once(':') else {
        bail!("-H: a header field is NAME: VALUE, with a colon");
    };
    let (name, value) = (name.trim(), value.trim());
    let in_name = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(in_name) {
        bail!("-H {name:?}: no field can have this name");
    }
    if !value.chars().all(|c| c == '\t' || c == ' ' || c.is_ascii_graphic()) {
        bail!("-H {name}: its value has characters that cannot be sent");
    }
    if let Some(own) = OWN.iter().find(|own| own.eq_ignore_ascii_case(name)) {
        bail!("-H {own}: the tester decides about this field itself");
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// A path that can be asked for.
fn resource(path: &str) -> Result<Arc<str>> {
    if !path.starts_with('/') {
        bail!("--path {path}: a path begins with a slash and is the whole path, such as /index.html");
    }
    if !path.chars().all(|c| c.is_ascii_graphic() && c != '#') {
        bail!("--path {path}: write what is no letter, digit or sign of a URL as %XX");
    }
    Ok(path.into())
}

/// What to ask in a case. By turns: step by step, and many at once; waiting for 100 takes half a second, so only now and
/// then.
fn traffic(http: &Http, case: u64) -> Box<dyn Generator<Http>> {
    if !http.resources.is_empty() {
        return Box::new(Reads::new(http, STEPS));
    }
    Box::new(Traffic::of_case(http.clone(), STEPS, case))
}

/// Where a URL leads.
struct Place {
    /// Whether TLS is spoken there.
    secure: bool,
    /// The value of `Host`.
    host: String,
    /// Host and port.
    address: String,
    /// The path, which ends in a slash.
    path: String,
}

fn place(url: &str) -> Result<Place> {
    let (secure, rest) = match url.split_once("://") {
        Some(("http", rest)) => (false, rest),
        Some(("https", rest)) => (true, rest),
        Some((scheme, _)) => bail!("{url}: {scheme} is not spoken; a URL begins with http:// or https://"),
        None => bail!("{url}: a URL begins with http:// or https://; did you mean http://{url}?"),
    };
    if rest.contains(['?', '#', ' ', '@']) {
        bail!("{url}: a URL to test has a host, a port and a path, nothing else");
    }
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() {
        bail!("{url}: there is no host in it");
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
        assert!(resource("/a%20b?c").is_ok() && resource("a").is_err() && resource("/a b").is_err());
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
