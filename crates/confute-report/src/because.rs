//! Why nothing explains a case: the proof, in a few sentences.

use std::time::Duration;

use confute::Names;
use confute::trace::Event;
use confute_drive::{Finding, Proof, Protocol, reasons_for};

use crate::said;
use crate::text::clip;

/// How long it may take to find.
const TIME: Duration = Duration::from_secs(2);
/// So many events that matter can be told; of more nobody sees what they have to do with each other.
const MOST: usize = 16;
/// How long the name of a message may be.
const NAME: usize = 24;

/// Looks for the proof for the case that is shown: the smaller one, if there is one. The numbers in its sentences are those
/// of the ladder.
pub fn prove<P: Protocol>(protocol: &P, finding: &mut Finding<P>) {
    finding.proof = proof(protocol, finding);
}

fn proof<P: Protocol>(protocol: &P, finding: &Finding<P>) -> Option<Proof> {
    let trace = match &finding.shrunk {
        Some(Ok(shrunk)) => &shrunk.trace,
        _ => &finding.trace,
    };
    let found = reasons_for(protocol, finding, TIME)?;
    if found.matter.len() > MOST {
        let sentences = vec!["The case is too long to say which messages matter.".to_owned()];
        return Some(Proof { matter: Vec::new(), sentences });
    }
    let names = Names { word: &|event| word(&trace[event]), number: &|event| number(trace, event) };
    let sentences = found.sentences(&names);
    Some(Proof { matter: found.matter, sentences })
}

/// The line of the ladder that shows an event.
pub(crate) fn number<M>(trace: &[Event<M>], event: usize) -> usize {
    trace[..=event].iter().filter(|event| !matches!(event, Event::Opened(_))).count()
}

/// What kind of message it is: up to the first comma.
fn word<M: std::fmt::Debug>(event: &Event<M>) -> String {
    match event {
        Event::Sent(_, message) | Event::Received(_, message) => {
            let said = said(message);
            let head = said.split([',', '"']).next().unwrap_or_default().trim();
            clip(head, NAME)
        }
        Event::Closed(_) => "the close".to_owned(),
        _ => String::new(),
    }
}
