//! A to-do service: `POST`, `GET`, `PUT`, `PATCH` and `DELETE` of todos with entity tags, and a list. Bugs can be switched on.
//!
//! `openapi.yaml` describes it, `tests/todo/main.rs` tests it. A connection has a thread of its own.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use confute_http1::{Body, Outgoing, RawRequest, Read, RequestReader};
use serde_json::{Map, Value, json};

/// A bug of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// If-Match is not looked at.
    IfMatchIgnored,
    /// If-Match is compared before the lock is taken that protects the write.
    IfMatchRace,
    /// An id is the number of todos and one, so it can be in use.
    IdReuse,
    /// A list is kept for a while, whatever is created, changed or removed.
    StaleList,
    /// PATCH reads the todo, changes it, and writes it back later.
    LostUpdate,
}

/// Time between a look and the write that depends on it, where they are apart.
const GAP: Duration = Duration::from_millis(1);
/// Time for which a list is kept.
const KEPT: Duration = Duration::from_millis(200);

#[derive(Clone)]
struct Todo {
    fields: Map<String, Value>,
    version: u64,
}

#[derive(Default)]
struct State {
    todos: BTreeMap<u64, Todo>,
    ids: u64,
    versions: u64,
    list: Option<(Instant, Value)>,
}

struct Service {
    state: Mutex<State>,
    bug: Option<Bug>,
}

/// A response.
struct Response {
    status: u16,
    fields: Vec<(&'static str, String)>,
    body: Option<Value>,
}

/// Starts the service with a bug, or without one. It runs until the process ends. Returns its URL.
pub fn start(bug: Option<Bug>) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/", listener.local_addr()?);
    let service = Arc::new(Service { state: Mutex::default(), bug });
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let service = Arc::clone(&service);
            thread::spawn(move || service.attend(stream));
        }
    });
    Ok(url)
}

fn status(status: u16) -> Response {
    Response { status, fields: Vec::new(), body: None }
}

fn tag(todo: &Todo) -> String {
    format!("\"{}\"", todo.version)
}

fn shown(id: u64, todo: &Todo) -> Value {
    let mut fields = todo.fields.clone();
    fields.insert("id".to_owned(), id.into());
    fields.insert("changes".to_owned(), todo.version.into());
    fields.into()
}

fn response(status: u16, id: u64, todo: &Todo) -> Response {
    Response { status, fields: vec![("ETag", tag(todo))], body: Some(shown(id, todo)) }
}

/// Returns the fields of a body, those that are missing with their defaults; `None` if it is no todo.
fn whole(body: &Value) -> Option<Map<String, Value>> {
    let title = body.get("title")?.as_str()?;
    let done = body.get("done").map_or(Some(false), Value::as_bool)?;
    let note = body.get("note").map_or(Some(""), Value::as_str)?;
    json!({ "title": title, "done": done, "note": note }).as_object().cloned()
}

impl Service {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attend(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let (mut reader, mut buffer) = (RequestReader::default(), [0; 8192]);
        loop {
            let count = stream.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            reader.feed(&buffer[..count]);
            let mut bytes = Vec::new();
            while let Read::Message(request) = reader.read() {
                let Response { status, fields, body } = self.answer(&request);
                let mut out = Outgoing::response(status, "");
                for (name, value) in fields {
                    out = out.field(name, value);
                }
                if let Some(body) = body {
                    out = out.field("Content-Type", "application/json");
                    out = out.body(Body::Sized(body.to_string().into_bytes()));
                }
                if let Ok(encoded) = out.encode() {
                    bytes.extend(encoded.bytes());
                }
            }
            stream.write_all(&bytes)?;
        }
    }

    fn answer(&self, request: &RawRequest) -> Response {
        let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        let (method, target) = (text(request.method()), text(request.target()));
        let Some(rest) = target.strip_prefix("/todos") else { return status(404) };
        let body = serde_json::from_slice::<Value>(&request.content()).unwrap_or_default();
        let if_match = request.fields().combined("If-Match");
        let if_match = if_match.map(|value| String::from_utf8_lossy(&value).into_owned());
        if rest.is_empty() {
            return match &*method {
                "GET" => self.list(),
                "POST" => self.create(&body),
                _ => status(405),
            };
        }
        let Some(id) = rest.strip_prefix('/').and_then(|id| id.parse().ok()) else { return status(404) };
        match &*method {
            "GET" => {
                let state = self.lock();
                state.todos.get(&id).map_or(status(404), |todo| response(200, id, todo))
            }
            "PUT" | "PATCH" | "DELETE" => self.write(&method, id, &body, if_match),
            _ => status(405),
        }
    }

    fn list(&self) -> Response {
        let mut state = self.lock();
        let kept =
            state.list.take().filter(|(at, _)| self.bug == Some(Bug::StaleList) && at.elapsed() < KEPT);
        let kept = kept.unwrap_or_else(|| {
            (Instant::now(), state.todos.iter().map(|(id, todo)| shown(*id, todo)).collect())
        });
        state.list = Some(kept.clone());
        Response { status: 200, fields: Vec::new(), body: Some(kept.1) }
    }

    fn create(&self, body: &Value) -> Response {
        let Some(fields) = whole(body) else { return status(422) };
        let mut state = self.lock();
        state.ids += 1;
        state.versions += 1;
        let id = if self.bug == Some(Bug::IdReuse) { state.todos.len() as u64 + 1 } else { state.ids };
        let todo = Todo { fields, version: state.versions };
        state.todos.insert(id, todo.clone());
        let mut created = response(201, id, &todo);
        created.fields.push(("Location", format!("/todos/{id}")));
        created
    }

    fn write(&self, method: &str, id: u64, body: &Value, if_match: Option<String>) -> Response {
        let mut state = self.lock();
        let Some(mut old) = state.todos.get(&id).cloned() else { return status(404) };
        let is_met = if_match.is_none_or(|wanted| wanted == tag(&old));
        if !is_met && self.bug != Some(Bug::IfMatchIgnored) {
            return status(412);
        }
        let is_apart = match self.bug {
            Some(Bug::IfMatchRace) => true,
            Some(Bug::LostUpdate) => method == "PATCH",
            _ => false,
        };
        if is_apart {
            drop(state);
            thread::sleep(GAP);
            state = self.lock();
            let Some(now) = state.todos.get(&id).cloned() else { return status(404) };
            if self.bug == Some(Bug::IfMatchRace) {
                old = now;
            }
        }
        let fields = match method {
            "DELETE" => {
                state.todos.remove(&id);
                return status(204);
            }
            "PUT" => whole(body),
            _ => {
                let mut merged = old.fields;
                merged.extend(body.as_object().cloned().unwrap_or_default());
                whole(&merged.into())
            }
        };
        let Some(fields) = fields else { return status(422) };
        state.versions += 1;
        let todo = Todo { fields, version: state.versions };
        state.todos.insert(id, todo.clone());
        response(200, id, &todo)
    }
}
