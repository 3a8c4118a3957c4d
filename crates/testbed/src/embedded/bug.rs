//! The mistakes the embedded server can be told to make.
//!
//! Each breaks one clause of an RFC, or one property everybody expects of a store, and nothing else: what is allowed is
//! not listed, however odd. Where one is modelled on a report in a public tracker, the report is named; the code is ours.
//!
//! A mistake that would show at every request is made now and then only, so that a run gets far enough to be
//! interesting; "now and then" is decided by counting, not by chance, and comes every few chances.

use std::fmt;

/// What a [`Bug`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Area {
    /// Preconditions: RFC 9110, 13.
    Conditions,
    /// What was put is there, and nothing else.
    Storage,
    /// What happens at the same time happens one after the other.
    Atomicity,
    /// Where messages begin and end, and whose they are: RFC 9112.
    Framing,
    /// Partial content: RFC 9110, 14.
    Ranges,
    /// Forwarding: RFC 9110, 7.6. These need [`Config::proxy`](super::Config::proxy).
    Proxying,
    /// Every request is answered.
    Liveness,
}

/// A public report a bug is modelled on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Report {
    /// Whose bug it was.
    pub project: &'static str,
    /// Where it is told.
    pub link: &'static str,
}

/// Expands to the enum and its tables, so that a bug is described in one place.
macro_rules! bugs {
    ($($variant:ident $name:literal $area:ident $breaks:literal $description:literal
       $(like $project:literal $link:literal)?;)*) => {
        /// A mistake to make on purpose. See [`Bug::all`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Bug {
            $(
                #[doc = $description]
                #[doc = concat!("\n\nBreaks ", $breaks, ".")]
                $(#[doc = concat!("\n\nModelled on a report about [", $project, "](", $link, ").")])?
                $variant,
            )*
        }

        impl Bug {
            /// All of them, by area.
            pub const fn all() -> &'static [Self] {
                &[$(Self::$variant),*]
            }

            /// How it is called on a command line.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it is about.
            pub const fn area(self) -> Area {
                match self { $(Self::$variant => Area::$area,)* }
            }

            /// The clause or the property of a store that it breaks.
            pub const fn breaks(self) -> &'static str {
                match self { $(Self::$variant => $breaks,)* }
            }

            /// What the server does wrong.
            pub const fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)* }
            }

            /// The report it is modelled on, if it is.
            pub const fn report(self) -> Option<Report> {
                match self {
                    $($(Self::$variant => Some(Report { project: $project, link: $link }),)?)*
                    _ => None,
                }
            }
        }
    };
}

bugs! {
    IfMatchIgnoredOnPut "if-match-ignored-on-put" Conditions "RFC 9110 13.1.1"
        "PUT is performed though If-Match is false."
        like "x/net/webdav" "https://github.com/golang/go/issues/44492";
    IfMatchIgnoredOnDelete "if-match-ignored-on-delete" Conditions "RFC 9110 13.1.1"
        "DELETE is performed though If-Match is false.";
    IfMatchWeak "if-match-weak" Conditions "RFC 9110 13.1.1, 8.8.3.2"
        "If-Match compares weakly: a weak member matches."
        like "nginx" "https://github.com/nginx/nginx/issues/716";
    IfMatchStopsAtWeak "if-match-stops-at-weak" Conditions "RFC 9110 13.1.1"
        "A weak member of If-Match ends the list: what comes after it does not match.";
    IfMatchStarOnMissing "if-match-star-on-missing" Conditions "RFC 9110 13.1.1"
        "PUT with `If-Match: *` creates a resource that was not there."
        like "Personium" "https://github.com/personium/personium-core/issues/483";
    IfNoneMatchStrongOnPut "if-none-match-strong-on-put" Conditions "RFC 9110 13.1.2, 8.8.3.2"
        "If-None-Match compares strongly on PUT and DELETE: a weak member does not match.";
    IfNoneMatchStrongOnGet "if-none-match-strong-on-get" Conditions "RFC 9110 13.1.2, 8.8.3.2"
        "If-None-Match compares strongly on GET and HEAD: a weak member does not match."
        like "aiohttp" "https://github.com/aio-libs/aiohttp/issues/8462";
    IfNoneMatchIgnoredOnPut "if-none-match-ignored-on-put" Conditions "RFC 9110 13.1.2"
        "PUT with `If-None-Match: *` replaces what is there."
        like "npm-WebDAV-Server" "https://github.com/OpenMarshal/npm-WebDAV-Server/issues/103";
    IfNoneMatchStarOnMissing "if-none-match-star-on-missing" Conditions "RFC 9110 13.1.2"
        "PUT with `If-None-Match: *` fails though there is nothing.";
    NotModifiedForPut "not-modified-for-put" Conditions "RFC 9110 13.1.2"
        "A PUT or DELETE whose If-None-Match is false is answered 304 rather than 412."
        like "flask-smorest" "https://github.com/marshmallow-code/flask-smorest/pull/115";
    FirstTagOnly "first-tag-only" Conditions "RFC 9110 13.1.1, 13.1.2"
        "Of a list of entity tags the first alone is compared."
        like "hapi" "https://github.com/hapijs/hapi/issues/2162";
    FirstLineOnly "first-line-only" Conditions "RFC 9110 5.3"
        "Of several lines of If-Match or If-None-Match the first alone is read.";
    IfModifiedSinceBesideIfNoneMatch "if-modified-since-beside-if-none-match" Conditions "RFC 9110 13.1.3, 13.2.2"
        "If-Modified-Since is not ignored beside an If-None-Match that is true."
        like "Jersey" "https://github.com/eclipse-ee4j/jersey/issues/382";
    IfUnmodifiedSinceBesideIfMatch "if-unmodified-since-beside-if-match" Conditions "RFC 9110 13.1.4, 13.2.2"
        "If-Unmodified-Since is not ignored beside an If-Match that is true."
        like "Apache Traffic Server" "https://github.com/apache/trafficserver/pull/5701";
    IfUnmodifiedSinceIgnored "if-unmodified-since-ignored" Conditions "RFC 9110 13.1.4"
        "PUT is performed though If-Unmodified-Since is false.";
    ConditionOnMissing "condition-on-missing" Conditions "RFC 9110 13.2.1"
        "GET, HEAD and DELETE of what is not there are answered 412 if If-Match is false, rather than 404.";
    NotModifiedTagAltered "not-modified-tag-altered" Conditions "RFC 9110 15.4.5"
        "304 calls a strong entity tag weak, and a weak one strong."
        like "Apache Tomcat" "https://github.com/apache/tomcat/pull/337";

    LostPut "lost-put" Storage "RFC 9110 9.3.4: what was put is there"
        "Now and then a PUT that replaces is confirmed and forgotten.";
    StaleRead "stale-read" Storage "RFC 9110 9.3.1: GET yields the current representation"
        "Now and then GET yields what was there before the last PUT.";
    DeletedComesBack "deleted-comes-back" Storage "RFC 9110 9.3.5: what was deleted is gone"
        "Now and then GET yields what was deleted.";
    PutLosesByte "put-loses-byte" Storage "RFC 9110 9.3.4: what was put is there"
        "Now and then the last byte of what is put is lost.";
    PutAddsByte "put-adds-byte" Storage "RFC 9110 9.3.4: what was put is there"
        "Now and then a line feed is added to what is put.";
    DeleteDoesNot "delete-does-not" Storage "RFC 9110 9.3.5: what was deleted is gone"
        "Now and then a DELETE is confirmed and not done.";
    DeleteTakesNeighbour "delete-takes-neighbour" Storage "RFC 9110 9.3.5: a resource changes by requests to it"
        "DELETE removes another resource too, if there is one whose path is as long.";
    NewTagOldContent "new-tag-old-content" Storage "RFC 9110 9.3.4, 8.8.3"
        "Now and then a PUT that replaces changes the entity tag and leaves the content.";
    TagOfSecond "tag-of-second" Storage "RFC 9110 8.8.1, 8.8.3"
        "The strong entity tag is made of the second of the last change: two changes in one second share it."
        like "Nextcloud" "https://github.com/nextcloud/server/issues/63994";
    PutTellsOldTag "put-tells-old-tag" Storage "RFC 9110 9.3.4"
        "The answer to a PUT that replaces carries the entity tag of what was replaced.";
    CreationUntold "creation-untold" Storage "RFC 9110 9.3.4"
        "A PUT that creates is answered 204 rather than 201.";
    HeadLengthZero "head-length-zero" Storage "RFC 9110 8.6, 9.3.2"
        "The answer to HEAD says `Content-Length: 0`, whatever the content."
        like "Relic" "https://github.com/serverpod/relic/issues/175";

    TornRead "torn-read" Atomicity "a replacement is seen as a whole or not at all"
        "While a PUT is at work, GET yields half of the new content and half of the old."
        like "mountx" "https://github.com/pithings/mountx/issues/20";
    TwoWinners "two-winners" Atomicity "RFC 9110 13.1.1: no lost update"
        "If-Match is checked some time before PUT is performed: two with the same tag may both win."
        like "Versity S3 Gateway" "https://github.com/versity/versitygw/pull/2288";
    TwoCreators "two-creators" Atomicity "RFC 9110 13.1.2: no lost update"
        "`If-None-Match: *` is checked some time before PUT is performed: two may both create."
        like "Floci" "https://github.com/floci-io/floci/issues/1328";
    PutAndDeleteWin "put-and-delete-win" Atomicity "RFC 9110 13.1.1: no lost update"
        "If-Match is checked some time before DELETE is performed: it may remove what was put in between.";

    SwappedPipeline "swapped-pipeline" Framing "RFC 9112 9.3.2"
        "Of two pipelined requests the second is answered first."
        like "Twisted" "https://github.com/twisted/twisted/issues/11976";
    CrossedConnections "crossed-connections" Framing "RFC 9112 9.2"
        "Now and then the answers to GETs of two resources on two connections are exchanged.";
    BodyAfterHead "body-after-head" Framing "RFC 9110 9.3.2, RFC 9112 6.3"
        "Now and then the answer to HEAD has content."
        like "WsgiDAV" "https://github.com/mar10/wsgidav/issues/123";
    BodyAfter304 "body-after-304" Framing "RFC 9110 15.4.5, RFC 9112 6.3"
        "Now and then 304 is followed by the content it saves.";
    BodyAfter204 "body-after-204" Framing "RFC 9110 15.3.5, RFC 9112 6.3"
        "Now and then 204 is followed by content."
        like "dusty" "https://github.com/lalinsky/dusty/pull/187";
    LengthOneShort "length-one-short" Framing "RFC 9110 8.6"
        "Now and then Content-Length is one less than what is sent.";
    LengthOneLong "length-one-long" Framing "RFC 9110 8.6"
        "Now and then Content-Length is one more than what is sent.";
    LastChunkMissing "last-chunk-missing" Framing "RFC 9112 7.1"
        "Now and then content is sent in chunks, and the last chunk, the empty one, is not.";
    CloseIgnored "close-ignored" Framing "RFC 9112 9.6"
        "`Connection: close` in a request has no effect."
        like "HttpServer.jl" "https://github.com/JuliaWeb/HttpServer.jl/issues/23";
    ConflictingLengths "conflicting-lengths" Framing "RFC 9112 6.3"
        "Of several Content-Lengths that differ the first is taken."
        like "H2O" "https://github.com/h2o/h2o/issues/3396";
    LengthOverChunked "length-over-chunked" Framing "RFC 9112 6.1, 6.3"
        "Beside Content-Length, Transfer-Encoding is ignored, and the connection stays open."
        like "OpenLiteSpeed" "https://github.com/litespeedtech/openlitespeed/issues/392";
    ChunkSizeTruncated "chunk-size-truncated" Framing "RFC 9112 7.1"
        "Of a chunk size, 32 bits are kept: 100000002 is taken for 2."
        like "Bun" "https://github.com/oven-sh/bun/pull/26931";
    SpaceBeforeColon "space-before-colon" Framing "RFC 9112 5.1"
        "Space between a field's name and the colon is accepted."
        like "fasthttp" "https://github.com/valyala/fasthttp/pull/2187";
    TwoHosts "two-hosts" Framing "RFC 9112 3.2"
        "A request with two Hosts is accepted."
        like "Bun" "https://github.com/oven-sh/bun/pull/33717";
    NoHost "no-host" Framing "RFC 9112 3.2"
        "A request of HTTP/1.1 without Host is accepted."
        like "Go net/http" "https://github.com/golang/go/issues/13624";

    RangeOneShort "range-one-short" Ranges "RFC 9110 14.1.2, 15.3.7.1"
        "206 lacks the last byte of what its Content-Range says."
        like "Sharry" "https://github.com/eikek/sharry/issues/1163";
    ContentRangeExclusive "content-range-exclusive" Ranges "RFC 9110 14.4"
        "The last position in Content-Range is one too high."
        like "Suave" "https://github.com/SuaveIO/suave/issues/596";
    SuffixFromStart "suffix-from-start" Ranges "RFC 9110 14.1.2"
        "To a range of the last bytes the first ones are sent, with the Content-Range of the last.";
    BeyondEndIs206 "beyond-end-is-206" Ranges "RFC 9110 14.4"
        "A range beyond the end is answered 206, with a Content-Range that ends before it begins."
        like "Chimera" "https://github.com/chimera-nas/chimera/issues/1196";
    RangeOnHead "range-on-head" Ranges "RFC 9110 14.2"
        "HEAD with Range is answered 206."
        like "nginx, as seen in MDN's tracker" "https://github.com/mdn/content/issues/14557";
    IfRangeIgnored "if-range-ignored" Ranges "RFC 9110 13.1.5"
        "Range is respected though the entity tag in If-Range is not the current one."
        like "aiohttp" "https://github.com/aio-libs/aiohttp/pull/13480";
    IfRangeWeak "if-range-weak" Ranges "RFC 9110 13.1.5"
        "If-Range compares weakly: Range is respected with a weak tag."
        like "ZealPHP" "https://github.com/sibidharan/zealphp/issues/362";

    HopByHopLeak "hop-by-hop-leak" Proxying "RFC 9110 7.6.1"
        "Connection and the fields that belong to one connection are forwarded."
        like "node-http-proxy" "https://github.com/http-party/node-http-proxy/issues/446";
    NamedFieldLeak "named-field-leak" Proxying "RFC 9110 7.6.1"
        "Fields that Connection names are forwarded, unless they are well known."
        like "Go httputil.ReverseProxy" "https://github.com/golang/go/issues/16875";
    ViaMissing "via-missing" Proxying "RFC 9110 7.6.3"
        "No Via is added to forwarded requests."
        like "Envoy" "https://github.com/envoyproxy/envoy/issues/1030";
    ProxyHostWithoutPort "proxy-host-without-port" Proxying "RFC 9112 3.2"
        "The Host of a forwarded request lacks the origin's port.";
    ProxyDropsQuery "proxy-drops-query" Proxying "RFC 9110 7.7"
        "The query of the target is not forwarded.";
    ProxyDropsConditions "proxy-drops-conditions" Proxying "RFC 9110 13.2.1"
        "If-Match and If-None-Match are not forwarded.";
    MaxForwardsIgnored "max-forwards-ignored" Proxying "RFC 9110 7.6.2"
        "OPTIONS and TRACE with `Max-Forwards: 0` are forwarded.";
    ProxyCutsRequest "proxy-cuts-request" Proxying "RFC 9110 6.4, 7.6: what is forwarded is what was received"
        "Now and then the last byte of a request's content is not forwarded.";
    ProxyCutsResponse "proxy-cuts-response" Proxying "RFC 9110 6.4, 7.6: what is forwarded is what was received"
        "Now and then the last byte of a response's content is not forwarded, and its length corrected."
        like "GPUStack" "https://github.com/gpustack/gpustack/issues/5939";
    ProxyMixUp "proxy-mix-up" Proxying "RFC 9112 9.2"
        "Now and then two clients that GET at the same time receive each other's response."
        like "HAProxy" "https://github.com/haproxy/haproxy/issues/583";
    ProxySendsTwice "proxy-sends-twice" Proxying "RFC 9110 9.2.2"
        "A request that is not idempotent is sent to the origin twice."
        like "Pingora" "https://github.com/cloudflare/pingora/issues/979";
    ProxyReplaysPut "proxy-replays-put" Proxying "RFC 9110 7.6: what is forwarded was received"
        "Now and then, after a DELETE, the last PUT is sent to the origin again.";
    ProxyMergesTrailers "proxy-merges-trailers" Proxying "RFC 9112 7.1.2"
        "Trailer fields of a response become fields of its head.";
    ProxyStartledByInterim "proxy-startled-by-interim" Proxying "RFC 9110 15.2"
        "An interim response of the origin is taken for nonsense, and answered 502.";
    ProxyKeepsOld "proxy-keeps-old" Proxying "RFC 9111 4.4"
        "Now and then GET is answered from a cache that a PUT or DELETE has not invalidated.";

    HangOnHead "hang-on-head" Liveness "every request is answered"
        "Now and then HEAD is never answered, and the connection stays open.";
    ThirdUnanswered "third-unanswered" Liveness "RFC 9112 9.3.2: every request is answered"
        "The third of several requests that arrive together is never answered."
        like "libwebsockets" "https://github.com/warmcat/libwebsockets/issues/638";
    ContinueUnsent "continue-unsent" Liveness "RFC 9110 10.1.1"
        "To `Expect: 100-continue` nothing is said: the server waits for the content."
        like "XRootD" "https://github.com/xrootd/xrootd/issues/2273";
    ClosedUnanswered "closed-unanswered" Liveness "every request is answered"
        "Now and then a request is performed, and the connection closed without an answer.";
}

impl Bug {
    /// The bug of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().iter().copied().find(|bug| bug.name() == name)
    }
}

impl fmt::Display for Bug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_distinct_and_lead_back() {
        let names: BTreeSet<_> = Bug::all().iter().map(|bug| bug.name()).collect();
        assert_eq!(names.len(), Bug::all().len());
        for &bug in Bug::all() {
            assert_eq!(Bug::from_name(bug.name()), Some(bug));
        }
        assert_eq!(Bug::from_name("no-such-bug"), None);
    }

    #[test]
    fn many_are_modelled_on_reports() {
        let reports: BTreeSet<_> =
            Bug::all().iter().filter_map(|bug| bug.report()).map(|it| it.link).collect();
        assert!(reports.len() >= 10, "{}", reports.len());
        assert!(reports.iter().all(|link| link.starts_with("https://")));
    }
}
