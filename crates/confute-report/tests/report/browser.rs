//! The page in a real browser, from a file: a selected message shows its bytes.

#![allow(clippy::print_stdout, reason = "whoever runs the tests is to know what was skipped")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::fabricated::{HOSTILE, finding, run};
use crate::written;

/// Returns the path of Chromium, if it is installed; in CI it must be.
fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|folder| folder.join("chromium")).find(|program| program.is_file());
    if found.is_none() {
        let is_strict = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!is_strict, "chromium is not installed, and this is CI");
        println!("skipped: chromium is not installed");
    }
    found
}

/// Returns the DOM of a page after its scripts ran.
fn dom(chromium: &Path, page: &Path, fragment: &str) -> String {
    let profile = page.with_extension(format!("profile{}", fragment.replace('#', "-")));
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--virtual-time-budget=2000", "--dump-dom"])
        .arg(format!("file://{}{fragment}", page.display()))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let _ = fs::remove_dir_all(profile);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the panel of a violation.
fn panel(dom: &str, violation: usize) -> &str {
    let from = dom.find(&format!("id=\"v{violation}-panel\"")).unwrap_or_else(|| panic!("no panel: {dom}"));
    &dom[from..from + dom[from..].find("<details><summary>Events as a list").unwrap()]
}

#[test]
fn a_message_shows_its_bytes() {
    let Some(chromium) = chromium() else { return };
    let folder = written("browser", &run(vec![finding(1, 4, 2, HOSTILE, false), finding(2, 9, 2, "", true)]));
    let page = folder.join("report.html");

    // No message is selected.
    let plain = dom(&chromium, &page, "");
    assert!(panel(&plain, 1).contains("hidden") && panel(&plain, 2).contains("hidden"));

    // Selected by its address.
    let linked = dom(&chromium, &page, "#v2-m4");
    let shown = panel(&linked, 2);
    assert!(!shown.contains("hidden") && shown.contains("value 7\\x00\\xff \\x1b[31m\\n"), "{shown}");
    assert!(shown.contains("Message 4, c0 received at"), "{shown}");
    assert!(panel(&linked, 1).contains("hidden"));

    // Selected by a click, then shown as hex by another. The page runs only its own script, so the test uses its nonce.
    let text = fs::read_to_string(&page).unwrap();
    let nonce = text.split("<script nonce=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let click = "document.querySelector('#v1-m6 .label').dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));";
    let hex = "[...document.querySelectorAll('#v1-panel button')].find((one) => one.textContent === 'Hex').click();";
    let pressed = folder.join("clicked.html");
    for (script, seen) in
        [(click.to_owned(), "value 7\\x00\\xff"), (format!("{click}{hex}"), "76 61 6c 75 65 20 37 00 ff")]
    {
        let with = text.replace("</body>", &format!("<script nonce=\"{nonce}\">{script}</script></body>"));
        fs::write(&pressed, with).unwrap();
        let clicked = dom(&chromium, &pressed, "");
        let shown = panel(&clicked, 1);
        assert!(!shown.contains("hidden") && shown.contains(seen), "{shown}");
        // Text from the server remains text.
        assert!(shown.contains("&lt;img src=x") || seen.starts_with("76"), "{shown}");
        assert!(!clicked.contains("<img") && !clicked.contains("<title>owned"), "{clicked}");
    }

    // A script without the nonce does not run, wherever it came from.
    let foreign = text.replace("</body>", &format!("<script>{click}</script></body>"));
    fs::write(&pressed, foreign).unwrap();
    assert!(panel(&dom(&chromium, &pressed, ""), 1).contains("hidden"));
}
