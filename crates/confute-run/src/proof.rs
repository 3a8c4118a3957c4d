//! Proofs that nothing explains a case, in a few sentences.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use confute::trace::Event;
use confute::{Diagnosis, Names, Options, Pulse, Reasons};
use confute_drive::{AnyMessage, AnyProtocol, Finding, Proof, is_refuted, proof_of};
use confute_record::numbered;

/// Time to find one proof.
const TIME: Duration = Duration::from_secs(2);
/// Number of relevant events up to which a proof is given: of more, nobody sees how they are related.
const MOST: usize = 16;
/// Maximum length of the name of a message.
const NAME: usize = 24;

/// Searches for the proof of the case that is shown: the smaller one, if there is one. The numbers in its
/// sentences are those of the ladder.
pub fn prove(protocol: &dyn AnyProtocol, finding: &mut Finding) {
    finding.proof = proof(protocol, finding, TIME, &AtomicBool::new(false));
}

/// Searches for the proofs of all findings, which share the time until `end`. Those that are left then, or
/// when `stop` is set, have no proof.
pub fn prove_all(
    protocol: &dyn AnyProtocol,
    findings: &mut [Finding],
    end: Instant,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) {
    let count = findings.len();
    for (place, finding) in findings.iter_mut().enumerate() {
        let left = end.saturating_duration_since(Instant::now()) / (count - place) as u32;
        if stop.load(Ordering::Relaxed) || left.is_zero() {
            return;
        }
        tell(&format!("proving violation {} of {count}", finding.number));
        finding.proof = proof(protocol, finding, left.min(TIME), stop);
    }
}

fn proof(protocol: &dyn AnyProtocol, finding: &Finding, time: Duration, stop: &AtomicBool) -> Option<Proof> {
    let trace = finding.shown().trace;
    let end = Instant::now() + time;
    let found = reasons_for(protocol, finding, time, stop)?;
    if found.matter.len() > MOST {
        let sentences = vec!["The case is too long to find the contradictory messages.".to_owned()];
        return Some(Proof { matter: Vec::new(), sentences, main: 0 });
    }
    let names = Names { word: &|event| word(&trace[event]), number: &|event| number(trace, event) };
    let (mut sentences, main) = (found.sentences(&names), found.main_sentence());
    let beside = beside(protocol, finding, end).unwrap_or_default();
    if !beside.is_empty() {
        let rules = beside.join(" and ");
        sentences.push(format!("That explanation also breaks {rules}, which was not required in this case."));
    }
    Some(Proof { matter: found.matter, sentences, main })
}

/// Returns the rules that were relaxed in the case and without which its first explanation does not hold. A reader would take
/// "explained only by one violation of X" for the whole explanation. `None` if there are none, or if that is not decided in time.
fn beside(protocol: &dyn AnyProtocol, finding: &Finding, end: Instant) -> Option<Vec<&'static str>> {
    let shown = finding.shown();
    let blamed = still_blamed(finding);
    let first = blamed.first()?;
    let is_enough = |relaxed: &[&'static str]| {
        let rules = [&first.rules[..], relaxed].concat();
        if Instant::now() > end {
            None
        } else {
            is_refuted(protocol, shown.trace, rules).map(|refuted| !refuted)
        }
    };
    let mut needed = finding.relaxed.clone();
    if needed.is_empty() || is_enough(&[])? {
        return None;
    }
    for rule in &finding.relaxed {
        let fewer: Vec<&str> = needed.iter().copied().filter(|other| other != rule).collect();
        if is_enough(&fewer)? {
            needed = fewer;
        }
    }
    Some(needed)
}

/// Returns the diagnoses of the case shown with the sets of rules that the violation is still blamed on after all other cases.
fn still_blamed(finding: &Finding) -> Vec<Diagnosis> {
    let known = |rules: &[&str]| finding.diagnoses.iter().any(|one| one.rules == rules);
    finding.shown().diagnoses.iter().filter(|one| known(&one.rules)).cloned().collect()
}

/// Returns the reasons why nothing explains the case shown; `None` if they are not found in this time.
fn reasons_for(
    protocol: &dyn AnyProtocol,
    finding: &Finding,
    time: Duration,
    stop: &AtomicBool,
) -> Option<Reasons> {
    let shown = finding.shown();
    let diagnoses = still_blamed(finding);
    let start = Instant::now();
    let watch = |_: &Pulse| start.elapsed() > time || stop.load(Ordering::Relaxed);
    let options = Options { watch: Some(&watch), relaxed: finding.relaxed.clone(), ..Options::default() };
    proof_of(protocol, shown.trace, &diagnoses, &options)
}

/// Returns the line of the ladder that shows an event.
fn number<M>(trace: &[Event<M>], event: usize) -> usize {
    numbered(trace).iter().filter(|drawn| **drawn <= event).count()
}

/// Returns a short name of the event.
fn word(event: &Event<AnyMessage>) -> String {
    match event {
        Event::Sent(_, message) | Event::Received(_, message) => clip(&format!("{message:#}"), NAME),
        Event::Closed(_) => "the close".to_owned(),
        _ => String::new(),
    }
}

/// Cuts a text to at most this many characters.
fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
