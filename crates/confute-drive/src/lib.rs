//! Talks to real servers.
//!
//! A [`Protocol`] says how a model's messages look on the wire and what can be asked. What the tester does in one case is a
//! script of [`Step`]s: what to ask on which connection, in which pieces, what to hold back and what to wait for. A
//! [`Generator`] makes it up as it goes, a [`Replay`] does it again; [`run_case`] runs either. A [`campaign`] runs many
//! cases, relaxes what was found broken, and lists every distinct violation; a [`Shrinker`] makes its script smaller. Nothing here knows a protocol.

mod again;
mod campaign;
mod canary;
mod case;
mod erased;
mod export;
mod figures;
mod limits;
mod line;
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
    CaseReport, Counterexample, Factory, Finding, Live, News, Outcome, Plan, Proof, Sink, campaign,
    campaign_after, case_seed, excerpt,
};
pub use case::{CaseRun, CaseSetup, Ended, run_case};
pub use confute_record::guarded;
pub use confute_record::{Chunk, Conclusion, Figures, Quantiles, Refusals, Spread, Tally};
pub use erased::{AnyAsk, AnyGenerator, AnyMessage, AnyPast, AnyProtocol, typed_events, typed_steps};
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
pub use talk::{Caller, Passed, Talk};
pub use tls::{Tls, Trust};
pub use trouble::Trouble;

/// The beginning of a message, in a line that is not long.
fn brief(message: &impl std::fmt::Display) -> String {
    const LONGEST: usize = 120;
    let text = message.to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}
