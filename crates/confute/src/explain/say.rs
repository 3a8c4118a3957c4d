//! Reasons in sentences.

use super::reasons::{Bar, Deviation, Ground, Reasons};
use crate::verdict::Expectation;

/// How long the text of an expectation may be.
const WIDTH: usize = 60;
/// How many requests are named in whose handling a rule may have been broken.
const MOST_PLACES: usize = 2;

/// The names of the events of a trace in sentences.
pub struct Names<'a> {
    /// Names an event in a word or two: of a message the short form, `{:#}` (see [`ServerModel`](crate::lang::ServerModel)).
    pub word: &'a dyn Fn(usize) -> String,
    /// Its number, as the reader sees it.
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
    /// The proof, one sentence a line. A no-break space keeps a name and its number together.
    pub fn sentences(&self, names: &Names<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        if self.spared && !matches!(self.grounds[..], [Ground::Never { .. }]) {
            lines.push(format!(
                "{} are enough, whatever came of the rest.",
                ranges(self.matter.iter().map(|event| (names.number)(*event)))
            ));
        }
        // Of what is not enumerated nobody says that it would fit as well.
        let these = if self.spared { "These" } else { "It" };
        for ground in &self.grounds {
            lines.push(match ground {
                Ground::Never { sent, answer } => {
                    let whatever = if self.spared { ", whatever came of the rest" } else { "" };
                    format!(
                        "{} cannot be the answer to {}{whatever}.",
                        names.full(*answer),
                        names.full(*sent)
                    )
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
            lines.push("(Not everything could be looked at in time.)".to_owned());
        }
        lines
    }
}

impl Ground {
    /// `these` are the events that matter.
    fn sentence(&self, these: &str, names: &Names<'_>) -> String {
        match self {
            Ground::Order { swapped, bar, .. } => {
                let turned = swapped.iter().map(|(one, other)| {
                    format!("{} was handled after {}", names.full(*one), names.full(*other))
                });
                format!(
                    "{these} would fit if {}, but {}.",
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
                    [only] if later.is_empty() => format!("The answer to {only} is {instead}."),
                    [only] => {
                        format!(
                            "If {only} was handled before {}, its answer is {instead}.",
                            listed(&full(later))
                        )
                    }
                    [first, second] => format!(
                        "If {first} was handled before {second}{after}, the answer to {last} is {instead}."
                    ),
                    all => format!(
                        "If {} were handled in this order{after}, the answer to {last} is {instead}.",
                        listed(all)
                    ),
                }
            }
            Ground::Crossed { answers: (one, other) } => {
                format!(
                    "It would all fit if {} and {} were the other way round.",
                    names.full(*one),
                    names.full(*other)
                )
            }
            Ground::Together { sent, conn } => {
                let sent: Vec<String> = sent.iter().map(|one| names.full(*one)).collect();
                format!(
                    "{these} would fit with {} on different connections, but they shared c{}.",
                    listed(&sent),
                    conn.0
                )
            }
            Ground::Premise { sent, answer: Some(answer) } => {
                format!(
                    "{these} would fit without {} and its answer {}.",
                    names.full(*sent),
                    names.full(*answer)
                )
            }
            Ground::Premise { sent, answer: None } => {
                format!("{} was never answered, and nothing more came.", names.full(*sent))
            }
            Ground::Astray { answer, sent } => {
                format!("{} would fit as the answer to {}.", names.full(*answer), names.full(*sent))
            }
            Ground::Never { sent, answer } => {
                format!("{} cannot be the answer to {}.", names.full(*answer), names.full(*sent))
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

/// The counterfactual, in one sentence.
fn blame(deviations: &[Deviation], names: &Names<'_>) -> Option<String> {
    let mut ways: Vec<(Vec<String>, String)> = Vec::new();
    for Deviation { rules, times, at } in deviations {
        let often = match times {
            _ if *times as usize <= rules.len() && rules.len() > 1 => "",
            1 => " once",
            2 => " twice",
            _ => " again and again",
        };
        let at: Vec<String> = at.iter().map(|at| names.full(*at)).collect();
        let place = match at.len() {
            1..=MOST_PLACES => format!(", with {}", at.join(" or ")),
            _ => String::new(),
        };
        let (rules, how) = (rules.join(" and "), format!("{often}{place}"));
        match ways.iter_mut().find(|(_, other)| *other == how) {
            Some((known, _)) => known.push(rules),
            None => ways.push((vec![rules], how)),
        }
    }
    let ways: Vec<String> =
        ways.into_iter().map(|(rules, how)| format!("{}{how}", rules.join(" or "))).collect();
    (!ways.is_empty()).then(|| format!("It all fits if the server broke {}.", ways.join(", or ")))
}

/// What was expected.
fn instead(expected: &[Expectation], more: bool) -> String {
    let mut texts: Vec<String> = Vec::new();
    for one in expected {
        let text = one.message.as_ref().map_or_else(|| "none".to_owned(), |message| clip(message));
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

/// `a, b and c`.
fn listed(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// `(1)-(4) and (7)`.
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
            0 => vec![format!("({start})")],
            1 => vec![format!("({start})"), format!("({end})")],
            _ => vec![format!("({start})-({end})")],
        })
        .collect();
    listed(&told)
}
