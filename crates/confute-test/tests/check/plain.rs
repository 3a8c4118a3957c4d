//! A server that stores resources without any metadata (no tags, no dates), or one that rejects every PUT.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

type Kept = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// Starts the server and returns its URL. It runs until the tests end.
pub(crate) fn start(takes_put: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let kept = Kept::default();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let kept = kept.clone();
            thread::spawn(move || serve(&stream, &kept, takes_put));
        }
    });
    url
}

fn serve(mut stream: &TcpStream, kept: &Kept, takes_put: bool) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut first, mut length) = (String::new(), 0);
        reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let mut words = first.split(' ');
        let (method, path) = (words.next()?, words.next()?.to_owned());
        let mut kept = kept.lock().unwrap();
        let (status, content) = match method {
            "PUT" | "DELETE" if !takes_put => ("405 No", Vec::new()),
            "PUT" => (if kept.insert(path, body).is_some() { "204 Ok" } else { "201 Made" }, Vec::new()),
            "DELETE" => (if kept.remove(&path).is_some() { "204 Ok" } else { "404 No" }, Vec::new()),
            _ => kept.get(&path).map_or(("404 No", Vec::new()), |body| ("200 Ok", body.clone())),
        };
        drop(kept);
        let length = if status.starts_with("204") {
            String::new()
        } else {
            format!("Content-Length: {}\r\n", content.len())
        };
        let shown = if method == "HEAD" { &[][..] } else { &content };
        let head = format!("HTTP/1.1 {status}\r\n{length}\r\n");
        stream.write_all(&[head.as_bytes(), shown].concat()).ok()?;
    }
}
