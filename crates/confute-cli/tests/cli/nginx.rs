//! The first real refutation: nginx with DAV does not look at preconditions of writes (the paper's §5.2).

use confute_testbed::nginx::Nginx;
use serde_json::Value;

use super::real::running;
use super::{confute, said};

#[test]
fn nginx_ignores_preconditions_of_writes() {
    let Some(nginx) = running(Nginx::start()) else { return };
    let url = format!("http://{}/", nginx.address());
    for seed in ["1", "2"] {
        let args = ["http", &url, "--seed", seed, "--max-time", "20s", "--max-failures", "5", "--no-shrink"];
        let (code, out, err) = said(confute().args(args).args(["--format", "json"]));
        assert_eq!(code, 1, "{out}{err}");
        let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let blamed = lines.iter().filter_map(|line| line["blame"].as_array()).flatten();
        let rules: Vec<&str> = blamed.filter_map(|one| one["rules"][0].as_str()).collect();
        let is_condition =
            |rule: &&str| ["rfc9110-13.1.1/if-match", "rfc9110-13.1.2/if-none-match"].contains(rule);
        assert!(rules.iter().any(is_condition), "{rules:?}");
    }
}
