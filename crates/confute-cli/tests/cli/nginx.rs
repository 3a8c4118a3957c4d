//! The first real refutation: nginx with DAV ignores the preconditions of writes (the paper's §5.2).

use std::process::Command;

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

/// Number of lines of the table and of what follows the violations, and of each violation.
const FRAME: usize = 80;
const EACH: usize = 25;

#[test]
fn a_report_of_many_violations_is_short() {
    let Some(nginx) = running(Nginx::start()) else { return };
    let url = format!("http://{}/", nginx.address());
    let (code, out, err) =
        said(confute().args(["http", &url, "--seed", "1", "--max-time", "6s", "--shrink-time", "5s"]));
    assert_eq!(code, 1, "{out}{err}");
    let (table, rest) = out.split_once("\n\n").unwrap();
    assert!(table.lines().next().unwrap().ends_with("the strongest level first:"), "{out}");
    let (violations, after) = rest.rsplit_once("\n\n").unwrap();
    let violations: Vec<&str> = violations.split("\n\n").collect();
    for text in &violations {
        // An empty line follows each.
        assert!(text.starts_with("violation ") && text.lines().count() < EACH, "{text}");
    }
    assert!(table.lines().count() + after.lines().count() <= FRAME, "{out}");
    // Levels do not rise again in the table.
    let levels = ["must", "store", "steady", "should", "live"];
    let rows =
        table.lines().filter(|line| line.get(..4).is_some_and(|start| start.trim().parse::<u32>().is_ok()));
    let ranks: Vec<_> = rows
        .filter_map(|row| {
            levels.iter().position(|level| row.get(46..).is_some_and(|rest| rest.contains(level)))
        })
        .collect();
    assert!(ranks.len() >= 5 && ranks.is_sorted(), "{ranks:?}: {table}");
    // One line of curl shows what one request shows.
    let command = table
        .lines()
        .map(str::trim)
        .skip_while(|line| !line.contains("15.5.6/allow"))
        .find(|line| line.starts_with("curl "));
    let command = command.unwrap_or_else(|| panic!("no command for 405 without Allow: {table}"));
    let output = Command::new("bash").args(["-c", command]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).to_ascii_lowercase();
    assert!(told.starts_with("http/1.1 405") && !told.contains("\nallow:"), "{command}: {told}");
}
