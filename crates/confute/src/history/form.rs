//! The forms a history comes in: which one a file has, and what one line of it says.
//!
//! It sees a line at a time and does not know what came before. A line is skipped only if it cannot be an operation:
//! one that looks like an operation and is not understood is an error, since a lost operation changes the verdict.

use super::edn::{Edn, EdnError};
use super::{Entry, Phase};

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A trace of Confute's own: see [`crate::trace`].
    Trace,
    /// A history as EDN maps, one a line.
    Edn,
    /// A history as Jepsen logs it, in lines of `jepsen.util`.
    Jepsen,
}

/// Which form a file has, judged by its first bytes (a few thousand are plenty).
pub fn sniff(first_bytes: &[u8]) -> Option<Format> {
    let bytes = first_bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first_bytes);
    let line = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).find(|line| {
        // A line of no consequence tells nothing of the form.
        !line.is_empty() && !line.starts_with(b";")
    })?;
    let has = |needle: &[u8]| line.windows(needle.len()).any(|window| window == needle);
    let inside = line.strip_prefix(b"#jepsen.history.Op").unwrap_or(line).strip_prefix(b"{");
    if let Some(inside) = inside {
        let first = inside.iter().find(|byte| !byte.is_ascii_whitespace() && **byte != b',');
        return match first {
            Some(b':') => Some(Format::Edn),
            Some(b'"') if has(b"\"confute\"") => Some(Format::Trace),
            _ => None,
        };
    }
    let logged = [&b"INFO"[..], b"WARN", b"ERROR", b"DEBUG", b"TRACE"].iter().any(|level| has(level));
    (has(b"jepsen.util") || (logged && has(b"jepsen"))).then_some(Format::Jepsen)
}

/// What a line says.
pub(super) enum Said {
    Entry(Entry),
    /// Something about the nemesis, which breaks things and is no client.
    Nemesis,
    /// Nothing about operations.
    Nothing,
}

/// What is wrong with a line.
pub(super) struct Fault {
    /// Where, in bytes from the start of the line.
    pub(super) at: usize,
    pub(super) what: String,
    /// Whether more text could have made it right.
    pub(super) at_end: bool,
}

impl From<EdnError> for Fault {
    fn from(EdnError { at, what, at_end }: EdnError) -> Self {
        Fault { at, what, at_end }
    }
}

/// `{:process 9, :type :invoke, :f :append, :key "0", :value "x 9 0 y"}`; other keys are ignored.
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
    let (mut process, mut phase, mut f, mut key, mut content) = (None, None, None, None, Edn::Nil);
    for (name, value) in map {
        let Edn::Keyword(name) = name else { continue };
        match (&*name, value) {
            ("process", Edn::Keyword(name)) if &*name == "nemesis" => return Ok(Said::Nemesis),
            ("process", Edn::Int(number)) => process = u64::try_from(number).ok(),
            ("type", Edn::Keyword(name)) => phase = Phase::from_name(&name),
            ("f", Edn::Keyword(name) | Edn::Symbol(name) | Edn::Str(name)) => f = Some(name),
            ("key", value) => key = Some(value),
            ("value", value) => content = value,
            _ => {}
        }
    }
    let process = process.ok_or_else(|| fault("the map has no :process that is a number or :nemesis"))?;
    let phase = phase.ok_or_else(|| fault("the map has no :type that is :invoke, :ok, :fail or :info"))?;
    let f = f.ok_or_else(|| fault("the map has no :f that names the operation"))?;
    Ok(Said::Entry(Entry { line, process, phase, f, key, value: content }))
}

/// `INFO  jepsen.util - PROC<tab>:invoke<tab>:write<tab>4`; what follows a further tab is the error, and ignored.
pub(super) fn jepsen(text: &str, line: usize) -> Result<Said, Fault> {
    const MARK: &str = "INFO  jepsen.util - ";
    let Some(start) =
        ["jepsen.util - ", "jepsen.util: "].iter().find_map(|mark| Some(text.find(mark)? + mark.len()))
    else {
        let looks_like_one =
            text.split('\t').skip(1).any(|field| field.strip_prefix(':').is_some_and(is_phase));
        if looks_like_one || MARK.starts_with(text) && !text.is_empty() {
            let what = format!("expected `{MARK}` before the operation");
            return Err(Fault { at: 0, what, at_end: !looks_like_one });
        }
        return Ok(Said::Nothing);
    };
    let operation = &text[start..];
    if !operation.contains('\t')
        && !operation.starts_with(|c: char| c.is_ascii_digit())
        && !operation.is_empty()
    {
        return Ok(Said::Nothing);
    }
    let mut at = start;
    let mut fields = operation.split('\t').map(|field| {
        let place = at;
        at += field.len() + 1;
        (place, field)
    });
    let mut field = |what: &str| {
        let (at, field) = fields.next().ok_or_else(|| Fault {
            at: text.len(),
            what: format!("expected a tab and {what}"),
            at_end: true,
        })?;
        let at_end = at + field.len() == text.len();
        Ok::<_, Fault>((at, field.trim_matches(' '), Fault { at, what: format!("expected {what}"), at_end }))
    };

    let (_, process, fault) = field("the number of a process")?;
    if process == ":nemesis" {
        return Ok(Said::Nemesis);
    }
    let digits = process.bytes().all(|byte| byte.is_ascii_digit());
    let process = process.parse().ok().filter(|_| digits).ok_or(fault)?;
    let (_, phase, fault) = field(":invoke, :ok, :fail or :info")?;
    let phase = phase.strip_prefix(':').and_then(Phase::from_name).ok_or(fault)?;
    let (_, f, fault) = field("a keyword that names the operation")?;
    let Ok(Edn::Keyword(f)) = Edn::parse(f) else { return Err(fault) };
    let (at, value, _) = field("a value")?;
    let ends = at + value.len() == text.len();
    let value = Edn::parse(value).map_err(|error| Fault {
        at: at + error.at,
        what: error.what,
        at_end: error.at_end && ends,
    })?;
    Ok(Said::Entry(Entry { line, process, phase, f, key: None, value }))
}

fn is_phase(name: &str) -> bool {
    Phase::from_name(name.trim()).is_some()
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
    fn operations_are_not_skipped() {
        for text in [
            "INFO  jepsen.util - 3",
            "INFO  jepsen.util - 3\t:invok\t:read\tnil",
            "INFO  jepsen.util - x\t:invoke\t:read\tnil",
            "INFO  jepsen.util - 3\t:invoke\tread\tnil",
            "INFO  jepsen.util - 3\t:invoke\t:read",
            "INFO  jepsen.util - 3\t:invoke\t:cas\t[1 2",
            "INFO  jepsen.utl - 3\t:invoke\t:read\tnil",
            "INFO  jepsen.u",
            "INFO  jepsen.util - ",
        ] {
            assert!(jepsen(text, 1).is_err(), "{text}");
        }
        for text in [
            "",
            "INFO  jepsen.core - Worker 3 starting",
            "INFO  jepsen.util - Doing well",
            "\tat clojure.core",
        ] {
            assert!(matches!(jepsen(text, 1), Ok(Said::Nothing)), "{text}");
        }
    }
}
