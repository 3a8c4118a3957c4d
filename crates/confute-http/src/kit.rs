//! The HTTP kit: origin servers, gateways and forward proxies, and servers that are origin and gateway at once.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use confute_drive::{AnyGenerator, Limits, Replay, Target};
use confute_record::BoundRecord;
use confute_run::kit::{ReachArguments, Run, Stored, setting};
use confute_run::{Book, Explanation, Kit, RunError, Secrets, Subject, address};
use serde_json::{Value, json};

use crate::dual::{Dual, Mixture};
use crate::proxy::{self, Passage, Proxy};
use crate::way::{Way, way};
use crate::{Exhaust, Http, Reads, Traffic, encode, rules};

/// How many steps a case has.
const STEPS: usize = 300;
/// The address of a server that nobody talks to.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The kit for HTTP/1.1 servers.
#[derive(Clone, Copy, Debug)]
pub struct HttpKit;

const ABOUT: &str = "Test an HTTP/1.1 server: an origin, a gateway in front of one, or both";

const LONG_ABOUT: &str = "\
Test an HTTP/1.1 server: an origin, a gateway in front of one, or both.

Puts, gets and deletes resources below the URL, over many connections, and refutes the server when no server that keeps \
to RFC 9110 and 9112 could have answered so. Each case uses names that were never used before. Rules have levels: must \
(the standard demands it), store (what a store with one copy does), should (recommended: a warning unless --strict). \
The premise is that nobody else writes below the URL, and that PUT is allowed there.";

const EXAMPLES: &str = "\
Examples:
  confute http http://127.0.0.1:8080/
  confute http http://127.0.0.1:8080/dav --max-time 5m --workers 2
  confute http http://127.0.0.1:8080/ --allow store/one-winner --strict
  confute http http://127.0.0.1:8080/ --report-dir found --format json
  confute http http://127.0.0.1:8080/ --exhaustive 2    every script of up to two requests
  confute http http://127.0.0.1:8080/proxy/ --origin 127.0.0.1:9090    a gateway
  confute http http://127.0.0.1:8080/ --origin 127.0.0.1:9090 --proxy-path /proxy/    both at once
  confute http http://127.0.0.1:3128/ --origin 127.0.0.1:9090 --forward    a proxy
  confute http http://127.0.0.1:8080/ --path /index.html     a server that can only be read
  confute http https://127.0.0.1:8443/ --ca ca.pem -H 'Authorization: Bearer …'

Exit codes: 0 unrefuted, 1 refuted, 2 wrong usage, 3 inconclusive or nothing was tested.";

/// The arguments of `confute http`.
#[derive(Clone, Debug, Default, clap::Args)]
struct Arguments {
    /// Below which URL to test: `http://HOST[:PORT][/PATH]`, or https://.
    #[arg(value_name = "URL")]
    url: String,
    /// The server is a gateway (a reverse proxy), and the tester is its client and its origin: it listens here, HOST:PORT.
    /// The server has to forward what is below the URL to this address.
    #[arg(long, value_name = "ADDR")]
    origin: Option<String>,
    /// The server is a proxy that clients choose (a forward proxy): requests name the origin in full.
    #[arg(long, requires = "origin")]
    forward: bool,
    /// The server is both: an origin below the URL, and a gateway that forwards what is below this path to --origin. Both
    /// are tested in one run, on the same connections.
    #[arg(long, value_name = "PATH", requires = "origin", conflicts_with_all = ["forward", "path"], value_parser = proxy_path)]
    proxy_path: Option<String>,
    /// Only read this resource, which exists and which nobody changes; can be given several times. Nothing is written then.
    #[arg(long, value_name = "PATH")]
    path: Vec<String>,
    /// Try every script of up to N requests, the smallest first: GET, HEAD, PUT and DELETE of two resources, with If-Match or
    /// If-None-Match or without, one after the other and two at a time. Exit code 0 only if all of them ran.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u8).range(1..=5),
        conflicts_with_all = ["path", "origin", "cases", "connections"]
    )]
    exhaustive: Option<u8>,
    /// Don't find out first what the server takes: it is a store that takes GET, HEAD, PUT and DELETE below the URL, and is
    /// refuted if it refuses a request.
    #[arg(long, conflicts_with = "path")]
    no_survey: bool,
    #[command(flatten)]
    reach: ReachArguments,
}

impl Kit for HttpKit {
    fn name(&self) -> &'static str {
        "http"
    }

    fn books(&self) -> Vec<Book> {
        vec![
            Book {
                name: "http",
                summary: "An HTTP/1.1 origin server, after RFC 9110 and 9112.",
                rules: rules::RULES,
                command: "confute http URL",
            },
            Book {
                name: "http-gateway",
                summary: "An HTTP/1.1 gateway (a reverse proxy), after RFC 9110, 9111 and 9112.",
                rules: proxy::rules::ALL,
                command: "confute http URL --origin ADDR",
            },
        ]
    }

    fn explain(&self, rule: &str) -> Option<Explanation> {
        rules::explain(rule).map(|more| Explanation { clause: more.clause, text: more.text })
    }

    fn example(&self) -> Option<(&'static str, &'static str)> {
        Some(("confute http http://127.0.0.1:8080/", "test an HTTP server"))
    }

    fn command(&self, command: Command) -> Option<Command> {
        // In this order: the arguments bring a description of their own.
        let command = Arguments::augment_args(command);
        Some(command.about(ABOUT).long_about(LONG_ABOUT).after_help(EXAMPLES))
    }

    fn open(&self, arguments: &ArgMatches, run: &Run<'_>) -> Result<Subject, RunError> {
        let arguments =
            Arguments::from_arg_matches(arguments).map_err(|error| RunError::Usage(error.to_string()))?;
        open(&arguments, run)
    }

    fn reopen(&self, stored: &Stored<'_>) -> Option<Result<Subject, RunError>> {
        match stored.model {
            "http" => Some(stored_origin(stored)),
            "http-gateway" => Some(stored_gateway(stored)),
            "http-dual" => Some(stored_dual(stored)),
            _ => None,
        }
    }
}

/// The HTTP/1.1 origin server below this URL. It is written to.
pub fn origin(url: &str, reach: &confute_run::kit::Reach) -> Result<Subject, RunError> {
    let way = way(url, reach)?;
    Ok(origin_subject(url, way, Vec::new(), false))
}

fn open(arguments: &Arguments, run: &Run<'_>) -> Result<Subject, RunError> {
    let url = &*arguments.url;
    let way = way(url, &arguments.reach.reach())?;
    if let Some(origin) = &arguments.origin {
        return open_gateway(arguments, origin, way, run);
    }
    let resources = arguments.path.iter().map(|path| resource(path)).collect::<Result<Vec<_>, _>>()?;
    let subject = origin_subject(url, way, resources, arguments.no_survey);
    let Some(requests) = arguments.exhaustive else { return Ok(subject) };
    let all = Exhaust::new(requests.into());
    let bound = BoundRecord { requests: requests.into(), scripts: all.len() };
    let traffic = move |case: u64| AnyGenerator::new::<Http>(Replay::new(all.script(case)));
    Ok(Subject { bound: Some(bound), traffic: Box::new(traffic), ..subject })
}

fn origin_subject(shown: &str, way: Way, resources: Vec<Arc<str>>, is_store: bool) -> Subject {
    let premise = if resources.is_empty() {
        "nobody else writes below this URL"
    } else {
        "nobody changes these resources"
    };
    let settings = json!({ "resources": resources, "is_store": is_store });
    let http = Http { target: way.target, prefix: way.path, resources, is_store, ..Http::default() };
    let asked = http.clone();
    let traffic = move |case: u64| {
        if asked.resources.is_empty() {
            AnyGenerator::new(Traffic::of_case(asked.clone(), STEPS, case))
        } else {
            AnyGenerator::new(Reads::new(&asked, STEPS))
        }
    };
    shipped(Subject::new("http", http, way.place, traffic), shown, premise, settings, way.secrets)
}

fn open_gateway(arguments: &Arguments, origin: &str, way: Way, run: &Run<'_>) -> Result<Subject, RunError> {
    let origin = address(origin)?;
    if origin.port() == 0 {
        return Err(RunError::Usage(format!(
            "--origin {origin}: it needs a fixed port: the gateway must be configured to forward to it"
        )));
    }
    let way = Way { place: Target { listen: Some(origin), ..way.place }, ..way };
    // Before anything is sent.
    (run.guard)(way.place.address)?;
    let shown = &*arguments.url;
    if let Some(proxy_path) = &arguments.proxy_path {
        let written = format!("{}{}", way.path, run.prefix);
        if written.starts_with(proxy_path) {
            return Err(RunError::Usage(format!(
                "--proxy-path {proxy_path}: what is tested as served by the server itself would begin with {written}, and \
                 so be forwarded; give a URL (or --prefix) that is not below {proxy_path}"
            )));
        }
        let proxy = Proxy::new(way.target.clone(), proxy_path, origin, proxy_path)
            .discovered(way.place, &limits(run.patience));
        return Ok(dual_subject(shown, way, proxy, proxy_path, arguments.no_survey));
    }
    let proxy = match (arguments.forward, &*way.path) {
        (false, path) => Proxy::new(way.target.clone(), path, origin, path),
        (true, "/") => Proxy::forward(way.target.clone(), origin),
        (true, path) => {
            return Err(RunError::Usage(format!(
                "--forward: of a proxy there is only the address to say, not the path {path}"
            )));
        }
    };
    let proxy = proxy.discovered(way.place, &limits(run.patience));
    Ok(gateway_subject(shown, way, proxy, arguments.forward))
}

fn gateway_subject(shown: &str, way: Way, proxy: Proxy, is_forward: bool) -> Subject {
    let origin = proxy.origin;
    let premise = format!("what is below this URL is forwarded to {origin}, and nobody else talks to that");
    let settings = json!({ "origin": origin, "forward": is_forward, "mapping": proxy.model.mapping });
    let traffic = |case: u64| AnyGenerator::new(Passage::of_case(case));
    shipped(Subject::new("http-gateway", proxy, way.place, traffic), shown, &premise, settings, way.secrets)
}

fn dual_subject(shown: &str, way: Way, proxy: Proxy, proxy_path: &str, is_store: bool) -> Subject {
    let origin = proxy.origin;
    let premise = format!(
        "nobody else writes below this URL; what is below {proxy_path} is forwarded to {origin}, and nobody else talks to that"
    );
    let mapping = &proxy.model.mapping;
    let settings =
        json!({ "origin": origin, "proxy_path": proxy_path, "mapping": mapping, "is_store": is_store });
    let http = Http { target: way.target, prefix: way.path, is_store, ..Http::default() };
    let asked = http.clone();
    let traffic = move |case: u64| AnyGenerator::new(Mixture::of_case(asked.clone(), case));
    let subject = Subject::new("http-dual", Dual::new(http, proxy), way.place, traffic);
    shipped(subject, shown, &premise, settings, way.secrets)
}

fn shipped(subject: Subject, shown: &str, premise: &str, settings: Value, secrets: Secrets) -> Subject {
    let (shown, premise) = (shown.to_owned(), premise.to_owned());
    Subject { shown, premise, settings, secrets, clause: rules::clause, is_shipped: true, ..subject }
}

fn limits(patience: Duration) -> Limits {
    Limits { patience, ..Limits::default() }
}

/// The way to the server of a stored case, if there is one to do it to.
fn stored_way(stored: &Stored<'_>) -> Result<Way, RunError> {
    match stored.target {
        Some(url) => way(url, stored.reach),
        None => Ok(Way {
            place: Target::new(NOWHERE),
            path: "/".to_owned(),
            target: encode::Target { host: stored.server.to_owned(), fields: Vec::new() },
            secrets: Secrets::default(),
        }),
    }
}

/// The same, with the address where the tester listens as origin.
fn stored_way_with_origin(stored: &Stored<'_>) -> Result<(Way, SocketAddr), RunError> {
    let then: SocketAddr = setting(stored.settings, "origin")?;
    let origin = stored.reach.origin.as_deref().map_or(Ok(then), address)?;
    let way = stored_way(stored)?;
    Ok((Way { place: Target { listen: Some(origin), ..way.place }, ..way }, origin))
}

/// The name that reports give the server of a stored case.
fn stored_name<'a>(stored: &Stored<'a>) -> &'a str {
    stored.target.unwrap_or(stored.server)
}

/// `true` if a case was met without a look at what the server takes (`--no-survey`): then that may be just what is wrong.
fn was_store(stored: &Stored<'_>) -> bool {
    stored.settings["is_store"] == true
}

fn stored_origin(stored: &Stored<'_>) -> Result<Subject, RunError> {
    let way = stored_way(stored)?;
    let resources = setting(stored.settings, "resources")?;
    Ok(origin_subject(stored_name(stored), way, resources, was_store(stored)))
}

fn stored_gateway(stored: &Stored<'_>) -> Result<Subject, RunError> {
    let (way, origin) = stored_way_with_origin(stored)?;
    let is_forward = setting(stored.settings, "forward")?;
    let proxy = if is_forward {
        Proxy::forward(way.target.clone(), origin)
    } else {
        Proxy::new(way.target.clone(), &way.path, origin, &way.path)
    };
    let proxy = stored_mapping(proxy, stored, way.place)?;
    Ok(gateway_subject(stored_name(stored), way, proxy, is_forward))
}

fn stored_dual(stored: &Stored<'_>) -> Result<Subject, RunError> {
    let (way, origin) = stored_way_with_origin(stored)?;
    let path: String = setting(stored.settings, "proxy_path")?;
    let proxy = Proxy::new(way.target.clone(), &path, origin, &path);
    let proxy = stored_mapping(proxy, stored, way.place)?;
    Ok(dual_subject(stored_name(stored), way, proxy, &path, was_store(stored)))
}

/// The gateway with its mapping of targets: as the server does it now, or as it did then.
fn stored_mapping(mut proxy: Proxy, stored: &Stored<'_>, place: Target) -> Result<Proxy, RunError> {
    if stored.target.is_some() {
        return Ok(proxy.discovered(place, &limits(stored.patience)));
    }
    proxy.model.mapping = Arc::new(setting(stored.settings, "mapping")?);
    Ok(proxy)
}

/// A path that can be asked for.
fn resource(path: &str) -> Result<Arc<str>, RunError> {
    if !path.starts_with('/') {
        return Err(RunError::Usage(format!(
            "--path {path}: a path begins with a slash and is the whole path, such as /index.html"
        )));
    }
    if !path.chars().all(|c| c.is_ascii_graphic() && c != '#') {
        return Err(RunError::Usage(format!(
            "--path {path}: write what is no letter, digit or sign of a URL as %XX"
        )));
    }
    Ok(path.into())
}

/// A path below which everything is forwarded.
fn proxy_path(path: &str) -> Result<String, String> {
    if !path.starts_with('/') || !path.ends_with('/') || path.contains("//") {
        return Err("a path begins and ends with a slash and is the whole path, such as /proxy/".to_owned());
    }
    if path == "/" {
        return Err(
            "if everything is forwarded, the server is a gateway only: leave --proxy-path out".to_owned()
        );
    }
    if !path.chars().all(|c| c.is_ascii_graphic() && !"?#".contains(c)) {
        return Err("write what is no letter, digit or sign of a path as %XX".to_owned());
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources() {
        assert!(resource("/a%20b?c").is_ok() && resource("a").is_err() && resource("/a b").is_err());
    }
}
