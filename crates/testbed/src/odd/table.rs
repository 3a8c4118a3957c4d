//! The oddities, one entry each: what the server does, the clause that allows it, and its illegal twin.
//!
//! An entry is legal to the letter. Its twin is the nearest behaviour that is not, so that a tester that became too lax
//! for the entry would accept the twin as well.

use super::{Side, Theme};

/// What a table entry says about an oddity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The oddity.
    pub oddity: Oddity,
    /// Its name on the command line.
    pub name: &'static str,
    /// Which of the two servers has it.
    pub side: Side,
    /// What it is about.
    pub theme: Theme,
    /// At most one oddity of a group is active in a server; empty if it goes with all others.
    pub group: &'static str,
    /// The clause that allows it.
    pub clause: &'static str,
    /// What the server does.
    pub summary: &'static str,
    /// Rules below the level *store* that a tester may report because of it: availability, stability, recommendations.
    pub warns: &'static [&'static str],
    /// What its illegal twin does instead.
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
        twin "Where there is no tag, If-Match is true whatever it lists.";
    Origin Validators NoClock "no-clock" "date" QUIET "RFC 9110, 6.6.1 and 8.8.2.1"
        "The server has no clock: it sends neither Date nor Last-Modified."
        twin "Last-Modified is sent, and If-Unmodified-Since is taken for If-Modified-Since with GET and HEAD.";
    Origin Validators WeakTag "weak-tag" "tag" QUIET "RFC 9110, 8.8.1 and 8.8.3"
        "All tags are weak, so If-Match is true only with *."
        twin "A weak tag in If-Match matches.";
    Origin Validators RipeningTag "ripening-tag" "tag" QUIET "RFC 9110, 8.8.1"
        "A tag is weak for 50 ms after a write, and strong from then on, with the same text."
        twin "The text is the same for all contents of the resource, also when the tag has become strong.";
    Origin Validators LateTag "late-tag" "tag" QUIET "RFC 9110, 8.8.3 and 9.3.4"
        "The tag is computed in the background: the first 20 ms after a write there is none."
        twin "While it is computed, the tag of the content before is sent.";
    Origin Validators ChangingTag "changing-tag" "tag" STEADY_TAG "RFC 9110, 8.8.1"
        "The strong tag is replaced by another new one 30 ms after a write, though the content stays."
        twin "It is replaced by the tag that the content before had.";
    Origin Validators ContentTag "content-tag" "tag" QUIET "RFC 9110, 8.8.1"
        "The tag is a hash of the content: equal content has its old tag again."
        twin "The hash is the length of the content.";
    Origin Validators StrangeTag "strange-tag" "tag" QUIET "RFC 9110, 8.8.3"
        "Tags have commas, backslashes and bytes above 127 between their quotes."
        twin "Lists of tags are split at every comma, also between quotes.";
    Origin Validators CodingTag "coding-tag" "tag" STEADY_TAG "RFC 9110, 8.8.1, 8.8.3 and 12.4.1"
        "By turns of 40 ms the representation is coded with gzip, whatever is accepted; each coding has a tag of its own."
        twin "The coded representation has the tag that the content before had.";
    Origin Validators PutUntold "put-untold" "" QUIET "RFC 9110, 9.3.4"
        "The response to PUT has no validators."
        twin "It has the tag of what is stored, and a line end was added to what was put.";
    Origin Validators CoarseDate "coarse-date" "date" QUIET "RFC 9110, 8.8.2"
        "Last-Modified is cut to whole ten seconds, in conditions too."
        twin "GET and HEAD whose If-Modified-Since is false are answered 412.";
    Origin Validators RoundedDate "rounded-date" "date" STEADY_DATE "RFC 9110, 8.8.2 and 8.8.2.1"
        "Last-Modified is rounded up to four seconds, but never later than Date: it changes while the content stays."
        twin "It is rounded up, and may be later than Date.";
    Origin Validators EpochDate "epoch-date" "date" QUIET "RFC 9110, 8.8.2"
        "Last-Modified is the first second of 1970 for everything."
        twin "Reads with a date in a condition are answered 404.";
    Origin Validators SinceIgnored "since-ignored" "" IF_MODIFIED "RFC 9110, 13.1.3"
        "If-Modified-Since is not evaluated: a should."
        twin "If-Modified-Since is evaluated beside If-None-Match.";
    Origin Validators LongNotModified "long-304" "" QUIET "RFC 9110, 8.6 and 15.4.5"
        "304 has Last-Modified, and the Content-Length that 200 would have."
        twin "Its Content-Length is one more.";
    Origin Validators BareHead "bare-head" "" QUIET "RFC 9110, 9.3.2 and 8.6"
        "The response to HEAD has no Content-Length."
        twin "It has one, of 0.";

    // Statuses
    Origin Statuses Replaced200 "put-200" "" QUIET "RFC 9110, 9.3.4 and 15.3.1"
        "A PUT that replaces is answered 200, with content that says so."
        twin "It is answered 201.";
    Origin Statuses Created201 "put-201-long" "" QUIET "RFC 9110, 15.3.2"
        "A PUT that creates is answered 201 with Location and content."
        twin "It is answered 200.";
    Origin Statuses Deleted200 "delete-200" "" QUIET "RFC 9110, 9.3.5"
        "DELETE is answered 200, with content that says so."
        twin "It is answered 200, and every third time nothing was removed.";
    Origin Statuses DeleteAgain "delete-again" "" QUIET "RFC 9110, 9.2.2 and 9.3.5"
        "DELETE of what is not there is a success: 204."
        twin "DELETE of what is there is answered 404, and removes it.";
    Origin Statuses Gone "gone" "" QUIET "RFC 9110, 15.5.11"
        "What was deleted is 410 until it is put again."
        twin "It is 410 also after it was put again, every other time.";
    Origin Statuses NotImplemented "not-implemented" "" QUIET "RFC 9110, 15.6.2"
        "Methods other than GET, HEAD, PUT, DELETE and OPTIONS are answered 501."
        twin "They are answered 405 without Allow.";
    Origin Statuses LongOptions "long-options" "" QUIET "RFC 9110, 9.3.7"
        "OPTIONS is answered 200, with content."
        twin "With If-None-Match: * it is answered 412.";
    Origin Statuses LengthRequired "length-required" "" SERVES "RFC 9110, 15.5.12"
        "PUT in chunks is refused with 411."
        twin "It is answered 411, and stored.";
    Origin Statuses ExpectationFailed "expectation-failed" "" SERVES "RFC 9110, 10.1.1 and 15.5.18"
        "Expect: 100-continue is answered 417 at once, and the connection closed."
        twin "It is answered 417, and 201 right behind it.";
    Origin Statuses AlreadySo "already-so" "" QUIET "RFC 9110, 13.1.1"
        "A PUT whose If-Match is false is answered 204 if that content is there already."
        twin "It is answered 204 whatever is there, and not performed.";
    Origin Statuses Empty204 "empty-204" "" QUIET "RFC 9110, 15.3.5"
        "GET of empty content is answered 204."
        twin "Every eighth GET is answered 204, whatever the content.";

    // Framing
    Origin Framing Extensions "chunk-extensions" "" QUIET "RFC 9112, 7.1.1"
        "Content comes in chunks with extensions, sizes with leading zeros and in capitals."
        twin "Sizes begin with 0x.";
    Origin Framing SingleBytes "one-byte-chunks" "" QUIET "RFC 9112, 7.1"
        "Content comes in chunks of one byte."
        twin "Sizes are one too large.";
    Origin Framing Trailers "trailers" "" QUIET "RFC 9112, 7.1.2; RFC 9110, 6.5"
        "Chunks are followed by trailer fields."
        twin "A trailer field has no colon.";
    Origin Framing UntilClose "until-close" "" QUIET "RFC 9112, 6.3"
        "Content is delimited by the end of the connection."
        twin "Its last byte is left out.";
    Origin Framing Version10 "http-1.0" "" QUIET "RFC 9112, 2.3"
        "Responses are HTTP/1.0, each the last on its connection."
        twin "The version is written in small letters.";
    Origin Framing Reason "reason" "" QUIET "RFC 9112, 4"
        "The reason phrase is empty, or has tabs and bytes above 127."
        twin "There is no space after the status code.";
    Origin Framing Whitespace "whitespace" "" QUIET "RFC 9112, 5; RFC 9110, 5.1"
        "Field names are in any case, values have spaces and tabs around them, or none."
        twin "There is a space before the colon.";
    Origin Framing ManyFields "many-fields" "" QUIET "RFC 9110, 5.1 and 5.2"
        "Responses have forty unknown fields, some of the same name, some empty, and Keep-Alive."
        twin "One of them is continued on the next line.";
    Origin Framing Pieces "pieces" "" QUIET "RFC 9112, 2.2"
        "A response comes in many small pieces."
        twin "Its Content-Length is one too small.";

    // Interim responses
    Origin Interim Hints "early-hints" "" QUIET "RFC 9110, 15.2; RFC 8297, 2"
        "Final responses come after 103, sometimes several."
        twin "The 103 has Transfer-Encoding.";
    Origin Interim Processing "processing" "" QUIET "RFC 9110, 15.2"
        "102 comes before the final response of a write, with pauses."
        twin "The 102 has a length and content.";
    Origin Interim Continue "unasked-100" "" QUIET "RFC 9110, 15.2"
        "100 comes before final responses, though nobody expects it."
        twin "The 100 has content.";

    // Closing
    Origin Closing AlwaysClose "always-close" "" QUIET "RFC 9112, 9.6"
        "Every response says close, and the connection is closed."
        twin "It says close, and the next request on the connection is answered.";
    Origin Closing Unannounced "unannounced-close" "" QUIET "RFC 9112, 9.5"
        "Now and then the connection is closed after a response that does not say so."
        twin "A write that was confirmed just before is undone.";
    Origin Closing Reset "reset" "" QUIET "RFC 9112, 9.5 and 9.6"
        "Now and then the connection is reset after a response."
        twin "A reset connection has removed what was put on it last.";
    Origin Closing Idle "idle-close" "" QUIET "RFC 9112, 9.5"
        "Now and then a connection that is idle for some 30 ms is closed."
        twin "It is closed with a 200 that nobody asked for.";
    Origin Closing Timeout "timeout-408" "" SERVES "RFC 9110, 15.5.9; RFC 9112, 9.5"
        "Now and then a connection that is idle for some 30 ms is closed with 408."
        twin "The 408 comes, and the connection goes on.";
    Origin Closing Unanswered "unanswered" "" QUIET "RFC 9112, 9.4 and 9.5"
        "Now and then the connection is closed instead of a response; a write may have happened."
        twin "The write happens, and once more after the next write.";

    // Ranges
    Origin Ranges Ignored "ranges-ignored" "range" QUIET "RFC 9110, 14.2"
        "Range is ignored."
        twin "The whole is sent as 206 without Content-Range.";
    Origin Ranges SuffixOnly "suffix-only" "range" QUIET "RFC 9110, 14.2"
        "Range is ignored unless it asks for the end."
        twin "The beginning is sent for the end.";
    Origin Ranges UnknownLength "unknown-length" "" QUIET "RFC 9110, 14.4"
        "Content-Range of 206 does not tell the complete length: *."
        twin "It tells one more.";
    Origin Ranges Unsatisfied200 "unsatisfied-200" "unsatisfied" QUIET "RFC 9110, 14.2 and 15.5.17"
        "A range that is not there is answered 200."
        twin "It is answered 416 with another complete length.";
    Origin Ranges Bare416 "bare-416" "unsatisfied" QUIET "RFC 9110, 15.5.17"
        "416 has no Content-Range."
        twin "HEAD with a Range that is not there is answered 416.";
    Origin Ranges ShortPart "short-part" "" QUIET "RFC 9110, 15.3.7"
        "206 has half of what was asked for."
        twin "Its Content-Range tells positions that are one off.";
    Origin Ranges IfRangeFalse "if-range-false" "" QUIET "RFC 9110, 14.2 and 13.1.5"
        "Range is ignored beside If-Range."
        twin "If-Range is ignored.";

    // Refusals
    Origin Refusals Unavailable "unavailable" "" SERVES "RFC 9110, 15.6.4"
        "Now and then 503, with or without Retry-After; nothing happens."
        twin "Half of the content of the PUT is stored.";
    Origin Refusals TooMany "too-many" "" SERVES "RFC 6585, 4; RFC 9110, 10.2.3 and 15.5"
        "Now and then 429, with or without Retry-After."
        twin "The write that is answered 429 is performed.";
    Origin Refusals Temporary "temporary-redirect" "" SERVES "RFC 9110, 15.4.8"
        "Now and then 307 to another path."
        twin "The write is performed here as well.";
    Origin Refusals Permanent "permanent-redirect" "" SERVES "RFC 9110, 15.4.9"
        "Now and then 308 to another path."
        twin "The resource is gone from here.";
    Origin Refusals Forbidden "forbidden" "" SERVES "RFC 9110, 15.5.4"
        "Now and then 403."
        twin "The write is performed a moment later.";
    Origin Refusals Locked "locked" "" SERVES "RFC 4918, 11.3; RFC 9110, 15.5"
        "A write that meets another one to the same resource is answered 423."
        twin "It is performed when the other is done.";
    Origin Refusals WeakIfRange "weak-if-range-400" "" SERVES "RFC 9110, 13.1.5 and 15.5.1"
        "If-Range with a weak tag, which clients must not send, is answered 400."
        twin "It matches by weak comparison.";

    // Broken-off messages
    Origin Broken BrokenHead "broken-head" "" QUIET "RFC 9112, 8 and 9.5"
        "Now and then the connection ends within the head of a response."
        twin "A field line breaks off before its colon, and the head goes on.";
    Origin Broken BrokenInterim "broken-interim" "" QUIET "RFC 9112, 8 and 9.5"
        "Now and then the connection ends within the head of a 103."
        twin "The final response, with content, follows the half of a 103.";
    Origin Broken BrokenPart "broken-part" "" QUIET "RFC 9112, 8 and 9.5"
        "Now and then the connection ends within the head of a 206, before Content-Range."
        twin "The head of the 206 is whole, without Content-Range.";
    Origin Broken BrokenContent "broken-content" "" QUIET "RFC 9112, 8 and 9.5"
        "Now and then the connection ends within the content."
        twin "The content is continued with other bytes.";

    // Unknown outcomes
    Origin Outcomes ErrorLater "error-later" "" SERVES "RFC 9110, 15.6 and 9.2.2"
        "Now and then a write is answered 500, 502 or 504, and happens later, its conditions evaluated then, or never."
        twin "It happens at once, and once more after the next write.";
    Origin Outcomes ErrorDone "error-done" "" SERVES "RFC 9110, 15.6"
        "Now and then a write happens and is answered 500."
        twin "Half of it happens.";
    Origin Outcomes AcceptedLater "accepted-later" "" SERVES "RFC 9110, 15.3.3"
        "Now and then a write is answered 202, and happens later, its conditions evaluated then."
        twin "A write that was answered 412 happens later.";
    Origin Outcomes AcceptedNever "accepted-never" "" SERVES "RFC 9110, 15.3.3"
        "Now and then a write is answered 202, and never happens."
        twin "It is answered 204, and never happens.";
    Origin Outcomes SilentLater "silent-later" "" QUIET "RFC 9112, 9.4 and 9.5; RFC 9110, 9.2.2"
        "Now and then the connection is closed instead of a response to a write, which happens later, its conditions evaluated then."
        twin "It happens later whatever its conditions.";

    // Timing
    Origin Timing SlowBefore "slow-before" "" QUIET "RFC 9110, 13.2.1"
        "Requests wait before they happen."
        twin "Conditions are evaluated before the wait.";
    Origin Timing SlowAfter "slow-after" "" QUIET "RFC 9110, 9.2"
        "Requests wait after they happened, before they are answered."
        twin "Writes are answered at once, and happen a moment later.";
    Origin Timing SlowContent "slow-content" "" QUIET "RFC 9112, 2.2; RFC 9110, 8.8.3"
        "There is a pause between the head and the content, which is what was there when the head was made."
        twin "The content is what is there after the pause.";
    Origin Timing Parallel "parallel-reads" "" QUIET "RFC 9112, 9.3.2"
        "Pipelined reads are evaluated in any order, and answered in theirs."
        twin "Reads are evaluated before the write ahead of them on their connection.";

    // Content coding
    Origin Coding AlwaysCoded "always-coded" "coding" QUIET "RFC 9110, 8.4, 12.4.1 and 12.5.3"
        "All content is coded with gzip, whatever is accepted."
        twin "Strong tags of coded content stay for five writes.";

    // Gateways: connections
    Gateway Upstream Pool "pool" "line" QUIET "RFC 9112, 9.3; RFC 9110, 3.7"
        "Upstream connections are kept and used again."
        twin "Two clients that ask at the same time get each other's responses.";
    Gateway Upstream NewEach "new-each" "line" QUIET "RFC 9112, 9.6"
        "Each request goes upstream on a new connection that says close."
        twin "The client's Connection is forwarded, with the fields that it names.";
    Gateway Upstream Pipelines "pipelines" "line" QUIET "RFC 9112, 9.3.2"
        "Safe requests of several clients are pipelined on one upstream connection."
        twin "The response to the request before is relayed.";
    Gateway Upstream HalfClose "half-close" "line" QUIET "RFC 9112, 9.6"
        "The gateway closes its side of an upstream connection after the request."
        twin "The content is left out.";
    Gateway Upstream Upstream10 "upstream-1.0" "line" QUIET "RFC 9110, 3.7; RFC 9112, 2.3"
        "Requests go upstream as HTTP/1.0."
        twin "They have no Via.";
    Gateway Upstream Retries "retries" "" QUIET "RFC 9110, 9.2.2"
        "An idempotent request is sent again after a failure."
        twin "Every fourth one is sent again without a failure.";
    Gateway Upstream HeadAsGet "head-as-get" "" QUIET "RFC 9110, 3.7 and 9.3.2"
        "HEAD goes upstream as GET, and the content is dropped."
        twin "POST goes upstream as PUT.";
    Gateway Upstream GivesUp "gives-up" "line" FORWARDED "RFC 9110, 15.6.3 and 9.2.2"
        "When a kept upstream connection proves dead, the client is told 502: nothing is sent again."
        twin "The client is told 200, without content.";
    Gateway Upstream FailureStatus "failure-status" "" QUIET "RFC 9110, 15.6.4 and 15.6.5"
        "Failures of the origin are told as 503 or 504."
        twin "They are told as 204.";

    // Gateways: messages
    Gateway Reframing ToChunks "to-chunks" "" QUIET "RFC 9112, 6.1 and 7.1"
        "Requests with a length go upstream in chunks."
        twin "The last byte is left out.";
    Gateway Reframing BothFramings "to-length" "" QUIET "RFC 9112, 6.3"
        "Requests in chunks go upstream with a length."
        twin "They have a length and Transfer-Encoding.";
    Gateway Reframing ResponseChunks "response-chunks" "" QUIET "RFC 9112, 6.1 and 7.1"
        "Responses with a length are relayed in chunks."
        twin "A line end is added.";
    Gateway Reframing ResponseUntilClose "response-until-close" "" QUIET "RFC 9112, 6.3"
        "Responses are relayed without a length, and the connection closed."
        twin "The last byte of every other one is left out.";
    Gateway Reframing Refuses411 "refuses-chunks" "" QUIET "RFC 9110, 15.5.12"
        "Requests in chunks are refused with 411."
        twin "They are forwarded without content.";
    Gateway Reframing Buffers "buffers" "relay" QUIET "RFC 9112, 8; RFC 9110, 15.6.3"
        "A response is received as a whole; one that breaks off becomes 502."
        twin "One that breaks off is relayed as if it were whole.";
    Gateway Reframing Streams "streams" "relay" QUIET "RFC 9112, 8"
        "A response is relayed as it comes; one that breaks off breaks off for the client too."
        twin "One that breaks off is filled up with zeros.";
    Gateway Reframing DropsInterim "drops-interim" "interim" QUIET "RFC 9110, 15.2 and 3.7"
        "Interim responses are not relayed."
        twin "One is taken for the answer.";
    Gateway Reframing ForwardsInterim "forwards-interim" "interim" QUIET "RFC 9110, 15.2"
        "Interim responses are relayed, and 103 is added."
        twin "They are relayed with status 200.";
    Gateway Reframing DropsTrailers "drops-trailers" "trailers" QUIET "RFC 9110, 6.5.1 and 6.5.2"
        "Trailer fields are dropped."
        twin "They are moved into the header section.";
    Gateway Reframing ForwardsTrailers "forwards-trailers" "trailers" QUIET "RFC 9110, 6.5"
        "Trailer fields are relayed as such."
        twin "Connection and the fields that it names are relayed.";
    Gateway Reframing AddsFields "adds-fields" "" QUIET "RFC 9110, 5.1 and 7.6.3"
        "Fields are added both ways: X-Forwarded-For, Via, Server, X-Cache."
        twin "Fields of the origin that begin with X are dropped.";
    Gateway Reframing JoinsLines "joins-lines" "" QUIET "RFC 9110, 5.3"
        "Field lines of the same name are made one."
        twin "They are made one in reverse order.";
    Gateway Reframing CapsForwards "caps-forwards" "" QUIET "RFC 9110, 7.6.2"
        "Max-Forwards is made three at most."
        twin "It is forwarded as it came.";
    Gateway Reframing SlowGateway "slow-gateway" "" QUIET "RFC 9110, 3.7"
        "Requests and responses wait in the gateway."
        twin "Responses are stored, and every third GET is answered with one.";
}
