//! Counterexamples for people without Confute: the input and output of a protocol's exports.

use std::time::SystemTime;

use confute::trace::Event;
use confute::{Diagnosis, Refutation};

use crate::campaign::Finding;
use crate::erased::{AnyAsk, AnyMessage};
use crate::protocol::{Msg, Protocol};
use crate::script::Step;
use confute_record::ByteRecord;

/// Judge of modified events, with more rules relaxed than in the case. It returns `Some(true)` if nothing
/// explains the events, and `None` if that is undecided.
pub type Judge<'a, M> = dyn Fn(&[Event<M>], &[&'static str]) -> Option<bool> + 'a;

/// The smallest known case of a violation, with the types of its protocol, and its description.
pub type Kept<'a, P> = KeptCase<'a, <P as Protocol>::Ask, Msg<P>>;

/// The smallest known case of a violation of any protocol, and its description.
pub type KeptAny<'a> = KeptCase<'a, AnyAsk, AnyMessage>;

/// The smallest known case of a violation, and its description.
pub struct KeptCase<'a, A, M> {
    /// Number of the violation.
    pub number: usize,
    /// The script of the case.
    pub script: &'a [Step<A>],
    /// The trace of the case, up to the event that nothing explains.
    pub trace: &'a [Event<M>],
    /// The event that nothing explains, and the messages expected instead.
    pub refutation: &'a Refutation,
    /// Sets of rules, each of which explains the case if broken.
    pub diagnoses: &'a [Diagnosis],
    /// Rules that were relaxed in the case.
    pub relaxed: &'a [&'static str],
    /// The latest bytes on the wire.
    pub raw: &'a [ByteRecord],
    /// The name of the case on the server.
    pub name: &'a str,
    /// Number of runs that reproduced it, and number of all runs; `None` if it was not run again.
    pub again: Option<(u32, u32)>,
    /// The server, as the user named it.
    pub url: &'a str,
    /// Description of the violation, in lines.
    pub about: &'a [String],
    /// Judge of modified events, with more rules relaxed besides `relaxed`.
    pub judge: &'a Judge<'a, M>,
    /// Time of the export. Cases record only the time since they began.
    pub now: SystemTime,
}

impl<'a> KeptAny<'a> {
    /// Takes the shrunk case of a finding if there is one, or else the case as it was found.
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
    /// Converts the case to the types of its protocol.
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

/// A file of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Name of the file, without a folder.
    pub name: &'static str,
    /// Content of the file.
    pub content: String,
    /// `true` if the file is a program.
    pub executable: bool,
}

/// Files exported from a counterexample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exports {
    /// The files.
    pub files: Vec<Export>,
    /// A command of one line that shows the violation by itself, if there is one.
    pub command: Option<String>,
    /// Remarks: files that are missing, with the reason, and limits of the files.
    pub remarks: Vec<String>,
}
