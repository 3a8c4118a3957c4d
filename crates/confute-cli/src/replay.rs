//! `confute replay`: a stored violation, judged again or done again.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};
use confute::lang::{Level, Rule};
use confute_drive::{Deed, Finding, Limits, Net, Plan, Protocol, Rerun, Target, judge_again};
use confute_http::dual::{self, Dual};
use confute_http::proxy::{self, Proxy};
use confute_http::{Http, encode};
use confute_memcached::{Memcached, MemcachedModel};
use confute_report::rate::Rate;
use confute_report::regressions::runner;
use confute_report::stored::{About, File, Stored};
use confute_report::style::{BAD, GOOD, OPEN, STRONG};
use confute_report::violation::{name, violation};
use confute_report::{Secrets, Subject, lines};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::args::{Format, Replay};
use crate::exit::Exit;
use crate::http::{Way, way};
use crate::live::{self, flags};

pub(crate) fn run(args: &Replay, out: &mut dyn Write) -> Result<Exit> {
    let file = File::open(&args.file)?;
    let about = file.about.clone();
    let clause = confute_http::rules::clause;
    match &*about.model {
        "http" => {
            let way = open(args, &about)?;
            let http = Http {
                target: way.target,
                prefix: way.path,
                resources: setting(&about, "resources")?,
                is_store: true,
                ..Http::default()
            };
            let rules = confute_http::rules::RULES;
            Again { args, about: &about, place: way.place, rules, clause, secrets: way.secrets }
                .go(&http, file, out)
        }
        "http-gateway" => {
            let (way, origin) = with_origin(args, &about)?;
            let forward = setting::<bool>(&about, "forward")?;
            let proxy = if forward {
                Proxy::forward(way.target, origin)
            } else {
                Proxy::new(way.target, &way.path, origin, &way.path)
            };
            let proxy = mapped(proxy, args, &about, way.place)?;
            let rules = proxy::rules::ALL;
            Again { args, about: &about, place: way.place, rules, clause, secrets: way.secrets }
                .go(&proxy, file, out)
        }
        "http-dual" => {
            let (way, origin) = with_origin(args, &about)?;
            let path: String = setting(&about, "proxy_path")?;
            let proxy = Proxy::new(way.target.clone(), &path, origin, &path);
            let proxy = mapped(proxy, args, &about, way.place)?;
            let http = Http { target: way.target, prefix: way.path, is_store: true, ..Http::default() };
            let rules = dual::rules();
            Again { args, about: &about, place: way.place, rules, clause, secrets: way.secrets }.go(
                &Dual::new(http, proxy),
                file,
                out,
            )
        }
        "memcached" => {
            let address = args.target.as_deref().map_or(Ok(NOWHERE), flags::address)?;
            let protocol = Memcached::new(MemcachedModel { keeps: setting(&about, "keeps")? });
            let (place, rules) = (Target::new(address), confute_memcached::rules::ALL);
            let clause = |_: &str| None;
            Again { args, about: &about, place, rules, clause, secrets: Secrets::default() }
                .go(&protocol, file, out)
        }
        other => bail!("{}: no live server is tested by a model called {other}", args.file.display()),
    }
}

/// Where nobody is asked, when there is no server.
const NOWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// What the header says about this.
fn setting<T: DeserializeOwned>(about: &About, name: &str) -> Result<T> {
    serde_json::from_value(about.settings[name].clone())
        .with_context(|| format!("the header of the case: settings.{name}"))
}

/// The way to the server, if there is one.
fn open(args: &Replay, about: &About) -> Result<Way> {
    match &args.target {
        Some(url) => way(url, &args.reach),
        None => Ok(Way {
            place: Target::new(NOWHERE),
            path: "/".to_owned(),
            target: encode::Target { host: about.server.clone(), fields: Vec::new() },
            secrets: Secrets::default(),
        }),
    }
}

fn with_origin(args: &Replay, about: &About) -> Result<(Way, SocketAddr)> {
    let then: SocketAddr = setting(about, "origin")?;
    let origin = args.origin.as_deref().map_or(Ok(then), flags::address)?;
    let way = open(args, about)?;
    Ok((Way { place: Target { listen: Some(origin), ..way.place }, ..way }, origin))
}

/// How it maps targets: as the server does now, or as it did then.
fn mapped(mut proxy: Proxy, args: &Replay, about: &About, place: Target) -> Result<Proxy> {
    if args.target.is_some() {
        return Ok(proxy.discovered(place, &Limits { patience: args.patience, ..Limits::default() }));
    }
    proxy.model.mapping = Arc::new(setting(about, "mapping")?);
    Ok(proxy)
}

struct Again<'a> {
    args: &'a Replay,
    about: &'a About,
    place: Target,
    rules: &'static [Rule],
    clause: fn(&str) -> Option<&'static str>,
    secrets: Secrets,
}

/// What came of it.
struct Came<P: Protocol> {
    finding: Option<Finding<P>>,
    /// In how many runs it showed, and how many were judged; nothing without a server.
    rate: Option<Rate>,
    /// Refuted, but not for the same reason.
    otherwise: u32,
    unknown: Option<String>,
}

impl Again<'_> {
    fn go<P: Protocol>(self, protocol: &P, file: File, out: &mut dyn Write) -> Result<Exit> {
        let case = Stored::<P>::read(file)?;
        if self.args.target.is_some() && !self.place.address.ip().is_loopback() && !self.args.remote {
            bail!(
                "{} is not on this machine, and it would be written to; say --remote if that is meant",
                self.place.address
            );
        }
        let (mut relaxed, _) = case.relaxed(protocol);
        relaxed.extend(flags::rules_named(&self.args.allow, self.rules)?);
        let stop = live::stopped_by_signals()?;
        let plan = Plan {
            limits: Limits { patience: self.args.patience, ..Limits::default() },
            // Whatever was stored was worth it then.
            level: Level::Live,
            ..Plan::new(self.place)
        };
        let deed =
            Deed { script: &case.script, name: &case.about.name, seed: case.about.seed, relaxed: &relaxed };
        let mut came = match &self.args.target {
            Some(_) => self.run(protocol, &plan, &case, &deed, &stop)?,
            None => {
                let budget = (self.args.max_time, plan.limits.memory);
                match judge_again(protocol, &deed, &case.trace, budget, &stop) {
                    Rerun::Refuted(found) => Came { finding: Some(*found), ..nothing() },
                    Rerun::Explained => nothing(),
                    Rerun::Unknown(why) => Came { unknown: Some(why), ..nothing() },
                }
            }
        };
        if let Some(finding) = &mut came.finding {
            finding.number = 1;
            self.secrets.clean_finding(finding);
        }
        self.tell(&plan, &came, out)
    }

    fn run<P: Protocol>(
        &self,
        protocol: &P,
        plan: &Plan,
        case: &Stored<P>,
        deed: &Deed<'_, P::Ask>,
        stop: &AtomicBool,
    ) -> Result<Came<P>> {
        let again = runner(protocol, plan, &case.about, stop);
        let mut net = Net::new(plan.target.listen)?;
        let mut rate = Rate::default();
        let mut result = nothing();
        while rate.of < self.args.runs && !stop.load(Ordering::Relaxed) {
            match again.once(&mut net, deed) {
                Ok(Rerun::Refuted(found)) => {
                    rate.of += 1;
                    let same = found.is_explained_by(&case.about.blame)
                        || (found.diagnoses.is_empty() && case.about.blame.is_empty());
                    rate.shown += u32::from(same);
                    result.otherwise += u32::from(!same);
                    // What is the same comes first, and the shorter one.
                    if same || result.finding.is_none() {
                        result.finding = Some(*found);
                    }
                }
                Ok(Rerun::Explained) => rate.of += 1,
                Ok(Rerun::Unknown(why)) => {
                    let first = result.unknown.is_none();
                    result.unknown = Some(why);
                    if !first {
                        // Twice is enough: it would take all day.
                        break;
                    }
                }
                Err(trouble) => {
                    result.unknown = Some(trouble.to_string());
                    break;
                }
            }
        }
        result.rate = Some(rate);
        Ok(result)
    }

    fn tell<P: Protocol>(&self, plan: &Plan, came: &Came<P>, out: &mut dyn Write) -> Result<Exit> {
        let judged = came.rate.is_none_or(|rate| rate.of > 0);
        let exit = match (&came.finding, &came.unknown) {
            (Some(_), _) => Exit::Refuted,
            (None, None) => Exit::Unrefuted,
            (None, Some(_)) => Exit::Inconclusive,
        };
        let (file, then) = (self.args.file.display(), self.about.blamed_on());
        if self.args.format == Format::Json {
            let object = json!({
                "confute": "replay",
                "version": 1,
                "file": self.args.file,
                "model": self.about.model,
                "server": self.args.target,
                "exit": exit.code(),
                "verdict": exit.name(),
                "then": self.about.blame,
                "shown": came.rate.map(|rate| rate.shown),
                "runs": came.rate.map(|rate| rate.of),
                "otherwise": came.otherwise,
                "unknown": came.unknown,
                "violation": came.finding.as_ref().map(|finding| lines::finding(finding, plan)),
            });
            writeln!(out, "{object}")?;
            return Ok(exit);
        }
        let subject = Subject {
            model: &self.about.model,
            premise: "",
            shown: self.args.target.as_deref().unwrap_or(&self.about.server),
            target: self.place,
            rules: self.rules,
            clause: self.clause,
            settings: self.about.settings.clone(),
            secrets: self.secrets.clone(),
        };
        if let (Some(finding), false) = (&came.finding, self.args.quiet) {
            violation(&subject, finding, plan, self.args.verbose, out)?;
        }
        let rate = came.rate.map(|rate| rate.to_string()).unwrap_or_default();
        match (&came.finding, &came.unknown) {
            (Some(_), _) if came.rate.is_some_and(|rate| rate.shown > 0) => {
                writeln!(
                    out,
                    "{BAD}refuted{BAD:#}: {STRONG}{file}{STRONG:#}: still fails in {rate}: {then}"
                )?;
            }
            (Some(finding), _) if came.rate.is_some() => {
                let now = name(finding);
                writeln!(out, "{BAD}refuted{BAD:#}: {file}: {then} did not show again in {rate}, but {now}")?;
            }
            (Some(finding), _) => {
                let as_then =
                    if finding.is_explained_by(&self.about.blame) { "as then" } else { "otherwise now" };
                writeln!(out, "{BAD}refuted{BAD:#}: {file}: {as_then}: {}", name(finding))?;
            }
            (None, Some(why)) if !judged => {
                writeln!(out, "{OPEN}inconclusive{OPEN:#}: {file}: {why}; nothing was judged")?;
            }
            (None, Some(why)) => {
                let so_far =
                    if rate.is_empty() { String::new() } else { format!("; it did not show in {rate}") };
                writeln!(out, "{OPEN}inconclusive{OPEN:#}: {file}: {why}{so_far}")?;
            }
            (None, None) if came.rate.is_some() => {
                writeln!(
                    out,
                    "{GOOD}unrefuted{GOOD:#}: {file}: no longer fails: {rate}; then it was {then}"
                )?;
            }
            (None, None) => writeln!(
                out,
                "{GOOD}unrefuted{GOOD:#}: {file}: explained by {} as it is now; then it was {then}",
                self.about.model
            )?,
        }
        if came.otherwise > 0 && came.rate.is_some_and(|rate| rate.shown > 0) {
            writeln!(out, "in {} more it was refuted for another reason", came.otherwise)?;
        }
        Ok(exit)
    }
}

fn nothing<P: Protocol>() -> Came<P> {
    Came { finding: None, rate: None, otherwise: 0, unknown: None }
}
