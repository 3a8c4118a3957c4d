//! Unreadable files and invalid command lines: one clear line, and exit code 2.

use super::{confute, said};

/// Returns the single line of error output for a file.
fn complaint(arguments: &[&str]) -> String {
    let (code, out, err) = said(confute().arg("check").args(arguments));
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    err.trim_end().to_owned()
}

#[track_caller]
fn complains(arguments: &[&str], beginning: &str) {
    let line = complaint(arguments);
    assert!(line.starts_with(beginning), "{line}");
}

#[test]
fn traces() {
    complains(
        &["truncated.jsonl"],
        "error: truncated.jsonl: line 3, byte 86: the file ends in the middle of an event; was the writer killed?",
    );
    complains(
        &["broken.jsonl"],
        "error: broken.jsonl: line 2, column 19 (byte 79): invalid type: integer `7`",
    );
    complains(
        &["misuse.jsonl"],
        "error: misuse.jsonl: line 3: `received` on connection 0, which the tester had",
    );
    complains(&["version.jsonl"], "error: version.jsonl: line 1, byte 0: trace version 9 is not supported");
    complains(
        &["teapot.jsonl"],
        "error: teapot.jsonl: line 1: the trace was recorded for model \"teapot\", which",
    );
    complains(
        &["pigeon.jsonl"],
        "error: pigeon.jsonl: line 1: the trace names network \"pigeon\"; choose one",
    );
    complains(
        &["--model", "echo", "fine.jsonl"],
        "error: fine.jsonl: line 1: the trace was recorded for model \"kv\", not `echo`; leave out --model",
    );
}

#[test]
fn histories() {
    complains(
        &["lost-put.edn"],
        "error: lost-put.edn: a history does not say what it is a history of; name the",
    );
    complains(
        &["--model", "swap", "lost-put.edn"],
        "error: lost-put.edn: model `swap` cannot read histories",
    );
    complains(
        &["--model", "register", "lost-put.edn"],
        "error: lost-put.edn: line 2: the register model knows",
    );
    complains(
        &["--model", "kv", "truncated.edn"],
        "error: truncated.edn: line 2, byte 61: the file ends in the",
    );
    complains(
        &["--model", "kv", "no-start.edn"],
        "error: no-start.edn: line 1: process 0 completes an operation",
    );
}

#[test]
fn other_files() {
    complains(
        &["empty.jsonl"],
        "error: empty.jsonl: the file is empty; expected a Confute trace, EDN maps, JSON",
    );
    complains(&["binary.gz"], "error: binary.gz: line 1, byte ");
    assert!(complaint(&["binary.gz"]).contains("not a text file"));
    complains(
        &["other.txt"],
        "error: other.txt: line 1, byte 0: neither a Confute trace, nor EDN maps, JSON",
    );
    complains(&["missing.edn"], "error: missing.edn: no such file");
    complains(&["."], "error: .: is a directory: pass the files in it");
    complains(&["other.txt/x"], "error: other.txt/x: ");
    let case = concat!(env!("CARGO_MANIFEST_DIR"), "/../confute-test/tests/check/sample/violation.case");
    complains(
        &[case],
        &format!("error: {case}: this is a stored case of a tester, not a trace; `confute replay"),
    );
}

#[test]
fn limits() {
    complains(&["--max-events", "2", "fine.jsonl"], "error: fine.jsonl: line 4, byte ");
    assert!(complaint(&["--max-events", "2", "fine.jsonl"]).contains("more than 2 events"));
    let line = complaint(&["--max-line", "48B", "--model", "kv", "lost-put.edn"]);
    assert!(line.contains("the line is longer than 48 bytes"), "{line}");
}

#[cfg(target_os = "linux")]
#[test]
fn endless_files() {
    complains(&["--max-line", "1MiB", "/dev/zero"], "error: /dev/zero: line 1, byte 0: not a text file");
}

#[cfg(unix)]
#[test]
fn unreadable_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let path = std::env::temp_dir().join(format!("confute-unreadable-{}", std::process::id()));
    std::fs::write(&path, "secret").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).unwrap();
    let readable = std::fs::File::open(&path).is_ok();
    let line = complaint(&["--model", "kv", path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    // The superuser can read every file, and then the content is no history.
    let end = if readable { "neither a Confute trace" } else { "permission denied" };
    assert!(line.contains(end), "{line}");
}

fn usage(arguments: &[&str]) -> String {
    let (code, out, err) = said(confute().args(arguments));
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    err
}

#[test]
fn command_lines() {
    assert!(usage(&["check", "--model", "kw", "fine.jsonl"]).contains("no such model; did you mean kv?"));
    assert!(usage(&["check", "--network", "x25", "fine.jsonl"]).contains("there are direct, tcp, udp"));
    let near = usage(&["check", "--allow", "kv/put-last", "fine.jsonl"]);
    assert!(near.contains("no such rule; did you mean kv/put-lasts?"), "{near}");
    let foreign = usage(&["check", "--model", "kv", "--allow", "echo/unchanged", "fine.jsonl"]);
    assert!(foreign.contains("echo/unchanged is no rule of model kv"), "{foreign}");
    assert!(usage(&["check", "--max-time", "soon", "fine.jsonl"]).contains("expected a time such as 500ms"));
    assert!(
        usage(&["check", "--max-memory", "much", "fine.jsonl"]).contains("expected a size such as 64MiB")
    );
    assert!(usage(&["check"]).contains("<FILE>..."));
    assert!(usage(&["chekc"]).contains("check"));
}
