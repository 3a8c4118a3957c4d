//! A campaign as a test: a few lines, a panic with the counterexample, and a folder of what was found before.

use std::env;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use confute::lang::Level;
use confute_drive::{AnyGenerator, AnyProtocol, Conclusion, Outcome, Plan, Protocol, Target};
use confute_http::{Http, Traffic};
use confute_memcached::{Habits, Memcached, MemcachedModel};
use confute_report::files::{Reports, Run};
use confute_report::session::{self, Done, Job, Recorder};
use confute_report::{Secrets, Subject, fresh_seed, quantity, summary};
use serde_json::{Value, json};

use crate::way::{Reach, Way, address, way};

/// How many steps a case has.
const STEPS: usize = 300;
/// How long a test takes if nobody says otherwise.
const TIME: Duration = Duration::from_secs(5);
/// How to have files written.
const HINT: &str = "`.report_dir(DIR)` keeps it for `confute replay`, and as scripts for curl and Python where they can tell";
/// Where violations are kept, beside `Cargo.toml`.
const FOLDER: &str = "confute-regressions";

/// Makes the generator of a case, by its number.
type Make = Box<dyn Fn(u64) -> AnyGenerator<'static> + Sync>;

/// A test of one server.
pub struct Check {
    protocol: Box<dyn AnyProtocol>,
    model: String,
    shown: String,
    premise: String,
    clause: fn(&str) -> Option<&'static str>,
    settings: Value,
    secrets: Secrets,
    make: Make,
    plan: Plan,
    shrink_time: Duration,
    regressions: Option<PathBuf>,
    report_dir: Option<PathBuf>,
    /// Whether the server may be on another machine.
    remote: bool,
    /// A mistake in what was asked for, told when it is run.
    mistake: Option<String>,
}

/// Tests the HTTP/1.1 origin server below this URL. It is written to.
pub fn http(url: &str) -> Check {
    http_through(url, &Reach::default())
}

/// The same, of a server that wants certain header fields, or whose certificate somebody else has issued.
pub fn http_through(url: &str, reach: &Reach) -> Check {
    let (way, mistake) = match way(url, reach) {
        Ok(way) => (way, None),
        Err(why) => (nowhere(), Some(format!("{why:#}"))),
    };
    let http = Http { target: way.target, prefix: way.path, ..Http::default() };
    let asked = http.clone();
    let make = move |case: u64| AnyGenerator::new(Traffic::of_case(asked.clone(), STEPS, case));
    let mut check = Check::new(http, "http", way.place, make);
    url.clone_into(&mut check.shown);
    "nobody else writes below this URL".clone_into(&mut check.premise);
    check.clause = confute_http::rules::clause;
    check.settings = json!({ "resources": [], "is_store": false });
    check.secrets = way.secrets;
    check.mistake = mistake;
    check
}

/// Tests the memcached server at this address, `HOST:PORT`.
pub fn memcached(place: &str) -> Check {
    let (target, mistake) = match address(place) {
        Ok(address) => (Target::new(address), None),
        Err(why) => (nowhere().place, Some(format!("{why:#}"))),
    };
    let protocol = Memcached::new(MemcachedModel { keeps: false });
    let make = |_| AnyGenerator::new(confute_memcached::Traffic::new(Habits::default()));
    let mut check = Check::new(protocol, "memcached", target, make);
    "nobody else writes the keys of this run".clone_into(&mut check.premise);
    check.settings = json!({ "keeps": false });
    check.mistake = mistake;
    check
}

fn nowhere() -> Way {
    Way {
        place: Target::new(SocketAddr::from(([127, 0, 0, 1], 0))),
        path: "/".to_owned(),
        target: confute_http::encode::Target::default(),
        secrets: Secrets::default(),
    }
}

impl Check {
    /// Tests a server that speaks any protocol. The name of the model goes into stored cases; `make` decides what is asked in
    /// each case.
    pub fn new(
        protocol: impl Protocol,
        model: &str,
        target: Target,
        make: impl Fn(u64) -> AnyGenerator<'static> + Sync + 'static,
    ) -> Self {
        let plan = Plan {
            prefix: "confute-".to_owned(),
            max_time: Some(TIME),
            seed: fresh_seed(),
            ..Plan::new(target)
        };
        let beside = env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from);
        Self {
            protocol: Box::new(protocol),
            model: model.to_owned(),
            shown: target.address.to_string(),
            premise: "nobody else changes what is tested".to_owned(),
            clause: |_| None,
            settings: Value::Null,
            secrets: Secrets::default(),
            make: Box::new(make),
            plan,
            shrink_time: Duration::from_secs(10),
            regressions: Some(beside.join(FOLDER)),
            report_dir: None,
            remote: false,
            mistake: None,
        }
    }

    /// What all random choices come from. Another one each time, if nobody says; a failure says which.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.plan.seed = seed;
        self
    }

    /// How long to test: five seconds, if nobody says.
    #[must_use]
    pub fn max_time(mut self, time: Duration) -> Self {
        self.plan.max_time = Some(time);
        self
    }

    /// How many cases to run at most.
    #[must_use]
    pub fn cases(mut self, cases: u64) -> Self {
        self.plan.cases = Some(cases);
        self
    }

    /// How many connections a case has open.
    #[must_use]
    pub fn connections(mut self, connections: u32) -> Self {
        self.plan.limits.connections = connections.max(1);
        self
    }

    /// How long to wait for an answer.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.plan.limits.patience = patience;
        self
    }

    /// Lets the server break this rule.
    #[must_use]
    pub fn allow(mut self, rule: &str) -> Self {
        match self.protocol.model().rules().iter().find(|known| known.name == rule) {
            Some(known) => self.plan.allow.push(known.name),
            None => {
                self.mistake = Some(format!("there is no rule called {rule}; `confute rules` lists them"));
            }
        }
        self
    }

    /// From which level on a violation fails the test.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.plan.level = level;
        self
    }

    /// How long to look for smaller cases.
    #[must_use]
    pub fn shrink_time(mut self, time: Duration) -> Self {
        self.shrink_time = time;
        self
    }

    /// Where violations are kept and tried first; nowhere with `None`.
    #[must_use]
    pub fn regressions(mut self, folder: Option<PathBuf>) -> Self {
        self.regressions = folder;
        self
    }

    /// Also writes the files that `confute --report-dir` writes.
    #[must_use]
    pub fn report_dir(mut self, folder: PathBuf) -> Self {
        self.report_dir = Some(folder);
        self
    }

    /// Lets the server be on another machine. It is written to.
    #[must_use]
    pub fn remote(mut self) -> Self {
        self.remote = true;
        self
    }

    /// Runs it. What was seen is handed back if nothing was wrong.
    ///
    /// # Panics
    ///
    /// If the server was refuted, with the counterexample; or if it could not be tested.
    #[track_caller]
    pub fn run(self) -> Outcome {
        match self.go() {
            Ok((outcome, text, _)) if outcome.conclusion != Conclusion::Unrefuted => fail(&text),
            Ok((outcome, _, brief)) => {
                tell(&brief);
                outcome
            }
            Err(why) => fail(&format!("{why:#}")),
        }
    }

    /// The same, without a panic: what came of it, and what there is to say about it.
    pub fn try_run(self) -> Result<(Outcome, String)> {
        self.go().map(|(outcome, text, _)| (outcome, text))
    }

    /// What came of it, at length and in brief.
    fn go(mut self) -> Result<(Outcome, String, String)> {
        self.obey_environment()?;
        if let Some(mistake) = self.mistake {
            bail!(mistake);
        }
        let address = self.plan.target.address;
        if !address.ip().is_loopback() && !self.remote {
            bail!(
                "{address} is not on this machine, and it would be written to; say .remote() if that is meant"
            );
        }
        let reports = self.report_dir.as_deref().map(Reports::create).transpose()?;
        let subject = Subject {
            model: &self.model,
            premise: &self.premise,
            shown: &self.shown,
            target: self.plan.target,
            rules: self.protocol.model().rules(),
            clause: self.clause,
            settings: self.settings,
            secrets: self.secrets,
            bound: None,
        };
        let make = |case: u64| (self.make)(case);
        let job = Job {
            protocol: &*self.protocol,
            subject: &subject,
            plan: &self.plan,
            make: &make,
            shrink_time: (!self.shrink_time.is_zero()).then_some(self.shrink_time),
            regressions: self.regressions.as_deref(),
            baseline: None,
        };
        let mut recorder = Recorder::default();
        let Done { outcome, beside, mut unwritten } =
            session::run(&job, &mut recorder, &AtomicBool::new(false))?;
        let Recorder { lines, remarks } = &recorder;
        let (protocol, subject, plan) = (&*self.protocol, &subject, &self.plan);
        let mut paths = Vec::new();
        if let Some(reports) = &reports {
            let outcome = &outcome;
            let written =
                reports.write(&Run { protocol, subject, plan, outcome, lines, remarks, beside: &beside });
            paths = written.paths;
            if let Some(missing) = written.missing.first() {
                unwritten = Some(anyhow::anyhow!("cannot write the reports: {}", missing.told()));
            }
        }
        let written = |quiet: bool| -> Result<String> {
            let notes = &beside.notes();
            let told = summary::Told { remarks, paths: &paths, notes, hint: HINT, quiet, verbose: false };
            let mut text = Vec::new();
            summary::write(subject, plan, &outcome, &told, &mut text)?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        };
        let (mut text, mut brief) = (written(false)?, written(true)?);
        beside.tried.iter().try_for_each(|one| writeln!(brief, "  {}", one.told()))?;
        if let Some(why) = unwritten {
            // What was found is not to be lost with the file.
            bail!("{text}\n{why:#}");
        }
        if outcome.conclusion != Conclusion::Unrefuted {
            let _ =
                writeln!(text, "\nAgain with the same choices: CONFUTE_SEED={} cargo test", self.plan.seed);
        }
        Ok((outcome, text, brief))
    }

    /// What the environment says goes before what the test says.
    fn obey_environment(&mut self) -> Result<()> {
        let read = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        if let Some(seed) = read("CONFUTE_SEED") {
            self.plan.seed = seed.parse().with_context(|| format!("CONFUTE_SEED={seed}: not a number"))?;
        }
        if let Some(time) = read("CONFUTE_MAX_TIME") {
            let parsed = quantity::duration(&time);
            let parsed = parsed.map_err(|why| anyhow::anyhow!("CONFUTE_MAX_TIME={time}: {why}"))?;
            self.plan.max_time = Some(parsed);
        }
        if let Some(cases) = read("CONFUTE_CASES") {
            let parsed = cases.parse().with_context(|| format!("CONFUTE_CASES={cases}: not a number"))?;
            self.plan.cases = Some(parsed);
        }
        Ok(())
    }
}

/// Says what came of a test that passes, for whoever looks.
#[expect(clippy::print_stdout, reason = "that is how a test says something")]
fn tell(text: &str) {
    println!("{}", anstream::adapter::strip_str(text.trim_end()));
}

/// Ends a test. Colours are for terminals, and this ends up in logs.
#[expect(clippy::panic, reason = "that is how a test fails")]
#[track_caller]
pub(crate) fn fail(text: &str) -> ! {
    panic!("\n{}", anstream::adapter::strip_str(text))
}
