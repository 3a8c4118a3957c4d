//! The rules of an origin server about message boundaries and malformed requests.

use super::response;
use crate::rules::rules;

rules! {
    response::END;
    BODY_READ "rfc9112-9.3/body-read" Must "RFC 9112, 9.3" {
        summary: "A server MUST read the content of a request to its end, or close the connection after its \
         response.",
        text: "The unread rest of the content would be taken for the next request, and answered.",
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
        text: "Responses to HEAD and those with 204 or 304 end with their head; others after the content that their \
         head announces. Bytes after that would be taken for the next response. So would a response that nobody \
         asked for, unless it is the 408 of a server that has waited too long (RFC 9110, 15.5.9) and serves no more on \
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
        text: "After Connection: close in a response, the server closes the connection and discards the requests behind.",
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
        text: "The server closes after its response to such a request. Requests behind it are discarded.",
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
        text: "An HTTP/1.1 request names its host in Host. Without the field, every recipient has to guess it.",
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
}
