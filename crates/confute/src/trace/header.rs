//! The first line of a trace file: it marks the file as a trace, with its version, model and network.
//!
//! The model and the network it names are not looked up. The version is checked before any other field is
//! required, so that a header of a later version is reported as such, and not as broken.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::TraceError;
use super::lines::{Line, one_line};

/// Version of the format that this crate reads and writes.
pub const VERSION: u64 = 1;

pub(super) const EXAMPLE: &str = r#"{"confute":"trace","version":1,"model":"kv","network":"tcp"}"#;

/// Description of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Name of the model it was recorded for.
    pub model: String,
    /// Name of the network between the tester and the server.
    pub network: String,
    /// Seed of the tester's choices, if they were random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Free text for readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Header {
    /// Returns a header with neither seed nor note.
    pub fn new(model: impl Into<String>, network: impl Into<String>) -> Self {
        Header { model: model.into(), network: network.into(), seed: None, note: None }
    }

    /// Returns the header line, without its newline.
    pub(super) fn to_line(&self) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct Marked<'a> {
            confute: &'a str,
            version: u64,
            #[serde(flatten)]
            header: &'a Header,
        }
        serde_json::to_string(&Marked { confute: "trace", version: VERSION, header: self })
    }

    pub(super) fn from_line(line: &Line<'_>) -> Result<Self, TraceError> {
        let Line { number, offset, text, .. } = *line;
        let not_a_trace = || TraceError::NotATrace { line: number, offset, found: one_line(text) };
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) if text.contains(r#""confute""#) => return Err(TraceError::from_json(line, &error)),
            Err(error) if EXAMPLE.starts_with(text) => return Err(TraceError::from_json(line, &error)),
            Err(_) => return Err(not_a_trace()),
        };
        if value.get("confute").and_then(Value::as_str) != Some("trace") {
            return Err(not_a_trace());
        }
        match value.get("version") {
            Some(version) if version.as_u64() == Some(VERSION) => {}
            Some(version) => {
                return Err(TraceError::Version {
                    line: number,
                    offset,
                    found: one_line(&version.to_string()),
                });
            }
            None => {
                let what = "the header names no version".to_owned();
                return Err(TraceError::Broken { line: number, column: 1, offset, what });
            }
        }
        // Parsed again from the text, because a `Value` does not record columns.
        serde_json::from_str(text).map_err(|error| TraceError::from_json(line, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Result<Header, TraceError> {
        Header::from_line(&Line { number: 1, offset: 0, text, ended: true, cut: false })
    }

    #[test]
    fn line_is_as_documented() {
        let kv = Header::new("kv", "tcp");
        assert_eq!(kv.to_line().unwrap(), EXAMPLE);
        assert_eq!(header(EXAMPLE).unwrap(), kv);
        let full = Header { seed: Some(u64::MAX), note: Some("a\nb".into()), ..kv };
        assert_eq!(header(&full.to_line().unwrap()).unwrap(), full);
    }

    #[test]
    fn fields_of_the_future_are_tolerated() {
        let text = r#"{"version":1,"model":"kv","more":{"a":[1]},"network":"tcp","confute":"trace"}"#;
        assert_eq!(header(text).unwrap(), Header::new("kv", "tcp"));
    }

    #[test]
    fn each_fault_has_its_error() {
        let future = header(r#"{"confute":"trace","version":2}"#).unwrap_err();
        assert!(matches!(&future, TraceError::Version { found, .. } if found == "2"), "{future}");
        let bare = header(r#"{"confute":"trace","version":1,"model":"kv"}"#).unwrap_err().to_string();
        assert!(bare.contains("missing field `network`"), "{bare}");
        for text in ["{}", "1", "hello", r#"{"confute":"report","version":1}"#, "{:process 1}"] {
            assert!(matches!(header(text), Err(TraceError::NotATrace { .. })), "{text}");
        }
        for text in [r#"{"confute":"trace"}"#, r#"{"confute":"trace","version":1,,}"#] {
            assert!(matches!(header(text), Err(TraceError::Broken { .. })), "{text}");
        }
    }
}
