//! Every demand on a gateway, by name.
//!
//! *Must* and *should* are the standard's own words, about gateways or about intermediaries in general. What it says
//! about proxies only (those that clients choose) does not bind a gateway, and is *store* here: what everybody expects.

use confute::lang::{Level, Rule};

use crate::rules::{
    CHUNKS, Explanation, FRAMING_FIELDS, GRAMMAR, LAST, LENGTH, ORDER, OWN_ANSWER, SURPLUS, rules,
};

rules! {
    FORWARDS_ZERO "rfc9110-7.6.2/zero" Must "RFC 9110, 7.6.2"
        "OPTIONS and TRACE with Max-Forwards: 0 are not forwarded."
        "Whoever receives such a request is the last recipient, and answers it. Any answer will do.";
    FORWARDS "rfc9110-7.6.2/updated" Must "RFC 9110, 7.6.2"
        "Max-Forwards of OPTIONS and TRACE is counted down."
        "What is forwarded has one less than what came, or less than that. With other methods Max-Forwards may be ignored.";
    CONNECTION "rfc9110-7.6.1/connection" Must "RFC 9110, 7.6.1"
        "Connection is not forwarded as it came."
        "It is about one connection. An intermediary removes it, or sends options of its own. (Options that it could have \
         chosen itself, close and keep-alive, are not held against it.)";
    NAMED "rfc9110-7.6.1/named-fields" Must "RFC 9110, 7.6.1"
        "Fields that Connection names are not forwarded."
        "Connection says which other fields are about the connection only. An intermediary must parse it and remove \
         these, whatever they are called, from requests and from responses.";
    KNOWN "rfc9110-7.6.1/known-fields" Should "RFC 9110, 7.6.1"
        "Keep-Alive, Proxy-Connection and TE are not forwarded, whether or not Connection names them."
        "They are known to be about one connection. They should be removed, or replaced by the intermediary's own.";
    VIA "rfc9110-7.6.3/via" Must "RFC 9110, 7.6.3"
        "A gateway adds itself to Via in every request that it forwards."
        "Its member comes last and tells the protocol version that the request came with: 1.1. In responses a gateway \
         may leave it out. Members that were there stay, though equal versions in a row may be made one.";
    CONDITIONS "rfc9110-13.2.1/conditions-forwarded" Must "RFC 9110, 13.2.1"
        "If-Match, If-None-Match and If-Unmodified-Since of a write are forwarded."
        "Only the origin can tell whether they are true. An intermediary that is no cache must forward them. A cache may \
         do otherwise with GET and HEAD, so that is asked of writes only.";
    HOST "rfc9112-3.2/one-host" Must "RFC 9112, 3.2; RFC 9110, 3.7 and 7.2"
        "A forwarded request has one Host."
        "Towards the origin a gateway is a client, and clients of HTTP/1.1 send one Host. Which one is a matter of \
         configuration.";
    FORWARDED_GRAMMAR "rfc9112-2.1/forwarded-grammar" Must "RFC 9112, 2.1, 5, 6 and 7.1; RFC 9110, 3.7"
        "A forwarded request is as the grammar has it."
        "Lines, fields, lengths and chunks: towards the origin a gateway is a client like any other.";
    NO_TRANSFORM "rfc9111-5.2.2.6/no-transform" Must "RFC 9111, 5.2.2.6; RFC 9110, 7.7"
        "Content that is not to be transformed is relayed as it came."
        "With Cache-Control: no-transform, which all answers of our origin have, no intermediary may change the content. \
         Chunks may become a length, and the other way round. What is cut off must not look complete.";
    NO_STORE "rfc9111-5.2.2.5/no-store" Must "RFC 9111, 5.2.2.5 and 3"
        "An answer that is not to be stored answers nobody else."
        "With Cache-Control: no-store, which all answers of our origin have, a cache must not use it for another request. \
         So every request has to be forwarded.";
    INTERIM "rfc9110-15.2/interim" Must "RFC 9110, 15.2 and 3.7"
        "An interim response of the origin is not taken for its answer, nor for a failure."
        "A client must be able to read any number of 1xx responses before the final one, and towards the origin a gateway is a \
         client like any other.";
    INTERIM_FORWARDED "rfc9110-15.2/forwarded" Must "RFC 9110, 15.2"
        "A proxy forwards interim responses, unless it has asked for them itself."
        "This is asked only of proxies that clients choose. A gateway may leave interim responses out, or add some of its own.";
    TRAILERS_APART "rfc9112-7.1.2/trailers-apart" Must "RFC 9112, 7.1.2; RFC 9110, 6.5.1"
        "A trailer field is not moved into the header section."
        "Trailer fields may be forwarded as such or left out. They must not be merged into the header section unless the \
         definition of the field says how, and that of the tester's fields does not.";
    FIELDS_FORWARDED "rfc9110-5.1/fields-forwarded" Must "RFC 9110, 5.1"
        "A proxy forwards fields that it does not know."
        "This is required of proxies that clients choose, in requests and in responses, for fields that Connection does not \
         name. The tester's own fields are known to nobody. A gateway is only expected to forward them: see \
         gateway/request-fields and gateway/response-fields.";
    TRAILERS_DECODED "rfc9112-7.1/trailers-decoded" Must "RFC 9112, 7.1; RFC 9110, 3.7 and 10.1.4"
        "A response with trailer fields that the gateway asked for is decoded."
        "The gateway's request had TE: trailers, which says that trailer fields will not be discarded. A gateway that answers \
         5xx instead of relaying such a response cannot decode it.";
    UNASKED_TRAILERS "rfc9112-7.1/unasked-trailers" Must "RFC 9112, 7.1, 7.1.2 and 7.4; RFC 9110, 6.5.1"
        "A response with trailer fields is decoded, though the gateway did not ask for them with TE."
        "A recipient must be able to decode the chunked coding (RFC 9112, 7.1), and the trailer section is part of it. Chunked is \
         acceptable whatever TE says (7.4); TE: trailers only promises that trailer fields are not discarded, and who did \
         not send it may discard them (7.1.2). No clause forbids an origin to send them unasked: RFC 9110, 6.5.1, only says \
         that it should not rely on them. So the level is must. A gateway that answers 5xx instead of relaying such a response \
         breaks this rule, and not gateway/forwarded: it did forward the request.";
    RETRY "rfc9110-9.2.2/retry" Should "RFC 9110, 9.2.2"
        "A request that is not idempotent is not sent again after a failure."
        "Nobody knows whether the origin has done what the first one asked. (For proxies that clients choose it is a must.)";
    TARGET "gateway/target" Store ""
        "The target is mapped as for any other request: the prefix is replaced, the rest is as it came."
        "RFC 9110, 3.7, leaves the mapping to the gateway, and 7.7 forbids only proxies to change path and query. How the \
         prefix is mapped is found out with a first request; all others are expected to be mapped like it.";
    METHOD "gateway/method" Store ""
        "The method is forwarded as it came."
        "RFC 9110, 7.6, expects even unknown methods to be forwarded. HEAD may go on as GET: inbound a gateway speaks as it \
         likes (3.7), and the client gets the head alone.";
    REQUEST_CONTENT "gateway/request-content" Store ""
        "The content of a request is forwarded as it came."
        "Chunks may become a length, and the other way round. All requests have Cache-Control: no-transform, by which a \
         client asks that nobody changes the content (RFC 9111, 5.2.1.6).";
    REQUEST_FIELDS "gateway/request-fields" Store ""
        "Fields of a request that are not about the connection are forwarded as they came."
        "A gateway is expected to forward fields that it does not know; a proxy must (rfc9110-5.1/fields-forwarded). Lines of \
         the same name may be put together, in order. More fields may be added.";
    STATUS "gateway/status" Store ""
        "The status is relayed as it came."
        "An answer of the origin is the answer. A cache may make 206, 304 or 412 of a 200 where the client asked for that.";
    RESPONSE_FIELDS "gateway/response-fields" Store ""
        "Fields of a response that are not about the connection are relayed as they came."
        "More fields may be added. Those that gateways commonly write themselves (Date, Server, Location) are not looked at, \
         nor what is missing from a response that breaks off in its head.";
    FAILURE_TOLD "gateway/failure-told" Store "RFC 9110, 15.6"
        "Where the origin fails, the client is told 5xx, or what came breaks off."
        "502 and 504 are meant for it, 503 is common. Closing the connection is allowed too.";
    NOTHING_INVENTED "gateway/nothing-invented" Store ""
        "Nothing is forwarded that nobody sent."
        "A request that no client asked for may do what nobody wants.";
    PORT "gateway/host-port" Store "RFC 9112, 3.2; RFC 9110, 7.2"
        "The port of a forwarded Host belongs to its name."
        "Host is the authority of the target, port included, and which target a gateway has is a matter of configuration. But \
         the origin's address, or the client's Host, with another port or without it is nobody's authority, as far as the \
         tester can see.";
    ONCE "gateway/once" Store "RFC 9110, 9.2.2"
        "A request is forwarded once."
        "Only if the origin failed, and the method is idempotent, may it be sent again.";
    FORWARDED "gateway/forwarded" Steady ""
        "A request that nothing is wrong with is forwarded, and not refused."
        "No standard forbids a gateway to refuse what it likes. The premise is that it is configured to forward what is \
         below the URL, and that the origin, which is the tester, is well. Errors after more than a second are excused: \
         the tester may have been slow. 502, 503 and 504 are allowed where the origin has ended a connection that could have \
         carried the request, an idle one included: the request was sent before that end, or within a second after it.";
    ANSWERED "gateway/answered" Live ""
        "Every request is answered, once the origin has answered it."
        "That it was not is seen only by waiting.";
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
    ONCE,
    OWN_ANSWER,
    ORDER,
    FORWARDED,
    ANSWERED,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::breach;

    #[test]
    fn all_rules_are_listed_explained_and_looked_at() {
        for rule in RULES {
            assert!(ALL.contains(rule), "{}", rule.name);
            assert!(crate::rules::explain(rule.name).is_some(), "{}", rule.name);
        }
        for rule in ALL {
            assert!(breach::NAMES.iter().any(|(_, known)| *known == rule), "{}", rule.name);
        }
    }
}
