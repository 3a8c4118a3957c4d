//! Fuzz test of the readers of traces and histories with broken files.
//!
//! The test is bounded and seeded, so that a failure repeats; it is not guided by coverage, so it does not
//! replace hours of a real fuzzer. For any bytes, a reader returns, its error is one short line, and every
//! file it accepts survives being written and read again. `CONFUTE_FUZZ` sets the number of files.

use std::fmt::Display;

use confute::history::{self, Edn};
use confute::trace::{self, Event, Header, Trace, WireConn};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message {
    Get(String),
    Put { key: String, value: Option<i64> },
    Many(Vec<Message>),
    Done,
}

#[test]
fn broken_files() {
    let files = std::env::var("CONFUTE_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000u64);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut traces, mut histories) = (0u64, 0u64);
    for _ in 0..files {
        let mut file = seed(&mut random);
        // Some files stay unchanged, to check that the seeds are accepted at all.
        for _ in 0..random.below(5) {
            mutate(&mut file, &mut random);
            file.truncate(1 << 16);
        }
        traces += u64::from(feed_trace(&file));
        histories += u64::from(feed_history(&file));
        feed_edn(&file);
    }
    println!("{files} files: {traces} accepted as traces, {histories} as histories");
    assert!(traces > files / 20 && histories > files / 20, "the seeds are rejected: nothing deep was tested");
    assert!(traces + histories < files * 9 / 10, "almost all is accepted: nothing broken was tested");
}

fn feed_trace(file: &[u8]) -> bool {
    if let Err(error) = trace::read::<serde_json::Value>(file, trace::ReadLimits::default()) {
        one_line(&error, file);
    }
    let limits = trace::ReadLimits { line: 2000, events: 30 };
    match trace::read::<Message>(file, limits) {
        Ok(trace) => {
            let mut again = Vec::new();
            trace.write(&mut again).expect("a vector takes all");
            let read = trace::read::<Message>(&again[..], trace::ReadLimits::default());
            assert_eq!(read.expect("what was written reads back"), trace);
            assert_eq!(history::sniff(&again), Some(history::Format::Trace));
            true
        }
        Err(error) => {
            one_line(&error, file);
            false
        }
    }
}

fn feed_history(file: &[u8]) -> bool {
    let found = history::sniff(file);
    match history::read(file, trace::ReadLimits { line: 2000, events: 30 }) {
        Ok(history) => {
            assert_eq!(found, Some(history.format), "{}", file.escape_ascii());
            for operation in &history.operations {
                let begin = &history.entries[operation.invoke];
                assert_eq!(begin.phase, history::Phase::Invoke);
                if let Some(end) = operation.end {
                    assert!(end > operation.invoke && history.entries[end].process == begin.process);
                }
            }
            let ends = history.operations.iter().filter(|operation| operation.end.is_some()).count();
            assert_eq!(history.operations.len() + ends, history.entries.len());
            true
        }
        Err(error) => {
            one_line(&error, file);
            false
        }
    }
}

fn feed_edn(file: &[u8]) {
    // The last line, because mutations of the end of the file affect it, and the whole file.
    let last = file.rsplit(|&byte| byte == b'\n').find(|line| !line.is_empty()).unwrap_or(file);
    for text in [last, file].into_iter().filter_map(|bytes| std::str::from_utf8(bytes).ok()) {
        match Edn::parse(text) {
            Ok(value) => assert_eq!(Edn::parse(&value.to_string()), Ok(value), "{text}"),
            Err(error) => {
                one_line(&error, file);
                assert!(error.at <= text.len());
            }
        }
    }
}

fn one_line(error: &impl Display, file: &[u8]) {
    let message = error.to_string();
    let fine = !message.is_empty() && message.len() < 1500 && !message.chars().any(char::is_control);
    assert!(fine, "{message:?} for {}", file.escape_ascii());
}

/// Returns a valid file of a random format.
fn seed(random: &mut Random) -> Vec<u8> {
    const HISTORIES: [&str; 3] = [
        "; by hand\n{:process 1, :type :invoke, :f :cas, :key \"a\\u00e9\", :value [1 {:b #{2 3}}]}\n\
         {:process :nemesis, :type :info, :f :kill}\n\
         {:process 1, :type :fail, :f :cas, :key \"a\\u00e9\", :value (nil true -1.5M #inst \"x\" \\space)}\n",
        "INFO  jepsen.core - Running\nINFO  jepsen.util - 0\t:invoke\t:read\tnil\n\
         INFO  jepsen.util - :nemesis\t:info\t:start\tnil\nINFO  jepsen.util - 0\t:info\t:read\t:timed-out\n\
         INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - 0\t:ok\t:cas\t[1 2]",
        "#jepsen.history.Op{:index 0, :process 0, :type :invoke, :f :txn, :value [[:r 1 nil]], :time 5N}\n",
    ];
    match random.below(8) {
        5 => history_seed(random, json),
        6 => vector(&history_seed(random, |process, phase, f, value| {
            format!("#jepsen.history.Op{{:process {process}, :type :{phase}\n :f :{f}, :value {value}}}\n")
        })),
        7 => {
            let mut lines =
                history_seed(random, |process, phase, f, value| json(process, phase, f, value) + ",");
            lines.pop();
            vector(&lines)
        }
        0 | 1 => trace_seed(random),
        2 => history_seed(random, |process, phase, f, value| {
            format!(
                "{{:process {process}, :type :{phase}, :f :{f}, :key \"k{}\", :value {value}}}\n",
                process % 3
            )
        }),
        3 => history_seed(random, |process, phase, f, value| {
            format!("INFO  jepsen.util - {process}\t:{phase}\t:{f}\t{value}\n")
        }),
        _ => HISTORIES[random.below(HISTORIES.len())].into(),
    }
}

/// Returns an entry as a JSON object; values that JSON does not have become strings.
fn json(process: usize, phase: &str, f: &str, value: &str) -> String {
    let value = match value {
        "nil" => "null".to_owned(),
        "4" => "4".to_owned(),
        "[1 2]" => "[1, 2]".to_owned(),
        other => serde_json::to_string(other).expect("a text"),
    };
    format!("{{\"process\": {process}, \"type\": \"{phase}\", \"f\": \"{f}\", \"value\": {value}}}\n")
}

fn vector(elements: &[u8]) -> Vec<u8> {
    [b"[", elements, b"]\n"].concat()
}

fn trace_seed(random: &mut Random) -> Vec<u8> {
    let mut header = Header::new("kv", "tcp");
    header.seed = random.chance(2).then(|| random.next());
    header.note = random.chance(4).then(|| "é\n".to_owned());
    let events = (0..random.below(6) as u32)
        .map(|conn| match random.below(8) {
            0 => Event::Opened(WireConn(conn)),
            1 => Event::Accepted(WireConn(conn)),
            2 => Event::Closed(WireConn(conn)),
            3 => Event::HungUp(WireConn(conn)),
            4 => Event::Quiescent,
            5 => Event::Received(WireConn(0), message(random, 3)),
            _ => Event::Sent(WireConn(conn), message(random, 3)),
        })
        .collect::<Vec<_>>();
    let mut file = Vec::new();
    // A first event that ends connection 0 may be followed by more on it: those seeds are rejected, on
    // purpose.
    Trace { header, events }.write(&mut file).expect("a vector takes all");
    file
}

fn message(random: &mut Random, depth: usize) -> Message {
    match random.below(if depth == 0 { 3 } else { 4 }) {
        0 => Message::Get("a\"b".to_owned()),
        1 => {
            Message::Put { key: "k".to_owned(), value: random.chance(2).then(|| random.next().cast_signed()) }
        }
        2 => Message::Done,
        _ => Message::Many((0..random.below(3)).map(|_| message(random, depth - 1)).collect()),
    }
}

fn history_seed(random: &mut Random, line: impl Fn(usize, &str, &str, &str) -> String) -> Vec<u8> {
    let mut file = String::new();
    let mut open: [Option<&str>; 4] = [None; 4];
    for _ in 0..=random.below(10) {
        let process = random.below(open.len());
        let value = random.pick(&["nil", "4", "[1 2]", ":timed-out", "\"x 9 0 y\"", "{:a #{1}}"]);
        if let Some(f) = open[process].take() {
            file += &line(process, random.pick(&["ok", "fail", "info"]), f, value);
        } else {
            let f = random.pick(&["read", "write", "cas"]);
            open[process] = Some(f);
            file += &line(process, "invoke", f, value);
        }
    }
    file.into_bytes()
}

fn mutate(file: &mut Vec<u8>, random: &mut Random) {
    const TOKENS: [&[u8]; 38] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b"(",
        b")",
        b"\"",
        b"\\",
        b"\\u",
        b"\\ud83d",
        b":",
        b",",
        b";",
        b"#",
        b"#_",
        b"#{",
        b"\n",
        b"\r\n",
        b"\t",
        b"\0",
        b"\xff",
        b"\xc3",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"nil",
        b"null",
        b"1e999",
        b"99999999999999999999999999",
        b"-",
        b"{\"confute\":\"trace\",\"version\":2}\n",
        b"\"version\":1,",
        b":process",
        b"\"process\": 1",
        b"\"type\": \"ok\"",
        b"\"quiescent\"\n",
        b"{\"hung_up\":0}\n",
        b"INFO  jepsen.util - ",
        b"\\n",
    ];
    let at = random.below(file.len() + 1);
    let to = at + random.below((file.len() - at).min(80) + 1);
    match random.below(9) {
        0 if !file.is_empty() => {
            let at = random.below(file.len());
            file[at] ^= 1 << random.below(8);
        }
        1 if !file.is_empty() => {
            let at = random.below(file.len());
            file[at] = random.next() as u8;
        }
        2 => file.truncate(at),
        3 => drop(file.drain(at..to)),
        4 => {
            let copy = file[at..to].to_vec();
            drop(file.splice(at..at, copy));
        }
        5 => {
            let other = seed(random);
            let from = random.below(other.len() + 1);
            file.truncate(at);
            file.extend(&other[from..]);
        }
        6 => {
            let depth = if random.chance(100) { 10_000 } else { 1 + random.below(150) };
            let token = random.pick(&[&b"["[..], b"{\"many\":[", b"#_", b"{[", b"#t ", b"#{", b"("]);
            drop(file.splice(at..at, token.repeat(depth)));
        }
        7 => {
            let digits = vec![b'0' + random.below(10) as u8; 1 + random.below(400)];
            drop(file.splice(at..at, digits));
        }
        _ => {
            let token = random.pick(&TOKENS);
            drop(file.splice(at..at, token.iter().copied()));
        }
    }
}

/// Xorshift generator: weak, but the same on every platform and in every version.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
