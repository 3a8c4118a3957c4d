//! The HTTP kit: origin servers, gateways and forward proxies, and servers that are origin and gateway at once.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use confute_drive::{AnyGenerator, Limits, Replay, Target};
use confute_record::BoundRecord;
use confute_run::kit::{ReachArguments, Run, StoredSettings, setting};
use confute_run::way::{Way, way};
use confute_run::{Book, Explanation, Kit, RunError, Secrets, Subject, address};
use serde_json::{Value, json};

use crate::{Exhaust, Http, Mixture, Passage, Reads, Traffic, encode, proxy, rules};

/// Number of steps of a case.
const STEPS: usize = 300;
/// Placeholder for the address of the server when a stored case is judged without one.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The kit for HTTP/1.1 servers.
#[derive(Clone, Copy, Debug)]
pub struct HttpKit;

const ABOUT: &str = "Test an HTTP/1.1 server: an origin, a gateway in front of one, or both";

const LONG_ABOUT: &str = "\
Test an HTTP/1.1 server: an origin, a gateway in front of one, or both.

Puts, gets and deletes resources below the URL, over many connections, and refutes the server if no server that conforms \
to RFC 9110 and 9112 could have sent these responses. Each case uses new names. Rules have levels: must (required by the \
standard), store (behaviour of a store with one copy), should (recommended: a warning unless --strict). \
The premise is that nobody else writes below the URL, and that PUT is allowed there.";

const EXAMPLES: &str = "\
Examples:
  confute http http://127.0.0.1:8080/
  confute http http://127.0.0.1:8080/dav --max-time 5m --connections 32
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
    /// URL below which to test: `http://HOST[:PORT][/PATH]`, or https://.
    #[arg(value_name = "URL")]
    url: String,
    /// Test the server as a gateway (a reverse proxy). The tester is its client and its origin: it listens at this
    /// address, HOST:PORT, and the server must forward everything below the URL to it.
    #[arg(long, value_name = "ADDR")]
    origin: Option<String>,
    /// Test the server as a forward proxy, which clients choose: requests name the origin in full.
    #[arg(long, requires = "origin")]
    forward: bool,
    /// Test the server as an origin below the URL and as a gateway that forwards everything below this path to
    /// --origin. Both are tested in one run, on the same connections.
    #[arg(long, value_name = "PATH", requires = "origin", conflicts_with_all = ["forward", "path"], value_parser = proxy_path)]
    proxy_path: Option<String>,
    /// Only read this existing resource, which nobody changes, and write nothing. Can be given several times.
    #[arg(long, value_name = "PATH")]
    path: Vec<String>,
    /// Run every script of up to N requests, the smallest first: GET, HEAD, PUT and DELETE of two resources, with
    /// If-Match, with If-None-Match or without a condition, one at a time and two at a time. The exit code is 0 only if
    /// all scripts ran.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u8).range(1..=5),
        conflicts_with_all = ["path", "origin", "cases", "connections"]
    )]
    exhaustive: Option<u8>,
    /// Assert that the server is set up as the test needs it, which is otherwise found out before the first case. The
    /// server must be a store that accepts GET, HEAD, PUT and DELETE below the URL, or forward everything to --origin: it
    /// is refuted if it refuses a request.
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
        rules::entry(rule).map(|entry| entry.explanation)
    }

    fn example(&self) -> Option<(&'static str, &'static str)> {
        Some(("confute http http://127.0.0.1:8080/", "test an HTTP server"))
    }

    fn command(&self, command: Command) -> Option<Command> {
        // The order matters: `augment_args` sets a description too, which is replaced here.
        let command = Arguments::augment_args(command);
        Some(command.about(ABOUT).long_about(LONG_ABOUT).after_help(EXAMPLES))
    }

    fn open(&self, arguments: &ArgMatches, run: &Run<'_>) -> Result<Subject, RunError> {
        let arguments =
            Arguments::from_arg_matches(arguments).map_err(|error| RunError::Usage(error.to_string()))?;
        open(&arguments, run)
    }

    fn reopen(&self, stored: &StoredSettings<'_>) -> Option<Result<Subject, RunError>> {
        match stored.model {
            "http" => Some(stored_origin(stored)),
            "http-gateway" => Some(stored_gateway(stored)),
            "http-dual" => Some(stored_dual(stored)),
            _ => None,
        }
    }
}

/// Returns the subject for the HTTP/1.1 origin server below this URL, which is written to.
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
    let bound = BoundRecord { requests: requests.into(), scripts: all.len(), of: None };
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
    let http = Http::origin(target(&way), &way.path).reading(resources).promised(is_store);
    let asked = http.clone();
    let traffic = move |case: u64| {
        if asked.is_read_only() {
            AnyGenerator::new(Reads::new(&asked, STEPS))
        } else {
            AnyGenerator::new(Traffic::of_case(asked.clone(), STEPS, case))
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
    // The guard must agree before anything is sent.
    (run.guard)(way.place.address)?;
    let shown = &*arguments.url;
    if let Some(proxy_path) = &arguments.proxy_path {
        let written = format!("{}{}", way.path, run.prefix);
        if written.starts_with(proxy_path) {
            return Err(RunError::Usage(format!(
                "--proxy-path {proxy_path}: requests that the server should serve itself would begin with {written} and \
                 be forwarded; give a URL (or --prefix) that is not below {proxy_path}"
            )));
        }
        let gateway = Http::gateway(target(&way), proxy_path, origin, proxy_path)
            .promised(arguments.no_survey)
            .discovered(way.place, &limits(run.patience));
        return Ok(dual_subject(shown, way, gateway, (origin, proxy_path), arguments.no_survey));
    }
    let gateway = match (arguments.forward, &*way.path) {
        (false, path) => Http::gateway(target(&way), path, origin, path),
        (true, "/") => Http::proxy(target(&way), origin),
        (true, path) => {
            return Err(RunError::Usage(format!(
                "--forward: the URL of a proxy has no path; leave {path} out"
            )));
        }
    };
    let gateway = gateway.promised(arguments.no_survey).discovered(way.place, &limits(run.patience));
    Ok(gateway_subject(shown, way, gateway, origin, arguments.forward))
}

fn gateway_subject(shown: &str, way: Way, gateway: Http, origin: SocketAddr, is_forward: bool) -> Subject {
    let premise =
        format!("everything below this URL is forwarded to {origin}, and nobody else connects to it");
    let is_promised = gateway.gateway.as_ref().is_some_and(|gateway| gateway.is_promised);
    let mapping = mapping(&gateway);
    let settings =
        json!({ "origin": origin, "forward": is_forward, "mapping": mapping, "is_promised": is_promised });
    let traffic = |case: u64| AnyGenerator::new(Passage::of_case(case));
    shipped(Subject::new("http-gateway", gateway, way.place, traffic), shown, &premise, settings, way.secrets)
}

fn dual_subject(
    shown: &str,
    way: Way,
    gateway: Http,
    (origin, path): (SocketAddr, &str),
    is_store: bool,
) -> Subject {
    let premise = format!(
        "nobody else writes below this URL; everything below {path} is forwarded to {origin}, and nobody else connects to it"
    );
    let mapping = mapping(&gateway);
    let settings = json!({ "origin": origin, "proxy_path": path, "mapping": mapping, "is_store": is_store });
    let http = Http::origin(target(&way), &way.path).promised(is_store).and_gateway(gateway);
    let asked = http.clone();
    let traffic = move |case: u64| AnyGenerator::new(Mixture::of_case(asked.clone(), case));
    shipped(Subject::new("http-dual", http, way.place, traffic), shown, &premise, settings, way.secrets)
}

/// Returns the mapping of paths, to be stored with a case.
fn mapping(gateway: &Http) -> Option<&proxy::Mapping> {
    gateway.model.gateway.as_ref().map(|gateway| &*gateway.mapping)
}

fn shipped(subject: Subject, shown: &str, premise: &str, settings: Value, secrets: Secrets) -> Subject {
    let (shown, premise) = (shown.to_owned(), premise.to_owned());
    Subject { shown, premise, settings, secrets, clause: rules::clause, is_shipped: true, ..subject }
}

/// Returns the fields of every request.
fn target(way: &Way) -> encode::Target {
    encode::Target { host: way.host.clone(), fields: way.fields.clone() }
}

fn limits(patience: Duration) -> Limits {
    Limits { patience, ..Limits::default() }
}

/// Returns the access to the server of a stored case, or a placeholder if the case is judged without a server.
fn stored_way(stored: &StoredSettings<'_>) -> Result<Way, RunError> {
    match stored.target {
        Some(url) => way(url, stored.reach),
        None => Ok(Way {
            place: Target::new(NOWHERE),
            path: "/".to_owned(),
            host: stored.server.to_owned(),
            fields: Vec::new(),
            secrets: Secrets::default(),
        }),
    }
}

/// Returns the access to the server of a stored case, and the address where the tester listens as origin.
fn stored_way_with_origin(stored: &StoredSettings<'_>) -> Result<(Way, SocketAddr), RunError> {
    let then: SocketAddr = setting(stored.settings, "origin")?;
    let origin = stored.reach.origin.as_deref().map_or(Ok(then), address)?;
    let way = stored_way(stored)?;
    Ok((Way { place: Target { listen: Some(origin), ..way.place }, ..way }, origin))
}

/// Returns the name that reports give the server of a stored case.
fn stored_name<'a>(stored: &StoredSettings<'a>) -> &'a str {
    stored.target.unwrap_or(stored.server)
}

/// Returns `true` if the case was recorded without a survey (`--no-survey`): then a refused request may be the
/// violation.
fn was_store(stored: &StoredSettings<'_>) -> bool {
    stored.settings["is_store"] == true
}

fn stored_origin(stored: &StoredSettings<'_>) -> Result<Subject, RunError> {
    let way = stored_way(stored)?;
    let resources = setting(stored.settings, "resources")?;
    Ok(origin_subject(stored_name(stored), way, resources, was_store(stored)))
}

fn stored_gateway(stored: &StoredSettings<'_>) -> Result<Subject, RunError> {
    let (way, origin) = stored_way_with_origin(stored)?;
    let is_forward = setting(stored.settings, "forward")?;
    let gateway = if is_forward {
        Http::proxy(target(&way), origin)
    } else {
        Http::gateway(target(&way), &way.path, origin, &way.path)
    };
    let gateway = stored_mapping(gateway, stored, way.place)?;
    Ok(gateway_subject(stored_name(stored), way, gateway, origin, is_forward))
}

fn stored_dual(stored: &StoredSettings<'_>) -> Result<Subject, RunError> {
    let (way, origin) = stored_way_with_origin(stored)?;
    let path: String = setting(stored.settings, "proxy_path")?;
    let gateway = Http::gateway(target(&way), &path, origin, &path);
    let gateway = stored_mapping(gateway, stored, way.place)?;
    Ok(dual_subject(stored_name(stored), way, gateway, (origin, &path), was_store(stored)))
}

/// Returns the gateway with its mapping of paths: as the server maps them now, or as stored if there is no server, or
/// if the server shows no mapping.
fn stored_mapping(gateway: Http, stored: &StoredSettings<'_>, place: Target) -> Result<Http, RunError> {
    if stored.target.is_none() {
        return Ok(gateway.mapping(setting(stored.settings, "mapping")?));
    }
    let then: Option<proxy::Mapping> = setting(stored.settings, "mapping")?;
    let now = mapping(&gateway).zip(then).map(|(now, then)| proxy::Mapping { to: then.to, ..now.clone() });
    let gateway = match now {
        Some(now) => gateway.mapping(now),
        None => gateway,
    };
    let is_promised = was_store(stored) || stored.settings["is_promised"] == true;
    Ok(gateway.promised(is_promised).discovered(place, &limits(stored.patience)))
}

/// Checks the value of `--path`.
fn resource(path: &str) -> Result<Arc<str>, RunError> {
    if !path.starts_with('/') {
        return Err(RunError::Usage(format!(
            "--path {path}: a path begins with a slash and is the whole path, such as /index.html"
        )));
    }
    if !path.chars().all(|c| c.is_ascii_graphic() && c != '#') {
        return Err(RunError::Usage(format!(
            "--path {path}: write characters that a URL cannot contain as %XX"
        )));
    }
    Ok(path.into())
}

/// Checks the value of `--proxy-path`, the path below which everything is forwarded.
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
        return Err("write characters that a path cannot contain as %XX".to_owned());
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
