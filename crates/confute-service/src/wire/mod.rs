//! Wires: how messages become bytes, and bytes messages.
//!
//! A wire is a value. The ones here are made of a framing, which says where a message ends, and a body, which says what is in
//! it: [`lines`], [`json_lines`], [`frames`]; or both at once: [`resp`], [`http_json`]. A wire of your own implements [`Wire`]: `encode` and `read`.

mod body;
mod framing;
mod http;
mod resp;

pub use body::{Body, Json, Words};
pub use framing::{Framed, Framing, Lines, Prefix};
pub use http::HttpJson;
pub use resp::{Resp, RespValue};

/// The encoding of a protocol.
///
/// ```
/// use confute_service::{Message, Name, Read, Wire};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)]
/// enum Beep {
///     #[request]
///     Beep,
///     #[response]
///     Boop,
///     #[unreadable]
///     Odd(String),
/// }
///
/// /// A byte each way.
/// #[derive(Clone)]
/// struct Bytes;
///
/// impl Wire<Beep> for Bytes {
///     fn encode(&self, _: &Beep, bytes: &mut Vec<u8>) {
///         bytes.push(7);
///     }
///     fn read(&self, bytes: &[u8], _: Option<&Beep>) -> Read<Beep> {
///         match bytes.first() {
///             None => Read::More,
///             Some(8) => Read::Message(Beep::Boop, 1),
///             Some(_) => Read::Nonsense("a response is the byte 8".to_owned(), 1),
///         }
///     }
/// }
/// ```
pub trait Wire<M>: Clone + Send + Sync + 'static {
    /// Appends the bytes of a request.
    fn encode(&self, message: &M, bytes: &mut Vec<u8>);

    /// Reads the first response in the bytes received so far. `request` is the oldest one that is not answered, which it
    /// answers unless the server sends it [unasked](crate::Role::Push).
    fn read(&self, bytes: &[u8], request: Option<&M>) -> Read<M>;

    /// Returns the reason why this wire cannot carry these messages, and the next step. It is reported before anything is sent.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// The result of reading.
#[derive(Debug, PartialEq, Eq)]
pub enum Read<M> {
    /// The bytes are the beginning of a message.
    More,
    /// A message, and the number of its bytes.
    Message(M, usize),
    /// This many bytes are no message, for this reason.
    Nonsense(String, usize),
}

/// Lines that end in a line feed, written by the templates of the messages.
///
/// ```
/// use confute_service::{Message, Wire, wire};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)]
/// enum Line {
///     #[request("ADD {}")]
///     Add(u32),
///     #[response("SUM {}")]
///     Sum(u32),
///     #[unreadable]
///     Odd(String),
/// }
///
/// let mut bytes = Vec::new();
/// wire::lines().encode(&Line::Add(3), &mut bytes);
/// assert_eq!(bytes, b"ADD 3\n");
/// ```
pub fn lines() -> Framed<Lines, Words> {
    Framed::new(Lines::Lf, Words)
}

/// Lines that end in a carriage return and a line feed, written by the templates of the messages.
///
/// ```
/// use confute_service::{Message, Read, Wire, wire};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)]
/// enum Line {
///     #[request("ADD {}")]
///     Add(u32),
///     #[response("SUM {}")]
///     Sum(u32),
///     #[unreadable]
///     Odd(String),
/// }
///
/// assert_eq!(wire::crlf_lines().read(b"SUM 7\r\nSUM", None), Read::Message(Line::Sum(7), 7));
/// ```
pub fn crlf_lines() -> Framed<Lines, Words> {
    Framed::new(Lines::CrLf, Words)
}

/// One JSON object in a line. This field of it holds the word that begins the template of a message; a response whose template
/// has none is told by its fields.
///
/// ```
/// use confute_service::{Message, Read, Wire, wire};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)]
/// enum Sums {
///     #[request("add")]
///     Add { number: u32 },
///     #[response("")]
///     Sum { sum: u32 },
///     #[unreadable]
///     Odd(String),
/// }
///
/// let mut bytes = Vec::new();
/// wire::json_lines("op").encode(&Sums::Add { number: 3 }, &mut bytes);
/// assert_eq!(String::from_utf8(bytes).unwrap(), "{\"number\":3,\"op\":\"add\"}\n");
/// assert_eq!(wire::json_lines("op").read(b"{\"sum\":7}\n", None), Read::Message(Sums::Sum { sum: 7 }, 10));
/// ```
pub fn json_lines(word: &'static str) -> Framed<Lines, Json> {
    Framed::new(Lines::Lf, Json { word })
}

/// Messages behind their length.
///
/// ```
/// use confute_service::wire::{Prefix, Words};
/// use confute_service::{Message, Wire, wire};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)]
/// enum Line {
///     #[request("ADD {}")]
///     Add(u32),
///     #[response("SUM {}")]
///     Sum(u32),
///     #[unreadable]
///     Odd(String),
/// }
///
/// let mut bytes = Vec::new();
/// wire::frames(Prefix::U16, Words).encode(&Line::Add(3), &mut bytes);
/// assert_eq!(bytes, b"\0\x05ADD 3");
/// ```
pub fn frames<B>(prefix: Prefix, body: B) -> Framed<Prefix, B> {
    Framed::new(prefix, body)
}

/// RESP, the protocol of Redis. A request is an array of the words of its template. The template of a response begins with the
/// type of the value: `+OK`, `-{}`, `:{}`, `${}`, and `_` for nil.
///
/// ```
/// use confute_service::{Message, Read, Wire, wire};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)]
/// enum Line {
///     #[request("INCRBY sum {}")]
///     Add(u32),
///     #[response(":{}")]
///     Sum(u32),
///     #[unreadable]
///     Odd(String),
/// }
///
/// let mut bytes = Vec::new();
/// wire::resp().encode(&Line::Add(3), &mut bytes);
/// assert_eq!(bytes, b"*3\r\n$6\r\nINCRBY\r\n$3\r\nsum\r\n$1\r\n3\r\n");
/// assert_eq!(wire::resp().read(b":7\r\n", None), Read::Message(Line::Sum(7), 4));
/// ```
pub fn resp() -> Resp {
    Resp
}

/// JSON over HTTP/1.1. The template of a request is a method and a path; fields that are not in the path are the fields of its JSON
/// content. The template of a response is its status; its fields are those of its content. Fields called `etag`, `location`,
/// `retry_after`, `if_match` and `if_none_match` are header fields.
///
/// ```
/// use confute_service::{Id, Message, Read, Wire, wire};
///
/// #[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
/// #[message(crate = confute_service)]
/// enum Todo {
///     #[request("POST /todos")]
///     Add { title: String },
///     #[request("GET /todos/{id}", reads)]
///     Show { id: Id },
///     #[response("201")]
///     Added { id: Id, title: String },
///     #[response("200")]
///     Shown { title: String },
///     #[response("404")]
///     Gone,
///     #[unreadable]
///     Odd(String),
/// }
///
/// let http = wire::http_json("localhost:8080");
/// assert_eq!(Wire::<Todo>::check(&http), Ok(()));
/// let mut bytes = Vec::new();
/// http.encode(&Todo::Add { title: "tea".to_owned() }, &mut bytes);
/// let sent = String::from_utf8(bytes).unwrap();
/// assert!(sent.starts_with("POST /todos HTTP/1.1\r\nHost: localhost:8080\r\n"), "{sent}");
/// assert!(sent.ends_with("{\"title\":\"tea\"}"), "{sent}");
///
/// let received = b"HTTP/1.1 201 Created\r\nContent-Length: 25\r\n\r\n{\"id\": 7, \"title\": \"tea\"}";
/// let added = Todo::Added { id: Id::known(&7), title: "tea".to_owned() };
/// assert_eq!(http.read(received, None), Read::Message(added, received.len()));
/// assert_eq!(Wire::<Todo>::read(&http, &received[..30], None), Read::More);
/// ```
pub fn http_json(host: &str) -> HttpJson {
    HttpJson::new(host)
}
