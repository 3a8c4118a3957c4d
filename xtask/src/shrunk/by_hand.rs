//! Smallest number of requests for bugs that no script of the exhaustive mode can show, found by reasoning.

use confute_testbed::embedded::{Area, Bug};

/// Returns the smallest number of requests that show the bug, if that requires something outside the alphabet of the
/// scripts.
pub(super) fn least(bug: Bug) -> Option<usize> {
    Some(match bug {
        // A resource has to exist, and the response to the PUT reports its tag and its date.
        Bug::IfMatchStopsAtWeak | Bug::FirstTagOnly | Bug::FirstLineOnly => 2,
        Bug::IfModifiedSinceBesideIfNoneMatch
        | Bug::IfUnmodifiedSinceBesideIfMatch
        | Bug::IfUnmodifiedSinceIgnored => 2,
        // Two distinguishable responses in the wrong order; three requests, one without a response.
        Bug::SwappedPipeline => 2,
        Bug::ThirdUnanswered => 3,
        // The stored content has to be read.
        Bug::LengthOverChunked => 2,
        Bug::CloseIgnored
        | Bug::ConflictingLengths
        | Bug::ChunkSizeTruncated
        | Bug::SpaceBeforeColon
        | Bug::TwoHosts
        | Bug::NoHost
        | Bug::ContinueUnsent => 1,
        // One request that was not forwarded correctly. A response of the tester's origin counts as a request if it
        // has to be more than a plain one.
        Bug::ProxyMixUp => 2,
        Bug::ProxyReplaysPut
        | Bug::ProxyMergesTrailers
        | Bug::ProxyStartledByInterim
        | Bug::ProxyKeepsOld => 2,
        _ => match bug.area() {
            Area::Proxying => 1,
            // A resource has to exist.
            Area::Ranges => 2,
            _ => return None,
        },
    })
}
