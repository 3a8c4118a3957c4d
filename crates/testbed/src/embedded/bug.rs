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
    ($($variant:ident $name:literal $area:ident [$($rule:literal),*] $breaks:literal $description:literal
       $(like $project:literal $link:literal)? $(rewrites $rewrite:expr)?;)*) => {
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

            /// Returns the rules, by their names in `confute rules`, any of which correctly describes a server with
            /// this bug. The list is empty for a connection that is closed without a response, which RFC 9112, 9.5,
            /// allows.
            pub const fn rules(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($rule),*],)* }
            }

            /// Returns the function that spoils the head of a response, if that is all that the bug does.
            pub const fn rewrite(self) -> Option<fn(&str) -> String> {
                match self {
                    $($(Self::$variant => Some($rewrite),)?)*
                    _ => None,
                }
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
    IfMatchIgnoredOnPut "if-match-ignored-on-put" Conditions ["rfc9110-13.1.1/if-match"]
        "RFC 9110 13.1.1"
        "PUT is performed though If-Match is false."
        like "x/net/webdav" "https://github.com/golang/go/issues/44492";
    IfMatchIgnoredOnDelete "if-match-ignored-on-delete" Conditions ["rfc9110-13.1.1/if-match-on-delete"]
        "RFC 9110 13.1.1"
        "DELETE is performed though If-Match is false.";
    IfMatchWeak "if-match-weak" Conditions ["rfc9110-13.1.1/strong-comparison"]
        "RFC 9110 13.1.1, 8.8.3.2"
        "If-Match uses the weak comparison: a weak tag in the list matches."
        like "nginx" "https://github.com/nginx/nginx/issues/716";
    IfMatchStopsAtWeak "if-match-stops-at-weak" Conditions ["rfc9110-13.1.1/every-member"]
        "RFC 9110 13.1.1"
        "A weak tag in If-Match ends the list: the tags after it do not match.";
    IfMatchStarOnMissing "if-match-star-on-missing" Conditions ["rfc9110-13.1.1/if-match"]
        "RFC 9110 13.1.1"
        "PUT with `If-Match: *` creates a resource that did not exist."
        like "Personium" "https://github.com/personium/personium-core/issues/483";
    IfNoneMatchStrongOnPut "if-none-match-strong-on-put" Conditions ["rfc9110-13.1.2/weak-comparison"]
        "RFC 9110 13.1.2, 8.8.3.2"
        "If-None-Match uses the strong comparison with PUT and DELETE: a weak tag in the list does not match.";
    IfNoneMatchStrongOnGet "if-none-match-strong-on-get" Conditions ["rfc9110-13.1.2/weak-comparison-on-read"]
        "RFC 9110 13.1.2, 8.8.3.2"
        "If-None-Match uses the strong comparison with GET and HEAD: a weak tag in the list does not match."
        like "aiohttp" "https://github.com/aio-libs/aiohttp/issues/8462";
    IfNoneMatchIgnoredOnPut "if-none-match-ignored-on-put" Conditions ["rfc9110-13.1.2/if-none-match"]
        "RFC 9110 13.1.2"
        "PUT with `If-None-Match: *` replaces an existing resource."
        like "npm-WebDAV-Server" "https://github.com/OpenMarshal/npm-WebDAV-Server/issues/103";
    IfNoneMatchStarOnMissing "if-none-match-star-on-missing" Conditions ["rfc9110-13.1.2/true-without-match"]
        "RFC 9110 13.1.2"
        "PUT with `If-None-Match: *` fails though the resource does not exist.";
    NotModifiedForPut "not-modified-for-put" Conditions ["rfc9110-13.1.2/failed-write-is-412"]
        "RFC 9110 13.1.2"
        "A PUT or DELETE whose If-None-Match is false gets 304 instead of 412."
        like "flask-smorest" "https://github.com/marshmallow-code/flask-smorest/pull/115";
    FirstTagOnly "first-tag-only" Conditions ["rfc9110-13.1.1/every-member", "rfc9110-13.1.2/every-member"]
        "RFC 9110 13.1.1, 13.1.2"
        "Only the first entity tag of a list is compared."
        like "hapi" "https://github.com/hapijs/hapi/issues/2162";
    FirstLineOnly "first-line-only" Conditions ["rfc9110-5.2/several-lines"]
        "RFC 9110 5.3"
        "Only the first line of If-Match or If-None-Match is read if there are several.";
    IfModifiedSinceBesideIfNoneMatch "if-modified-since-beside-if-none-match" Conditions ["rfc9110-13.1.3/beside-if-none-match"]
        "RFC 9110 13.1.3, 13.2.2"
        "If-Modified-Since is not ignored beside a true If-None-Match."
        like "Jersey" "https://github.com/eclipse-ee4j/jersey/issues/382";
    IfUnmodifiedSinceBesideIfMatch "if-unmodified-since-beside-if-match" Conditions ["rfc9110-13.1.4/beside-if-match"]
        "RFC 9110 13.1.4, 13.2.2"
        "If-Unmodified-Since is not ignored beside a true If-Match."
        like "Apache Traffic Server" "https://github.com/apache/trafficserver/pull/5701";
    IfUnmodifiedSinceIgnored "if-unmodified-since-ignored" Conditions ["rfc9110-13.1.4/if-unmodified-since"]
        "RFC 9110 13.1.4"
        "PUT is performed though If-Unmodified-Since is false.";
    IfMatchIgnoredOnGet "if-match-ignored-on-get" Conditions ["rfc9110-13.1.1/if-match-on-read"]
        "RFC 9110 13.1.1"
        "GET and HEAD are performed though If-Match is false.";
    IfNoneMatchIgnoredOnDelete "if-none-match-ignored-on-delete" Conditions ["rfc9110-13.1.2/if-none-match-on-delete"]
        "RFC 9110 13.1.2"
        "DELETE is performed though If-None-Match is false.";
    IfNoneMatchIgnoredOnGet "if-none-match-ignored-on-get" Conditions ["rfc9110-13.1.2/not-modified"]
        "RFC 9110 13.1.2"
        "GET and HEAD are answered 200 though If-None-Match is false.";
    IfModifiedSinceIgnored "if-modified-since-ignored" Conditions ["rfc9110-13.1.3/if-modified-since"]
        "RFC 9110 13.1.3"
        "GET and HEAD are answered 200 though If-Modified-Since is false.";
    OptionsConditional "options-conditional" Conditions ["rfc9110-13.2.1/options"]
        "RFC 9110 13.2.1"
        "OPTIONS is answered 412 if If-Match or If-None-Match is false.";
    NotModifiedUnasked "not-modified-unasked" Conditions ["rfc9110-15.4.5/cause"]
        "RFC 9110 15.4.5"
        "Now and then GET without a condition is answered 304.";
    FailedUnasked "failed-unasked" Conditions ["rfc9110-15.5.13/cause"]
        "RFC 9110 15.5.13"
        "Now and then PUT without a condition is answered 412, and not performed.";
    ConditionOnMissing "condition-on-missing" Conditions ["rfc9110-13.2.1/not-on-failure"]
        "RFC 9110 13.2.1"
        "GET, HEAD and DELETE of a missing resource with a false If-Match get 412 instead of 404.";
    NotModifiedTagAltered "not-modified-tag-altered" Conditions ["rfc9110-15.4.5/etag"]
        "RFC 9110 15.4.5"
        "304 marks a strong entity tag as weak, and a weak one as strong."
        like "Apache Tomcat" "https://github.com/apache/tomcat/pull/337";

    LostPut "lost-put" Storage ["store/put-lasts"]
        "RFC 9110 9.3.4: a PUT stores its content"
        "Now and then a PUT to an existing resource is confirmed but not performed.";
    StaleRead "stale-read" Storage ["store/read-current"]
        "RFC 9110 9.3.1: GET returns the current representation"
        "Now and then GET returns the content from before the last PUT.";
    DeletedComesBack "deleted-comes-back" Storage ["store/read-current"]
        "RFC 9110 9.3.5: a deleted resource is gone"
        "Now and then GET returns the content of a deleted resource.";
    // A server that sends an entity tag in its response claims to have stored the content exactly as it
    // was sent.
    PutLosesByte "put-loses-byte" Storage ["rfc9110-9.3.4/validators", "store/put-exact"]
        "RFC 9110 9.3.4: a PUT stores its content"
        "Now and then PUT stores the content without its last byte.";
    // A server that sends an entity tag in its response claims to have stored the content exactly as it
    // was sent.
    PutAddsByte "put-adds-byte" Storage ["rfc9110-9.3.4/validators", "store/put-exact"]
        "RFC 9110 9.3.4: a PUT stores its content"
        "Now and then PUT stores the content with an added line feed.";
    DeleteDoesNot "delete-does-not" Storage ["store/delete-lasts"]
        "RFC 9110 9.3.5: a deleted resource is gone"
        "Now and then a DELETE is confirmed but not performed.";
    DeleteTakesNeighbour "delete-takes-neighbour" Storage ["store/stays"]
        "RFC 9110 9.3.5: a resource is changed only by requests to it"
        "DELETE also removes another resource whose path has the same length, if there is one.";
    NewTagOldContent "new-tag-old-content" Storage ["rfc9110-9.3.4/validators", "store/put-lasts"]
        "RFC 9110 9.3.4, 8.8.3"
        "Now and then a PUT to an existing resource changes the entity tag but not the content.";
    TagOfSecond "tag-of-second" Storage ["rfc9110-8.8.3/strong-tag-differs"]
        "RFC 9110 8.8.1, 8.8.3"
        "The strong entity tag is the second of the last change: two changes in one second share a tag."
        like "Nextcloud" "https://github.com/nextcloud/server/issues/63994";
    // A server that sends an entity tag in its response claims to have stored the content exactly as it
    // was sent.
    PutTellsOldTag "put-tells-old-tag" Storage ["rfc9110-9.3.4/validators", "store/put-exact"]
        "RFC 9110 9.3.4"
        "The response to a PUT that replaces content carries the entity tag of the replaced content.";
    CreationUntold "creation-untold" Storage ["rfc9110-9.3.4/created"]
        "RFC 9110 9.3.4"
        "A PUT that creates a resource gets 204 instead of 201.";
    ReplacementIs201 "replacement-is-201" Storage ["rfc9110-9.3.4/replaced"]
        "RFC 9110 9.3.4"
        "A PUT that replaces is answered 201.";
    ContentUnsent "content-unsent" Storage ["store/content-sent"]
        "RFC 9110 9.3.1: GET yields the current representation"
        "Now and then GET of content is answered 204.";
    ContentChanges "content-changes" Storage ["store/steady-content"]
        "content changes by requests only"
        "Now and then content that is read is exchanged for another.";
    RefusedButDone "refused-but-done" Storage ["store/refused-not-done"]
        "a write that is refused is not performed"
        "A PUT in chunks is answered 411, and performed.";
    DateAhead "date-ahead" Storage ["rfc9110-8.8.2.1/not-later-than-date"]
        "RFC 9110 8.8.2.1"
        "Last-Modified is an hour ahead.";
    HeadLengthZero "head-length-zero" Storage ["rfc9110-8.6/length-of-get"]
        "RFC 9110 8.6, 9.3.2"
        "The response to HEAD has `Content-Length: 0` for any content."
        like "Relic" "https://github.com/serverpod/relic/issues/175";

    TornRead "torn-read" Atomicity ["store/whole"]
        "a replacement is visible as a whole or not at all"
        "During a PUT, GET returns half of the new content and half of the old."
        like "mountx" "https://github.com/pithings/mountx/issues/20";
    TwoWinners "two-winners" Atomicity ["store/one-winner"]
        "RFC 9110 13.1.1: no lost update"
        "If-Match is checked some time before the PUT is performed: two PUTs with the same tag can both succeed."
        like "Versity S3 Gateway" "https://github.com/versity/versitygw/pull/2288";
    TwoCreators "two-creators" Atomicity ["store/one-winner"]
        "RFC 9110 13.1.2: no lost update"
        "`If-None-Match: *` is checked some time before the PUT is performed: two PUTs can both create the resource."
        like "Floci" "https://github.com/floci-io/floci/issues/1328";
    PutAndDeleteWin "put-and-delete-win" Atomicity ["store/one-winner"]
        "RFC 9110 13.1.1: no lost update"
        "If-Match is checked some time before the DELETE is performed: it can remove content that was put in between.";

    SwappedPipeline "swapped-pipeline" Framing ["rfc9112-9.3.2/order"]
        "RFC 9112 9.3.2"
        "The second of two pipelined requests gets its response first."
        like "Twisted" "https://github.com/twisted/twisted/issues/11976";
    CrossedConnections "crossed-connections" Framing ["rfc9112-9.2/own-answer"]
        "RFC 9112 9.2"
        "Now and then the responses to GETs of two resources on two connections are swapped.";
    BodyAfterHead "body-after-head" Framing ["rfc9112-6.3/nothing-after-the-end"]
        "RFC 9110 9.3.2, RFC 9112 6.3"
        "Now and then the response to HEAD has content."
        like "WsgiDAV" "https://github.com/mar10/wsgidav/issues/123";
    BodyAfter304 "body-after-304" Framing ["rfc9112-6.3/nothing-after-the-end"]
        "RFC 9110 15.4.5, RFC 9112 6.3"
        "Now and then 304 is followed by the content of the resource.";
    BodyAfter204 "body-after-204" Framing ["rfc9112-6.3/nothing-after-the-end"]
        "RFC 9110 15.3.5, RFC 9112 6.3"
        "Now and then 204 is followed by content."
        like "dusty" "https://github.com/lalinsky/dusty/pull/187";
    LengthOneShort "length-one-short" Framing ["rfc9110-8.6/length-true"]
        "RFC 9110 8.6"
        "Now and then Content-Length is one less than the number of bytes sent.";
    // If the response passes a gateway, one that never ends counts as no response.
    LengthOneLong "length-one-long" Framing ["rfc9110-8.6/length-true", "gateway/answered"]
        "RFC 9110 8.6"
        "Now and then Content-Length is one more than the number of bytes sent.";
    // If the response passes a gateway, one that never ends counts as no response.
    LengthOneTooLarge "length-one-too-large" Framing ["rfc9110-8.6/length-true", "gateway/answered"]
        "RFC 9110 8.6"
        "Every Content-Length is one more than the number of bytes sent.";
    LastChunkMissing "last-chunk-missing" Framing ["rfc9112-7.1/chunks"]
        "RFC 9112 7.1"
        "Now and then content is sent in chunks without the last chunk, the empty one.";
    BareLineFeed "bare-line-feed" Framing ["rfc9112-2.1/grammar"]
        "RFC 9112 2.2"
        "Now and then the status line ends in LF without CR."
        rewrites |head| head.replacen("\r\n", "\n", 1);
    ObsoleteDate "obsolete-date" Framing ["rfc9110-5.6.7/imf-fixdate"]
        "RFC 9110 5.6.7"
        "Now and then Date is in the obsolete format of RFC 850."
        rewrites with_obsolete_date;
    LengthWith204 "length-with-204" Framing ["rfc9112-6.1/framing-fields"]
        "RFC 9110 8.6"
        "204 comes with Content-Length: 0.";
    AllowMissing "allow-missing" Framing ["rfc9110-15.5.6/allow"]
        "RFC 9110 15.5.6"
        "405 comes without Allow.";
    // Where another request is under way by then, the error looks like the response to that one.
    BodyUnread "body-unread" Framing ["rfc9112-9.3/body-read", "store/serves"]
        "RFC 9112 9.3"
        "Now and then the content of a PUT is taken for the next request too, and answered 400.";
    CloseIgnored "close-ignored" Framing ["rfc9112-9.6/close-heeded"]
        "RFC 9112 9.6"
        "`Connection: close` in a request has no effect."
        like "HttpServer.jl" "https://github.com/JuliaWeb/HttpServer.jl/issues/23";
    ConflictingLengths "conflicting-lengths" Framing ["rfc9112-6.3/conflicting-lengths"]
        "RFC 9112 6.3"
        "The first of several different Content-Lengths is used."
        like "H2O" "https://github.com/h2o/h2o/issues/3396";
    LengthOverChunked "length-over-chunked" Framing ["rfc9112-6.1/length-beside-chunks"]
        "RFC 9112 6.1, 6.3"
        "Transfer-Encoding is ignored beside Content-Length, and the connection stays open."
        like "OpenLiteSpeed" "https://github.com/litespeedtech/openlitespeed/issues/392";
    ChunkSizeTruncated "chunk-size-truncated" Framing ["rfc9112-7.1/large-chunk"]
        "RFC 9112 7.1"
        "Chunk sizes are truncated to 32 bits: 100000002 is read as 2."
        like "Bun" "https://github.com/oven-sh/bun/pull/26931";
    SpaceBeforeColon "space-before-colon" Framing ["rfc9112-5.1/space-before-colon"]
        "RFC 9112 5.1"
        "A space between a field name and the colon is accepted."
        like "fasthttp" "https://github.com/valyala/fasthttp/pull/2187";
    TwoHosts "two-hosts" Framing ["rfc9112-3.2/two-hosts"]
        "RFC 9112 3.2"
        "A request with two Host fields is accepted."
        like "Bun" "https://github.com/oven-sh/bun/pull/33717";
    NoHost "no-host" Framing ["rfc9112-3.2/no-host"]
        "RFC 9112 3.2"
        "An HTTP/1.1 request without Host is accepted."
        like "Go net/http" "https://github.com/golang/go/issues/13624";

    RangeOneShort "range-one-short" Ranges ["rfc9110-15.3.7.1/part"]
        "RFC 9110 14.1.2, 15.3.7.1"
        "206 lacks the last byte of the range in its Content-Range."
        like "Sharry" "https://github.com/eikek/sharry/issues/1163";
    ContentRangeExclusive "content-range-exclusive" Ranges ["rfc9110-14.4/content-range", "rfc9110-15.3.7.1/part"]
        "RFC 9110 14.4"
        "The last position in Content-Range is one too high."
        like "Suave" "https://github.com/SuaveIO/suave/issues/596";
    SuffixFromStart "suffix-from-start" Ranges ["rfc9110-15.3.7.1/part"]
        "RFC 9110 14.1.2"
        "A request for the last bytes gets the first ones, with the Content-Range of the last.";
    BeyondEndIs206 "beyond-end-is-206" Ranges ["rfc9110-14.4/content-range", "rfc9110-15.3.7.1/part"]
        "RFC 9110 14.4"
        "A range beyond the end gets 206, with a Content-Range that ends before it begins."
        like "Chimera" "https://github.com/chimera-nas/chimera/issues/1196";
    RangeFromStart "range-from-start" Ranges ["rfc9110-14.2/asked"]
        "RFC 9110 14.2"
        "A range is answered with as many bytes from the beginning, and the Content-Range of these.";
    RangeDenied "range-denied" Ranges ["rfc9110-15.5.17/unsatisfiable"]
        "RFC 9110 15.5.17"
        "Now and then a range that is there is answered 416.";
    RangeOnHead "range-on-head" Ranges ["rfc9110-14.2/only-get"]
        "RFC 9110 14.2"
        "HEAD with Range gets 206."
        like "nginx, as seen in MDN's tracker" "https://github.com/mdn/content/issues/14557";
    IfRangeIgnored "if-range-ignored" Ranges ["rfc9110-13.1.5/if-range"]
        "RFC 9110 13.1.5"
        "Range is applied though the entity tag in If-Range is not the current one."
        like "aiohttp" "https://github.com/aio-libs/aiohttp/pull/13480";
    IfRangeWeak "if-range-weak" Ranges ["rfc9110-13.1.5/strong-comparison"]
        "RFC 9110 13.1.5"
        "If-Range uses the weak comparison: Range is applied with a weak tag."
        like "ZealPHP" "https://github.com/sibidharan/zealphp/issues/362";

    // An option, a field, or `close` where the connection goes on: each gives it away.
    HopByHopLeak "hop-by-hop-leak" Proxying ["rfc9110-7.6.1/connection", "rfc9110-7.6.1/known-fields", "rfc9112-9.6/nothing-after-close"]
        "RFC 9110 7.6.1"
        "Connection and other hop-by-hop fields are forwarded."
        like "node-http-proxy" "https://github.com/http-party/node-http-proxy/issues/446";
    NamedFieldLeak "named-field-leak" Proxying ["rfc9110-7.6.1/named-fields"]
        "RFC 9110 7.6.1"
        "Fields that Connection lists are forwarded, unless they are well known."
        like "Go httputil.ReverseProxy" "https://github.com/golang/go/issues/16875";
    ViaMissing "via-missing" Proxying ["rfc9110-7.6.3/via"]
        "RFC 9110 7.6.3"
        "No Via is added to forwarded requests."
        like "Envoy" "https://github.com/envoyproxy/envoy/issues/1030";
    ProxyHostWithoutPort "proxy-host-without-port" Proxying ["gateway/host-port"]
        "RFC 9112 3.2"
        "The Host of a forwarded request lacks the port of the origin.";
    ProxyDropsQuery "proxy-drops-query" Proxying ["gateway/target"]
        "RFC 9110 7.7"
        "The query of the request target is not forwarded.";
    ProxyDropsConditions "proxy-drops-conditions" Proxying ["rfc9110-13.2.1/conditions-forwarded"]
        "RFC 9110 13.2.1"
        "If-Match and If-None-Match are not forwarded.";
    MaxForwardsIgnored "max-forwards-ignored" Proxying ["rfc9110-7.6.2/zero"]
        "RFC 9110 7.6.2"
        "OPTIONS and TRACE with `Max-Forwards: 0` are forwarded.";
    MaxForwardsKept "max-forwards-kept" Proxying ["rfc9110-7.6.2/updated"]
        "RFC 9110 7.6.2"
        "Max-Forwards of OPTIONS and TRACE is forwarded as it came.";
    ProxyTwoHosts "proxy-two-hosts" Proxying ["rfc9112-3.2/one-host"]
        "RFC 9112 3.2"
        "The client's Host is forwarded beside the origin's.";
    ProxyBareLineFeed "proxy-bare-line-feed" Proxying ["rfc9112-2.1/forwarded-grammar"]
        "RFC 9112 2.2"
        "The first line of a forwarded request ends in LF without CR.";
    ProxyFailsAtTrailers "proxy-fails-at-trailers" Proxying ["rfc9112-7.1/unasked-trailers"]
        "RFC 9112 7.1"
        "A response with trailer fields is taken for nonsense, and answered 502.";
    ProxyRetriesPost "proxy-retries-post" Proxying ["rfc9110-9.2.2/retry"]
        "RFC 9110 9.2.2"
        "A request that is not idempotent is sent again after a failure.";
    ProxyChangesMethod "proxy-changes-method" Proxying ["gateway/method"]
        "RFC 9110 7.6: what is forwarded is what was received"
        "POST is forwarded as PUT.";
    ProxyDropsFields "proxy-drops-fields" Proxying ["gateway/request-fields"]
        "RFC 9110 7.6: what is forwarded is what was received"
        "Fields of a request that begin with X-End are not forwarded.";
    ProxyChangesStatus "proxy-changes-status" Proxying ["gateway/status"]
        "RFC 9110 7.6: what is forwarded is what was received"
        "404 is forwarded as 410, and 200 now and then as 203.";
    ProxyDropsTag "proxy-drops-tag" Proxying ["gateway/response-fields"]
        "RFC 9110 7.6: what is forwarded is what was received"
        "The entity tag of a response is not forwarded.";
    ProxyHidesFailure "proxy-hides-failure" Proxying ["gateway/failure-told"]
        "RFC 9110 15.6"
        "Where the origin breaks off, the client is told 204.";
    ProxyAsksUnasked "proxy-asks-unasked" Proxying ["gateway/nothing-invented"]
        "RFC 9110 7.6: what is forwarded was received"
        "Now and then the origin is asked for something that no client asked for.";
    ProxyCutsRequest "proxy-cuts-request" Proxying ["gateway/request-content"]
        "RFC 9110 6.4, 7.6: messages are forwarded unchanged"
        "Now and then a request is forwarded without the last byte of its content.";
    ProxyCutsResponse "proxy-cuts-response" Proxying ["rfc9111-5.2.2.6/no-transform"]
        "RFC 9110 6.4, 7.6: messages are forwarded unchanged"
        "Now and then a response is forwarded without the last byte of its content, and with a matching length."
        like "GPUStack" "https://github.com/gpustack/gpustack/issues/5939";
    // Where requests are pipelined, it looks like a matter of order.
    ProxyMixUp "proxy-mix-up" Proxying ["rfc9112-9.2/own-answer", "rfc9112-9.3.2/order"]
        "RFC 9112 9.2"
        "Now and then two clients that GET at the same time receive each other's response."
        like "HAProxy" "https://github.com/haproxy/haproxy/issues/583";
    ProxySendsTwice "proxy-sends-twice" Proxying ["gateway/once"]
        "RFC 9110 9.2.2"
        "A request that is not idempotent is sent to the origin twice."
        like "Pingora" "https://github.com/cloudflare/pingora/issues/979";
    ProxyReplaysPut "proxy-replays-put" Proxying ["gateway/once"]
        "RFC 9110 7.6: only received requests are forwarded"
        "Now and then, after a DELETE, the last PUT is sent to the origin again.";
    ProxyAnswersItself "proxy-answers-itself" Proxying ["gateway/from-origin"]
        "RFC 9110 7.6: what is received is forwarded"
        "Now and then GET is answered 200 by the proxy itself, and the origin is not asked.";
    ProxyMergesTrailers "proxy-merges-trailers" Proxying ["rfc9112-7.1.2/trailers-apart"]
        "RFC 9112 7.1.2"
        "Trailer fields of a response become fields of its head.";
    ProxyStartledByInterim "proxy-startled-by-interim" Proxying ["rfc9110-15.2/interim"]
        "RFC 9110 15.2"
        "An interim response from the origin is treated as an error: the client gets 502.";
    ProxyKeepsOld "proxy-keeps-old" Proxying ["rfc9111-5.2.2.5/no-store"]
        "RFC 9111 4.4"
        "Now and then GET gets a cached response that a PUT or DELETE should have invalidated.";

    HangOnHead "hang-on-head" Liveness ["live/answered", "gateway/answered"]
        "every request gets a response"
        "Now and then HEAD gets no response, and the connection stays open.";
    // If a fourth request gets a response, that looks like the response to the third.
    ThirdUnanswered "third-unanswered" Liveness ["live/answered", "rfc9112-9.3.2/order"]
        "RFC 9112 9.3.2: every request gets a response"
        "The third of several requests that arrive together gets no response."
        like "libwebsockets" "https://github.com/warmcat/libwebsockets/issues/638";
    ContinueUnsent "continue-unsent" Liveness ["rfc9110-10.1.1/continue"]
        "RFC 9110 10.1.1"
        "`Expect: 100-continue` gets no 100: the server waits for the content."
        like "XRootD" "https://github.com/xrootd/xrootd/issues/2273";
    ClosedUnanswered "closed-unanswered" Liveness []
        "every request gets a response"
        "Now and then a request is performed, and the connection is closed without a response.";
}

/// Returns a head with its Date in the format of RFC 850: `Sunday, 06-Nov-94 08:49:37 GMT`.
fn with_obsolete_date(head: &str) -> String {
    let Some((before, (date, after))) =
        head.split_once("\r\nDate: ").and_then(|(before, rest)| Some((before, rest.split_once("\r\n")?)))
    else {
        return head.to_owned();
    };
    let [day, number, month, year, time, zone] = date.split(' ').collect::<Vec<_>>()[..] else {
        return head.to_owned();
    };
    let day = match &day[..3] {
        "Tue" => "Tuesday",
        "Wed" => "Wednesday",
        "Thu" => "Thursday",
        "Sat" => "Saturday",
        other => &format!("{other}day"),
    };
    let year = &year[2..];
    format!("{before}\r\nDate: {day}, {number}-{month}-{year} {time} {zone}\r\n{after}")
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
