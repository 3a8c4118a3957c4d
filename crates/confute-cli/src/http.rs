//! `confute http`: an HTTP/1.1 origin server, or a gateway in front of the tester; behind TLS or not.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Result, bail};
use confute_drive::{AnyGenerator, Replay};
use confute_http::{Exhaust, Http, Reads, Traffic};

use crate::args::{self, Color};
use crate::gateway;
use crate::live;
use confute_report::Exit;
use confute_report::Subject;
use confute_report::bound::Bound;
use confute_test::way::{Way, way};
use serde_json::json;

/// How many steps a case has.
const STEPS: usize = 300;

pub(crate) fn run(args: &args::Http, color: Color, out: &mut dyn Write) -> Result<Exit> {
    let way = way(&args.url, &args.reach.to_way())?;
    if let Some(origin) = &args.origin {
        return gateway::run(args, origin, way, color, out);
    }
    let Way { place, path, target, secrets } = way;
    let resources = args.path.iter().map(|path| resource(path)).collect::<Result<Vec<_>>>()?;
    let premise = if resources.is_empty() {
        "nobody else writes below this URL"
    } else {
        "nobody changes these resources"
    };
    let settings = json!({ "resources": resources, "is_store": args.no_survey });
    let http = Http { target, prefix: path, resources, is_store: args.no_survey, ..Http::default() };
    let subject = Subject {
        model: "http",
        premise,
        shown: &args.url,
        target: place,
        rules: confute_http::rules::RULES,
        clause: confute_http::rules::clause,
        settings,
        secrets,
        bound: None,
    };
    if let Some(requests) = args.exhaustive {
        let all = Exhaust::new(requests.into());
        let bound = Bound { requests: requests.into(), scripts: all.len() };
        let subject = Subject { bound: Some(bound), ..subject };
        let make = |case: u64| AnyGenerator::new::<Http>(Replay::new(all.script(case)));
        return live::run(&http, &subject, &args.flags, &make, color, out);
    }
    let make = |case: u64| traffic(&http, case);
    live::run(&http, &subject, &args.flags, &make, color, out)
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
fn traffic(http: &Http, case: u64) -> AnyGenerator<'_> {
    if !http.resources.is_empty() {
        return AnyGenerator::new(Reads::new(http, STEPS));
    }
    AnyGenerator::new(Traffic::of_case(http.clone(), STEPS, case))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources() {
        assert!(resource("/a%20b?c").is_ok() && resource("a").is_err() && resource("/a b").is_err());
    }
}
