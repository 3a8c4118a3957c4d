//! Where reports go.
//!
//! A reader that went away (`confute check … | head`) is no error and ends nothing: the exit code is still worth
//! having. Any other failure to write is one.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, BufWriter, IsTerminal as _, Write};

use anstream::{AutoStream, ColorChoice};
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

/// Standard output, with colours or without.
pub(crate) fn stdout(color: Color) -> impl Write {
    Forgiving(BufWriter::new(AutoStream::new(io::stdout(), color.into())))
}

/// Standard error, likewise.
pub(crate) fn stderr(color: Color) -> impl Write {
    Forgiving(AutoStream::new(io::stderr(), color.into()))
}

pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Brings out what is still buffered.
pub(crate) fn finish(out: &mut dyn Write) -> io::Result<()> {
    out.flush()
}

/// One line about what went wrong. If even that cannot be said, the exit code has to do.
pub(crate) fn complain(color: Color, what: &str) {
    let _ = writeln!(stderr(color), "{BAD}error{BAD:#}: {what}");
}

/// From now on a panic is told in a line, with its place, and with the way to it if `RUST_BACKTRACE` asks for that. It is no
/// matter of the user's, and what was found is still to be told.
pub(crate) fn tell_of_defects(color: Color) {
    std::panic::set_hook(Box::new(move |panic| {
        let what = panic.payload_as_str().unwrap_or("a panic without a message");
        let place = panic.location().map(|place| format!(" ({place})")).unwrap_or_default();
        complain(color, &format!("defect: {what}{place}"));
        let way = Backtrace::capture();
        if way.status() == BacktraceStatus::Captured {
            let _ = writeln!(stderr(color), "{way}");
        }
    }));
}

/// A writer whose reader may go away.
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
