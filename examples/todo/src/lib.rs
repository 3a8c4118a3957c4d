//! A to-do service: `POST`, `GET`, `PUT`, `PATCH` and `DELETE` of todos with entity tags, and a list with pages and a filter. Bugs can be
//! switched on.
//!
//! `openapi.yaml` describes it, `tests/todo/main.rs` tests it. A connection has a thread of its own.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// Pages do not show the newest todo yet, if there are others.
    PageLacks,
    /// The filter looks at the value that a todo had when it was created.
    OldFilter,
    /// PATCH reads the todo, changes it, and writes it back later.
    LostUpdate,
    /// A todo that was removed stays.
    DeletedStays,
    /// The response to a PATCH has `done` as a text.
    WrongType,
    /// A title with a letter outside of ASCII is answered with 500.
    Crash,
    /// Two that are created at once get the same id.
    IdRace,
    /// POST reads all todos, adds one, and writes all back later.
    LostCreate,
    /// A write that began before a removal brings the todo back.
    DeleteRace,
}

impl Bug {
    /// All bugs: those that one client meets first, then those that need two at once.
    pub const ALL: [Self; 13] = [
        Self::IfMatchIgnored,
        Self::IdReuse,
        Self::StaleList,
        Self::PageLacks,
        Self::OldFilter,
        Self::DeletedStays,
        Self::WrongType,
        Self::Crash,
        Self::IfMatchRace,
        Self::LostUpdate,
        Self::IdRace,
        Self::LostCreate,
        Self::DeleteRace,
    ];
}

/// Time between a look and the write that depends on it, where they are apart.
const GAP: Duration = Duration::from_millis(1);
/// Time for which a list is kept.
const KEPT: Duration = Duration::from_millis(200);

#[derive(Clone)]
struct Todo {
    fields: Map<String, Value>,
    version: u64,
    /// The value of `done` when it was created.
    was_done: bool,
}

#[derive(Default)]
struct State {
    todos: BTreeMap<u64, Todo>,
    ids: u64,
    versions: u64,
    list: Option<(Instant, BTreeMap<u64, Todo>)>,
}

/// Number of requests that all services of this process have answered.
static ANSWERED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of requests that all services of this process have answered.
pub fn answered() -> u64 {
    ANSWERED.load(Ordering::Relaxed)
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

fn not_allowed(methods: &str) -> Response {
    Response { fields: vec![("Allow", methods.to_owned())], ..status(405) }
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

/// Returns the changes of a JSON Patch (RFC 6902) of one level as a merge; nothing if it is none.
fn merge(patch: &Value) -> Value {
    let change = |one: &Value| {
        let name = one["path"].as_str()?.strip_prefix('/')?.to_owned();
        matches!(one["op"].as_str()?, "add" | "replace").then(|| (name, one["value"].clone()))
    };
    let fields: Option<Map<String, Value>> =
        patch.as_array().and_then(|all| all.iter().map(change).collect());
    fields.map_or(Value::Null, Value::Object)
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
                ANSWERED.fetch_add(1, Ordering::Relaxed);
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
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let Some(rest) = path.strip_prefix("/todos") else { return status(404) };
        let mut body = serde_json::from_slice::<Value>(&request.content()).unwrap_or_default();
        if text(request.fields().combined("Content-Type").as_deref()) == "application/json-patch+json" {
            body = merge(&body);
        }
        let if_match = request.fields().combined("If-Match");
        let if_match = if_match.map(|value| String::from_utf8_lossy(&value).into_owned());
        if rest.is_empty() {
            return match &*method {
                "GET" => self.list(query),
                "POST" => self.create(&body),
                _ => not_allowed("GET, POST"),
            };
        }
        let Some(id) = rest.strip_prefix('/').and_then(|id| id.parse().ok()) else { return status(404) };
        match &*method {
            "GET" => {
                let state = self.lock();
                state.todos.get(&id).map_or(status(404), |todo| response(200, id, todo))
            }
            "PUT" | "PATCH" | "DELETE" => self.write(&method, id, &body, if_match),
            _ => not_allowed("GET, PUT, PATCH, DELETE"),
        }
    }

    fn list(&self, query: &str) -> Response {
        let given = |name: &str| {
            let mut parts = query.split('&').filter_map(|part| part.split_once('='));
            parts.find(|(known, _)| *known == name).map(|(_, value)| value)
        };
        let number = |name: &str| given(name).map(str::parse).transpose();
        let (Ok(limit), Ok(offset)) = (number("limit"), number("offset")) else { return status(422) };
        let Ok(done) = given("done").map(str::parse::<bool>).transpose() else { return status(422) };
        let mut state = self.lock();
        if self.bug == Some(Bug::StaleList) && state.list.as_ref().is_none_or(|(at, _)| at.elapsed() >= KEPT)
        {
            state.list = Some((Instant::now(), state.todos.clone()));
        }
        let todos = state.list.as_ref().map_or(&state.todos, |(_, kept)| kept);
        let has_old = self.bug == Some(Bug::OldFilter);
        let is_done = |todo: &Todo| if has_old { todo.was_done } else { todo.fields["done"] == true };
        let has_gap = self.bug == Some(Bug::PageLacks) && limit.is_some() && todos.len() > 2;
        let newest = has_gap.then_some(state.ids);
        let all = todos
            .iter()
            .filter(|(id, todo)| newest != Some(**id) && done.is_none_or(|done| is_done(todo) == done));
        let page = all.skip(offset.unwrap_or(0)).take(limit.unwrap_or(usize::MAX));
        let page = page.map(|(id, todo)| shown(*id, todo)).collect();
        Response { status: 200, fields: Vec::new(), body: Some(page) }
    }

    fn create(&self, body: &Value) -> Response {
        let Some(fields) = whole(body) else { return status(422) };
        let mut state = self.lock();
        let mut id = state.ids + 1;
        match self.bug {
            Some(Bug::Crash) if !fields["title"].to_string().is_ascii() => return status(500),
            Some(Bug::IdReuse) => id = state.todos.len() as u64 + 1,
            Some(Bug::IdRace) => state = self.pause(state),
            Some(Bug::LostCreate) => {
                let todos = state.todos.clone();
                state = self.pause(state);
                id = state.ids + 1;
                state.todos = todos;
            }
            _ => {}
        }
        state.ids = state.ids.max(id);
        state.versions += 1;
        let was_done = fields["done"] == true;
        let todo = Todo { fields, version: state.versions, was_done };
        state.todos.insert(id, todo.clone());
        let mut created = response(201, id, &todo);
        created.fields.push(("Location", format!("/todos/{id}")));
        created
    }

    /// Lets others work for a moment.
    fn pause<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        drop(state);
        thread::sleep(GAP);
        self.lock()
    }

    fn write(&self, method: &str, id: u64, body: &Value, if_match: Option<String>) -> Response {
        let mut state = self.lock();
        let Some(mut old) = state.todos.get(&id).cloned() else { return status(404) };
        let is_met = if_match.as_ref().is_none_or(|wanted| *wanted == tag(&old));
        if !is_met && self.bug != Some(Bug::IfMatchIgnored) {
            return status(412);
        }
        let is_apart = match self.bug {
            Some(Bug::IfMatchRace) => true,
            Some(Bug::LostUpdate) => method == "PATCH",
            Some(Bug::DeleteRace) => method != "DELETE",
            _ => false,
        };
        if is_apart {
            state = self.pause(state);
            match state.todos.get(&id).cloned() {
                None if self.bug != Some(Bug::DeleteRace) => return status(404),
                Some(now) if self.bug != Some(Bug::LostUpdate) => {
                    // Who changed it meanwhile is not overwritten, except by a race of If-Match.
                    if self.bug != Some(Bug::IfMatchRace) && if_match.is_some() && now.version != old.version
                    {
                        return status(412);
                    }
                    old = now;
                }
                _ => {}
            }
        }
        let fields = match method {
            "DELETE" => {
                if self.bug != Some(Bug::DeletedStays) {
                    state.todos.remove(&id);
                }
                return status(204);
            }
            "PUT" => whole(body),
            _ => body.as_object().and_then(|changes| {
                let mut merged = old.fields.clone();
                merged.extend(changes.clone());
                whole(&merged.into())
            }),
        };
        let Some(fields) = fields else { return status(422) };
        if self.bug == Some(Bug::Crash) && !fields["title"].to_string().is_ascii() {
            return status(500);
        }
        state.versions += 1;
        let todo = Todo { fields, version: state.versions, was_done: old.was_done };
        state.todos.insert(id, todo.clone());
        let mut written = response(200, id, &todo);
        if self.bug == Some(Bug::WrongType)
            && method == "PATCH"
            && let Some(shown) = &mut written.body
        {
            shown["done"] = shown["done"].to_string().into();
        }
        written
    }
}
