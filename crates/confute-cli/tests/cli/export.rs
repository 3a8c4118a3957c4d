//! Exported files for people without Confute: scripts reproduce the violation on the faulty server, and none on a
//! correct one. Stored cases are judged and replayed.
//!
//! `BUGS=all cargo test -p confute-cli --test cli all_bugs -- --ignored --nocapture` tries every bug of the
//! embedded server, and prints the result of each.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use confute_testbed::embedded::{Area, Bug, Config, Embedded, TagStyle};
use serde_json::Value;

use super::{confute, said};

/// A violation that was found and exported.
struct Found {
    server: Embedded,
    folder: PathBuf,
    about: Value,
}

fn url(server: &Embedded) -> String {
    format!("http://{}/", server.addr())
}

/// Tests a server with this bug. The run sends a field that must not appear in any file.
fn find(bug: Bug) -> Option<Found> {
    find_with(bug, &["-H", "X-Key: hidden-value"])
}

fn find_with(bug: Bug, fields: &[&str]) -> Option<Found> {
    let server = Embedded::start(Config::default().bug(bug)).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("export-{}", bug.name()));
    let _ = std::fs::remove_dir_all(&folder);
    let place = folder.display().to_string();
    let args = ["--seed", "1", "--max-failures", "1", "--max-time", "20s", "--no-survey", "--patience", "1s"];
    let more = [&["-q", "--report-dir", &place], fields].concat();
    let (code, out, err) = said(confute().args(["http", &url(&server)]).args(args).args(more));
    // A server that delays responses may have been refuted before.
    assert!([0, 1, 3].contains(&code), "{out}{err}");
    let summary = std::fs::read_to_string(folder.join("summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let about = summary["findings"].as_array()?.iter().find(|one| one["refutes"] == true)?.clone();
    let folder = folder.join(format!("violation-{}", about["number"]));
    Some(Found { server, folder, about })
}

/// Time limit of a script: it has a minute, and a little for the requests in flight at its end.
const SLOWEST: Duration = Duration::from_mins(1);

/// Returns the exit code and the output of a script.
fn run(path: &Path, server: &Embedded) -> (i32, String) {
    let interpreter = if path.extension().is_some_and(|end| end == "py") { "python3" } else { "bash" };
    let mut command = Command::new(interpreter);
    let output = command.arg(path).arg(url(server)).env("CONFUTE_X_KEY", "hidden-value").output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

/// Returns the result of each script for the faulty server, and for correct ones: one that differs only in the bug,
/// and others, which are listed only if they are accused. All run at the same time, because a script mostly waits.
fn verdicts(found: &Found) -> Vec<(&'static str, i32, i32, String)> {
    let tags = [TagStyle::default(), TagStyle::Weak, TagStyle::WeakAtFirst(Duration::from_millis(20))];
    let correct = tags.map(|tags| Embedded::start(Config::default().tags(tags)).unwrap());
    let both = BOTH.iter().filter(|name| found.folder.join(name).exists());
    thread::scope(|scope| {
        let start = |name: &str, server| {
            let path = found.folder.join(name);
            scope.spawn(move || run(&path, server))
        };
        let started: Vec<_> = both
            .map(|name| {
                (*name, start(name, &found.server), correct.each_ref().map(|server| start(name, server)))
            })
            .collect();
        let ended = started.into_iter().map(|(name, wrong, correct)| {
            let (wrong, said) = wrong.join().unwrap();
            let [first, others @ ..] = correct.map(|one| one.join().unwrap());
            let (fine, more) = others.into_iter().find(|(code, _)| *code == 1).unwrap_or(first);
            (name, wrong, fine, format!("{said}\n----\n{more}"))
        });
        ended.collect()
    })
}

/// Checks that the required scripts exist, that every script tells the faulty server from the correct one, and that
/// replay does.
fn decides(name: &str, scripts: &[&str]) {
    decides_if(name, scripts, true);
}

/// Checks scripts and replay like [`decides`]. Unless `always`, the bug is a race: a client with different timing
/// may never observe it, or nothing comparable (3), but must not accuse a correct server.
fn decides_if(name: &str, scripts: &[&str], always: bool) {
    let found = find(Bug::from_name(name).unwrap()).unwrap();
    let verdicts = verdicts(&found);
    for script in scripts {
        let is_there = verdicts.iter().any(|(file, ..)| file == script);
        assert!(is_there, "no {script}: {:#}", found.about["exports"]);
    }
    for (script, wrong, fine, said) in &verdicts {
        let is_told =
            if always { (*wrong, *fine) == (1, 0) } else { matches!((wrong, fine), (0 | 1 | 3, 0 | 3)) };
        assert!(is_told, "{name}, {script}: {wrong} and {fine}: {said}");
    }
    for file in std::fs::read_dir(&found.folder).unwrap() {
        let text = String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap()).into_owned();
        assert!(!text.contains("hidden-value"), "{text}");
    }
    let har = std::fs::read_to_string(found.folder.join("traffic.har")).unwrap();
    let har: Value = serde_json::from_str(&har).unwrap();
    let entries = har["log"]["entries"].as_array().unwrap();
    assert_eq!(entries.iter().filter(|entry| entry["_confute"]["fatal"] == true).count(), 1, "{har:#}");
    if always {
        replays(&found);
    }
}

fn replays(found: &Found) {
    let case = found.folder.join("violation.case").display().to_string();
    let (code, out, err) = said(confute().args(["replay", &case]));
    // Line breaks depend on the length of the path.
    let words: Vec<&str> = out.split_whitespace().collect();
    assert!(code == 1 && words.join(" ").contains("same verdict as recorded:"), "{out}{err}");
    let on = |server: &Embedded| {
        said(confute().args(["replay", &case, &url(server), "--runs", "30", "--format", "json"]))
    };
    let (code, out, err) = on(&found.server);
    let told: Value = serde_json::from_str(&out).unwrap();
    assert!(code == 1 && told["shown"].as_u64() >= Some(1), "{out}{err}");
    let (code, out, err) = on(&Embedded::start(Config::default()).unwrap());
    let told: Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && told["shown"] == 0 && told["runs"] == 30, "{out}{err}");
}

const BOTH: [&str; 2] = ["reproduce.py", "reproduce.sh"];

#[test]
fn a_condition_that_is_ignored() {
    decides("if-match-ignored-on-put", &BOTH);
}

#[test]
fn scripts_need_no_fields() {
    let found = find_with(Bug::from_name("if-match-ignored-on-delete").unwrap(), &[]).unwrap();
    for (name, wrong, fine, said) in verdicts(&found) {
        assert_eq!((wrong, fine), (1, 0), "{name}: {said}");
    }
    assert!(BOTH.iter().all(|name| found.folder.join(name).exists()), "{:#}", found.about["exports"]);
}

/// One request on a new resource shows it, so there is a line for a shell.
#[test]
fn one_request_is_one_line() {
    let found = find(Bug::from_name("allow-missing").unwrap()).unwrap();
    let command = found.about["command"].as_str().unwrap_or_else(|| panic!("{:#}", found.about));
    let output =
        Command::new("bash").args(["-c", command]).env("CONFUTE_X_KEY", "hidden-value").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).to_ascii_lowercase();
    assert!(told.starts_with("http/1.1 405") && !told.contains("\nallow:"), "{command}: {told}");
    // Two requests are needed here, and a line cannot say so.
    let found = find(Bug::from_name("if-match-ignored-on-delete").unwrap()).unwrap();
    assert_eq!(found.about["command"], Value::Null);
}

#[test]
fn content_instead_of_not_modified() {
    decides("if-none-match-strong-on-get", &BOTH);
}

/// The smallest case may contain a date that is computed from a response; then there is no script for a shell.
#[test]
fn a_stale_read() {
    decides("stale-read", &BOTH[..1]);
}

#[test]
fn two_winners() {
    decides_if("two-winners", &BOTH[..1], false);
}

#[test]
fn a_wrong_length_for_head() {
    decides("head-length-zero", &BOTH);
}

#[test]
fn a_part_that_is_too_short() {
    decides("range-one-short", &BOTH[..1]);
}

#[test]
fn content_after_not_modified() {
    decides("body-after-304", &BOTH[..1]);
}

#[test]
fn two_hosts() {
    decides("two-hosts", &BOTH[..1]);
}

#[test]
fn broken_cases() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken-cases");
    std::fs::create_dir_all(&folder).unwrap();
    let header =
        r#"{"confute":"case","version":1,"model":"http","settings":{"resources":[]},"server":"s","blame":[],
        "name":"n","seed":1,"connections":1,"seen":""}"#
            .replace('\n', "");
    for (text, complaint) in [
        (String::new(), "not a case; expected a first line such as"),
        ("{\"confute\":\"trace\"}".to_owned(), "this is a trace; `confute check"),
        (header.replace("\"version\":1", "\"version\":9"), "version 9 of cases is not known here"),
        (header.clone(), "the case has no steps"),
        (header.replace("\"http\"", "\"gopher\""), "the model gopher has no tester for live servers"),
        (format!("{header}\n{{\"step\":7}}\n"), "neither a step nor an event of model http"),
    ] {
        let path = folder.join("a.case");
        std::fs::write(&path, text).unwrap();
        let (code, out, err) = said(confute().args(["replay", &path.display().to_string()]));
        assert!(code == 2 && out.is_empty() && err.contains(complaint), "{out}{err}");
    }
    let (code, _, err) = said(confute().args(["replay", "nowhere.case"]));
    assert!(code == 2 && err.contains("nowhere.case: cannot be read"), "{err}");
}

#[test]
#[ignore = "a table of all bugs: a quarter of an hour"]
fn all_bugs() {
    let only = std::env::var("BUGS").unwrap_or_default();
    let wanted =
        |bug: &&Bug| only.is_empty() || only == "all" || only.split(',').any(|name| name == bug.name());
    // For each script: the number of its files, and of those that reproduce the violation on the faulty server.
    let mut counts = BOTH.map(|name| (name, 0, 0));
    let (mut slow, mut unfair) = (Vec::new(), Vec::new());
    for bug in Bug::all().iter().filter(|bug| bug.area() != Area::Proxying).filter(wanted) {
        let Some(found) = find(*bug) else {
            println!("{:<40} not found", bug.name());
            continue;
        };
        let start = Instant::now();
        let verdicts = verdicts(&found);
        if start.elapsed() > SLOWEST {
            slow.push(bug.name());
        }
        for (name, all, shown) in &mut counts {
            let one = verdicts.iter().find(|(file, ..)| file == name);
            *all += u32::from(one.is_some());
            *shown += u32::from(one.is_some_and(|(_, wrong, ..)| *wrong == 1));
        }
        unfair
            .extend(verdicts.iter().filter(|(.., fine, _)| *fine == 1).map(|(file, ..)| (bug.name(), *file)));
        let told: Vec<String> =
            verdicts.iter().map(|(file, wrong, fine, _)| format!("{file} {wrong}/{fine}")).collect();
        let (rule, remarks) = (&found.about["blame"][0]["rules"], &found.about["exports"]["remarks"]);
        println!("{:<40} {rule:<44} {} {remarks}", bug.name(), told.join(" "));
    }
    counts.iter().for_each(|(name, all, shown)| println!("{name}: {shown} of {all} show the fault"));
    assert!(unfair.is_empty(), "correct servers are accused: {unfair:?}");
    assert!(slow.is_empty(), "took too long: {slow:?}");
    // A client with different timing may not trigger a race.
    assert!(counts.iter().all(|(_, all, shown)| shown * 100 >= all * 90), "{counts:?}");
}
