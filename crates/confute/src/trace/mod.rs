//! Traces: sequences of [`Event`]s, and the files that store them.
//!
//! A file is JSON Lines: a [`Header`] that names version, model and network, then one event per line, in the
//! tester's own total order. The messages are defined by the model, and the server is not judged here. A
//! trace that was written reads back equal, and the events of a trace that was read are consistent
//! ([`validate`]).
//!
//! ```
//! use confute::trace::{Event, Header, ReadLimits, Trace, WireConn, read};
//!
//! let events = vec![Event::Sent(WireConn(0), "get x".to_owned()), Event::Quiescent];
//! let trace = Trace { header: Header::new("kv", "tcp"), events };
//! let mut file = Vec::new();
//! trace.write(&mut file)?;
//! assert!(file.ends_with(b"\n{\"sent\":[0,\"get x\"]}\n\"quiescent\"\n"));
//! assert_eq!(read(&file[..], ReadLimits::default())?, trace);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod event;
mod header;
pub(crate) mod lines;
mod reader;
mod validate;
mod writer;

use std::io::{self, BufRead, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use error::TraceError;
pub use event::{Event, WireConn};
pub use header::{Header, VERSION};
pub use lines::FileError;
pub use reader::{ReadLimits, TraceReader};
pub use validate::{Misuse, validate};
pub use writer::Writer;

/// A whole trace in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace<M> {
    /// Description of the trace.
    pub header: Header,
    /// Events in the tester's order.
    pub events: Vec<Event<M>>,
}

impl<M: Serialize> Trace<M> {
    /// Writes the trace as a file.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut writer = Writer::new(out, &self.header)?;
        self.events.iter().try_for_each(|event| writer.write(event))?;
        writer.finish().map(drop)
    }
}

/// Reads a whole trace; use a [`TraceReader`] to get the events one by one.
pub fn read<M: DeserializeOwned>(reader: impl BufRead, limits: ReadLimits) -> Result<Trace<M>, TraceError> {
    let mut reader = TraceReader::new(reader, limits)?;
    let events = reader.by_ref().collect::<Result<_, _>>()?;
    Ok(Trace { header: reader.header().clone(), events })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event() -> impl Strategy<Value = Event<String>> {
        // The kinds of events that are consistent in any order.
        prop_oneof![
            (0..9u32).prop_map(|n| Event::Opened(WireConn(n))),
            (0..9u32).prop_map(|n| Event::Accepted(WireConn(n))),
            (0..9u32, any::<String>()).prop_map(|(n, m)| Event::Sent(WireConn(n), m)),
            (0..9u32, any::<String>()).prop_map(|(n, m)| Event::Received(WireConn(n), m)),
            Just(Event::Quiescent),
        ]
    }

    proptest! {
        #[test]
        fn reads_what_it_wrote(
            mut events in proptest::collection::vec(event(), 0..20),
            seed: Option<u64>,
            note: Option<String>,
        ) {
            events.push(Event::Closed(WireConn(3)));
            events.push(Event::HungUp(WireConn(3)));
            let trace = Trace { header: Header { seed, note, ..Header::new("kv", "tcp") }, events };
            let mut file = Vec::new();
            trace.write(&mut file).unwrap();
            prop_assert_eq!(read(&file[..], ReadLimits::default()).unwrap(), trace);
        }
    }
}
