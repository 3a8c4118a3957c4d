//! Verdicts on readable files.

use serde_json::Value;
use snapbox::str;

use super::{confute, said};

#[test]
fn a_lost_put() {
    confute().args(["check", "--model", "kv", "lost-put.edn"]).assert().code(1).stderr_eq("").stdout_eq(
        str![[r#"
refuted: lost-put.edn:5: no behaviour of kv behind tcp explains this
  |
2 | c0 sent      put "x" "new"
3 | c0 received  done
4 | c1 sent      get "x"
5 | c1 received  value ""
  |              ^^^^^^^^ expected a different message here
  |
  = seen:     value "" on connection 1
  = expected: value "new"
                by kv/read-sees-latest
  = blame:    explained only by breaking kv/read-sees-latest (level store):
                A `get` returns the latest value stored under the key.
              or by breaking kv/put-lasts (level store):
                A confirmed `put` replaces the value for all later requests.
  = search:   event 4 of 4 events, [..] turns tried, [TIME]
  = next:     `confute explain kv/read-sees-latest` explains the rule;
              `--allow kv/read-sees-latest` judges without that rule

"#]],
    );
}

#[test]
fn a_swap_that_does_not_compare() {
    confute().args(["check", "--model", "register", "wrong-cas.log"]).assert().code(1).stdout_eq(str![[r#"
refuted: wrong-cas.log:4: no behaviour of register behind tcp explains this
  |
1 | c0 sent      write 3
2 | c0 received  written
3 | c1 sent      cas 4 to 5
4 | c1 received  swapped
  |              ^^^^^^^ expected a different message here
  |
  = seen:     swapped on connection 1
  = expected: unchanged
                by register/cas-compares
  = blame:    explained only by breaking register/cas-compares (level must):
                A compare-and-swap replaces the value only if it is the expected
                one.
  = search:   event 4 of 4 events, [..] turns tried, [TIME]
  = next:     `confute explain register/cas-compares` explains the rule;
              `--allow register/cas-compares` judges without that rule

"#]]);
}

#[test]
fn a_tag_that_stays() {
    confute().args(["check", "tags.jsonl"]).assert().code(1).stdout_eq(str![[r#"
refuted: tags.jsonl:9: no behaviour of conditional behind tcp explains this
  |
4 | c0 sent      get "k"
5 | c0 received  ok "a" tag "t1"
6 | c1 sent      put "k" "b"
7 | c1 received  replaced
8 | c0 sent      get "k"
9 | c0 received  ok "b" tag "t1"
  |              ^^^^^^^^^^^^^^^ expected a different message here
  |
  = seen:     ok "b" tag "t1" on connection 0
  = expected: ok "b" tag ?1 (weak: false)
              ok "b" tag ?1 (weak: true)
  = blame:    explained only by breaking conditional/tag-changes (level must):
                A strong tag changes when the content changes.
  = search:   event 8 of 8 events, [..] turns tried, [TIME]
  = next:     `confute explain conditional/tag-changes` explains the rule;
              `--allow conditional/tag-changes` judges without that rule

"#]]);
}

#[test]
fn unrefuted() {
    confute()
        .args(["check", "--model", "kv", "overlap.edn", "fine.jsonl"])
        .assert()
        .code(0)
        .stderr_eq("")
        .stdout_eq(str![[r#"
unrefuted: overlap.edn: 4 events explained by kv behind tcp ([..] turns tried, [TIME])
unrefuted: fine.jsonl: 3 events explained by kv behind tcp ([..] turns tried, [TIME])

file         verdict           events  time
overlap.edn  unrefuted              4  [TIME]
fine.jsonl   unrefuted              3  [TIME]
2 files: 2 unrefuted

"#]]);
}

#[test]
fn many_files_in_their_order() {
    let files = ["overlap.edn", "lost-put.edn", "missing", "fine.jsonl", "lost-put.edn"];
    let check = |jobs: &str| {
        said(confute().args(["check", "--no-blame", "--jobs", jobs, "--model", "kv"]).args(files))
    };
    let redacted =
        |text: &str| regex::Regex::new(r"\d+(\.\d+)? m?s\b").unwrap().replace_all(text, "T").into_owned();
    let (code, out, err) = check("1");
    assert_eq!((code, err.as_str()), (2, "error: missing: no such file\n"));
    let (_, table) = out.split_once("\nfile ").unwrap();
    let verdicts: Vec<Vec<&str>> =
        table.lines().skip(1).map(|line| line.split_whitespace().take(2).collect()).collect();
    let expected = ["unrefuted", "refuted", "broken", "unrefuted", "refuted"];
    assert_eq!(
        verdicts[..5],
        files.iter().zip(expected).map(|(file, verdict)| vec![*file, verdict]).collect::<Vec<_>>()
    );
    assert!(
        table.contains("line 5\n") && table.ends_with("5 files: 2 unrefuted, 2 refuted, 1 broken\n"),
        "{table}"
    );
    for jobs in ["2", "9", "auto"] {
        assert_eq!(redacted(&check(jobs).1), redacted(&out), "{jobs} jobs");
    }
    let (code, _, err) = check("0");
    assert!(code == 2 && err.contains("expected `auto` or a number from 1"), "{err}");
}

/// Returns a history of a counter whose last read is wrong in a way that takes long to blame on anybody.
fn long_blame() -> String {
    let entry = |kind: &str, f: &str, value: u64| {
        format!("{{\"process\": 0, \"type\": \"{kind}\", \"f\": \"{f}\", \"value\": {value}}}\n")
    };
    let both = |f: &str, value: u64| entry("invoke", f, value) + &entry("ok", f, value);
    let adds: String = (0..40).map(|bit| both("add", 2 << bit)).collect();
    adds + &both("read", 1) + &both("read", 3)
}

#[test]
fn the_verdict_comes_before_the_blame() {
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};
    // The verdict is written at once; whoever reads slowly may get both together, so a few tries are granted.
    let verdict_alone = || {
        let mut child = Command::new(env!("CARGO_BIN_EXE_confute"))
            .args(["check", "--model", "counter", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(long_blame().as_bytes()).unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut first = vec![0; 1 << 16];
        let length = stdout.read(&mut first).unwrap();
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1));
        let first = String::from_utf8_lossy(&first[..length]).into_owned();
        assert!(
            first.starts_with("refuted: -:82: no behaviour of counter behind tcp explains this\n"),
            "{first}"
        );
        assert!(format!("{first}{rest}").contains("= blame:"), "{first}{rest}");
        !first.contains("= blame:")
    };
    assert!((0..10).any(|_| verdict_alone()), "the verdict waited for the blame ten times");
}

#[test]
fn a_log_of_the_search() {
    let folder = std::env::temp_dir().join(format!("confute-search-log-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("log.txt");
    let run = confute().args(["check", "-q", "--model", "kv", "--search-log"]).arg(&path);
    let (code, _, _) = said(run.args(["overlap.edn", "lost-put.edn"]));
    let log = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(code, 1);
    // The numbers change with every change of the search.
    let parts = [
        "search log of overlap.edn: unrefuted, kv behind tcp, 4 events\n\nby reduction           left out",
        "\n  plain search ",
        "\n\nby part                taken up",
        "\n  part 0 ",
        "\npart 0: 4 entries to explain; values[\"x\"]\n  event 1, turn ",
        ": deliver put \"x\" \"new\" of event 1 on connection 0; ",
        ": explained\n\nsearch log of lost-put.edn: refuted, kv behind tcp, 4 events\n",
        ": nothing explains this, and no alternative is left\n",
    ];
    let mut rest = &*log;
    for part in parts {
        rest = rest.split_once(part).unwrap_or_else(|| panic!("{part:?} is missing in {rest}")).1;
    }
    let (code, _, err) = said(confute().args(["check", "--search-log", "/no/such/folder/log", "fine.jsonl"]));
    assert!(code == 2 && err.contains("cannot write /no/such/folder/log"), "{err}");
}

#[test]
fn relaxed_rules_are_named() {
    confute()
        .args(["check", "--model", "kv", "--allow", "kv/put-lasts", "lost-put.edn"])
        .assert()
        .code(0)
        .stdout_eq(str![[r#"
unrefuted: lost-put.edn: 4 events explained by kv behind tcp, with kv/put-lasts relaxed ([..] turns tried, [TIME])

"#]]);
}

#[test]
fn quiet_says_one_line_a_file() {
    confute()
        .args(["check", "-q", "--model", "kv", "overlap.edn", "lost-put.edn"])
        .assert()
        .code(1)
        .stdout_eq(str![[r#"
unrefuted: overlap.edn: 4 events explained by kv behind tcp ([..] turns tried, [TIME])
refuted: lost-put.edn:5: no behaviour of kv behind tcp explains this

"#]]);
}

#[test]
fn the_network_decides() {
    // Without a network in between, requests that overlap at the clients do not overlap at the server.
    let (code, out, _) = said(confute().args(["check", "--network", "direct", "fine.jsonl"]));
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("kv behind direct"), "{out}");
}

#[test]
fn no_blame_finds_none() {
    let (code, out, _) = said(confute().args(["check", "--no-blame", "--model", "kv", "lost-put.edn"]));
    assert!(code == 1 && !out.contains("blame"), "{out}");
}

#[test]
fn colour_only_where_wanted() {
    let colour = |when: &str| {
        let command = confute().env_remove("NO_COLOR").args(["check", "--color", when, "fine.jsonl"]);
        said(command).1.contains('\u{1b}')
    };
    assert!(colour("always") && !colour("never") && !colour("auto"));
}

#[test]
fn standard_input() {
    let history = include_str!("../data/lost-put.edn");
    confute().args(["check", "-q", "--model", "kv", "-"]).stdin(history).assert().code(1).stdout_eq(str![[
        r#"
refuted: -:5: no behaviour of kv behind tcp explains this

"#
    ]]);
}

#[test]
fn the_worst_counts() {
    let code = |files: &[&str]| said(confute().args(["check", "-q", "--model", "kv"]).args(files)).0;
    assert_eq!(code(&["overlap.edn"]), 0);
    assert_eq!(code(&["lost-put.edn", "overlap.edn"]), 1);
    assert_eq!(code(&["missing", "lost-put.edn", "overlap.edn"]), 2);
}

#[test]
fn others_are_judged_after_a_broken_one() {
    let (code, out, err) = said(confute().args(["check", "--model", "kv", "missing", "fine.jsonl"]));
    assert_eq!((code, err.as_str()), (2, "error: missing: no such file\n"));
    assert!(out.starts_with("unrefuted: fine.jsonl"), "{out}");
}

fn objects(arguments: &[&str]) -> (i32, Vec<Value>) {
    let (code, out, err) = said(confute().args(["check", "--format", "json"]).args(arguments));
    assert_eq!(err, "");
    (code, out.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn json_has_a_line_a_file() {
    let (code, objects) = objects(&["--model", "kv", "lost-put.edn", "overlap.edn", "missing"]);
    assert_eq!(code, 2);
    let [refuted, unrefuted, broken] = &objects[..] else { panic!("{objects:?}") };
    for object in &objects {
        assert_eq!((&object["confute"], &object["version"]), (&"check".into(), &1.into()));
    }
    assert_eq!(refuted["verdict"], "refuted");
    assert_eq!(
        (&refuted["exit"], &refuted["format"], &refuted["events"]),
        (&1.into(), &"edn".into(), &4.into())
    );
    let refutation = &refuted["refutation"];
    assert_eq!(
        (&refutation["event"], &refutation["line"], &refutation["connection"]),
        (&3.into(), &5.into(), &1.into())
    );
    assert!(refutation["seen"].as_str().unwrap().contains("alue"));
    assert!(refutation["expected"].is_array());
    assert_eq!(refuted["blame"]["level"], "store");
    assert_eq!(refuted["blame"]["diagnoses"].as_array().unwrap().len(), 2);
    assert_eq!(unrefuted["verdict"], "unrefuted");
    assert_eq!((&broken["verdict"], &broken["exit"]), (&"broken".into(), &2.into()));
    assert_eq!(broken["error"], "no such file");
}

#[test]
fn a_budget_that_runs_out_proves_nothing() {
    let entry = |phase: &str, f: &str, value: &str| {
        format!("{{:process 0, :type {phase}, :f {f}, :key \"x\", :value {value:?}}}\n")
    };
    let both = |f: &str, value: &str| entry(":invoke", f, value) + &entry(":ok", f, value);
    let history: String =
        (0..1000).map(|turn| both(":put", &turn.to_string()) + &both(":get", &turn.to_string())).collect();
    let check = |budget: &[&str]| {
        said(confute().args(["check", "--model", "kv", "-"]).args(budget).stdin(history.clone()))
    };
    assert_eq!(check(&[]).0, 0);
    let (code, out, _) = check(&["--max-time", "0ms"]);
    assert_eq!(code, 3, "{out}");
    assert!(out.starts_with("inconclusive: -: the time budget ran out at event"), "{out}");
    assert!(out.contains("= next:     raise --max-time"), "{out}");
    let (code, out, _) = check(&["--max-memory", "1B"]);
    assert_eq!(code, 3, "{out}");
    assert!(out.contains("the memory budget ran out") && out.contains("raise --max-memory"), "{out}");
}

#[test]
fn a_reader_that_goes_away_changes_nothing() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_confute"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data"))
        .args(["check", "--model", "kv", "lost-put.edn"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(1), &b""[..]));
}
