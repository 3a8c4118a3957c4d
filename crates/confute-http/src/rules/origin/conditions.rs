//! The rules of an origin server about conditions, as far as they are special cases of the rules in [`store`](super::store).

use crate::rules::rules;

rules! {
    0;
    SEVERAL_LINES "rfc9110-5.2/several-lines" Must "RFC 9110, 5.2 and 5.3" {
        summary: "Several field lines of If-Match or If-None-Match MUST be read as one list.",
        text: "A list may be spread over several lines of the same name. Its value is that of all lines, in order.",
        why: "A server that reads the first line alone overwrites what the client wanted to protect.",
        example: ["> PUT /r", "> If-None-Match: \"other\"", "> If-None-Match: \"current\"", "< 204 No Content"],
        curl: "curl -i -T new.txt -H 'If-None-Match: \"other\"' -H 'If-None-Match: \"CURRENT\"' $URL  # must be 412",
        confused_with: ["rfc9110-13.1.1/every-member", "rfc9110-13.1.2/every-member"],
        deviations: [
            Admission 1 "The server answers 400 to several lines.",
            Conditions 1 "The server reads the first line alone.",
        ],
    }
    IF_MATCH_STRONG "rfc9110-13.1.1/strong-comparison" Must "RFC 9110, 13.1.1 and 8.8.3.2" {
        summary: "If-Match MUST be evaluated by strong comparison: a weak tag matches nothing.",
        text: "Two tags are the same by strong comparison if neither is weak and what is between the quotes is \
         equal. A weak tag in If-Match is never true, nor is a strong one while the current tag is weak.",
        why: "A weak tag does not promise equal bytes, so a write that relies on it may overwrite a change that \
         nobody has seen.",
        example: ["> PUT /r", "> If-Match: W/\"current\"", "< 204 No Content"],
        curl: "curl -i -T new.txt -H 'If-Match: W/\"CURRENT\"' $URL  # 412 or another error; not 2xx",
        confused_with: ["rfc9110-13.1.1/if-match"],
        deviations: [
            Conditions 1 "A weak tag in If-Match matches.",
        ],
    }
    IF_MATCH_MEMBERS "rfc9110-13.1.1/every-member" Must "RFC 9110, 13.1.1" {
        summary: "If-Match MUST be true if any of its tags matches, wherever the tag stands in the list.",
        text: "The whole list is compared. A member that does not match, a weak one included, does not keep another \
         from matching.",
        why: "A client that lists several versions is refused though it has the current one.",
        example: ["> PUT /r", "> If-Match: \"other\", \"current\"", "< 412 Precondition Failed"],
        curl: "curl -i -T new.txt -H 'If-Match: \"other\", \"CURRENT\"' $URL  # must not be 412",
        confused_with: ["rfc9110-5.2/several-lines", "rfc9110-15.5.13/cause"],
        deviations: [
            Conditions 1 "A tag that is not the first in If-Match is not found.",
        ],
    }
    IF_NONE_MATCH_WEAK "rfc9110-13.1.2/weak-comparison" Must "RFC 9110, 13.1.2 and 8.8.3.2" {
        summary: "If-None-Match of a PUT or DELETE MUST be evaluated by weak comparison: only the text between the \
         quotes counts.",
        text: "Two tags are the same by weak comparison if what is between the quotes is equal, whether either is \
         weak or not. If-None-Match is compared that way with every method; this is about PUT and DELETE.",
        why: "A write that was to happen only if the resource had changed happens all the same.",
        example: ["> PUT /r", "> If-None-Match: W/\"current\"", "< 204 No Content"],
        curl: "curl -i -T new.txt -H 'If-None-Match: W/\"CURRENT\"' $URL  # must be 412",
        confused_with: ["rfc9110-13.1.2/if-none-match"],
        deviations: [
            Conditions 1 "A tag in If-None-Match of a write is found only if both are strong.",
        ],
    }
    IF_NONE_MATCH_WEAK_READ "rfc9110-13.1.2/weak-comparison-on-read" Must "RFC 9110, 13.1.2 and 8.8.3.2" {
        summary: "If-None-Match of a GET or HEAD MUST be evaluated by weak comparison: only the text between the \
         quotes counts.",
        text: "Weak tags are good enough to know that a copy need not be sent again.",
        why: "Caches hold weak tags, and download the same content again and again if these do not match.",
        example: ["> GET /r", "> If-None-Match: W/\"current\"", "< 200 OK"],
        curl: "curl -i -H 'If-None-Match: W/\"CURRENT\"' $URL  # must be 304",
        confused_with: ["rfc9110-13.1.2/not-modified"],
        deviations: [
            Conditions 1 "A tag in If-None-Match of a read is found only if both are strong.",
        ],
    }
    IF_NONE_MATCH_MEMBERS "rfc9110-13.1.2/every-member" Must "RFC 9110, 13.1.2" {
        summary: "If-None-Match MUST be false if any of its tags matches, wherever the tag stands in the list.",
        text: "The whole list is compared.",
        why: "A client that lists all its copies gets content that it has, or overwrites what it wanted to protect.",
        example: ["> GET /r", "> If-None-Match: \"other\", \"current\"", "< 200 OK"],
        curl: "curl -i -H 'If-None-Match: \"other\", \"CURRENT\"' $URL  # must be 304",
        confused_with: ["rfc9110-5.2/several-lines", "rfc9110-13.1.2/not-modified"],
        deviations: [
            Conditions 1 "A tag that is not the first in If-None-Match is not found.",
        ],
    }
    IF_NONE_MATCH_TRUE "rfc9110-13.1.2/true-without-match" Must "RFC 9110, 13.1.2" {
        summary: "A PUT or DELETE whose If-None-Match matches nothing MUST NOT be refused for it.",
        text: "If no tag of the list is the current one, or if there is nothing and the value is *, the condition is \
         true, and 412 is wrong.",
        why: "Creating a resource with If-None-Match: * is the usual way not to overwrite one, and it fails.",
        example: ["> PUT /new", "> If-None-Match: *", "< 412 Precondition Failed"],
        curl: "curl -i -T new.txt -H 'If-None-Match: *' $URL-new  # must be 201",
        confused_with: ["rfc9110-15.5.13/cause"],
        deviations: [
            Conditions 1 "A write is answered 412 though no tag in If-None-Match is the current one.",
        ],
    }
    IF_NONE_MATCH_412 "rfc9110-13.1.2/failed-write-is-412" Must "RFC 9110, 13.1.2" {
        summary: "A PUT or DELETE whose If-None-Match is false MUST be answered 412.",
        text: "304 is for GET and HEAD. For all other methods the answer to a false If-None-Match must be 412.",
        why: "A client takes 304 for a success: its copy is current, it concludes, and its write was lost.",
        example: ["> PUT /r", "> If-None-Match: \"current\"", "< 304 Not Modified"],
        curl: "curl -i -T new.txt -H 'If-None-Match: \"CURRENT\"' $URL  # must be 412",
        confused_with: ["rfc9110-13.1.2/if-none-match"],
        deviations: [
            Response 1 "304 is accepted in place of 412.",
        ],
    }
    IF_MODIFIED_SINCE "rfc9110-13.1.3/if-modified-since" Should "RFC 9110, 13.1.3" {
        summary: "A GET or HEAD whose If-Modified-Since is false SHOULD be answered 304.",
        text: "If the content was last changed at the given date or before, the response should be 304. A server may \
         also compare for equality only, or not at all: that is not recommended, but not wrong.",
        why: "Clients that know only dates download the same content again and again.",
        example: ["> GET /r", "> If-Modified-Since: (the date in Last-Modified)", "< 200 OK"],
        curl: "curl -i -z 'LAST-MODIFIED' $URL  # should be 304",
        confused_with: ["rfc9110-13.1.2/not-modified"],
        deviations: [
            Response 1 "The content is sent though it has not changed since the date.",
        ],
    }
    IF_MODIFIED_SINCE_BESIDE "rfc9110-13.1.3/beside-if-none-match" Must "RFC 9110, 13.1.3 and 13.2.2" {
        summary: "If-Modified-Since MUST be ignored beside If-None-Match.",
        text: "Tags are more exact than dates. If both fields are there and no tag matches, the content must be \
         sent, whatever the date.",
        why: "Content that changed twice in a second has the same date, so the client keeps the old content.",
        example: ["> GET /r", "> If-None-Match: \"old\"", "> If-Modified-Since: (now)", "< 304 Not Modified"],
        curl: "curl -i -H 'If-None-Match: \"old\"' -z 'now' $URL  # must be 200",
        confused_with: ["rfc9110-15.4.5/cause"],
        deviations: [
            Conditions 1 "The date decides, whatever If-None-Match lists.",
        ],
    }
    IF_UNMODIFIED_SINCE "rfc9110-13.1.4/if-unmodified-since" Must "RFC 9110, 13.1.4" {
        summary: "A method whose If-Unmodified-Since is false MUST NOT be performed.",
        text: "The condition is false if the content was changed after the given date. A resource without a date has \
         no such condition. The server may report that with 412 or another error.",
        why: "A client that knows only the date overwrites a change that it has not seen.",
        example: ["> PUT /r", "> If-Unmodified-Since: Sat, 29 Oct 1994 19:43:31 GMT", "< 204 No Content"],
        curl: "curl -i -T new.txt -H 'If-Unmodified-Since: Sat, 29 Oct 1994 19:43:31 GMT' $URL  # 412 or another error; not 2xx",
        confused_with: ["rfc9110-13.1.1/if-match"],
        deviations: [
            Conditions 1 "The date is ignored.",
            Decision 1 "The write is performed at some later moment, though it was refused.",
        ],
    }
    IF_UNMODIFIED_SINCE_BESIDE "rfc9110-13.1.4/beside-if-match" Must "RFC 9110, 13.1.4 and 13.2.2" {
        summary: "If-Unmodified-Since MUST be ignored beside If-Match.",
        text: "Tags are more exact than dates. If both fields are there and a tag matches, the date must not matter.",
        why: "A client whose clock, or whose server's clock, is wrong is refused though it has the current content.",
        example: [
            "> PUT /r",
            "> If-Match: \"current\"",
            "> If-Unmodified-Since: Sat, 29 Oct 1994 19:43:31 GMT",
            "< 412 Precondition Failed",
        ],
        curl: "curl -i -T new.txt -H 'If-Match: \"CURRENT\"' -H 'If-Unmodified-Since: Sat, 29 Oct 1994 19:43:31 GMT' $URL  # must not be 412",
        confused_with: ["rfc9110-15.5.13/cause"],
        deviations: [
            Conditions 1 "The date counts beside If-Match.",
        ],
    }
    ON_MISSING "rfc9110-13.2.1/not-on-failure" Must "RFC 9110, 13.2.1" {
        summary: "Conditions MUST be ignored where the response without them would not be a success.",
        text: "GET or HEAD of a resource that does not exist is 404 without conditions, so it is 404 with them. \
         (DELETE of such a resource may be a success, so a condition may count there.)",
        why: "A client is told that its copy is stale, or current, and not that the resource is gone.",
        example: ["> GET /missing", "> If-Match: \"x\"", "< 412 Precondition Failed"],
        curl: "curl -i -H 'If-Match: \"x\"' $URL-missing  # must be 404",
        confused_with: ["rfc9110-15.5.13/cause"],
        deviations: [
            Response 1 "304 or an error is accepted in place of 404.",
        ],
    }
    OPTIONS_UNCONDITIONAL "rfc9110-13.2.1/options" Must "RFC 9110, 13.2.1" {
        summary: "Conditions of OPTIONS MUST be ignored.",
        text: "OPTIONS neither selects nor changes content, so there is nothing that a condition could be about.",
        why: "A client that asks what it may do gets an error that has nothing to do with its question.",
        example: ["> OPTIONS /r", "> If-Match: \"x\"", "< 412 Precondition Failed"],
        curl: "curl -i -X OPTIONS -H 'If-Match: \"x\"' $URL  # must not be 412",
        confused_with: ["rfc9110-13.2.1/not-on-failure"],
        deviations: [
            Response 1 "304 and 412 are accepted.",
        ],
    }
    NOT_MODIFIED_TAG "rfc9110-15.4.5/etag" Must "RFC 9110, 15.4.5" {
        summary: "A 304 MUST have the entity tag that a 200 to the same request would have.",
        text: "The tag in a 304 says which of the client's copies is the current one. Another tag, or the same with \
         or without W/, is a different one. A 304 without a tag is a violation only if 200s to the same request \
         without the condition had the tag before and after it, and nothing was written in between.",
        why: "A cache updates its copy with the wrong tag, and sends that tag in If-Match later.",
        example: ["> GET /r", "> If-None-Match: \"current\"", "< 304 Not Modified", "< ETag: W/\"current\""],
        curl: "curl -i -H 'If-None-Match: \"CURRENT\"' $URL  # ETag must be \"CURRENT\"",
        confused_with: ["store/steady-tag"],
        deviations: [
            Response 1 "Any tag in 304 is accepted, or none.",
        ],
    }
}
