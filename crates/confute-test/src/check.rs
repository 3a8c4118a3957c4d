//! A campaign as a test: it panics with the counterexample, and keeps a folder of earlier violations.

use std::env;
use std::fmt::{Display, Write as _};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute::lang::{Level, ServerModel};
use confute_drive::{AnyGenerator, Conclusion, Outcome, Plan, Protocol, Target, Trouble, Workers};
use confute_memcached::Habits;
use confute_report::files::Reports;
use confute_report::summary::{self, Detail, Manner};
use confute_rest::Description;
use confute_run::kit::Reach;
use confute_run::session::{self, Done, Job, Recorder};
use confute_run::{Door, RunError, Subject, fresh_seed, guard, quantity, record};
use confute_service::{Message, Mix, Service, Wire};

/// Default testing time.
const TIME: Duration = Duration::from_secs(5);
/// Advice on writing report files.
const HINT: &str =
    "`.report_dir(DIR)` stores it for `confute replay`, with scripts for curl and Python where possible";
/// Advice on writing report files for a model that the binary does not include.
const OWN_HINT: &str = "`.report_dir(DIR)` stores it in files";
/// Folder of stored violations, beside `Cargo.toml`.
const FOLDER: &str = "confute-regressions";

/// A test of one server.
///
/// ```no_run
/// use std::time::Duration;
///
/// confute_test::http("http://127.0.0.1:8080/")
///     .max_time(Duration::from_secs(20))
///     .connections(8)
///     // A deviation that is known and accepted:
///     .allow("rfc9110-15.5.6/allow")
///     // Reports as files, for CI to keep:
///     .report_dir("target/confute".into())
///     .run();
/// ```
///
/// [`try_run`](Check::try_run) returns the outcome and the text of the report instead of failing:
///
/// ```no_run
/// let (outcome, report) = confute_test::memcached("127.0.0.1:11211").cases(10).try_run()?;
/// println!("{} violations\n{report}", outcome.findings.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Check {
    /// The server, or an error in its configuration, which is reported when the test runs.
    subject: Result<Subject, RunError>,
    plan: Plan,
    shrink_time: Duration,
    regressions: Option<PathBuf>,
    report_dir: Option<PathBuf>,
    /// `true` if the server may be on another machine.
    remote: bool,
}

/// Tests the HTTP/1.1 origin server below this URL. The test writes to the server.
pub fn http(url: &str) -> Check {
    http_through(url, &Reach::default())
}

/// Tests the HTTP/1.1 origin server below this URL, with required header fields or the certificate of a
/// private authority.
pub fn http_through(url: &str, reach: &Reach) -> Check {
    Check::of(confute_http::origin(url, reach))
}

/// Tests the memcached server at this address, `HOST:PORT`.
pub fn memcached(place: &str) -> Check {
    Check::of(confute_memcached::server(place, false, Habits::default()))
}

/// Tests the REST service at this URL. It is described by the text of its OpenAPI document (`include_str!`), by the path of the
/// document or of a model that `confute rest --save-model` wrote, or by a [`Plan`](confute_rest::plan::Plan). The test writes to the
/// service.
///
/// ```no_run
/// # fn start_my_service() -> String { String::new() }
/// let url = start_my_service();
/// confute_test::rest(std::path::Path::new("openapi.yaml"), &url).run();
/// ```
pub fn rest(description: impl Description, url: &str) -> Check {
    rest_through(description, url, &Reach::default())
}

/// Tests the REST service at this URL, with required header fields, such as a login, or the certificate of a private authority.
pub fn rest_through(description: impl Description, url: &str, reach: &Reach) -> Check {
    Check::of(confute_rest::service(description, url, reach))
}

/// Tests a service of your own at this address, `HOST:PORT`: its model, the wire that carries its messages, and the
/// traffic. See [`confute_service`] and the tutorial in GUIDE.md.
///
/// ```no_run
/// use confute_test::prelude::*;
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// enum Line {
///     #[request("PING")]
///     Ping,
///     #[response("PONG")]
///     Pong,
///     #[unreadable]
///     Odd(String),
/// }
///
/// struct Pings;
///
/// impl ServerModel for Pings {
///     type Msg = Line;
///     type Out = Expected<Line>;
///     fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
///         let (conn, _) = io.recv()?;
///         io.send(conn, Line::Pong)
///     }
/// }
///
/// confute_test::service("127.0.0.1:7000", Pings, wire::lines(), Mix::all()).connections(16).run();
/// ```
///
/// One case runs at a time. If everything that the server keeps belongs to a [`Name`](confute_service::Name) of a case, more of them
/// are faster ([`Check::workers`]). Otherwise, as with one register for all clients, cases would meet in the server, and a correct
/// one would be refuted.
pub fn service<S, W>(place: &str, model: S, wire: W, mix: Mix<S::Msg>) -> Check
where
    S: ServerModel<Msg: Message> + Send + Sync + 'static,
    W: Wire<S::Msg>,
{
    Check::of(Service::new(model, wire).at(place, mix))
}

impl Check {
    /// Tests a server of any protocol. The name of the model is stored in cases; `make` creates the traffic
    /// of each case.
    pub fn new(
        protocol: impl Protocol,
        model: &str,
        target: Target,
        make: impl Fn(u64) -> AnyGenerator<'static> + Send + Sync + 'static,
    ) -> Self {
        Self::of(Ok(Subject::new(model, protocol, target, make)))
    }

    /// Tests the server that a kit has opened.
    pub fn of(subject: Result<Subject, RunError>) -> Self {
        let nowhere = Target::new(([127, 0, 0, 1], 0).into());
        let target = subject.as_ref().map_or(nowhere, |subject| subject.target);
        let mut plan = Plan {
            prefix: "confute-".to_owned(),
            max_time: Some(TIME),
            seed: fresh_seed(),
            ..Plan::new(target)
        };
        if subject.as_ref().is_ok_and(|subject| subject.is_shipped) {
            plan.workers = Workers::Auto;
        } else {
            // Only the author knows whether cases meet in the server: two that do would refute a correct one.
            plan.workers = Workers::Fixed(1);
            // The model has been run only by its author, so all of its turns are repeated.
            plan.limits.repeat_all = true;
        }
        let subject = subject.map(|subject| Subject { door: Door::Test, ..subject });
        let beside = env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from);
        Self {
            subject,
            plan,
            shrink_time: Duration::from_secs(10),
            regressions: Some(beside.join(FOLDER)),
            report_dir: None,
            remote: false,
        }
    }

    /// Sets the seed of all random choices. The default differs from run to run, and a failure prints it.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.plan.seed = seed;
        self
    }

    /// Sets the testing time. The default is five seconds.
    #[must_use]
    pub fn max_time(mut self, time: Duration) -> Self {
        self.plan.max_time = Some(time);
        self
    }

    /// Sets the maximum number of cases.
    #[must_use]
    pub fn cases(mut self, cases: u64) -> Self {
        self.plan.cases = Some(cases);
        self
    }

    /// Sets the number of violations after which the test ends.
    #[must_use]
    pub fn max_failures(mut self, failures: usize) -> Self {
        self.plan.max_failures = failures.max(1);
        self
    }

    /// Sets the number of connections that a case opens.
    #[must_use]
    pub fn connections(mut self, connections: u32) -> Self {
        self.plan.limits.connections = connections.max(1);
        self
    }

    /// Sets the number of cases that run at the same time. The default for the kits of Confute is as many as keep the tester busy
    /// while others wait, with no more connections than the server takes; for a service of one's own it is one, because only its
    /// author knows that cases do not meet in the server. With one, cases follow each other in the same order each time.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.plan.workers = Workers::Fixed(workers.max(1));
        self
    }

    /// Sets the time to wait for a response.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.plan.limits.patience = patience;
        self
    }

    /// Permits violations of this rule.
    #[must_use]
    pub fn allow(mut self, rule: &str) -> Self {
        let Ok(subject) = &self.subject else { return self };
        match subject.rules().iter().find(|known| known.name == rule) {
            Some(known) => self.plan.allow.push(known.name),
            None => {
                let list = match subject.rules() {
                    _ if subject.is_shipped => "`confute rules` lists them".to_owned(),
                    [] => "the model has none".to_owned(),
                    all => format!(
                        "the model has {}",
                        all.iter().map(|rule| rule.name).collect::<Vec<_>>().join(", ")
                    ),
                };
                self.subject = Err(RunError::Usage(format!("no rule is called {rule}; {list}")));
            }
        }
        self
    }

    /// Sets the lowest level at which a violation fails the test.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.plan.level = level;
        self
    }

    /// Lets a violation fail the test also if its level is high enough only by experiment.
    #[must_use]
    pub fn by_experiment(mut self) -> Self {
        self.plan.by_experiment = true;
        self
    }

    /// Sets the time limit of shrinking and experiments.
    #[must_use]
    pub fn shrink_time(mut self, time: Duration) -> Self {
        self.shrink_time = time;
        self
    }

    /// Sets the folder where violations are stored, and from which they are run first; `None` stores nothing.
    #[must_use]
    pub fn regressions(mut self, folder: Option<PathBuf>) -> Self {
        self.regressions = folder;
        self
    }

    /// Writes the files of `confute --report-dir` into this folder.
    #[must_use]
    pub fn report_dir(mut self, folder: PathBuf) -> Self {
        self.report_dir = Some(folder);
        self
    }

    /// Permits a server on another machine. The test writes to the server.
    #[must_use]
    pub fn remote(mut self) -> Self {
        self.remote = true;
        self
    }

    /// Runs the test. Returns the outcome if there is no violation.
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
            Err(why) => fail(&why.to_string()),
        }
    }

    /// Runs the test without panicking. Returns the outcome and its report.
    pub fn try_run(self) -> Result<(Outcome, String), RunError> {
        self.go().map(|(outcome, text, _)| (outcome, text))
    }

    /// Runs the test. Returns the outcome, its report and a brief report, without colours because they end up in logs.
    fn go(mut self) -> Result<(Outcome, String, String), RunError> {
        self.obey_environment()?;
        let Check { subject, plan, .. } = self;
        let subject = subject?;
        guard(subject.target.address, self.remote, ".remote()")?;
        let output = |why: &dyn Display| RunError::Output(why.to_string());
        let reports = self.report_dir.as_deref().map(Reports::create).transpose();
        let reports = reports.map_err(|error| output(&error))?;
        let job = Job {
            subject: &subject,
            plan: &plan,
            shrink_time: (!self.shrink_time.is_zero()).then_some(self.shrink_time),
            regressions: self.regressions.as_deref(),
            baseline: None,
            progress: None,
        };
        let mut recorder = Recorder { door: subject.door, ..Recorder::default() };
        let Done { outcome, beside, mut unwritten } =
            session::run(&job, &mut recorder, &AtomicBool::new(false))?;
        let record = record::of(&subject, &plan, &outcome, &beside, &recorder.log, &recorder.remarks);
        let mut paths = Vec::new();
        if let Some(reports) = &reports {
            let written = reports.write(&record);
            paths = written.paths;
            if let Some(missing) = written.missing.first() {
                unwritten = Some(output(&format!("cannot write the reports: {}", missing.told())));
            }
        }
        let written = |quiet: bool| {
            let hint = if subject.is_shipped { HINT } else { OWN_HINT };
            let detail = if quiet { Detail::Verdict } else { Detail::Whole };
            let manner = Manner { paths: &paths, hint, detail };
            let mut text = Vec::new();
            // Writing into memory does not fail.
            let _ = summary::write(&record, manner, &mut text);
            anstream::adapter::strip_str(&String::from_utf8_lossy(&text)).to_string()
        };
        let (mut text, mut brief) = (written(false), written(true));
        for one in &record.notes.tried {
            let _ = writeln!(brief, "  {one}");
        }
        if let Some(why) = unwritten {
            // The report is not lost with the file: it becomes part of the error.
            return Err(output(&format!("{text}\n{why}")));
        }
        if outcome.conclusion != Conclusion::Unrefuted {
            let _ = writeln!(text, "\nTo repeat this run: CONFUTE_SEED={} cargo test", plan.seed);
        }
        if outcome.troubles.iter().any(|(trouble, _)| matches!(trouble, Trouble::Mistake(_))) {
            // The mistake is in the test itself, so there is no verdict on the server.
            return Err(RunError::Mistake(text));
        }
        Ok((outcome, text, brief))
    }

    /// Applies the environment variables, which override the settings of the test.
    fn obey_environment(&mut self) -> Result<(), RunError> {
        let read = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let wrong = |name: &str, value: &str, why: &str| RunError::Usage(format!("{name}={value}: {why}"));
        if let Some(seed) = read("CONFUTE_SEED") {
            self.plan.seed = seed.parse().map_err(|_| wrong("CONFUTE_SEED", &seed, "not a number"))?;
        }
        if let Some(time) = read("CONFUTE_MAX_TIME") {
            let parsed = quantity::duration(&time).map_err(|why| wrong("CONFUTE_MAX_TIME", &time, &why))?;
            self.plan.max_time = Some(parsed);
        }
        if let Some(cases) = read("CONFUTE_CASES") {
            let parsed = cases.parse().map_err(|_| wrong("CONFUTE_CASES", &cases, "not a number"))?;
            self.plan.cases = Some(parsed);
        }
        Ok(())
    }
}

/// Prints the brief report of a passing test.
#[expect(clippy::print_stdout, reason = "that is how a test says something")]
fn tell(text: &str) {
    println!("{}", text.trim_end());
}

/// Fails the test with this text. Colours are removed: the report of a stored case may have some.
#[expect(clippy::panic, reason = "that is how a test fails")]
#[track_caller]
pub(crate) fn fail(text: &str) -> ! {
    panic!("\n{}", anstream::adapter::strip_str(text))
}
