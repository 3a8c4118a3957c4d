//! A message that means one thing only.
//!
//! What a recipient may tolerate is tolerated here (and still among the [anomalies](Raw::anomalies)); everything else
//! makes the message [`Invalid`], because recipients could understand it differently.

use std::borrow::Cow;

use super::anomaly::Anomaly;
use super::fields::Fields;
use super::message::{Ending, Raw, RawRequest, RawResponse};
use super::start::{Start, Version};

/// A whole response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// Its version, 1 point something.
    pub version: Version,
    /// Its status code, which may be outside 100 to 599: those count as 5xx (RFC 9110, section 15).
    pub status: u16,
    /// Its reason phrase.
    pub reason: &'a [u8],
    /// Its header fields.
    pub fields: Fields<'a>,
    /// Its content.
    pub content: Cow<'a, [u8]>,
    /// Its trailer fields.
    pub trailers: Fields<'a>,
}

/// A whole request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Its version, 1 point something.
    pub version: Version,
    /// Its method.
    pub method: &'a [u8],
    /// Its target.
    pub target: &'a [u8],
    /// Its header fields.
    pub fields: Fields<'a>,
    /// Its content.
    pub content: Cow<'a, [u8]>,
    /// Its trailer fields.
    pub trailers: Fields<'a>,
}

/// Why a message does not mean one thing only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// It did not end as it should.
    #[error("the message is incomplete ({0:?}); look at its bytes")]
    Incomplete(Ending),
    /// Recipients may differ about it.
    #[error("the message is ambiguous: {0}")]
    Ambiguous(Anomaly),
    /// Not HTTP/1.x.
    #[error("the version is not HTTP/1.x")]
    Version,
    /// Not three digits.
    #[error("the status code has not three digits")]
    Status,
}

impl RawResponse {
    /// The response, if it is whole and means one thing only.
    pub fn validate(&self) -> Result<Response<'_>, Invalid> {
        let version = self.check()?;
        let status = self.status().ok_or(Invalid::Status)?;
        let reason = self.reason().unwrap_or_default();
        let (fields, content, trailers) = (self.fields(), self.content(), self.trailers());
        Ok(Response { version, status, reason, fields, content, trailers })
    }
}

impl RawRequest {
    /// The request, if it is whole and means one thing only.
    pub fn validate(&self) -> Result<Request<'_>, Invalid> {
        let version = self.check()?;
        let (method, target) = (self.method().unwrap_or_default(), self.target().unwrap_or_default());
        let (fields, content, trailers) = (self.fields(), self.content(), self.trailers());
        Ok(Request { version, method, target, fields, content, trailers })
    }
}

impl<S: Start> Raw<S> {
    fn check(&self) -> Result<Version, Invalid> {
        if !self.is_complete() {
            return Err(Invalid::Incomplete(self.ending()));
        }
        let intolerable = |anomaly: &&Anomaly| !anomaly.kind.is_tolerable(S::IS_REQUEST);
        if let Some(anomaly) = self.anomalies().iter().find(intolerable) {
            return Err(Invalid::Ambiguous(*anomaly));
        }
        let version = self.version();
        version.filter(|version| version.major == 1).ok_or(Invalid::Version)
    }
}
