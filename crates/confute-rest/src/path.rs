//! Templates of paths (`/users/{user}/todos/{todo}`), and ids in paths.

use std::fmt::Write as _;

/// The values of parameters, in the order of the template.
pub(crate) type Bound = Vec<(String, String)>;

/// Returns the names of the parameters of a template.
pub(crate) fn parameters(template: &str) -> Vec<String> {
    template.split('/').filter_map(hole).map(|(_, name, _)| name.to_owned()).collect()
}

/// Returns the parts of a segment with a parameter: before it, its name, and behind it.
fn hole(segment: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = segment.split_once('{')?;
    let (name, behind) = rest.split_once('}')?;
    Some((before, name, behind))
}

/// Returns the values of the parameters in a path, still in the form of a path.
pub(crate) fn bind(template: &str, path: &str) -> Option<Bound> {
    let (templates, segments): (Vec<&str>, Vec<&str>) =
        (template.split('/').collect(), path.split('/').collect());
    if templates.len() != segments.len() {
        return None;
    }
    let mut bound = Bound::new();
    for (template, segment) in templates.into_iter().zip(segments) {
        match hole(template) {
            None if template == segment => {}
            None => return None,
            Some((before, name, behind)) => {
                let value = segment.strip_prefix(before)?.strip_suffix(behind)?;
                bound.push((name.to_owned(), value.to_owned()));
            }
        }
    }
    Some(bound)
}

/// Returns the path of a template. A parameter without a value of its name takes the value at its place.
pub(crate) fn fill(template: &str, values: &Bound) -> Option<String> {
    let mut place = 0;
    let filled: Option<Vec<String>> = template
        .split('/')
        .map(|segment| match hole(segment) {
            None => Some(segment.to_owned()),
            Some((before, name, behind)) => {
                let named = values.iter().find(|(known, _)| known == name);
                let (_, value) = named.or_else(|| values.get(place))?;
                place += 1;
                Some(format!("{before}{value}{behind}"))
            }
        })
        .collect();
    filled.map(|segments| segments.join("/"))
}

/// Returns a text in the form that it has in a path.
pub(crate) fn encoded(text: &str) -> String {
    let mut path = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => path.push(byte.into()),
            _ => {
                let _ = write!(path, "%{byte:02X}");
            }
        }
    }
    path
}

/// Returns the text of a part of a path. A malformed escape stays as it is.
pub(crate) fn decoded(part: &str) -> String {
    let bytes = part.as_bytes();
    let (mut text, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let escaped = part.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                text.push(byte);
                at += 3;
            }
            None => {
                text.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates() {
        let bound = bind("/users/{user}/todos/{todo}", "/users/7/todos/a%20b").unwrap();
        assert_eq!(bound[1], ("todo".to_owned(), "a%20b".to_owned()));
        assert_eq!(fill("/users/{user}/todos", &bound).unwrap(), "/users/7/todos");
        assert_eq!(fill("/persons/{person}/x", &bound).unwrap(), "/persons/7/x");
        assert_eq!(bind("/users/{user}.json", "/users/7.json").unwrap()[0].1, "7");
        assert!(bind("/users/{user}", "/todos/7").is_none() && bind("/users", "/users/7").is_none());
        assert!(fill("/a/{b}", &Bound::new()).is_none());
        assert_eq!(parameters("/a/{b}/c/{d}"), ["b", "d"]);
    }

    #[test]
    fn ids() {
        assert_eq!(encoded("a b/ü"), "a%20b%2F%C3%BC");
        assert_eq!(decoded(&encoded("a b/ü%")), "a b/ü%");
        assert_eq!(decoded("100%"), "100%");
    }
}
