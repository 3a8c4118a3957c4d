//! The Redis kit: its command line, its settings and its subject.

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use confute_run::kit::{Run, StoredSettings};
use confute_run::{Book, Explanation, Kit, RunError, Secrets, Subject};
use confute_service::{Mix, Service};
use serde_json::json;

use crate::survey::Survey;
use crate::{Redis, RedisModel, Resp, expiring_traffic, explain, rules, traffic};

/// The kit for Redis servers.
#[derive(Clone, Copy, Debug)]
pub struct RedisKit;

/// The environment variable with the password.
pub(crate) const PASSWORD: &str = "CONFUTE_REDIS_PASSWORD";

/// A password, and the user that it belongs to, if it is not the default one.
#[derive(Clone)]
pub struct Password {
    /// The user.
    pub user: Option<String>,
    /// The password.
    pub password: String,
}

const ABOUT: &str = "Test a Redis server";

const LONG_ABOUT: &str = "\
Test a Redis server.

Sends GET, SET, SETNX, GETSET, APPEND, INCR, DEL, EXPIRE, TTL, lists with BLPOP, and transactions with WATCH over many \
connections, below keys of its own that no earlier run has used, and refutes the server when no correct Redis could have \
answered so. Each case ends with DEL of its keys; those of a refuted case stay. The premise is that nobody else writes the \
same keys, and that no key is evicted.";

const EXAMPLES: &str = "\
Examples:
  confute redis 127.0.0.1
  confute redis 127.0.0.1:6380 --max-time 5m --connections 32
  confute redis 127.0.0.1 --expiry
  CONFUTE_REDIS_PASSWORD=… confute redis 127.0.0.1 --user tester
  confute redis 127.0.0.1 --report-dir found --format json

Exit codes: 0 unrefuted, 1 refuted, 2 wrong usage, 3 inconclusive or nothing was tested.";

/// The arguments of `confute redis`.
#[derive(Clone, Debug, Default, clap::Args)]
struct Arguments {
    /// Address of the server: HOST, or HOST:PORT [default port: 6379].
    #[arg(value_name = "ADDR")]
    address: String,
    /// The user that the password in `CONFUTE_REDIS_PASSWORD`, an environment variable, belongs to [default: default].
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Also check that keys expire, by the clock that TIME shows. A case takes seconds longer for it.
    #[arg(long)]
    expiry: bool,
}

impl Kit for RedisKit {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn books(&self) -> Vec<Book> {
        vec![Book {
            name: "redis",
            summary: "A Redis server: strings, integers, lists, transactions.",
            rules: rules::ALL,
            command: "confute redis ADDR",
        }]
    }

    fn explain(&self, rule: &str) -> Option<Explanation> {
        explain::of(rule)
    }

    fn example(&self) -> Option<(&'static str, &'static str)> {
        Some(("confute redis 127.0.0.1:6379", "test a Redis server"))
    }

    fn command(&self, command: Command) -> Option<Command> {
        // Descriptions come after the arguments, because `augment_args` overwrites them.
        let command = Arguments::augment_args(command);
        Some(command.about(ABOUT).long_about(LONG_ABOUT).after_help(EXAMPLES))
    }

    fn open(&self, arguments: &ArgMatches, _: &Run<'_>) -> Result<Subject, RunError> {
        let arguments =
            Arguments::from_arg_matches(arguments).map_err(|error| RunError::Usage(error.to_string()))?;
        let traffic = if arguments.expiry { expiring_traffic() } else { traffic() };
        server(&arguments.address, password(arguments.user), traffic)
    }

    fn reopen(&self, stored: &StoredSettings<'_>) -> Option<Result<Subject, RunError>> {
        (stored.model == "redis").then(|| {
            let user = stored.settings["user"].as_str().map(str::to_owned);
            // Without a target the stored case is only judged: no connection is opened to this address.
            let subject = server(stored.target.unwrap_or("127.0.0.1:0"), password(user), traffic())?;
            Ok(Subject { shown: stored.target.unwrap_or(stored.server).to_owned(), ..subject })
        })
    }
}

/// Returns the password in the environment.
fn password(user: Option<String>) -> Option<Password> {
    std::env::var(PASSWORD).ok().map(|password| Password { user, password })
}

/// Returns the subject for the Redis server at this address, `HOST` or `HOST:PORT`.
pub fn server(place: &str, password: Option<Password>, traffic: Mix<Redis>) -> Result<Subject, RunError> {
    let shown = if place.contains(':') { place.to_owned() } else { format!("{place}:6379") };
    let secrets = Secrets::new(password.iter().map(|one| one.password.as_str()));
    let user = password.as_ref().and_then(|one| one.user.clone());
    let service = Service::new(RedisModel, Resp).apart().outside(Survey { password });
    Ok(Subject {
        model: "redis".to_owned(),
        premise: "nobody else writes the keys of this run, and no key is evicted".to_owned(),
        settings: json!({ "user": user }),
        secrets,
        is_shipped: true,
        ..service.at(&shown, traffic)?
    })
}
