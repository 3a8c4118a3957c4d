//! `confute check`: judges recorded files, several at a time.
//!
//! A file that cannot be read does not prevent the others from being judged. Each file is judged by one thread, from
//! reading to blame; what it has to say comes in [`Piece`]s, so that a verdict is printed before its blame is known.
//! The pieces are printed in the order of the files, whichever is judged first.

mod judge;
mod table;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use anyhow::{Context as _, Result};
use confute_models::registry;
use confute_record::{Exit, guarded};

use crate::args::{Check, Color, Format};
use crate::progress::Board;
use crate::{json, output};
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
    /// The file is done.
    Done(Row),
}

pub(crate) fn run(args: &Check, color: Color, out: &mut dyn Write) -> Result<Exit> {
    if let Some(model) = args.model.and_then(registry::model)
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
    let board = Board::new(args.files.len(), args.verbose, color);
    let next = AtomicUsize::new(0);
    let (sender, pieces) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..args.jobs.count().min(args.files.len()) {
            let (sender, board, next) = (sender.clone(), &board, &next);
            let work = move || {
                while let Some(path) = args.files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let place = args.files.iter().position(|other| std::ptr::eq(other, path)).unwrap_or(0);
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
        let printed = print(args, color, &pieces, &board, &mut write_log, out);
        if printed.is_err() {
            // No more files are begun.
            next.store(args.files.len(), Ordering::Relaxed);
        }
        printed
    })
}

/// Prints the pieces in the order of the files. Returns the exit code for all.
fn print(
    args: &Check,
    color: Color,
    pieces: &Receiver<(usize, Piece)>,
    board: &Board,
    log: &mut dyn FnMut(&str) -> Result<()>,
    out: &mut dyn Write,
) -> Result<Exit> {
    let mut table = Table::default();
    let mut waiting: BTreeMap<usize, Vec<Piece>> = BTreeMap::new();
    let mut now = 0;
    for (place, piece) in pieces {
        waiting.entry(place).or_default().push(piece);
        while let Some(ready) = waiting.remove(&now) {
            board.erase();
            for piece in ready {
                match piece {
                    Piece::Text(text) => out.write_all(&text)?,
                    Piece::Log(text) => log(&text)?,
                    Piece::Problem(problem) => {
                        let file = args.files[now].display().to_string();
                        match args.format {
                            Format::Human => {
                                out.flush()?;
                                output::complain(color, &format!("{file}: {problem}"));
                            }
                            Format::Json => json::broken(&file, &problem, out)?,
                        }
                    }
                    Piece::Done(row) => {
                        table.rows.push(row);
                        now += 1;
                    }
                }
            }
            out.flush()?;
        }
    }
    board.erase();
    if args.files.len() > 1 && args.format == Format::Human && !args.quiet {
        table.write(out)?;
    }
    Ok(table.rows.iter().map(|row| row.exit).max().unwrap_or(Exit::Unrefuted))
}

/// Judges one file, and says what there is to say about it.
fn work_on(args: &Check, path: &Path, board: &Board, say: &dyn Fn(Piece)) {
    let file = path.display().to_string();
    let row = match guarded(|| judge::file(args, path, board, say)) {
        Ok(Ok(row)) => row,
        Ok(Err(problem)) => {
            say(Piece::Problem(problem));
            Row::without_verdict(file, Exit::Broken)
        }
        // The results of the other files stand.
        Err(why) => {
            say(Piece::Problem(format!("internal error: {why}")));
            Row::without_verdict(file, Exit::Inconclusive)
        }
    };
    board.finish_one();
    say(Piece::Done(row));
}
