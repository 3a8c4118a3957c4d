//! The fewest requests that show what no script of the exhaustive mode can: found by thinking, not by trying.

use confute_testbed::embedded::{Area, Bug};

/// How many requests it takes, if it takes something that is not in the alphabet of the scripts.
pub(super) fn least(bug: Bug) -> Option<usize> {
    Some(match bug {
        // Something has to be there, and the PUT tells its tag and its date.
        Bug::IfMatchStopsAtWeak | Bug::FirstTagOnly | Bug::FirstLineOnly => 2,
        Bug::IfModifiedSinceBesideIfNoneMatch
        | Bug::IfUnmodifiedSinceBesideIfMatch
        | Bug::IfUnmodifiedSinceIgnored => 2,
        // Two answers that can be told apart, the other way round; three requests, one without an answer.
        Bug::SwappedPipeline => 2,
        Bug::ThirdUnanswered => 3,
        // What was stored has to be looked at.
        Bug::LengthOverChunked => 2,
        Bug::CloseIgnored
        | Bug::ConflictingLengths
        | Bug::ChunkSizeTruncated
        | Bug::SpaceBeforeColon
        | Bug::TwoHosts
        | Bug::NoHost
        | Bug::ContinueUnsent => 1,
        // One request that was not forwarded as it should be. Answers of the tester's origin count as requests, where it has to
        // be more than a plain one.
        Bug::ProxyMixUp => 2,
        Bug::ProxyReplaysPut
        | Bug::ProxyMergesTrailers
        | Bug::ProxyStartledByInterim
        | Bug::ProxyKeepsOld => 2,
        _ => match bug.area() {
            Area::Proxying => 1,
            // Something has to be there.
            Area::Ranges => 2,
            _ => return None,
        },
    })
}
