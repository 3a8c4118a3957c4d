//! Driver for real servers: connections, scripts, timing, cases and campaigns. It knows no protocol.
//!
//! A [`Protocol`] defines the encoding of a model's messages and the requests that can be sent
//! ([`Protocol::Ask`]). A case performs a script of [`Step`]s: which request to send on which connection, in
//! which pieces, what to hold back and what to wait for. A [`Generator`] chooses the steps while the case
//! runs, a [`Replay`] repeats recorded ones; [`run_case`] runs either. A [`campaign`] runs many cases,
//! relaxes the rules that were found broken, and lists every distinct violation; a [`Shrinker`] makes the
//! script of a violation smaller.

mod again;
mod campaign;
mod canary;
mod case;
mod connection;
mod crew;
mod erased;
mod experiment;
mod export;
mod figures;
mod limits;
mod name;
mod net;
mod outbox;
mod protocol;
mod raw;
mod script;
mod shrink;
mod stream;
mod talk;
mod tls;
mod trouble;

pub use again::{Again, PastRun, Rerun, alternatives_of, is_refuted, judge_again, proof_of};
pub use campaign::{
    CaseReport, Counterexample, Earlier, Factory, Finding, Live, News, Outcome, Plan, Proof, SettledCase,
    Sink, Workers, campaign, campaign_after, case_seed, excerpt,
};
pub use case::{CaseRun, CaseSetup, Ended, run_case};
pub use confute_record::guarded;
pub use confute_record::{
    ByteRecord, Conclusion, Figures, Occurrence, Quantiles, Ranges, Refusals, Shard, Spread, Tally,
};
pub use crew::{Crew, MOST_CONNECTIONS, Thinking};
pub use erased::{AnyAsk, AnyGenerator, AnyMessage, AnyPast, AnyProtocol, typed_events, typed_steps};
pub use experiment::{Experiment, SetAside};
pub use export::{Export, Exports, Judge, Kept, KeptAny, KeptCase};
pub use figures::{Gauge, Refusal};
pub use limits::{Limits, Target};
pub use name::short_name;
pub use net::Net;
pub use protocol::{
    Asks, Dialogue, Evidence, Exchange, Exporting, Generator, Msg, Past, Plain, Protocol, Reader, Setup,
    Side, Upstream, View,
};
pub use script::{Peer, Replay, Step, Until};
pub use shrink::{Shrinker, Shrunk, Unshrunk};
pub use talk::{Caller, SurveyCase, Surveyed, Talk};
pub use tls::{Tls, Trust};
pub use trouble::Trouble;

/// Returns the text of a message for one line of output, cut after 120 characters.
fn brief(message: &impl std::fmt::Display) -> String {
    const LONGEST: usize = 120;
    let text = message.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}
