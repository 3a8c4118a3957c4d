//! Replacement of one piece of source text by another.
//!
//! Any run of blanks and line breaks counts as one blank, so that a piece is still found after reformatting.

use anyhow::{Result, bail};

/// Returns the text with `put` in place of `find`, which must occur exactly once.
pub(super) fn graft(text: &str, find: &str, put: &str) -> Result<String> {
    let wanted: String = squeeze(find.trim()).into_iter().map(|(_, letter)| letter).collect();
    let squeezed = squeeze(text);
    let plain: String = squeezed.iter().map(|(_, letter)| letter).collect();
    let places: Vec<usize> = plain.match_indices(&wanted).map(|(at, _)| at).collect();
    let [place] = places.as_slice() else {
        bail!("its search text is there {} times instead of once:\n{find}", places.len());
    };
    let first = plain[..*place].chars().count();
    let last = first + wanted.chars().count();
    let start = squeezed[first].0;
    let end = squeezed.get(last).map_or(text.len(), |(at, _)| *at);
    // A blank behind the piece may be a whole indentation, which is not part of the piece.
    Ok(format!("{}{}{}", &text[..start], put.trim(), &text[end..]))
}

/// Returns the characters of a text with their offsets, each run of blanks as one.
fn squeeze(text: &str) -> Vec<(usize, char)> {
    let mut letters = Vec::new();
    let mut blank = false;
    for (at, letter) in text.char_indices() {
        if letter.is_whitespace() {
            if !blank {
                letters.push((at, ' '));
            }
            blank = true;
        } else {
            letters.push((at, letter));
            blank = false;
        }
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::graft;

    #[test]
    fn replaces_once_whatever_the_indentation() {
        let text = "fn f() {\n    one(\n        two,\n    );\n    three()\n}\n";
        let grafted = graft(text, "one( two, );", "four();").expect("it is there once");
        assert_eq!(grafted, "fn f() {\n    four();\n    three()\n}\n");
        assert_eq!(graft("ü a", "a", "b").expect("it is there once"), "ü b");
    }

    #[test]
    fn wants_exactly_one_place() {
        assert!(graft("a a", "a", "b").is_err());
        assert!(graft("a", "b", "c").is_err());
    }
}
