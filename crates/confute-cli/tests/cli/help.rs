//! Help that teaches.

use super::{confute, said};

#[test]
fn help_has_examples_and_exit_codes() {
    let (code, out, _) = said(confute().arg("--help"));
    assert_eq!(code, 0);
    for part in ["confute demo", "confute check --model kv history.edn", "Exit codes:", "3  inconclusive"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (code, out, _) = said(confute().args(["check", "--help"]));
    assert_eq!(code, 0);
    for part in ["--max-time", "--allow", "Examples:", "of several files the worst"] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn no_command_is_a_usage_error() {
    let (code, _, err) = said(confute());
    assert!(code == 2 && err.contains("Usage: confute"), "{err}");
}

#[test]
fn version() {
    let (code, out, _) = said(confute().arg("--version"));
    assert_eq!((code, out), (0, format!("confute {}\n", env!("CARGO_PKG_VERSION"))));
}
