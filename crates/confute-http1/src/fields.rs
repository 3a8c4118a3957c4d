//! Header and trailer fields: in order, with duplicates; names are compared case-insensitively.
//!
//! Lines that are no fields (no colon, or white space before the first field) are kept in [`lines`](RawFields::lines),
//! but contribute to no value.

use std::borrow::Cow;
use std::ops::Range;

use super::anomaly::{Anomalies, AnomalyKind};
use super::grammar::{decimal, is_blank, is_text, is_token_byte, trim, trim_range};

/// Position of a field line in its message, together with the lines that continue it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldLine {
    /// Range of the whole line, with all line ends.
    pub range: Range<usize>,
    name: Option<Range<usize>>,
    value: Range<usize>,
    is_folded: bool,
}

impl FieldLine {
    /// Parses the line at `range`; `content` is the same range without the line end.
    pub(super) fn parse(
        bytes: &[u8],
        range: Range<usize>,
        content: Range<usize>,
        anomalies: &mut Anomalies,
    ) -> Self {
        let Some(colon) = bytes[content.clone()].iter().position(|byte| *byte == b':') else {
            anomalies.note(content.start, AnomalyKind::NoColon);
            return FieldLine::ignored(range);
        };
        let colon = content.start + colon;
        let blanks = bytes[content.start..colon].iter().rev().take_while(|byte| is_blank(**byte)).count();
        let name = content.start..colon - blanks;
        if blanks > 0 {
            anomalies.note(name.end, AnomalyKind::SpaceBeforeColon);
        }
        if name.is_empty() {
            anomalies.note(name.start, AnomalyKind::EmptyName);
        }
        if let Some(odd) = bytes[name.clone()].iter().position(|byte| !is_token_byte(*byte)) {
            anomalies.note(name.start + odd, AnomalyKind::BadNameByte(bytes[name.start + odd]));
        }
        let value = trim_range(bytes, colon + 1..content.end);
        note_bad_value(bytes, value.clone(), anomalies);
        FieldLine { range, name: Some(name), value, is_folded: false }
    }

    /// Returns a line that is no field.
    pub(super) fn ignored(range: Range<usize>) -> Self {
        FieldLine { value: range.end..range.end, range, name: None, is_folded: false }
    }

    /// Appends the next line, a continuation that begins with white space.
    pub(super) fn fold(
        &mut self,
        bytes: &[u8],
        range: &Range<usize>,
        content: Range<usize>,
        anomalies: &mut Anomalies,
    ) {
        self.range.end = range.end;
        if self.name.is_some() {
            self.value.end = content.end;
            self.is_folded = true;
            note_bad_value(bytes, content, anomalies);
        }
    }
}

fn note_bad_value(bytes: &[u8], value: Range<usize>, anomalies: &mut Anomalies) {
    // A CR is already noted as `AnomalyKind::BareCr`.
    let odd = bytes[value.clone()].iter().position(|byte| !is_text(*byte) && *byte != b'\r');
    if let Some(odd) = odd {
        anomalies.note(value.start + odd, AnomalyKind::BadValueByte(bytes[value.start + odd]));
    }
}

/// A field: name and value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawField<'a> {
    /// Name as it was sent.
    pub name: &'a [u8],
    /// Value without surrounding white space; each line fold is replaced by a space.
    pub value: Cow<'a, [u8]>,
}

/// The fields of one section of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawFields<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) lines: &'a [FieldLine],
}

impl<'a> RawFields<'a> {
    /// Returns all lines, fields or not; their ranges count from the start of the message.
    pub fn lines(self) -> &'a [FieldLine] {
        self.lines
    }

    /// Returns the fields, in order.
    pub fn iter(self) -> impl Iterator<Item = RawField<'a>> {
        self.lines.iter().filter_map(move |line| {
            let name = &self.bytes[line.name.clone()?];
            let value = &self.bytes[line.value.clone()];
            let value = if line.is_folded { Cow::Owned(unfold(value)) } else { Cow::Borrowed(value) };
            Some(RawField { name, value })
        })
    }

    /// Returns the values of the fields of this name, in order.
    pub fn all(self, name: &str) -> impl Iterator<Item = Cow<'a, [u8]>> {
        self.iter()
            .filter(move |field| field.name.eq_ignore_ascii_case(name.as_bytes()))
            .map(|field| field.value)
    }

    /// Returns the value of the field of this name, or `None` if there is none or more than one.
    pub fn only(self, name: &str) -> Option<Cow<'a, [u8]>> {
        let mut all = self.all(name);
        all.next().filter(|_| all.next().is_none())
    }

    /// Returns the values of the fields of this name, joined by commas (RFC 9110, section 5.2).
    pub fn combined(self, name: &str) -> Option<Vec<u8>> {
        let all: Vec<_> = self.all(name).collect();
        if all.is_empty() { None } else { Some(all.join(&b", "[..])) }
    }

    /// Returns the elements of the list-valued fields of this name (RFC 9110, section 5.6.1).
    pub fn list(self, name: &str) -> Vec<Vec<u8>> {
        self.all(name).flat_map(|value| split_list(&value).map(<[u8]>::to_vec).collect::<Vec<_>>()).collect()
    }

    /// Returns the options of `Connection`, in lower case.
    pub fn connection_options(self) -> Vec<Vec<u8>> {
        self.list("Connection").iter().map(|option| option.to_ascii_lowercase()).collect()
    }

    /// Returns the value of `Content-Length`.
    pub fn content_length(self) -> Length {
        let values: Vec<_> = self.all("Content-Length").collect();
        match &values[..] {
            [] => return Length::Absent,
            [value] => {
                if let Some(length) = decimal(value) {
                    return Length::One(length);
                }
            }
            _ => {}
        }
        let elements: Vec<&[u8]> = values.iter().flat_map(|value| split_list(value)).collect();
        // Values are compared as digits: `decimal` maps two different numbers that exceed 64 bits to the same value.
        let digits =
            |element: &&[u8]| -> Vec<u8> { element.iter().copied().skip_while(|b| *b == b'0').collect() };
        match elements.first().and_then(|first| decimal(first)) {
            Some(length) if elements.iter().all(|element| decimal(element).is_some()) => {
                let same = elements.windows(2).all(|pair| digits(&pair[0]) == digits(&pair[1]));
                if same { Length::Repeated(length) } else { Length::Conflicting }
            }
            _ => Length::Malformed,
        }
    }

    /// Returns the codings of `Transfer-Encoding` in the order in which they were applied, or `None` if there is no
    /// such field.
    pub fn transfer_codings(self) -> Option<Vec<Coding>> {
        self.all("Transfer-Encoding").next()?;
        let coding = |element: Vec<u8>| {
            let name = element.split(|byte| *byte == b';').next().unwrap_or_default();
            Coding { name: trim(name).to_ascii_lowercase(), has_parameters: element.contains(&b';') }
        };
        Some(self.list("Transfer-Encoding").into_iter().map(coding).collect())
    }

    /// Returns the offset at which the first field of this name begins.
    pub(super) fn position(self, name: &str) -> Option<usize> {
        let is_it = |line: &&FieldLine| {
            let range = line.name.clone();
            range.is_some_and(|range| self.bytes[range].eq_ignore_ascii_case(name.as_bytes()))
        };
        self.lines.iter().find(is_it).map(|line| line.range.start)
    }
}

/// Value of `Content-Length`. A number that does not fit into 64 bits is [`u64::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The message has no `Content-Length`.
    Absent,
    /// A single number.
    One(u64),
    /// One number, several times: in several fields or as a list.
    Repeated(u64),
    /// Several different numbers.
    Conflicting,
    /// A value that is neither a number nor a list of numbers.
    Malformed,
}

/// A transfer coding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coding {
    /// Name in lower case.
    pub name: Vec<u8>,
    /// `true` if a semicolon follows the name.
    pub has_parameters: bool,
}

/// Returns the non-empty elements of a list; a comma in a quoted string is no separator (RFC 9110, section 5.6.1).
///
/// Lists of entity tags need [`Tag`](crate::Tag) instead: in an entity tag a backslash is not an escape character.
pub fn split_list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let elements = value.split(move |byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => return true,
            _ => {}
        }
        false
    });
    elements.map(trim).filter(|element| !element.is_empty())
}

/// Replaces each line fold by a space (RFC 9112, section 5.2).
fn unfold(value: &[u8]) -> Vec<u8> {
    let parts = value.split(|byte| *byte == b'\n').map(|part| trim(part.strip_suffix(b"\r").unwrap_or(part)));
    trim(&parts.collect::<Vec<_>>().join(&b' ')).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Read, ResponseReader};

    fn with<T>(head: &str, look: impl FnOnce(RawFields<'_>) -> T) -> T {
        let mut reader = ResponseReader::default();
        reader.feed(format!("HTTP/1.1 204 No\r\n{head}\r\n").as_bytes());
        let Read::Message(raw) = reader.read() else { panic!("no message") };
        look(raw.fields())
    }

    #[test]
    fn lists_are_split_outside_quotes() {
        let split = |value: &'static str| split_list(value.as_bytes()).collect::<Vec<_>>();
        assert_eq!(split("foo , ,bar,charlie"), [&b"foo"[..], b"bar", b"charlie"]);
        assert_eq!(split(r#"a="x,\"y,", b"#), [&br#"a="x,\"y,""#[..], b"b"]);
        assert_eq!(split(", ,"), [&b""[..]; 0]);
        assert_eq!(split(r#""a, b"#), [&br#""a, b"#[..]]);
    }

    #[test]
    fn access_by_name() {
        let head = "A: 1\r\nb:2\r\nNo colon\r\na:  3,4 \r\nConnection: Close, x\r\n";
        with(head, |fields| {
            assert_eq!(
                fields.iter().map(|field| field.name).collect::<Vec<_>>(),
                [&b"A"[..], b"b", b"a", b"Connection"]
            );
            assert_eq!(fields.lines().len(), 5);
            assert_eq!(fields.combined("A").unwrap(), b"1, 3,4");
            assert_eq!(fields.list("a"), [b"1", b"3", b"4"]);
            assert_eq!((fields.only("A"), fields.only("B").as_deref()), (None, Some(&b"2"[..])));
            assert_eq!(fields.connection_options(), [&b"close"[..], b"x"]);
            assert_eq!((fields.combined("c"), fields.transfer_codings()), (None, None));
        });
    }

    #[test]
    fn folds_become_spaces() {
        with("A: 1 \r\n\t 2\n 3\r\nB:\r\n \r\n x\r\n", |fields| {
            assert_eq!(fields.combined("a").unwrap(), b"1 2 3");
            assert_eq!(fields.combined("b").unwrap(), b"x");
        });
    }

    #[test]
    fn lengths() {
        let check = |lines: &[&str], expected| {
            let head = format!("content-length:{}\r\n", lines.join("\r\ncontent-length:"));
            with(&head, |fields| assert_eq!(fields.content_length(), expected, "{head}"));
        };
        check(&[" 042 "], Length::One(42));
        check(&["5", "05"], Length::Repeated(5));
        check(&["5,,5"], Length::Repeated(5));
        check(&["5, 6"], Length::Conflicting);
        check(&["99999999999999999999", "99999999999999999998"], Length::Conflicting);
        for odd in ["", ",", "+5", "5 5", "0x5", "5;a", "\"5\"", "-1", "5, x"] {
            check(&[odd], Length::Malformed);
        }
        with("X: 1\r\n", |fields| assert_eq!(fields.content_length(), Length::Absent));
    }
}
