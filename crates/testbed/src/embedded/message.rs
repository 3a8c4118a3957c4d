//! The heads of requests and responses as they arrive (RFC 9112, 2 to 5), checked for form and not for sense.

use std::ops::ControlFlow;

use super::bug::Bug;
use super::input::{Input, Trouble};
use super::switches::Switches;

/// The longest line of a head, and the longest head.
const LINE: usize = 16 * 1024;
const HEAD: usize = 64 * 1024;

/// The lines between the first and the empty one, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Vec<(String, Vec<u8>)>);

impl Fields {
    /// The values of all lines of that name, in whatever case.
    pub(crate) fn all<'a, 'b>(&'a self, name: &'b str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'b> {
        self.0.iter().filter(move |(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| &value[..])
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// The value, if there is exactly one line and it is text.
    pub(crate) fn only(&self, name: &str) -> Option<&str> {
        let mut values = self.all(name);
        let value = values.next()?;
        if values.next().is_some() { None } else { std::str::from_utf8(value).ok() }
    }

    /// The members of all lines of that name, as tokens in lower case.
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

    /// Reads lines up to the empty one.
    pub(crate) fn read(input: &mut Input, lax: Lax) -> Result<Self, Trouble> {
        let mut fields = Self::default();
        let mut size = 0;
        loop {
            let line = input.line(LINE)?;
            size += line.len() + 2;
            if size > HEAD {
                return Err(Trouble::Bad(431, "too many fields"));
            }
            match field(&line, lax)? {
                ControlFlow::Break(()) => return Ok(fields),
                ControlFlow::Continue((name, value)) => fields.push(name, value),
            }
        }
    }
}

/// How much is forgiven.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lax {
    /// Space before the colon is taken away. A proxy must, in responses (RFC 9112, 5.1).
    pub(crate) space_before_colon: bool,
}

fn field(line: &[u8], lax: Lax) -> Result<ControlFlow<(), (String, Vec<u8>)>, Trouble> {
    if line.is_empty() {
        return Ok(ControlFlow::Break(()));
    }
    let colon =
        line.iter().position(|&byte| byte == b':').ok_or(Trouble::Bad(400, "a field without colon"))?;
    let (mut name, value) = (&line[..colon], trim(&line[colon + 1..]));
    if lax.space_before_colon {
        name = name.trim_ascii_end();
    }
    // This refuses space before the colon and folded lines too.
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

/// A request; its content comes later.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// As received; [`Request::path`] is what it means.
    pub(crate) target: String,
    /// The minor version: HTTP/1.this.
    pub(crate) minor: u8,
    pub(crate) fields: Fields,
    pub(crate) content: Vec<u8>,
}

impl Request {
    /// Waits for a head and reads it. Nothing at all in time is [`Trouble::Gone`]; half a head is [`Trouble::Late`].
    pub(crate) fn read(input: &mut Input, switches: &Switches) -> Result<Self, Trouble> {
        // An empty line or two before the first is forgiven (RFC 9112, 2.2).
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
        let lax = Lax { space_before_colon: switches.has(Bug::SpaceBeforeColon) };
        let fields = Fields::read(input, lax)?;
        let request = Self { method, target, minor, fields, content: Vec::new() };
        request.check_host(switches)?;
        Ok(request)
    }

    /// RFC 9112, 3.2: one Host, and a good one.
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

    /// The path and query, as received; `None` if the target is neither that nor a URI with them.
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

    /// The path and query that is meant, spelled in one way (RFC 9110, 4.2.3); `*` for the server as a whole.
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

    /// RFC 9110, 10.1.1; what HTTP/1.0 expects is ignored.
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

/// Percent-encoding only where it is needed, in upper case. `None` if it is broken, or there is a fragment.
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
