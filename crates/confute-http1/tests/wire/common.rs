//! Helpers of the reader tests: reading all messages in some bytes, and the invariants that hold for arbitrary bytes.

use confute_http1::{
    AnomalyKind, MessageReader, Raw, RawRequest, RawResponse, Read, ReaderLimits, RequestReader,
    ResponseReader, Start,
};

/// Result of reading some bytes to their end.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome<S> {
    pub(crate) messages: Vec<Raw<S>>,
    pub(crate) unread: Vec<u8>,
    pub(crate) dropped: u64,
}

/// Limits that small inputs exceed.
pub(crate) const TIGHT: ReaderLimits =
    ReaderLimits { head: 120, fields: 4, body: 60, chunks: 4, anomalies: 6, unread: 30 };

/// Returns a reader that expects responses to these methods, separated by spaces.
pub(crate) fn responses(methods: &str, limits: ReaderLimits) -> ResponseReader {
    let mut reader = ResponseReader::new(limits);
    methods.split_whitespace().for_each(|method| reader.expect(method.as_bytes()));
    reader
}

/// Feeds these parts to a reader, then the end of the connection, and returns the result.
pub(crate) fn outcome<'a, S: Start>(
    mut reader: MessageReader<S>,
    cuts: impl IntoIterator<Item = &'a [u8]>,
) -> Outcome<S> {
    let mut messages = Vec::new();
    let mut drain = |reader: &mut MessageReader<S>| {
        while let Read::Message(raw) = reader.read() {
            messages.push(*raw);
        }
    };
    for bytes in cuts {
        reader.feed(bytes);
        drain(&mut reader);
    }
    reader.eof();
    drain(&mut reader);
    assert!(matches!(reader.read(), Read::Over));
    Outcome { messages, unread: reader.unread().to_vec(), dropped: reader.dropped() }
}

/// Returns the only response in these bytes, to a request with this method.
pub(crate) fn response(method: &str, bytes: &[u8]) -> RawResponse {
    let mut outcome = outcome(responses(method, ReaderLimits::default()), [bytes]);
    assert_eq!((outcome.messages.len(), &outcome.unread[..]), (1, &b""[..]));
    outcome.messages.remove(0)
}

/// Returns the kinds of the anomalies of a message.
pub(crate) fn kinds<S>(raw: &Raw<S>) -> Vec<AnomalyKind> {
    raw.anomalies().iter().map(|anomaly| anomaly.kind).collect()
}

/// Checks that no byte is lost and that the division of the bytes has no effect; `seed` chooses some divisions.
pub(crate) fn check(bytes: &[u8], seed: u64) {
    for limits in [ReaderLimits::default(), TIGHT] {
        let all: Outcome<_> = check_one(|| responses("GET HEAD GET", limits), bytes, seed);
        all.messages.iter().for_each(look_at_response);
        let all: Outcome<_> = check_one(|| RequestReader::new(limits), bytes, seed);
        all.messages.iter().for_each(look_at_request);
    }
}

fn check_one<S>(reader: impl Fn() -> MessageReader<S>, bytes: &[u8], seed: u64) -> Outcome<S>
where
    S: Start + std::fmt::Debug + PartialEq,
{
    let whole = outcome(reader(), [bytes]);
    assert_eq!(whole, outcome(reader(), bytes.chunks(1)), "byte by byte: {}", bytes.escape_ascii());
    let mut random = Random(seed);
    let mut rest = bytes;
    let cuts = std::iter::from_fn(|| {
        let (cut, after) = rest.split_at_checked(1 + random.below(40)).unwrap_or((rest, &[]));
        rest = after;
        (!cut.is_empty()).then_some(cut)
    });
    assert_eq!(whole, outcome(reader(), cuts), "cut by {seed}: {}", bytes.escape_ascii());

    let mut read = Vec::new();
    for raw in &whole.messages {
        assert_eq!(raw.offset(), read.len() as u64);
        read.extend_from_slice(raw.bytes());
        let mut at = 0;
        for piece in raw.pieces() {
            assert!(piece.range.start == at && piece.range.end > at, "{piece:?}");
            at = piece.range.end;
        }
        assert_eq!(at, raw.bytes().len());
        assert!(raw.anomalies().is_sorted_by_key(|anomaly| anomaly.at));
        assert!(raw.anomalies().iter().all(|anomaly| anomaly.at <= at));
        assert!(raw.framing().is_some() || !raw.is_complete());
    }
    read.extend_from_slice(&whole.unread);
    assert_eq!(read, bytes[..bytes.len() - whole.dropped as usize]);
    whole
}

fn look_at_response(raw: &RawResponse) {
    // Every anomaly can be printed.
    assert!(raw.anomalies().iter().all(|anomaly| anomaly.to_string().starts_with("byte ")));
    assert!(raw.is_complete() || raw.is_blank() || !raw.anomalies().is_empty());
}

fn look_at_request(raw: &RawRequest) {
    assert!(raw.is_complete() || raw.is_blank() || !raw.anomalies().is_empty());
}

/// Reproducible pseudorandom numbers (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 |= 1;
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        (self.next() >> 11) as usize % most.max(1)
    }
}
