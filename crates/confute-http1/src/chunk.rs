//! Parser of chunk lines: the size of a chunk and its extensions (RFC 9112, section 7.1).

use super::anomaly::{Anomalies, AnomalyKind};
use super::grammar::{hexadecimal, is_blank, is_token_byte, quoted};

/// Returns the size in a chunk line, or `None` if there is none. `line` is without its line end, and begins at offset
/// `at` of the message.
pub(super) fn size(line: &[u8], at: usize, anomalies: &mut Anomalies) -> Option<u64> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let rest = &line[digits..];
    let size = hexadecimal(&line[..digits]);
    if size.is_none() || !matches!(rest.first(), None | Some(b';' | b' ' | b'\t')) {
        anomalies.note(at, AnomalyKind::BadChunkSize);
        return None;
    }
    let mut scan = Scan { rest, is_spaced: false };
    if !scan.extensions() {
        anomalies.note(at + digits, AnomalyKind::BadChunkExtension);
    } else if scan.is_spaced {
        anomalies.note(at + digits, AnomalyKind::OddSpacing);
    }
    size
}

struct Scan<'a> {
    rest: &'a [u8],
    is_spaced: bool,
}

impl Scan<'_> {
    /// Returns `true` if the rest is `*( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )`, with optional
    /// white space at the end.
    fn extensions(&mut self) -> bool {
        self.blanks();
        while !self.rest.is_empty() {
            if !self.sign(b';') || !self.token() {
                return false;
            }
            if self.sign(b'=') && !self.string() && !self.token() {
                return false;
            }
        }
        true
    }

    fn blanks(&mut self) {
        let blanks = self.rest.iter().take_while(|byte| is_blank(**byte)).count();
        self.is_spaced |= blanks > 0;
        self.rest = &self.rest[blanks..];
    }

    fn skip(&mut self, length: usize) -> bool {
        self.rest = &self.rest[length..];
        self.blanks();
        length > 0
    }

    fn sign(&mut self, sign: u8) -> bool {
        let length = usize::from(self.rest.first() == Some(&sign));
        length > 0 && self.skip(length)
    }

    fn token(&mut self) -> bool {
        let length = self.rest.iter().take_while(|byte| is_token_byte(**byte)).count();
        self.skip(length)
    }

    fn string(&mut self) -> bool {
        let length = quoted(self.rest).unwrap_or(0);
        length > 0 && self.skip(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_extensions() {
        let read = |line: &str| {
            let mut anomalies = Anomalies::new(9);
            let size = size(line.as_bytes(), 0, &mut anomalies);
            (size, anomalies.list().first().map(|anomaly| anomaly.kind))
        };
        assert_eq!(read("1aF"), (Some(0x1af), None));
        assert_eq!(read("0;a;b=c;d=\"e;\\\"f\""), (Some(0), None));
        assert_eq!(read("fffffffffffffffff"), (Some(u64::MAX), None));
        for spaced in ["5 ", "5 ;a", "5; a", "5;a =b", "5;a= b", "5;a\t"] {
            assert_eq!(read(spaced), (Some(5), Some(AnomalyKind::OddSpacing)), "{spaced}");
        }
        for odd in ["5;", "5;a=", "5;=b", "5;a=\"", "5;a b", "5 6", "5;a;"] {
            assert_eq!(read(odd), (Some(5), Some(AnomalyKind::BadChunkExtension)), "{odd}");
        }
        for bad in ["", "x", " 5", "-5", "0x5", "5g", "5\r", "5,"] {
            assert_eq!(read(bad), (None, Some(AnomalyKind::BadChunkSize)), "{bad}");
        }
    }
}
