//! Templates of paths: their segments, and which of them belong together.

use std::fmt::Write as _;

/// A segment of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// Text.
    Fixed(String),
    /// A parameter that fills the segment.
    Parameter(String),
    /// A parameter beside text, `{id}.json`, which belongs to no resource.
    Mixed(String),
}

/// A template of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    pub(super) segments: Vec<Segment>,
    /// `true` if it ends with a slash.
    pub(super) slash: bool,
}

impl Template {
    pub(super) fn new(path: &str) -> Self {
        let slash = path.len() > 1 && path.ends_with('/');
        let segments = path.split('/').filter(|part| !part.is_empty()).map(|part| {
            let inner = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
            match inner {
                Some(name) if !name.contains(['{', '}']) => Segment::Parameter(name.to_owned()),
                _ if part.contains('{') => Segment::Mixed(part.to_owned()),
                _ => Segment::Fixed(part.to_owned()),
            }
        });
        Self { segments: segments.collect(), slash }
    }

    /// Returns `true` if both differ in nothing but the names of parameters and a slash at the end.
    pub(super) fn is_like(&self, other: &[Segment]) -> bool {
        self.segments.len() == other.len()
            && self.segments.iter().zip(other).all(|pair| match pair {
                (Segment::Parameter(_), Segment::Parameter(_)) => true,
                (left, right) => left == right,
            })
    }

    /// Returns the segments of the collection and the name of the id, if this can be the path of an item.
    pub(super) fn as_item(&self) -> Option<(&[Segment], &str)> {
        let (last, collection) = self.segments.split_last()?;
        let is_whole = !self.segments.iter().any(|one| matches!(one, Segment::Mixed(_)));
        match last {
            Segment::Parameter(name) if is_whole => Some((collection, name)),
            _ => None,
        }
    }

    /// Returns the number of segments up to the last parameter.
    pub(super) fn last_parameter(segments: &[Segment]) -> usize {
        segments.iter().rposition(|one| matches!(one, Segment::Parameter(_))).map_or(0, |at| at + 1)
    }

    /// Returns `/` if the template ends with a slash.
    pub(super) fn end(&self) -> &'static str {
        if self.slash { "/" } else { "" }
    }
}

/// Writes fixed segments as the rest of a path.
pub(super) fn rest(segments: &[Segment]) -> String {
    let mut text = String::new();
    for segment in segments {
        match segment {
            Segment::Fixed(part) | Segment::Mixed(part) => text.extend(["/", part]),
            Segment::Parameter(name) => write!(text, "/{{{name}}}").expect("writing to a string never fails"),
        }
    }
    text
}

/// Returns the last fixed segment.
pub(super) fn noun(segments: &[Segment]) -> String {
    let fixed = segments.iter().rev().find_map(|one| match one {
        Segment::Fixed(name) => Some(name.clone()),
        _ => None,
    });
    fixed.unwrap_or_else(|| "items".to_owned())
}

/// Returns the singular of an English noun, as far as an ending tells.
pub(super) fn singular(noun: &str) -> String {
    if let Some(stem) = noun.strip_suffix("ies") {
        return format!("{stem}y");
    }
    for ending in ["sses", "xes", "ches", "shes"] {
        if noun.ends_with(ending) {
            return noun[..noun.len() - 2].to_owned();
        }
    }
    noun.strip_suffix('s').filter(|stem| !stem.ends_with('s')).unwrap_or(noun).to_owned()
}
