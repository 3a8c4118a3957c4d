//! A process that is killed while it writes reports leaves complete files or none, except under temporary names.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use confute::random::Random;
use confute_report::files::Reports;
use confute_run::stored::File;
use serde_json::Value;

use crate::defects::below;
use crate::fabricated::{finding, run};

/// Environment variable with the folder that the killed process writes to.
const FOLDER: &str = "CONFUTE_TEST_FOLDER";
/// Maximum number of kills; `TIME` is the time limit.
const KILLS: u32 = 60;
const TIME: Duration = Duration::from_secs(40);

/// Not a test, but the process that the test below kills.
#[test]
#[ignore = "writes until it is killed"]
fn writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let end = Instant::now() + 2 * TIME;
    let findings = (1..=4).map(|number| finding(number, 60, 2, "some text", number % 2 == 0)).collect();
    let whole = run(findings).record();
    while Instant::now() < end {
        let written = Reports::create(Path::new(&folder)).unwrap().write(&whole);
        assert!(written.missing.is_empty(), "{:?}", written.missing);
    }
}

/// Asserts that a file is complete, by its format.
fn is_whole(folder: &Path, name: &str) {
    let path = folder.join(name);
    let text = fs::read_to_string(&path).unwrap();
    let (_, ending) = name.rsplit_once('.').unwrap();
    match ending {
        "json" => drop(serde_json::from_str::<Value>(&text).unwrap_or_else(|why| panic!("{name}: {why}"))),
        "jsonl" => {
            let last = text.lines().last().unwrap_or_default();
            let last: Value = serde_json::from_str(last).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert_eq!(last["confute"], "run", "{name}");
        }
        "xml" => drop(roxmltree::Document::parse(&text).unwrap_or_else(|why| panic!("{name}: {why}"))),
        "html" => assert!(text.ends_with("</html>"), "{name}"),
        "case" => {
            let case = File::open(&path).unwrap();
            assert!(text.ends_with('\n') && case.about.model == "line", "{name}");
            // The last line is the event that no hypothesis explains.
            let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
            assert_eq!(last["event"]["received"][1], serde_json::json!({ "value": 7 }), "{name}");
        }
        "rs" => assert!(text.ends_with("#;\n"), "{name}: {text}"),
        other => panic!("{name}: what is a file that ends in {other}?"),
    }
}

#[test]
fn files_are_whole_whenever_the_process_ends() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("killed");
    let _ = fs::remove_dir_all(&folder);
    let (mut random, start) = (Random::new(1), Instant::now());
    let (mut kills, mut halves, mut summaries) = (0, 0, 0);
    while kills < KILLS && start.elapsed() < TIME {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::writes_until_it_is_killed", "--ignored"])
            .env(FOLDER, &folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The process writes continuously, and a round takes a few milliseconds.
        while !folder.exists() {
            assert!(writer.try_wait().unwrap().is_none(), "the process that writes ended by itself");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
        writer.kill().unwrap();
        writer.wait().unwrap();
        kills += 1;
        let names = below(&folder);
        let (parts, whole): (Vec<_>, Vec<_>) = names.iter().partition(|name| is_part(name));
        whole.iter().for_each(|name| is_whole(&folder, name));
        halves += usize::from(!parts.is_empty());
        if names.iter().any(|name| name == "summary.json") {
            summaries += 1;
            // The summary is written last and removed first: if it exists, everything does. The next run
            // begins with its temporary name.
            let is_begun = parts.iter().all(|name| *name == "summary.json.part");
            assert!(whole.len() == 6 + 4 * 2 + 2 && is_begun, "{names:?}");
        }
    }
    // The test is meaningful only if some kills interrupted a write.
    assert!(
        kills >= 10 && halves > 0,
        "{kills} kills, {halves} with files half written, {summaries} complete"
    );
    // The next run removes the remains.
    let findings = vec![finding(1, 4, 1, "", false)];
    Reports::create(&folder).unwrap().write(&run(findings).record());
    let names = below(&folder);
    assert!(names.iter().all(|name| !is_part(name)), "{names:?}");
    assert_eq!(names.len(), 8, "{names:?}");
}

/// A run that was killed while it wrote the case of a violation leaves a folder with nothing but a temporary file. The
/// next run removes it, as it does with an empty folder; it keeps folders with files that it did not write.
#[test]
fn remains_of_a_killed_run_are_removed() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("remains");
    let _ = fs::remove_dir_all(&folder);
    for (number, file) in [(3, Some("violation.case.part")), (4, None), (5, Some("notes.txt"))] {
        let violation = folder.join(format!("violation-{number}"));
        fs::create_dir_all(&violation).unwrap();
        file.into_iter().for_each(|file| fs::write(violation.join(file), "x").unwrap());
    }
    Reports::create(&folder).unwrap();
    assert_eq!(below(&folder), ["violation-5/notes.txt"]);
    assert!(!folder.join("violation-4").exists());
}

/// Returns `true` if a file has a temporary name.
fn is_part(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|extension| extension == "part")
}
