//! Cookies of a connection: those of the user, and those that the service has set on it.
//!
//! Each connection is a client of its own, so a service that knows clients by their cookies sees as many as there are connections. Domains,
//! paths and times of expiry are not looked at, except that a cookie with `Max-Age=0` or an expiry in 1970 is removed: the tester talks to one
//! service for a few minutes.

use std::collections::BTreeMap;

/// The names of the fields, as they appear in a head.
const FIELDS: [&[u8]; 2] = [b"\r\ncookie:", b"\r\nset-cookie:"];

/// The cookies of a connection, by name.
#[derive(Debug, Default)]
pub(crate) struct Jar(BTreeMap<String, String>);

impl Jar {
    /// Takes the value of a field `Set-Cookie`.
    pub(crate) fn set(&mut self, field: &str) {
        let mut parts = field.split(';');
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { return };
        let is_over = |part: &str| {
            let part = part.trim().to_ascii_lowercase();
            part == "max-age=0"
                || part.starts_with("max-age=-")
                || (part.starts_with("expires=") && part.contains("1970"))
        };
        let name = name.trim().to_owned();
        if parts.any(is_over) {
            self.0.remove(&name);
        } else {
            self.0.insert(name, value.trim().to_owned());
        }
    }

    /// Adds the cookies to the head of the request that begins at `from`. Those that it has already are kept, unless the service has
    /// replaced them.
    pub(crate) fn add_to(&self, bytes: &mut Vec<u8>, from: usize) {
        if self.0.is_empty() {
            return;
        }
        let Some(end) = bytes[from..].windows(4).position(|part| part == b"\r\n\r\n").map(|at| from + at)
        else {
            return;
        };
        let mut cookies = BTreeMap::new();
        let mut place = end..end;
        if let Some(at) = find(&bytes[from..end], FIELDS[0]).map(|at| from + at) {
            let begin = at + FIELDS[0].len();
            let line =
                bytes[begin..end].iter().position(|byte| *byte == b'\r').map_or(end, |length| begin + length);
            let given = String::from_utf8_lossy(&bytes[begin..line]).into_owned();
            for (name, value) in given.split(';').filter_map(|pair| pair.split_once('=')) {
                cookies.insert(name.trim().to_owned(), value.trim().to_owned());
            }
            place = at..line;
        }
        cookies.extend(self.0.clone());
        let pairs: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        bytes.splice(place, format!("\r\nCookie: {}", pairs.join("; ")).into_bytes());
    }
}

/// Returns the place of a field in a head, whatever the case of its name.
fn find(bytes: &[u8], field: &[u8]) -> Option<usize> {
    let fits = |part: &[u8]| part.eq_ignore_ascii_case(field);
    bytes.windows(field.len()).position(|part| part[0] == b'\r' && fits(part))
}

/// Overwrites the values of cookies in these bytes.
pub(crate) fn conceal(bytes: &mut [u8]) {
    for field in FIELDS {
        let mut from = 0;
        while let Some(at) = find(&bytes[from..], field) {
            let begin = from + at + field.len();
            let rest = &mut bytes[begin..];
            let end = rest.iter().position(|byte| *byte == b'\r').unwrap_or(rest.len());
            rest[..end].iter_mut().filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b'*');
            from = begin + end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_kept_and_concealed() {
        let mut jar = Jar::default();
        jar.set("session=abc; Path=/; HttpOnly");
        jar.set("old=1");
        jar.set("old=; Max-Age=0");
        let mut bytes =
            b"before\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\ncookie: mine=1; session=x\r\nA: b\r\n\r\nbody"
                .to_vec();
        jar.add_to(&mut bytes, 10);
        let sent = String::from_utf8(bytes.clone()).unwrap();
        assert_eq!(
            sent,
            "before\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\nCookie: mine=1; session=abc\r\nA: b\r\n\r\nbody"
        );
        conceal(&mut bytes);
        let shown = String::from_utf8(bytes).unwrap();
        assert!(
            shown.len() == sent.len() && !shown.contains("abc") && shown.contains("\r\nA: b\r\n"),
            "{shown}"
        );
        let mut plain = b"GET / HTTP/1.1\r\n\r\n".to_vec();
        jar.add_to(&mut plain, 0);
        assert_eq!(plain, b"GET / HTTP/1.1\r\nCookie: session=abc\r\n\r\n");
    }
}
