//! `confute http`: an HTTP/1.1 origin server, or a gateway in front of the tester.

use std::io::Write;

use anyhow::{Result, bail};
use confute_drive::{Generator, Limits, Target};
use confute_http::encode;
use confute_http::proxy::{Passage, Proxy, rules};
use confute_http::{Http, Traffic};

use crate::args::{self, Color};
use crate::exit::Exit;
use crate::live::{self, Subject, flags};

/// How many steps a case has.
const STEPS: usize = 300;

/// How many requests a case has that go through a gateway (to find the broken rule takes time with the square of it),
const REQUESTS: usize = 30;
/// and how many of them are outstanding at most: every way in which they can overtake each other is a hypothesis.
const MOST: usize = 4;
/// How many cases are without any of that.
const FIRST: u64 = 4;

pub(crate) fn run(args: &args::Http, color: Color, out: &mut dyn Write) -> Result<Exit> {
    let Place { host, address, path } = place(&args.url)?;
    let mut fields = Vec::new();
    for field in &args.header {
        match field.split_once(':') {
            Some((name, value)) => fields.push((name.trim().to_owned(), value.trim().to_owned())),
            None => bail!("-H {field}: a header field is NAME: VALUE"),
        }
    }
    let target = encode::Target { host, fields };
    if let Some(origin) = &args.origin {
        return gateway(args, origin, (&address, &path, target), color, out);
    }
    let http = Http { target, prefix: path, ..Http::default() };
    let subject = Subject {
        model: "http",
        premise: "nobody else writes below this URL",
        shown: &args.url,
        target: Target::new(flags::address(&address)?),
    };
    let make =
        |case: u64| -> Box<dyn Generator<Http>> { Box::new(Traffic::of_case(http.clone(), STEPS, case)) };
    live::run(&http, &subject, &args.flags, &make, color, out)
}

fn gateway(
    args: &args::Http,
    origin: &str,
    (address, path, target): (&str, &str, encode::Target),
    color: Color,
    out: &mut dyn Write,
) -> Result<Exit> {
    let origin = flags::address(origin)?;
    if origin.port() == 0 {
        bail!("--origin {origin}: the server has to know the port, so it cannot be any");
    }
    let place = Target { address: flags::address(address)?, listen: Some(origin) };
    // Before anything is sent.
    args.flags.plan(place, rules::ALL)?;
    let premise = format!("what is below this URL is forwarded to {origin}, and nobody else talks to that");
    let subject = Subject { model: "http-gateway", premise: &premise, shown: &args.url, target: place };
    let limits = Limits { patience: args.flags.patience, ..Limits::default() };
    let proxy = match (args.forward, path) {
        (false, _) => Proxy::new(target, path, origin, path),
        (true, "/") => Proxy::forward(target, origin),
        (true, _) => bail!("--forward: of a proxy there is only the address to say, not the path {path}"),
    };
    let proxy = proxy.discovered(place.address, &limits);
    let make = |case: u64| -> Box<dyn Generator<Proxy>> {
        // First one after the other: what is found like that is told best.
        let most = if case < FIRST { 1 } else { 1 + case as usize % MOST };
        Box::new(Passage::new(REQUESTS, most))
    };
    live::run(&proxy, &subject, &args.flags, &make, color, out)
}

/// Where a URL leads.
struct Place {
    /// The value of `Host`.
    host: String,
    /// Host and port.
    address: String,
    /// The path, which ends in a slash.
    path: String,
}

fn place(url: &str) -> Result<Place> {
    let Some(rest) = url.strip_prefix("http://") else {
        match url.split_once("://") {
            Some(("https", _)) => {
                bail!("{url}: https is not spoken yet; test the server behind it over http")
            }
            Some((scheme, _)) => bail!("{url}: {scheme} is not spoken; a URL begins with http://"),
            None => bail!("{url}: a URL begins with http://; did you mean http://{url}?"),
        }
    };
    if rest.contains(['?', '#', ' ', '@']) {
        bail!("{url}: a URL to test has a host, a port and a path, nothing else");
    }
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() {
        bail!("{url}: there is no host in it");
    }
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    let address = if has_port { host.to_owned() } else { format!("{host}:80") };
    let path = if path.is_empty() { "/".to_owned() } else { format!("/{}/", path.trim_matches('/')) };
    Ok(Place { host: host.to_owned(), address, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let read = |url| place(url).map(|place| (place.host, place.address, place.path)).ok();
        let some = |host: &str, address: &str, path: &str| {
            Some((host.to_owned(), address.to_owned(), path.to_owned()))
        };
        assert_eq!(read("http://a"), some("a", "a:80", "/"));
        assert_eq!(read("http://a:81/x/y"), some("a:81", "a:81", "/x/y/"));
        assert_eq!(read("http://[::1]/"), some("[::1]", "[::1]:80", "/"));
        for wrong in ["a", "https://a", "ftp://a", "http://", "http://a/?b", "http://u@a/"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
