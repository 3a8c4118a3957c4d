//! Parser of the heads of requests and responses (RFC 9112, 2 to 5). It checks syntax, not meaning.

use std::ops::ControlFlow;

use super::bug::Bug;
use super::input::{Input, Trouble};
use super::switches::Switches;

/// Maximum length of a line of a head, in bytes.
const LINE: usize = 16 * 1024;
/// Maximum length of the field lines of a head, in bytes.
const HEAD: usize = 64 * 1024;

/// The field lines of a head, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Vec<(String, Vec<u8>)>);

impl Fields {
    /// Returns the values of all lines of that name, ignoring case.
    pub(crate) fn all<'a, 'b>(&'a self, name: &'b str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'b> {
        self.0.iter().filter(move |(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| &value[..])
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// Returns the value if there is exactly one line of that name and it is UTF-8.
    pub(crate) fn only(&self, name: &str) -> Option<&str> {
        let mut values = self.all(name);
        let value = values.next()?;
        if values.next().is_some() { None } else { std::str::from_utf8(value).ok() }
    }

    /// Returns the list members of all lines of that name, in lower case.
    pub(crate) fn tokens(&self, name: &str) -> Vec<String> {
        let members = self.all(name).flat_map(|value| value.split(|&byte| byte == b','));
        let texts =
            members.map(|it| String::from_utf8_lossy(it).trim_matches([' ', '\t']).to_ascii_lowercase());
        texts.filter(|it| !it.is_empty()).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (&name[..], &value[..]))
    }

    pub(crate) fn push(&mut self, name: String, value: Vec<u8>) {
        self.0.push((name, value));
    }

    /// Reads field lines up to the empty line.
    pub(crate) fn read(input: &mut Input, tolerance: Tolerance) -> Result<Self, Trouble> {
        let mut fields = Self::default();
        let mut size = 0;
        loop {
            let line = input.line(LINE)?;
            size += line.len() + 2;
            if size > HEAD {
                return Err(Trouble::Bad(431, "too many fields"));
            }
            match field(&line, tolerance)? {
                ControlFlow::Break(()) => return Ok(fields),
                ControlFlow::Continue((name, value)) => fields.push(name, value),
            }
        }
    }
}

/// Syntax errors that the parser tolerates.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tolerance {
    /// Space before the colon is removed. A proxy must do that in responses (RFC 9112, 5.1).
    pub(crate) space_before_colon: bool,
}

fn field(line: &[u8], tolerance: Tolerance) -> Result<ControlFlow<(), (String, Vec<u8>)>, Trouble> {
    if line.is_empty() {
        return Ok(ControlFlow::Break(()));
    }
    let colon =
        line.iter().position(|&byte| byte == b':').ok_or(Trouble::Bad(400, "a field without colon"))?;
    let (mut name, value) = (&line[..colon], trim(&line[colon + 1..]));
    if tolerance.space_before_colon {
        name = name.trim_ascii_end();
    }
    // This also refuses space before the colon and folded lines.
    if !is_token(name) {
        return Err(Trouble::Bad(400, "a bad field name"));
    }
    if value.iter().any(|&byte| byte.is_ascii_control() && byte != b'\t') {
        return Err(Trouble::Bad(400, "a control character in a field"));
    }
    Ok(ControlFlow::Continue((String::from_utf8_lossy(name).into_owned(), value.to_vec())))
}

fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

fn is_token(name: &[u8]) -> bool {
    let good = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !name.is_empty() && name.iter().all(good)
}

/// A request; its content is read after its head.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Request target as received; [`Request::path`] is its normal form.
    pub(crate) target: String,
    /// Minor version: the digit after `HTTP/1.`.
    pub(crate) minor: u8,
    pub(crate) fields: Fields,
    pub(crate) content: Vec<u8>,
}

impl Request {
    /// Waits for a head and reads it. A timeout before the first byte is [`Trouble::Gone`]; a timeout within the head
    /// is [`Trouble::Late`].
    pub(crate) fn read(input: &mut Input, switches: &Switches) -> Result<Self, Trouble> {
        // A few empty lines before the request line are ignored (RFC 9112, 2.2).
        let mut forgiven = 0;
        input.rest();
        loop {
            while input.pending().len() < 2 && input.pending() != b"\n" {
                let nothing = input.pending().is_empty();
                match input.fill() {
                    Err(Trouble::Late) if nothing => return Err(Trouble::Gone),
                    other => other?,
                }
                if nothing {
                    input.begin();
                }
            }
            if !input.pending().starts_with(b"\r\n") || forgiven == 4 {
                break;
            }
            input.skip(2);
            forgiven += 1;
        }
        input.begin();
        let line = input.line(LINE).map_err(|trouble| match trouble {
            Trouble::Bad(431, why) => Trouble::Bad(414, why),
            other => other,
        })?;
        let (method, target, minor) = first_line(&line)?;
        let tolerance = Tolerance { space_before_colon: switches.has(Bug::SpaceBeforeColon) };
        let fields = Fields::read(input, tolerance)?;
        let request = Self { method, target, minor, fields, content: Vec::new() };
        request.check_host(switches)?;
        Ok(request)
    }

    /// Checks that there is exactly one Host, with valid characters (RFC 9112, 3.2).
    fn check_host(&self, switches: &Switches) -> Result<(), Trouble> {
        let hosts: Vec<_> = self.fields.all("host").collect();
        let good = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(byte);
        match &hosts[..] {
            [] if self.minor == 0 || switches.has(Bug::NoHost) => Ok(()),
            [] => Err(Trouble::Bad(400, "no Host")),
            [_, _, ..] if !switches.has(Bug::TwoHosts) => Err(Trouble::Bad(400, "several Hosts")),
            [host, ..] if host.iter().all(good) => Ok(()),
            _ => Err(Trouble::Bad(400, "a bad Host")),
        }
    }

    /// Returns the path and query as received, or `None` if the target is neither in origin form nor an `http` URI.
    pub(crate) fn local(&self) -> Option<&str> {
        let target = &self.target[..];
        match target.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => {
                let end = rest.find(['/', '?']).unwrap_or(rest.len());
                (end > 0).then(|| &rest[end..])
            }
            _ => target.starts_with('/').then_some(target),
        }
    }

    /// Returns the path and query in normal form (RFC 9110, 4.2.3), or `*` for the server as a whole.
    pub(crate) fn path(&self) -> Option<String> {
        if self.target == "*" {
            return (self.method == "OPTIONS").then(|| "*".to_owned());
        }
        let path = self.local()?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        Some(format!("{slash}{}", normal(path)?))
    }

    pub(crate) fn wants_close(&self) -> bool {
        self.minor == 0 || self.fields.tokens("connection").iter().any(|it| it == "close")
    }

    /// Returns `true` if the client waits for 100 Continue (RFC 9110, 10.1.1). Expectations of HTTP/1.0 requests are
    /// ignored.
    pub(crate) fn expects_continue(&self) -> bool {
        self.minor > 0 && self.fields.tokens("expect").iter().any(|it| it == "100-continue")
    }
}

fn first_line(line: &[u8]) -> Result<(String, String, u8), Trouble> {
    let parts: Vec<_> = line.split(|&byte| byte == b' ').collect();
    let [method, target, version] = parts[..] else {
        return Err(Trouble::Bad(400, "a bad request line"));
    };
    if !is_token(method) || target.is_empty() || !target.iter().all(u8::is_ascii_graphic) {
        return Err(Trouble::Bad(400, "a bad request line"));
    }
    let minor = match version {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ b'0'..=b'9'] => minor - b'0',
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => {
            return Err(Trouble::Bad(505, "not HTTP/1"));
        }
        _ => return Err(Trouble::Bad(400, "a bad version")),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((text(method), text(target), minor))
}

/// Normalizes percent-encoding: only where it is needed, in upper case. Returns `None` if an encoding is broken or if
/// there is a fragment.
fn normal(path: &str) -> Option<String> {
    let mut text = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find(['%', '#']) {
        text.push_str(&rest[..at]);
        let code = rest[at..].strip_prefix('%')?.get(..2)?;
        if !code.bytes().all(|it| it.is_ascii_hexdigit()) {
            return None;
        }
        let byte = u8::from_str_radix(code, 16).ok()?;
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.push_str(&code.to_ascii_uppercase());
        }
        rest = &rest[at + 3..];
    }
    text.push_str(rest);
    Some(text)
}
