//! Small changes to a server's sources, each in a file of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

/// A change to the sources: a mutant, or a step towards the baseline.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// Name of the file, without extension.
    pub(crate) id: String,
    /// Number in the paper, if the mutant is from there.
    pub(crate) paper: Option<usize>,
    pub(crate) description: Description,
}

/// Content of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Description {
    /// Sentence about the bug that the change introduces or fixes.
    pub(crate) what: String,
    /// Rules, any of which is right to blame.
    #[serde(default)]
    pub(crate) breaks: Vec<String>,
    /// Smallest number of requests that show the bug, if that requires something that no script of the exhaustive
    /// mode has. Responses of the tester's origin that are more than plain ones count as requests.
    pub(crate) least: Option<usize>,
    /// Difference from the paper's mutant, or reason why another rule is blamed.
    pub(crate) note: Option<String>,
    #[serde(rename = "edit")]
    edits: Vec<Edit>,
}

/// Replacement of one text by another, within a function.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    file: PathBuf,
    /// Name of the function; empty for the whole file.
    function: String,
    search: String,
    replace: String,
}

/// Reads the changes in a directory, in the order of their names.
pub(crate) fn read(folder: &Path) -> Result<Vec<Mutant>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let is_paper = folder.ends_with("paper");
    paths
        .into_iter()
        .map(|path| {
            let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let description = toml::from_str(&text).with_context(|| format!("{}", path.display()))?;
            let number = id.split('-').next().and_then(|number| number.parse().ok());
            Ok(Mutant { id, paper: number.filter(|_| is_paper), description })
        })
        .collect()
}

/// Source texts by their path in the tree.
pub(crate) type Texts = BTreeMap<PathBuf, String>;

impl Mutant {
    /// Returns the files that the mutant changes.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.description.edits.iter().map(|edit| &*edit.file)
    }

    /// Applies the changes to the source texts.
    pub(crate) fn apply(&self, texts: &mut Texts) -> Result<()> {
        for edit in &self.description.edits {
            let place = || format!("{}: {}", self.id, edit.file.display());
            let text = texts.get_mut(&edit.file).with_context(place)?;
            *text = edit.apply(text).with_context(place)?;
        }
        Ok(())
    }
}

impl Edit {
    fn apply(&self, text: &str) -> Result<String> {
        let (start, end) = span(text, &self.function)?;
        let part = &text[start..end];
        let found = part.matches(&self.search).count();
        let place = if self.function.is_empty() { "the file" } else { &self.function };
        ensure!(!self.search.is_empty(), "there is nothing to search for");
        ensure!(found == 1, "what is searched for is {found} times in {place}, not once: {:?}", self.search);
        Ok([&text[..start], &part.replacen(&self.search, &self.replace, 1), &text[end..]].concat())
    }
}

/// Returns the range of a function's definition: from the line with its name, which is no prototype, to the closing
/// brace.
fn span(text: &str, function: &str) -> Result<(usize, usize)> {
    if function.is_empty() {
        return Ok((0, text.len()));
    }
    let mut found = Vec::new();
    for (at, _) in text.match_indices(&format!("{function}(")) {
        let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        // A definition begins at the left margin, and its body comes before any semicolon.
        let is_whole = text[..at].chars().next_back().is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
        let is_at_margin = !text[line..].starts_with([' ', '\t', '#', '/', '*']);
        let is_definition =
            text[at..].find(['{', ';']).is_some_and(|next| text[at + next..].starts_with('{'));
        if is_whole && is_at_margin && is_definition {
            found.push(line);
        }
    }
    match found[..] {
        [start] => {
            let end = text[start..].find("\n}").with_context(|| format!("{function} does not end"))?;
            Ok((start, start + end + 2))
        }
        _ => bail!("{function} is defined {} times there, not once", found.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "static int f(int a);\n\nint g(void)\n{\n    return f(1);\n}\n\nstatic int f(int a)\n{\n    return a;\n}\n";

    fn edit(function: &str, search: &str) -> Edit {
        Edit {
            file: "x.c".into(),
            function: function.into(),
            search: search.into(),
            replace: "return 0;".into(),
        }
    }

    #[test]
    fn a_text_is_replaced_in_its_function_only() {
        let changed = edit("f", "return a;").apply(TEXT).unwrap();
        assert_eq!(changed, TEXT.replace("return a;", "return 0;"));
        assert!(edit("g", "return a;").apply(TEXT).unwrap_err().to_string().contains("0 times in g"));
    }

    #[test]
    fn what_is_not_there_once_is_an_error() {
        let error = edit("", "return").apply(TEXT).unwrap_err().to_string();
        assert!(error.contains("2 times in the file"), "{error}");
        assert!(edit("h", "return").apply(TEXT).unwrap_err().to_string().contains("h is defined 0 times"));
    }

    #[test]
    fn the_files_are_whole() {
        let folder = crate::root().unwrap().join("xtask/mutants/apache");
        let rules: Vec<&str> = confute_http::all_rules().iter().map(|rule| rule.name).collect();
        let (paper, own) = (read(&folder.join("paper")).unwrap(), read(&folder.join("own")).unwrap());
        let numbers: Vec<_> = paper.iter().filter_map(|mutant| mutant.paper).collect();
        assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
        assert!(own.len() >= 20 && own.iter().all(|mutant| mutant.paper.is_none()));
        let unseen = read(&folder.join("unseen")).unwrap();
        for Mutant { id, description, .. } in paper.iter().chain(&own).chain(&unseen) {
            assert!(!description.breaks.is_empty(), "{id}: what does it break?");
            for rule in &description.breaks {
                assert!(rules.contains(&rule.as_str()), "{id}: there is no rule {rule}");
            }
        }
        for Mutant { id, description, .. } in read(&folder.join("beyond")).unwrap() {
            assert!(description.note.is_some(), "{id}: why is it not judged?");
        }
        for Mutant { id, description, .. } in read(&folder.join("baseline")).unwrap() {
            assert!(description.breaks.is_empty(), "{id} is to mend something");
        }
    }
}
