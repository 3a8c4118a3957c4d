//! Table of the oddities: behaviour of the server, the clause that allows it, and its illegal twin.
//!
//! The behaviour is legal to the letter. Its twin is the nearest behaviour that is not, so that a tester that became
//! too lax for the entry would accept the twin as well.

use super::{Side, Theme};

/// Table entry of an oddity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The oddity.
    pub oddity: Oddity,
    /// Name on the command line.
    pub name: &'static str,
    /// Server that can have the oddity.
    pub side: Side,
    /// Subject of the oddity.
    pub theme: Theme,
    /// Group of oddities of which at most one is active in a server; empty if the oddity goes with all others.
    pub group: &'static str,
    /// Clause that allows the behaviour.
    pub clause: &'static str,
    /// Sentence about the behaviour.
    pub summary: &'static str,
    /// Rules below the level *store* that a tester may report because of the oddity: availability, stability,
    /// recommendations.
    pub warns: &'static [&'static str],
    /// Sentence about the behaviour of the illegal twin.
    pub twin: &'static str,
}

const SERVES: &[&str] = &["store/serves"];
const STEADY_TAG: &[&str] = &["store/steady-tag"];
const STEADY_DATE: &[&str] = &["store/steady-date"];
const IF_MODIFIED: &[&str] = &["rfc9110-13.1.3/if-modified-since"];
const FORWARDED: &[&str] = &["gateway/forwarded"];
const QUIET: &[&str] = &[];

macro_rules! oddities {
    ($($side:ident $theme:ident $variant:ident $name:literal $group:literal $warns:ident $clause:literal $summary:literal twin $twin:literal;)*) => {
        /// A legal behaviour that few servers have.
        #[expect(clippy::doc_markdown, reason = "the summaries are printed as well")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Oddity {
            $(#[doc = $summary] $variant,)*
        }

        /// All oddities, by theme.
        pub const TABLE: &[Entry] = &[$(Entry {
            oddity: Oddity::$variant,
            name: $name,
            side: Side::$side,
            theme: Theme::$theme,
            group: $group,
            clause: $clause,
            summary: $summary,
            warns: $warns,
            twin: $twin,
        }),*];
    };
}

oddities! {
    // Validators
    Origin Validators NoTag "no-tag" "tag" QUIET "RFC 9110, 8.8.3"
        "No response has an ETag, so no tag in a condition matches."
        twin "If-Match is true for any list if the resource has no tag.";
    Origin Validators NoClock "no-clock" "date" QUIET "RFC 9110, 6.6.1 and 8.8.2.1"
        "The server has no clock: it sends neither Date nor Last-Modified."
        twin "Last-Modified is sent, and GET and HEAD evaluate If-Unmodified-Since as If-Modified-Since.";
    Origin Validators WeakTag "weak-tag" "tag" QUIET "RFC 9110, 8.8.1 and 8.8.3"
        "All tags are weak, so If-Match is true only for *."
        twin "A weak tag in If-Match matches.";
    Origin Validators RipeningTag "ripening-tag" "tag" QUIET "RFC 9110, 8.8.1"
        "A tag is weak for 50 ms after a write and strong afterwards, with the same text."
        twin "All contents of a resource have the same tag text, even once the tag is strong.";
    Origin Validators LateTag "late-tag" "tag" QUIET "RFC 9110, 8.8.3 and 9.3.4"
        "The tag is computed in the background: for the first 20 ms after a write there is none."
        twin "While the tag is computed, the tag of the previous content is sent.";
    Origin Validators ChangingTag "changing-tag" "tag" STEADY_TAG "RFC 9110, 8.8.1"
        "The strong tag is replaced by a new one 30 ms after a write, though the content stays the same."
        twin "The strong tag is replaced by the tag of the previous content.";
    Origin Validators ContentTag "content-tag" "tag" QUIET "RFC 9110, 8.8.1"
        "The tag is a hash of the content: the same content always has the same tag."
        twin "The tag is the length of the content.";
    Origin Validators StrangeTag "strange-tag" "tag" QUIET "RFC 9110, 8.8.3"
        "Tags contain commas, backslashes and bytes above 127 between their quotes."
        twin "Lists of tags are split at every comma, including commas between quotes.";
    Origin Validators CodingTag "coding-tag" "tag" STEADY_TAG "RFC 9110, 8.8.1, 8.8.3 and 12.4.1"
        "The representation alternates every 40 ms between gzip and no coding, regardless of Accept-Encoding; each coding has its own tag."
        twin "The coded representation has the tag of the previous content.";
    Origin Validators PutUntold "put-untold" "" QUIET "RFC 9110, 9.3.4"
        "The response to PUT has no validators."
        twin "The response to PUT has the tag of the stored content, to which a line end was added.";
    Origin Validators CoarseDate "coarse-date" "date" QUIET "RFC 9110, 8.8.2"
        "Last-Modified is rounded down to a multiple of ten seconds, in conditions too."
        twin "GET and HEAD whose If-Modified-Since is false get 412.";
    Origin Validators RoundedDate "rounded-date" "date" STEADY_DATE "RFC 9110, 8.8.2 and 8.8.2.1"
        "Last-Modified is rounded up to a multiple of four seconds, but never later than Date: it changes while the content stays the same."
        twin "Last-Modified is rounded up and may be later than Date.";
    Origin Validators EpochDate "epoch-date" "date" QUIET "RFC 9110, 8.8.2"
        "Last-Modified is the first second of 1970 for every resource."
        twin "Reads with a date in a condition get 404.";
    Origin Validators SinceIgnored "since-ignored" "" IF_MODIFIED "RFC 9110, 13.1.3"
        "If-Modified-Since is not evaluated; evaluating it is a SHOULD."
        twin "If-Modified-Since is evaluated beside If-None-Match.";
    Origin Validators LongNotModified "long-304" "" QUIET "RFC 9110, 8.6 and 15.4.5"
        "304 has Last-Modified, and the Content-Length that 200 would have."
        twin "The Content-Length of 304 is one more.";
    Origin Validators BareHead "bare-head" "" QUIET "RFC 9110, 9.3.2 and 8.6"
        "The response to HEAD has no Content-Length."
        twin "The response to HEAD has Content-Length: 0.";
    Origin Validators HeadUntold "head-untold" "" QUIET "RFC 9110, 9.3.2"
        "The response to HEAD has no validators, though that to GET has."
        twin "The response to HEAD has the tag of the previous content.";
    Origin Validators WrongClock "wrong-clock" "" QUIET "RFC 9110, 6.6.1 and 8.8.2.1"
        "The clock of the server is an hour slow."
        twin "Date is an hour slow, and Last-Modified is not.";

    // Statuses
    Origin Statuses Replaced200 "put-200" "" QUIET "RFC 9110, 9.3.4 and 15.3.1"
        "A PUT that replaces content gets 200, with content that confirms it."
        twin "A PUT that replaces content gets 201.";
    Origin Statuses Created201 "put-201-long" "" QUIET "RFC 9110, 15.3.2"
        "A PUT that creates a resource gets 201 with Location and content."
        twin "A PUT that creates a resource gets 200.";
    Origin Statuses Deleted200 "delete-200" "delete" QUIET "RFC 9110, 9.3.5"
        "DELETE gets 200, with content that confirms it."
        twin "DELETE gets 200, but every third one removes nothing.";
    Origin Statuses Deleted303 "delete-303" "delete" QUIET "RFC 9110, 9.3.5 and 15.4.4"
        "DELETE gets 303, with a Location that describes the outcome."
        twin "PUT gets 303, though it is performed.";
    Origin Statuses NewStatus "new-status" "" SERVES "RFC 9110, 15"
        "Now and then a read gets 299, a status that no client knows, without the content."
        twin "A PUT that is performed gets 299.";
    Origin Statuses DeleteAgain "delete-again" "" QUIET "RFC 9110, 9.2.2 and 9.3.5"
        "DELETE of a missing resource succeeds with 204."
        twin "DELETE of an existing resource gets 404, and removes it.";
    Origin Statuses Gone "gone" "" QUIET "RFC 9110, 15.5.11"
        "A deleted resource gets 410 until it is put again."
        twin "A request for a resource that was put again gets 410 at random, half of the time.";
    Origin Statuses NotImplemented "not-implemented" "" QUIET "RFC 9110, 15.6.2"
        "Methods other than GET, HEAD, PUT, DELETE and OPTIONS get 501."
        twin "These methods get 405 without Allow.";
    Origin Statuses LongOptions "long-options" "" QUIET "RFC 9110, 9.3.7"
        "OPTIONS gets 200, with content."
        twin "OPTIONS with If-None-Match: * gets 412.";
    Origin Statuses LengthRequired "length-required" "" SERVES "RFC 9110, 15.5.12"
        "A chunked PUT is refused with 411."
        twin "A chunked PUT gets 411, but is stored.";
    Origin Statuses ExpectationFailed "expectation-failed" "" SERVES "RFC 9110, 10.1.1 and 15.5.18"
        "Expect: 100-continue gets 417 at once, and the connection is closed."
        twin "Expect: 100-continue gets 417, followed by 201.";
    Origin Statuses AlreadySo "already-so" "" QUIET "RFC 9110, 13.1.1"
        "A PUT whose If-Match is false gets 204 if the resource already has its content."
        twin "A PUT whose If-Match is false gets 204 for any content, and is not performed.";
    Origin Statuses Empty204 "empty-204" "" QUIET "RFC 9110, 15.3.5"
        "GET of empty content gets 204."
        twin "Every eighth GET gets 204, for any content.";

    // Framing
    Origin Framing Extensions "chunk-extensions" "" QUIET "RFC 9112, 7.1.1"
        "Content is sent in chunks with extensions, and with sizes that have leading zeros and capital letters."
        twin "Chunk sizes begin with 0x.";
    Origin Framing SingleBytes "one-byte-chunks" "" QUIET "RFC 9112, 7.1"
        "Content is sent in chunks of one byte."
        twin "Chunk sizes are one too large.";
    Origin Framing Trailers "trailers" "" QUIET "RFC 9112, 7.1.2; RFC 9110, 6.5"
        "Chunks are followed by trailer fields."
        twin "A trailer field has no colon.";
    Origin Framing UntilClose "until-close" "" QUIET "RFC 9112, 6.3"
        "Content ends with the connection."
        twin "The last byte of the content is missing.";
    Origin Framing Version10 "http-1.0" "" QUIET "RFC 9112, 2.3"
        "Responses are HTTP/1.0, and the connection is closed after each."
        twin "The version is written in lower case.";
    Origin Framing Reason "reason" "" QUIET "RFC 9112, 4"
        "The reason phrase is empty, or contains tabs and bytes above 127."
        twin "There is no space after the status code.";
    Origin Framing Whitespace "whitespace" "" QUIET "RFC 9112, 5; RFC 9110, 5.1"
        "Field names are written in any case, and field values have spaces and tabs around them, or none."
        twin "There is a space before the colon.";
    Origin Framing ManyFields "many-fields" "" QUIET "RFC 9110, 5.1 and 5.2"
        "Responses have forty unknown fields, some with the same name, some empty, and Keep-Alive."
        twin "One of these fields is continued on the next line.";
    Origin Framing Pieces "pieces" "" QUIET "RFC 9112, 2.2"
        "A response is sent in many small pieces."
        twin "Content-Length is one too small.";
    Origin Framing OffersUpgrade "offers-upgrade" "" QUIET "RFC 9110, 7.8"
        "Every response offers another protocol: it has Upgrade, listed in Connection."
        twin "A 101 that no client asked for precedes the final response.";

    // Interim responses
    Origin Interim Hints "early-hints" "" QUIET "RFC 9110, 15.2; RFC 8297, 2"
        "A final response follows one or more 103 responses."
        twin "The 103 has Transfer-Encoding.";
    Origin Interim Processing "processing" "" QUIET "RFC 9110, 15.2"
        "The final response to a PUT follows 102 responses, with pauses."
        twin "The 102 has a length and content.";
    Origin Interim Continue "unasked-100" "" QUIET "RFC 9110, 15.2"
        "A final response follows a 100 that the client did not expect."
        twin "The 100 has content.";

    // Closing
    Origin Closing AlwaysClose "always-close" "" QUIET "RFC 9112, 9.6"
        "Every response says close, and the connection is closed."
        twin "Responses say close, but the next request on the connection gets a response.";
    Origin Closing Unannounced "unannounced-close" "" QUIET "RFC 9112, 9.5"
        "Now and then the connection is closed after a response that does not say close."
        twin "Closing the connection undoes a write that was confirmed just before.";
    Origin Closing Reset "reset" "" QUIET "RFC 9112, 9.5 and 9.6"
        "Now and then the connection is reset after a response."
        twin "Resetting the connection removes the resource that was put last on it.";
    Origin Closing Idle "idle-close" "" QUIET "RFC 9112, 9.5"
        "Now and then a connection is closed after it was idle for about 30 ms."
        twin "The connection is closed after an unrequested 200.";
    Origin Closing Timeout "timeout-408" "" SERVES "RFC 9110, 15.5.9; RFC 9112, 9.5"
        "Now and then a connection is closed with 408 after it was idle for about 30 ms."
        twin "The 408 is sent, but the connection stays open.";
    Origin Closing Unanswered "unanswered" "" QUIET "RFC 9112, 9.4 and 9.5"
        "Now and then the connection is closed instead of sending a response; a write may have been performed."
        twin "The write is performed, and again after the next write.";

    // Ranges
    Origin Ranges Ignored "ranges-ignored" "range" QUIET "RFC 9110, 14.2"
        "Range is ignored."
        twin "All content is sent as 206 without Content-Range.";
    Origin Ranges SuffixOnly "suffix-only" "range" QUIET "RFC 9110, 14.2"
        "Range is ignored unless it requests the last bytes."
        twin "The first bytes are sent instead of the last.";
    Origin Ranges UnknownLength "unknown-length" "" QUIET "RFC 9110, 14.4"
        "The Content-Range of 206 has * as the complete length."
        twin "The complete length in Content-Range is one too large.";
    Origin Ranges Unsatisfied200 "unsatisfied-200" "unsatisfied" QUIET "RFC 9110, 14.2 and 15.5.17"
        "A range beyond the end gets 200."
        twin "A range beyond the end gets 416 with a wrong complete length.";
    Origin Ranges Bare416 "bare-416" "unsatisfied" QUIET "RFC 9110, 15.5.17"
        "416 has no Content-Range."
        twin "HEAD with a Range beyond the end gets 416.";
    Origin Ranges ShortPart "short-part" "" QUIET "RFC 9110, 15.3.7"
        "206 has half of the requested range."
        twin "The positions in Content-Range are off by one.";
    Origin Ranges IfRangeFalse "if-range-false" "" QUIET "RFC 9110, 14.2 and 13.1.5"
        "Range is ignored beside If-Range."
        twin "If-Range is ignored.";

    // Refusals
    Origin Refusals Unavailable "unavailable" "" SERVES "RFC 9110, 15.6.4"
        "Now and then a request gets 503, with or without Retry-After, and is not performed."
        twin "Half of the content of the PUT is stored.";
    Origin Refusals TooMany "too-many" "" SERVES "RFC 6585, 4; RFC 9110, 10.2.3 and 15.5"
        "Now and then a request gets 429, with or without Retry-After."
        twin "A write that gets 429 is performed.";
    Origin Refusals Temporary "temporary-redirect" "" SERVES "RFC 9110, 15.4.8"
        "Now and then a request gets 307 to another path."
        twin "The write is also performed at the original path.";
    Origin Refusals Permanent "permanent-redirect" "" SERVES "RFC 9110, 15.4.9"
        "Now and then a request gets 308 to another path."
        twin "The resource at the original path is removed.";
    Origin Refusals Forbidden "forbidden" "" SERVES "RFC 9110, 15.5.4"
        "Now and then a request gets 403."
        twin "The write is performed a moment later.";
    Origin Refusals Locked "locked" "" SERVES "RFC 4918, 11.3; RFC 9110, 15.5"
        "A write that overlaps another one to the same resource gets 423."
        twin "The write is performed after the other one.";
    Origin Refusals WeakIfRange "weak-if-range-400" "" SERVES "RFC 9110, 13.1.5 and 15.5.1"
        "If-Range with a weak tag, which clients must not send, gets 400."
        twin "If-Range with a weak tag matches by weak comparison.";

    // Broken-off messages
    Origin Broken BrokenHead "broken-head" "" QUIET "RFC 9112, 8 and 9.5"
        "Now and then the connection ends within the head of a response."
        twin "A field line breaks off before its colon, and the head continues.";
    Origin Broken BrokenInterim "broken-interim" "" QUIET "RFC 9112, 8 and 9.5"
        "Now and then the connection ends within the head of a 103."
        twin "The final response, with content, follows half of a 103.";
    Origin Broken BrokenPart "broken-part" "" QUIET "RFC 9112, 8 and 9.5"
        "Now and then the connection ends within the head of a 206, before Content-Range."
        twin "The head of the 206 is complete, but without Content-Range.";
    Origin Broken BrokenContent "broken-content" "" QUIET "RFC 9112, 8 and 9.5"
        "Now and then the connection ends within the content."
        twin "The content continues with other bytes.";

    // Unknown outcomes
    Origin Outcomes ErrorLater "error-later" "" SERVES "RFC 9110, 15.6 and 9.2.2"
        "Now and then a write gets 500, 502 or 504, and is performed later (its conditions are evaluated then) or never."
        twin "The write is performed at once, and again after the next write.";
    Origin Outcomes ErrorDone "error-done" "" SERVES "RFC 9110, 15.6"
        "Now and then a write is performed and gets 500."
        twin "Half of the write is performed.";
    Origin Outcomes AcceptedLater "accepted-later" "" SERVES "RFC 9110, 15.3.3"
        "Now and then a write gets 202 and is performed later; its conditions are evaluated then."
        twin "A write that got 412 is performed later.";
    Origin Outcomes AcceptedNever "accepted-never" "" SERVES "RFC 9110, 15.3.3"
        "Now and then a write gets 202 and is never performed."
        twin "A write gets 204 and is never performed.";
    Origin Outcomes SilentLater "silent-later" "" QUIET "RFC 9112, 9.4 and 9.5; RFC 9110, 9.2.2"
        "Now and then the connection is closed instead of sending a response to a write, which is performed later; its conditions are evaluated then."
        twin "The write is performed later even if its conditions are false.";

    // Timing
    Origin Timing SlowBefore "slow-before" "" QUIET "RFC 9110, 13.2.1"
        "Requests wait before they are performed."
        twin "Conditions are evaluated before the wait.";
    Origin Timing SlowAfter "slow-after" "" QUIET "RFC 9110, 9.2"
        "Requests wait after they are performed, before their responses are sent."
        twin "Responses to writes are sent at once, and the writes are performed a moment later.";
    Origin Timing SlowContent "slow-content" "" QUIET "RFC 9112, 2.2; RFC 9110, 8.8.3"
        "There is a pause between the head and the content, which is the content of the moment in which the head was made."
        twin "The content is that of the moment after the pause.";
    Origin Timing Parallel "parallel-reads" "" QUIET "RFC 9112, 9.3.2"
        "Pipelined reads are evaluated in any order, and their responses are sent in the order of the requests."
        twin "Reads are evaluated before an earlier write on the same connection.";

    // Content coding
    Origin Coding AlwaysCoded "always-coded" "coding" QUIET "RFC 9110, 8.4, 12.4.1 and 12.5.3"
        "All content is coded with gzip, regardless of Accept-Encoding."
        twin "A strong tag of coded content stays the same for five writes.";
    Origin Coding BigCoded "big-coded" "coding" QUIET "RFC 9110, 8.4, 12.4.1 and 12.5.3"
        "Content of at least a hundred bytes is coded with gzip, regardless of Accept-Encoding; less is not."
        twin "The coded content is sent without Content-Encoding.";

    // Gateways: connections
    Gateway Upstream Pool "pool" "line" QUIET "RFC 9112, 9.3; RFC 9110, 3.7"
        "Upstream connections are kept open and reused."
        twin "Two clients that send requests at the same time get each other's responses.";
    Gateway Upstream NewEach "new-each" "line" QUIET "RFC 9112, 9.6"
        "Each request is sent upstream on a new connection, with Connection: close."
        twin "The client's Connection field is forwarded, with the fields that it lists.";
    Gateway Upstream Pipelines "pipelines" "line" QUIET "RFC 9112, 9.3.2"
        "Safe requests of several clients are pipelined on one upstream connection."
        twin "The response to the previous request is relayed.";
    Gateway Upstream HalfClose "half-close" "line" QUIET "RFC 9112, 9.6"
        "The gateway closes its side of an upstream connection after the request."
        twin "The content of the request is left out.";
    Gateway Upstream Upstream10 "upstream-1.0" "line" QUIET "RFC 9110, 3.7; RFC 9112, 2.3"
        "Requests are sent upstream as HTTP/1.0."
        twin "Requests are sent upstream without Via.";
    Gateway Upstream Retries "retries" "" QUIET "RFC 9110, 9.2.2"
        "An idempotent request is sent again after a failure."
        twin "Every fourth idempotent request is sent again without a failure.";
    Gateway Upstream HeadAsGet "head-as-get" "" QUIET "RFC 9110, 3.7 and 9.3.2"
        "HEAD is sent upstream as GET, and the content is dropped."
        twin "POST is sent upstream as PUT.";
    Gateway Upstream GivesUp "gives-up" "line" FORWARDED "RFC 9110, 15.6.3 and 9.2.2"
        "If a reused upstream connection turns out to be closed, the client gets 502, and the request is not sent again."
        twin "The client gets 200, without content.";
    Gateway Upstream FailureStatus "failure-status" "" QUIET "RFC 9110, 15.6.4 and 15.6.5"
        "Failures of the origin are reported as 503 or 504."
        twin "Failures of the origin are reported as 204.";

    // Gateways: messages
    Gateway Reframing ToChunks "to-chunks" "" QUIET "RFC 9112, 6.1 and 7.1"
        "Requests with a length are sent upstream in chunks."
        twin "The last byte of the content is left out.";
    Gateway Reframing BothFramings "to-length" "" QUIET "RFC 9112, 6.3"
        "Chunked requests are sent upstream with a length."
        twin "Chunked requests are sent upstream with a length and Transfer-Encoding.";
    Gateway Reframing ResponseChunks "response-chunks" "" QUIET "RFC 9112, 6.1 and 7.1"
        "Responses with a length are relayed in chunks."
        twin "A line end is added to the content.";
    Gateway Reframing ResponseUntilClose "response-until-close" "" QUIET "RFC 9112, 6.3"
        "Responses are relayed without a length, and the connection is closed."
        twin "The last byte of every other response is left out.";
    Gateway Reframing Refuses411 "refuses-chunks" "" QUIET "RFC 9110, 15.5.12"
        "Chunked requests are refused with 411."
        twin "Chunked requests are forwarded without content.";
    Gateway Reframing Buffers "buffers" "relay" QUIET "RFC 9112, 8; RFC 9110, 15.6.3"
        "A response is relayed once it has arrived completely; an incomplete one becomes 502."
        twin "An incomplete response is relayed as if it were complete.";
    Gateway Reframing Streams "streams" "relay" QUIET "RFC 9112, 8"
        "A response is relayed as it arrives; an incomplete one breaks off for the client too."
        twin "An incomplete response is filled up with zeros.";
    Gateway Reframing DropsInterim "drops-interim" "interim" QUIET "RFC 9110, 15.2 and 3.7"
        "Interim responses are not relayed."
        twin "An interim response is relayed as the final one.";
    Gateway Reframing ForwardsInterim "forwards-interim" "interim" QUIET "RFC 9110, 15.2"
        "Interim responses are relayed, and a 103 is added."
        twin "Interim responses are relayed with status 200.";
    Gateway Reframing DropsTrailers "drops-trailers" "trailers" QUIET "RFC 9110, 6.5.1 and 6.5.2"
        "Trailer fields are dropped."
        twin "Trailer fields are moved into the header section.";
    Gateway Reframing ForwardsTrailers "forwards-trailers" "trailers" QUIET "RFC 9110, 6.5"
        "Trailer fields are relayed as trailer fields."
        twin "Connection and the fields that it lists are relayed.";
    Gateway Reframing AddsFields "adds-fields" "" QUIET "RFC 9110, 5.1 and 7.6.3"
        "Fields are added to requests and responses: X-Forwarded-For, Via, Server, X-Cache."
        twin "Fields of the origin whose names begin with X are dropped.";
    Gateway Reframing JoinsLines "joins-lines" "" QUIET "RFC 9110, 5.3"
        "Field lines with the same name are joined into one."
        twin "Field lines with the same name are joined in reverse order.";
    Gateway Reframing CapsForwards "caps-forwards" "" QUIET "RFC 9110, 7.6.2"
        "Max-Forwards is limited to three."
        twin "Max-Forwards is forwarded unchanged.";
    Gateway Reframing SlowGateway "slow-gateway" "" QUIET "RFC 9110, 3.7"
        "Requests and responses wait in the gateway."
        twin "Responses are stored, and every third GET gets a stored one.";
}
