//! Reader of a trace, one event at a time.
//!
//! It streams: neither the file nor the events are kept. After an error it yields no more events, and those
//! yielded before remain valid: each was complete, and consistent with the events before it.

use std::io::BufRead;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use super::error::TraceError;
use super::event::Event;
use super::header::Header;
use super::lines::Lines;
use super::validate::Connections;

/// Limits of a reader of traces or histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Maximum length of a line, in bytes.
    pub line: usize,
    /// Maximum number of events.
    pub events: usize,
}

impl Default for ReadLimits {
    fn default() -> Self {
        ReadLimits { line: 16 << 20, events: 50_000_000 }
    }
}

/// Reader of the header and iterator over the events.
#[derive(Debug)]
pub struct TraceReader<R, M> {
    lines: Lines<R>,
    header: Header,
    connections: Connections,
    count: usize,
    limit: usize,
    done: bool,
    message: PhantomData<fn() -> M>,
}

impl<R: BufRead, M: DeserializeOwned> TraceReader<R, M> {
    /// Reads the header; blank lines before it are skipped.
    pub fn new(reader: R, limits: ReadLimits) -> Result<Self, TraceError> {
        let mut lines = Lines::new(reader, limits.line);
        let header = loop {
            match lines.next()? {
                None => return Err(TraceError::Empty),
                Some(line) if line.is_blank() => {}
                Some(line) => break Header::from_line(&line)?,
            }
        };
        let connections = Connections::default();
        Ok(TraceReader {
            lines,
            header,
            connections,
            count: 0,
            limit: limits.events,
            done: false,
            message: PhantomData,
        })
    }

    /// Returns the header of the trace.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the number of the line of the last event, from 1.
    pub fn line(&self) -> usize {
        self.lines.number()
    }

    fn event(&mut self) -> Result<Option<Event<M>>, TraceError> {
        while let Some(line) = self.lines.next()? {
            if line.is_blank() {
                continue;
            }
            let (number, offset) = (line.number, line.offset);
            if self.count == self.limit {
                return Err(TraceError::TooManyEvents { line: number, offset, limit: self.limit });
            }
            if line.cut {
                return Err(TraceError::Truncated { line: number, offset });
            }
            let event =
                serde_json::from_str(line.text).map_err(|error| TraceError::from_json(&line, &error))?;
            self.connections.check(&event, number)?;
            self.count += 1;
            return Ok(Some(event));
        }
        Ok(None)
    }
}

impl<R: BufRead, M: DeserializeOwned> Iterator for TraceReader<R, M> {
    type Item = Result<Event<M>, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = self.event().transpose();
        self.done = !matches!(item, Some(Ok(_)));
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{FileError, WireConn, read};

    const HEADER: &str = "{\"confute\":\"trace\",\"version\":1,\"model\":\"kv\",\"network\":\"tcp\"}\n";

    fn events(rest: &str) -> Result<Vec<Event<String>>, TraceError> {
        read(format!("{HEADER}{rest}").as_bytes(), ReadLimits { line: 80, events: 3 })
            .map(|trace| trace.events)
    }

    #[test]
    fn last_newline_may_lack() {
        let one = vec![Event::Sent(WireConn(3), "x".to_owned())];
        assert_eq!(events(r#"{"sent":[3,"x"]}"#).unwrap(), one);
        assert_eq!(events("\r\n{\"sent\":[3,\"x\"]}\r\n \n\n").unwrap(), one);
        assert_eq!(events("\"quiescent\"").unwrap(), [Event::Quiescent]);
        assert_eq!(events("").unwrap(), []);
    }

    #[test]
    fn truncated_wherever_it_stops() {
        let line = r#"{"sent":[3,"xé\n"]}"#;
        let whole = format!("{HEADER}{line}");
        for length in HEADER.len() + 1..whole.len() {
            let error = read::<String>(&whole.as_bytes()[..length], ReadLimits::default()).unwrap_err();
            assert!(matches!(error, TraceError::Truncated { line: 2, offset: 61 }), "{length}: {error}");
        }
        for length in 1..HEADER.len() - 1 {
            let error = read::<String>(&HEADER.as_bytes()[..length], ReadLimits::default()).unwrap_err();
            assert!(matches!(error, TraceError::Truncated { line: 1, offset: 0 }), "{length}: {error}");
        }
    }

    #[test]
    fn each_fault_has_its_error() {
        assert!(matches!(read::<String>(&b""[..], ReadLimits::default()), Err(TraceError::Empty)));
        assert!(matches!(read::<String>(&b"\n \n"[..], ReadLimits::default()), Err(TraceError::Empty)));
        let quiet = "\"quiescent\"\n";
        let broken = events(&format!("{quiet}{{\"sent\":[3,7]}}\n")).unwrap_err();
        assert_eq!(
            broken.to_string(),
            "line 3, column 12 (byte 84): invalid type: integer `7`, expected a string; \
             correct the line or record the trace again"
        );
        // Not at the end of the file, so the line is broken, not truncated.
        assert!(matches!(events("{\"sent\":[3\n"), Err(TraceError::Broken { line: 2, .. })));
        assert!(matches!(events(&quiet.repeat(4)), Err(TraceError::TooManyEvents { line: 5, limit: 3, .. })));
        let long = events(&format!("{quiet}\"{}", "x".repeat(99))).unwrap_err();
        assert!(matches!(long, TraceError::File(FileError::LineTooLong { line: 3, .. })));
        assert!(matches!(events("\"\0\"\n"), Err(TraceError::File(FileError::NotText { offset: 62, .. }))));
        let misuse = events("{\"closed\":1}\n\n{\"received\":[1,\"x\"]}").unwrap_err();
        assert!(matches!(misuse, TraceError::Misuse(misuse) if misuse.line == 4));
        let forged = events("{\"a\\nb\":1}\n").unwrap_err().to_string();
        assert!(!forged.contains('\n') && forged.contains("unknown variant `a\\nb`"), "{forged}");
    }

    #[test]
    fn nothing_after_an_error() {
        let text = format!("{HEADER}\"quiescent\"\n{{}}\n\"quiescent\"\n");
        let mut reader = TraceReader::<_, String>::new(text.as_bytes(), ReadLimits::default()).unwrap();
        assert_eq!(reader.header().model, "kv");
        assert!(reader.next().unwrap().is_ok());
        assert_eq!(reader.line(), 2);
        assert!(reader.next().unwrap().is_err());
        assert!(reader.next().is_none());
    }
}
