//! The page is bounded, and everything that a server sends remains text.

use std::fs;
use std::path::Path;

use confute_report::files::Reports;

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
        "Seen in 12 cases",
        "nothing explains this",
        "never tested",
        "id=\"v1-m4\"",
        "value 7\\x00\\xff",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    // The shrunk case is displayed.
    assert!(!page.contains("id=\"v1-m5\"") && !page.contains("left out"));
}

/// The verdict and the table come first, then the rules as a tree of documents and sections, then the violations.
#[test]
fn opens_with_the_table_and_the_rules() {
    let ran = run(vec![finding(1, 4, 1, "", true), finding(2, 6, 2, "", false)]);
    let mut record = ran.record();
    record.violations[0].command = Some("curl -i -X PATCH 'http:'".to_owned());
    let names = ["rfc9112-9.3/b", "rfc9110-13.1/a", "rfc9110-9.2/c", "rfc9110-13.1/d"];
    for name in names {
        let mut rule = record.rules[0].clone();
        (rule.name, rule.clause) = (name.to_owned(), None);
        record.rules.push(rule);
    }
    record.figures.rules.insert(names[1].to_owned());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("opens");
    let _ = fs::remove_dir_all(&folder);
    Reports::create(&folder).unwrap().write(&record);
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    let mut from = 0;
    for part in [
        ">refuted<",
        "2 violations, the strongest level first",
        "href=\"#v1\"",
        "curl -i -X PATCH",
        "href=\"#v2\"",
        "<h2>Rules",
        "<strong>RFC 9110</strong>",
        "<summary>9.2 ",
        "rfc9110-9.2/c",
        "<summary>13.1 ",
        "✓ respected</span> <code>rfc9110-13.1/a",
        "– never tested</span> <code>rfc9110-13.1/d",
        "<strong>RFC 9112</strong>",
        "<strong>line</strong>",
        "✗ violated</span> <a href=\"#v1\">1</a> <a href=\"#v2\">2</a> <code>line/read-current",
        "<h2>The run",
        "id=\"v1\"",
        "id=\"v2\"",
    ] {
        let at = page[from..]
            .find(part)
            .unwrap_or_else(|| panic!("{part} is not after {:?}", &page[from..][..200]));
        from += at + part.len();
    }
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
    let findings = (1..=45).map(|number| finding(number, 210, 30, &body, false)).collect();
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
    // Two scripts of data, one that runs.
    assert_eq!(page.matches("</script").count(), 3);
    // Nothing is fetched.
    assert!(!page.contains("http://") && !page.contains("https://"));
}
