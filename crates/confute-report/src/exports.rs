//! What the protocol makes of a counterexample for people without Confute.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use confute::trace::Event;
use confute_drive::{Finding, Kept, Msg, Protocol, is_refuted};

use crate::files::put;
use crate::{Subject, violation};

/// Writes the files; says which, and what is not there.
pub(crate) fn write<P: Protocol>(
    folder: &Path,
    protocol: &P,
    subject: &Subject<'_>,
    finding: &Finding<P>,
) -> io::Result<(Vec<PathBuf>, Vec<String>)> {
    let mut about = vec![format!("Violation {}: {}", finding.number, violation::name(finding))];
    for name in finding.diagnoses.iter().flat_map(|one| &one.rules) {
        if let Some(rule) = subject.rules.iter().find(|rule| rule.name == *name) {
            let clause = (subject.clause)(name).map(|clause| format!(" ({clause})")).unwrap_or_default();
            about.push(format!("{name}: {}{clause}", rule.summary));
        }
    }
    let judge = |trace: &[Event<Msg<P>>], also: &[&'static str]| {
        is_refuted(protocol, trace, [&finding.relaxed, also].concat())
    };
    let exports = protocol.exports(&Kept::new(finding, subject.shown, &about, &judge));
    let mut paths = Vec::new();
    for file in exports.files {
        let path = folder.join(file.name);
        put(&path, |out| out.write_all(subject.secrets.clean(&file.content).as_bytes()))?;
        if file.executable {
            make_executable(&path)?;
        }
        paths.push(path);
    }
    Ok((paths, exports.remarks))
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}
