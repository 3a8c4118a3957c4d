//! Marks in generated content, which identify it even if it is torn or misplaced.

/// Returns the mark with this number.
pub(crate) fn mark(number: u64) -> String {
    format!("<{number:05}>")
}

/// Returns the number of the first mark in some content.
pub(crate) fn first(content: &str) -> Option<u64> {
    content.split('<').skip(1).find_map(|part| {
        let (digits, _) = part.split_once('>')?;
        digits.parse().ok().filter(|number| mark(*number).trim_matches(['<', '>']) == digits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_in_what_is_left_of_its_content() {
        assert_eq!(first(&mark(17).repeat(3)), Some(17));
        assert_eq!(first(&format!("0017>{}<00", mark(123_456))), Some(123_456));
        assert_eq!(first("<00017"), None);
        assert_eq!(first("<17> <+0017> plain > text <"), None);
    }
}
