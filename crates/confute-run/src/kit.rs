//! Kits: everything that Confute knows about one kind of server, behind one trait.
//!
//! The binary and `confute-test` hold a table of kits and know nothing else about protocols. A new protocol is a crate with a `Kit`,
//! and a line in that table.

use clap::{ArgMatches, Command};
use confute::check::CheckModel;
use confute::lang::Rule;
use serde_json::Value;

use crate::{RunError, Secrets, Subject};

/// The rules of one model.
#[derive(Clone, Copy, Debug)]
pub struct Book {
    /// The name of the model.
    pub name: &'static str,
    /// The model in one sentence.
    pub summary: &'static str,
    /// The rules.
    pub rules: &'static [Rule],
    /// A command in which a rule can be relaxed.
    pub command: &'static str,
}

/// The requirement of a standard behind a rule.
#[derive(Clone, Copy, Debug)]
pub struct Explanation {
    /// The clause; empty if there is none.
    pub clause: &'static str,
    /// The requirement, in our words.
    pub text: &'static str,
    /// Why it matters; empty if there is nothing to say.
    pub why: &'static str,
    /// An exchange that breaks it, line by line.
    pub example: &'static [&'static str],
    /// A command that shows it; empty if there is none.
    pub curl: &'static str,
    /// Rules that it is often confused with.
    pub confused_with: &'static [&'static str],
}

/// Access to a server: settings that belong to the run, and are not stored with a case.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// Header fields for every request, `NAME: VALUE`. Their values do not appear in reports.
    pub fields: Vec<String>,
    /// A file of certificates to trust (PEM).
    pub ca: Option<std::path::PathBuf>,
    /// `true` to trust any certificate.
    pub insecure: bool,
    /// Address on which the tester listens as origin, if it is not the one in the stored case.
    pub origin: Option<String>,
}

/// A stored case to reopen: the contents of its file, and the server to run it on.
pub struct StoredSettings<'a> {
    /// Model that the case was judged by.
    pub model: &'a str,
    /// The settings of the kit, as they were stored.
    pub settings: &'a Value,
    /// The server, as the user named it then.
    pub server: &'a str,
    /// The server to run the case on; without one, the trace is judged again.
    pub target: Option<&'a str>,
    /// Access to that server.
    pub reach: &'a Reach,
    /// Time to wait for a response.
    pub patience: std::time::Duration,
}

/// Everything that Confute knows about one kind of server.
pub trait Kit: Sync {
    /// Returns the name of the kit, which is also that of its command.
    fn name(&self) -> &'static str;

    /// Returns the models of the kit, with their rules.
    fn books(&self) -> Vec<Book>;

    /// Returns the models by which `confute check` judges recorded files.
    fn check_models(&self) -> Vec<&'static dyn CheckModel> {
        Vec::new()
    }

    /// Returns the explanation of a rule, if there is more to say than its summary.
    fn explain(&self, rule: &str) -> Option<Explanation> {
        let _ = rule;
        None
    }

    /// Returns an example for the help of the whole program: a command, and its description.
    fn example(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Adds the description, the arguments and the examples of the kit to its command. `None` if nothing live can be tested.
    fn command(&self, command: Command) -> Option<Command> {
        let _ = command;
        None
    }

    /// Opens the server that parsed arguments name.
    fn open(&self, arguments: &ArgMatches, run: &Run<'_>) -> Result<Subject, RunError> {
        let _ = (arguments, run);
        Err(RunError::Usage(format!("{} has no tester for live servers", self.name())))
    }

    /// Opens the server of a stored case, to run or judge the case again; `None` if the model is not one of
    /// this kit.
    fn reopen(&self, stored: &StoredSettings<'_>) -> Option<Result<Subject, RunError>> {
        let _ = stored;
        None
    }
}

/// Settings of a run that a kit may need to open a server.
pub struct Run<'a> {
    /// Time to wait for a response.
    pub patience: std::time::Duration,
    /// The prefix of every name that the run creates.
    pub prefix: &'a str,
    /// Check of the address before anything is sent to it.
    pub guard: &'a dyn Fn(std::net::SocketAddr) -> Result<(), RunError>,
}

/// The arguments by which a user reaches a server, for the commands that share them.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ReachArguments {
    /// A header field for every request; can be given several times. Its value does not appear in reports.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// Trust only certificates issued by those in this file (PEM), for https://.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub ca: Option<std::path::PathBuf>,
    /// Trust any certificate, for https://. Whoever is in between is not noticed.
    #[arg(long)]
    pub insecure: bool,
}

impl ReachArguments {
    /// Returns the access that these arguments describe.
    pub fn reach(&self) -> Reach {
        Reach { fields: self.header.clone(), ca: self.ca.clone(), insecure: self.insecure, origin: None }
    }
}

/// Returns a setting of a stored case.
pub fn setting<T: serde::de::DeserializeOwned>(settings: &Value, name: &str) -> Result<T, RunError> {
    serde_json::from_value(settings[name].clone()).map_err(|why| {
        RunError::Input(format!("the header of the case has no settings.{name} that makes sense: {why}"))
    })
}

/// Returns the secrets in header fields.
pub fn secrets_of(fields: &[(String, String)]) -> Secrets {
    Secrets::new(fields.iter().map(|(_, value)| &**value))
}
