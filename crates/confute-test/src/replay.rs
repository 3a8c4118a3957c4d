//! A stored violation, judged again or done again to a server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use confute::lang::{Level, Rule};
use confute_drive::{AnyProtocol, Finding, Limits, Net, PastRun, Plan, Rerun, Target, judge_again};
use confute_http::dual::{self, Dual};
use confute_http::proxy::{self, Proxy};
use confute_http::{Http, encode};
use confute_memcached::{Memcached, MemcachedModel};
use confute_report::rate::Rate;
use confute_report::regressions::runner;
use confute_report::stored::{About, File, Stored};
use confute_report::summary::part;
use confute_report::violation::{name, violation};
use confute_report::{Secrets, Subject, because, lines};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::way::{Reach, Way, address, way};

/// What to do with it.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The server to do it to: a URL, or `HOST:PORT` for memcached. Without one, what was seen then is judged again.
    pub target: Option<String>,
    /// How often to do it.
    pub runs: u32,
    /// How long to wait for an answer.
    pub patience: Duration,
    /// How long to judge what was seen then.
    pub max_time: Duration,
    /// Rules that the server may break.
    pub allow: Vec<String>,
    /// Where the tester listens as origin, if not where it did then.
    pub origin: Option<String>,
    /// How to get through to the server.
    pub reach: Reach,
    /// Whether the server may be on another machine.
    pub remote: bool,
    /// Whether messages are shown in full.
    pub verbose: bool,
}

impl Default for Replay {
    fn default() -> Self {
        Self {
            target: None,
            runs: 10,
            patience: Duration::from_secs(5),
            max_time: Duration::from_secs(30),
            allow: Vec::new(),
            origin: None,
            reach: Reach::default(),
            remote: false,
            verbose: false,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The model that it was judged by.
    pub model: String,
    /// What it was blamed on then.
    pub then: String,
    /// In how many runs it showed; nothing without a server.
    pub rate: Option<Rate>,
    /// In how many runs it was refuted for another reason.
    pub otherwise: u32,
    /// The violation now, if there is one.
    pub now: Option<Now>,
    /// Why it could not be judged, the last time it could not.
    pub unknown: Option<String>,
}

impl Replayed {
    /// What it comes to, in a sentence.
    pub fn told(&self) -> String {
        let Replayed { model, then, rate, otherwise, now, unknown } = self;
        match (now, unknown, rate) {
            (Some(_), _, Some(rate)) if rate.shown > 0 => {
                let more = match otherwise {
                    0 => String::new(),
                    more => format!("; in {more} more it was refuted for another reason"),
                };
                format!("still fails in {rate}: {then}{more}")
            }
            (Some(now), _, Some(rate)) => format!("did not show again ({then}: {rate}), but {}", now.name),
            (Some(now), _, None) if now.as_then => format!("as it was then: {}", now.name),
            (Some(now), _, None) => format!("then it was {then}, now it is {}", now.name),
            (None, Some(why), Some(rate)) if rate.of > 0 => format!("{why}; it did not show in {rate}"),
            (None, Some(why), _) => format!("{why}; nothing was judged"),
            (None, None, Some(rate)) => format!("no longer fails: {rate}; then it was {then}"),
            (None, None, None) => format!("explained by {model} as it is now; then it was {then}"),
        }
    }
}

/// A violation that showed again.
#[derive(Clone, Debug)]
pub struct Now {
    /// What it is blamed on.
    pub name: String,
    /// Whether it may be the same as then.
    pub as_then: bool,
    /// For people.
    pub text: String,
    /// For programs.
    pub json: Value,
}

/// Where nobody is asked, when there is no server.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// After so many runs in a row that could not be judged, no more are tried.
const FUTILE: u32 = 3;

impl Replay {
    /// Does it. An error is a mistake in the file or in what was asked for.
    pub fn go(&self, file: File, stop: &AtomicBool) -> Result<Replayed> {
        let about = file.about.clone();
        let clause = confute_http::rules::clause;
        match &*about.model {
            "http" => {
                let way = self.open(&about)?;
                let resources = setting(&about, "resources")?;
                let (target, prefix) = (way.target, way.path);
                let is_store = is_store(&about);
                let http = Http { target, prefix, resources, is_store, ..Http::default() };
                let (place, rules, secrets) = (way.place, confute_http::rules::RULES, way.secrets);
                Again { replay: self, place, rules, clause, secrets, stop }.go(&http, file)
            }
            "http-gateway" => {
                let (way, origin) = self.with_origin(&about)?;
                let proxy = if setting(&about, "forward")? {
                    Proxy::forward(way.target, origin)
                } else {
                    Proxy::new(way.target, &way.path, origin, &way.path)
                };
                let proxy = self.mapped(proxy, &about, way.place)?;
                let (place, rules, secrets) = (way.place, proxy::rules::ALL, way.secrets);
                Again { replay: self, place, rules, clause, secrets, stop }.go(&proxy, file)
            }
            "http-dual" => {
                let (way, origin) = self.with_origin(&about)?;
                let path: String = setting(&about, "proxy_path")?;
                let proxy = Proxy::new(way.target.clone(), &path, origin, &path);
                let proxy = self.mapped(proxy, &about, way.place)?;
                let is_store = is_store(&about);
                let http = Http { target: way.target, prefix: way.path, is_store, ..Http::default() };
                let (place, rules, secrets) = (way.place, dual::rules(), way.secrets);
                Again { replay: self, place, rules, clause, secrets, stop }.go(&Dual::new(http, proxy), file)
            }
            "memcached" => {
                let address = self.target.as_deref().map_or(Ok(NOWHERE), address)?;
                let protocol = Memcached::new(MemcachedModel { keeps: setting(&about, "keeps")? });
                let (place, rules) = (Target::new(address), confute_memcached::rules::ALL);
                let (clause, secrets) = (|_: &str| None, Secrets::default());
                Again { replay: self, place, rules, clause, secrets, stop }.go(&protocol, file)
            }
            other => bail!("no live server is tested by a model called {other}"),
        }
    }

    /// The way to the server, if there is one.
    fn open(&self, about: &About) -> Result<Way> {
        match &self.target {
            Some(url) => way(url, &self.reach),
            None => Ok(Way {
                place: Target::new(NOWHERE),
                path: "/".to_owned(),
                target: encode::Target { host: about.server.clone(), fields: Vec::new() },
                secrets: Secrets::default(),
            }),
        }
    }

    fn with_origin(&self, about: &About) -> Result<(Way, SocketAddr)> {
        let then: SocketAddr = setting(about, "origin")?;
        let origin = self.origin.as_deref().map_or(Ok(then), address)?;
        let way = self.open(about)?;
        Ok((Way { place: Target { listen: Some(origin), ..way.place }, ..way }, origin))
    }

    /// How it maps targets: as the server does now, or as it did then.
    fn mapped(&self, mut proxy: Proxy, about: &About, place: Target) -> Result<Proxy> {
        if self.target.is_some() {
            return Ok(proxy.discovered(place, &Limits { patience: self.patience, ..Limits::default() }));
        }
        proxy.model.mapping = Arc::new(setting(about, "mapping")?);
        Ok(proxy)
    }
}

/// What the header says about this.
fn setting<T: DeserializeOwned>(about: &About, name: &str) -> Result<T> {
    serde_json::from_value(about.settings[name].clone())
        .with_context(|| format!("the header of the case has no settings.{name} that makes sense"))
}

/// Whether it was met without a look at what the server takes (`--no-survey`): then that may be just what is wrong.
fn is_store(about: &About) -> bool {
    about.settings["is_store"] == true
}

/// One protocol's part of it.
struct Again<'a> {
    replay: &'a Replay,
    place: Target,
    rules: &'static [Rule],
    clause: fn(&str) -> Option<&'static str>,
    secrets: Secrets,
    stop: &'a AtomicBool,
}

impl Again<'_> {
    fn go(self, protocol: &dyn AnyProtocol, file: File) -> Result<Replayed> {
        let case = Stored::read(protocol, file)?;
        let address = self.place.address;
        if self.replay.target.is_some() && !address.ip().is_loopback() && !self.replay.remote {
            bail!(
                "{address} is not on this machine, and it would be written to; say --remote if that is meant"
            );
        }
        let mut came = Replayed {
            model: case.about.model.clone(),
            then: case.about.blamed_on(),
            rate: self.replay.target.as_ref().map(|_| Rate::default()),
            otherwise: 0,
            now: None,
            unknown: None,
        };
        let mut relaxed = match case.relaxed(protocol) {
            Ok(relaxed) => relaxed,
            Err(why) => return Ok(Replayed { unknown: Some(why), ..came }),
        };
        for name in &self.replay.allow {
            let Some(rule) = self.rules.iter().find(|rule| rule.name == name) else {
                bail!("--allow {name}: no such rule; `confute rules` lists them");
            };
            relaxed.push(rule.name);
        }
        let plan = Plan {
            limits: Limits { patience: self.replay.patience, ..Limits::default() },
            // Whatever was stored was worth it then.
            level: Level::Live,
            ..Plan::new(self.place)
        };
        let (name, seed) = (&*case.about.name, case.about.seed);
        let deed = PastRun { script: &case.script, name, seed, relaxed: &relaxed };
        if self.replay.target.is_some() {
            self.run(protocol, &plan, &case, &deed, &mut came)?;
            return Ok(came);
        }
        let budget = (self.replay.max_time, plan.limits.memory);
        match judge_again(protocol, &deed, &case.trace, budget, self.stop) {
            Rerun::Refuted(found) => came.now = Some(self.told(protocol, &case.about, &plan, *found)?),
            Rerun::Explained => {}
            Rerun::Unknown(why) => came.unknown = Some(why),
        }
        Ok(came)
    }

    fn run(
        &self,
        protocol: &dyn AnyProtocol,
        plan: &Plan,
        case: &Stored,
        deed: &PastRun<'_>,
        came: &mut Replayed,
    ) -> Result<()> {
        let again = runner(protocol, plan, &case.about, self.stop);
        // A server that cannot be tested is not refuted by a case that it cannot take part in.
        if let Err(trouble) = again.survey(&case.about.name) {
            came.unknown = Some(trouble.to_string());
            return Ok(());
        }
        let mut net = Net::new(plan.target.listen)?;
        let (mut rate, mut futile) = (Rate::default(), 0);
        let mut found: Option<(Finding, bool)> = None;
        while rate.of < self.replay.runs && futile < FUTILE && !self.stop.load(Ordering::Relaxed) {
            match again.once(&mut net, deed) {
                Ok(Rerun::Refuted(now)) => {
                    (rate.of, futile) = (rate.of + 1, 0);
                    let same = case.about.is_about(&now);
                    rate.shown += u32::from(same);
                    came.otherwise += u32::from(!same);
                    if found.as_ref().is_none_or(|(_, was_same)| same && !was_same) {
                        found = Some((*now, same));
                    }
                }
                Ok(Rerun::Explained) => (rate.of, futile) = (rate.of + 1, 0),
                Ok(Rerun::Unknown(why)) => {
                    futile += 1;
                    came.unknown = Some(why);
                }
                Err(trouble) => {
                    came.unknown = Some(trouble.to_string());
                    break;
                }
            }
        }
        came.rate = Some(rate);
        came.now = found.map(|(found, _)| self.told(protocol, &case.about, plan, found)).transpose()?;
        Ok(())
    }

    fn told(
        &self,
        protocol: &dyn AnyProtocol,
        about: &About,
        plan: &Plan,
        mut finding: Finding,
    ) -> Result<Now> {
        finding.number = 1;
        because::prove(protocol, &mut finding);
        self.secrets.clean_finding(&mut finding);
        let subject = Subject {
            model: &about.model,
            premise: "",
            shown: self.replay.target.as_deref().unwrap_or(&about.server),
            target: self.place,
            rules: self.rules,
            clause: self.clause,
            settings: about.settings.clone(),
            secrets: self.secrets.clone(),
            bound: None,
        };
        let mut text = Vec::new();
        let verbose = self.replay.verbose;
        part("violation", &mut text, |out| violation(&subject, &finding, plan, verbose, &[], out))?;
        Ok(Now {
            name: name(&finding),
            as_then: about.is_about(&finding),
            text: String::from_utf8_lossy(&text).into_owned(),
            json: lines::finding(&finding, plan),
        })
    }
}
