//! Models tested against themselves, at length.
//!
//! A correct server must never be refuted, and a server that breaks a rule must be refuted and found out. The server is
//! simulated; the tester is the one that real servers meet, told of one event at a time. Nothing is printed here, and
//! there is no clock: how long a soak may take is up to its options.

use confute::lang::Mistake;
use confute::network::Network;
use confute::simulate::{Plan, Statistics};
use confute::trace::Event;
use confute::{Blame, Options, Tester, Verdict, blame};

use crate::{Workload, simulate};

/// How often progress is told and memory is looked at, in messages.
const OFTEN: u64 = 256;

/// Hears how many messages were sent so far.
pub type Progress<'a> = dyn FnMut(u64) + 'a;

/// What a soak came to.
#[derive(Clone, Debug)]
pub struct Soaked {
    /// What the tester thinks of its own model.
    pub verdict: Verdict,
    /// What was exchanged until then.
    pub statistics: Statistics,
    /// How many events there were.
    pub events: u64,
    /// How many turns of the model were tried.
    pub turns: u64,
    /// The most bytes that the search held, as far as was looked.
    pub bytes: usize,
}

/// Runs a model as a server and lets the tester watch, until the plan is done or the tester is not content.
pub fn soak<W: Workload<Msg: Clone>>(
    model: &W,
    network: &dyn Network,
    plan: &Plan,
    options: &Options<'_>,
    progress: &mut Progress<'_>,
) -> Result<Soaked, Mistake> {
    let mut tester = Tester::new(model, network, options.clone());
    let (mut sent, mut bytes) = (0, 0);
    let statistics = simulate(model, network, plan, &mut |event| {
        if matches!(event, Event::Sent(..)) {
            sent += 1;
            if sent % OFTEN == 0 {
                bytes = bytes.max(tester.bytes());
                progress(sent);
            }
        }
        tester.observe(event).is_unrefuted()
    })?;
    Ok(Soaked {
        verdict: tester.verdict().clone(),
        statistics,
        events: tester.events(),
        turns: tester.turns(),
        bytes: bytes.max(tester.bytes()),
    })
}

/// What became of a server that breaks a rule.
#[derive(Clone, Debug)]
pub struct Accused {
    /// How many requests were sent before it was refuted.
    pub requests: u64,
    /// How often it had broken the rule by then.
    pub deviations: u64,
    /// What the tester says it did.
    pub blame: Blame,
}

impl Accused {
    /// Whether this rule alone is one of the diagnoses.
    pub fn is_blamed_on(&self, rule: &str) -> bool {
        self.blame.diagnoses.iter().any(|diagnosis| diagnosis.rules == [rule])
    }
}

/// Runs a model that deviates as the plan says, until the tester refutes it, and asks the tester for the reason.
/// `None` if it was not refuted.
pub fn accuse<W: Workload<Msg: Clone>>(
    model: &W,
    network: &dyn Network,
    plan: &Plan,
    options: &Options<'_>,
) -> Result<Option<Accused>, Mistake> {
    let mut tester = Tester::new(model, network, options.clone());
    let mut events = Vec::new();
    let statistics = simulate(model, network, plan, &mut |event| {
        events.push(event.clone());
        tester.observe(event).is_unrefuted()
    })?;
    if !tester.verdict().is_refuted() {
        return Ok(None);
    }
    let blame = blame(model, network, &events, options);
    Ok(Some(Accused { requests: statistics.requests, deviations: statistics.deviations, blame }))
}
