//! Client that sends given bytes verbatim and parses responses strictly.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use confute_testbed::embedded::{Config, Embedded};

pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn start(config: Config) -> Embedded {
    Embedded::start(config).unwrap()
}

pub(crate) fn correct() -> (Embedded, Client) {
    let server = start(Config::default());
    let client = Client::to(server.addr());
    (server, client)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn tag(&self) -> &str {
        self.field("etag").unwrap()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

pub(crate) struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// Builds a request with Host, and with Content-Length unless the method has no content or the fields frame it.
/// Fields are separated by LF.
pub(crate) fn request(line: &str, fields: &str, body: &str) -> String {
    let fields: String = fields.lines().flat_map(|field| [field, "\r\n"]).collect();
    let measured = !body.is_empty() || line.starts_with("PUT") || line.starts_with("POST");
    let length = if measured { format!("Content-Length: {}\r\n", body.len()) } else { String::new() };
    format!("{line} HTTP/1.1\r\nHost: test\r\n{fields}{length}\r\n{body}")
}

impl Client {
    pub(crate) fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) fn impatient(self, time: Duration) -> Self {
        self.stream.set_read_timeout(Some(time)).unwrap();
        self
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // If the server has closed already, reading reports it.
        let _ = self.stream.write_all(bytes.as_ref());
    }

    pub(crate) fn ask(&mut self, line: &str, fields: &str, body: &str) -> Answer {
        self.try_ask(line, fields, body).unwrap()
    }

    pub(crate) fn try_ask(&mut self, line: &str, fields: &str, body: &str) -> Result<Answer, String> {
        self.send(request(line, fields, body));
        self.receive(line.split(' ').next().unwrap())
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), "", "")
    }

    pub(crate) fn put(&mut self, path: &str, body: &str) -> Answer {
        self.ask(&format!("PUT {path}"), "", body)
    }

    /// Sends bytes, and reads until the server closes.
    pub(crate) fn raw(mut self, bytes: impl AsRef<[u8]>) -> String {
        self.send(bytes);
        self.rest()
    }

    /// Reads until the server closes; a final `…` marks that it did not.
    pub(crate) fn rest(&mut self) -> String {
        while self.fill().is_ok_and(|more| more) {}
        let mut text = String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned();
        if !self.is_closed() {
            text.push('…');
        }
        text
    }

    fn fill(&mut self) -> Result<bool, String> {
        let mut space = [0; 8192];
        match self.stream.read(&mut space) {
            Ok(0) => Ok(false),
            Ok(count) => {
                self.buffer.extend_from_slice(&space[..count]);
                Ok(true)
            }
            Err(error) => Err(error.kind().to_string()),
        }
    }

    /// Returns `true` if the server has closed and no byte is left.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.buffer.is_empty() && self.fill().is_ok_and(|more| !more)
    }

    /// Returns `true` if bytes are pending or arrive within a moment.
    pub(crate) fn hears_more(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let more = !self.buffer.is_empty() || self.fill() == Ok(true);
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        more
    }

    fn need(&mut self) -> Result<(), String> {
        if self.fill()? { Ok(()) } else { Err("closed".to_owned()) }
    }

    fn take(&mut self, count: usize) -> Result<Vec<u8>, String> {
        while self.buffer.len() < count {
            self.need()?;
        }
        Ok(self.buffer.drain(..count).collect())
    }

    fn until(&mut self, end: &[u8]) -> Result<String, String> {
        loop {
            if let Some(at) = self.buffer.windows(end.len()).position(|it| it == end) {
                let text = self.take(at + end.len())?;
                return Ok(String::from_utf8_lossy(&text[..at]).into_owned());
            }
            self.need()?;
        }
    }

    /// Reads the response to a request of that method.
    pub(crate) fn receive(&mut self, method: &str) -> Result<Answer, String> {
        let head = self.until(b"\r\n\r\n")?;
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|it| it.get(..3)).and_then(|it| it.parse().ok());
        let status: u16 = status.ok_or_else(|| format!("no answer: {head:?}"))?;
        let mut answer = Answer { status, head, body: Vec::new() };
        if method == "HEAD" || status < 200 || status == 204 || status == 304 {
            return Ok(answer);
        }
        if answer.field("transfer-encoding") == Some("chunked") {
            loop {
                let size = self.until(b"\r\n")?;
                let size = usize::from_str_radix(&size, 16).map_err(|_| format!("no chunk: {size:?}"))?;
                let chunk = self.take(size + 2)?;
                answer.body.extend_from_slice(&chunk[..size]);
                if size == 0 {
                    return Ok(answer);
                }
            }
        }
        let length = answer.field("content-length").and_then(|it| it.parse().ok()).ok_or("no length")?;
        answer.body = self.take(length)?;
        Ok(answer)
    }
}

/// Origin that records the requests it receives and sends configured responses.
pub(crate) struct Recorder {
    pub(crate) address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    /// Starts a recorder that sends the same response to every request.
    pub(crate) fn saying(answer: &'static str) -> Self {
        Self::start(move |_, stream| stream.write_all(answer.as_bytes()).is_ok())
    }

    /// Starts a recorder that calls `react` with the number of each request; the connection stays open if it returns
    /// `true`.
    pub(crate) fn start(react: impl Fn(usize, &mut TcpStream) -> bool + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (react, list) = (Arc::new(react), heard.clone());
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (react, list) = (react.clone(), list.clone());
                thread::spawn(move || {
                    while let Some(request) = hear(&mut stream) {
                        let number = {
                            let mut list = list.lock().unwrap();
                            list.push(request);
                            list.len() - 1
                        };
                        if !react(number, &mut stream) {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, heard }
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// Reads one request as text, its content by Content-Length.
fn hear(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).ok()?;
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut content = vec![0; length.map_or(0, |it| it.parse().unwrap())];
    stream.read_exact(&mut content).ok()?;
    Some(head + &String::from_utf8(content).ok()?)
}
