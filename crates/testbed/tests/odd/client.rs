//! Client that parses responses strictly and detects those that are cut off.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) version: String,
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) content: Vec<u8>,
    pub(crate) trailers: usize,
    pub(crate) interim: Vec<u16>,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let found = self.fields.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
    }

    pub(crate) fn raw(&self, name: &str) -> Option<Vec<u8>> {
        self.fields.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
    }
}

/// Connection that is reopened after it has ended.
pub(crate) struct Client {
    address: SocketAddr,
    stream: Option<TcpStream>,
    buffer: Vec<u8>,
}

pub(crate) fn request(line: &str, fields: &[(&str, &[u8])], content: Option<&str>) -> Vec<u8> {
    let mut bytes = format!("{line} HTTP/1.1\r\nHost: test\r\n").into_bytes();
    for (name, value) in fields {
        bytes.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    if let Some(content) = content {
        bytes.extend_from_slice(format!("Content-Length: {}\r\n", content.len()).as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(content.unwrap_or_default().as_bytes());
    bytes
}

impl Client {
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self { address, stream: None, buffer: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let address = self.address;
        let stream = self.stream.get_or_insert_with(|| {
            let stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            stream
        });
        // If the connection was closed in the meantime, reading reports it.
        let _ = stream.write_all(bytes);
    }

    /// Sends a request and returns the complete response, or `None` if the connection ended first.
    pub(crate) fn ask(
        &mut self,
        line: &str,
        fields: &[(&str, &[u8])],
        content: Option<&str>,
    ) -> Option<Answer> {
        self.send(&request(line, fields, content));
        self.answer(line.split(' ').next().unwrap())
    }

    pub(crate) fn answer(&mut self, method: &str) -> Option<Answer> {
        let answer = self.try_answer(method);
        let closes = |answer: &Answer| {
            let says = answer.field("connection").is_some_and(|value| value.trim() == "close");
            says || answer.version == "HTTP/1.0"
        };
        if answer.as_ref().is_none_or(closes) {
            self.stream = None;
            self.buffer.clear();
        }
        answer
    }

    fn fill(&mut self) -> Option<()> {
        let mut space = [0; 4096];
        let count = self.stream.as_mut()?.read(&mut space).unwrap_or(0);
        self.buffer.extend_from_slice(&space[..count]);
        (count > 0).then_some(())
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|part| part == b"\r\n") {
                let line = self.buffer[..end].to_vec();
                self.buffer.drain(..end + 2);
                assert!(!line.contains(&b'\r') && !line.contains(&b'\n'), "a stray line end: {line:?}");
                return Some(line);
            }
            self.fill()?;
        }
    }

    fn exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < count {
            self.fill()?;
        }
        Some(self.buffer.drain(..count).collect())
    }

    fn fields(&mut self) -> Option<Vec<(String, Vec<u8>)>> {
        let mut fields = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Some(fields);
            }
            let colon = line.iter().position(|byte| *byte == b':').unwrap();
            let name = String::from_utf8(line[..colon].to_vec()).unwrap();
            assert!(!name.is_empty() && !name.contains([' ', '\t']), "a bad name: {name:?}");
            fields.push((name, line[colon + 1..].trim_ascii().to_vec()));
        }
    }

    fn try_answer(&mut self, method: &str) -> Option<Answer> {
        let mut interim = Vec::new();
        loop {
            let line = self.line()?;
            let text = String::from_utf8_lossy(&line).into_owned();
            let (version, rest) = text.split_once(' ').unwrap();
            assert!(matches!(version, "HTTP/1.1" | "HTTP/1.0"), "{text:?}");
            let (status, _) = rest.split_once(' ').expect("a space after the status");
            let status: u16 = status.parse().unwrap();
            let fields = self.fields()?;
            let mut answer = Answer {
                version: version.to_owned(),
                status,
                fields,
                content: vec![],
                trailers: 0,
                interim: vec![],
            };
            let is_chunked = answer.field("transfer-encoding").is_some();
            if status < 200 {
                assert!(!is_chunked && answer.field("content-length").is_none());
                interim.push(status);
                continue;
            }
            answer.interim = interim;
            if method == "HEAD" || matches!(status, 204 | 304) {
                return Some(answer);
            }
            if is_chunked {
                loop {
                    let line = self.line()?;
                    let size = line.split(|byte| *byte == b';').next().unwrap();
                    let size = usize::from_str_radix(std::str::from_utf8(size).unwrap(), 16).unwrap();
                    if size == 0 {
                        answer.trailers = self.fields()?.len();
                        return Some(answer);
                    }
                    answer.content.append(&mut self.exactly(size)?);
                    assert_eq!(self.exactly(2)?, b"\r\n");
                }
            }
            if let Some(length) = answer.field("content-length") {
                answer.content = self.exactly(length.parse().unwrap())?;
            } else {
                while self.fill().is_some() {}
                answer.content = std::mem::take(&mut self.buffer);
            }
            return Some(answer);
        }
    }
}
