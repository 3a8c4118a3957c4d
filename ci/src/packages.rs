//! Packages of Debian, `PyPI` and npm that tests need: installed if possible, otherwise listed as missing.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::root;

/// A program that some tests run, and its package.
struct Needed {
    program: &'static str,
    package: &'static str,
    what_for: &'static str,
}

const NEEDED: [Needed; 18] = [
    Needed { program: "cc", package: "gcc", what_for: "the swap server of the test bed is compiled" },
    Needed { program: "z3", package: "z3", what_for: "the knowledge solver is compared with it" },
    Needed { program: "memcached", package: "memcached", what_for: "a real server to test" },
    Needed { program: "redis-server", package: "redis-server", what_for: "a real server to test" },
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
    Needed { program: "rclone", package: "rclone", what_for: "a real server to test" },
    // The package `tomcat10` would start a server at once.
    Needed {
        program: "/usr/share/tomcat10/bin/bootstrap.jar",
        package: "tomcat10-common",
        what_for: "a real server to test",
    },
    Needed { program: "java", package: "default-jre-headless", what_for: "Tomcat runs in it" },
    Needed { program: "varnishd", package: "varnish", what_for: "a real gateway to test" },
    Needed { program: "nghttpx", package: "nghttp2-proxy", what_for: "a real gateway to test" },
    Needed { program: "chromium", package: "chromium", what_for: "the page of a report is opened in it" },
];

/// Packages of `PyPI`, each with its folder: the server `WsgiDAV`, the HTTP server it runs in, and what the REST services of
/// the test bed are made of.
const PYTHON: [(&str, &str); 8] = [
    ("wsgidav", "wsgidav"),
    ("cheroot", "cheroot"),
    ("fastapi", "fastapi"),
    ("uvicorn", "uvicorn"),
    ("djangorestframework", "rest_framework"),
    ("drf-spectacular", "drf_spectacular"),
    ("flask-smorest", "flask_smorest"),
    ("kinto", "kinto"),
];
/// Package of npm, with its folder. The next version is a prerelease.
const NODE: (&str, &str) = ("json-server@0.17", "json-server");
/// Directory of this workspace in which the packages of npm are installed.
const NODE_FOLDER: &str = "target/node";
/// Directory of this workspace in which the Python packages are installed, and where the test bed looks for them. A
/// directory for `pip --target` needs no virtual environment, which would need another Debian package, and changes
/// nothing for other Python programs.
const PYTHON_FOLDER: &str = "target/python";

/// Installs missing packages, if this is Debian and the user is root. Returns those still missing, one line each.
pub fn provide() -> Vec<String> {
    let mut missing = provide_programs();
    missing.extend(provide_python());
    missing.extend(provide_node());
    missing
}

fn provide_programs() -> Vec<String> {
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

/// Installs Python packages with pip, after pip itself if it is missing.
fn provide_python() -> Option<String> {
    let folder = root().ok()?.join(PYTHON_FOLDER);
    let is_complete = || PYTHON.iter().all(|(_, module)| folder.join(module).is_dir());
    let names = PYTHON.map(|(name, _)| name);
    if !is_complete() && (pip(&["--version"]) || install(&["python3-pip"])) {
        pip_into(&folder, &names);
    }
    let names = names.join(" ");
    (!is_complete()).then(|| {
        format!(
            "{names} (real servers to test): not installed; python3 -m pip install --target {PYTHON_FOLDER} {names}"
        )
    })
}

/// Installs a package with npm, after npm itself if it is missing.
fn provide_node() -> Option<String> {
    let (name, module) = NODE;
    let folder = root().ok()?.join(NODE_FOLDER);
    let is_complete = || is_present("node") && folder.join("node_modules").join(module).is_dir();
    if !is_complete() && ((is_present("npm") && is_present("node")) || install(&["npm", "nodejs"])) {
        println!("installing {name} into {NODE_FOLDER}");
        let target = folder.display().to_string();
        let done = Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix", &target, name])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        if !done.is_ok_and(|status| status.success()) {
            println!("npm failed");
        }
    }
    (!is_complete()).then(|| {
        format!("{name} (a real server to test): not installed; npm install --prefix {NODE_FOLDER} {name}")
    })
}

/// Installs Python packages into a folder. Returns `true` if they were installed.
pub fn pip_into(folder: &Path, names: &[&str]) -> bool {
    println!("installing {} into {}", names.join(", "), folder.display());
    let target = folder.display().to_string();
    let done = pip(&[&["install", "--quiet", "--upgrade", "--target", &target], names].concat());
    if !done {
        println!("pip failed");
    }
    done
}

fn pip(arguments: &[&str]) -> bool {
    let status = Command::new("python3")
        .args(["-m", "pip"])
        .args(arguments)
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .env("PIP_ROOT_USER_ACTION", "ignore")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Installs packages, if this is Debian and the user is root. Returns `true` if they were installed.
pub fn install(names: &[&str]) -> bool {
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

/// Returns `true` if a program is in the path or in Debian's directory for servers.
fn is_present(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.into_iter().any(|folder| folder.join(program).is_file())
}
