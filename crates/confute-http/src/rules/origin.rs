//! The rules of an origin server.

use confute::lang::{Level, Rule};

use super::{Bite, Deviation, RuleEntry, RuleSet, rules};

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
        text: "A list of tags is looked through to its end. Members that match nothing, weak ones among them, take \
         nothing away from those that do.",
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
        text: "A list of tags is looked through to its end.",
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
         no such condition. As with If-Match, 412 is only one of the ways to say so.",
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
    CREATED "rfc9110-9.3.4/created" Must "RFC 9110, 9.3.4" {
        summary: "A PUT that creates a resource MUST be answered 201.",
        text: "If the resource did not exist, and exists now, the server must say so.",
        why: "A client cannot tell whether it created the resource or replaced somebody else's.",
        example: ["> PUT /new", "< 204 No Content"],
        curl: "curl -i -T new.txt $URL-new  # must be 201",
        confused_with: ["rfc9110-9.3.4/replaced", "store/stays"],
        deviations: [
            Put 1 "200 or 204 is accepted in place of 201.",
        ],
    }
    REPLACED "rfc9110-9.3.4/replaced" Must "RFC 9110, 9.3.4" {
        summary: "A PUT that replaces content MUST be answered 200 or 204.",
        text: "201 says that the resource did not exist before.",
        why: "A client believes that it created the resource, and has overwritten somebody else's content.",
        example: ["> PUT /r (which exists)", "< 201 Created"],
        curl: "curl -i -T new.txt $URL; curl -i -T new.txt $URL  # the second must be 200 or 204",
        confused_with: ["rfc9110-9.3.4/created", "store/stays"],
        deviations: [
            Put 1 "201 is accepted in place of 200 or 204.",
        ],
    }
    WHOLE "store/whole" Store "" {
        summary: "A read while a write is at work yields the old content or the new, never some of both.",
        text: "While a PUT is at work, a read yields the old content with its validators, or the new content with \
         its own. If a strong tag comes with bytes of another version, RFC 9110, 8.8.3, is broken as well, for as \
         long as the PUT is at work; once it was answered, that is rfc9110-8.8.3/strong-tag-differs. Content that \
         was never put as a whole, because the upload broke off, and can be read all the same breaks this rule too, \
         in however many stages it is seen.",
        why: "A reader gets a file that nobody ever wrote, and a cache may keep it.",
        example: ["> PUT /r with bbbb (not answered yet)", "> GET /r on another connection", "< 200 OK with bbaa"],
        curl: "curl -T big.bin $URL & curl -s $URL | sha256sum  # must be the sum of the old content or of the new",
        confused_with: ["rfc9110-9.3.4/validators", "store/put-exact"],
        deviations: [
            Content 1 "Some of an upload that broke off is stored.",
            Open 1 "Some of a write whose outcome is open is stored.",
            Put 1 "Reads see a mixture of old and new content while a write is at work.",
            Delete 1 "The same, with DELETE.",
        ],
    }
    PUT_VALIDATORS "rfc9110-9.3.4/validators" Must "RFC 9110, 9.3.4" {
        summary: "A response to PUT MUST NOT have validators unless the content was stored as it came and they are \
         its own.",
        text: "From the tag in the response the client concludes that what it sent is what is stored, and that this \
         is its tag. A server that changes what it stores, or does not know the tag yet, must not send any.",
        why: "The client uses the tag for its next conditional write, and overwrites content that it has never seen.",
        example: [
            "> PUT /r with new",
            "< 204 No Content",
            "< ETag: \"y\"",
            "> GET /r",
            "< 200 OK with old",
            "< ETag: \"y\"",
        ],
        curl: "curl -i -T new.txt $URL; curl -i $URL  # the same ETag, and the content that was put",
        confused_with: ["store/put-exact", "store/put-lasts"],
        deviations: [
            Put 1 "The response has validators, but other content is stored, or they are wrong.",
            Selection 1 "Content of such a PUT is read before its response."
                "A read before the response may be torn, which store/whole is about, so each of them counts once \
                 more.",
        ],
    }
    TAG_DIFFERS "rfc9110-8.8.3/strong-tag-differs" Must "RFC 9110, 8.8.3 and 8.8.1" {
        summary: "Different contents of a resource MUST have different strong tags.",
        text: "A strong tag changes whenever the content does, and is never that of earlier content. A tag that \
         cannot promise that (a time with the resolution of a second, say) must be marked as weak. Weak tags may \
         survive changes, and equal content may have its old tag again.",
        why: "Caches keep the old content, downloads are put together from two versions, and updates get lost.",
        example: [
            "> PUT /r with w",
            "< 204 No Content",
            "> GET /r",
            "< 200 OK with w",
            "< ETag: \"x\" (which v had before)",
        ],
        curl: "curl -i -T one.txt $URL; curl -i -T two.txt $URL  # two different ETags",
        confused_with: ["store/steady-content", "rfc9110-9.3.4/validators"],
        deviations: [
            Put 1 "The new content may have any tag that was used before.",
            CatchUp 1 "The same, with a write whose outcome was open.",
            Selection 1 "Content that was there before, or such content before the response to its PUT, has a tag \
             that was used before."
                "For content that was put, see rfc9110-9.3.4/validators: each read before the response counts once \
                 more, unless that response repeats the tag.",
            AnyContent 2 "A response with a strong tag has other content."
                "It explains any content, and tags that are given twice are to be blamed first.",
        ],
    }
    NOT_LATER "rfc9110-8.8.2.1/not-later-than-date" Must "RFC 9110, 8.8.2.1" {
        summary: "Last-Modified MUST NOT be later than Date.",
        text: "A date that is yet to come is replaced by that of the response. One second is overlooked: the two may \
         be read from clocks that are updated one after the other.",
        why: "A client that sends a future date in If-Modified-Since gets no new content until then.",
        example: [
            "> GET /r",
            "< 200 OK",
            "< Date: Sun, 06 Nov 1994 08:49:37 GMT",
            "< Last-Modified: Sun, 06 Nov 1994 09:49:37 GMT",
        ],
        curl: "curl -sI $URL | grep -E '^(Date|Last-Modified)'  # Last-Modified must not be later",
        confused_with: ["store/steady-date"],
        deviations: [
            Response 1 "A later Last-Modified is overlooked.",
        ],
    }
    HEAD_LENGTH "rfc9110-8.6/length-of-get" Must "RFC 9110, 8.6" {
        summary: "Content-Length in a response to HEAD, or in a 304, MUST be the length that GET would send.",
        text: "The field may be left out. If it is there, it must be right.",
        why: "A download manager allocates, splits or resumes by a length that is wrong.",
        example: ["> HEAD /r (content of 3 bytes)", "< 200 OK", "< Content-Length: 0"],
        curl: "curl -sI $URL; curl -s $URL | wc -c  # the same length",
        confused_with: ["rfc9110-8.6/length-true"],
        deviations: [
            Response 1 "Any Content-Length is accepted in responses without content.",
        ],
    }
    CONTENT_RANGE "rfc9110-14.4/content-range" Must "RFC 9110, 14.4 and 15.3.7.1" {
        summary: "A 206 with one part MUST have a valid Content-Range with the present complete length, or *.",
        text: "A 206 with a single part has one; its last position is not below its first, nor beyond the end. In \
         206 and 416 the complete length is the present one.",
        why: "A client that continues a download puts the bytes in the wrong place, or stops too early.",
        example: [
            "> GET /r (10 bytes)",
            "> Range: bytes=2-5",
            "< 206 Partial Content",
            "< Content-Range: bytes 2-5/11",
        ],
        curl: "curl -i -r 2-5 $URL  # Content-Range: bytes 2-5/LENGTH",
        confused_with: ["rfc9110-15.3.7.1/part"],
        deviations: [
            Response 1 "A missing or wrong Content-Range is accepted.",
        ],
    }
    PART "rfc9110-15.3.7.1/part" Must "RFC 9110, 15.3.7.1 and 14.1.2" {
        summary: "The content of a 206 MUST be exactly the part that its Content-Range says.",
        text: "As many bytes, and the bytes that stand there. The server may send less than was asked for, if \
         Content-Range says so.",
        why: "A download that is continued is damaged, and nobody notices.",
        example: [
            "> GET /r (0123456789)",
            "> Range: bytes=2-5",
            "< 206 Partial Content with 234",
            "< Content-Range: bytes 2-5/10",
        ],
        curl: "curl -s -r 2-5 $URL | xxd  # four bytes, those at 2 to 5",
        confused_with: ["rfc9110-14.4/content-range", "rfc9110-8.6/length-true"],
        deviations: [
            Response 1 "Any content of 206 is accepted.",
        ],
    }
    RANGE_ASKED "rfc9110-14.2/asked" Should "RFC 9110, 14.2" {
        summary: "A 206 SHOULD send a part that was asked for.",
        text: "The part should be one that was asked for, or lie in it.",
        why: "The client did not ask for these bytes, and has to ask again.",
        example: [
            "> GET /r (10 bytes)",
            "> Range: bytes=2-5",
            "< 206 Partial Content",
            "< Content-Range: bytes 0-1/10",
        ],
        curl: "curl -i -r 2-5 $URL  # Content-Range within 2-5",
        confused_with: ["rfc9110-15.3.7.1/part"],
        deviations: [
            Response 1 "A part that was not asked for is accepted.",
        ],
    }
    RANGE_ONLY_GET "rfc9110-14.2/only-get" Must "RFC 9110, 14.2" {
        summary: "Range MUST be ignored with methods other than GET.",
        text: "HEAD is never answered 206 or 416 on account of Range.",
        why: "A client that asks HEAD for the length gets that of a part.",
        example: ["> HEAD /r", "> Range: bytes=0-1", "< 206 Partial Content"],
        curl: "curl -I -r 0-1 $URL  # must be 200",
        confused_with: ["rfc9110-13.1.5/if-range"],
        deviations: [
            Response 1 "206 and 416 are accepted with HEAD.",
        ],
    }
    IF_RANGE_STRONG "rfc9110-13.1.5/strong-comparison" Must "RFC 9110, 13.1.5 and 8.8.3.2" {
        summary: "If-Range MUST be evaluated by strong comparison: Range is ignored if the tag is weak.",
        text: "A weak tag does not promise that bytes are equal, and parts are put together byte by byte.",
        why: "A download is put together from two versions.",
        example: ["> GET /r", "> Range: bytes=8-", "> If-Range: W/\"current\"", "< 206 Partial Content"],
        curl: "curl -i -r 8- -H 'If-Range: W/\"CURRENT\"' $URL  # 200 or 400; not 206",
        confused_with: ["rfc9110-13.1.5/if-range"],
        deviations: [
            IfRange 1 "A weak tag in If-Range matches.",
        ],
    }
    IF_RANGE "rfc9110-13.1.5/if-range" Must "RFC 9110, 13.1.5" {
        summary: "Range MUST be ignored if If-Range is false.",
        text: "Parts of different contents must not be put together. If the tag or date in If-Range is not the \
         current one, the whole content is sent.",
        why: "A download that is continued after a change is damaged, and nobody notices.",
        example: ["> GET /r", "> Range: bytes=8-", "> If-Range: \"old\"", "< 206 Partial Content"],
        curl: "curl -i -r 8- -H 'If-Range: \"old\"' $URL  # must be 200",
        confused_with: ["rfc9110-13.1.5/strong-comparison"],
        deviations: [
            IfRange 1 "If-Range is ignored.",
        ],
    }
    UNSATISFIABLE "rfc9110-15.5.17/unsatisfiable" Should "RFC 9110, 15.5.17, 14.2 and 14.1.2" {
        summary: "Satisfiable ranges SHOULD NOT be answered 416.",
        text: "A range that begins before the end can be satisfied, however far it reaches.",
        why: "A client cannot continue a download.",
        example: ["> GET /r (10 bytes)", "> Range: bytes=9-", "< 416 Range Not Satisfiable"],
        curl: "curl -i -r 0- $URL  # should not be 416, unless the content is empty",
        confused_with: ["rfc9110-14.4/content-range"],
        deviations: [
            Response 1 "416 is accepted for ranges that can be satisfied.",
        ],
    }
    ALLOW "rfc9110-15.5.6/allow" Must "RFC 9110, 15.5.6" {
        summary: "A 405 MUST have Allow.",
        text: "A client that is told that a method is not supported must be told which ones are.",
        why: "A client cannot find out what to do instead.",
        example: ["> POST /r", "< 405 Method Not Allowed (without Allow)"],
        curl: "curl -i -X POST $URL  # if 405, with Allow",
        confused_with: ["store/serves"],
        deviations: [
            Response 1 "405 without Allow is accepted.",
        ],
    }
    CONTINUE "rfc9110-10.1.1/continue" Live "RFC 9110, 10.1.1" {
        summary: "A request with Expect: 100-continue MUST be answered at once, with 100 or with a final status.",
        text: "The server must not wait for the content. That it did is seen only by waiting, so a slow server looks \
         the same.",
        why: "Client and server wait for each other, and every upload takes a second longer, or never begins.",
        example: ["> PUT /r", "> Expect: 100-continue (the content is held back)", "(nothing)"],
        curl: "curl -v --expect100-timeout 5 -T big.bin -H 'Expect: 100-continue' $URL  # 100 within moments",
        confused_with: ["live/answered"],
        deviations: [
            Response 1 "A missing 100 is overlooked.",
        ],
    }
    BODY_READ "rfc9112-9.3/body-read" Must "RFC 9112, 9.3" {
        summary: "A server MUST read the content of a request to its end, or close the connection after its \
         response.",
        text: "What is left of the content would be taken for the next request, and answered.",
        why: "Whoever writes the content decides what the next request on the connection is: request smuggling.",
        example: ["> PUT /r with content", "< 403 Forbidden", "< 400 Bad Request (to the content)"],
        curl: "curl -v -T big.bin $URL $URL  # one response to each request, or a closed connection",
        confused_with: ["rfc9112-6.3/nothing-after-the-end"],
        deviations: [
            Behind 1 "An error comes behind the response to a request with content.",
        ],
    }
    SURPLUS "rfc9112-6.3/nothing-after-the-end" Must "RFC 9112, 6.3 and 9.2; RFC 9110, 9.3.2, 15.3.5 and 15.4.5" {
        summary: "A response MUST end where its head says that it ends.",
        text: "Responses to HEAD and those with 204 or 304 end with their head; others after as many bytes as they \
         tell. What comes after that would be taken for the next response. So would a response that nobody asked \
         for, unless it is the 408 of a server that has waited too long (RFC 9110, 15.5.9) and serves no more on \
         that connection.",
        why: "The next client on the connection, behind a gateway, gets somebody else's bytes: response splitting.",
        example: ["> HEAD /r", "< 200 OK", "< Content-Length: 7", "<", "< content"],
        curl: "printf 'HEAD /r HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n' | nc HOST PORT  # nothing after the head",
        confused_with: ["rfc9110-8.6/length-true", "rfc9112-9.3/body-read"],
        deviations: [
            Response 1 "Bytes behind a response are overlooked.",
            Behind 1 "A response comes that nobody asked for.",
            BehindContent 2 "The same behind a request with content."
                "An error there is what comes of content that was not read, which has a rule of its own.",
        ],
    }
    CHUNKS "rfc9112-7.1/chunks" Must "RFC 9112, 7.1" {
        summary: "Chunked content MUST be a sequence of chunks that ends with the last chunk.",
        text: "Each chunk tells its size in hexadecimal digits and ends in CRLF; the empty chunk ends the content.",
        why: "The recipient waits for more, or takes the next response for content.",
        example: [
            "> GET /r",
            "< 200 OK",
            "< Transfer-Encoding: chunked",
            "<",
            "< 7",
            "< content",
            "(the last chunk is missing)",
        ],
        curl: "curl -v --raw $URL  # ends with 0",
        confused_with: ["rfc9110-8.6/length-true", "live/answered"],
        deviations: [
            Response 1 "Broken chunks, and what they make of the content, are overlooked.",
        ],
    }
    GRAMMAR "rfc9112-2.1/grammar" Must "RFC 9112, 2.1, 2.2, 4, 5 and 5.2" {
        summary: "A response MUST conform to the grammar of HTTP/1.1.",
        text: "A status line with a version, three digits and a space after them; fields with a name, a colon right \
         after it and no line folding; lines that end in CRLF.",
        why: "Recipients disagree about what such a response means, and some can be fooled by it.",
        example: ["> GET /r", "< HTTP/1.1 200 OK (ended by LF without CR)"],
        curl: "printf 'GET /r HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n' | nc HOST PORT | xxd | head",
        confused_with: ["rfc9112-6.1/framing-fields"],
        deviations: [
            Response 1 "Broken syntax is overlooked.",
        ],
    }
    FRAMING_FIELDS "rfc9112-6.1/framing-fields" Must "RFC 9112, 6.1 and 6.2; RFC 9110, 8.6" {
        summary: "Content-Length and Transfer-Encoding MUST NOT contradict each other, nor the status.",
        text: "Neither belongs in 1xx or 204, and never both in one message. (The same length twice is overlooked.)",
        why: "Two recipients see two different ends of the response.",
        example: ["> DELETE /r", "< 204 No Content", "< Content-Length: 0"],
        curl: "curl -i -X DELETE $URL  # 204 has no Content-Length",
        confused_with: ["rfc9112-2.1/grammar", "rfc9110-8.6/length-true"],
        deviations: [
            Response 1 "Contradictory framing fields are overlooked.",
        ],
    }
    LAST "rfc9112-9.6/nothing-after-close" Must "RFC 9112, 9.6" {
        summary: "A server that sends Connection: close in a response MUST NOT process further requests on that \
         connection.",
        text: "Whoever says close must close.",
        why: "A client that believes the server sends its next request elsewhere, and it may be performed twice.",
        example: ["> GET /a", "> GET /b", "< 200 OK", "< Connection: close", "< 200 OK"],
        curl: "curl -v $URL $URL  # after Connection: close, a new connection",
        confused_with: ["rfc9112-9.6/close-heeded"],
        deviations: [
            Response 1 "A response after the last is accepted.",
        ],
    }
    CLOSE "rfc9112-9.6/close-heeded" Must "RFC 9112, 9.6" {
        summary: "After a request with Connection: close, further requests on that connection MUST NOT be processed.",
        text: "The server closes after its response to such a request. What came behind it is not looked at.",
        why: "A request that the client has given up is performed all the same.",
        example: ["> GET /r", "> Connection: close", "> GET /r", "< 200 OK", "< 200 OK"],
        curl: "curl -v -H 'Connection: close' $URL  # the server closes",
        confused_with: ["rfc9112-9.6/nothing-after-close"],
        deviations: [
            Behind 1 "The request behind the last one is answered too.",
        ],
    }
    NO_HOST "rfc9112-3.2/no-host" Must "RFC 9112, 3.2" {
        summary: "A request without Host MUST be answered 400.",
        text: "Every HTTP/1.1 request has a Host, or its meaning depends on who guesses.",
        why: "A cache and a server may take it for requests to two different sites.",
        example: ["> GET /r HTTP/1.1 (without Host)", "< 200 OK"],
        curl: "curl -i -H 'Host:' $URL  # must be 400",
        confused_with: ["rfc9112-3.2/two-hosts"],
        deviations: [
            Admission 1 "The request is served.",
        ],
    }
    TWO_HOSTS "rfc9112-3.2/two-hosts" Must "RFC 9112, 3.2" {
        summary: "A request with more than one Host MUST be answered 400.",
        text: "Two recipients could take it for requests to two different hosts.",
        why: "A gateway checks one Host, and the server serves the other.",
        example: ["> GET /r", "> Host: one", "> Host: two", "< 200 OK"],
        curl: "printf 'GET /r HTTP/1.1\\r\\nHost: one\\r\\nHost: two\\r\\n\\r\\n' | nc HOST PORT  # must be 400",
        confused_with: ["rfc9112-3.2/no-host"],
        deviations: [
            Admission 1 "The request is served.",
        ],
    }
    SPACE_BEFORE_COLON "rfc9112-5.1/space-before-colon" Must "RFC 9112, 5.1" {
        summary: "A request with whitespace between a field name and the colon MUST be answered 400.",
        text: "Recipients disagree about which field that is, and have been fooled by it.",
        why: "A gateway ignores the field, and the server does not: request smuggling.",
        example: ["> GET /r", "> X-Field : value", "< 200 OK"],
        curl: "printf 'GET /r HTTP/1.1\\r\\nHost: h\\r\\nX-Field : v\\r\\n\\r\\n' | nc HOST PORT  # must be 400",
        confused_with: ["rfc9112-2.1/grammar"],
        deviations: [
            Admission 1 "The request is served.",
        ],
    }
    CONFLICTING_LENGTHS "rfc9112-6.3/conflicting-lengths" Must "RFC 9112, 6.3" {
        summary: "A request with two different lengths MUST be answered 400.",
        text: "The end of the request is ambiguous. (A request with the same length twice may be served or refused.)",
        why: "A gateway and the server see two different ends of the request: request smuggling.",
        example: ["> PUT /r", "> Content-Length: 1", "> Content-Length: 2", "< 204 No Content"],
        curl: "printf 'PUT /r HTTP/1.1\\r\\nHost: h\\r\\nContent-Length: 1\\r\\nContent-Length: 2\\r\\n\\r\\nx' | nc HOST PORT  # must be 400",
        confused_with: ["rfc9112-6.1/length-beside-chunks"],
        deviations: [
            Admission 1 "The request is served.",
        ],
    }
    LENGTH_BESIDE_CHUNKS "rfc9112-6.1/length-beside-chunks" Must "RFC 9112, 6.1 and 6.3" {
        summary: "A request with both Content-Length and Transfer-Encoding MUST be refused, or read by its chunks.",
        text: "The length must not count. Either way the connection is closed after the response.",
        why: "A gateway and the server see two different ends of the request: request smuggling.",
        example: [
            "> PUT /r",
            "> Content-Length: 11",
            "> Transfer-Encoding: chunked",
            ">",
            "> 1",
            "> w",
            "> 0",
            "< 204 No Content (and the frames of the chunks are stored)",
        ],
        curl: "printf 'PUT /r HTTP/1.1\\r\\nHost: h\\r\\nContent-Length: 11\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n1\\r\\nw\\r\\n0\\r\\n\\r\\n' | nc HOST PORT; curl -s $URL  # w, or what was there",
        confused_with: ["rfc9112-6.3/conflicting-lengths"],
        deviations: [
            Content 1 "The chunks with their frames are taken for the content.",
        ],
    }
    LARGE_CHUNK "rfc9112-7.1/large-chunk" Must "RFC 9112, 7.1" {
        summary: "A recipient MUST NOT misread a large chunk size: no overflow, no lost digits.",
        text: "A server that cannot represent the size refuses the request. One that can waits for the rest of the chunk.",
        why: "The rest of the chunk is taken for the next request: request smuggling.",
        example: ["> PUT /r", "> Transfer-Encoding: chunked", ">", "> 100000001", "> w", "< 204 No Content"],
        curl: "printf 'PUT /r HTTP/1.1\\r\\nHost: h\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n100000001\\r\\nw\\r\\n0\\r\\n\\r\\n' | nc HOST PORT  # an error or no response; not 2xx",
        confused_with: ["store/whole"],
        deviations: [
            Content 1 "What came of the chunk is taken for the content.",
            Selection 1 "Content of such a PUT is read before its response."
                "See rfc9110-9.3.4/validators.",
        ],
    }
    IF_MATCH "rfc9110-13.1.1/if-match" Must "RFC 9110, 13.1.1" {
        summary: "A PUT whose If-Match is false MUST NOT be performed.",
        text: "If-Match is true if one of its tags is the current one, or, with *, if there is anything at all. If \
         it is false, the server must not perform the method. It may say so with 412 or another error. It may also \
         report a success, but only if the resource is in the requested state already.",
        why: "This is how a client makes sure that it overwrites nothing but what it has read. Without it updates \
         get lost.",
        example: ["> PUT /r", "> If-Match: \"old\"", "< 204 No Content"],
        curl: "curl -i -T new.txt -H 'If-Match: \"old\"' $URL  # 412 or another error; not 2xx",
        confused_with: ["store/one-winner", "store/steady-tag", "rfc9110-13.1.1/strong-comparison"],
        deviations: [
            Conditions 1 "If-Match of a PUT is taken for true.",
            Decision 1 "The PUT is performed at some later moment, though it was refused.",
        ],
    }
    IF_MATCH_READ "rfc9110-13.1.1/if-match-on-read" Must "RFC 9110, 13.1.1" {
        summary: "A GET or HEAD whose If-Match is false MUST NOT be performed.",
        text: "If-Match counts with every method. A client that continues a download with it would get other \
         content.",
        why: "A download is put together from two versions.",
        example: ["> GET /r", "> If-Match: \"old\"", "< 200 OK"],
        curl: "curl -i -H 'If-Match: \"old\"' $URL  # 412 or another error; not 2xx",
        confused_with: ["rfc9110-13.1.1/strong-comparison"],
        deviations: [
            Conditions 1 "If-Match of a read is taken for true.",
        ],
    }
    IF_MATCH_DELETE "rfc9110-13.1.1/if-match-on-delete" Must "RFC 9110, 13.1.1" {
        summary: "A DELETE whose If-Match is false MUST NOT be performed.",
        text: "Content that somebody else has changed in the meantime must not be removed. As with PUT, 412 is only \
         one of the ways to say so.",
        why: "A change that the client has not seen is removed.",
        example: ["> DELETE /r", "> If-Match: \"old\"", "< 204 No Content"],
        curl: "curl -i -X DELETE -H 'If-Match: \"old\"' $URL  # 412 or another error; not 2xx",
        confused_with: ["store/stays", "store/steady-tag"],
        deviations: [
            Conditions 1 "If-Match of a DELETE is taken for true.",
            Decision 1 "The DELETE is performed at some later moment, though it was refused.",
        ],
    }
    IF_NONE_MATCH "rfc9110-13.1.2/if-none-match" Must "RFC 9110, 13.1.2" {
        summary: "A PUT whose If-None-Match is false MUST NOT be performed.",
        text: "If-None-Match is false if one of its tags is the current one, or, with *, if there is anything at \
         all.",
        why: "Two clients that create the same resource with If-None-Match: * both believe that it is theirs.",
        example: ["> PUT /r (which exists)", "> If-None-Match: *", "< 204 No Content"],
        curl: "curl -i -T new.txt -H 'If-None-Match: *' $URL  # must be 412",
        confused_with: ["store/one-winner", "rfc9110-13.1.2/weak-comparison"],
        deviations: [
            Conditions 1 "If-None-Match of a PUT is taken for true.",
            Decision 1 "The PUT is performed at some later moment, though it was refused.",
        ],
    }
    IF_NONE_MATCH_DELETE "rfc9110-13.1.2/if-none-match-on-delete" Must "RFC 9110, 13.1.2" {
        summary: "A DELETE whose If-None-Match is false MUST NOT be performed.",
        text: "The condition is the same as with PUT, and so is what follows if it is false.",
        why: "Content that was to be kept is removed.",
        example: ["> DELETE /r", "> If-None-Match: *", "< 204 No Content"],
        curl: "curl -i -X DELETE -H 'If-None-Match: *' $URL  # must be 412",
        confused_with: ["store/stays"],
        deviations: [
            Conditions 1 "If-None-Match of a DELETE is taken for true.",
            Decision 1 "The DELETE is performed at some later moment, though it was refused.",
        ],
    }
    NOT_MODIFIED "rfc9110-13.1.2/not-modified" Must "RFC 9110, 13.1.2" {
        summary: "A GET or HEAD whose If-None-Match is false MUST be answered 304.",
        text: "A client that names the current tag has the content already: the response must be 304, without the \
         content.",
        why: "Caches download the same content again and again.",
        example: ["> GET /r", "> If-None-Match: \"current\"", "< 200 OK"],
        curl: "curl -i -H 'If-None-Match: \"CURRENT\"' $URL  # must be 304",
        confused_with: ["rfc9110-13.1.2/weak-comparison-on-read", "rfc9110-13.1.2/every-member"],
        deviations: [
            Conditions 1 "If-None-Match of a read is taken for true.",
        ],
    }
    NOT_MODIFIED_CAUSE "rfc9110-15.4.5/cause" Must "RFC 9110, 15.4.5" {
        summary: "A 304 MUST be sent only if a condition is false that says that the client has the content.",
        text: "304 says that the client has the content already. Without such a condition it leaves the client with \
         nothing, or with old content.",
        why: "The client has no content to show, or shows an old one.",
        example: ["> GET /r (without conditions)", "< 304 Not Modified"],
        curl: "curl -i $URL  # must not be 304",
        confused_with: ["rfc9110-13.1.3/beside-if-none-match"],
        deviations: [
            Conditions 1 "A read is answered 304 without a cause.",
        ],
    }
    FAILED_CAUSE "rfc9110-15.5.13/cause" Must "RFC 9110, 15.5.13 and 13.2.2" {
        summary: "A 412 MUST be sent only if a condition is false.",
        text: "15.5.13 defines 412: a condition of the request is false. A request whose conditions are all true, or that has \
         none, is not refused with 412.",
        why: "A client that does everything right cannot write.",
        example: ["> PUT /r (without conditions)", "< 412 Precondition Failed"],
        curl: "curl -i -T new.txt $URL  # must not be 412",
        confused_with: ["rfc9110-13.1.2/true-without-match", "rfc9110-13.1.1/every-member"],
        deviations: [
            Conditions 1 "A request with conditions is answered 412 without a cause.",
            Decision 1 "A write without conditions is answered 412.",
        ],
    }
    LENGTH "rfc9110-8.6/length-true" Must "RFC 9110, 8.6" {
        summary: "Content-Length MUST be the length of the content that is sent.",
        text: "A wrong length shifts everything that comes after it.",
        why: "The client waits for bytes that never come, or takes the next response for content.",
        example: ["> GET /r (content abc)", "< 200 OK", "< Content-Length: 2", "<", "< abc"],
        curl: "curl -v $URL $URL  # no error about the length",
        confused_with: ["rfc9112-6.3/nothing-after-the-end", "rfc9112-7.1/chunks"],
        deviations: [
            Response 1 "Content that ends too early, or goes on into the next response, is accepted.",
        ],
    }
    PUT_OWN "store/put-own" Store "" {
        summary: "A resource holds what was put there, not what was put elsewhere.",
        text: "A response with the content of another PUT may be that of another request, or the content may have \
         been stored in the wrong place.",
        why: "One client reads, or overwrites, what belongs to another.",
        example: ["> PUT /a with one", "< 204 No Content", "> GET /a", "< 200 OK with two (which was put to /b)"],
        curl: "curl -T one.txt $URL-a; curl -T two.txt $URL-b; curl -s $URL-a  # one",
        confused_with: ["rfc9112-9.2/own-answer", "store/put-exact"],
        deviations: [
            Put 3 "The content of another PUT is stored."
                "Whatever a response to another request explains may come of this too, so it counts as much.",
        ],
    }
    STEADY_CONTENT "store/steady-content" Store "" {
        summary: "Content does not change by itself.",
        text: "RFC 9110, 9.3.4, foresees that content is processed after it was put, or changes in other ways. That \
         of a store changes by requests only.",
        why: "Nobody can rely on what was stored.",
        example: ["> GET /r", "< 200 OK with v", "> GET /r", "< 200 OK with something that nobody put"],
        curl: "curl -s $URL; curl -s $URL  # the same",
        confused_with: ["rfc9112-9.2/own-answer", "rfc9110-8.8.3/strong-tag-differs"],
        deviations: [
            Selection 3 "Content that nobody put is read."
                "It explains as much as a response to another request does, so it counts as much.",
        ],
    }
    ORDER "rfc9112-9.3.2/order" Must "RFC 9112, 9.3.2" {
        summary: "Responses to pipelined requests MUST be sent in the order of the requests.",
        text: "Several requests may be under way on one connection, and safe ones may be evaluated in parallel, but \
         the responses come in the order of the requests: there is nothing else to tell them apart by.",
        why: "Every client on the connection gets somebody else's response.",
        example: ["> GET /a", "> GET /b", "< 200 OK with the content of /b", "< 200 OK with the content of /a"],
        curl: "printf 'GET /a HTTP/1.1\\r\\nHost: h\\r\\n\\r\\nGET /b HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n' | nc HOST PORT  # a, then b",
        confused_with: ["rfc9112-9.2/own-answer"],
        deviations: [
            StrayResponse 1 "A response that looks like one to another request is accepted where several are under \
             way on the connection.",
            AnyResponse 3 "Any response is accepted there."
                "A response to another request explains everything, so it is blamed last.",
        ],
    }
    OWN_ANSWER "rfc9112-9.2/own-answer" Must "RFC 9112, 9.2" {
        summary: "A request MUST get its own response, on its own connection.",
        text: "What is received on a connection is the response to the first request on it that has none yet.",
        why: "One client gets what was meant for another, secrets included.",
        example: [
            "> GET /a on one connection",
            "> GET /b on another",
            "< 200 OK with the content of /b (on the first)",
        ],
        curl: "for i in 1 2 3 4; do curl -s $URL-$i & done; wait  # each its own",
        confused_with: ["rfc9112-9.3.2/order", "store/put-own", "store/steady-content"],
        deviations: [
            StrayResponse 1 "A response that looks like one to another request is accepted.",
            AnyResponse 3 "Any response is accepted."
                "A response to another request explains everything, so it is blamed last.",
        ],
    }
    PUT_EXACT "store/put-exact" Store "" {
        summary: "What was put is stored as it came.",
        text: "A server may change what it stores, if it sends no validators. A store does not.",
        why: "The client reads something else than it wrote.",
        example: ["> PUT /r with content", "< 204 No Content", "> GET /r", "< 200 OK with conten"],
        curl: "curl -T new.txt $URL; curl -s $URL | cmp - new.txt",
        confused_with: ["rfc9110-9.3.4/validators", "store/whole"],
        deviations: [
            Put 1 "Other content is stored, and the response has no validators.",
            PutSeenTorn 2 "The same, where a read meanwhile saw content that nobody put."
                "That is a torn read first.",
        ],
    }
    REFUSED "store/refused-not-done" Store "" {
        summary: "A write that is refused is not performed.",
        text: "After a redirection, an error of the client, 501 or 505, nothing has changed, now or later. A \
         condition that is false has rules of its own.",
        why: "The client believes that nothing has changed, and something has.",
        example: ["> PUT /r with new", "< 411 Length Required", "> GET /r", "< 200 OK with new"],
        curl: "curl -i -T new.txt $URL; curl -s $URL  # after an error, the old content",
        confused_with: ["rfc9110-13.1.1/if-match"],
        deviations: [
            Refusal 1 "The write is performed at some later moment.",
        ],
    }
    CONTENT_SENT "store/content-sent" Store "" {
        summary: "GET of content that is not empty is answered with it, not with 204.",
        text: "204 says that there is nothing to send.",
        why: "The client takes the content for empty, and may store that.",
        example: ["> GET /r", "< 204 No Content"],
        curl: "curl -i $URL  # not 204",
        confused_with: ["rfc9110-15.4.5/cause"],
        deviations: [
            Response 1 "204 is accepted in place of the content.",
        ],
    }
    ONCE "store/once" Store "" {
        summary: "A write whose outcome is unknown is performed at most once.",
        text: "After 202, an error of the server or no response at all, a write may be performed at once, later, or \
         never, but not twice: others may have changed the resource in between.",
        why: "An old write comes back, and overwrites a newer one.",
        example: [
            "> PUT /r with a",
            "< 503 Service Unavailable",
            "> GET /r",
            "< 200 OK with a",
            "> PUT /r with b",
            "< 204 No Content",
            "> GET /r",
            "< 200 OK with a",
        ],
        curl: "curl cannot bring it about: it takes a failure of the server.",
        confused_with: ["store/put-lasts", "store/read-current"],
        deviations: [
            Open 1 "The write may be performed once more.",
            Put 1 "The same, where the connection ended before the response.",
            Delete 1 "The same, with DELETE.",
        ],
    }
    PUT_LASTS "store/put-lasts" Store "" {
        summary: "A PUT that was confirmed has been done.",
        text: "RFC 9110, 9.3.4, only suggests that a later GET yields what was put.",
        why: "The client believes that its data is safe, and it is lost.",
        example: ["> PUT /r with new", "< 204 No Content", "> GET /r", "< 200 OK with old"],
        curl: "curl -T new.txt $URL; curl -s $URL  # the new content",
        confused_with: ["store/read-current", "rfc9110-9.3.4/validators"],
        deviations: [
            Put 1 "Nothing is stored.",
        ],
    }
    DELETE_LASTS "store/delete-lasts" Store "" {
        summary: "A DELETE that was confirmed has been done.",
        text: "RFC 9110, 9.3.5, leaves open what becomes of the content. In a store it is gone.",
        why: "Content that was to disappear can still be read.",
        example: ["> DELETE /r", "< 204 No Content", "> GET /r", "< 200 OK"],
        curl: "curl -X DELETE $URL; curl -i $URL  # 404",
        confused_with: ["store/read-current"],
        deviations: [
            Delete 1 "Nothing is removed.",
        ],
    }
    READ_CURRENT "store/read-current" Store "" {
        summary: "A read yields the present content, not the one before.",
        text: "Once a write is confirmed, every later read sees it.",
        why: "A client acts on what is no longer true, and may write it back.",
        example: [
            "> PUT /r with new",
            "< 204 No Content",
            "> GET /r",
            "< 200 OK with new",
            "> GET /r",
            "< 200 OK with old",
        ],
        curl: "curl -T new.txt $URL; for i in 1 2 3; do curl -s $URL; done  # always the new content",
        confused_with: ["store/put-lasts", "store/delete-lasts"],
        deviations: [
            Put 1 "Reads may see what was there before.",
            Delete 1 "Reads may see what was there before.",
        ],
    }
    ONE_WINNER "store/one-winner" Store "" {
        summary: "Of several writes with the same condition at the same time, only one wins.",
        text: "RFC 9110, 13.2.1, has conditions evaluated just before the method is performed. If another write can \
         come in between, two of two writes with the same If-Match may win. This is how updates get lost. A read in \
         between is answered with content that its condition does not hold of.",
        why: "Two clients change the same thing, both are told that they succeeded, and one change is gone.",
        example: [
            "> PUT /r with a, If-Match: \"x\" on one connection",
            "> PUT /r with b, If-Match: \"x\" on another",
            "< 204 No Content",
            "< 204 No Content",
        ],
        curl: "for i in 1 2; do curl -s -o /dev/null -w '%{http_code}\\n' -T $i.txt -H 'If-Match: \"CURRENT\"' $URL & done; wait  # one 412",
        confused_with: ["rfc9110-13.1.1/if-match", "rfc9110-13.1.2/if-none-match"],
        deviations: [
            Put 1 "Conditions of requests that were sent before it was done may see what was there before.",
            Delete 1 "The same, with DELETE.",
        ],
    }
    STAYS "store/stays" Store "" {
        summary: "A resource exists until a request removes it.",
        text: "404 may be sent of anything that a server does not want to disclose. A store has no such moods, and \
         removes nothing but what it is told to.",
        why: "Data disappears.",
        example: ["> PUT /r", "< 201 Created", "> GET /r", "< 404 Not Found"],
        curl: "curl -T new.txt $URL; curl -i $URL  # 200",
        confused_with: ["rfc9110-9.3.4/replaced", "store/put-lasts"],
        deviations: [
            Presence 1 "What was there has vanished before a write.",
            Response 1 "404 is accepted of what is there.",
        ],
    }
    STEADY_TAG "store/steady-tag" Steady "" {
        summary: "A tag does not change while the content stays.",
        text: "RFC 9110, 8.8.1, lets a strong tag change for other reasons than a change of the content. A weak tag that becomes strong, once, \
         with the same text between its quotes has not changed.",
        why: "Caches download the same content again, and clients that do everything right get 412.",
        example: ["> GET /r", "< 200 OK", "< ETag: \"x\"", "> GET /r", "< 200 OK", "< ETag: \"y\""],
        curl: "curl -sI $URL | grep ETag; curl -sI $URL | grep ETag  # the same",
        confused_with: ["rfc9110-15.4.5/etag", "rfc9110-9.3.4/validators"],
        deviations: [
            Selection 1 "The tag of what was there before changes.",
            Decision 1 "The same, before a write with a condition.",
            Put 1 "From then on, what was put has another tag now and then.",
            CatchUp 1 "The same, with a write whose outcome was open.",
        ],
    }
    STEADY_DATE "store/steady-date" Steady "" {
        summary: "Last-Modified does not change while the content stays.",
        text: "The date is whatever the server believes; a store believes the same as before. Content that was there \
         before the tester came may have a date that is yet to come: then the date of each response is sent instead, \
         as RFC 9110, 8.8.2.1, requires.",
        why: "Caches download the same content again.",
        example: [
            "> GET /r",
            "< 200 OK",
            "< Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
            "> GET /r",
            "< 200 OK",
            "< Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT",
        ],
        curl: "curl -sI $URL | grep Last; sleep 2; curl -sI $URL | grep Last  # the same",
        confused_with: ["rfc9110-8.8.2.1/not-later-than-date", "store/steady-tag"],
        deviations: [
            Selection 1 "The date of what was there before changes.",
            SelectionOfPut 2 "The date of what was put changes for one read."
                "A read stores nothing, so a date for one read alone is less likely than one that stays.",
            Decision 1 "The date changes before a write with a condition.",
            Put 1 "From then on, what was put has another date now and then.",
        ],
    }
    SERVES "store/serves" Steady "" {
        summary: "Requests are served, not refused without cause.",
        text: "403, 408, 429, 500, 503, redirections, and 404 to a PUT may come at any time, as far as the standard \
         goes. After a 5xx other than 501 and 505 a write may be performed at once, later, or never, as after 202 \
         (RFC 9110, 15.3.3).",
        why: "A server that refuses much is hardly tested, and hardly of use.",
        example: ["> GET /r", "< 503 Service Unavailable"],
        curl: "curl -i $URL  # 200",
        confused_with: ["store/stays", "rfc9110-15.5.13/cause"],
        deviations: [
            Admission 1 "A malformed request is refused without a look, or a read is refused.",
            Open 1 "An error of the server leaves open what became of a write.",
            CatchUp 1 "A write is refused.",
        ],
    }
    ANSWERED "live/answered" Live "" {
        summary: "Every request is answered, to the end of the response.",
        text: "Seen only by waiting: what has not come after a long time may still come. A server that closes the \
         connection instead has said that no response will come, and may do so at any time.",
        why: "The client hangs.",
        example: ["> HEAD /r", "(nothing, and the connection stays open)"],
        curl: "curl -i -m 10 $URL  # no timeout",
        confused_with: ["rfc9110-8.6/length-true", "rfc9112-7.1/chunks", "rfc9110-10.1.1/continue"],
        deviations: [
            Response 1 "A response that does not come, or not to its end, is overlooked.",
        ],
    }
}
