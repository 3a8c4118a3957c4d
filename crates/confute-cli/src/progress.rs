//! Time limit and progress line of a search.
//!
//! Nothing is printed in the first second, nor if standard error is not watched. On a terminal the line is
//! overwritten and erased before anything else is printed; elsewhere (with `-v`) there is one line per second. Files
//! that are judged at the same time share the line: the one that has news writes it.

use std::cell::Cell;
use std::io::{self, Read, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use confute::Pulse;

use crate::args::Color;
use crate::output;
use confute_report::text::grouped;

/// The progress line, and the number of files that are done.
pub(crate) struct Board {
    start: Instant,
    files: usize,
    done: AtomicUsize,
    line: Mutex<Line>,
    tells: bool,
    terminal: bool,
    color: Color,
}

#[derive(Default)]
struct Line {
    last: Option<Instant>,
    /// `true` if the line is on the screen.
    is_shown: bool,
}

impl Board {
    pub(crate) fn new(files: usize, tells: bool, color: Color) -> Self {
        let terminal = output::is_watched();
        Self {
            start: Instant::now(),
            files,
            done: AtomicUsize::new(0),
            line: Mutex::default(),
            tells: tells || terminal,
            terminal,
            color,
        }
    }

    /// Notes that a file is done.
    pub(crate) fn finish_one(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Erases the progress line.
    pub(crate) fn erase(&self) {
        let mut line = self.lock();
        if self.terminal && std::mem::take(&mut line.is_shown) {
            let _ = write!(output::stderr(self.color), "\r\x1b[K");
        }
    }

    /// Writes the progress line, if it is time to.
    fn tell(&self, now: Instant, what: impl FnOnce() -> String) {
        if !self.tells {
            return;
        }
        let pause = Duration::from_millis(if self.terminal { 100 } else { 1000 });
        let mut line = self.lock();
        let last = line.last.unwrap_or(self.start + Duration::from_secs(1).saturating_sub(pause));
        if now.saturating_duration_since(last) < pause {
            return;
        }
        (line.last, line.is_shown) = (Some(now), true);
        let done = match self.files {
            0 | 1 => String::new(),
            files => {
                format!("{} of {} files done; ", self.done.load(Ordering::Relaxed), grouped(files as u64))
            }
        };
        let seconds = now.saturating_duration_since(self.start).as_secs();
        let text = format!("{seconds} s: {done}{}", what());
        let mut err = output::stderr(self.color);
        let _ = if self.terminal { write!(err, "\r\x1b[K{text}") } else { writeln!(err, "{text}") };
        let _ = err.flush();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Time limit and progress of the search for one file.
pub(crate) struct Progress<'b> {
    board: &'b Board,
    file: &'b str,
    deadline: Cell<Option<Instant>>,
    /// Name of the current step.
    what: Cell<&'static str>,
    events: Cell<u64>,
    turns: Cell<u64>,
}

impl<'b> Progress<'b> {
    pub(crate) fn new(board: &'b Board, file: &'b str) -> Self {
        Self {
            board,
            file,
            deadline: Cell::new(None),
            what: Cell::new(""),
            events: Cell::new(0),
            turns: Cell::new(0),
        }
    }

    /// Begins a step with this number of events and this time limit.
    pub(crate) fn begin(&self, what: &'static str, events: usize, most: Duration) {
        self.what.set(what);
        self.events.set(events as u64);
        self.turns.set(0);
        self.deadline.set(Instant::now().checked_add(most));
    }

    /// Returns the number of turns executed since the beginning of the step, as far as it was reported.
    pub(crate) fn turns(&self) -> u64 {
        self.turns.get()
    }

    /// Receives the progress of the search. Returns `true` if its time is up.
    pub(crate) fn hear(&self, pulse: &Pulse) -> bool {
        self.turns.set(pulse.turns);
        let now = Instant::now();
        self.board.tell(now, || {
            let Pulse { event, turns, open, bytes, .. } = *pulse;
            format!(
                "{} {}: event {} of {}, {} turns tried, {} alternatives open, {} MiB",
                self.what.get(),
                self.file,
                grouped(event.min(self.events.get())),
                grouped(self.events.get()),
                grouped(turns),
                grouped(open as u64),
                bytes >> 20,
            )
        });
        self.deadline.get().is_some_and(|deadline| now >= deadline)
    }

    /// Returns a reader that shows how much of the file has been read. `size` is 0 if it is unknown.
    pub(crate) fn reading<'p, R: Read>(&'p self, reader: R, size: u64) -> impl Read + use<'p, 'b, R> {
        Watched { reader, progress: self, read: 0, size }
    }
}

/// A reader whose progress is shown.
struct Watched<'p, 'b, R> {
    reader: R,
    progress: &'p Progress<'b>,
    read: u64,
    size: u64,
}

impl<R: Read> Read for Watched<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.read += count as u64;
        let Progress { board, file, .. } = self.progress;
        board.tell(Instant::now(), || {
            let of = if self.size == 0 { String::new() } else { format!(" of {} MiB", self.size >> 20) };
            format!("reading {file}: {} MiB{of}", self.read >> 20)
        });
        Ok(count)
    }
}
