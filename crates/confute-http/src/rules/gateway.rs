//! The rules of a gateway.
//!
//! The rules of a forward proxy (`--forward`) are here too: a requirement on proxies only (those that clients choose) is *must*
//! where the tester is the client of such a proxy. It does not bind a gateway, of which the nearest expectation is a *store* rule.

use confute::lang::Rule;

use super::origin::{self, CHUNKS, FRAMING_FIELDS, GRAMMAR, LAST, LENGTH, ORDER, OWN_ANSWER, SURPLUS};
use super::rules;

rules! {
    origin::RULES.len();
    FORWARDS_ZERO "rfc9110-7.6.2/zero" Must "RFC 9110, 7.6.2" {
        summary: "OPTIONS and TRACE with Max-Forwards: 0 MUST NOT be forwarded.",
        text: "The recipient of such a request is the last one, and responds to it. Any response will do.",
        why: "A client that looks for a loop, or for the intermediary that fails, looks in the wrong place.",
        example: ["> OPTIONS /r", "> Max-Forwards: 0", "(the origin receives it)"],
        curl: "curl -i -X OPTIONS -H 'Max-Forwards: 0' $GATEWAY  # nothing in the origin's log",
        confused_with: ["rfc9110-7.6.2/updated"],
        deviations: [
            Request 1 "The request is forwarded all the same.",
        ],
    }
    FORWARDS "rfc9110-7.6.2/updated" Must "RFC 9110, 7.6.2" {
        summary: "Max-Forwards of OPTIONS and TRACE MUST be decremented when they are forwarded.",
        text: "What is forwarded has one less than what came, or less than that. With other methods Max-Forwards may \
         be ignored.",
        why: "A request in a loop goes round for ever.",
        example: ["> OPTIONS /r", "> Max-Forwards: 3", "(the origin receives Max-Forwards: 3)"],
        curl: "curl -X OPTIONS -H 'Max-Forwards: 3' $GATEWAY  # the origin receives 2 or less",
        confused_with: ["rfc9110-7.6.2/zero"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    CONNECTION "rfc9110-7.6.1/connection" Must "RFC 9110, 7.6.1" {
        summary: "Connection MUST NOT be forwarded as it came.",
        text: "It is about one connection. An intermediary removes it, or sends options of its own. (Options that it \
         could have chosen itself, close and keep-alive, are no violation.)",
        why: "The origin treats its connection as the client asked the gateway to treat another.",
        example: ["> GET /r", "> Connection: X-Hop", "(the origin receives Connection: X-Hop)"],
        curl: "curl -H 'Connection: X-Hop' $GATEWAY  # the origin receives no such Connection",
        confused_with: ["rfc9110-7.6.1/named-fields", "rfc9110-7.6.1/known-fields"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    NAMED "rfc9110-7.6.1/named-fields" Must "RFC 9110, 7.6.1" {
        summary: "Fields that Connection names MUST NOT be forwarded.",
        text: "Connection says which other fields are about the connection only. An intermediary must parse it and \
         remove these, whatever they are called, from requests and from responses.",
        why: "Whoever removes a field from the next hop can also keep it from being removed: credentials leak, or \
         are dropped.",
        example: ["> GET /r", "> Connection: X-Hop", "> X-Hop: secret", "(the origin receives X-Hop: secret)"],
        curl: "curl -H 'Connection: X-Hop' -H 'X-Hop: secret' $GATEWAY  # the origin receives no X-Hop",
        confused_with: ["rfc9110-7.6.1/connection", "rfc9110-7.6.1/known-fields"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    KNOWN "rfc9110-7.6.1/known-fields" Should "RFC 9110, 7.6.1" {
        summary: "Keep-Alive, Proxy-Connection and TE SHOULD NOT be forwarded, whether or not Connection names them.",
        text: "They are known to be about one connection. They should be removed, or replaced by the intermediary's \
         own.",
        why: "The origin believes that the gateway can do what only the client can.",
        example: ["> GET /r", "> Keep-Alive: timeout=7", "(the origin receives Keep-Alive: timeout=7)"],
        curl: "curl -H 'Keep-Alive: timeout=7' $GATEWAY  # the origin receives no Keep-Alive",
        confused_with: ["rfc9110-7.6.1/named-fields"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    VIA "rfc9110-7.6.3/via" Must "RFC 9110, 7.6.3" {
        summary: "A gateway MUST add itself to Via in every request that it forwards.",
        text: "Its member comes last and tells the protocol version that the request came with: 1.1. In responses a \
         gateway may leave it out. Members that were there stay, though equal versions in a row may be made one.",
        why: "Loops are not noticed, and nobody can tell which way a request came.",
        example: ["> GET /r", "(the origin receives no Via)"],
        curl: "curl $GATEWAY  # the origin receives Via: 1.1 something",
        confused_with: ["gateway/request-fields"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    CONDITIONS "rfc9110-13.2.1/conditions-forwarded" Must "RFC 9110, 13.2.1; RFC 9111, 4 and 4.3.2" {
        summary: "If-Match, If-None-Match and If-Unmodified-Since of a write MUST be forwarded.",
        text: "Only the origin can tell whether they are true. An intermediary that is no cache must forward them. A \
         cache writes unsafe requests through to the origin (RFC 9111, 4), and does not evaluate If-Match itself (4.3.2). It \
         may do otherwise with GET and HEAD, so only writes are judged.",
        why: "Every conditional write becomes an unconditional one, and updates get lost.",
        example: ["> PUT /r", "> If-Match: \"x\"", "(the origin receives no If-Match)"],
        curl: "curl -T new.txt -H 'If-Match: \"x\"' $GATEWAY  # the origin receives If-Match",
        confused_with: ["gateway/request-fields"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    HOST "rfc9112-3.2/one-host" Must "RFC 9112, 3.2; RFC 9110, 3.7 and 7.2" {
        summary: "A forwarded request MUST have exactly one Host.",
        text: "Towards the origin a gateway is a client, and clients of HTTP/1.1 send one Host. Which one is a \
         matter of configuration.",
        why: "The origin must refuse it, or serves another site.",
        example: ["> GET /r", "(the origin receives two Hosts)"],
        curl: "curl $GATEWAY  # the origin receives one Host",
        confused_with: ["gateway/host-port"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    FORWARDED_GRAMMAR "rfc9112-2.1/forwarded-grammar" Must "RFC 9112, 2.1, 5, 6 and 7.1; RFC 9110, 3.7" {
        summary: "A forwarded request MUST conform to the grammar of HTTP/1.1.",
        text: "Lines, fields, lengths and chunks: towards the origin a gateway is a client like any other.",
        why: "The origin must refuse it, or sees another request in it.",
        example: ["> GET /r", "(the origin receives a line that ends in LF without CR)"],
        curl: "nc -l -p PORT | xxd & sleep 1; curl -m 5 $GATEWAY  # with PORT as the origin: every line ends in 0d 0a",
        confused_with: ["rfc9112-2.1/grammar"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    NO_TRANSFORM "rfc9111-5.2.2.6/no-transform" Must "RFC 9111, 5.2.2.6; RFC 9110, 7.7" {
        summary: "Content with Cache-Control: no-transform MUST be relayed as it came.",
        text: "All responses of the tester's origin have Cache-Control: no-transform, so no intermediary may change \
         the content. Chunks may become a length, and the other way round. Content that was cut off must not look \
         complete.",
        why: "The client gets content that the origin never sent, with a tag that says it did.",
        example: ["< 200 OK with hello (from the origin)", "< 200 OK with hallo (to the client)"],
        curl: "curl -s $GATEWAY | cmp - content.txt  # with an origin that serves it with Cache-Control: no-transform",
        confused_with: ["rfc9110-8.6/length-true", "gateway/failure-told"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    NO_STORE "rfc9111-5.2.2.5/no-store" Must "RFC 9111, 5.2.2.5 and 3" {
        summary: "A response with Cache-Control: no-store MUST NOT be used for another request.",
        text: "All responses of the tester's origin have Cache-Control: no-store, so every request has to be \
         forwarded.",
        why: "One client gets what was meant for another, or what is no longer true.",
        example: [
            "> GET /r (first)",
            "< 200 OK with a mark",
            "> GET /r (second)",
            "< 200 OK with the same mark (the origin received nothing)",
        ],
        curl: "curl -s $GATEWAY; curl -s $GATEWAY  # with an origin that sends Cache-Control: no-store: two requests in its log",
        confused_with: ["rfc9112-9.2/own-answer"],
        deviations: [
            Request 1 "The response to another request is sent again.",
        ],
    }
    INTERIM "rfc9110-15.2/interim" Must "RFC 9110, 15.2 and 3.7" {
        summary: "An interim response of the origin MUST NOT be taken for its final response, nor for a failure.",
        text: "A client must be able to read any number of 1xx responses before the final one, and towards the \
         origin a gateway is a client like any other.",
        why: "An origin that sends early hints cannot be used behind this gateway.",
        example: ["< 103 Early Hints, then 200 OK (from the origin)", "< 502 Bad Gateway (to the client)"],
        curl: "curl -i $GATEWAY  # with an origin that sends 103 first: 200",
        confused_with: ["gateway/forwarded", "gateway/answered"],
        deviations: [
            Answer 1 "An error of the gateway's own is accepted after an interim response, or none comes.",
        ],
    }
    INTERIM_FORWARDED "rfc9110-15.2/forwarded" Must "RFC 9110, 15.2" {
        summary: "A proxy MUST forward interim responses, unless it has asked for them itself.",
        text: "This is required only of proxies that clients choose. A gateway may leave interim responses out, or \
         add some of its own.",
        why: "Clients do not get the hints that the origin sends.",
        example: ["< 103 Early Hints, then 200 OK (from the origin)", "< 200 OK (to the client)"],
        curl: "curl -v -x $PROXY $URL  # with an origin that sends 103 first: 103, then 200",
        confused_with: ["rfc9110-15.2/interim"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    TRAILERS_APART "rfc9112-7.1.2/trailers-apart" Must "RFC 9112, 7.1.2; RFC 9110, 6.5.1" {
        summary: "A trailer field MUST NOT be moved into the header section.",
        text: "Trailer fields may be forwarded as such or left out. They must not be merged into the header section \
         unless the definition of the field says how, and that of the tester's fields does not.",
        why: "Whoever controls the end of the content can add fields to the head, and change what it means.",
        example: [
            "< 200 OK, chunks, then X-Late: t (from the origin)",
            "< 200 OK",
            "< X-Late: t (in the head, to the client)",
        ],
        curl: "curl -i $GATEWAY  # with an origin that sends a trailer field: not in the head",
        confused_with: ["gateway/response-fields"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    FIELDS_FORWARDED "rfc9110-5.1/fields-forwarded" Must "RFC 9110, 5.1" {
        summary: "A proxy MUST forward header fields that it does not know, unless it is configured to block them.",
        text: "This is required of proxies that clients choose, in requests and in responses, for fields that \
         Connection does not name. The tester's own fields are known to nobody. A gateway is only expected to \
         forward them: see gateway/request-fields and gateway/response-fields.",
        why: "HTTP can be extended only if intermediaries pass on what they do not know.",
        example: ["> GET http://host/r", "> X-End: 1", "(the origin receives no X-End)"],
        curl: "curl -x $PROXY -H 'X-End: 1' $URL  # the origin receives X-End",
        confused_with: ["gateway/request-fields", "gateway/response-fields"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    TRAILERS_DECODED "rfc9112-7.1/trailers-decoded" Must "RFC 9112, 7.1; RFC 9110, 3.7 and 10.1.4" {
        summary: "A response with trailer fields that the gateway asked for MUST be decoded.",
        text: "The gateway's request had TE: trailers, which says that trailer fields will not be discarded. A \
         gateway that answers 5xx instead of relaying such a response cannot decode it.",
        why: "The gateway asks for something that it cannot read.",
        example: [
            "> GET /r",
            "> TE: trailers (to the origin)",
            "< 200 OK, chunks, then X-Late: t",
            "< 502 Bad Gateway (to the client)",
        ],
        curl: "curl -i $GATEWAY  # with an origin that sends a trailer field and received TE: trailers: 200",
        confused_with: ["rfc9112-7.1/unasked-trailers", "gateway/forwarded"],
        deviations: [
            Answer 1 "An error, or a response that breaks off, is accepted where trailer fields came.",
        ],
    }
    UNASKED_TRAILERS "rfc9112-7.1/unasked-trailers" Must "RFC 9112, 7.1, 7.1.2 and 7.4; RFC 9110, 6.5.1" {
        summary: "A response with trailer fields MUST be decoded, though the gateway did not ask for them with TE.",
        text: "A recipient must be able to decode the chunked coding (RFC 9112, 7.1), and the trailer section is \
         part of it. Chunked is acceptable whatever TE says (7.4); TE: trailers only promises that trailer fields \
         are not discarded, and who did not send it may discard them (7.1.2). No clause forbids an origin to send \
         them unasked: RFC 9110, 6.5.1, only says that it should not rely on them. So the level is must. A gateway \
         that answers 5xx instead of relaying such a response breaks this rule, and not gateway/forwarded: it did \
         forward the request.",
        why: "An origin that sends trailer fields cannot be used behind this gateway.",
        example: ["< 200 OK, chunks, then X-Late: t (from the origin)", "< 502 Bad Gateway (to the client)"],
        curl: "curl -i $GATEWAY  # with an origin that sends a trailer field and received no TE: trailers: 200",
        confused_with: ["rfc9112-7.1/trailers-decoded", "gateway/forwarded"],
        deviations: [
            Answer 1 "An error, or a response that breaks off, is accepted where trailer fields came that nobody \
             asked for.",
        ],
    }
    RETRY "rfc9110-9.2.2/retry" Should "RFC 9110, 9.2.2" {
        summary: "A request that is not idempotent SHOULD NOT be sent again after a failure.",
        text: "Nobody knows whether the origin has performed the first one. (For proxies that clients choose it is a \
         must.)",
        why: "An order is placed twice.",
        example: ["> POST /r", "(the origin closes without a response)", "(the origin receives POST /r again)"],
        curl: "curl -d x $GATEWAY  # with an origin that closes at once: one request in its log",
        confused_with: ["gateway/once"],
        deviations: [
            Answer 1 "The request is sent again after a failure.",
        ],
    }
    TARGET "gateway/target" Store "" {
        summary: "The target is mapped like that of any other request: the prefix is replaced, the rest is forwarded \
         as it came.",
        text: "RFC 9110, 3.7, leaves the mapping to the gateway, and 7.7 forbids only proxies to change path and \
         query. How the prefix is mapped is found out with a first request; all others are expected to be mapped \
         like it.",
        why: "The origin serves another resource than the client asked for.",
        example: ["> GET /in/r?q", "(the origin receives GET /r)"],
        curl: "curl \"$GATEWAY/r?q\"  # the origin receives ?q",
        confused_with: ["rfc9112-3.2/one-host"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    METHOD "gateway/method" Store "" {
        summary: "The method is forwarded as it came.",
        text: "RFC 9110, 7.6, expects even unknown methods to be forwarded. HEAD may be forwarded as GET: inbound a \
         gateway speaks as it likes (3.7), and the client gets the head alone.",
        why: "The origin does something else than the client asked for.",
        example: ["> PUT /r", "(the origin receives POST /r)"],
        curl: "curl -T new.txt $GATEWAY  # the origin receives PUT",
        confused_with: ["gateway/nothing-invented"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    REQUEST_CONTENT "gateway/request-content" Store "" {
        summary: "The content of a request is forwarded as it came.",
        text: "Chunks may become a length, and the other way round. All requests have Cache-Control: no-transform, \
         by which a client asks that nobody changes the content (RFC 9111, 5.2.1.6).",
        why: "The origin stores something else than the client sent.",
        example: ["> PUT /r with content", "(the origin receives conten)"],
        curl: "curl -T new.txt $GATEWAY  # the origin receives all of it",
        confused_with: ["rfc9112-2.1/forwarded-grammar"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    REQUEST_FIELDS "gateway/request-fields" Store "" {
        summary: "Fields of a request that are not about the connection are forwarded as they came.",
        text: "A gateway is expected to forward fields that it does not know; a proxy must \
         (rfc9110-5.1/fields-forwarded). Lines of the same name may be put together, in order. More fields may be \
         added.",
        why: "The origin decides without something that the client told it.",
        example: ["> GET /r", "> X-End: 1", "(the origin receives no X-End)"],
        curl: "curl -H 'X-End: 1' $GATEWAY  # the origin receives X-End",
        confused_with: ["rfc9110-5.1/fields-forwarded", "rfc9110-13.2.1/conditions-forwarded"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    STATUS "gateway/status" Store "" {
        summary: "The status is relayed as it came.",
        text: "The response of the origin is the response. A cache may make 206, 304 or 412 of a 200 where the \
         client asked for that.",
        why: "The client is told something that the origin did not say.",
        example: ["< 404 Not Found (from the origin)", "< 200 OK (to the client)"],
        curl: "curl -i $GATEWAY  # the origin's status",
        confused_with: ["gateway/forwarded", "gateway/failure-told"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    RESPONSE_FIELDS "gateway/response-fields" Store "" {
        summary: "Fields of a response that are not about the connection are relayed as they came.",
        text: "More fields may be added. Fields that gateways commonly write themselves (Date, Server, Location) are \
         not compared, nor is anything missed in a response that breaks off in its head.",
        why: "The client lacks validators and other things that the origin sent.",
        example: ["< 200 OK with ETag: \"t\" (from the origin)", "< 200 OK without ETag (to the client)"],
        curl: "curl -i $GATEWAY  # the origin's fields",
        confused_with: ["rfc9110-5.1/fields-forwarded", "rfc9112-7.1.2/trailers-apart"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    FAILURE_TOLD "gateway/failure-told" Store "RFC 9110, 15.6" {
        summary: "Where the origin fails, the client is told 5xx, or the response breaks off.",
        text: "502 and 504 are meant for it, 503 is common. Closing the connection is allowed too.",
        why: "The client takes half of the content for all of it, or a failure for a success.",
        example: ["(the origin closes in the middle of its response)", "< 200 OK (to the client, complete)"],
        curl: "curl -i $GATEWAY  # with an origin that closes at once: 502",
        confused_with: ["rfc9111-5.2.2.6/no-transform", "gateway/status"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    NOTHING_INVENTED "gateway/nothing-invented" Store "" {
        summary: "Nothing is forwarded that no client sent.",
        text: "A request that no client sent may do what nobody wants.",
        why: "The origin performs what nobody asked for.",
        example: ["(the origin receives GET /r, and no client sent it)"],
        curl: "curl $GATEWAY  # one request in the origin's log",
        confused_with: ["gateway/once"],
        deviations: [
            Request 1 "A request that no client sent goes to the origin.",
        ],
    }
    PORT "gateway/host-port" Store "RFC 9112, 3.2; RFC 9110, 7.2" {
        summary: "The port of a forwarded Host belongs to its name.",
        text: "Host is the authority of the target, port included, and which target a gateway has is a matter of \
         configuration. But the origin's address, or the client's Host, with another port or without it is nobody's \
         authority, as far as the tester can see.",
        why: "The origin makes links and redirections that lead nowhere.",
        example: ["> GET /r", "(the origin at 10.0.0.1:9090 receives Host: 10.0.0.1)"],
        curl: "curl $GATEWAY  # the origin receives a Host with the right port",
        confused_with: ["rfc9112-3.2/one-host"],
        deviations: [
            Habit 1 "Violations are overlooked in every message that the gateway forwards.",
        ],
    }
    FORWARDED_ONCE "gateway/once" Store "RFC 9110, 9.2.2" {
        summary: "A request is forwarded once.",
        text: "It may be sent again only if the origin failed and the method is idempotent.",
        why: "Something is done twice, or an old write overwrites a newer one.",
        example: ["> POST /r", "(the origin receives POST /r twice)"],
        curl: "curl -d x $GATEWAY  # one request in the origin's log",
        confused_with: ["rfc9110-9.2.2/retry", "gateway/nothing-invented"],
        deviations: [
            Request 1 "The request goes to the origin twice at once.",
            Answer 1 "The request goes to the origin once more after its response.",
        ],
    }
    FROM_ORIGIN "gateway/from-origin" Store "" {
        summary: "A response that grants a request comes from the origin.",
        text: "No standard forbids a gateway to be the origin of what it likes. The premise is that it is configured to \
         forward what is below the URL: then it knows nothing of the resources there. A refusal, a redirection, and a \
         response to OPTIONS, which may be about the gateway itself, are matters of gateway/forwarded.",
        why: "The client takes the gateway's own page for the resource, or believes that a write was performed.",
        example: ["> GET /r", "< 200 OK with a page of the gateway (the origin received nothing)"],
        curl: "curl -i $GATEWAY  # the origin's response",
        confused_with: ["gateway/forwarded", "rfc9111-5.2.2.5/no-store", "rfc9112-9.2/own-answer"],
        deviations: [
            Request 1 "The gateway answers 2xx by itself, and does not forward the request.",
        ],
    }
    FORWARDED "gateway/forwarded" Steady "" {
        summary: "A request that nothing is wrong with is forwarded, not refused.",
        text: "No standard forbids a gateway to refuse what it likes. The premise is that it is configured to \
         forward what is below the URL, and that the origin, which is the tester, is well. Errors after more than a \
         second are excused: the tester may have been slow. 502, 503 and 504 are allowed where the origin has ended \
         a connection that could have carried the request, an idle one included: the request was sent before that \
         end, or within a second after it.",
        why: "Clients get errors though the origin is well.",
        example: ["> GET /r", "< 503 Service Unavailable (the origin received nothing)"],
        curl: "curl -i $GATEWAY  # the origin's response",
        confused_with: ["gateway/status", "gateway/from-origin", "rfc9110-15.2/interim"],
        deviations: [
            Request 1 "The gateway answers with an error, whether it forwards the request or not.",
        ],
    }
    GATEWAY_ANSWERED "gateway/answered" Live "" {
        summary: "Every request is answered, to the end of the response, once the origin has answered it.",
        text: "A missing response is seen only by waiting.",
        why: "The client hangs.",
        example: ["< 200 OK (from the origin)", "(nothing to the client, and the connection stays open)"],
        curl: "curl -i -m 10 $GATEWAY  # no timeout",
        confused_with: ["rfc9110-8.6/length-true", "gateway/forwarded"],
        deviations: [
            Request 1 "The request comes to nothing.",
            Answer 1 "The response of the origin comes to nothing, or does not come to its end.",
        ],
    }
}

/// All of them, with those of an origin server that a gateway has to keep towards its clients (RFC 9110, 3.7).
pub const ALL: &[Rule] = &[
    FORWARDS_ZERO,
    FORWARDS,
    CONNECTION,
    NAMED,
    KNOWN,
    VIA,
    CONDITIONS,
    HOST,
    FORWARDED_GRAMMAR,
    NO_TRANSFORM,
    NO_STORE,
    INTERIM,
    INTERIM_FORWARDED,
    TRAILERS_APART,
    FIELDS_FORWARDED,
    TRAILERS_DECODED,
    UNASKED_TRAILERS,
    RETRY,
    SURPLUS,
    CHUNKS,
    GRAMMAR,
    FRAMING_FIELDS,
    LAST,
    LENGTH,
    TARGET,
    METHOD,
    REQUEST_CONTENT,
    REQUEST_FIELDS,
    STATUS,
    RESPONSE_FIELDS,
    FAILURE_TOLD,
    NOTHING_INVENTED,
    PORT,
    FORWARDED_ONCE,
    FROM_ORIGIN,
    OWN_ANSWER,
    ORDER,
    FORWARDED,
    GATEWAY_ANSWERED,
];
