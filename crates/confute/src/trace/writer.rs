//! Writer of a trace, one line per event, while the events happen.
//!
//! It does not buffer and does not check the consistency of events. Each line is written in one call: a
//! writer that is killed leaves at most one broken line, the last, which the reader recognises.

use std::io::{self, Write};

use serde::Serialize;

use super::event::Event;
use super::header::Header;

/// Writes a trace to any [`Write`]; wrap a file in a [`BufWriter`](io::BufWriter) unless every event must be
/// written at once.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn new(mut out: W, header: &Header) -> io::Result<Self> {
        let mut line = header.to_line()?.into_bytes();
        line.push(b'\n');
        out.write_all(&line)?;
        Ok(Writer { out, line })
    }

    /// Writes one event.
    pub fn write<M: Serialize>(&mut self, event: &Event<M>) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, event)?;
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }

    /// Flushes, and returns the underlying [`Write`].
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
