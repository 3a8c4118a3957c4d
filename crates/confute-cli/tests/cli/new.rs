//! `confute new`: a crate to begin with. `cargo xtask newcomer` compiles one and runs its test.

use std::fs;
use std::path::PathBuf;

use super::{confute, said};

/// Returns an empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("confute-new-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_crate_is_written_with_next_steps() {
    let here = folder("crate");
    let (code, out, err) = said(confute().args(["new", "my-notes", "--lines"]).current_dir(&here));
    assert_eq!(code, 0, "{err}");
    let read = |path: &str| fs::read_to_string(here.join("my-notes").join(path)).unwrap();
    for part in ["cd my-notes && cargo test", "BUG to false", "GUIDE.md"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let manifest = read("Cargo.toml");
    for part in ["name = \"my-notes\"", "crates/confute-test\" }", "not published", "--confute PATH"] {
        assert!(manifest.contains(part), "{part}: {manifest}");
    }
    assert!(read("tests/tester/main.rs").contains("use my_notes::Notes;"));
    assert!(read("src/lib.rs").contains("impl ServerModel for Notes"));
    assert!(read("tests/tester/server.rs").contains("fn start(bug: bool)"));
    // A second one of the same name is refused, and the first is as it was.
    let (code, _, err) = said(confute().args(["new", "my-notes"]).current_dir(&here));
    assert!(
        code == 2 && err.contains("already something called `my-notes`") && err.contains("next:"),
        "{err}"
    );
    assert_eq!(read("Cargo.toml"), manifest);
    fs::remove_dir_all(&here).unwrap();
}

#[test]
fn a_tester_of_a_rest_service_is_written() {
    let here = folder("rest");
    let (code, out, err) = said(confute().args(["new", "my-todos", "--rest"]).current_dir(&here));
    assert_eq!(code, 0, "{err}");
    let read = |path: &str| fs::read_to_string(here.join("my-todos").join(path)).unwrap();
    for part in ["cd my-todos && cargo test", "BUG to None", "openapi.yaml", "GUIDE.md"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    for part in ["crates/confute-test\" }", "crates/confute-http1\" }", "not published"] {
        assert!(read("Cargo.toml").contains(part), "{part}");
    }
    assert!(read("tests/tester/main.rs").contains("use my_todos::{Bug, start};"));
    assert!(read("src/lib.rs").contains("pub fn start(") && read("openapi.yaml").contains("/todos/{id}"));
    fs::remove_dir_all(&here).unwrap();
}

#[test]
fn mistakes_say_what_to_do() {
    let here = folder("mistakes");
    for (arguments, parts) in [
        (&["new", "My Notes"][..], ["`My Notes` cannot be the name", "next: use lower-case letters"]),
        (&["new", "work/notes"], ["it is a path", "next:"]),
        (&["new", "notes", "--confute", "."], ["`.` is no checkout of Confute", "next: give the folder"]),
        (&["new", "notes", "--confute", "nowhere"], ["`nowhere` is no checkout", "next:"]),
    ] {
        let (code, out, err) = said(confute().args(arguments).current_dir(&here));
        assert!(code == 2 && out.is_empty(), "{arguments:?}: {out}");
        assert!(parts.iter().all(|part| err.contains(part)), "{arguments:?}: {err}");
    }
    assert!(fs::read_dir(&here).unwrap().next().is_none());
    fs::remove_dir_all(&here).unwrap();
}
