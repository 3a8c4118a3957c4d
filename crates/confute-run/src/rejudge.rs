//! The judge of a merge: evidence of runs, judged again with the rules relaxed that other runs found broken.
//!
//! No server is needed: the kit that knows the model judges the stored traces.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::time::Duration;

use confute::trace::Event;
use confute_drive::{AnyMessage, AnyProtocol, is_refuted};
use confute_record::guarded;
use confute_record::merge::Question;

use crate::kit::{Kit, Reach, StoredSettings};
use crate::{RunError, Subject};

/// Returns the judge that knows the models of these kits. It answers `false` for models that none of them knows: a
/// violation is then listed, although a single run might have explained it.
pub fn judge<'a>(kits: &'a [&'a dyn Kit]) -> impl Fn(&Question<'_>) -> bool + 'a {
    // A merge asks about one campaign only.
    let subject = OnceCell::new();
    move |question| {
        let opened: &Option<Subject> = subject.get_or_init(|| open(kits, question).and_then(Result::ok));
        opened.as_ref().is_some_and(|subject| {
            guarded(|| explains(&*subject.protocol, question)).is_ok_and(|answer| answer == Some(true))
        })
    }
}

fn open(kits: &[&dyn Kit], question: &Question<'_>) -> Option<Result<Subject, RunError>> {
    let stored = StoredSettings {
        model: question.model,
        settings: question.settings,
        server: question.server,
        target: None,
        reach: &Reach::default(),
        patience: Duration::ZERO,
    };
    kits.iter().find_map(|kit| kit.reopen(&stored))
}

/// Returns `true` if every trace is explained with the rules relaxed, and refuted without them. `None` if a trace or a rule is
/// of another version.
fn explains(protocol: &dyn AnyProtocol, question: &Question<'_>) -> Option<bool> {
    let named = |names: &mut dyn Iterator<Item = &str>| -> Option<BTreeSet<&'static str>> {
        let rules = protocol.model().rules();
        names.map(|name| rules.iter().find(|rule| rule.name == name).map(|rule| rule.name)).collect()
    };
    let relaxed = named(&mut question.evidence.relaxed.iter().map(|name| &**name))?;
    let broken = named(&mut question.broken.iter().copied())?;
    for trace in question.evidence.read().ok()? {
        let trace: Vec<Event<AnyMessage>> = trace
            .into_iter()
            .map(|event| event.try_map(|message| protocol.read_message(message)))
            .collect::<Result<_, _>>()
            .ok()?;
        // A trace that the model explains by now proves nothing about these rules.
        let is_explained = is_refuted(protocol, &trace, relaxed.union(&broken).copied().collect())
            == Some(false)
            && is_refuted(protocol, &trace, relaxed.iter().copied().collect()) == Some(true);
        if !is_explained {
            return Some(false);
        }
    }
    Some(true)
}
