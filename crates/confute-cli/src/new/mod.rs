//! `confute new`: writes a crate with a model, a server that has a planted bug, and the test that finds it.
//!
//! Model and server are the first step of the tutorial (`examples/tutorial`), service and document of `--rest` are `examples/todo`, so
//! what is written is compiled and tested with this workspace; `cargo xtask newcomer` builds a written crate and runs its test.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use confute_record::Exit;
use confute_report::style::STRONG;

use crate::args::New;

/// The checkout that this binary was built from.
const OWN_CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// The crate that a written crate depends on, in a checkout.
const DEPENDENCY: &str = "crates/confute-test";

const MANIFEST: &str = include_str!("Cargo.toml.txt");
const TESTER: &str = include_str!("tester.rs.txt");
const MODEL: &str = include_str!("../../../../examples/tutorial/src/notes.rs");
const SERVER: &str = include_str!("../../../../examples/tutorial/tests/tutorial/notes/server.rs");
/// The files of a tester of a REST service.
const REST_MANIFEST: &str = include_str!("Rest.toml.txt");
const REST_TESTER: &str = include_str!("rest.rs.txt");
const REST_SERVICE: &str = include_str!("../../../../examples/todo/src/lib.rs");
const REST_DOCUMENT: &str = include_str!("../../../../examples/todo/openapi.yaml");

/// The first words that Rust or Cargo keep for themselves.
const RESERVED: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// A reason why no crate was written, with the next step.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NewError {
    #[error(
        "`{0}` cannot be the name of a crate: {1}\n  next: use lower-case letters, digits, `-` and `_`, as in `confute new my-service`"
    )]
    Name(String, String),
    #[error(
        "there is already something called `{0}` here; nothing was written\n  next: choose another name, or remove it"
    )]
    Exists(String),
    #[error(
        "`{0}` is no checkout of Confute: there is no {DEPENDENCY}/Cargo.toml in it\n  next: give the folder that holds Confute's README.md and Cargo.toml"
    )]
    NoCheckout(String),
    #[error(
        "the checkout that this binary was built from is gone: there is no {DEPENDENCY}/Cargo.toml in `{0}`\n  next: name another one with `--confute PATH`"
    )]
    Gone(String),
    #[error("cannot write {0}: {1}\n  next: run it in a folder in which you may create files")]
    Write(String, io::Error),
}

/// Writes the crate and prints what to do with it.
pub(crate) fn run(args: &New, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let checkout = checkout(args.confute.as_deref())?;
    let lock = fs::read_to_string(checkout.join("Cargo.lock")).ok();
    check_name(&args.name, lock.as_deref().unwrap_or_default())?;
    write_crate(args, &checkout, lock.as_deref())?;
    let name = &args.name;
    if args.rest {
        writeln!(
            out,
            "{STRONG}{name}{STRONG:#}: a tester for a small REST service of todos, with a planted bug\n\n  \
             {name}/openapi.yaml            the OpenAPI document, from which the tester is derived\n  \
             {name}/src/lib.rs              the service\n  \
             {name}/tests/tester/main.rs    the test\n  \
             {name}/Cargo.toml              depends on {}\n\n\
             Next:\n  \
             cd {name} && cargo test    refutes the service, after a build of about a minute\n  \
             Set BUG to None in tests/tester/main.rs, and the test passes.\n  \
             Then start your own service there, and put its document in the place of openapi.yaml:\n  \
             {} explains how.",
            checkout.join(DEPENDENCY).display(),
            checkout.join("GUIDE.md").display(),
        )?;
        return Ok(Exit::Unrefuted);
    }
    writeln!(
        out,
        "{STRONG}{name}{STRONG:#}: a tester for a small service of notes, and a server with a planted bug\n\n  \
         {name}/src/lib.rs              messages, one rule, and the model of a correct server\n  \
         {name}/tests/tester/main.rs    the test\n  \
         {name}/tests/tester/server.rs  the server\n  \
         {name}/Cargo.toml              depends on {}\n\n\
         Next:\n  \
         cd {name} && cargo test    refutes the server, after a build of about a minute\n  \
         Set BUG to false in tests/tester/main.rs, and the test passes.\n  \
         Then start your own server there, and make the messages and the model yours:\n  \
         {} explains how.",
        checkout.join(DEPENDENCY).display(),
        checkout.join("GUIDE.md").display(),
    )?;
    if !args.lines {
        writeln!(
            out,
            "  Messages are lines (`wire::lines()` in the test); another wire is a change of that line."
        )?;
    }
    Ok(Exit::Unrefuted)
}

/// Returns the checkout to depend on, as an absolute path.
fn checkout(given: Option<&Path>) -> Result<PathBuf, NewError> {
    let path = given.unwrap_or(Path::new(OWN_CHECKOUT));
    let absent = || match given {
        Some(path) => NewError::NoCheckout(path.display().to_string()),
        None => NewError::Gone(path.display().to_string()),
    };
    let path = path.canonicalize().map_err(|_| absent())?;
    if path.join(DEPENDENCY).join("Cargo.toml").is_file() { Ok(path) } else { Err(absent()) }
}

/// Checks that Cargo and rustc accept this name beside the crates in the lock file.
fn check_name(name: &str, lock: &str) -> Result<(), NewError> {
    let is_start = |letter: char| letter.is_ascii_lowercase();
    let is_letter = |letter: char| is_start(letter) || letter.is_ascii_digit() || "-_".contains(letter);
    let why = if name.is_empty() {
        "it is empty"
    } else if name.contains(['/', '\\']) {
        "it is a path; the crate is written into the current folder"
    } else if !name.starts_with(is_start) {
        "it must begin with a lower-case letter"
    } else if !name.chars().all(is_letter) {
        "it has other characters than lower-case letters, digits, `-` and `_`"
    } else if name.len() > 64 {
        "it is longer than 64 characters"
    } else if RESERVED.contains(&&*name.replace('-', "_")) {
        "Rust reserves this word"
    } else if name.starts_with("confute") || is_locked(name, lock) {
        "a crate that it depends on is called like that"
    } else {
        return Ok(());
    };
    Err(NewError::Name(name.to_owned(), why.to_owned()))
}

/// Returns `true` if a lock file has a package of this name from the registry.
fn is_locked(name: &str, lock: &str) -> bool {
    let own = |text: &str| text.replace('-', "_");
    let has_name = |package: &&str| {
        let mut words = package.lines().filter_map(|line| line.strip_prefix("name = \""));
        words.any(|rest| own(rest.trim_end_matches('"')) == own(name))
    };
    lock.split("[[package]]").filter(has_name).any(|package| package.contains("\nsource = "))
}

/// Writes the files of the crate into a new folder of its name.
fn write_crate(args: &New, checkout: &Path, lock: Option<&str>) -> Result<(), NewError> {
    let name = &*args.name;
    let folder = Path::new(name);
    fs::create_dir(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => NewError::Exists(name.to_owned()),
        _ => NewError::Write(name.to_owned(), error),
    })?;
    // A JSON string is a string of TOML, too.
    let place = |part: &str| serde_json::Value::from(checkout.join(part).display().to_string()).to_string();
    let (manifest, tester) = if args.rest { (REST_MANIFEST, REST_TESTER) } else { (MANIFEST, TESTER) };
    let manifest = manifest.replace("NAME", name).replace("CHECKOUT", &place(DEPENDENCY));
    let manifest = manifest.replace("HTTP1", &place("crates/confute-http1"));
    let tester = tester.replace("NAME", &name.replace('-', "_"));
    let mut files =
        vec![("Cargo.toml", &*manifest), ("tests/tester/main.rs", &tester), (".gitignore", "/target\n")];
    files.extend(if args.rest {
        [("src/lib.rs", REST_SERVICE), ("openapi.yaml", REST_DOCUMENT)]
    } else {
        [("src/lib.rs", MODEL), ("tests/tester/server.rs", SERVER)]
    });
    // The versions that the checkout was built with need not be resolved or downloaded again.
    files.extend(lock.map(|lock| ("Cargo.lock", lock)));
    for (path, text) in files {
        let path = folder.join(path);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        written.map_err(|error| NewError::Write(path.display().to_string(), error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_crates() {
        let lock = "[[package]]\nname = \"locks\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"serde_json\"\nversion = \"1\"\nsource = \"r\"\n";
        for name in ["notes", "my-service", "a1", "locks", "serde"] {
            check_name(name, lock).unwrap();
        }
        for (name, why) in [
            ("", "it is empty"),
            ("work/notes", "it is a path"),
            ("9lives", "must begin with a lower-case letter"),
            ("Notes", "must begin with a lower-case letter"),
            ("my notes", "other characters"),
            ("match", "Rust reserves"),
            ("confute-test", "a crate that it depends on"),
            ("serde-json", "a crate that it depends on"),
        ] {
            let error = check_name(name, lock).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }
}
