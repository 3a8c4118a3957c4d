//! The page: bounded, and nothing that a server says is more than text.

use std::fs;

use crate::fabricated::{HOSTILE, finding, run};
use crate::written;

fn page(name: &str, ran: &crate::Ran) -> String {
    fs::read_to_string(written(name, ran).join("report.html")).unwrap()
}

#[test]
fn says_what_matters() {
    let page = page("page", &run(vec![finding(1, 4000, 4, "", true)]));
    for part in [
        "violation 1: line/read-current (level store)",
        "A get answers with the current value.",
        "nobody else writes",
        "Value(871020890)",
        "9 of 10 runs",
        "Met in 12 cases",
        "nothing explains this",
        "never tested",
        "id=\"v1-m4\"",
        "value 7\\x00\\xff",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    // The small case is the one that is shown.
    assert!(!page.contains("id=\"v1-m5\"") && !page.contains("left out"));
}

#[test]
fn leads_to_what_is_there() {
    let folder = written("links", &run(vec![finding(1, 40, 4, "", true), finding(2, 40, 2, "", false)]));
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    let links = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let files: Vec<&str> = links.filter(|link| !link.starts_with('#')).collect();
    assert!(files.iter().all(|file| folder.join(file).is_file()), "{files:?}");
    assert!(files.contains(&"violation-1/as-found.case") && files.contains(&"violation-2/violation.case"));
}

#[test]
fn a_long_case_is_cut_around_the_end() {
    let page = page("long", &run(vec![finding(1, 9_998, 8, "", false)]));
    assert!(page.contains("200 events around the one that nothing explains; 9,800 before and 0 after"));
    assert!(page.contains("id=\"v1-m10000\"") && page.contains("id=\"v1-m9801\""));
    assert!(!page.contains("id=\"v1-m9800\""));
    assert!(page.len() < 1_000_000, "{}", page.len());
}

#[test]
fn however_much_there_is_it_stays_small() {
    let body = HOSTILE.repeat(40);
    let findings = (1..=45).map(|number| finding(number, 400, 30, &body, false)).collect();
    let page = page("much", &run(findings));
    assert!(page.len() < 5_000_000, "{}", page.len());
    assert!(page.contains("And 5 more") && page.contains("more characters"));
    assert!(page.contains("id=\"v40\"") && !page.contains("id=\"v41\""));
}

#[test]
fn nothing_a_server_says_is_markup() {
    let page =
        page("hostile", &run(vec![finding(1, 40, 4, HOSTILE, false), finding(2, 40, 2, HOSTILE, true)]));
    assert!(page.contains("onerror"), "it is shown");
    for part in ["<img", "<!--", "'\"&lt;<"] {
        assert!(!page.contains(part), "{part}");
    }
    // Two for data, one that runs.
    assert_eq!(page.matches("</script").count(), 3);
    // Nothing is fetched.
    assert!(!page.contains("http://") && !page.contains("https://"));
}
