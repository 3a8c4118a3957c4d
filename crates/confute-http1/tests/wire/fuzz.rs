//! Mutated messages: the reader does not panic, no byte is lost, and the division of the bytes has no effect.
//!
//! `CONFUTE_FUZZ=1000000 cargo test -p confute-http fuzz` runs more iterations; the seed of a failure is in its
//! message.

use crate::common::{Random, check};
use crate::differential::compare;

/// Messages that are mutated.
pub(crate) const SEEDS: [&str; 12] = [
    "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nETag: W/\"a\"\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 \r\nTransfer-Encoding: gzip, chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0\r\nT: 1\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.0 200 OK\r\nServer: x\r\n\r\nuntil the end",
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\nConnection: keep-alive, close\r\n\r\nhi",
    "HTTP/1.1 200 OK\nA: b\n c\nContent-Length: 1\n\nx",
    "\r\nHTTP/1.1 200\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    "GET /a HTTP/1.1\r\nHost: example.org\r\nIf-None-Match: \"a\", W/\"b\"\r\n\r\n",
    "PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n",
    "HTTP/1.1 416 Range\r\nContent-Range: bytes */9\r\nX :\t y \r\n: z\r\nno colon\r\nContent-Length: 0\r\n\r\n",
];

const TOKENS: [&str; 22] = [
    "\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    ":",
    ",",
    ";",
    "\"",
    "\\",
    "\0",
    "\u{ff}",
    "0",
    "9",
    "f",
    "HTTP/1.1 ",
    "chunked",
    "Content-Length: 1\r\n",
    "Transfer-Encoding: ",
    "\r\n\r\n",
    "99999999999999999999",
    "close",
];

/// Returns one of the seeds with some bytes changed, inserted, removed, duplicated or moved.
pub(crate) fn mutant(random: &mut Random) -> Vec<u8> {
    let mut bytes = SEEDS[random.below(SEEDS.len())].as_bytes().to_vec();
    for _ in 0..random.below(6) {
        let (from, at) = (random.below(bytes.len() + 1), random.below(bytes.len() + 1));
        let (from, to) = (from.min(at), from.max(at));
        match random.below(7) {
            0 if at < bytes.len() => bytes[at] = random.next() as u8,
            1 => drop(bytes.splice(at..at, TOKENS[random.below(TOKENS.len())].bytes())),
            2 => drop(bytes.drain(from..to.min(from + 4))),
            3 => bytes.truncate(at.max(bytes.len() / 2)),
            4 => {
                let part = bytes[from..to.min(from + 30)].to_vec();
                drop(bytes.splice(at..at, part));
            }
            5 => bytes.extend_from_slice(SEEDS[random.below(SEEDS.len())].as_bytes()),
            _ if at < bytes.len() => drop(bytes.remove(at)),
            _ => {}
        }
    }
    bytes
}

#[test]
fn fuzz() {
    let count = std::env::var("CONFUTE_FUZZ")
        .map_or(20_000, |count| count.parse().expect("CONFUTE_FUZZ is a number"));
    let (mut accepted, mut clean) = (0, 0);
    for seed in 1..=count {
        let bytes = mutant(&mut Random(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15)));
        check(&bytes, seed);
        let (by_httparse, by_us) = compare(&bytes, seed);
        accepted += u64::from(by_httparse);
        clean += u64::from(by_us);
    }
    println!("{count} inputs: httparse accepted {accepted} response heads, {clean} were without anomaly");
    assert!(accepted > count / 10 && clean > count / 20, "mutations are too wild: {accepted}, {clean}");
}
