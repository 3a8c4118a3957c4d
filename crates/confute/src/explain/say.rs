//! Proofs in sentences.

use super::reasons::{Bar, Counterfactual, Ground, Reasons};
use crate::verdict::Expectation;

/// Maximum length of the text of an expectation.
const WIDTH: usize = 60;
/// Maximum number of requests that are named as those in whose handling a rule may have been broken.
const MOST_PLACES: usize = 2;

/// The names of the events of a trace in sentences.
pub struct Names<'a> {
    /// Returns the name of an event in a word or two: of a message the short form, `{:#}` (see
    /// [`ServerModel`](crate::lang::ServerModel)).
    pub word: &'a dyn Fn(usize) -> String,
    /// Returns the number of an event, as the reader sees it.
    pub number: &'a dyn Fn(usize) -> usize,
}

impl Names<'_> {
    fn full(&self, event: usize) -> String {
        format!("{}\u{a0}{}", (self.word)(event), self.short(event))
    }

    fn short(&self, event: usize) -> String {
        format!("({})", (self.number)(event))
    }
}

impl Reasons {
    /// Returns the proof, one sentence per line. A no-break space keeps a name and its number together.
    pub fn sentences(&self, names: &Names<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        if self.names_the_core() {
            lines.push(format!(
                "Messages {} alone are contradictory.",
                ranges(self.matter.iter().map(|event| (names.number)(*event)))
            ));
        }
        // If only some events are listed, nothing is claimed about the others: it is the listed ones that would fit.
        let these = if self.spared { "These messages" } else { "The trace" };
        for ground in &self.grounds {
            lines.push(match ground {
                Ground::Never { sent, answer } => {
                    format!("{} cannot be the response to {}.", names.full(*answer), names.full(*sent))
                }
                other => other.sentence(these, names),
            });
        }
        match self.left_out {
            0 => {}
            1 => lines.push("(One more such reason is not shown.)".to_owned()),
            more => lines.push(format!("({more} more such reasons are not shown.)")),
        }
        lines.extend(blame(&self.deviations, names));
        if self.incomplete {
            lines.push("(Not every alternative was examined: the budget ran out.)".to_owned());
        }
        lines
    }

    /// Returns the index of the sentence that says most by itself: the first ground, or else the only sentence there is.
    pub fn main_sentence(&self) -> usize {
        usize::from(self.names_the_core() && !self.grounds.is_empty())
    }

    /// Returns `true` if the first sentence lists the messages that are contradictory alone.
    fn names_the_core(&self) -> bool {
        self.spared && !matches!(self.grounds[..], [Ground::Never { .. }])
    }
}

impl Ground {
    /// Returns the ground as a sentence. `these` denotes the relevant events.
    fn sentence(&self, these: &str, names: &Names<'_>) -> String {
        match self {
            Ground::Order { swapped, bar, .. } => {
                let turned = swapped.iter().map(|(one, other)| {
                    format!("{} was handled after {}", names.full(*one), names.full(*other))
                });
                format!(
                    "{these} would be explained if {}, but {}.",
                    turned.collect::<Vec<_>>().join(" and "),
                    bar.clause(names)
                )
            }
            Ground::Case { open, later, answer, expected, more, .. } => {
                let instead = format!("{}, not {}", instead(expected, *more), names.full(*answer));
                let full = |these: &[usize]| these.iter().map(|one| names.full(*one)).collect::<Vec<_>>();
                let last = open.last().map(|last| names.short(*last)).unwrap_or_default();
                let after = match later.len() {
                    0 => String::new(),
                    _ => format!(", and {} only after {last}", listed(&full(later))),
                };
                match &full(open)[..] {
                    [] => format!("Expected {instead}."),
                    [only] if later.is_empty() => format!("The response to {only} must be {instead}."),
                    [only] => {
                        format!(
                            "If {only} was handled before {}, its response must be {instead}.",
                            listed(&full(later))
                        )
                    }
                    [first, second] => format!(
                        "If {first} was handled before {second}{after}, the response to {last} must be {instead}."
                    ),
                    all => format!(
                        "If {} were handled in this order{after}, the response to {last} must be {instead}.",
                        listed(all)
                    ),
                }
            }
            Ground::Crossed { answers: (one, other) } => {
                format!(
                    "The trace would be explained if the responses {} and {} were swapped.",
                    names.full(*one),
                    names.full(*other)
                )
            }
            Ground::Together { sent, conn } => {
                let sent: Vec<String> = sent.iter().map(|one| names.full(*one)).collect();
                format!(
                    "{these} would be explained if {} were on different connections, but they shared c{}.",
                    listed(&sent),
                    conn.0
                )
            }
            Ground::Premise { sent, answer: Some(answer) } => {
                let these = if these == "The trace" { "the trace" } else { "the other messages" };
                format!(
                    "This rests on {} and its response {}: without them {these} would be explained.",
                    names.full(*sent),
                    names.full(*answer)
                )
            }
            Ground::Premise { sent, answer: None } => {
                format!("{} got no response, and nothing more arrived.", names.full(*sent))
            }
            Ground::Astray { answer, sent } => {
                format!(
                    "{} would be explained as the response to {}.",
                    names.full(*answer),
                    names.full(*sent)
                )
            }
            Ground::Never { sent, answer } => {
                format!("{} cannot be the response to {}.", names.full(*answer), names.full(*sent))
            }
        }
    }
}

impl Bar {
    fn clause(&self, names: &Names<'_>) -> String {
        match self {
            Bar::Answered { sent, answer, before } => format!(
                "{} was answered {} before {} was sent",
                names.short(*sent),
                names.short(*answer),
                names.short(*before)
            ),
            Bar::Queued { sent, before, conn } => {
                format!("{} was sent before {} on c{}", names.short(*sent), names.short(*before), conn.0)
            }
        }
    }
}

/// Returns the counterfactual in one sentence.
fn blame(deviations: &[Counterfactual], names: &Names<'_>) -> Option<String> {
    let mut ways: Vec<(Vec<String>, (&str, String))> = Vec::new();
    for Counterfactual { rules, times, at } in deviations {
        let number = match times {
            _ if *times as usize <= rules.len() && rules.len() > 1 => "violations",
            1 => "one violation",
            2 => "two violations",
            _ => "repeated violations",
        };
        let at: Vec<String> = at.iter().map(|at| names.full(*at)).collect();
        let place = match at.len() {
            1..=MOST_PLACES => format!(", at {}", at.join(" or ")),
            _ => String::new(),
        };
        let rules = rules.join(" and ");
        match ways.iter_mut().find(|(_, other)| *other == (number, place.clone())) {
            Some((known, _)) => known.push(rules),
            None => ways.push((vec![rules], (number, place))),
        }
    }
    let ways: Vec<String> = ways
        .into_iter()
        .map(|(rules, (number, place))| format!("{number} of {}{place}", rules.join(" or of ")))
        .collect();
    (!ways.is_empty()).then(|| format!("Explained only by {}.", ways.join(", or by ")))
}

/// Returns the expected messages as text.
fn instead(expected: &[Expectation], more: bool) -> String {
    let mut texts: Vec<String> = Vec::new();
    for one in expected {
        let text = one.message.as_ref().map_or_else(|| "absent".to_owned(), |message| clip(message));
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    if more || texts.is_empty() || texts.len() > 2 {
        texts.truncate(1);
        texts.push("something else".to_owned());
    }
    texts.join(" or ")
}

fn clip(text: &str) -> String {
    if text.chars().count() <= WIDTH {
        return text.to_owned();
    }
    text.chars().take(WIDTH - 1).chain(['…']).collect()
}

/// Joins texts as in `a, b and c`.
fn listed(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Formats numbers as in `1-4 and 7`.
fn ranges(numbers: impl Iterator<Item = usize>) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == number => *end = number,
            _ => runs.push((number, number)),
        }
    }
    let told: Vec<String> = runs
        .into_iter()
        .flat_map(|(start, end)| match end - start {
            0 => vec![start.to_string()],
            1 => vec![start.to_string(), end.to_string()],
            _ => vec![format!("{start}-{end}")],
        })
        .collect();
    listed(&told)
}
