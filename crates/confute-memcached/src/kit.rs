//! The memcached kit: its command line, its settings and its subject.

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use confute_drive::{AnyGenerator, Target};
use confute_run::kit::{Run, StoredSettings, setting};
use confute_run::{Book, Kit, RunError, Subject, address};
use serde_json::json;

use crate::generate::{Habits, Traffic};
use crate::{Memcached, MemcachedModel, rules};

/// The kit for memcached servers.
#[derive(Clone, Copy, Debug)]
pub struct MemcachedKit;

/// Milliseconds that a case with `--expiry` waits until its items must have expired.
const NAP: u64 = 7_000;

const ABOUT: &str = "Test a memcached server";

const LONG_ABOUT: &str = "\
Test a memcached server.

Sends requests of the text protocol over many connections, below keys of its own that no earlier run has used, and \
refutes the server when no correct memcached could have answered so. An item may be lost at any time: a cache may do \
that. The premise is that nobody else writes the same keys.";

const EXAMPLES: &str = "\
Examples:
  confute memcached 127.0.0.1
  confute memcached 127.0.0.1:11311 --max-time 5m --connections 32
  confute memcached 127.0.0.1 --allow memcached/count-large --large
  confute memcached 127.0.0.1 --report-dir found --format json

Exit codes: 0 unrefuted, 1 refuted, 2 wrong usage, 3 inconclusive or nothing was tested.";

/// The arguments of `confute memcached`.
#[derive(Clone, Debug, Default, clap::Args)]
struct Arguments {
    /// Address of the server: HOST, or HOST:PORT [default port: 11211].
    #[arg(value_name = "ADDR")]
    address: String,
    /// The server has enough memory for all items: an item that disappears before it expires is a violation.
    #[arg(long)]
    keeps: bool,
    /// Also use numbers of 2^63 and more, which memcached 1.6 sometimes gets wrong (memcached/count-large).
    #[arg(long)]
    large: bool,
    /// Also test expiration: every case waits seven seconds until its items must have expired.
    #[arg(long)]
    expiry: bool,
}

impl Kit for MemcachedKit {
    fn name(&self) -> &'static str {
        "memcached"
    }

    fn books(&self) -> Vec<Book> {
        vec![Book {
            name: "memcached",
            summary: "A memcached server, spoken to in the text protocol.",
            rules: rules::ALL,
            command: "confute memcached ADDR",
        }]
    }

    fn example(&self) -> Option<(&'static str, &'static str)> {
        Some(("confute memcached 127.0.0.1:11211", "test a memcached server"))
    }

    fn command(&self, command: Command) -> Option<Command> {
        // Descriptions come after the arguments, because `augment_args` overwrites them.
        let command = Arguments::augment_args(command);
        Some(command.about(ABOUT).long_about(LONG_ABOUT).after_help(EXAMPLES))
    }

    fn open(&self, arguments: &ArgMatches, _: &Run<'_>) -> Result<Subject, RunError> {
        let arguments =
            Arguments::from_arg_matches(arguments).map_err(|error| RunError::Usage(error.to_string()))?;
        let nap = if arguments.expiry { NAP } else { 0 };
        let habits = Habits { large: arguments.large, nap, ..Habits::default() };
        server(&arguments.address, arguments.keeps, habits)
    }

    fn reopen(&self, stored: &StoredSettings<'_>) -> Option<Result<Subject, RunError>> {
        (stored.model == "memcached").then(|| {
            let keeps = setting(stored.settings, "keeps")?;
            // Without a target the stored case is only judged: no connection is opened to this address.
            let place = stored.target.unwrap_or("127.0.0.1:0");
            let subject = server(place, keeps, Habits::default())?;
            Ok(Subject { shown: stored.target.unwrap_or(stored.server).to_owned(), ..subject })
        })
    }
}

/// Returns the subject for the memcached server at this address, `HOST` or `HOST:PORT`.
pub fn server(place: &str, keeps: bool, habits: Habits) -> Result<Subject, RunError> {
    let shown = if place.contains(':') { place.to_owned() } else { format!("{place}:11211") };
    let protocol = Memcached::new(MemcachedModel { keeps });
    let traffic = move |_| AnyGenerator::new(Traffic::new(habits.clone()));
    let subject = Subject::new("memcached", protocol, Target::new(address(&shown)?), traffic);
    Ok(Subject {
        shown,
        premise: "nobody else writes the keys of this run".to_owned(),
        settings: json!({ "keeps": keeps }),
        is_shipped: true,
        ..subject
    })
}
