//! Help texts have examples.

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

/// The command of a kit is described by the kit, not by the shared flags; kits come first.
#[test]
fn kits_describe_their_commands() {
    let (_, out, _) = said(confute().arg("-h"));
    let at = |text: &str| out.find(text).unwrap_or_else(|| panic!("{text}: {out}"));
    let order = ["http       Test an HTTP", "memcached  Test a memcached", "check      Judge"].map(at);
    assert!(order.is_sorted(), "{out}");
    for (kit, about) in [("http", "Puts, gets and deletes"), ("memcached", "no correct memcached")] {
        let (code, out, _) = said(confute().args([kit, "--help"]));
        let parts = [about, "--max-time", "Examples:", "Exit codes:"];
        assert!(code == 0 && parts.iter().all(|part| out.contains(part)), "{out}");
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
