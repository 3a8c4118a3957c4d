//! Atomic writes: a file is written under a temporary name in the same folder and then renamed, so it is
//! complete or absent.
//!
//! This holds however the process ends: by an error, a panic, or a signal that cannot be caught. Such a
//! signal leaves a file whose name ends in `.part`; the next run removes it. It is not guaranteed if the
//! machine loses power: there is no `fsync`, because a run can have hundreds of files, for which it would
//! cost seconds of the budget for reports, and a run that was lost with its machine can be repeated from its seed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Returns the temporary name under which a file is written.
pub fn part(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

/// A temporary file that is removed when dropped, also if its writer panics. After the rename there is
/// nothing to remove.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes a file with the output of `fill`. A reader finds the complete file or none.
pub fn put(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let beside = Part(part(path));
    let mut file = BufWriter::new(File::create(&beside.0)?);
    fill(&mut file)?;
    file.flush()?;
    fs::rename(&beside.0, path)
}

/// Makes the file executable.
#[cfg(unix)]
pub fn make_executable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o755))
}

/// Does nothing: other systems decide by the name of the file.
#[cfg(not(unix))]
pub fn make_executable(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn what_fails_half_way_leaves_what_was_there() {
        let folder = std::env::temp_dir().join(format!("confute-put-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        put(&path, |file| file.write_all(b"whole")).unwrap();
        put(&path, |file| {
            file.write_all(b"ha")?;
            Err(io::Error::other("no more room"))
        })
        .unwrap_err();
        let writer = AssertUnwindSafe(|| put(&path, |_| panic!("a writer with a defect")));
        catch_unwind(writer).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
