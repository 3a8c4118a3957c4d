//! The REST kit: its command line, its settings and its subject.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use confute_drive::{AnyGenerator, Caller, Limits, Target};
use confute_run::kit::{Reach, ReachArguments, Run, StoredSettings, setting};
use confute_run::way::{Way, way};
use confute_run::{Book, Explanation, Kit, RunError, Secrets, Subject};
use serde_json::json;

use crate::message::Op;
use crate::outline::Outline;
use crate::plan::{FORMAT, Maker, Plan, Resource, Validator};
use crate::protocol::Rest;
use crate::traffic::Traffic;
use crate::wire::Access;
use crate::{explain, learn, openapi, rules};

/// Placeholder for the address of the service when a stored case is judged without one.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Number of connections of all cases together: many services have a few dozen threads, and more requests only wait for each other.
const MOST_CONNECTIONS: u32 = 64;

/// The kit for REST services.
#[derive(Clone, Copy, Debug)]
pub struct RestKit;

const ABOUT: &str = "Test a REST service that is described by an OpenAPI document";

const LONG_ABOUT: &str = "\
Test a REST service that is described by an OpenAPI document (3.0 or 3.1, JSON or YAML).

Finds the resources in the document, creates, reads, changes, lists and removes items of its own over many connections, and \
refutes the service if no correct one could have answered so: a lost update, an id that was given twice, a list that \
disagrees with the items, an If-Match that is ignored or raced. What it understood, assumed and left out is reported first; \
--save-model writes it into a file that can be edited and given in place of the document. Fields that the server computes \
are not compared. The premise is that nobody else changes the items of the tester.";

const EXAMPLES: &str = "\
Examples:
  confute rest openapi.yaml http://127.0.0.1:8080/
  confute rest openapi.json http://127.0.0.1:8080/api --max-time 5m --connections 16
  TOKEN=… confute rest openapi.json http://127.0.0.1:8080/ --bearer-env TOKEN
  confute rest openapi.json http://127.0.0.1:8080/ --save-model model.json
  confute rest model.json http://127.0.0.1:8080/ --report-dir found

Exit codes: 0 unrefuted, 1 refuted, 2 wrong usage or document, 3 inconclusive or nothing was tested.";

/// The arguments of `confute rest`.
#[derive(Clone, Debug, Default, clap::Args)]
struct Arguments {
    /// OpenAPI document of the service, or a model saved by --save-model.
    #[arg(value_name = "OPENAPI")]
    document: PathBuf,
    /// URL of the service: `http://HOST[:PORT][/PATH]`, or https://. A path replaces that of the document's server.
    #[arg(value_name = "URL")]
    url: String,
    /// Environment variable with a token, which every request sends as `Authorization: Bearer …`.
    #[arg(long, value_name = "VARIABLE")]
    bearer_env: Option<String>,
    /// Write the model of the service into this file: what was understood, assumed and left out.
    #[arg(long, value_name = "FILE")]
    save_model: Option<PathBuf>,
    /// Test the service by the model alone, without finding out first what it does.
    #[arg(long)]
    no_survey: bool,
    #[command(flatten)]
    reach: ReachArguments,
}

impl Kit for RestKit {
    fn name(&self) -> &'static str {
        "rest"
    }

    fn books(&self) -> Vec<Book> {
        vec![Book {
            name: "rest",
            summary: "A REST service: items that are created, read, changed, listed and removed.",
            rules: rules::ALL,
            command: "confute rest OPENAPI URL",
        }]
    }

    fn explain(&self, rule: &str) -> Option<Explanation> {
        explain::of(rule)
    }

    fn example(&self) -> Option<(&'static str, &'static str)> {
        Some(("confute rest openapi.yaml http://127.0.0.1:8080/", "test a REST service"))
    }

    fn command(&self, command: Command) -> Option<Command> {
        // Descriptions come after the arguments, because `augment_args` overwrites them.
        let command = Arguments::augment_args(command);
        Some(command.about(ABOUT).long_about(LONG_ABOUT).after_help(EXAMPLES))
    }

    fn open(&self, arguments: &ArgMatches, run: &Run<'_>) -> Result<Subject, RunError> {
        let arguments =
            Arguments::from_arg_matches(arguments).map_err(|error| RunError::Usage(error.to_string()))?;
        let plan = read(&arguments.document)?;
        let mut reach = arguments.reach.reach();
        if let Some(variable) = &arguments.bearer_env {
            let token = std::env::var(variable).ok().filter(|token| !token.is_empty());
            let token = token.ok_or_else(|| {
                RunError::Usage(format!("--bearer-env {variable}: the environment has no such variable"))
            })?;
            reach.fields.push(format!("Authorization: Bearer {token}"));
        }
        let way = way(&arguments.url, &reach)?;
        // The guard must agree before anything is sent.
        (run.guard)(way.place.address)?;
        let survey = (!arguments.no_survey).then_some(run.patience);
        let (subject, plan) = service_subject(plan, &arguments.url, way, survey)?;
        if let Some(path) = &arguments.save_model {
            save(&plan, path)?;
        }
        Ok(subject)
    }

    fn reopen(&self, stored: &StoredSettings<'_>) -> Option<Result<Subject, RunError>> {
        (stored.model == "rest").then(|| {
            let plan: Plan = setting(stored.settings, "plan")?;
            let way = match stored.target {
                Some(url) => way(url, stored.reach)?,
                None => Way {
                    place: Target::new(NOWHERE),
                    path: "/".to_owned(),
                    host: stored.server.to_owned(),
                    fields: Vec::new(),
                    secrets: Secrets::default(),
                },
            };
            let shown = stored.target.unwrap_or(stored.server);
            Ok(service_subject(plan, shown, way, None)?.0)
        })
    }
}

/// Returns the subject for the REST service at this URL. The service is asked first what it does, if it is on this
/// machine.
pub fn service(description: impl Description, url: &str, reach: &Reach) -> Result<Subject, RunError> {
    let way = way(url, reach)?;
    let survey = way.place.address.ip().is_loopback().then(|| Limits::default().patience);
    Ok(service_subject(description.plan()?, url, way, survey)?.0)
}

/// A description of a service: a [`Plan`], the text of an OpenAPI document or of a saved model, or the path of such a file.
pub trait Description {
    /// Returns the plan of the service.
    fn plan(self) -> Result<Plan, RunError>;
}

impl Description for Plan {
    fn plan(self) -> Result<Plan, RunError> {
        Ok(self)
    }
}

impl Description for &str {
    fn plan(self) -> Result<Plan, RunError> {
        parse(self).map_err(RunError::Input)
    }
}

impl Description for &Path {
    fn plan(self) -> Result<Plan, RunError> {
        read(self)
    }
}

/// Reads an OpenAPI document or a saved model from a file.
pub fn read(path: &Path) -> Result<Plan, RunError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| RunError::Input(format!("{}: cannot be read: {error}", path.display())))?;
    parse(&text).map_err(|why| RunError::Input(format!("{}: {why}", path.display())))
}

/// Reads an OpenAPI document or a saved model. The error says what is wrong with it.
pub fn parse(text: &str) -> Result<Plan, String> {
    let value = openapi::read_yaml_or_json(text).map_err(|why| why.to_string())?;
    if value.get("confute-rest").is_some() {
        let plan: Plan = serde_json::from_value(value).map_err(|why| {
            format!("it is a model of this tester, but {why}; --save-model writes a correct one")
        })?;
        return Ok(plan);
    }
    openapi::plan(text).map_err(|why| why.to_string())
}

/// Writes a plan into a file.
fn save(plan: &Plan, path: &Path) -> Result<(), RunError> {
    let failed = |why: String| RunError::Output(format!("--save-model {}: {why}", path.display()));
    let mut text = serde_json::to_string_pretty(plan).map_err(|why| failed(why.to_string()))?;
    text.push('\n');
    std::fs::write(path, text).map_err(|why| failed(why.to_string()))
}

/// Returns the subject, and the plan as the survey left it.
fn service_subject(
    mut plan: Plan,
    shown: &str,
    way: Way,
    survey: Option<Duration>,
) -> Result<(Subject, Plan), RunError> {
    plan.format = if plan.format == 0 { FORMAT } else { plan.format };
    let base = match way.path.trim_end_matches('/') {
        "" => plan.base.trim_end_matches('/').to_owned(),
        given => given.to_owned(),
    };
    let access = Access { host: way.host, base, fields: way.fields };
    let unusable = |why: String| RunError::Input(format!("the model cannot be used: {why}"));
    Outline::new(plan.clone()).map_err(unusable)?;
    let (planned, mut remarks) = (plan.clone(), notes(&plan));
    let surveyed = match survey {
        None => Ok(Vec::new()),
        Some(patience) => {
            let limits = Limits { patience, ..Limits::default() };
            // A name that no other run has.
            let random = RandomState::new().hash_one(std::process::id()) as u32;
            let name = format!("confute-{random:08x}-s");
            let caller = Caller::new(way.place, &limits).named(name.clone());
            learn::learn(&mut plan, &access, &caller, &name)
        }
    };
    if surveyed.is_err() {
        // It is reported when the run begins; until then the plan has to be one.
        plan = planned;
    }
    let surveyed = surveyed.map(|learnt| {
        let mut all: Vec<String> = plan.resources.iter().map(understood).collect();
        all.append(&mut remarks);
        all.extend(learnt);
        all
    });
    let outline = Outline::new(plan.clone()).map_err(unusable)?;
    let rest = Rest::new(outline.clone(), access).surveyed(surveyed);
    let traffic = move |case: u64| AnyGenerator::new::<Rest>(Traffic::new(outline.clone(), case));
    let subject = Subject::new("rest", rest, way.place, traffic);
    let settings = json!({ "plan": &plan });
    let subject = Subject {
        shown: shown.to_owned(),
        premise: "nobody else changes the items of this run".to_owned(),
        clause: explain::clause,
        settings,
        secrets: way.secrets,
        most_connections: MOST_CONNECTIONS,
        is_shipped: true,
        ..subject
    };
    Ok((subject, plan))
}

/// Returns the assumptions of a plan and what it leaves out.
fn notes(plan: &Plan) -> Vec<String> {
    let assumed = plan.assumed.iter().map(|one| format!("assumed: {one}"));
    assumed.chain(plan.left_out.iter().map(|one| format!("left out: {one}"))).collect()
}

/// Returns what was understood of a resource, in a sentence.
fn understood(resource: &Resource) -> String {
    let has = |op: &Op| match op {
        Op::Create => resource.create.is_some(),
        Op::Read => resource.read.is_some(),
        Op::Replace => resource.replace.is_some(),
        Op::Patch => resource.patch.is_some(),
        Op::Delete => resource.delete.is_some(),
        Op::List => resource.list.is_some(),
    };
    let operations: Vec<&str> = Op::ALL.into_iter().filter(has).map(Op::name).collect();
    let made = match resource.id.made_by {
        Maker::Server => "the server",
        Maker::Client => "the client",
    };
    let own = resource.fields.iter().filter(|(_, owner)| **owner == crate::plan::Owner::Client);
    let own: Vec<&str> = own.map(|(name, _)| name.as_str()).collect();
    let validator = match &resource.validator {
        Some(Validator::Etag { .. }) => ", ETag and If-Match".to_owned(),
        Some(Validator::Version { field }) => format!(", version in `{field}`"),
        None => String::new(),
    };
    let own = if own.is_empty() { "none".to_owned() } else { own.join(", ") };
    format!(
        "understood: {} at {}: {}; {made} makes the id{validator}; fields that are compared: {own}",
        resource.name,
        resource.item,
        operations.join(", ")
    )
}
