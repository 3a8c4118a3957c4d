//! Writes a file as a whole or not at all: beside it first, under another name, which then becomes its own.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes what `fill` says. Whoever finds the file finds all of it.
pub(crate) fn put(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let beside = path.with_file_name(name);
    let written = File::create(&beside).map(BufWriter::new).and_then(|mut file| {
        fill(&mut file)?;
        file.flush()
    });
    let done = written.and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        // What is half done is of no use to anybody.
        let _ = fs::remove_file(&beside);
    }
    done
}

#[cfg(test)]
mod tests {
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
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
