//! The parts of messages that only the gateway model judges: the fields as they arrived, and the actions of the tester
//! as origin.
//!
//! Messages between a client and an origin server do not have these parts, so they cost nothing there.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::message::{Flaw, is_default};

/// Name of the field that identifies a message.
pub const MARK: &str = "X-Confute";

/// A field: its name and its value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field(pub Arc<str>, pub Arc<str>);

impl Field {
    /// Creates a field.
    pub fn new(name: &str, value: &str) -> Self {
        Field(name.into(), value.into())
    }
}

/// The fields of a message, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fields(pub Vec<Field>);

impl Fields {
    /// Returns the values of the fields of this name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |field| field.0.eq_ignore_ascii_case(name)).map(|field| &*field.1)
    }

    /// Returns `true` if there is a field of this name.
    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// Returns the members of the lists in the fields of this name, without empty members (RFC 9110, 5.6.1).
    pub fn list(&self, name: &str) -> Vec<String> {
        let text = |each: &[u8]| String::from_utf8_lossy(each).trim().to_owned();
        self.all(name)
            .flat_map(|value| confute_http1::split_list(value.as_bytes()).map(text).collect::<Vec<_>>())
            .filter(|each| !each.is_empty())
            .collect()
    }

    /// Returns the options in `Connection`, in lower case.
    pub fn connection(&self) -> Vec<String> {
        self.list("Connection").iter().map(|each| each.to_ascii_lowercase()).collect()
    }

    /// Returns the [mark](MARK) of the message.
    pub fn mark(&self) -> Option<&str> {
        self.all(MARK).next()
    }
}

/// The part of a message that only the gateway model judges. A message that no gateway forwards has none, and
/// dereferences to an empty part.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Forwarded<T>(Option<Arc<T>>);

impl<T> Default for Forwarded<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Forwarded<T> {
    /// Returns `true` if a gateway forwards the message.
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }
}

impl<T> From<T> for Forwarded<T> {
    fn from(part: T) -> Self {
        Self(Some(Arc::new(part)))
    }
}

/// A part with an empty value.
pub trait Part: Clone + 'static {
    /// The empty part.
    const EMPTY: &'static Self;
}

impl<T: Part> Deref for Forwarded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Part> DerefMut for Forwarded<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(self.0.get_or_insert_with(|| Arc::new(T::EMPTY.clone())))
    }
}

/// The part of a request that only the gateway model judges.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ForwardedRequest {
    /// Minor version of HTTP/1.x.
    #[serde(default)]
    pub minor: u8,
    /// Fields other than those that delimit the content. In stored form they are present exactly if a gateway forwards
    /// the request.
    pub fields: Fields,
    /// Trailer fields.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trailers: Fields,
    /// Defects of the request on the wire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<Flaw>,
    /// `true` if the request arrived at the origin on a connection that the origin had ended. It gets no response.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dropped: bool,
}

impl Part for ForwardedRequest {
    const EMPTY: &'static Self = &ForwardedRequest {
        minor: 1,
        fields: Fields(Vec::new()),
        trailers: Fields(Vec::new()),
        flaws: Vec::new(),
        dropped: false,
    };
}

/// Framing of the content of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Frame {
    /// `Content-Length`
    #[default]
    Sized,
    /// Chunked coding.
    Chunked,
    /// The end of the connection.
    UntilClose,
    /// There is no content: the response answers HEAD, or is 204 or 304.
    Bare,
}

/// The part of a response that only the gateway model judges.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ForwardedResponse {
    /// Fields other than those that delimit the content. In stored form they are present exactly if the response came
    /// through a gateway.
    pub fields: Fields,
    /// Framing of the content.
    #[serde(default)]
    pub frame: Frame,
    /// Trailer fields.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trailers: Fields,
    /// `true` if the origin sends trailer fields although the request did not ask for them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unasked: bool,
    /// Number of bytes after which the origin ends the connection, before the end of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<usize>,
    /// `true` if the gateway had ended its side of the connection before the origin answered: it may or may not read
    /// the response.
    #[serde(default, skip_serializing_if = "is_default")]
    pub half_closed: bool,
    /// `true` if the response ended within its head: missing fields may have been about to follow.
    #[serde(default, skip_serializing_if = "is_default")]
    pub in_head: bool,
    /// Time when the first byte of its request was sent, if a client received the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<i64>,
    /// Time when the origin last ended a connection of the gateway, even an idle one, before this response, if this is
    /// an error of the gateway itself. In microseconds since the case began, negative before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_ended_at: Option<i64>,
    /// `true` if this is an error of the gateway itself, after the origin had answered the request in full with interim
    /// responses or trailer fields: the cause of the failure is known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub provoked: bool,
}

impl Part for ForwardedResponse {
    const EMPTY: &'static Self = &ForwardedResponse {
        fields: Fields(Vec::new()),
        frame: Frame::Sized,
        trailers: Fields(Vec::new()),
        unasked: false,
        cut: None,
        half_closed: false,
        in_head: false,
        asked_at: None,
        origin_ended_at: None,
        provoked: false,
    };
}
