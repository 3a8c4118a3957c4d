//! `confute http --origin`: a gateway or a proxy in front of the tester, or a server that is an origin and a gateway.

use std::io::Write;
use std::net::SocketAddr;

use anyhow::{Result, bail};
use confute_drive::{AnyGenerator, Limits, Target};
use confute_http::Http;
use confute_http::dual::{self, Dual, Mixture};
use confute_http::proxy::{self, Passage, Proxy};

use crate::args::{self, Color};
use crate::live;
use confute_report::Exit;
use confute_report::Subject;
use confute_test::way::{Way, address};
use serde_json::json;

pub(crate) fn run(
    args: &args::Http,
    origin: &str,
    way: Way,
    color: Color,
    out: &mut dyn Write,
) -> Result<Exit> {
    let origin = address(origin)?;
    if origin.port() == 0 {
        bail!("--origin {origin}: the server has to know the port, so it cannot be any");
    }
    let way = Way { place: Target { listen: Some(origin), ..way.place }, ..way };
    if let Some(proxy_path) = &args.proxy_path {
        return both(args, (origin, proxy_path), way, color, out);
    }
    let Way { place, path, target, secrets } = way;
    let rules = proxy::rules::ALL;
    // Before anything is sent.
    args.flags.plan(place, rules)?;
    let premise = format!("what is below this URL is forwarded to {origin}, and nobody else talks to that");
    let clause = confute_http::rules::clause;
    let (model, shown) = ("http-gateway", &*args.url);
    let proxy = match (args.forward, &*path) {
        (false, _) => Proxy::new(target, &path, origin, &path),
        (true, "/") => Proxy::forward(target, origin),
        (true, _) => bail!("--forward: of a proxy there is only the address to say, not the path {path}"),
    };
    let proxy = proxy.discovered(place, &limits(args));
    let settings = json!({ "origin": origin, "forward": args.forward, "mapping": proxy.model.mapping });
    let subject = Subject {
        model,
        premise: &premise,
        shown,
        target: place,
        rules,
        clause,
        settings,
        secrets,
        bound: None,
    };
    let make = |case: u64| AnyGenerator::new(Passage::of_case(case));
    live::run(&proxy, &subject, &args.flags, &make, color, out)
}

/// A server that is an origin below the URL, and a gateway below another path.
fn both(
    args: &args::Http,
    (origin, proxy_path): (SocketAddr, &str),
    Way { place, path, target, secrets }: Way,
    color: Color,
    out: &mut dyn Write,
) -> Result<Exit> {
    let written = format!("{path}{}", args.flags.prefix);
    if written.starts_with(proxy_path) {
        bail!(
            "--proxy-path {proxy_path}: what is tested as served by the server itself would begin with {written}, and so be \
             forwarded; give a URL (or --prefix) that is not below {proxy_path}"
        );
    }
    let rules = dual::rules();
    args.flags.plan(place, rules)?;
    let premise = format!(
        "nobody else writes below this URL; what is below {proxy_path} is forwarded to {origin}, and nobody else talks to that"
    );
    let clause = confute_http::rules::clause;
    let (model, shown) = ("http-dual", &*args.url);
    let proxy = Proxy::new(target.clone(), proxy_path, origin, proxy_path).discovered(place, &limits(args));
    let (mapping, is_store) = (&proxy.model.mapping, args.no_survey);
    let settings =
        json!({ "origin": origin, "proxy_path": proxy_path, "mapping": mapping, "is_store": is_store });
    let subject = Subject {
        model,
        premise: &premise,
        shown,
        target: place,
        rules,
        clause,
        settings,
        secrets,
        bound: None,
    };
    let http = Http { target, prefix: path, is_store: args.no_survey, ..Http::default() };
    let dual = Dual::new(http.clone(), proxy);
    let make = |case: u64| AnyGenerator::new(Mixture::of_case(http.clone(), case));
    live::run(&dual, &subject, &args.flags, &make, color, out)
}

fn limits(args: &args::Http) -> Limits {
    Limits { patience: args.flags.patience, ..Limits::default() }
}
