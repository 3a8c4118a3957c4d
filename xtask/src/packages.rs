//! Debian packages that tests need: installed where that is possible, named where it is not.

use std::env;
use std::process::{Command, Stdio};

/// A program that some tests run, and the package it comes in.
struct Needed {
    program: &'static str,
    package: &'static str,
    what_for: &'static str,
}

const NEEDED: [Needed; 11] = [
    Needed { program: "z3", package: "z3", what_for: "the knowledge solver is compared with it" },
    Needed { program: "memcached", package: "memcached", what_for: "a real server to test" },
    Needed { program: "nginx", package: "nginx-extras", what_for: "a real server to test" },
    Needed { program: "apache2", package: "apache2", what_for: "a real server to test" },
    Needed { program: "lighttpd", package: "lighttpd", what_for: "a real server to test" },
    Needed {
        program: "/usr/lib/lighttpd/mod_webdav.so",
        package: "lighttpd-mod-webdav",
        what_for: "it makes lighttpd a store",
    },
    Needed { program: "haproxy", package: "haproxy", what_for: "a real gateway to test" },
    Needed { program: "curl", package: "curl", what_for: "exported scripts are run" },
    Needed { program: "python3", package: "python3", what_for: "exported scripts are run" },
    Needed { program: "squid", package: "squid", what_for: "a real gateway to test" },
    Needed { program: "chromium", package: "chromium", what_for: "the page of a report is opened in it" },
];

/// Installs what is missing, if this is Debian and we may. Returns what is still missing, a line each.
pub(crate) fn provide() -> Vec<String> {
    let missing = || NEEDED.iter().filter(|needed| !is_present(needed.program));
    if missing().next().is_some() {
        let names: Vec<&str> = missing().map(|needed| needed.package).collect();
        install(&names);
    }
    missing()
        .map(|needed| {
            let Needed { program, package, what_for } = needed;
            format!("{program} ({what_for}): not installed; as root: apt-get install {package}")
        })
        .collect()
}

/// Installs packages, if this is Debian and we may. Whether they are there then.
pub(crate) fn install(names: &[&str]) -> bool {
    if !may_install() {
        return false;
    }
    println!("installing {}", names.join(", "));
    let update = apt(&["update", "-qq"]);
    let arguments = [&["install", "-y", "-qq", "--no-install-recommends"], names].concat();
    let done = update && apt(&arguments);
    if !done {
        println!("apt-get failed");
    }
    done
}

fn apt(arguments: &[&str]) -> bool {
    let status = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn may_install() -> bool {
    let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    root && is_present("apt-get")
}

/// Whether a program is in the path, or where Debian keeps servers.
fn is_present(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.into_iter().any(|folder| folder.join(program).is_file())
}
