//! `confute check`: judges recorded files, several at a time.
//!
//! A file that cannot be read does not prevent the others from being judged. Each file is judged by one thread, from
//! reading to blame; what it has to say comes in [`Piece`]s, so that a verdict is printed before its blame is known.
//! The pieces are printed in the order of the files, whichever is judged first.

pub(crate) mod folder;
mod judge;
pub(crate) mod table;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use anyhow::{Context as _, Result};
use confute_record::{Exit, Shard, guarded};
use serde_json::Value;

use crate::args::{Check, Color, Format};
use crate::progress::Board;
use crate::{json, output};
use folder::{JudgedFile, Rows};
pub(crate) use judge::Judged;
use table::{Row, Table};

/// Stack of a thread that judges: that of the main thread on most systems.
const STACK: usize = 8 << 20;

/// Something that is printed about a file.
enum Piece {
    /// Text for standard output.
    Text(Vec<u8>),
    /// The file could not be judged: one line for standard error, or an object.
    Problem(String),
    /// Part of the search log.
    Log(String),
    /// The verdict as an object, for the folder of the run.
    Object(Value),
    /// The file is done.
    Done(Row),
}

pub(crate) fn run(args: &Check, color: Color, out: &mut dyn Write) -> Result<Exit> {
    if let Some(model) = args.model.and_then(confute_kits::check_model)
        && let Some(rule) = args.allow.iter().find(|rule| model.rules().iter().all(|own| own.name != **rule))
    {
        anyhow::bail!("{rule} is no rule of model {0}; `confute rules {0}` lists them", model.name());
    }
    let mut log = match &args.search_log {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            Some((file, path))
        }
        None => None,
    };
    let variable = |name: &str| std::env::var(name).ok();
    let shard = args
        .shard
        .map_or(Ok(Shard::WHOLE), |choice| choice.resolve(&variable))
        .map_err(anyhow::Error::msg)?;
    let (rows, before) =
        Rows::open(args, shard)?.map_or((None, BTreeMap::new()), |(rows, files)| (Some(rows), files));
    let own = (0_u64..).zip(&args.files).filter(|(place, _)| shard.takes(*place));
    let own: Vec<(u64, &PathBuf)> = own.collect();
    let files: Vec<(u64, &PathBuf)> =
        own.iter().filter(|(place, _)| !before.contains_key(place)).copied().collect();
    let job = Job { args, color, files: &files, all: own.len() };
    let board = Board::new(files.len(), args.verbose, color);
    let next = AtomicUsize::new(0);
    let (sender, pieces) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..args.jobs.count().min(files.len()) {
            let (sender, board, next, files) = (sender.clone(), &board, &next, &files);
            let work = move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some((_, path)) = files.get(place) else { break };
                    // If nobody listens any more, the run has failed, and that is reported elsewhere.
                    work_on(args, path, board, &|piece| drop(sender.send((place, piece))));
                }
            };
            thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, work)
                .context("cannot start a thread")?;
        }
        drop(sender);
        let mut write_log = |text: &str| match &mut log {
            Some((file, path)) => {
                file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
            }
            None => Ok(()),
        };
        let printed = job.print(&pieces, &board, (rows, before), &mut write_log, out);
        if printed.is_err() {
            // No more files are begun.
            next.store(files.len(), Ordering::Relaxed);
        }
        printed
    })
}

/// The files to judge.
struct Job<'a> {
    args: &'a Check,
    color: Color,
    /// The files, each with its place in the list of the user.
    files: &'a [(u64, &'a PathBuf)],
    /// Number of files, with those that were judged before the run was resumed.
    all: usize,
}

impl Job<'_> {
    /// Prints the pieces in the order of the files. Returns the exit code for all. The lines of `before` are in the table
    /// too, and those of new files are added to `rows`.
    fn print(
        &self,
        pieces: &Receiver<(usize, Piece)>,
        board: &Board,
        (mut rows, before): (Option<Rows>, BTreeMap<u64, JudgedFile>),
        log: &mut dyn FnMut(&str) -> Result<()>,
        out: &mut dyn Write,
    ) -> Result<Exit> {
        let Self { args, color, files, all } = *self;
        let mut done: BTreeMap<u64, Row> = before.into_iter().map(|(place, one)| (place, one.row)).collect();
        let mut waiting: BTreeMap<usize, Vec<Piece>> = BTreeMap::new();
        let mut objects: BTreeMap<usize, Value> = BTreeMap::new();
        let mut now = 0;
        for (place, piece) in pieces {
            // A line is written as soon as a file is done, also if an earlier one is still being judged.
            match (&piece, &mut rows) {
                (Piece::Object(object), _) => drop(objects.insert(place, object.clone())),
                (Piece::Done(row), Some(rows)) => {
                    let object = objects.remove(&place).unwrap_or_default();
                    let one = JudgedFile { place: files[place].0, row: row.clone(), object };
                    rows.add(&one).context("cannot write the verdict of a file")?;
                }
                _ => {}
            }
            waiting.entry(place).or_default().push(piece);
            while let Some(ready) = waiting.remove(&now) {
                board.erase();
                for piece in ready {
                    match piece {
                        Piece::Text(text) => out.write_all(&text)?,
                        Piece::Log(text) => log(&text)?,
                        Piece::Problem(problem) => self.problem(files[now].1, &problem, out)?,
                        Piece::Object(_) => {}
                        Piece::Done(row) => {
                            done.insert(files[now].0, row);
                            now += 1;
                        }
                    }
                }
                out.flush()?;
            }
        }
        board.erase();
        let table = Table { rows: done.into_values().collect() };
        if all > 1 && args.format == Format::Human && !args.quiet {
            table.write(out)?;
        }
        if all == 0 && args.format == Format::Human {
            output::complain(color, "the shard has no files: there are fewer files than shards");
        }
        Ok(table.rows.iter().map(|row| row.exit).max().unwrap_or(Exit::Unrefuted))
    }

    /// Reports a file that could not be judged.
    fn problem(&self, file: &Path, problem: &str, out: &mut dyn Write) -> Result<()> {
        let file = file.display().to_string();
        match self.args.format {
            Format::Human => {
                out.flush()?;
                output::complain(self.color, &format!("{file}: {problem}"));
            }
            Format::Json => json::broken(&file, problem, out)?,
        }
        Ok(())
    }
}

/// Judges one file, and says what there is to say about it.
fn work_on(args: &Check, path: &Path, board: &Board, say: &dyn Fn(Piece)) {
    let file = path.display().to_string();
    let row = match guarded(|| judge::file(args, path, board, say)) {
        Ok(Ok(row)) => row,
        Ok(Err(problem)) => {
            say(Piece::Object(json::object(&|out| json::broken(&file, &problem, out))));
            say(Piece::Problem(problem));
            Row::without_verdict(file, Exit::Broken)
        }
        // The results of the other files stand.
        Err(why) => {
            say(Piece::Problem(confute_run::panicked(why)));
            Row::without_verdict(file, Exit::Inconclusive)
        }
    };
    board.finish_one();
    say(Piece::Done(row));
}
