//! Secrets: values that must not appear in anything that is written, such as those of -H.
//!
//! Requests are recorded without them (`Protocol::conceal`). But a server may repeat what it received, so
//! everything that was recorded of its responses is searched before it is shown.

use std::collections::BTreeSet;

use confute::Refutation;
use confute::trace::{Event, WireConn};
use confute_drive::{AnyMessage, ByteRecord, Counterexample, Finding};
use serde_json::Value;

const INSTEAD: &str = "[secret]";
/// Minimum length of a secret: shorter values would be found by chance everywhere, and protect nothing.
const SHORTEST: usize = 6;

/// Texts to remove.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// Takes these values as secrets, and the longer words of each: of `Bearer xyz` the token is the secret.
    /// Each is also removed in the form that it has between quotes.
    pub fn new<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let words = values.flat_map(|value| std::iter::once(value).chain(value.split_whitespace()));
        let words = words.filter(|word| word.len() >= SHORTEST && *word != "Bearer");
        let quoted = |word: &str| format!("{word:?}").trim_matches('"').to_owned();
        let mut secrets: Vec<String> = words.flat_map(|word| [word.to_owned(), quoted(word)]).collect();
        // The whole value comes before its parts.
        secrets.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        secrets.dedup();
        Self(secrets)
    }

    /// Returns the text without secrets.
    pub fn clean(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, INSTEAD))
    }

    /// Returns the text without secrets, where long values are cut: where a secret is cut, its beginning is
    /// removed too.
    fn clean_cut(&self, text: &str) -> String {
        let mut text = self.clean(text);
        for secret in &self.0 {
            for (end, _) in secret.char_indices().skip(SHORTEST).collect::<Vec<_>>().into_iter().rev() {
                for mark in ["…", "\"…"] {
                    text = text.replace(&format!("{}{mark}", &secret[..end]), &format!("{INSTEAD}{mark}"));
                }
            }
        }
        text
    }

    fn clean_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.clean(text),
            Value::Array(list) => list.iter_mut().for_each(|one| self.clean_value(one)),
            Value::Object(map) => map.values_mut().for_each(|one| self.clean_value(one)),
            _ => {}
        }
    }

    /// Removes the secrets from everything that a finding would show.
    pub fn clean_finding(&self, finding: &mut Finding) {
        if self.0.is_empty() {
            return;
        }
        self.clean_case(&mut finding.counterexample);
        let sentences = finding.proof.iter_mut().flat_map(|proof| &mut proof.sentences);
        sentences.for_each(|sentence| *sentence = self.clean(sentence));
        if let Some(Ok(shrunk)) = &mut finding.shrunk {
            self.clean_case(&mut shrunk.counterexample);
        }
        if let Some(part) = &mut finding.excerpt {
            self.clean_case(part);
        }
        for one in finding.experiment.iter_mut().flat_map(|experiment| &mut experiment.set_aside) {
            one.exchange = self.clean_cut(&one.exchange);
            let mut times = vec![0; one.trace.len()];
            self.clean_all(&mut one.trace, &mut times);
        }
    }

    fn clean_case(&self, case: &mut Counterexample) {
        self.clean_all(&mut case.trace, &mut case.micros);
        self.clean_refutation(&mut case.refutation, &case.trace);
        self.clean_bytes(&mut case.raw);
    }

    /// Removes the secrets from all events. An event that cannot be cleaned is left out, with its time.
    fn clean_all(&self, trace: &mut Vec<Event<AnyMessage>>, times: &mut Vec<u64>) {
        let cleaned = trace.iter().zip(times.iter()).filter_map(|(event, time)| {
            let event = event.as_ref().try_map(|message| self.cleaned(message).ok_or(()));
            Some((event.ok()?, *time))
        });
        (*trace, *times) = cleaned.collect();
    }

    fn cleaned(&self, message: &AnyMessage) -> Option<AnyMessage> {
        let mut value = serde_json::to_value(message).ok()?;
        self.clean_value(&mut value);
        message.like(value).ok()
    }

    /// Removes the secrets from a refutation. The event seen is formatted anew, from the cleaned trace; the
    /// expected messages exist only as text.
    fn clean_refutation(&self, refutation: &mut Refutation, trace: &[Event<AnyMessage>]) {
        refutation.seen = match trace.get(refutation.event) {
            Some(Event::Received(conn, message)) => format!("{message} on connection {}", conn.0),
            _ => self.clean_cut(&refutation.seen),
        };
        for message in refutation.expected.iter_mut().filter_map(|one| one.message.as_mut()) {
            *message = self.clean_cut(message);
        }
    }

    /// Removes the received bytes of each connection that contain a secret. A secret that arrived in two
    /// pieces is in neither of them, so the bytes of a connection are searched as a whole.
    fn clean_bytes(&self, chunks: &mut Vec<ByteRecord>) {
        let conns: BTreeSet<WireConn> = chunks.iter().map(|chunk| chunk.conn).collect();
        for conn in conns {
            let came = |chunk: &&ByteRecord| chunk.conn == conn && !chunk.sent;
            let all: Vec<u8> = chunks.iter().filter(came).flat_map(|chunk| chunk.bytes.clone()).collect();
            let has = |secret: &String| all.windows(secret.len()).any(|part| part == secret.as_bytes());
            if self.0.iter().any(has) {
                chunks.retain(|chunk| !came(&chunk));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_values_are_secrets_too() {
        let secrets = Secrets::new(["Bearer hunter22", "1"].into_iter());
        assert_eq!(secrets.clean("a Bearer hunter22 1 hunter22."), "a [secret] 1 [secret].");
        let mut value = serde_json::json!({ "a": ["x hunter22"], "b": 1 });
        secrets.clean_value(&mut value);
        assert_eq!(value, serde_json::json!({ "a": ["x [secret]"], "b": 1 }));
    }

    #[test]
    fn what_is_escaped_or_cut_short_is_one_too() {
        let secret = "t0k3n-\"it's\"-and-longer-than-what-is-shown";
        let secrets = Secrets::new([secret].into_iter());
        let shown: String = secret.chars().take(24).collect();
        for told in [format!("200 {secret:?}"), format!("200 {shown:?}…"), format!("200 \"{shown}…")] {
            let cleaned = secrets.clean_cut(&told);
            assert!(cleaned.starts_with("200 \"[secret]") && !cleaned.contains("t0k3n"), "{cleaned}");
        }
        // A beginning that is too short reveals nothing.
        assert_eq!(secrets.clean_cut("200 \"t0k3…"), "200 \"t0k3…");
    }

    #[test]
    fn pieces_of_a_connection_belong_together() {
        let secrets = Secrets::new(["hunter22"].into_iter());
        let chunk = |conn, bytes: &str| ByteRecord {
            conn: WireConn(conn),
            sent: false,
            micros: 0,
            bytes: bytes.into(),
        };
        let mut chunks = vec![chunk(0, "x hun"), chunk(1, "nothing"), chunk(0, "ter22 y")];
        secrets.clean_bytes(&mut chunks);
        assert_eq!(chunks, [chunk(1, "nothing")]);
    }
}
