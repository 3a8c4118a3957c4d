//! Debian's source of Apache, fetched, configured and built below `target/`.
//!
//! The package lists and sources of the system are not changed: source packages are looked up with private lists.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

/// Files that a build needs besides a compiler, and their packages.
const PACKAGES: [(&str, &str); 4] = [
    ("/usr/bin/dpkg-source", "dpkg-dev"),
    ("/usr/include/apr-1.0/apr.h", "libapr1-dev"),
    ("/usr/bin/apu-1-config", "libaprutil1-dev"),
    ("/usr/include/pcre2.h", "libpcre2-dev"),
];

/// Modules that are linked statically; all others are disabled.
const STATIC: [&str; 6] = ["unixd", "authz-core", "dav", "dav-fs", "proxy", "proxy-http"];
/// Modules that `proxy` would enable.
const LEFT_OUT: [&str; 16] = [
    "proxy-connect",
    "proxy-ftp",
    "proxy-fcgi",
    "proxy-scgi",
    "proxy-uwsgi",
    "proxy-fdpass",
    "proxy-wstunnel",
    "proxy-ajp",
    "proxy-balancer",
    "proxy-express",
    "proxy-hcheck",
    "proxy-http2",
    "lbmethod-byrequests",
    "lbmethod-bytraffic",
    "lbmethod-bybusyness",
    "lbmethod-heartbeat",
];

/// A configured source tree.
pub(crate) struct Source {
    /// Version of Debian's package.
    pub(crate) version: String,
    /// Path of the tree.
    pub(crate) tree: PathBuf,
}

impl Source {
    /// Returns the newest source, fetched and configured unless that was done before.
    pub(crate) fn provide(home: &Path) -> Result<Self> {
        fs::create_dir_all(home).with_context(|| format!("cannot make {}", home.display()))?;
        let (stamp, tree) = (home.join("version"), home.join("tree"));
        if let Ok(version) = fs::read_to_string(&stamp) {
            return Ok(Self { version, tree });
        }
        install()?;
        // The remains of an interrupted attempt are not reliable.
        if tree.exists() {
            fs::remove_dir_all(&tree)?;
        }
        let version = fetch(home)?;
        println!("configuring apache2 {version}");
        configure(&tree)?;
        fs::write(&stamp, &version)?;
        Ok(Self { version, tree })
    }

    /// Builds the binary from the current sources, and copies it to `to`.
    pub(crate) fn build(&self, to: &Path) -> Result<()> {
        let mut make = Command::new("make");
        make.args(["-s", "-j2"]).current_dir(&self.tree);
        quietly(&mut make, "make").with_context(|| format!("cannot build {}", self.tree.display()))?;
        // The copy gets another name first, so that a file with the right name is always complete.
        let part = to.with_extension("part");
        fs::copy(self.tree.join("httpd"), &part)?;
        fs::rename(&part, to)?;
        Ok(())
    }
}

/// Installs missing packages that a build needs, if permitted.
fn install() -> Result<()> {
    let missing: Vec<&str> =
        PACKAGES.iter().filter(|(file, _)| !Path::new(file).exists()).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    ensure!(
        ci::packages::install(&missing),
        "cannot build Apache without {}; as root: apt-get install {}",
        missing.join(", "),
        missing.join(" ")
    );
    Ok(())
}

/// Fetches the newest available source package, and unpacks it into `tree`.
fn fetch(home: &Path) -> Result<String> {
    let apt = Apt::new(home)?;
    println!("looking for the source of apache2");
    apt.run("apt-get", &["update", "-qq"])?;
    let shown = apt.run("apt-cache", &["showsrc", "apache2"])?;
    let mut versions: Vec<&str> =
        shown.lines().filter_map(|line| line.strip_prefix("Version: ")).map(str::trim).collect();
    versions.sort_by(|a, b| newer(a, b));
    versions.dedup();
    let mut why = Vec::new();
    for version in versions {
        // A mirror may list a source that it does not have.
        match apt.run("apt-get", &["source", "-qq", "--download-only", &format!("apache2={version}")]) {
            Ok(_) => {
                let file = home.join(format!("apache2_{}.dsc", without_epoch(version)));
                let mut unpack = Command::new("dpkg-source");
                unpack.args(["--extract", "--no-check"]).arg(&file).arg("tree").current_dir(home);
                quietly(&mut unpack, "dpkg-source")?;
                return Ok(version.to_owned());
            }
            Err(error) => why.push(format!("{version}: {error:#}")),
        }
    }
    bail!("no source of apache2 can be had: {}", why.join("; "))
}

fn without_epoch(version: &str) -> &str {
    version.split_once(':').map_or(version, |(_, rest)| rest)
}

/// Orders versions by Debian's rules, newest first.
fn newer(a: &str, b: &str) -> std::cmp::Ordering {
    let is = |relation| {
        let status = Command::new("dpkg").args(["--compare-versions", a, relation, b]).status();
        status.is_ok_and(|status| status.success())
    };
    if is("gt") {
        std::cmp::Ordering::Less
    } else if is("lt") {
        std::cmp::Ordering::Greater
    } else {
        std::cmp::Ordering::Equal
    }
}

/// The apt commands with private sources and lists.
struct Apt {
    home: PathBuf,
    options: Vec<String>,
}

impl Apt {
    fn new(home: &Path) -> Result<Self> {
        let private = home.join("apt");
        for part in ["sources", "lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(private.join(part))?;
        }
        let mut texts = vec![("sources.list".to_owned(), "/etc/apt/sources.list".into())];
        for entry in fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten() {
            texts.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
        }
        let mut found = false;
        for (name, path) in texts {
            let sources = fs::read_to_string(&path).map(|text| of_sources(&name, &text)).unwrap_or_default();
            if !sources.is_empty() {
                fs::write(private.join("sources").join(&name), sources)?;
                found = true;
            }
        }
        ensure!(found, "this system has no Debian sources in /etc/apt: where to find apache2 is not known");
        let dir = private.display();
        let options = [
            "Dir::Etc::sourcelist=/dev/null".to_owned(),
            format!("Dir::Etc::sourceparts={dir}/sources"),
            format!("Dir::State::lists={dir}/lists"),
            format!("Dir::Cache={dir}/cache"),
            // Downloads go to a private directory, which apt's unprivileged user may be unable to enter.
            "APT::Sandbox::User=root".to_owned(),
        ];
        Ok(Self { home: home.to_owned(), options: options.into() })
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(program);
        command.args(self.options.iter().flat_map(|option| ["-o", option])).args(arguments);
        quietly(command.current_dir(&self.home), program)
    }
}

/// Converts apt sources into those of source packages. Sources other than Debian's are omitted.
fn of_sources(name: &str, text: &str) -> String {
    match Path::new(name).extension().and_then(OsStr::to_str) {
        Some("sources") => {
            let stanza = |stanza: &&str| stanza.contains("debian") && stanza.contains("Types:");
            let of_source = |line: &str| {
                if line.starts_with("Types:") { "Types: deb-src\n".to_owned() } else { format!("{line}\n") }
            };
            let stanzas = text.split("\n\n").filter(stanza);
            let stanzas: Vec<String> =
                stanzas.map(|stanza| stanza.lines().map(of_source).collect()).collect();
            stanzas.join("\n")
        }
        Some("list") => {
            let lines = text.lines().filter_map(|line| line.strip_prefix("deb "));
            let lines: Vec<&str> = lines.filter(|rest| rest.contains("debian")).collect();
            lines.iter().flat_map(|rest| ["deb-src ", rest, "\n"]).collect()
        }
        _ => String::new(),
    }
}

fn configure(tree: &Path) -> Result<()> {
    // The build date is removed, so that builds do not depend on it.
    let mark = tree.join("server/buildmark.c");
    let text = fs::read_to_string(&mark)?;
    fs::write(&mark, text.replace("= BUILD_DATETIME", "= \"\""))?;
    let mut command = Command::new("./configure");
    command.arg("--quiet").arg(format!("--prefix={}", tree.display()));
    command.args(["--with-mpm=event", "--enable-modules=none"]);
    command.args(STATIC.map(|module| format!("--enable-{module}=static")));
    command.args(LEFT_OUT.map(|module| format!("--disable-{module}")));
    quietly(command.current_dir(tree), "configure")?;
    Ok(())
}

/// Runs a command and returns its output; if it fails, the error contains the last lines.
fn quietly(command: &mut Command, name: &str) -> Result<String> {
    let output = command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {name}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let all: Vec<&str> = said.lines().chain(errors.lines()).collect();
    bail!("{name} failed: {}", all[all.len().saturating_sub(6)..].join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_sources() {
        let deb822 = "Types: deb\nURIs: http://x/debian\nSuites: a\n\nTypes: deb\nURIs: http://y/other\n";
        assert_eq!(
            of_sources("debian.sources", deb822),
            "Types: deb-src\nURIs: http://x/debian\nSuites: a\n"
        );
        let list = "# deb no\ndeb http://x/debian a main\ndeb https://y/z a main\n";
        assert_eq!(of_sources("sources.list", list), "deb-src http://x/debian a main\n");
        assert_eq!(of_sources("x.disabled", list), "");
    }

    #[test]
    fn versions_without_epoch() {
        assert_eq!(without_epoch("1:2.4-1"), "2.4-1");
        assert_eq!(without_epoch("2.4-1"), "2.4-1");
    }
}
