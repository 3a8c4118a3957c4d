//! The demonstration must be right for any seed, not only for the one in the README.

use super::{confute, said};

#[test]
fn both_halves_come_out_right() {
    for seed in ["1", "2", "3", "77", "123456789"] {
        let (code, out, err) = said(confute().args(["demo", "--seed", seed]));
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        assert!(out.starts_with(&format!("confute demo --seed {seed}\n")), "{out}");
        let parts = [
            "runs inside this process",
            "violation 1: rfc9110-13.1.1/if-match (level must)",
            "(RFC 9110, 13.1.1)",
            "nothing explains this",
            "\nrefuted: ",
            "\nunrefuted: ",
        ];
        for part in parts {
            assert!(out.contains(part), "{part}: {out}");
        }
        // The case is small: a few steps of the ladder, and the conditional request is sent last.
        let sent: Vec<&str> = out.lines().filter(|line| line.ends_with(">│")).collect();
        assert!((1..=4).contains(&sent.len()) && sent.last().unwrap().contains("If-Match"), "{out}");
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    }
}

#[test]
fn the_counterexample_can_be_kept() {
    let path = std::env::temp_dir().join(format!("confute-demo-{}.jsonl", std::process::id()));
    let (code, out, _) = said(confute().arg("demo").arg("--save").arg(&path));
    assert_eq!(code, 0, "{out}");
    let kept = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(kept.lines().next().unwrap().contains("\"http\"") && kept.contains("if_match"), "{kept}");
}
