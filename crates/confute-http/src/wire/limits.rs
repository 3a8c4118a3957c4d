//! How much of a hostile server a reader puts up with.
//!
//! Legal messages of any size exist; one that exceeds a limit is reported as too long, never as wrong.

/// How much a reader puts up with in one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of the head, with what comes before it.
    pub head: usize,
    /// The most field lines of the head, and as many of the trailers.
    pub fields: usize,
    /// The most bytes after the head, with the frames of chunks and the trailers.
    pub body: usize,
    /// The most chunks, with the last.
    pub chunks: usize,
    /// The most anomalies that are listed.
    pub anomalies: usize,
    /// The most bytes that are kept of what cannot be read.
    pub unread: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            head: 64 << 10,
            // As many as fit into the head: the bytes are limit enough.
            fields: 16 << 10,
            body: 16 << 20,
            chunks: 1 << 17,
            anomalies: 1000,
            unread: 64 << 10,
        }
    }
}
