//! What must not appear in anything that is written: the values of -H.
//!
//! Requests are recorded without them (`Protocol::conceal`). But a server may repeat what it was told: so whatever was
//! recorded of its answers is searched before it is shown.

use confute::Refutation;
use confute_drive::{Chunk, Finding, Protocol};
use serde_json::Value;

const INSTEAD: &str = "[secret]";
/// Shorter ones would be found by chance everywhere, and protect nothing.
const SHORTEST: usize = 6;

/// Texts to take out.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// These values, and the longer words of each: of `Bearer xyz` the token is the secret.
    pub fn new<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let words = values.flat_map(|value| std::iter::once(value).chain(value.split_whitespace()));
        let mut secrets: Vec<String> =
            words.filter(|word| word.len() >= SHORTEST && *word != "Bearer").map(str::to_owned).collect();
        // The whole before its parts.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self(secrets)
    }

    /// The text without them.
    pub fn clean(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, INSTEAD))
    }

    fn clean_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.clean(text),
            Value::Array(list) => list.iter_mut().for_each(|one| self.clean_value(one)),
            Value::Object(map) => map.values_mut().for_each(|one| self.clean_value(one)),
            _ => {}
        }
    }

    /// Takes them out of all that a finding would show.
    pub fn clean_finding<P: Protocol>(&self, finding: &mut Finding<P>) {
        if self.0.is_empty() {
            return;
        }
        self.clean_all(&mut finding.trace, &mut finding.micros);
        self.clean_refutation(&mut finding.refutation);
        self.clean_bytes(&mut finding.raw);
        let sentences = finding.proof.iter_mut().flat_map(|proof| &mut proof.sentences);
        sentences.for_each(|sentence| *sentence = self.clean(sentence));
        if let Some(Ok(shrunk)) = &mut finding.shrunk {
            self.clean_all(&mut shrunk.trace, &mut shrunk.micros);
            self.clean_refutation(&mut shrunk.refutation);
            self.clean_bytes(&mut shrunk.raw);
        }
    }

    /// Whatever cannot be cleaned is left out, with its time.
    fn clean_all<T: serde::Serialize + serde::de::DeserializeOwned>(
        &self,
        list: &mut Vec<T>,
        times: &mut Vec<u64>,
    ) {
        let cleaned = list.iter().zip(times.iter()).filter_map(|(one, time)| {
            let mut value = serde_json::to_value(one).ok()?;
            self.clean_value(&mut value);
            Some((serde_json::from_value(value).ok()?, *time))
        });
        (*list, *times) = cleaned.collect();
    }

    fn clean_refutation(&self, refutation: &mut Refutation) {
        refutation.seen = self.clean(&refutation.seen);
        for message in refutation.expected.iter_mut().filter_map(|one| one.message.as_mut()) {
            *message = self.clean(message);
        }
    }

    /// A secret that came in two pieces is in neither of them, so what has one is searched as a whole.
    fn clean_bytes(&self, chunks: &mut Vec<Chunk>) {
        let all: Vec<u8> =
            chunks.iter().filter(|chunk| !chunk.sent).flat_map(|chunk| chunk.bytes.clone()).collect();
        let has = |secret: &String| all.windows(secret.len()).any(|part| part == secret.as_bytes());
        if self.0.iter().any(has) {
            chunks.retain(|chunk| chunk.sent);
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
}
