//! Small traces with known verdicts, which the models and the engine must reproduce.
//!
//! Every file of `corpus/` is a trace whose name ends in its verdict and whose header has a `note` with its
//! purpose. The header of a refuted one has two more fields: `blame` lists the smallest sets of rules whose
//! violation would explain it (empty, if the model has no such rule), and `at` is the number of events before
//! the refuting one (omitted if that is the last). Each trace is judged as a whole, event by event, and in
//! all its prefixes.
//!
//! The verdicts were derived by reasoning, not by running the engine. For every bug of the engine a trace is
//! added.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;

use confute::lang::ServerModel;
use confute::network::Network;
use confute::trace::{self, Event, ReadLimits, Trace};
use confute::{Options, Tester, Verdict, blame, judge};
use confute_models::registry;
use confute_models::{
    accumulator::Accumulator, conditional::Conditional, counter::Counter, echo::Echo, kv::Kv,
    list_append::ListAppend, proxy::Proxy, queue::Queue, register::CasRegister, set::Set, stack::Stack,
    swap::Swap, ticket::TicketOffice,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Verdict in the name of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Unrefuted,
    Refuted,
}

/// Fields of a header in the corpus.
#[derive(Deserialize)]
struct Extra {
    model: String,
    network: String,
    note: String,
    blame: Option<Vec<Vec<String>>>,
    at: Option<usize>,
}

struct File {
    name: String,
    text: String,
    expected: Expected,
    extra: Extra,
}

#[test]
fn every_trace_has_its_verdict() {
    let files = files();
    assert!(files.len() > 150, "only {} files: is this the right folder?", files.len());
    let mut wrong = Vec::new();
    for file in &files {
        let complaints = match file.extra.model.as_str() {
            "accumulator" => check(&Accumulator, file),
            "conditional" => check(&Conditional, file),
            "counter" => check(&Counter, file),
            "echo" => check(&Echo, file),
            "kv" => check(&Kv, file),
            "list-append" => check(&ListAppend, file),
            "proxy" => check(&Proxy, file),
            "queue" => check(&Queue, file),
            "register" => check(&CasRegister, file),
            "set" => check(&Set, file),
            "stack" => check(&Stack, file),
            "swap" => check(&Swap, file),
            "ticket" => check(&TicketOffice, file),
            other => vec![format!("no model is called {other:?}")],
        };
        wrong.extend(
            complaints.into_iter().map(|what| format!("{}: {what}\n  ({})", file.name, file.extra.note)),
        );
    }
    assert!(wrong.is_empty(), "{} complaints:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_model_and_most_rules_are_in_it() {
    let files = files();
    let blamed: BTreeSet<&str> = files
        .iter()
        .flat_map(|file| file.extra.blame.iter().flatten().flatten())
        .map(String::as_str)
        .collect();
    for model in registry::models() {
        for expected in [Expected::Unrefuted, Expected::Refuted] {
            let has = files.iter().any(|file| file.extra.model == model.name() && file.expected == expected);
            assert!(has, "no {expected:?} trace of {}", model.name());
        }
        for rule in model.rules() {
            assert!(blamed.contains(rule.name), "no trace is blamed on {}", rule.name);
        }
    }
}

/// Returns all files of the corpus, sorted by name.
fn files() -> Vec<File> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<File> = std::fs::read_dir(folder)
        .expect("the corpus is beside this file")
        .map(|entry| {
            let path = entry.expect("a readable folder").path();
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            let expected = match name.strip_suffix(".jsonl").map(|stem| stem.rsplit('-').next()) {
                Some(Some("unrefuted")) => Expected::Unrefuted,
                Some(Some("refuted")) => Expected::Refuted,
                _ => panic!("{name} does not end in its verdict"),
            };
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let extra: Extra = serde_json::from_str(text.lines().next().unwrap_or_default())
                .unwrap_or_else(|error| panic!("{name}: the header of a corpus file: {error}"));
            assert!(name.starts_with(&format!("{}-", extra.model)), "{name} is a trace of {}", extra.model);
            assert_eq!(extra.blame.is_some(), expected == Expected::Refuted, "{name}: who is to blame?");
            File { name, text, expected, extra }
        })
        .collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

/// Returns the errors in the judgements of a file.
fn check<S>(model: &S, file: &File) -> Vec<String>
where
    S: ServerModel<Msg: Clone + PartialEq + Debug + Serialize + DeserializeOwned>,
{
    let network = confute::network::network(&file.extra.network).expect("a network that has this name");
    let Trace { events, .. } = trace::read::<S::Msg>(file.text.as_bytes(), ReadLimits::default())
        .unwrap_or_else(|error| panic!("{}: {error}", file.name));
    for (event, line) in events.iter().zip(file.text.lines().skip(1)) {
        assert_eq!(serde_json::to_string(event).expect("an event"), line, "{}: as we write it", file.name);
    }
    let options = Options { turns: 1_000_000, ..Options::default() };
    let refuted_at = match file.expected {
        Expected::Unrefuted => events.len(),
        Expected::Refuted => file.extra.at.unwrap_or(events.len() - 1),
    };
    let mut wrong = Vec::new();
    for length in 0..=events.len() {
        let verdict = judge(model, network, &events[..length], &options);
        if !agrees(&verdict, length > refuted_at) {
            wrong.push(format!("offline, the first {length} events: {verdict:?}"));
        }
    }
    let mut tester = Tester::new(model, network, options.clone());
    for (place, event) in events.iter().enumerate() {
        tester.observe(event.clone());
        let verdict = tester.verdict();
        if !agrees(verdict, place >= refuted_at) {
            wrong.push(format!("online, at event {place}: {verdict:?}"));
        }
        if let Verdict::Refuted(refutation) = verdict
            && refutation.event > refuted_at
        {
            wrong.push(format!("online: event {} is blamed, not {refuted_at}", refutation.event));
        }
    }
    if wrong.is_empty() && file.expected == Expected::Refuted {
        wrong.extend(check_blame(model, network, &events, file));
    }
    wrong
}

fn agrees(verdict: &Verdict, refuted: bool) -> bool {
    if refuted { verdict.is_refuted() } else { verdict.is_unrefuted() }
}

/// Compares the blamed rules with those in the header, and returns the difference, if any.
fn check_blame<S: ServerModel<Msg: Clone>>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
    file: &File,
) -> Option<String> {
    let options = Options { turns: 1_000_000, ..Options::default() };
    let found = blame(model, network, events, &options);
    let sets: BTreeSet<BTreeSet<&str>> =
        found.diagnoses.iter().map(|diagnosis| diagnosis.rules.iter().copied().collect()).collect();
    let expected: BTreeSet<BTreeSet<&str>> =
        file.extra.blame.iter().flatten().map(|set| set.iter().map(String::as_str).collect()).collect();
    (found.incomplete || sets != expected)
        .then(|| format!("blamed on {sets:?}, not {expected:?} (incomplete: {})", found.incomplete))
}
