//! Bodies: what is in a message.

use serde_json::Value;

use crate::field::Field;
use crate::message::{self, JsonSource, Kind, Message, Piece, Role, Source, kind_of};

/// The content of a message, without the framing around it.
pub trait Body<M>: Clone + Send + Sync + 'static {
    /// Returns the bytes of a request.
    fn write(&self, message: &M) -> Vec<u8>;

    /// Reads a response. The error says why it is none.
    fn parse(&self, body: &[u8], request: Option<&M>) -> Result<M, String>;

    /// Returns the reason why these messages cannot be written, and the next step.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Text by the templates of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words;

impl<M: Message> Body<M> for Words {
    fn write(&self, message: &M) -> Vec<u8> {
        written(message).into_bytes()
    }

    fn parse(&self, body: &[u8], _: Option<&M>) -> Result<M, String> {
        let text = std::str::from_utf8(body).map_err(|_| "it is not UTF-8".to_owned())?;
        parsed(text)
    }

    fn check(&self) -> Result<(), String> {
        complete::<M>()
    }
}

/// Returns the text of a message by its template.
pub(super) fn written<M: Message>(message: &M) -> String {
    let texts = message::texts(message);
    let pieces = kind_of(message).pieces.iter().map(|piece| match piece {
        Piece::Text(text) => *text,
        Piece::Field(place) => &texts[*place],
    });
    pieces.collect()
}

/// Reads a response by the templates; the first one that fits counts.
pub(super) fn parsed<M: Message>(text: &str) -> Result<M, String> {
    let responses = M::KINDS.iter().enumerate().filter(|(_, kind)| kind.role.is_from_server());
    responses.clone().find_map(|(number, kind)| M::build(number, &mut Texts(split(kind, text)?))).ok_or_else(
        || {
            let known: Vec<_> = responses.map(|(_, kind)| format!("`{}`", kind.template())).collect();
            format!("no response looks like this; the protocol has {}", known.join(", "))
        },
    )
}

/// Returns the texts of the fields in a text, if it fits the template.
fn split<'t>(kind: &Kind, text: &'t str) -> Option<Vec<&'t str>> {
    let mut fields = vec![""; kind.fields.len()];
    let mut rest = text;
    let mut open = None;
    for piece in kind.pieces {
        match piece {
            Piece::Text(fixed) => {
                let at = if open.is_some() { rest.find(fixed)? } else { 0 };
                let (field, after) = rest.split_at(at);
                rest = after.strip_prefix(fixed)?;
                if let Some(place) = open.take() {
                    fields[place] = field;
                }
            }
            Piece::Field(place) => open = Some(*place),
        }
    }
    match open {
        Some(place) => fields[place] = rest,
        None if !rest.is_empty() => return None,
        None => {}
    }
    Some(fields)
}

/// Checks that the template of every message has all of its fields.
pub(super) fn complete<M: Message>() -> Result<(), String> {
    for kind in M::KINDS.iter().filter(|kind| kind.role != Role::Unreadable) {
        let missing = (0..kind.fields.len()).find(|place| !kind.pieces.contains(&Piece::Field(*place)));
        if let Some(place) = missing {
            return Err(format!(
                "the template \"{}\" of {} leaves out field {}, so it would not be sent. Add `{{{}}}` to the template, or \
                 use a wire of JSON",
                kind.template(),
                kind.name,
                kind.fields[place],
                if kind.fields[place].parse::<usize>().is_ok() { "" } else { kind.fields[place] },
            ));
        }
    }
    Ok(())
}

/// Fields as texts.
struct Texts<'t>(Vec<&'t str>);

impl Source for Texts<'_> {
    fn take<F: Field>(&mut self, place: usize) -> Option<F> {
        F::parse(self.0.get(place)?)
    }
}

/// A JSON object with the fields of the message, and the word that begins its template in a field of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json {
    /// Name of the field that holds the word.
    pub word: &'static str,
}

impl<M: Message> Body<M> for Json {
    fn write(&self, message: &M) -> Vec<u8> {
        let mut object = message::fields_json(message);
        object.retain(|_, value| !value.is_null());
        let word = kind_of(message).word();
        if !word.is_empty() {
            object.insert(self.word.to_owned(), word.into());
        }
        Value::Object(object).to_string().into_bytes()
    }

    fn parse(&self, body: &[u8], _: Option<&M>) -> Result<M, String> {
        let value: Value = serde_json::from_slice(body).map_err(|error| format!("it is no JSON: {error}"))?;
        let word = value.get(self.word).and_then(Value::as_str).unwrap_or_default();
        let fits =
            |kind: &Kind| kind.role.is_from_server() && (kind.word().is_empty() || kind.word() == word);
        let mut fitting = M::KINDS.iter().enumerate().filter(|(_, kind)| fits(kind));
        fitting.find_map(|(number, kind)| object(number, kind, &value)).ok_or_else(|| {
            let known = M::KINDS.iter().filter(|kind| kind.role.is_from_server());
            let known = known.map(|kind| format!("`{}` with {:?}", kind.word(), kind.fields));
            format!("no response looks like this; the protocol has {}", known.collect::<Vec<_>>().join(", "))
        })
    }
}

/// Makes a message of the fields of a JSON object.
pub(super) fn object<M: Message>(number: usize, kind: &Kind, value: &Value) -> Option<M> {
    M::build(number, &mut JsonSource { names: kind.fields, fields: value })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        name: "Value",
        role: Role::Response,
        reads: false,
        waits: false,
        pieces: &[
            Piece::Text("VALUE "),
            Piece::Field(1),
            Piece::Text(" of "),
            Piece::Field(0),
            Piece::Text("."),
        ],
        fields: &["key", "value"],
    };

    #[test]
    fn a_template_is_read_back() {
        assert_eq!(split(&KIND, "VALUE a b of k."), Some(vec!["k", "a b"]));
        assert_eq!(split(&KIND, "VALUE  of k."), Some(vec!["k", ""]));
        for other in ["VALUE a of k", "VALUE a of k.x", "value a of k.", "", "VALUE a"] {
            assert_eq!(split(&KIND, other), None, "{other}");
        }
    }
}
