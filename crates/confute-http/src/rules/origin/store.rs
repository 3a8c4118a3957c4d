//! The general rules of an origin server about conditions, and those of a store.

use super::framing;
use crate::rules::rules;

rules! {
    framing::END;
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
        text: "Content that somebody else has changed in the meantime must not be removed. As with PUT, the \
         server may report that with 412 or another error.",
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
        text: "404 may be sent of anything that a server does not want to disclose. A store does \
         not do that, and removes content only on request.",
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
        text: "403, 408, 429, 500, 503, redirections, 404 to a PUT, and a 2xx without the content to a GET may come at \
         any time, as far as the standard goes. After a 5xx other than 501 and 505 a write may be performed at once, later, or never, as after 202 \
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
