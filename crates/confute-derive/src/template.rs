//! Templates: the text of a message, with a pair of braces where a field goes.

use syn::{Error, LitStr, Result};

/// A part of a template.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text that is the same in every message of the kind.
    Text(String),
    /// The text of the field with this index.
    Field(usize),
}

/// Parses a template. `{}` is the next field, `{name}` a field by its name.
pub(crate) fn parse(template: &LitStr, fields: &[String]) -> Result<Vec<Piece>> {
    let fail = |why: String| Err(Error::new(template.span(), why));
    let whole = template.value();
    let (mut pieces, mut rest, mut next) = (Vec::new(), &*whole, 0);
    while let Some((text, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            return fail("this template has a `{` without a `}`; close it, as in \"GET {}\"".to_owned());
        };
        let place = if name.is_empty() {
            next += 1;
            next - 1
        } else {
            match fields.iter().position(|field| field == name) {
                Some(place) => place,
                None => {
                    return fail(format!("the variant has no field `{name}`; {}", listed(fields)));
                }
            }
        };
        if place >= fields.len() {
            return fail(format!(
                "this template has more braces than the variant has fields; {}",
                listed(fields)
            ));
        }
        if pieces.contains(&Piece::Field(place)) {
            return fail(format!("field {place} occurs twice in this template; a message carries it once"));
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text.to_owned()));
        } else if matches!(pieces.last(), Some(Piece::Field(_))) {
            return fail(
                "two fields follow each other, so nobody can tell where the first one ends; put text between them, \
                 as in \"SET {} {}\""
                    .to_owned(),
            );
        }
        pieces.push(Piece::Field(place));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

/// Returns the template of a variant without one: its name in snake case, and its fields, separated by blanks.
pub(crate) fn plain(variant: &str, fields: usize) -> Vec<Piece> {
    let mut word = String::new();
    for letter in variant.chars() {
        if letter.is_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.extend(letter.to_lowercase());
    }
    let mut pieces = Vec::new();
    for place in 0..fields {
        pieces.push(Piece::Text(if place == 0 { format!("{word} ") } else { " ".to_owned() }));
        pieces.push(Piece::Field(place));
    }
    if pieces.is_empty() {
        pieces.push(Piece::Text(word));
    }
    pieces
}

fn listed(fields: &[String]) -> String {
    if fields.is_empty() { "it has none".to_owned() } else { format!("it has {}", fields.join(", ")) }
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::*;

    fn of(template: &str) -> Result<Vec<Piece>> {
        parse(&LitStr::new(template, Span::call_site()), &["key".to_owned(), "by".to_owned()])
    }

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    #[test]
    fn braces_are_fields() {
        assert_eq!(of("INCR {} {}").unwrap(), [text("INCR "), Piece::Field(0), text(" "), Piece::Field(1)]);
        assert_eq!(of("{by}!").unwrap(), [Piece::Field(1), text("!")]);
        assert_eq!(of("PING").unwrap(), [text("PING")]);
        assert_eq!(plain("TwoWords", 1), [text("two_words "), Piece::Field(0)]);
        assert_eq!(plain("Ping", 0), [text("ping")]);
    }

    #[test]
    fn a_template_that_cannot_be_read_back_is_refused() {
        for (template, why) in [
            ("{}{}", "two fields follow each other"),
            ("{} {} {}", "more braces than the variant has fields; it has key, by"),
            ("{kee}", "no field `kee`; it has key, by"),
            ("{", "a `{` without a `}`"),
            ("{key} {}", "occurs twice"),
        ] {
            assert!(of(template).unwrap_err().to_string().contains(why), "{template}");
        }
    }
}
