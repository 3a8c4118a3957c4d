//! The guide beside the tutorial: its code is that of the files, and its reports are those of the testers.

const GUIDE: &str = include_str!("../../../../GUIDE.md");

/// The files that the guide quotes.
const FILES: [(&str, &str); 7] = [
    ("src/notes.rs", include_str!("../../src/notes.rs")),
    ("src/seats.rs", include_str!("../../src/seats.rs")),
    ("src/todos.rs", include_str!("../../src/todos.rs")),
    ("src/counters.rs", include_str!("../../src/counters.rs")),
    ("src/jobs.rs", include_str!("../../src/jobs.rs")),
    ("src/topics.rs", include_str!("../../src/topics.rs")),
    ("tester.rs.txt", include_str!("../../../../crates/confute-cli/src/new/tester.rs.txt")),
];

/// The chapters of the guide that quote them, and the number of blocks of code in each.
const CHAPTERS: [(&str, usize); 2] = [("## Tutorial", 5), ("## Messages, wires and traffic", 4)];

/// Returns the part of the guide below the heading that begins like this, up to the next heading.
fn section(heading: &str) -> &'static str {
    let start = GUIDE.find(&format!("# {heading}")).unwrap_or_else(|| panic!("the guide has no {heading}"));
    let text = GUIDE[start..].split_once('\n').unwrap().1;
    text.split_once("\n#").map_or(text, |(section, _)| section)
}

/// Returns the blocks of code in a text that are marked so.
fn blocks<'t>(text: &'t str, mark: &str) -> Vec<&'t str> {
    let mark = format!("```{mark}\n");
    text.split(&*mark).skip(1).map(|rest| rest.split_once("\n```").unwrap().0).collect()
}

/// Returns the pieces of a block between lines that consist of an ellipsis, without their indentation.
fn pieces(block: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for line in block.lines() {
        if matches!(line.trim(), "…" | "// …") {
            pieces.push(String::new());
        } else if let Some(piece) = pieces.last_mut() {
            piece.push_str(line.trim());
            piece.push('\n');
        }
    }
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

#[test]
fn the_code_of_the_tutorial_is_tested() {
    let code = CHAPTERS.into_iter().flat_map(|(chapter, least)| {
        let chapter = GUIDE.split_once(chapter).unwrap().1.split_once("\n## ").unwrap().0;
        let code = blocks(chapter, "rust,ignore");
        assert!(code.len() >= least, "{} blocks", code.len());
        code
    });
    for block in code {
        let is_in = |text: &str| {
            let text = pieces(text).concat();
            let mut rest = &*text;
            pieces(block).iter().all(|piece| match rest.split_once(&**piece) {
                Some((_, after)) => {
                    rest = after;
                    true
                }
                None => false,
            })
        };
        let found = FILES.iter().any(|(_, text)| is_in(text));
        assert!(found, "the guide shows code that is in none of {:?}:\n{block}", FILES.map(|(name, _)| name));
    }
}

/// The part of a report that is the same in every run.
#[derive(Clone, Copy)]
pub(super) enum Shows {
    /// All that the guide shows.
    All,
    /// This part of the title. Which case shows a race first is a matter of luck, and so is the outcome of its experiments.
    Title(&'static str),
}

/// Checks that the report in this section of the guide is a part of the report that was seen. Words with a digit or quotes may
/// differ: they are names, values, numbers and times.
pub(super) fn compare(heading: &str, report: &str, shows: Shows) {
    let varies = |word: &str| word.starts_with('"') || word.contains(|one: char| one.is_ascii_digit());
    let plain = |line: &str| {
        let words = line.split_whitespace().map(|word| if varies(word) { "#" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    let plain = |text: &str| text.lines().map(plain).collect::<Vec<_>>().join("\n");
    let seen = plain(report);
    let quoted = blocks(section(heading), "text");
    assert!(!quoted.is_empty(), "{heading} has no report:\n{report}");
    for block in quoted {
        match shows {
            Shows::All => {
                for piece in pieces(block) {
                    let is_seen = seen.contains(plain(&piece).trim());
                    assert!(is_seen, "{heading} shows\n{piece}\nbut this was seen:\n{report}");
                }
            }
            Shows::Title(part) => {
                let has_it = |text: &str| text.lines().next().is_some_and(|title| title.contains(part));
                assert!(has_it(block), "{heading} does not show {part}:\n{block}");
                assert!(has_it(report), "{heading} shows {part}, but this was seen:\n{report}");
            }
        }
    }
}
