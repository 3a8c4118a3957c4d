//! The folder of a `check`: one line for each file that was judged. It is what a resumed run goes on from, and what a merge
//! reads.
//!
//! A line counts if it is whole, so a run may be killed in the middle of a write. A merge is a union of lines by the place of
//! the file in the list; it is stored in the same form, so it can be merged again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use confute_record::Shard;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::table::Row;
use crate::args::Check;

/// Name of the file.
pub(crate) const ROWS: &str = "check.jsonl";
const VERSION: u32 = 1;

/// The first line: the run, or the runs that were merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    confute: String,
    version: u32,
    /// The parameters that all shards share, with the list of files.
    pub(crate) campaign: Value,
    /// Number of files in the list.
    pub(crate) files: u64,
    /// The shards.
    pub(crate) shards: BTreeSet<Shard>,
}

/// A file that was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JudgedFile {
    /// Place of the file in the list.
    pub(crate) place: u64,
    /// The line of the table.
    pub(crate) row: Row,
    /// The verdict as JSON.
    pub(crate) object: Value,
}

/// The contents of a folder.
pub(crate) struct Contents {
    pub(crate) head: Head,
    pub(crate) files: BTreeMap<u64, JudgedFile>,
    /// Size of the part of the file that consists of whole lines.
    whole: u64,
}

impl Head {
    /// Returns the head of a run.
    pub(crate) fn new(args: &Check, shard: Shard) -> Self {
        let mut names = DefaultHasher::new();
        for file in &args.files {
            names.write(file.as_os_str().as_encoded_bytes());
            names.write_u8(0);
        }
        let mut allow = args.allow.clone();
        allow.sort_unstable();
        let campaign = json!({
            "list of files": format!("{:016x}", names.finish()),
            "model": args.model,
            "network": args.network,
            "max time": args.max_time,
            "max memory": args.max_memory,
            "allowed": allow,
            "blame": !args.no_blame && !args.quiet,
        });
        let files = args.files.len() as u64;
        Self {
            confute: "check-rows".to_owned(),
            version: VERSION,
            campaign,
            files,
            shards: BTreeSet::from([shard]),
        }
    }

    /// Describes in which parameters the campaign of another head differs.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let (Some(own), Some(other)) = (self.campaign.as_object(), other.campaign.as_object()) else {
            return None;
        };
        let differing: Vec<&str> = own
            .iter()
            .filter(|(name, value)| other.get(*name) != Some(value))
            .map(|(name, _)| &**name)
            .collect();
        (!differing.is_empty()).then(|| format!("another {}", differing.join(", another ")))
    }
}

/// Reads a folder.
pub(crate) fn read(folder: &Path) -> io::Result<Contents> {
    let mut input = BufReader::new(File::open(folder.join(ROWS))?);
    let mut line = Vec::new();
    let mut next = |line: &mut Vec<u8>| -> io::Result<bool> {
        line.clear();
        input.read_until(b'\n', line)?;
        Ok(line.last() == Some(&b'\n'))
    };
    if !next(&mut line)? {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ends in its first line"));
    }
    let head: Head = serde_json::from_slice(&line)
        .map_err(|why| io::Error::other(format!("the first line is not that of a check: {why}")))?;
    if head.confute != "check-rows" || head.version != VERSION {
        return Err(io::Error::other(format!("version {} is not known here, only {VERSION}", head.version)));
    }
    let mut whole = line.len() as u64;
    let mut files = BTreeMap::new();
    while next(&mut line)? {
        let Ok(one) = serde_json::from_slice::<JudgedFile>(&line) else { break };
        whole += line.len() as u64;
        files.insert(one.place, one);
    }
    Ok(Contents { head, files, whole })
}

/// Writes a folder in one piece.
pub(crate) fn write<'a>(
    folder: &Path,
    head: &Head,
    files: impl Iterator<Item = &'a JudgedFile>,
) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    confute_record::put::put(&folder.join(ROWS), |out| {
        serde_json::to_writer(&mut *out, head)?;
        writeln!(out)?;
        for file in files {
            serde_json::to_writer(&mut *out, file)?;
            writeln!(out)?;
        }
        Ok(())
    })
}

/// Writer of the lines of a run.
pub(crate) struct Rows(File);

impl Rows {
    /// Opens the folder of a run. Returns the files that a run which is resumed has judged before.
    pub(crate) fn open(args: &Check, shard: Shard) -> Result<Option<(Self, BTreeMap<u64, JudgedFile>)>> {
        let Some(folder) = args.resume.as_deref().or(args.report_dir.as_deref()) else { return Ok(None) };
        let head = Head::new(args, shard);
        let cannot = || format!("cannot write to {}", folder.display());
        fs::create_dir_all(folder).with_context(cannot)?;
        let before = match read(folder) {
            Ok(before) if args.resume.is_some() => Some(before),
            Err(error) if args.resume.is_some() && !is_nothing(&error) => {
                return Err(error).with_context(|| format!("--resume {}", folder.display()));
            }
            _ => None,
        };
        let file =
            OpenOptions::new().create(true).append(true).open(folder.join(ROWS)).with_context(cannot)?;
        if file.try_lock().is_err() {
            bail!("{}: another process writes there", folder.display());
        }
        let mut rows = Self(file);
        let Some(Contents { head: known, files, whole }) = before else {
            rows.0.set_len(0).with_context(cannot)?;
            rows.line(&head).with_context(cannot)?;
            return Ok(Some((rows, BTreeMap::new())));
        };
        if known != head {
            let why = known.difference(&head).unwrap_or_else(|| "other shards".to_owned());
            bail!("--resume {}: the run there is another one: {why}", folder.display());
        }
        rows.0.set_len(whole).with_context(cannot)?;
        Ok(Some((rows, files)))
    }

    /// Appends a file that was judged.
    pub(crate) fn add(&mut self, file: &JudgedFile) -> io::Result<()> {
        self.line(file)
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec(line).map_err(io::Error::other)?;
        text.push(b'\n');
        self.0.write_all(&text)
    }
}

/// Returns `true` if there is no run to resume: no file, or one whose first line is not whole.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof)
}
