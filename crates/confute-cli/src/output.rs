//! Output streams for reports.
//!
//! A reader that closed the pipe (`confute check … | head`) is no error and does not end the program: the exit code
//! is still useful. Any other write error is reported.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, BufWriter, IsTerminal as _, Write};

use anstream::{AutoStream, ColorChoice};
use confute::lang::runs_model;
use confute_report::style::BAD;

use crate::args::Color;

impl From<Color> for ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
    }
}

/// Returns standard output, with colours or without.
pub(crate) fn stdout(color: Color) -> impl Write {
    Forgiving(BufWriter::new(AutoStream::new(io::stdout(), color.into())))
}

/// Returns standard error, with colours or without.
pub(crate) fn stderr(color: Color) -> impl Write {
    Forgiving(AutoStream::new(io::stderr(), color.into()))
}

pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Flushes the buffered output.
pub(crate) fn finish(out: &mut dyn Write) -> io::Result<()> {
    out.flush()
}

/// Prints an error on one line. If even that fails, only the exit code reports it.
pub(crate) fn complain(color: Color, what: &str) {
    let _ = writeln!(stderr(color), "{BAD}error{BAD:#}: {what}");
}

/// Installs a panic hook that prints a panic on one line with its location, and a backtrace if `RUST_BACKTRACE`
/// requests one. A panic is not the user's fault, and the violations found so far are still reported. A panic in a function of a
/// model is reported with the name of the model when it is caught; here it gets only its location.
pub(crate) fn tell_of_defects(color: Color) {
    std::panic::set_hook(Box::new(move |panic| {
        let what = panic.payload_as_str().unwrap_or("a panic without a message");
        let place = panic.location().map(|place| format!(" ({place})")).unwrap_or_default();
        let whose = if runs_model() { "panic in the model" } else { "defect" };
        complain(color, &format!("{whose}: {what}{place}"));
        let way = Backtrace::capture();
        if way.status() == BacktraceStatus::Captured {
            let _ = writeln!(stderr(color), "{way}");
        }
    }));
}

/// A writer that ignores a closed pipe.
struct Forgiving<W>(W);

impl<W: Write> Write for Forgiving<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        forgive(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        forgive(self.0.flush(), ())
    }
}

fn forgive<T>(result: io::Result<T>, instead: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(instead),
        other => other,
    }
}
