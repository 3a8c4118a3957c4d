//! Stored cases: a violation in a file of its own, with its script, its trace, its blame, and the settings to
//! speak to such a server.
//!
//! The format is JSON Lines: a header, then one step or event per line. The file alone suffices to judge the
//! case again, or to run it again on a server.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use confute::trace::Event;
use confute_drive::{AnyAsk, AnyMessage, AnyProtocol, Finding, Plan, Step};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use confute_record::put::put;

use crate::error::While as _;
use crate::{RunError, Subject};

const VERSION: u64 = 1;
const EXAMPLE: &str = r#"{"confute":"case","version":1,"model":"http",…}"#;
/// Acceptable probability that no run shows a case that still fails.
const MISSED: f64 = 0.05;
/// Size in bytes above which a file is not a case.
const LARGEST: u64 = 256 << 20;

/// The header of a stored case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Model that the case was judged by.
    pub model: String,
    /// Settings that are needed to speak to such a server: the path, the address of the origin.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub settings: Value,
    /// The server, as the user named it.
    pub server: String,
    /// Sets of rules each of which explains the case if broken.
    pub blame: Vec<Vec<String>>,
    /// Level of the violation.
    #[serde(default)]
    pub level: Option<String>,
    /// The name of the case on the server.
    pub name: String,
    /// Prefix of its name, and of that of every other case of the run.
    #[serde(default)]
    pub prefix: String,
    /// Seed of its random choices.
    pub seed: u64,
    /// Number of connections that it may have open.
    pub connections: u32,
    /// Rules that were relaxed.
    #[serde(default)]
    pub relaxed: Vec<String>,
    /// The event that nothing explains.
    pub seen: String,
    /// Number of runs that reproduced it, and number of all runs, when it was stored.
    #[serde(default)]
    pub again: (u32, u32),
}

/// The first line of the file.
#[derive(Serialize)]
struct Marked<'a> {
    confute: &'a str,
    version: u64,
    #[serde(flatten)]
    about: &'a About,
}

/// A line of the file, after the header.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredLine {
    Step(Step<Value>),
    Event(Event<Value>),
}

/// A stored case.
pub struct StoredCase {
    /// The header.
    pub about: About,
    /// The steps that were performed.
    pub script: Vec<Step<AnyAsk>>,
    /// The events, up to the one that nothing explains.
    pub trace: Vec<Event<AnyMessage>>,
}

/// Form of a finding that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The smaller case, if there is one.
    Shrunk,
    /// The case in which it was found.
    Found,
}

impl StoredCase {
    /// Creates the stored case of a finding.
    pub fn new(subject: &Subject, plan: &Plan, finding: &Finding, form: Form) -> Self {
        let case = match form {
            Form::Shrunk => finding.shown(),
            Form::Found => finding.as_found(),
        };
        let strings = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let about = About {
            model: subject.model.clone(),
            settings: subject.settings.clone(),
            server: subject.shown.clone(),
            blame: finding.diagnoses.iter().map(|one| strings(&one.rules)).collect(),
            level: finding.level.map(|level| level.name().to_owned()),
            name: case.name.to_owned(),
            prefix: plan.prefix.clone(),
            seed: finding.seed,
            connections: plan.limits.connections,
            relaxed: strings(&finding.relaxed),
            seen: case.refutation.seen.clone(),
            again: case.again.unwrap_or_default(),
        };
        Self { about, script: case.script.to_vec(), trace: case.trace.to_vec() }
    }

    /// Returns the file as text.
    pub fn text(&self) -> Result<String, serde_json::Error> {
        let header = Marked { confute: "case", version: VERSION, about: &self.about };
        let mut text = serde_json::to_string(&header)?;
        text.push('\n');
        let steps = self.script.iter().map(|step| json!({ "step": step }));
        for line in steps.chain(self.trace.iter().map(|event| json!({ "event": event }))) {
            text.push_str(&line.to_string());
            text.push('\n');
        }
        Ok(text)
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let text = self.text()?;
        put(path, |file| file.write_all(text.as_bytes()))
    }

    /// Parses the steps and the events of a file whose header was parsed.
    pub fn read(protocol: &dyn AnyProtocol, file: File) -> Result<Self, RunError> {
        let File { about, shown, text } = file;
        let (mut script, mut trace) = (Vec::new(), Vec::new());
        for (number, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty()) {
            let read = serde_json::from_str(line).and_then(|line| {
                match line {
                    StoredLine::Step(step) => script.push(step.try_map(|ask| protocol.read_ask(ask))?),
                    StoredLine::Event(event) => {
                        trace.push(event.try_map(|message| protocol.read_message(message))?);
                    }
                }
                Ok(())
            });
            read.reading(format!(
                "{shown}:{}: neither a step nor an event of model {}",
                number + 1,
                about.model
            ))?;
        }
        if script.is_empty() || trace.is_empty() {
            let what = if script.is_empty() { "steps" } else { "events" };
            return Err(RunError::Input(format!("{shown}: the case has no {what}")));
        }
        Ok(Self { about, script, trace })
    }

    /// Returns the rules that were relaxed. If the model no longer has one of them, the case cannot be judged
    /// as it was then: this is returned as an error.
    pub fn relaxed(&self, protocol: &dyn AnyProtocol) -> Result<Vec<&'static str>, String> {
        let rules = protocol.model().rules();
        let named = |name: &String| {
            let rule = rules.iter().find(|rule| rule.name == name);
            rule.map(|rule| rule.name).ok_or_else(|| {
                format!("it was recorded with {name} relaxed, and the model no longer has that rule")
            })
        };
        self.about.relaxed.iter().map(named).collect()
    }
}

impl About {
    /// Returns the rules that it was blamed on, in words.
    pub fn blamed_on(&self) -> String {
        if self.blame.is_empty() {
            return "no rule of the model".to_owned();
        }
        self.blame.iter().map(|rules| rules.join(" and ")).collect::<Vec<_>>().join(", or ")
    }

    /// Returns `true` if a finding may be the same violation.
    pub fn is_about(&self, finding: &Finding) -> bool {
        let unexplained = finding.diagnoses.is_empty() && self.blame.is_empty();
        unexplained || finding.is_explained_by(&self.blame)
    }

    /// Returns `true` if breaking nothing but these rules explains it.
    pub fn is_allowed(&self, allowed: &[&str]) -> bool {
        self.blame.iter().any(|rules| rules.iter().all(|rule| allowed.contains(&&**rule)))
    }

    /// Returns the number of runs, within bounds, that show the case with a probability of 95 % if it fails
    /// as often as it did when it was stored. Returns the upper bound if nobody counted then, or it never
    /// failed.
    pub fn runs(&self, least: u32, most: u32) -> u32 {
        let (shown, of) = self.again;
        if shown == 0 {
            return most;
        }
        let misses = 1.0 - f64::from(shown) / f64::from(of);
        #[expect(clippy::cast_sign_loss, reason = "both logarithms are negative")]
        let needed = (MISSED.ln() / misses.ln()).ceil() as u32;
        needed.clamp(least, most)
    }
}

/// A file whose header was parsed: the model in it decides how the rest is parsed.
pub struct File {
    /// The header.
    pub about: About,
    shown: String,
    text: String,
}

impl File {
    /// Reads a file and parses its header.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        let shown = path.display().to_string();
        let size = fs::metadata(path).reading(format!("{shown}: cannot be read"))?.len();
        if size > LARGEST {
            return Err(RunError::Input(format!("{shown}: too large to be a case ({size} bytes)")));
        }
        let text = fs::read_to_string(path).reading(format!("{shown}: cannot be read"))?;
        Self::parse(shown, text)
    }

    /// Returns the number of requests of its script.
    pub fn requests(&self) -> usize {
        self.text.lines().skip(1).filter(|line| line.starts_with(r#"{"step":{"ask":"#)).count()
    }

    /// Returns the whole text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Parses the header of a text, which errors name as `shown`.
    pub fn parse(shown: String, text: String) -> Result<Self, RunError> {
        let first = text.lines().next().unwrap_or_default();
        let value: Value = serde_json::from_str(first).unwrap_or_default();
        let wrong = match (value["confute"].as_str(), &value["version"]) {
            (Some("case"), version) if version == VERSION => None,
            (Some("case"), version) => {
                Some(format!("{shown}: version {version} of cases is not known here, only {VERSION}"))
            }
            (Some("trace"), _) => {
                Some(format!("{shown}: this is a trace; `confute check {shown}` judges it"))
            }
            _ => Some(format!("{shown}: not a case; expected a first line such as {EXAMPLE}")),
        };
        if let Some(wrong) = wrong {
            return Err(RunError::Input(wrong));
        }
        let about = serde_json::from_value(value).reading(format!("{shown}:1: the header of a case"))?;
        Ok(Self { about, shown, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shows_rarely_is_done_more_often() {
        let header = r#"{"confute":"case","version":1,"model":"m","server":"s","blame":[],"name":"n","seed":0,"connections":1,"seen":""}"#;
        let about = File::parse("a".to_owned(), header.to_owned()).unwrap().about;
        let runs = |again| About { again, ..about.clone() }.runs(10, 100);
        // Of batches of 10 runs that each fail with 20 %, one in ten shows no failure.
        assert_eq!([(10, 10), (5, 10), (2, 10), (1, 10)].map(runs), [10, 10, 14, 29]);
        assert_eq!([(1, 1000), (0, 10), (0, 0)].map(runs), [100, 100, 100]);
    }
}
