//! The demonstration: it must be right for any seed, not only for the one in the README.

use super::{confute, said};

#[test]
fn both_halves_come_out_right() {
    for seed in ["1", "2"] {
        let (code, out, err) = said(confute().args(["demo", "--seed", seed]));
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        assert!(out.starts_with(&format!("confute demo --seed {seed}\n")), "{out}");
        let parts = [
            "SIMULATED",
            "refuted: no behaviour of conditional",
            "conditional/tag-changes",
            "unrefuted: 10,000",
        ];
        for part in parts {
            assert!(out.contains(part), "{part}: {out}");
        }
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    }
}

#[test]
fn the_counterexample_can_be_checked_again() {
    let path = std::env::temp_dir().join(format!("confute-demo-{}.jsonl", std::process::id()));
    let (code, out, _) = said(confute().arg("demo").arg("--save").arg(&path));
    assert_eq!(code, 0, "{out}");
    let (code, out, _) = said(confute().arg("check").arg(&path));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("breaks conditional/tag-changes"), "{out}");
}
