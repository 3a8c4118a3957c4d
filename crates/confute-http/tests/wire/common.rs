//! What every test of reading shares: all messages in some bytes, and what must hold for them whatever the bytes.

use confute_http::wire::{
    Kind, Limits, Raw, RawRequest, RawResponse, Read, Reader, RequestReader, ResponseReader, Start,
};

/// Everything a reader made of some bytes.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome<S> {
    pub(crate) messages: Vec<Raw<S>>,
    pub(crate) unread: Vec<u8>,
    pub(crate) dropped: u64,
}

/// Small enough to be exceeded by small inputs.
pub(crate) const TIGHT: Limits =
    Limits { head: 120, fields: 4, body: 60, chunks: 4, anomalies: 6, unread: 30 };

/// A reader that expects these requests, in words.
pub(crate) fn responses(methods: &str, limits: Limits) -> ResponseReader {
    let mut reader = ResponseReader::new(limits);
    methods.split_whitespace().for_each(|method| reader.expect(method.as_bytes()));
    reader
}

/// What a reader makes of these bytes in these cuts, and of the end of the connection.
pub(crate) fn outcome<'a, S: Start>(
    mut reader: Reader<S>,
    cuts: impl IntoIterator<Item = &'a [u8]>,
) -> Outcome<S> {
    let mut messages = Vec::new();
    let mut drain = |reader: &mut Reader<S>| {
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

/// The one response to one request in these bytes.
pub(crate) fn response(method: &str, bytes: &[u8]) -> RawResponse {
    let mut outcome = outcome(responses(method, Limits::default()), [bytes]);
    assert_eq!((outcome.messages.len(), &outcome.unread[..]), (1, &b""[..]));
    outcome.messages.remove(0)
}

/// The kinds of its anomalies.
pub(crate) fn kinds<S>(raw: &Raw<S>) -> Vec<Kind> {
    raw.anomalies().iter().map(|anomaly| anomaly.kind).collect()
}

/// Checks that nothing is lost and that cuts do not matter; `seed` chooses some cuts.
pub(crate) fn check(bytes: &[u8], seed: u64) {
    for limits in [Limits::default(), TIGHT] {
        let all: Outcome<_> = check_one(|| responses("GET HEAD GET", limits), bytes, seed);
        all.messages.iter().for_each(look_at_response);
        let all: Outcome<_> = check_one(|| RequestReader::new(limits), bytes, seed);
        all.messages.iter().for_each(look_at_request);
    }
}

fn check_one<S>(reader: impl Fn() -> Reader<S>, bytes: &[u8], seed: u64) -> Outcome<S>
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
    // Whatever is valid is whole; whatever is odd says so in words.
    assert!(raw.validate().is_err() || raw.is_complete());
    assert!(raw.anomalies().iter().all(|anomaly| anomaly.to_string().starts_with("byte ")));
    assert!(raw.is_complete() || raw.is_blank() || !raw.anomalies().is_empty());
}

fn look_at_request(raw: &RawRequest) {
    assert!(raw.validate().is_err() || raw.is_complete());
    assert!(raw.is_complete() || raw.is_blank() || !raw.anomalies().is_empty());
}

/// Repeatable choices (xorshift).
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
