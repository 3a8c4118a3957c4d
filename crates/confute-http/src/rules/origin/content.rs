//! The rules of an origin server about PUT, validators, ranges and the fields of responses.

use super::conditions;
use crate::rules::rules;

rules! {
    conditions::END;
    CREATED "rfc9110-9.3.4/created" Must "RFC 9110, 9.3.4" {
        summary: "A PUT that creates a resource MUST be answered 201.",
        text: "If the resource did not exist, and exists now, the server must say so.",
        why: "A client cannot tell whether it created the resource or replaced somebody else's.",
        example: ["> PUT /new", "< 204 No Content"],
        curl: "curl -i -T new.txt $URL-new  # must be 201",
        confused_with: ["rfc9110-9.3.4/replaced", "store/stays"],
        deviations: [
            Put 1 "Another 2xx is accepted in place of 201.",
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
            Put 1 "Another 2xx is accepted in place of 200 or 204.",
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
}
