//! The bugs that can be switched on in the embedded server.
//!
//! Each bug breaks one clause of an RFC, or one property everybody expects of a store, and nothing else. Behaviour
//! that is allowed is not listed, however odd. A bug modelled on a report in a public tracker names the report; the
//! code is ours.
//!
//! A bug that would show at every request strikes only now and then, so that a run gets far enough to be interesting.
//! "Now and then" is decided by counting, not by chance: the bug strikes once every few opportunities.

use std::fmt;

/// Part of the specification that a [`Bug`] breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Area {
    /// Preconditions: RFC 9110, 13.
    Conditions,
    /// Storage: a resource holds exactly the content that was put.
    Storage,
    /// Atomicity: concurrent requests take effect one after the other.
    Atomicity,
    /// Message boundaries, and the matching of responses to requests: RFC 9112.
    Framing,
    /// Partial content: RFC 9110, 14.
    Ranges,
    /// Forwarding: RFC 9110, 7.6. These need [`Config::proxy`](super::Config::proxy).
    Proxying,
    /// Liveness: every request gets a response.
    Liveness,
}

/// Public bug report that a [`Bug`] is modelled on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Report {
    /// Project whose software had the bug.
    pub project: &'static str,
    /// Address of the report.
    pub link: &'static str,
}

/// Expands to [`Bug`] and its tables, so that each bug is described in one place.
macro_rules! bugs {
    ($($variant:ident $name:literal $area:ident $breaks:literal $description:literal
       $(like $project:literal $link:literal)?;)*) => {
        /// Deliberate fault of the embedded server. See [`Bug::all`].
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
            /// Returns all bugs, grouped by area.
            pub const fn all() -> &'static [Self] {
                &[$(Self::$variant),*]
            }

            /// Returns the name that selects the bug on a command line.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the part of the specification that the bug breaks.
            pub const fn area(self) -> Area {
                match self { $(Self::$variant => Area::$area,)* }
            }

            /// Returns the clause, or the property of a store, that the bug breaks.
            pub const fn breaks(self) -> &'static str {
                match self { $(Self::$variant => $breaks,)* }
            }

            /// Returns a sentence about the wrong behaviour.
            pub const fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)* }
            }

            /// Returns the public report that the bug is modelled on, if there is one.
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
        "If-Match uses the weak comparison: a weak tag in the list matches."
        like "nginx" "https://github.com/nginx/nginx/issues/716";
    IfMatchStopsAtWeak "if-match-stops-at-weak" Conditions "RFC 9110 13.1.1"
        "A weak tag in If-Match ends the list: the tags after it do not match.";
    IfMatchStarOnMissing "if-match-star-on-missing" Conditions "RFC 9110 13.1.1"
        "PUT with `If-Match: *` creates a resource that did not exist."
        like "Personium" "https://github.com/personium/personium-core/issues/483";
    IfNoneMatchStrongOnPut "if-none-match-strong-on-put" Conditions "RFC 9110 13.1.2, 8.8.3.2"
        "If-None-Match uses the strong comparison with PUT and DELETE: a weak tag in the list does not match.";
    IfNoneMatchStrongOnGet "if-none-match-strong-on-get" Conditions "RFC 9110 13.1.2, 8.8.3.2"
        "If-None-Match uses the strong comparison with GET and HEAD: a weak tag in the list does not match."
        like "aiohttp" "https://github.com/aio-libs/aiohttp/issues/8462";
    IfNoneMatchIgnoredOnPut "if-none-match-ignored-on-put" Conditions "RFC 9110 13.1.2"
        "PUT with `If-None-Match: *` replaces an existing resource."
        like "npm-WebDAV-Server" "https://github.com/OpenMarshal/npm-WebDAV-Server/issues/103";
    IfNoneMatchStarOnMissing "if-none-match-star-on-missing" Conditions "RFC 9110 13.1.2"
        "PUT with `If-None-Match: *` fails though the resource does not exist.";
    NotModifiedForPut "not-modified-for-put" Conditions "RFC 9110 13.1.2"
        "A PUT or DELETE whose If-None-Match is false gets 304 instead of 412."
        like "flask-smorest" "https://github.com/marshmallow-code/flask-smorest/pull/115";
    FirstTagOnly "first-tag-only" Conditions "RFC 9110 13.1.1, 13.1.2"
        "Only the first entity tag of a list is compared."
        like "hapi" "https://github.com/hapijs/hapi/issues/2162";
    FirstLineOnly "first-line-only" Conditions "RFC 9110 5.3"
        "Only the first line of If-Match or If-None-Match is read if there are several.";
    IfModifiedSinceBesideIfNoneMatch "if-modified-since-beside-if-none-match" Conditions "RFC 9110 13.1.3, 13.2.2"
        "If-Modified-Since is not ignored beside a true If-None-Match."
        like "Jersey" "https://github.com/eclipse-ee4j/jersey/issues/382";
    IfUnmodifiedSinceBesideIfMatch "if-unmodified-since-beside-if-match" Conditions "RFC 9110 13.1.4, 13.2.2"
        "If-Unmodified-Since is not ignored beside a true If-Match."
        like "Apache Traffic Server" "https://github.com/apache/trafficserver/pull/5701";
    IfUnmodifiedSinceIgnored "if-unmodified-since-ignored" Conditions "RFC 9110 13.1.4"
        "PUT is performed though If-Unmodified-Since is false.";
    IfMatchIgnoredOnGet "if-match-ignored-on-get" Conditions "RFC 9110 13.1.1"
        "GET and HEAD are performed though If-Match is false.";
    IfNoneMatchIgnoredOnDelete "if-none-match-ignored-on-delete" Conditions "RFC 9110 13.1.2"
        "DELETE is performed though If-None-Match is false.";
    IfNoneMatchIgnoredOnGet "if-none-match-ignored-on-get" Conditions "RFC 9110 13.1.2"
        "GET and HEAD are answered 200 though If-None-Match is false.";
    IfModifiedSinceIgnored "if-modified-since-ignored" Conditions "RFC 9110 13.1.3"
        "GET and HEAD are answered 200 though If-Modified-Since is false.";
    OptionsConditional "options-conditional" Conditions "RFC 9110 13.2.1"
        "OPTIONS is answered 412 if If-Match or If-None-Match is false.";
    NotModifiedUnasked "not-modified-unasked" Conditions "RFC 9110 15.4.5"
        "Now and then GET without a condition is answered 304.";
    FailedUnasked "failed-unasked" Conditions "RFC 9110 15.5.13"
        "Now and then PUT without a condition is answered 412, and not performed.";
    ConditionOnMissing "condition-on-missing" Conditions "RFC 9110 13.2.1"
        "GET, HEAD and DELETE of a missing resource with a false If-Match get 412 instead of 404.";
    NotModifiedTagAltered "not-modified-tag-altered" Conditions "RFC 9110 15.4.5"
        "304 marks a strong entity tag as weak, and a weak one as strong."
        like "Apache Tomcat" "https://github.com/apache/tomcat/pull/337";

    LostPut "lost-put" Storage "RFC 9110 9.3.4: a PUT stores its content"
        "Now and then a PUT to an existing resource is confirmed but not performed.";
    StaleRead "stale-read" Storage "RFC 9110 9.3.1: GET returns the current representation"
        "Now and then GET returns the content from before the last PUT.";
    DeletedComesBack "deleted-comes-back" Storage "RFC 9110 9.3.5: a deleted resource is gone"
        "Now and then GET returns the content of a deleted resource.";
    PutLosesByte "put-loses-byte" Storage "RFC 9110 9.3.4: a PUT stores its content"
        "Now and then PUT stores the content without its last byte.";
    PutAddsByte "put-adds-byte" Storage "RFC 9110 9.3.4: a PUT stores its content"
        "Now and then PUT stores the content with an added line feed.";
    DeleteDoesNot "delete-does-not" Storage "RFC 9110 9.3.5: a deleted resource is gone"
        "Now and then a DELETE is confirmed but not performed.";
    DeleteTakesNeighbour "delete-takes-neighbour" Storage "RFC 9110 9.3.5: a resource is changed only by requests to it"
        "DELETE also removes another resource whose path has the same length, if there is one.";
    NewTagOldContent "new-tag-old-content" Storage "RFC 9110 9.3.4, 8.8.3"
        "Now and then a PUT to an existing resource changes the entity tag but not the content.";
    TagOfSecond "tag-of-second" Storage "RFC 9110 8.8.1, 8.8.3"
        "The strong entity tag is the second of the last change: two changes in one second share a tag."
        like "Nextcloud" "https://github.com/nextcloud/server/issues/63994";
    PutTellsOldTag "put-tells-old-tag" Storage "RFC 9110 9.3.4"
        "The response to a PUT that replaces content carries the entity tag of the replaced content.";
    CreationUntold "creation-untold" Storage "RFC 9110 9.3.4"
        "A PUT that creates a resource gets 204 instead of 201.";
    ReplacementIs201 "replacement-is-201" Storage "RFC 9110 9.3.4"
        "A PUT that replaces is answered 201.";
    ContentUnsent "content-unsent" Storage "RFC 9110 9.3.1: GET yields the current representation"
        "Now and then GET of content is answered 204.";
    ContentChanges "content-changes" Storage "content changes by requests only"
        "Now and then content that is read is exchanged for another.";
    RefusedButDone "refused-but-done" Storage "a write that is refused is not performed"
        "A PUT in chunks is answered 411, and performed.";
    DateAhead "date-ahead" Storage "RFC 9110 8.8.2.1"
        "Last-Modified is an hour ahead.";
    HeadLengthZero "head-length-zero" Storage "RFC 9110 8.6, 9.3.2"
        "The response to HEAD has `Content-Length: 0` for any content."
        like "Relic" "https://github.com/serverpod/relic/issues/175";

    TornRead "torn-read" Atomicity "a replacement is visible as a whole or not at all"
        "During a PUT, GET returns half of the new content and half of the old."
        like "mountx" "https://github.com/pithings/mountx/issues/20";
    TwoWinners "two-winners" Atomicity "RFC 9110 13.1.1: no lost update"
        "If-Match is checked some time before the PUT is performed: two PUTs with the same tag can both succeed."
        like "Versity S3 Gateway" "https://github.com/versity/versitygw/pull/2288";
    TwoCreators "two-creators" Atomicity "RFC 9110 13.1.2: no lost update"
        "`If-None-Match: *` is checked some time before the PUT is performed: two PUTs can both create the resource."
        like "Floci" "https://github.com/floci-io/floci/issues/1328";
    PutAndDeleteWin "put-and-delete-win" Atomicity "RFC 9110 13.1.1: no lost update"
        "If-Match is checked some time before the DELETE is performed: it can remove content that was put in between.";

    SwappedPipeline "swapped-pipeline" Framing "RFC 9112 9.3.2"
        "The second of two pipelined requests gets its response first."
        like "Twisted" "https://github.com/twisted/twisted/issues/11976";
    CrossedConnections "crossed-connections" Framing "RFC 9112 9.2"
        "Now and then the responses to GETs of two resources on two connections are swapped.";
    BodyAfterHead "body-after-head" Framing "RFC 9110 9.3.2, RFC 9112 6.3"
        "Now and then the response to HEAD has content."
        like "WsgiDAV" "https://github.com/mar10/wsgidav/issues/123";
    BodyAfter304 "body-after-304" Framing "RFC 9110 15.4.5, RFC 9112 6.3"
        "Now and then 304 is followed by the content of the resource.";
    BodyAfter204 "body-after-204" Framing "RFC 9110 15.3.5, RFC 9112 6.3"
        "Now and then 204 is followed by content."
        like "dusty" "https://github.com/lalinsky/dusty/pull/187";
    LengthOneShort "length-one-short" Framing "RFC 9110 8.6"
        "Now and then Content-Length is one less than the number of bytes sent.";
    LengthOneLong "length-one-long" Framing "RFC 9110 8.6"
        "Now and then Content-Length is one more than the number of bytes sent.";
    LengthOneTooLarge "length-one-too-large" Framing "RFC 9110 8.6"
        "Every Content-Length is one more than the number of bytes sent.";
    LastChunkMissing "last-chunk-missing" Framing "RFC 9112 7.1"
        "Now and then content is sent in chunks without the last chunk, the empty one.";
    BareLineFeed "bare-line-feed" Framing "RFC 9112 2.2"
        "Now and then the status line ends in LF without CR.";
    LengthWith204 "length-with-204" Framing "RFC 9110 8.6"
        "204 comes with Content-Length: 0.";
    AllowMissing "allow-missing" Framing "RFC 9110 15.5.6"
        "405 comes without Allow.";
    BodyUnread "body-unread" Framing "RFC 9112 9.3"
        "Now and then the content of a PUT is taken for the next request too, and answered 400.";
    CloseIgnored "close-ignored" Framing "RFC 9112 9.6"
        "`Connection: close` in a request has no effect."
        like "HttpServer.jl" "https://github.com/JuliaWeb/HttpServer.jl/issues/23";
    ConflictingLengths "conflicting-lengths" Framing "RFC 9112 6.3"
        "The first of several different Content-Lengths is used."
        like "H2O" "https://github.com/h2o/h2o/issues/3396";
    LengthOverChunked "length-over-chunked" Framing "RFC 9112 6.1, 6.3"
        "Transfer-Encoding is ignored beside Content-Length, and the connection stays open."
        like "OpenLiteSpeed" "https://github.com/litespeedtech/openlitespeed/issues/392";
    ChunkSizeTruncated "chunk-size-truncated" Framing "RFC 9112 7.1"
        "Chunk sizes are truncated to 32 bits: 100000002 is read as 2."
        like "Bun" "https://github.com/oven-sh/bun/pull/26931";
    SpaceBeforeColon "space-before-colon" Framing "RFC 9112 5.1"
        "A space between a field name and the colon is accepted."
        like "fasthttp" "https://github.com/valyala/fasthttp/pull/2187";
    TwoHosts "two-hosts" Framing "RFC 9112 3.2"
        "A request with two Host fields is accepted."
        like "Bun" "https://github.com/oven-sh/bun/pull/33717";
    NoHost "no-host" Framing "RFC 9112 3.2"
        "An HTTP/1.1 request without Host is accepted."
        like "Go net/http" "https://github.com/golang/go/issues/13624";

    RangeOneShort "range-one-short" Ranges "RFC 9110 14.1.2, 15.3.7.1"
        "206 lacks the last byte of the range in its Content-Range."
        like "Sharry" "https://github.com/eikek/sharry/issues/1163";
    ContentRangeExclusive "content-range-exclusive" Ranges "RFC 9110 14.4"
        "The last position in Content-Range is one too high."
        like "Suave" "https://github.com/SuaveIO/suave/issues/596";
    SuffixFromStart "suffix-from-start" Ranges "RFC 9110 14.1.2"
        "A request for the last bytes gets the first ones, with the Content-Range of the last.";
    BeyondEndIs206 "beyond-end-is-206" Ranges "RFC 9110 14.4"
        "A range beyond the end gets 206, with a Content-Range that ends before it begins."
        like "Chimera" "https://github.com/chimera-nas/chimera/issues/1196";
    RangeFromStart "range-from-start" Ranges "RFC 9110 14.2"
        "A range is answered with as many bytes from the beginning, and the Content-Range of these.";
    RangeDenied "range-denied" Ranges "RFC 9110 15.5.17"
        "Now and then a range that is there is answered 416.";
    RangeOnHead "range-on-head" Ranges "RFC 9110 14.2"
        "HEAD with Range gets 206."
        like "nginx, as seen in MDN's tracker" "https://github.com/mdn/content/issues/14557";
    IfRangeIgnored "if-range-ignored" Ranges "RFC 9110 13.1.5"
        "Range is applied though the entity tag in If-Range is not the current one."
        like "aiohttp" "https://github.com/aio-libs/aiohttp/pull/13480";
    IfRangeWeak "if-range-weak" Ranges "RFC 9110 13.1.5"
        "If-Range uses the weak comparison: Range is applied with a weak tag."
        like "ZealPHP" "https://github.com/sibidharan/zealphp/issues/362";

    HopByHopLeak "hop-by-hop-leak" Proxying "RFC 9110 7.6.1"
        "Connection and other hop-by-hop fields are forwarded."
        like "node-http-proxy" "https://github.com/http-party/node-http-proxy/issues/446";
    NamedFieldLeak "named-field-leak" Proxying "RFC 9110 7.6.1"
        "Fields that Connection lists are forwarded, unless they are well known."
        like "Go httputil.ReverseProxy" "https://github.com/golang/go/issues/16875";
    ViaMissing "via-missing" Proxying "RFC 9110 7.6.3"
        "No Via is added to forwarded requests."
        like "Envoy" "https://github.com/envoyproxy/envoy/issues/1030";
    ProxyHostWithoutPort "proxy-host-without-port" Proxying "RFC 9112 3.2"
        "The Host of a forwarded request lacks the port of the origin.";
    ProxyDropsQuery "proxy-drops-query" Proxying "RFC 9110 7.7"
        "The query of the request target is not forwarded.";
    ProxyDropsConditions "proxy-drops-conditions" Proxying "RFC 9110 13.2.1"
        "If-Match and If-None-Match are not forwarded.";
    MaxForwardsIgnored "max-forwards-ignored" Proxying "RFC 9110 7.6.2"
        "OPTIONS and TRACE with `Max-Forwards: 0` are forwarded.";
    MaxForwardsKept "max-forwards-kept" Proxying "RFC 9110 7.6.2"
        "Max-Forwards of OPTIONS and TRACE is forwarded as it came.";
    ProxyTwoHosts "proxy-two-hosts" Proxying "RFC 9112 3.2"
        "The client's Host is forwarded beside the origin's.";
    ProxyBareLineFeed "proxy-bare-line-feed" Proxying "RFC 9112 2.2"
        "The first line of a forwarded request ends in LF without CR.";
    ProxyFailsAtTrailers "proxy-fails-at-trailers" Proxying "RFC 9112 7.1"
        "A response with trailer fields is taken for nonsense, and answered 502.";
    ProxyRetriesPost "proxy-retries-post" Proxying "RFC 9110 9.2.2"
        "A request that is not idempotent is sent again after a failure.";
    ProxyChangesMethod "proxy-changes-method" Proxying "RFC 9110 7.6: what is forwarded is what was received"
        "POST is forwarded as PUT.";
    ProxyDropsFields "proxy-drops-fields" Proxying "RFC 9110 7.6: what is forwarded is what was received"
        "Fields of a request that begin with X-End are not forwarded.";
    ProxyChangesStatus "proxy-changes-status" Proxying "RFC 9110 7.6: what is forwarded is what was received"
        "404 is forwarded as 410, and 200 now and then as 203.";
    ProxyDropsTag "proxy-drops-tag" Proxying "RFC 9110 7.6: what is forwarded is what was received"
        "The entity tag of a response is not forwarded.";
    ProxyHidesFailure "proxy-hides-failure" Proxying "RFC 9110 15.6"
        "Where the origin breaks off, the client is told 204.";
    ProxyAsksUnasked "proxy-asks-unasked" Proxying "RFC 9110 7.6: what is forwarded was received"
        "Now and then the origin is asked for something that no client asked for.";
    ProxyCutsRequest "proxy-cuts-request" Proxying "RFC 9110 6.4, 7.6: messages are forwarded unchanged"
        "Now and then a request is forwarded without the last byte of its content.";
    ProxyCutsResponse "proxy-cuts-response" Proxying "RFC 9110 6.4, 7.6: messages are forwarded unchanged"
        "Now and then a response is forwarded without the last byte of its content, and with a matching length."
        like "GPUStack" "https://github.com/gpustack/gpustack/issues/5939";
    ProxyMixUp "proxy-mix-up" Proxying "RFC 9112 9.2"
        "Now and then two clients that GET at the same time receive each other's response."
        like "HAProxy" "https://github.com/haproxy/haproxy/issues/583";
    ProxySendsTwice "proxy-sends-twice" Proxying "RFC 9110 9.2.2"
        "A request that is not idempotent is sent to the origin twice."
        like "Pingora" "https://github.com/cloudflare/pingora/issues/979";
    ProxyReplaysPut "proxy-replays-put" Proxying "RFC 9110 7.6: only received requests are forwarded"
        "Now and then, after a DELETE, the last PUT is sent to the origin again.";
    ProxyAnswersItself "proxy-answers-itself" Proxying "RFC 9110 7.6: what is received is forwarded"
        "Now and then GET is answered 200 by the proxy itself, and the origin is not asked.";
    ProxyMergesTrailers "proxy-merges-trailers" Proxying "RFC 9112 7.1.2"
        "Trailer fields of a response become fields of its head.";
    ProxyStartledByInterim "proxy-startled-by-interim" Proxying "RFC 9110 15.2"
        "An interim response from the origin is treated as an error: the client gets 502.";
    ProxyKeepsOld "proxy-keeps-old" Proxying "RFC 9111 4.4"
        "Now and then GET gets a cached response that a PUT or DELETE should have invalidated.";

    HangOnHead "hang-on-head" Liveness "every request gets a response"
        "Now and then HEAD gets no response, and the connection stays open.";
    ThirdUnanswered "third-unanswered" Liveness "RFC 9112 9.3.2: every request gets a response"
        "The third of several requests that arrive together gets no response."
        like "libwebsockets" "https://github.com/warmcat/libwebsockets/issues/638";
    ContinueUnsent "continue-unsent" Liveness "RFC 9110 10.1.1"
        "`Expect: 100-continue` gets no 100: the server waits for the content."
        like "XRootD" "https://github.com/xrootd/xrootd/issues/2273";
    ClosedUnanswered "closed-unanswered" Liveness "every request gets a response"
        "Now and then a request is performed, and the connection is closed without a response.";
}

impl Bug {
    /// Returns the bug of that name.
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
