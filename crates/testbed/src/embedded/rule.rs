//! The rules that the tester is expected to blame for each bug.

use super::bug::Bug;

impl Bug {
    /// Returns the rules, by their names in `confute rules`, any of which correctly describes a server with this bug.
    /// The list is empty for a connection that is closed without a response, which RFC 9112, 9.5, allows.
    pub const fn rules(self) -> &'static [&'static str] {
        match self {
            Self::IfMatchIgnoredOnPut | Self::IfMatchStarOnMissing => &["rfc9110-13.1.1/if-match"],
            Self::IfMatchIgnoredOnDelete => &["rfc9110-13.1.1/if-match-on-delete"],
            Self::IfMatchWeak => &["rfc9110-13.1.1/strong-comparison"],
            Self::IfMatchStopsAtWeak => &["rfc9110-13.1.1/every-member"],
            Self::IfNoneMatchStrongOnPut => &["rfc9110-13.1.2/weak-comparison"],
            Self::IfNoneMatchStrongOnGet => &["rfc9110-13.1.2/weak-comparison-on-read"],
            Self::IfNoneMatchIgnoredOnPut => &["rfc9110-13.1.2/if-none-match"],
            Self::IfNoneMatchStarOnMissing => &["rfc9110-13.1.2/true-without-match"],
            Self::NotModifiedForPut => &["rfc9110-13.1.2/failed-write-is-412"],
            Self::FirstTagOnly => &["rfc9110-13.1.1/every-member", "rfc9110-13.1.2/every-member"],
            Self::FirstLineOnly => &["rfc9110-5.2/several-lines"],
            Self::IfModifiedSinceBesideIfNoneMatch => &["rfc9110-13.1.3/beside-if-none-match"],
            Self::IfUnmodifiedSinceBesideIfMatch => &["rfc9110-13.1.4/beside-if-match"],
            Self::IfUnmodifiedSinceIgnored => &["rfc9110-13.1.4/if-unmodified-since"],
            Self::IfMatchIgnoredOnGet => &["rfc9110-13.1.1/if-match-on-read"],
            Self::IfNoneMatchIgnoredOnDelete => &["rfc9110-13.1.2/if-none-match-on-delete"],
            Self::IfNoneMatchIgnoredOnGet => &["rfc9110-13.1.2/not-modified"],
            Self::IfModifiedSinceIgnored => &["rfc9110-13.1.3/if-modified-since"],
            Self::OptionsConditional => &["rfc9110-13.2.1/options"],
            Self::NotModifiedUnasked => &["rfc9110-15.4.5/cause"],
            Self::FailedUnasked => &["rfc9110-15.5.13/cause"],
            Self::ConditionOnMissing => &["rfc9110-13.2.1/not-on-failure"],
            Self::NotModifiedTagAltered => &["rfc9110-15.4.5/etag"],
            Self::LostPut => &["store/put-lasts"],
            Self::StaleRead | Self::DeletedComesBack => &["store/read-current"],
            Self::PutLosesByte | Self::PutAddsByte | Self::PutTellsOldTag => {
                // A server that sends an entity tag in its response claims to have stored the content exactly as it
                // was sent.
                &["rfc9110-9.3.4/validators", "store/put-exact"]
            }
            Self::DeleteDoesNot => &["store/delete-lasts"],
            Self::DeleteTakesNeighbour => &["store/stays"],
            Self::NewTagOldContent => &["rfc9110-9.3.4/validators", "store/put-lasts"],
            Self::TagOfSecond => &["rfc9110-8.8.3/strong-tag-differs"],
            Self::CreationUntold => &["rfc9110-9.3.4/created"],
            Self::ReplacementIs201 => &["rfc9110-9.3.4/replaced"],
            Self::ContentUnsent => &["store/content-sent"],
            Self::ContentChanges => &["store/steady-content"],
            Self::RefusedButDone => &["store/refused-not-done"],
            Self::DateAhead => &["rfc9110-8.8.2.1/not-later-than-date"],
            Self::HeadLengthZero => &["rfc9110-8.6/length-of-get"],
            Self::TornRead => &["store/whole"],
            Self::TwoWinners | Self::TwoCreators | Self::PutAndDeleteWin => &["store/one-winner"],
            Self::SwappedPipeline => &["rfc9112-9.3.2/order"],
            Self::CrossedConnections => &["rfc9112-9.2/own-answer"],
            Self::BodyAfterHead | Self::BodyAfter304 | Self::BodyAfter204 => {
                &["rfc9112-6.3/nothing-after-the-end"]
            }
            Self::LengthOneShort => &["rfc9110-8.6/length-true"],
            // If the response passes a gateway, one that never ends counts as no response.
            Self::LengthOneLong | Self::LengthOneTooLarge => &["rfc9110-8.6/length-true", "gateway/answered"],
            Self::LastChunkMissing => &["rfc9112-7.1/chunks"],
            Self::BareLineFeed => &["rfc9112-2.1/grammar"],
            Self::LengthWith204 => &["rfc9112-6.1/framing-fields"],
            Self::AllowMissing => &["rfc9110-15.5.6/allow"],
            // Where another request is under way by then, the error looks like the response to that one.
            Self::BodyUnread => &["rfc9112-9.3/body-read", "store/serves"],
            Self::CloseIgnored => &["rfc9112-9.6/close-heeded"],
            Self::ConflictingLengths => &["rfc9112-6.3/conflicting-lengths"],
            Self::LengthOverChunked => &["rfc9112-6.1/length-beside-chunks"],
            Self::ChunkSizeTruncated => &["rfc9112-7.1/large-chunk"],
            Self::SpaceBeforeColon => &["rfc9112-5.1/space-before-colon"],
            Self::TwoHosts => &["rfc9112-3.2/two-hosts"],
            Self::NoHost => &["rfc9112-3.2/no-host"],
            Self::RangeOneShort | Self::SuffixFromStart => &["rfc9110-15.3.7.1/part"],
            Self::ContentRangeExclusive | Self::BeyondEndIs206 => {
                &["rfc9110-14.4/content-range", "rfc9110-15.3.7.1/part"]
            }
            Self::RangeFromStart => &["rfc9110-14.2/asked"],
            Self::RangeDenied => &["rfc9110-15.5.17/unsatisfiable"],
            Self::RangeOnHead => &["rfc9110-14.2/only-get"],
            Self::IfRangeIgnored => &["rfc9110-13.1.5/if-range"],
            Self::IfRangeWeak => &["rfc9110-13.1.5/strong-comparison"],
            Self::HangOnHead => &["live/answered", "gateway/answered"],
            // If a fourth request gets a response, that looks like the response to the third.
            Self::ThirdUnanswered => &["live/answered", "rfc9112-9.3.2/order"],
            Self::ContinueUnsent => &["rfc9110-10.1.1/continue"],
            _ => self.rules_of_gateways(),
        }
    }

    /// Returns the rules that a bug of the proxy breaks.
    const fn rules_of_gateways(self) -> &'static [&'static str] {
        match self {
            // An option, a field, or `close` where the connection goes on: each gives it away.
            Self::HopByHopLeak => {
                &["rfc9110-7.6.1/connection", "rfc9110-7.6.1/known-fields", "rfc9112-9.6/nothing-after-close"]
            }
            Self::NamedFieldLeak => &["rfc9110-7.6.1/named-fields"],
            Self::ViaMissing => &["rfc9110-7.6.3/via"],
            Self::ProxyHostWithoutPort => &["gateway/host-port"],
            Self::ProxyDropsQuery => &["gateway/target"],
            Self::ProxyDropsConditions => &["rfc9110-13.2.1/conditions-forwarded"],
            Self::MaxForwardsIgnored => &["rfc9110-7.6.2/zero"],
            Self::MaxForwardsKept => &["rfc9110-7.6.2/updated"],
            Self::ProxyTwoHosts => &["rfc9112-3.2/one-host"],
            Self::ProxyBareLineFeed => &["rfc9112-2.1/forwarded-grammar"],
            Self::ProxyFailsAtTrailers => &["rfc9112-7.1/unasked-trailers"],
            Self::ProxyRetriesPost => &["rfc9110-9.2.2/retry"],
            Self::ProxyChangesMethod => &["gateway/method"],
            Self::ProxyDropsFields => &["gateway/request-fields"],
            Self::ProxyChangesStatus => &["gateway/status"],
            Self::ProxyDropsTag => &["gateway/response-fields"],
            Self::ProxyHidesFailure => &["gateway/failure-told"],
            Self::ProxyAsksUnasked => &["gateway/nothing-invented"],
            Self::ProxyCutsRequest => &["gateway/request-content"],
            Self::ProxyCutsResponse => &["rfc9111-5.2.2.6/no-transform"],
            // Where requests are pipelined, it looks like a matter of order.
            Self::ProxyMixUp => &["rfc9112-9.2/own-answer", "rfc9112-9.3.2/order"],
            Self::ProxySendsTwice | Self::ProxyReplaysPut => &["gateway/once"],
            Self::ProxyAnswersItself => &["gateway/from-origin"],
            Self::ProxyMergesTrailers => &["rfc9112-7.1.2/trailers-apart"],
            Self::ProxyStartledByInterim => &["rfc9110-15.2/interim"],
            Self::ProxyKeepsOld => &["rfc9111-5.2.2.5/no-store"],
            _ => &[],
        }
    }
}
