//! Campaigns over many machines: shards, merged reports, runs that are killed and resumed.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use confute_testbed::embedded::{Bug, Config, Embedded};
use serde_json::{Value, json};

use super::{confute, said};

/// Creates an empty folder of this name.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn server(bugs: &[&str]) -> Embedded {
    let add = |config: Config, name: &&str| config.bug(Bug::from_name(name).unwrap());
    Embedded::start(bugs.iter().fold(Config::default(), add)).unwrap()
}

/// Runs `confute http` on a server. All runs have the same seed and few cases.
fn http(server: &Embedded, more: &[&str]) -> (i32, String, String) {
    let url = format!("http://{}/", server.addr());
    let common = ["--seed", "7", "--cases", "24", "--connections", "4", "--no-survey", "--shrink-time", "2s"];
    said(confute().args(["http", &url]).args(common).args(more))
}

fn merge(folders: &[PathBuf], more: &[&str]) -> (i32, String, String) {
    said(confute().arg("merge").args(folders).args(more))
}

fn summary(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("summary.json")).unwrap()).unwrap()
}

/// Returns the sets of rules that the violations which refute are blamed on.
fn blamed(folder: &Path) -> BTreeSet<String> {
    let summary = summary(folder);
    let refuting = summary["findings"].as_array().unwrap().iter().filter(|one| one["refutes"] == true);
    refuting
        .map(|one| one["blame"].as_array().unwrap().iter().map(|set| set["rules"].to_string()).collect())
        .collect()
}

/// Returns the numbers of the cases that a run reports.
fn cases(folder: &Path) -> Vec<u64> {
    let text = fs::read_to_string(folder.join("events.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["confute"] == "case").map(|line| line["number"].as_u64().unwrap()).collect()
}

const BUGS: [&str; 2] = ["if-match-ignored-on-put", "allow-missing"];

/// The shards run each case once, with the seed that it has in a run of all, and find what that run finds.
#[test]
fn shards_are_the_whole_campaign() {
    let server = server(&BUGS);
    let root = folder("scale-shards");
    let place = |name: &str| root.join(name).display().to_string();
    let (code, out, err) = http(&server, &["-q", "--report-dir", &place("single")]);
    assert_eq!(code, 1, "{out}{err}");
    let folders: Vec<PathBuf> = (0..3).map(|index| root.join(format!("shard-{index}"))).collect();
    let mut numbers = Vec::new();
    for (index, folder) in folders.iter().enumerate() {
        let shard = format!("{index}/3");
        let (code, out, err) =
            http(&server, &["-q", "--shard", &shard, "--report-dir", &folder.display().to_string()]);
        assert_eq!(code, 1, "{out}{err}");
        let own = cases(folder);
        assert!(own.iter().all(|number| number % 3 == index as u64), "{own:?}");
        numbers.extend(own);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..24).collect::<Vec<_>>());
    let merged = root.join("merged");
    let (code, out, err) = merge(&folders, &["--report-dir", &place("merged")]);
    assert_eq!(code, 1, "{out}{err}");
    assert_eq!(blamed(&merged), blamed(&root.join("single")), "{out}");
    assert!(out.contains("= shards:   3 of 3 shards: 3 refuted"), "{out}");
    let summary = summary(&merged);
    assert_eq!(
        (&summary["cases"]["all"], &summary["merged"]["problems"]),
        (&24.into(), &Value::Array(Vec::new()))
    );
    // The seed of a case is the same in every split, and no two shards share a name on the server.
    let seeds = |folder: &Path| {
        let text = fs::read_to_string(folder.join("events.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let cases = lines.filter(|line| line["confute"] == "case");
        cases
            .map(|line| (line["number"].as_u64().unwrap(), line["seed"].as_u64().unwrap()))
            .collect::<BTreeSet<_>>()
    };
    let parts: BTreeSet<_> = folders.iter().flat_map(|folder| seeds(folder)).collect();
    assert_eq!(parts, seeds(&root.join("single")));
    // Merged reports are merged again, in any order, and nothing counts twice.
    let first = root.join("first");
    merge(&folders[1..], &["-q", "--report-dir", &first.display().to_string()]);
    let (code, _, err) =
        merge(&[first, folders[1].clone(), folders[0].clone()], &["-q", "--report-dir", &place("again")]);
    assert_eq!(code, 1, "{err}");
    let read = |name: &str| fs::read(root.join(name).join("record.json")).unwrap();
    assert!(read("again") == read("merged"));
    explained_elsewhere(&root, &folders);
    missing_and_broken(&root, &folders);
    kept(&root, &folders);
}

/// A case that a shard blames on another rule is no violation of that rule if other shards found a rule broken that explains the
/// case. The records are those of the shards; only the name of the rule is another one.
fn explained_elsewhere(root: &Path, folders: &[PathBuf]) {
    let (known, other) = (json!(["rfc9110-13.1.1/if-match"]), json!(["rfc9110-9.3.4/replaced"]));
    let place = |name: &str| root.join(name).display().to_string();
    let store = |name: &str, shard: usize, change: &dyn Fn(&mut Vec<Value>)| {
        let text = fs::read_to_string(folders[shard].join("record.json")).unwrap();
        let mut record: Value = serde_json::from_str(&text).unwrap();
        change(record["violations"].as_array_mut().unwrap());
        fs::create_dir_all(root.join(name)).unwrap();
        fs::write(root.join(name).join("record.json"), record.to_string()).unwrap();
        root.join(name)
    };
    let renamed = store("renamed", 0, &|violations| {
        let sets = violations.iter_mut().flat_map(|one| one["diagnoses"].as_array_mut().unwrap());
        sets.filter(|set| set["rules"] == known).for_each(|set| set["rules"] = other.clone());
    });
    let ignorant = store("ignorant", 1, &|violations| {
        violations.retain(|one| one["diagnoses"][0]["rules"] != known);
    });
    for (second, expected) in [(&folders[1], &known), (&ignorant, &other)] {
        let (code, out, err) =
            merge(&[renamed.clone(), second.clone()], &["--report-dir", &place("explained")]);
        assert_eq!(code, 1, "{out}{err}");
        let allow = json!(["rfc9110-15.5.6/allow"]).to_string();
        assert_eq!(blamed(&root.join("explained")), BTreeSet::from([allow, expected.to_string()]), "{out}");
        let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
        let told = "not listed: rfc9110-9.3.4/replaced (level must): explained by rfc9110-13.1.1/if-match";
        assert_eq!(flat.contains(told), expected == &known, "{out}");
    }
}

/// Shards that are missing, interrupted, broken, doubled or foreign are named, and nothing else is lost.
fn missing_and_broken(root: &Path, folders: &[PathBuf]) {
    let copy = |from: &Path, to: &str, name: &str| {
        let to = root.join(to);
        fs::create_dir_all(&to).unwrap();
        fs::copy(from.join(name), to.join(name)).unwrap();
        to
    };
    // Half a record, with and without the journal of the run.
    let half = copy(&folders[0], "half", "record.json");
    let text = fs::read(half.join("record.json")).unwrap();
    fs::write(half.join("record.json"), &text[..text.len() / 2]).unwrap();
    let (code, out, err) = merge(&[half.clone(), folders[1].clone(), folders[2].clone()], &[]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(
        out.contains("missing: shard 0 of 3") && out.contains("not read: ") && err.contains("record.json"),
        "{out}{err}"
    );
    copy(&folders[0], "half", "progress.jsonl");
    let (code, out, err) = merge(&[half, folders[1].clone(), folders[2].clone()], &[]);
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == 1 && flat.contains("interrupted: shard 0 of 3"), "{out}{err}");
    assert!(flat.contains("after 8 cases; its command with `--resume` completes it"), "{out}");
    // Another version, and no folder at all.
    let other = root.join("version");
    fs::create_dir_all(&other).unwrap();
    let text = fs::read_to_string(folders[0].join("record.json")).unwrap();
    fs::write(other.join("record.json"), text.replacen(r#""version":1"#, r#""version":2"#, 1)).unwrap();
    let (code, _, err) = merge(&[other.clone(), root.join("nowhere"), folders[1].clone()], &["-q"]);
    assert!(code == 1 && err.contains("version 2 of records") && err.contains("no such folder"), "{err}");
    let (code, _, err) = merge(&[other], &[]);
    assert!(code == 2 && err.contains("nothing to merge"), "{err}");
    // The same shard twice: a copy is the same run, and another run is not.
    let copied = copy(&folders[0], "copied", "record.json");
    let (_, out, _) = merge(&[folders, std::slice::from_ref(&copied)].concat(), &[]);
    assert!(!out.contains("doubled"), "{out}");
    let text = fs::read_to_string(copied.join("record.json")).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    let id = record["id"].as_str().unwrap();
    fs::write(copied.join("record.json"), text.replace(id, "ffff000000000000")).unwrap();
    let (_, out, _) = merge(&[folders, std::slice::from_ref(&copied)].concat(), &[]);
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("doubled: shard 0 of 3 was run 2 times"), "{out}");
    fs::write(copied.join("record.json"), text.replace(r#""seed":7,"level""#, r#""seed":8,"level""#))
        .unwrap();
    let (_, out, _) = merge(&[folders, &[copied]].concat(), &[]);
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("(seed 8 instead of 7); not counted"), "{out}");
}

/// The regression folder and the baseline come out of the merge.
fn kept(root: &Path, folders: &[PathBuf]) {
    let (known, baseline) = (root.join("known"), root.join("known.json"));
    let (known, baseline) = (known.display().to_string(), baseline.display().to_string());
    let update = ["-q", "--regressions", &known, "--baseline", &baseline, "--baseline-update"];
    let (code, out, err) = merge(folders, &update);
    assert_eq!(code, 0, "{out}{err}");
    let files: BTreeSet<String> = fs::read_dir(&known)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(files.contains("http-rfc9110-15.5.6-allow.case") && files.len() == BUGS.len(), "{files:?}");
    // Then nothing is new.
    let (code, out, err) = merge(folders, &["--baseline", &baseline]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("2 known violations seen again"), "{out}");
}

/// The run is killed again and again, and resumed: no case is run twice, and the result is that of an undisturbed run.
#[test]
fn a_killed_run_goes_on_where_it_was() {
    let server = server(&BUGS);
    let root = folder("scale-resume");
    let place = root.join("run").display().to_string();
    let url = format!("http://{}/", server.addr());
    let args = [
        "http",
        &url,
        "--seed",
        "7",
        "--cases",
        "24",
        "--connections",
        "4",
        "--no-survey",
        "--shrink-time",
        "2s",
    ];
    let journal = root.join("run/progress.jsonl");
    let mut kills = 0;
    for cases in [1, 5, 11] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_confute"))
            .args(args)
            .args(["-q", "--resume", &place])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while done(&journal).len() < cases && child.try_wait().unwrap().is_none() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        // SIGKILL.
        kills += u32::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        // The machine died in the middle of a write.
        let mut file = fs::OpenOptions::new().append(true).open(&journal).unwrap();
        file.write_all(br#"{"done":{"cases":[0,1,2,3,4"#).unwrap();
    }
    assert!(kills >= 1);
    let before = done(&journal);
    // An interrupted run is merged by its journal.
    let (code, out, _) = merge(&[root.join("run")], &[]);
    assert!(out.contains("interrupted: ") && [1, 3].contains(&code), "{out}");
    let (code, out, err) = said(confute().args(args).args(["--resume", &place]));
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains(&format!("resumed: {} ", before.len())), "{out}");
    let again: BTreeSet<u64> = cases(&root.join("run")).into_iter().collect();
    assert!(again.is_disjoint(&before), "{again:?} {before:?}");
    assert_eq!(again.len() + before.len(), 24);
    assert_eq!(summary(&root.join("run"))["cases"]["all"], 24);
    let single = root.join("single").display().to_string();
    http(&server, &["-q", "--report-dir", &single]);
    assert_eq!(blamed(&root.join("run")), blamed(&root.join("single")));
    // A run that is complete is only reported: the server may be gone.
    drop(server);
    let (code, out, err) = said(confute().args(args).args(["--resume", &place]));
    assert!(code == 1 && err.contains("nothing was run again"), "{out}{err}");
    let other: Vec<&str> = args.iter().map(|arg| if *arg == "7" { "8" } else { *arg }).collect();
    let (code, _, err) = said(confute().args(other).args(["--resume", &place]));
    assert!(code == 2 && err.contains("has seed 7"), "{err}");
}

/// Returns the cases that a journal lists as done.
fn done(journal: &Path) -> BTreeSet<u64> {
    let text = fs::read_to_string(journal).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = whole.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let cases = lines.filter_map(|line| line["done"]["cases"].as_array().cloned());
    cases.flatten().filter_map(|number| number.as_u64()).collect()
}

/// Shards of `confute rest`: each has its cases, one that is complete is only reported, and a missing one is named.
#[test]
fn rest_in_shards() {
    let root = folder("scale-rest");
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/todo/openapi.yaml");
    let url = todo::start(Some(todo::Bug::WrongType)).unwrap();
    let shard = |index: usize, folder: &Path| {
        let run = confute()
            .arg("rest")
            .arg(&document)
            .args([&url, "--seed", "7", "--cases", "12", "--max-time", "1m", "--no-shrink"])
            .args(["--strict", "--workers", "1", "--shard", &format!("{index}/3"), "--resume"])
            .arg(folder);
        said(run)
    };
    let folders: Vec<PathBuf> = (0..3).map(|index| root.join(index.to_string())).collect();
    let mut numbers = Vec::new();
    for (index, folder) in folders.iter().enumerate() {
        let (code, out, err) = shard(index, folder);
        assert!([0, 1].contains(&code), "{out}{err}");
        numbers.extend(cases(folder));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..12).collect::<Vec<_>>());
    let (_, out, err) = shard(1, &folders[1]);
    assert!(err.contains("nothing was run again"), "{out}{err}");
    let merged = root.join("merged");
    let (code, out, err) = merge(&folders, &["--report-dir", &merged.display().to_string()]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("= shards:   3 of 3 shards"), "{out}");
    // Responses of a wrong type are also no responses to what was asked.
    assert!(blamed(&merged).iter().any(|rules| rules.contains("rest/schema")), "{out}");
    let (code, out, _) = merge(&folders[..2], &[]);
    assert!(code == 1 && out.contains("missing: shard 2 of 3"), "{out}");
}

/// All scripts of an exhaustive run are in the shards, each once; only all shards together claim that all ran.
#[test]
fn exhaustive_runs_in_shards() {
    let server = server(&[]);
    let root = folder("scale-exhaustive");
    let folders: Vec<PathBuf> = (0..3).map(|index| root.join(index.to_string())).collect();
    let mut numbers = Vec::new();
    let url = format!("http://{}/", server.addr());
    for (index, folder) in folders.iter().enumerate() {
        let shard = format!("{index}/3");
        let more = ["--exhaustive", "2", "--seed", "7", "--shard", &shard, "--report-dir"];
        let (code, out, err) = said(confute().args(["http", &url]).args(more).arg(folder));
        assert_eq!(code, 0, "{out}{err}");
        let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
        let own = if index < 2 { 467 } else { 466 };
        assert!(text.contains(&format!("all {own} of the 1,400 scripts of up to 2 requests ran")), "{out}");
        numbers.extend(cases(folder));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..1400).collect::<Vec<_>>());
    let (code, out, err) = merge(&folders, &["-q"]);
    assert!(
        code == 0 && out.contains("all 1,400 scripts of up to 2 requests ran; no violation"),
        "{out}{err}"
    );
    let (code, out, err) = merge(&folders[..2], &["-q"]);
    assert!(code == 3 && out.contains("missing: shard 2 of 3"), "{out}{err}");
}

/// The table of a check in shards equals that of one run, apart from times.
#[test]
fn checks_in_shards() {
    let root = folder("scale-check");
    let mut files = Vec::new();
    for number in 0..40 {
        // Every fifth reads what was never put.
        let read = if number % 5 == 0 { "lost" } else { "new" };
        let text = format!(
            "{{:process 0, :type :invoke, :f :put, :key \"x\", :value \"new\"}}\n\
             {{:process 0, :type :ok, :f :put, :key \"x\", :value \"new\"}}\n\
             {{:process 1, :type :invoke, :f :get, :key \"x\", :value nil}}\n\
             {{:process 1, :type :ok, :f :get, :key \"x\", :value \"{read}\"}}\n"
        );
        let path = root.join(format!("{number:02}.edn"));
        fs::write(&path, if number == 7 { "{:nothing" } else { &text }).unwrap();
        files.push(path);
    }
    let check = |more: &[&str]| {
        let (code, out, err) = said(confute().args(["check", "--model", "kv"]).args(more).args(&files));
        (code, out, err)
    };
    let (code, out, err) = check(&[]);
    assert_eq!(code, 2, "{out}{err}");
    let table = |out: &str| {
        let start = out.find("\nfile ").unwrap_or_else(|| panic!("{out}"));
        let times = regex::Regex::new(r"\d+(\.\d+)? m?s\b").unwrap();
        times.replace_all(&out[start..], "[TIME]").into_owned()
    };
    let folders: Vec<PathBuf> = (0..3).map(|index| root.join(format!("out-{index}"))).collect();
    for (index, folder) in folders.iter().enumerate() {
        let more = ["-q", "--shard", &format!("{index}/3"), "--resume", &folder.display().to_string()];
        assert_ne!(check(&more).0, 0);
    }
    let merged_place = root.join("merged").display().to_string();
    let (merged_code, merged, err) = merge(&folders, &["--report-dir", &merged_place]);
    assert_eq!(merged_code, 2, "{err}");
    // Each file has a line with its place and its blame only if it was searched for, which `-q` leaves out.
    let full: Vec<PathBuf> = (0..3).map(|index| root.join(format!("full-{index}"))).collect();
    for (index, folder) in full.iter().enumerate() {
        check(&["--shard", &format!("{index}/3"), "--report-dir", &folder.display().to_string()]);
    }
    let (_, whole, _) = merge(&full, &[]);
    assert_eq!(table(&whole), table(&out));
    assert!(table(&merged).contains("40 files: 31 unrefuted, 8 refuted, 1 broken"), "{merged}");
    let (code, _, err) = merge(&full[1..], &[]);
    assert!(code == 2 && err.contains("14 of 40 files have no verdict: shard 0 of 3 is missing"), "{err}");
    // A run that was cut off in the middle of a line goes on there, and judges nothing twice.
    let rows = full[0].join("check.jsonl");
    let text = fs::read_to_string(&rows).unwrap();
    let cut = text.match_indices('\n').nth(4).unwrap().0 + 30;
    fs::write(&rows, &text[..cut]).unwrap();
    let (_, _, err) = merge(&full, &[]);
    assert!(err.contains("10 of 40 files have no verdict: shard 0 of 3 is interrupted"), "{err}");
    check(&["--shard", "0/3", "--resume", &full[0].display().to_string()]);
    let resumed = fs::read_to_string(&rows).unwrap();
    assert_eq!(resumed.lines().count(), 15);
    assert!(resumed.starts_with(&text[..text.match_indices('\n').nth(4).unwrap().0]), "{resumed}");
    assert_eq!(table(&merge(&full, &[]).1), table(&out));
}

#[test]
fn flags_that_make_no_sense() {
    let nowhere = "http://127.0.0.1:1/";
    for (more, why) in [
        (&["--shard", "0/4"][..], "give the same --seed"),
        (&["--shard", "4/4", "--seed", "1"], "counted from 0 to 3"),
        (&["--shard", "auto", "--seed", "1"], "none of SLURM_ARRAY_TASK_ID"),
        (
            &["--shard", "0/4", "--seed", "1", "--baseline", "known.json", "--baseline-update"],
            "confute merge --baseline",
        ),
        (&["--resume", "a", "--report-dir", "b"], "cannot be used with"),
    ] {
        let (code, out, err) = said(confute().args(["http", nowhere]).args(more));
        assert!(code == 2 && err.contains(why), "{more:?}: {out}{err}");
    }
    let variables = [
        ("SLURM_ARRAY_TASK_ID", "5"),
        ("SLURM_ARRAY_TASK_COUNT", "1"),
        ("SLURM_ARRAY_TASK_MIN", "5"),
        ("SLURM_ARRAY_TASK_MAX", "5"),
    ];
    let (code, _, err) =
        said(confute().args(["http", nowhere, "--seed", "1", "--shard", "auto"]).envs(variables));
    assert!(code == 2 && err.contains("`--shard auto/N`"), "{err}");
}

#[test]
fn plans() {
    confute()
        .args(["plan", "--cases", "159800", "--shards", "16", "--rate", "2000"])
        .assert()
        .code(0)
        .stdout_eq(snapbox::str![[r#"
159,800 cases in 16 shards; shard I takes the cases I, I+16, I+32, …

         shards  cases of each        last case  time of each
            0-7          9,988          159,799  [TIME]
           8-15          9,987          159,791  [TIME]

At 2000.00 cases a second in each shard, as one shard reaches alone. Shards that
share a machine or a server share its rate. Shrinking and reports come on top:
up to [TIME] by default.

"#]]);
    let (code, out, _) = said(confute().args(["plan", "--cases", "3", "--shards", "4"]));
    assert!(code == 0 && out.contains("Some shards have nothing to do"), "{out}");
    let (code, _, err) = said(confute().args(["plan", "--cases", "3", "--shards", "4", "--like", "nowhere"]));
    assert!(code == 2 && err.contains("nowhere/record.json"), "{err}");
}
