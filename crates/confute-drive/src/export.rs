//! Counterexamples for people without Confute: what a protocol makes of them is its own affair.

use std::time::SystemTime;

use confute::trace::Event;
use confute::{Diagnosis, Refutation};

use crate::campaign::Finding;
use crate::erased::{AnyAsk, AnyMessage};
use crate::protocol::{Msg, Protocol};
use crate::script::Step;
use confute_record::Chunk;

/// Judges events that were changed.
pub type Judge<'a, M> = dyn Fn(&[Event<M>], &[&'static str]) -> Option<bool> + 'a;

/// The smallest known case of a violation of a protocol, and what to say about it.
pub type Kept<'a, P> = KeptCase<'a, <P as Protocol>::Ask, Msg<P>>;

/// The smallest known case of a violation of any protocol.
pub type KeptAny<'a> = KeptCase<'a, AnyAsk, AnyMessage>;

/// The smallest known case of a violation, and what to say about it.
pub struct KeptCase<'a, A, M> {
    /// The number of the violation.
    pub number: usize,
    /// What was done.
    pub script: &'a [Step<A>],
    /// What happened, up to the event that nothing explains.
    pub trace: &'a [Event<M>],
    /// What was seen, and what was expected instead.
    pub refutation: &'a Refutation,
    /// Which rules must have been broken.
    pub diagnoses: &'a [Diagnosis],
    /// Rules that were not asked for.
    pub relaxed: &'a [&'static str],
    /// The latest bytes on the wire.
    pub raw: &'a [Chunk],
    /// The name of the case on the server.
    pub name: &'a str,
    /// In how many runs of how many it showed again; `None` if nobody looked.
    pub again: Option<(u32, u32)>,
    /// The server, as the user named it.
    pub url: &'a str,
    /// What the violation is, in lines.
    pub about: &'a [String],
    /// Whether nothing explains other events, without these rules besides those that were not asked for; `None` if that
    /// cannot be told.
    pub judge: &'a Judge<'a, M>,
    /// What time it is. Cases tell only how much time has passed since they began.
    pub now: SystemTime,
}

impl<'a> KeptAny<'a> {
    /// The shrunk case of a finding if there is one, or else the case as it was found.
    pub fn new(
        finding: &'a Finding,
        url: &'a str,
        about: &'a [String],
        judge: &'a Judge<'a, AnyMessage>,
    ) -> Self {
        let (case, again) = match &finding.shrunk {
            Some(Ok(small)) => (&small.counterexample, Some(small.again)),
            _ => (&finding.counterexample, None),
        };
        Self {
            number: finding.number,
            script: &case.script,
            trace: &case.trace,
            refutation: &case.refutation,
            diagnoses: &finding.diagnoses,
            relaxed: &finding.relaxed,
            raw: &case.raw,
            name: &case.name,
            again,
            url,
            about,
            judge,
            now: SystemTime::now(),
        }
    }
}

impl<'a, A, M> KeptCase<'a, A, M> {
    /// The same case with the types of its protocol.
    pub(crate) fn of(
        any: &KeptAny<'a>,
        script: &'a [Step<A>],
        trace: &'a [Event<M>],
        judge: &'a Judge<'a, M>,
    ) -> Self {
        let KeptCase { number, refutation, diagnoses, relaxed, raw, name, again, url, about, now, .. } = *any;
        Self {
            number,
            script,
            trace,
            refutation,
            diagnoses,
            relaxed,
            raw,
            name,
            again,
            url,
            about,
            judge,
            now,
        }
    }
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name, without a folder.
    pub name: &'static str,
    /// What is in it.
    pub content: String,
    /// Whether it is a program.
    pub executable: bool,
}

/// What became of a counterexample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exports {
    /// The files.
    pub files: Vec<Export>,
    /// What is not there, and why; and what a file cannot do.
    pub remarks: Vec<String>,
}
