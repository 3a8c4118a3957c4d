//! A field whose type is no field: the compiler says so once, at the type, with the next step.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const SOURCE: &str = "
use confute_service::{Message, Name};

#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
#[message(crate = confute_service)]
pub enum Line {
    #[request]
    At(Name, std::net::Ipv4Addr),
    #[unreadable]
    Odd(String),
}
";

/// Returns the newest compiled form of a crate that this test was linked with.
fn library(folder: &Path, name: &str) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let is_it = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        file.starts_with(&format!("lib{name}-")) && path.extension().is_some_and(|end| end == "rlib")
    };
    files.filter(is_it).max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap()).unwrap()
}

#[test]
fn a_type_that_is_no_field_is_named_once() {
    let test = env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let place = env::temp_dir().join(format!("confute-unknown-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("line.rs"), SOURCE).unwrap();
    let compiler = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = Command::new(compiler)
        .args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "line.rs", "-L"])
        .arg(format!("dependency={}", folder.display()))
        .args(["--extern", &format!("confute_service={}", library(folder, "confute_service").display())])
        .current_dir(&place)
        .output()
        .unwrap();
    fs::remove_dir_all(&place).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`Ipv4Addr` cannot be a field of a message"), "{said}");
    assert!(said.contains("line.rs:8:14"), "{said}");
    assert!(
        said.contains("next step: write `impl Field for Ipv4Addr` with `text`, `parse` and `draw`"),
        "{said}"
    );
    assert_eq!(said.matches("error[").count(), 1, "{said}");
}
