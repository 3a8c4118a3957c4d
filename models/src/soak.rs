//! Long tests of models against themselves.
//!
//! A correct server must never be refuted, and a server that breaks a rule must be refuted and the rule
//! identified. The server is simulated; the tester is the one used for real servers, and gets one event at a
//! time. Nothing is printed here, and there is no clock: the options limit the duration of a soak.

use confute::lang::Mistake;
use confute::network::Network;
use confute::simulate::{ExchangePlan, Statistics};
use confute::trace::Event;
use confute::{Blame, Options, Tester, Verdict, blame};

use crate::{Workload, simulate};

/// Number of messages between two progress reports and memory measurements.
const OFTEN: u64 = 256;

/// Callback with the number of messages sent so far.
pub type SoakProgress<'a> = dyn FnMut(u64) + 'a;

/// Result of a soak.
#[derive(Clone, Debug)]
pub struct Soaked {
    /// Verdict of the tester on its own model.
    pub verdict: Verdict,
    /// Statistics of the exchange up to the verdict.
    pub statistics: Statistics,
    /// Number of events.
    pub events: u64,
    /// Number of turns of the model that were tried.
    pub turns: u64,
    /// Maximum number of bytes that the search held, over all measurements.
    pub bytes: usize,
}

/// Runs a model as a server and judges it, until the plan is completed or the verdict is not unrefuted.
pub fn soak<W: Workload<Msg: Clone>>(
    model: &W,
    network: &dyn Network,
    plan: &ExchangePlan,
    options: &Options<'_>,
    progress: &mut SoakProgress<'_>,
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

/// Result of testing a server that breaks a rule.
#[derive(Clone, Debug)]
pub struct Accused {
    /// Number of requests sent before it was refuted.
    pub requests: u64,
    /// Number of deviations up to then.
    pub deviations: u64,
    /// Diagnoses of the tester.
    pub blame: Blame,
}

impl Accused {
    /// Returns `true` if this rule alone is one of the diagnoses.
    pub fn is_blamed_on(&self, rule: &str) -> bool {
        self.blame.diagnoses.iter().any(|diagnosis| diagnosis.rules == [rule])
    }
}

/// Runs a model that deviates according to the plan, until the tester refutes it, and returns the blame.
/// Returns `None` if it was not refuted.
pub fn accuse<W: Workload<Msg: Clone>>(
    model: &W,
    network: &dyn Network,
    plan: &ExchangePlan,
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
