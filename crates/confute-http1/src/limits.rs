//! Resource limits of a reader, against hostile peers.
//!
//! A legal message can have any size; one that exceeds a limit is reported as too long, never as malformed.

/// Limits of a [`MessageReader`](super::MessageReader), for each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderLimits {
    /// Maximum number of bytes of the head, including anything before the start line.
    pub head: usize,
    /// Maximum number of field lines of the head, and separately of the trailers.
    pub fields: usize,
    /// Maximum number of bytes after the head, including chunk framing and trailers.
    pub body: usize,
    /// Maximum number of chunks, including the last one.
    pub chunks: usize,
    /// Maximum number of anomalies that are listed.
    pub anomalies: usize,
    /// Maximum number of bytes that are kept after the last message that could be read.
    pub unread: usize,
}

impl Default for ReaderLimits {
    fn default() -> Self {
        ReaderLimits {
            head: 64 << 10,
            // As many field lines as fit into the head (`a:` CRLF): the number of bytes is the effective limit.
            fields: 16 << 10,
            body: 16 << 20,
            chunks: 1 << 17,
            anomalies: 1000,
            unread: 64 << 10,
        }
    }
}
