//! Tests that names are unique and consistent, and that files of every format end in a case or in a one-line
//! error.

use std::io::BufRead;

use confute::Options;
use confute::check::{self, CheckModel, Loaded, Problem};
use confute::network::{network, networks};
use confute::random::Random;
use confute::simulate::ExchangePlan;
use confute::trace::ReadLimits;
use confute_models::registry::{Named, model, models, rule};

fn load(
    file: impl BufRead,
    asked: Option<&'static dyn CheckModel>,
    limits: ReadLimits,
) -> Result<(&'static dyn CheckModel, Loaded), Problem> {
    let known: Vec<_> = models().iter().map(|model| *model as &dyn CheckModel).collect();
    check::load(file, &known, asked, limits)
}

fn loaded(text: &str, name: Option<&str>) -> Result<(&'static dyn CheckModel, Loaded), String> {
    let asked = name.map(|name| model(name).unwrap() as &dyn CheckModel);
    let loaded = load(text.as_bytes(), asked, ReadLimits::default()).map_err(|problem| problem.to_string());
    assert!(!matches!(&loaded, Err(line) if line.contains('\n')));
    loaded
}

fn wrong(text: &str, name: Option<&str>) -> String {
    loaded(text, name).err().unwrap()
}

#[test]
fn names_are_unique_and_rules_carry_them() {
    for named in models() {
        assert_eq!(model(named.name()).unwrap().summary(), named.summary());
        assert!(!named.rules().is_empty(), "{}", named.name());
        for listed in named.rules() {
            assert!(listed.name.starts_with(&format!("{}/", named.name())), "{}", listed.name);
            assert_eq!(rule(listed.name).unwrap().0.name(), named.name());
        }
    }
    assert!(networks().iter().all(|listed| network(listed.name()).is_some()));
    assert!(model("kw").is_none() && network("sctp").is_none() && rule("kv/none").is_none());
}

#[test]
fn every_model_reads_back_what_it_simulates() {
    let plan = ExchangePlan { messages: 50, connections: 3, ..ExchangePlan::default() };
    for named in models() {
        for network in networks() {
            let case = named.simulate(*network, &plan).unwrap();
            let header = confute::trace::Header::new(named.name(), network.name());
            let mut file = Vec::new();
            case.write(&header, &mut file).unwrap();
            let (found, again) = loaded(std::str::from_utf8(&file).unwrap(), None).unwrap();
            assert_eq!((found.name(), again.header), (named.name(), Some(header)));
            assert_eq!(again.case.events(), case.events());
            for place in 0..case.events() {
                assert_eq!(again.case.event(place), case.event(place));
                assert_eq!(again.case.line(place), Some(place + 2));
            }
        }
    }
}

const READERS: &str = "name the model: --model register, kv, queue, stack, counter, set or list-append";
const EDN: &str = "\n{:process 1, :type :invoke, :f :get, :key \"a\", :value nil}\n";
const TRACE: &str = "{\"confute\":\"trace\",\"version\":1,\"model\":\"kv\",\"network\":\"tcp\"}\n";

#[test]
fn histories_are_for_those_who_read_them() {
    let (_, loaded) = loaded(EDN, Some("kv")).unwrap();
    assert_eq!((loaded.case.events(), loaded.case.line(0)), (1, Some(2)));
    assert!(wrong(EDN, None).ends_with(READERS));
    assert!(wrong(EDN, Some("echo")).contains("cannot read histories"));
    assert!(wrong(EDN, Some("register")).starts_with("line 2: the register model knows"));
}

#[test]
fn a_trace_and_the_model_asked_for_agree() {
    assert_eq!(loaded(TRACE, None).unwrap().0.name(), "kv");
    assert_eq!(loaded(TRACE, Some("kv")).unwrap().0.name(), "kv");
    assert!(wrong(TRACE, Some("echo")).contains("recorded for model \"kv\", not `echo`"));
    assert!(
        wrong(&TRACE.replace("kv", "k\\nv"), None).contains("recorded for model \"k\\nv\", which is not")
    );
}

#[test]
fn what_is_neither_is_called_so() {
    for blank in ["", "\n \n"] {
        assert!(wrong(blank, None).starts_with("the file is empty"));
    }
    assert!(wrong("hello", Some("kv")).starts_with("line 1, byte 0: neither a Confute trace"));
    assert!(wrong("a\0b", Some("kv")).starts_with("line 1, byte 1: not a text file"));
    assert!(wrong(&TRACE.replace(":1", ":2"), None).contains("version 2 is not supported"));
    assert!(wrong(&format!("{TRACE}{{\"sent\":[0,{{"), None).contains("ends in the middle of an event"));
}

/// Returns entries of operations of a model, in the notation of `line`.
fn operations(random: &mut Random, model: &str, line: impl Fn(u64, &str, &str, &str) -> String) -> String {
    let names: &[&str] = match model {
        "register" => &["read", "write", "cas"],
        "kv" => &["get", "put", "append"],
        "queue" => &["enqueue", "dequeue", "drain"],
        "stack" => &["push", "pop"],
        "counter" => &["add", "read"],
        "set" => &["add", "remove", "contains", "read"],
        _ => &["txn", "append", "read"],
    };
    let pick = |random: &mut Random, from: &[&'static str]| from[random.below(from.len() as u64) as usize];
    let (mut text, mut open) = (String::new(), [None; 3]);
    for _ in 0..random.below(16) {
        let process = random.below(3);
        let numbers = ["null", "1", "2", "-1", "\"a\""];
        let value = |random: &mut Random, f: &str| match f {
            "cas" => pick(random, &["[1, 2]", "[2, 1]"]),
            "drain" | "read" if model != "counter" && random.chance(2, 3) => {
                pick(random, &["[1, 2]", "[]", "1"])
            }
            "contains" if random.chance(1, 2) => pick(random, &["true", "false"]),
            "txn" => pick(
                random,
                &["[[\"append\", 1, 2]]", "[[\"r\", 1, [2]]]", "[[\"r\", 1, null], [\"append\", 1, 1]]"],
            ),
            _ => pick(random, &numbers),
        };
        if let Some(f) = open[process as usize].take() {
            let value = value(random, f);
            text += &line(process, pick(random, &["ok", "ok", "ok", "fail", "info"]), f, value);
        } else {
            let f = names[random.below(names.len() as u64) as usize];
            open[process as usize] = Some(f);
            let value = value(random, f);
            text += &line(process, "invoke", f, value);
        }
    }
    text
}

/// Returns a valid file for a model.
fn valid(random: &mut Random, named: &dyn Named) -> Vec<u8> {
    let json = |process: u64, phase: &str, f: &str, value: &str| {
        format!(
            "{{\"process\": {process}, \"type\": \"{phase}\", \"f\": \"{f}\", \"key\": 1, \"value\": {value}}}\n"
        )
    };
    let edn = |process: u64, phase: &str, f: &str, value: &str| {
        let value = value.replace("null", "nil").replace("\"append\"", ":append").replace("\"r\"", ":r");
        format!("{{:process {process}, :type :{phase}, :f :{f}, :key 1, :value {value}}}\n")
    };
    let log = |process: u64, phase: &str, f: &str, value: &str| {
        format!("INFO  jepsen.util - {process}\t:{phase}\t:{f}\t{}\n", value.replace("null", "nil"))
    };
    let model = named.name();
    match random.below(if named.reads_histories() { 6 } else { 1 }) {
        0 => {
            let plan = ExchangePlan {
                seed: random.below(1 << 40),
                messages: 6,
                connections: 2,
                ..ExchangePlan::default()
            };
            let network = networks()[random.below(3) as usize];
            let mut file = Vec::new();
            let header = confute::trace::Header::new(model, network.name());
            named.simulate(network, &plan).unwrap().write(&header, &mut file).unwrap();
            file
        }
        1 => operations(random, model, json).into(),
        2 => operations(random, model, edn).into(),
        3 => operations(random, model, log).into(),
        4 => format!("[{}]", operations(random, model, edn)).into(),
        _ => format!("[{}]", operations(random, model, json).trim_end().replace('\n', ",\n")).into(),
    }
}

/// Makes one change to a file.
fn mutate(random: &mut Random, file: &mut Vec<u8>) {
    const TOKENS: [&[u8]; 20] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"\\",
        b",",
        b"\n",
        b"nil",
        b"null",
        b"9223372036854775807",
        b"-9223372036854775808",
        b"99999999999999999999",
        b"true",
        b"[[:r 1 nil]]",
        b":key 2",
        b":error :x",
        b"\"error\": 1,",
        b"\xff",
        b"1.5",
    ];
    let at = random.below(file.len() as u64 + 1) as usize;
    let to = at + random.below((file.len() - at).min(40) as u64 + 1) as usize;
    let other = random.below(file.len() as u64 + 1) as usize;
    match random.below(6) {
        0 if at < file.len() => file[at] ^= 1 << random.below(8),
        1 => file.truncate(at),
        2 => drop(file.drain(at..to)),
        3 => {
            let copy = file[at..to].to_vec();
            drop(file.splice(other..other, copy));
        }
        4 => drop(file.splice(
            at..at,
            (0..=random.below(20)).map(|_| b'0' + random.below(10) as u8).collect::<Vec<_>>(),
        )),
        _ => {
            let token = TOKENS[random.below(TOKENS.len() as u64) as usize];
            drop(file.splice(at..at, token.iter().copied()));
        }
    }
}

/// Files of every model and format, most of them broken: each is judged within a small budget or ends in a one-line
/// error. `CONFUTE_FUZZ` sets the number of files.
#[test]
fn broken_files_of_every_model() {
    let files = std::env::var("CONFUTE_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000u64);
    let mut random = Random::new(5);
    let (mut judged, mut refuted, mut read) = (0u64, 0u64, std::collections::BTreeMap::<&str, u64>::new());
    for _ in 0..files {
        let named = models()[random.below(models().len() as u64) as usize];
        let mut file = valid(&mut random, named);
        for _ in 0..random.below(4) {
            mutate(&mut random, &mut file);
        }
        let asked = random.chance(9, 10).then_some(named);
        match load(
            &*file,
            asked.map(|named| named as &dyn CheckModel),
            ReadLimits { line: 10_000, events: 200 },
        ) {
            Ok((model, loaded)) => {
                let network = networks()[random.below(3) as usize];
                let options = Options { turns: 300, ..Options::default() };
                judged += 1;
                *read.entry(model.name()).or_default() += 1;
                refuted += u64::from(loaded.case.judge(network, &options).is_refuted());
            }
            Err(problem) => {
                let line = problem.to_string();
                let fine = !line.is_empty() && line.len() < 1500 && !line.chars().any(char::is_control);
                assert!(fine, "{line:?} for {}", file.escape_ascii());
            }
        }
    }
    println!("{files} files: {judged} judged, {refuted} refuted, of each model {read:?}");
    assert!(judged > files / 10 && judged < files * 9 / 10 && refuted > files / 100, "{judged}, {refuted}");
    assert_eq!(read.len(), models().len(), "{read:?}");
}
