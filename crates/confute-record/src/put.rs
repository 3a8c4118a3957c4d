//! Writes a file as a whole or not at all: beside it first, under another name, which then becomes its own.
//!
//! That holds whenever the process ends: by an error, a panic, or a signal that cannot be caught. What such a signal leaves behind
//! has a name that ends in `.part`; the next run takes it away. It is not promised for a machine that loses power, and
//! nothing waits for the disk here (`fsync`): a run can have hundreds of files, which would cost seconds of the
//! budget for reports, and a run that was lost with its machine can be done again from its seed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The name under which a file is written before it has its own.
pub fn part(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}

/// Removes a file when it is dropped, so also when whoever fills it panics. Where it has got its own name there is none.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes what `fill` writes. Whoever finds the file finds all of it.
pub fn put(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let beside = Part(part(path));
    let mut file = BufWriter::new(File::create(&beside.0)?);
    fill(&mut file)?;
    file.flush()?;
    fs::rename(&beside.0, path)
}

/// Lets the file be run as a program.
#[cfg(unix)]
pub fn make_executable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o755))
}

/// Other systems go by its name.
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
