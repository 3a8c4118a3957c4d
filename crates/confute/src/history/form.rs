//! Formats of histories: detection of the format of a file, and parsers of single lines.
//!
//! A parser sees one line and knows none of the lines before it. A line is skipped only if it cannot be an
//! operation: a line that looks like an operation but cannot be parsed is an error, since a lost operation
//! changes the verdict.

use super::edn::{Edn, EdnError};
use super::{Entry, Phase};

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A trace written by Confute: see [`crate::trace`].
    Trace,
    /// A history as EDN maps, one per line.
    Edn,
    /// A history as logged by Jepsen, in lines of `jepsen.util`.
    Jepsen,
    /// A history as JSON objects, one per line.
    Json,
}

/// Returns the format of a file, judged by its first bytes (a few thousand are enough).
pub fn sniff(first_bytes: &[u8]) -> Option<Format> {
    let bytes = first_bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first_bytes);
    // Blank lines and comments do not identify the format. The elements of a vector may begin on a later line.
    let begin = first_value(bytes);
    let begin = begin.strip_prefix(b"[").map_or(begin, first_value);
    let line = begin.split(|&byte| byte == b'\n').next()?.trim_ascii();
    if line.is_empty() {
        return None;
    }
    let has_in = |text: &[u8], needle: &[u8]| text.windows(needle.len()).any(|window| window == needle);
    let has = |needle: &[u8]| has_in(line, needle);
    let inside = line.strip_prefix(b"#jepsen.history.Op").unwrap_or(line).strip_prefix(b"{");
    if let Some(inside) = inside {
        let first = inside.iter().find(|byte| !byte.is_ascii_whitespace() && **byte != b',');
        // An object in an array may span several lines.
        let first = first.or_else(|| first_value(&begin[1..]).first());
        return match first {
            Some(b':') => Some(Format::Edn),
            Some(b'"') if has(b"\"confute\"") => Some(Format::Trace),
            Some(b'"') if has_in(begin, b"\"process\"") || has_in(begin, b"\"type\"") => Some(Format::Json),
            _ => None,
        };
    }
    let logged = [&b"INFO"[..], b"WARN", b"ERROR", b"DEBUG", b"TRACE"].iter().any(|level| has(level));
    (has(b"jepsen.util") || (logged && has(b"jepsen"))).then_some(Format::Jepsen)
}

/// Returns the text without the white space, commas and comments at its start.
fn first_value(mut text: &[u8]) -> &[u8] {
    loop {
        let blank = text.iter().position(|byte| *byte != b',' && !byte.is_ascii_whitespace());
        text = &text[blank.unwrap_or(text.len())..];
        if !text.starts_with(b";") {
            return text;
        }
        let end = text.iter().position(|byte| *byte == b'\n');
        text = &text[end.unwrap_or(text.len())..];
    }
}

/// Returns `true` if a history that begins with this line is one vector or array.
pub(super) fn opens_vector(line: &str) -> bool {
    line.trim_ascii_start().starts_with('[')
}

/// Content of a line.
pub(super) enum Said {
    Entry(Entry),
    /// An entry of the nemesis, which injects faults and is not a client.
    Nemesis,
    /// No operation.
    Nothing,
}

/// Error in a line.
pub(super) struct Fault {
    /// Position of the error, in bytes from the start of the line.
    pub(super) at: usize,
    pub(super) what: String,
    /// `true` if the error is at the end of the text, so that more text could have corrected it.
    pub(super) at_end: bool,
}

impl From<EdnError> for Fault {
    fn from(EdnError { at, what, at_end }: EdnError) -> Self {
        Fault { at, what, at_end }
    }
}

/// Parses `{:process 9, :type :invoke, :f :append, :key "0", :value "x 9 0 y"}`; other keys are ignored.
pub(super) fn edn(text: &str, line: usize) -> Result<Said, Fault> {
    let fault = |what: &str| Fault { at: 0, what: what.to_owned(), at_end: false };
    let value = match Edn::parse_if_any(text)? {
        None => return Ok(Said::Nothing),
        Some(Edn::Tagged(tag, value)) if &*tag == "jepsen.history.Op" => *value,
        Some(value) => value,
    };
    let Edn::Map(map) = value else {
        return Err(fault("expected a map such as {:process 1, :type :ok, …}"));
    };
    let (mut process, mut phase, mut f, mut key, mut content, mut error) =
        (None, None, None, None, Edn::Nil, None);
    for (name, value) in map {
        let Edn::Keyword(name) = name else { continue };
        match (&*name, value) {
            ("process", Edn::Keyword(name)) if &*name == "nemesis" => return Ok(Said::Nemesis),
            ("process", Edn::Int(number)) => process = u64::try_from(number).ok(),
            ("type", Edn::Keyword(name)) => phase = Phase::from_name(&name),
            ("f", Edn::Keyword(name) | Edn::Symbol(name) | Edn::Str(name)) => f = Some(name),
            ("key" | "error", Edn::Nil) => {}
            ("key", value) => key = Some(value),
            ("value", value) => content = value,
            ("error", value) => error = Some(value),
            _ => {}
        }
    }
    let process = process.ok_or_else(|| fault("the map has no :process that is a number or :nemesis"))?;
    let phase = phase.ok_or_else(|| fault("the map has no :type that is :invoke, :ok, :fail or :info"))?;
    let f = f.ok_or_else(|| fault("the map has no :f that names the operation"))?;
    Ok(Said::Entry(Entry { line, process, phase, f, key, value: content, error }))
}

/// Parses `INFO  jepsen.util - PROC<tab>:invoke<tab>:write<tab>4`, with any white space in place of the tabs.
/// Text after a tab behind the value, or after any white space if the operation failed, is the error message.
pub(super) fn jepsen(text: &str, line: usize) -> Result<Said, Fault> {
    const MARK: &str = "INFO  jepsen.util - ";
    let Some(start) =
        ["jepsen.util - ", "jepsen.util: "].iter().find_map(|mark| Some(text.find(mark)? + mark.len()))
    else {
        let looks_like_one = text.split('\t').skip(1).any(is_phase) || has_operation(text);
        if looks_like_one || MARK.starts_with(text) && !text.is_empty() {
            let what = format!("expected `{MARK}` before the operation");
            return Err(Fault { at: 0, what, at_end: !looks_like_one });
        }
        return Ok(Said::Nothing);
    };
    let operation = &text[start..];
    let mut words = operation.split_whitespace();
    let is_operation = match (words.next(), words.next()) {
        _ if operation.contains('\t') => true,
        (None, _) => true,
        (Some(process), phase) => {
            process.starts_with(|c: char| c.is_ascii_digit()) || phase.is_some_and(is_phase)
        }
    };
    if !is_operation {
        return Ok(Said::Nothing);
    }
    let mut at = start;
    let mut word = |what: &str| {
        let from = at + blanks(&text[at..]);
        let length = text[from..].find(char::is_whitespace).unwrap_or(text.len() - from);
        at = from + length;
        let fault = Fault { at: from, what: format!("expected {what}"), at_end: at == text.len() };
        if length == 0 { Err(fault) } else { Ok((&text[from..at], at, fault)) }
    };

    let (process, _, fault) = word("the number of a process")?;
    if process == ":nemesis" {
        return Ok(Said::Nemesis);
    }
    let digits = process.bytes().all(|byte| byte.is_ascii_digit());
    let process = process.parse().ok().filter(|_| digits).ok_or(fault)?;
    let (phase, _, fault) = word(":invoke, :ok, :fail or :info")?;
    let phase = phase.strip_prefix(':').and_then(Phase::from_name).ok_or(fault)?;
    let (f, end, fault) = word("a keyword that names the operation")?;
    let Ok(Edn::Keyword(f)) = Edn::parse(f) else { return Err(fault) };

    let at = end + blanks(&text[end..]);
    let value = text[at..].split('\t').next().unwrap_or_default().trim_end();
    let ends = at + value.len() == text.len();
    let mut message = text[at + value.len()..].trim();
    // With white space as separator the start of an error message cannot be recognised, so a line of a
    // successful operation must end with its value.
    let may_have_error = matches!(phase, Phase::Fail | Phase::Info);
    let parsed =
        if may_have_error { Edn::parse_first(value) } else { Edn::parse(value).map(|it| (it, value.len())) };
    let (parsed, length) = parsed.map_err(|error| Fault {
        at: at + error.at,
        what: error.what,
        at_end: error.at_end && ends,
    })?;
    if length < value.len() {
        message = text[at + length..].trim();
    }
    let error = (!message.is_empty()).then(|| Edn::Str(message.into()));
    Ok(Said::Entry(Entry { line, process, phase, f, key: None, value: parsed, error }))
}

/// Returns the number of bytes of white space at the start of the text.
fn blanks(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

fn is_phase(word: &str) -> bool {
    word.trim().strip_prefix(':').is_some_and(|name| Phase::from_name(name).is_some())
}

/// Returns `true` if the text contains a number, a phase and a keyword in a row.
fn has_operation(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    words.windows(3).any(|three| is_number(three[0]) && is_phase(three[1]) && three[2].starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sniffs() {
        for (text, format) in [
            (&b"\xef\xbb\xbf\n { \"version\":1,\"confute\":\"trace\""[..], Some(Format::Trace)),
            (b"; a comment\n\n{ ,:process 9, :ty", Some(Format::Edn)),
            (b"#jepsen.history.Op{:index 0", Some(Format::Edn)),
            (b"INFO  jepsen.util - 0\t:invoke", Some(Format::Jepsen)),
            (b"2015-01-01 INFO  jepsen.core - Running test\nx", Some(Format::Jepsen)),
            (b"[{:process 9", Some(Format::Edn)),
            (b"\n[\n  #jepsen.history.Op{:index 0", Some(Format::Edn)),
            (b"; first\n[ ; all\n ,{:process 9", Some(Format::Edn)),
            (b"[{\"process\": 9", Some(Format::Json)),
            (b"{\"type\": \"invoke\", \"process\": 9", Some(Format::Json)),
            (b"[\n  {\n    \"process\": 9", Some(Format::Json)),
            (b"[1 2]", None),
            (b"{\"a\":1}", None),
            (b"hello", None),
            (b"{", None),
            (b"\n;\n", None),
            (b"", None),
            (b"\x1f\x8b\x08\0", None),
        ] {
            assert_eq!(sniff(text), format, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn any_blanks_separate() {
        let read = |text: &str| match jepsen(text, 1) {
            Ok(Said::Entry(entry)) => entry,
            _ => panic!("no entry: {text}"),
        };
        for (tabs, blanks) in [
            ("INFO  jepsen.util - 3\t:invoke\t:cas\t[1 2]", "INFO  jepsen.util -   3 :invoke  :cas   [1 2] "),
            ("INFO  jepsen.util - 3\t:ok\t:read\tnil", "INFO  jepsen.util - 3 :ok\t:read nil"),
            ("INFO  jepsen.util - 3\t:ok\t:read\t\"a b\"", "INFO  jepsen.util - 3 :ok :read \"a b\""),
            ("INFO  jepsen.util - 3\t:fail\t:cas\t[1 2]", "INFO  jepsen.util - 3 :fail :cas [1 2] :no way"),
            ("INFO  jepsen.util - 3\t:info\t:write\t4\t:late", "INFO  jepsen.util - 3 :info :write 4 :late"),
        ] {
            let (tabs, blanks_read) = (read(tabs), read(blanks));
            assert_eq!(
                (&tabs.f, tabs.phase, tabs.value),
                (&blanks_read.f, blanks_read.phase, blanks_read.value)
            );
            let words = blanks_read.error.map(|error| error.to_string());
            assert_eq!(
                words,
                blanks.split_once("] :").or(blanks.split_once("4 :")).map(|it| format!("\":{}\"", it.1))
            );
        }
        assert!(matches!(jepsen("INFO  jepsen.util - :nemesis :info :start nil", 1), Ok(Said::Nemesis)));
    }

    #[test]
    fn operations_are_not_skipped() {
        for text in [
            "INFO  jepsen.util - 3",
            "INFO  jepsen.util - 3\t:invok\t:read\tnil",
            "INFO  jepsen.util - x\t:invoke\t:read\tnil",
            "INFO  jepsen.util - 3\t:invoke\tread\tnil",
            "INFO  jepsen.util - 3\t:invoke\t:read",
            "INFO  jepsen.util - 3\t:invoke\t:cas\t[1 2",
            "INFO  jepsen.utl - 3\t:invoke\t:read\tnil",
            "INFO  jepsen.util - 3 :invoke :read",
            "INFO  jepsen.util - 3 :invok :read nil",
            "INFO  jepsen.util - x :invoke :read nil",
            "INFO  jepsen.util - 3 :invoke :cas 1 2",
            "INFO  jepsen.util - 3 :invoke :cas [1 2",
            "INFO  jepsen.util - 3 :ok :read 1 :timed-out",
            "INFO  jepsen.util - 3 :info :cas [1 2",
            "INFO  jepsen.utl - 3 :invoke :read nil",
            "INFO  jepsen.u",
            "INFO  jepsen.util - ",
        ] {
            assert!(jepsen(text, 1).is_err(), "{text}");
        }
        for text in [
            "",
            "INFO  jepsen.core - Worker 3 starting",
            "INFO  jepsen.util - Doing well",
            "INFO  jepsen.core - Everything looks :ok",
            "\tat clojure.core",
        ] {
            assert!(matches!(jepsen(text, 1), Ok(Said::Nothing)), "{text}");
        }
    }
}
