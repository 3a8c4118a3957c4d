//! Every demand of the model, by name.
//!
//! Where one rule is a special case of another, it comes first: who has to name one of several that explain what was
//! seen names the first.
//!
//! *Must* and *should* are the standard's own words. *Store* is what everybody expects of a store with one copy and no
//! standard demands; *steady* is what correct servers may do without: serving every request, and validators that change with
//! the content only. *Live* can only be seen by waiting.

use confute::lang::{Level, Rule};

/// What there is to say about a rule beyond its summary.
#[derive(Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The rule's name.
    pub name: &'static str,
    /// Where the standard says it; empty if no standard does.
    pub clause: &'static str,
    /// What it asks, and what it does not, in our words.
    pub text: &'static str,
}

/// What there is to say about the rule of this name.
pub fn explain(name: &str) -> Option<&'static Explanation> {
    EXPLANATIONS.iter().chain(crate::proxy::rules::EXPLANATIONS).find(|each| each.name == name)
}

/// Where the standard asks for what the rule of this name asks for, if one does.
pub fn clause(name: &str) -> Option<&'static str> {
    explain(name).map(|more| more.clause).filter(|clause| !clause.is_empty())
}

macro_rules! rules {
    ($($constant:ident $name:literal $level:ident $clause:literal $summary:literal $text:literal;)*) => {
        $(
            #[doc = $summary]
            pub const $constant: Rule = Rule { name: $name, level: Level::$level, summary: $summary };
        )*
        /// All of them.
        pub const RULES: &[Rule] = &[$($constant),*];
        /// What there is to say about each.
        pub const EXPLANATIONS: &[Explanation] =
            &[$(Explanation { name: $name, clause: $clause, text: $text }),*];
    };
}
pub(crate) use rules;

rules! {
    SEVERAL_LINES "rfc9110-5.2/several-lines" Must "RFC 9110, 5.2 and 5.3"
        "Several lines of If-Match or If-None-Match are one list."
        "A list may be spread over several lines of the same name. Its value is that of all lines, in order.";
    IF_MATCH_STRONG "rfc9110-13.1.1/strong-comparison" Must "RFC 9110, 13.1.1 and 8.8.3.2"
        "If-Match compares strongly: a weak tag matches nothing."
        "Two tags are the same by strong comparison if neither is weak and what is between the quotes is equal. A weak \
         tag in If-Match is never true, nor is a strong one while the current tag is weak.";
    IF_MATCH_MEMBERS "rfc9110-13.1.1/every-member" Must "RFC 9110, 13.1.1"
        "If-Match is true if any of its tags matches, wherever it stands in the list."
        "A list of tags is looked through to its end. Members that match nothing, weak ones among them, take nothing \
         away from those that do.";
    IF_NONE_MATCH_WEAK "rfc9110-13.1.2/weak-comparison" Must "RFC 9110, 13.1.2 and 8.8.3.2"
        "If-None-Match compares weakly: what is between the quotes decides."
        "Two tags are the same by weak comparison if what is between the quotes is equal, whether either is weak or not. \
         If-None-Match is compared that way with every method; this is about PUT and DELETE.";
    IF_NONE_MATCH_WEAK_READ "rfc9110-13.1.2/weak-comparison-on-read" Must "RFC 9110, 13.1.2 and 8.8.3.2"
        "If-None-Match compares weakly with GET and HEAD too."
        "Weak tags are good enough to know that a copy need not be sent again.";
    IF_NONE_MATCH_MEMBERS "rfc9110-13.1.2/every-member" Must "RFC 9110, 13.1.2"
        "If-None-Match is false if any of its tags matches, wherever it stands in the list."
        "A list of tags is looked through to its end.";
    IF_NONE_MATCH_TRUE "rfc9110-13.1.2/true-without-match" Must "RFC 9110, 13.1.2"
        "A write whose If-None-Match matches nothing is not refused for it."
        "If no tag of the list is the current one, or if there is nothing and the value is *, the condition is true, and \
         412 would be wrong.";
    IF_NONE_MATCH_412 "rfc9110-13.1.2/failed-write-is-412" Must "RFC 9110, 13.1.2"
        "A write whose If-None-Match is false is answered 412."
        "304 is for GET and HEAD. For all other methods the answer to a false If-None-Match must be 412.";
    IF_MODIFIED_SINCE "rfc9110-13.1.3/if-modified-since" Should "RFC 9110, 13.1.3"
        "GET and HEAD whose If-Modified-Since is false are answered 304."
        "If the content was last changed at the given date or before, the answer should be 304. A server may also compare \
         for equality only, or not at all: that is not recommended, but not wrong.";
    IF_MODIFIED_SINCE_BESIDE "rfc9110-13.1.3/beside-if-none-match" Must "RFC 9110, 13.1.3 and 13.2.2"
        "If-Modified-Since is ignored beside If-None-Match."
        "Tags are more exact than dates. If both are there and no tag matches, the content must be sent, whatever the date.";
    IF_UNMODIFIED_SINCE "rfc9110-13.1.4/if-unmodified-since" Must "RFC 9110, 13.1.4"
        "A method is not performed if If-Unmodified-Since is false."
        "It is false if the content was changed after the given date. A resource without a date has no such condition. \
         As with If-Match, 412 is only one of the ways to say so.";
    IF_UNMODIFIED_SINCE_BESIDE "rfc9110-13.1.4/beside-if-match" Must "RFC 9110, 13.1.4 and 13.2.2"
        "If-Unmodified-Since is ignored beside If-Match."
        "Tags are more exact than dates. If both are there and a tag matches, the date must not matter.";
    ON_MISSING "rfc9110-13.2.1/not-on-failure" Must "RFC 9110, 13.2.1"
        "Conditions are ignored where the answer would be an error anyway."
        "GET or HEAD of what is not there is 404 without conditions, so it is 404 with them. (DELETE of what is not there \
         may be a success, so there a condition may count.)";
    OPTIONS_UNCONDITIONAL "rfc9110-13.2.1/options" Must "RFC 9110, 13.2.1"
        "Conditions are ignored with OPTIONS."
        "OPTIONS neither selects nor changes content, so there is nothing that a condition could be about.";
    NOT_MODIFIED_TAG "rfc9110-15.4.5/etag" Must "RFC 9110, 15.4.5"
        "304 tells the tag that 200 would tell."
        "The tag in a 304 says which of the contents that the client has is the current one. Another tag, or the same with \
         or without W/, is not it. A 304 without a tag is held against a server only if 200s to the same request without the \
         condition had the tag before and after it, and nothing was written in between.";
    CREATED "rfc9110-9.3.4/created" Must "RFC 9110, 9.3.4"
        "A PUT that creates is answered 201."
        "Where nothing was, and something is now, the server must say so.";
    REPLACED "rfc9110-9.3.4/replaced" Must "RFC 9110, 9.3.4"
        "A PUT that replaces is answered 200 or 204."
        "201 would say that nothing was there before.";
    WHOLE "store/whole" Store ""
        "A replacement is seen as a whole or not at all."
        "While a PUT is at work, a read yields the old content with its validators, or the new content with its own, not some of \
         both. Where a strong tag comes with bytes of another version, RFC 9110, 8.8.3, is broken as well, for as long as the PUT \
         is at work; once it was answered, that is rfc9110-8.8.3/strong-tag-differs. Content that was never put as a whole, \
         because the upload broke off, and can be read all the same is a breach too, in however many stages it is seen.";
    PUT_VALIDATORS "rfc9110-9.3.4/validators" Must "RFC 9110, 9.3.4"
        "Validators in the answer to PUT are those of what was put, which was stored as it is."
        "From the tag in the answer the client concludes that what it sent is what is there, and that this is its tag. A \
         server that changes what it stores, or does not know the tag yet, must not send any.";
    TAG_DIFFERS "rfc9110-8.8.3/strong-tag-differs" Must "RFC 9110, 8.8.3 and 8.8.1"
        "Different contents of a resource have different strong tags."
        "A strong tag changes whenever the content does, and is never that of earlier content. One that cannot promise that (a time with the resolution of a \
         second, say) must be marked as weak. Weak tags may survive changes, and equal content may have its old tag again.";
    NOT_LATER "rfc9110-8.8.2.1/not-later-than-date" Must "RFC 9110, 8.8.2.1"
        "Last-Modified is not later than Date."
        "A date that is yet to come is replaced by that of the response. One second is overlooked: the two may be read from \
         clocks that are updated one after the other.";
    HEAD_LENGTH "rfc9110-8.6/length-of-get" Must "RFC 9110, 8.6"
        "Content-Length in the answer to HEAD, or in 304, is the length that GET would send."
        "It may be left out. If it is there, it must be right.";
    CONTENT_RANGE "rfc9110-14.4/content-range" Must "RFC 9110, 14.4 and 15.3.7.1"
        "Content-Range is valid, and tells the length that there is."
        "206 with a single part must have one; its last position is not below its first, nor beyond the end. In 206 and \
         416 the complete length is the present one.";
    PART "rfc9110-15.3.7.1/part" Must "RFC 9110, 15.3.7.1 and 14.1.2"
        "The content of 206 is exactly the part that Content-Range tells."
        "So many bytes, and these. The server may send less than was asked for, if Content-Range says so.";
    RANGE_ASKED "rfc9110-14.2/asked" Should "RFC 9110, 14.2"
        "206 sends what was asked for."
        "The part should be one that was asked for, or lie in it.";
    RANGE_ONLY_GET "rfc9110-14.2/only-get" Must "RFC 9110, 14.2"
        "Range is ignored with any method but GET."
        "So HEAD is never answered 206 or 416 for its sake.";
    IF_RANGE_STRONG "rfc9110-13.1.5/strong-comparison" Must "RFC 9110, 13.1.5 and 8.8.3.2"
        "If-Range compares strongly: with a weak tag, Range is ignored."
        "A weak tag does not promise that bytes are equal, and parts are put together byte by byte.";
    IF_RANGE "rfc9110-13.1.5/if-range" Must "RFC 9110, 13.1.5"
        "Range is ignored if If-Range is false."
        "Parts of different contents must not be put together. If the tag or date in If-Range is not the current one, the \
         whole is sent.";
    UNSATISFIABLE "rfc9110-15.5.17/unsatisfiable" Should "RFC 9110, 15.5.17 and 14.1.2"
        "416 is only for ranges that are not there."
        "A range that begins before the end can be satisfied, however far it reaches.";
    ALLOW "rfc9110-15.5.6/allow" Must "RFC 9110, 15.5.6"
        "405 comes with Allow."
        "Whoever is told that a method is not supported must be told which ones are.";
    CONTINUE "rfc9110-10.1.1/continue" Live "RFC 9110, 10.1.1"
        "A client that waits for 100 is not left waiting."
        "To Expect: 100-continue the server answers at once, with 100 or with a final status. It must not wait for the \
         content. That it did is seen only by waiting, so a slow server looks the same.";
    BODY_READ "rfc9112-9.3/body-read" Must "RFC 9112, 9.3"
        "The content of a request is read to its end, or the connection is closed."
        "What is left of it would be taken for the next request, and answered.";
    SURPLUS "rfc9112-6.3/nothing-after-the-end" Must "RFC 9112, 6.3 and 9.2; RFC 9110, 9.3.2, 15.3.5 and 15.4.5"
        "A response ends where its head says."
        "Responses to HEAD and those with 204 or 304 end with their head; others after as many bytes as they tell. What \
         comes after that would be taken for the next response. So would a response that nobody asked for, unless it is the 408 \
         of a server that has waited too long (RFC 9110, 15.5.9) and serves no more on that connection.";
    CHUNKS "rfc9112-7.1/chunks" Must "RFC 9112, 7.1"
        "Chunked content is in chunks, with the last one."
        "Each chunk tells its size in hexadecimal digits and ends in CRLF; the empty one ends the content.";
    GRAMMAR "rfc9112-2.1/grammar" Must "RFC 9112, 2.1, 2.2, 4, 5 and 5.2"
        "A response is as the grammar has it."
        "A status line with a version, three digits and a space after them; fields with a name, a colon right after it \
         and no line folding; lines that end in CRLF.";
    FRAMING_FIELDS "rfc9112-6.1/framing-fields" Must "RFC 9112, 6.1 and 6.2; RFC 9110, 8.6"
        "Content-Length and Transfer-Encoding do not contradict each other, nor the status."
        "Neither belongs in 1xx or 204, and never both in one message. (The same length twice is valid.)";
    LAST "rfc9112-9.6/nothing-after-close" Must "RFC 9112, 9.6"
        "A response that says close is the last on its connection."
        "Whoever says close must close, and must not process further requests.";
    CLOSE "rfc9112-9.6/close-heeded" Must "RFC 9112, 9.6"
        "After a request that says close, nothing on that connection is processed."
        "The server closes after its response to such a request. What came behind it is not looked at.";
    NO_HOST "rfc9112-3.2/no-host" Must "RFC 9112, 3.2"
        "A request without Host is answered 400."
        "Every HTTP/1.1 request has a Host, or its meaning depends on who guesses.";
    TWO_HOSTS "rfc9112-3.2/two-hosts" Must "RFC 9112, 3.2"
        "A request with two Hosts is answered 400."
        "Two recipients could take it for requests to two different hosts.";
    SPACE_BEFORE_COLON "rfc9112-5.1/space-before-colon" Must "RFC 9112, 5.1"
        "A request with space before a colon is answered 400."
        "Recipients disagree about which field that is, and have been fooled by it.";
    CONFLICTING_LENGTHS "rfc9112-6.3/conflicting-lengths" Must "RFC 9112, 6.3"
        "A request with two different lengths is answered 400."
        "Nobody knows where it ends. (The same length twice is valid.)";
    LENGTH_BESIDE_CHUNKS "rfc9112-6.1/length-beside-chunks" Must "RFC 9112, 6.1 and 6.3"
        "A request with both Content-Length and chunks is refused, or read by its chunks."
        "The length must not count. Either way the connection is closed after the answer.";
    LARGE_CHUNK "rfc9112-7.1/large-chunk" Must "RFC 9112, 7.1"
        "The size of a chunk is not cut off, however large."
        "A server that cannot count so far must refuse the request: what it takes for the end is not the end.";
    IF_MATCH "rfc9110-13.1.1/if-match" Must "RFC 9110, 13.1.1"
        "A method is not performed if If-Match is false."
        "If-Match is true if one of its tags is the current one, or, with *, if there is anything at all. If it is false, \
         the server must not do what it was asked. It may say so with 412 or another error. It may even say that all is \
         well, but only if what was asked for is the case already.";
    IF_MATCH_READ "rfc9110-13.1.1/if-match-on-read" Must "RFC 9110, 13.1.1"
        "GET and HEAD are not performed if If-Match is false."
        "If-Match counts with every method. Whoever continues a download with it would be given another content.";
    IF_MATCH_DELETE "rfc9110-13.1.1/if-match-on-delete" Must "RFC 9110, 13.1.1"
        "DELETE is not performed if If-Match is false."
        "What somebody else has changed in the meantime must not be removed. As with PUT, 412 is only one of the ways to \
         say so.";
    IF_NONE_MATCH "rfc9110-13.1.2/if-none-match" Must "RFC 9110, 13.1.2"
        "A write is not performed if If-None-Match is false."
        "If-None-Match is false if one of its tags is the current one, or, with *, if there is anything at all. Then PUT \
         must not be performed.";
    IF_NONE_MATCH_DELETE "rfc9110-13.1.2/if-none-match-on-delete" Must "RFC 9110, 13.1.2"
        "DELETE is not performed if If-None-Match is false."
        "The condition is the same as with PUT, and so is what follows if it is false.";
    NOT_MODIFIED "rfc9110-13.1.2/not-modified" Must "RFC 9110, 13.1.2"
        "GET and HEAD whose If-None-Match is false are answered 304."
        "Whoever asks for the content and names the current tag has it already: the answer must be 304, not the content.";
    NOT_MODIFIED_CAUSE "rfc9110-15.4.5/cause" Must "RFC 9110, 15.4.5"
        "304 is only for conditions that are false."
        "304 says that the client has the content already. Without a condition that says so it would leave the client \
         with nothing, or with something old.";
    FAILED_CAUSE "rfc9110-15.5.13/cause" Must "RFC 9110, 15.5.13 and 13.2.2"
        "412 is only for conditions that are false."
        "A request whose conditions are all true, or that has none, is performed.";
    LENGTH "rfc9110-8.6/length-true" Must "RFC 9110, 8.6"
        "Content-Length is the length of the content that is sent."
        "A wrong length shifts everything that comes after it.";
    PUT_OWN "store/put-own" Store ""
        "What is stored is what was put there, not what was put elsewhere."
        "An answer with the content of another PUT may be that of another request, or the content may have been stored there.";
    STEADY_CONTENT "store/steady-content" Store ""
        "Content does not change by itself."
        "RFC 9110, 9.3.4, foresees that content is processed after it was put, or changes in other ways. That of a store changes \
         by requests only.";
    ORDER "rfc9112-9.3.2/order" Must "RFC 9112, 9.3.2"
        "Pipelined requests are answered in order."
        "Several requests may be under way on one connection, and safe ones may be evaluated in parallel, but the answers \
         come in the order of the requests: there is nothing else to tell them apart by.";
    OWN_ANSWER "rfc9112-9.2/own-answer" Must "RFC 9112, 9.2"
        "A request gets its own answer, on its own connection."
        "What is received on a connection answers the first request on it that has no answer yet.";
    PUT_EXACT "store/put-exact" Store ""
        "What was put is stored as it is."
        "A server may change what it stores, if it sends no validators. A store does not.";
    REFUSED "store/refused-not-done" Store ""
        "A write that is refused is not performed."
        "After a redirection, an error of the client, 501 or 505, nothing has changed, now or later. A condition that is false has \
         rules of its own.";
    CONTENT_SENT "store/content-sent" Store ""
        "GET of content is answered with it: 204 is for empty content."
        "204 says that there is nothing to send.";
    ONCE "store/once" Store ""
        "A write whose outcome is unknown is performed at most once."
        "After 202, an error of the server or no response at all, a write may be performed at once, later, or never, but not twice: \
         others may have changed the resource in between.";
    PUT_LASTS "store/put-lasts" Store ""
        "A PUT that was confirmed has been done."
        "RFC 9110, 9.3.4, only suggests that a later GET yields what was put.";
    DELETE_LASTS "store/delete-lasts" Store ""
        "A DELETE that was confirmed has been done."
        "RFC 9110, 9.3.5, leaves open what becomes of the content. In a store it is gone.";
    READ_CURRENT "store/read-current" Store ""
        "A read yields the present content, not the one before."
        "Once a write is confirmed, every later read sees it.";
    ONE_WINNER "store/one-winner" Store ""
        "A condition still holds when the request that it guards is performed."
        "RFC 9110, 13.2.1, has conditions evaluated just before the method is performed. If another write can come \
         in between, two of two writes with the same If-Match may win. This is how updates get lost. A read in between is \
         answered with something that its condition does not hold of.";
    STAYS "store/stays" Store ""
        "What is there stays there until a request removes it."
        "404 may be said of anything that a server does not want to disclose. A store has no such moods, and removes \
         nothing but what it is told to.";
    STEADY_TAG "store/steady-tag" Steady ""
        "A tag does not change while the content stays."
        "A strong tag may change without cause, says RFC 9110, 8.8.1. A weak tag that becomes strong, once, with the same \
         text between its quotes has not changed.";
    STEADY_DATE "store/steady-date" Steady ""
        "Last-Modified does not change while the content stays."
        "The date is whatever the server believes; a store believes the same as before. What was there before the tester came may \
         have a date that is yet to come: that of each response is told instead then, as RFC 9110, 8.8.2.1, asks.";
    SERVES "store/serves" Steady ""
        "Requests are served, not refused without cause."
        "403, 408, 429, 500, 503, redirections, and 404 to a PUT may come at any time, as far as the standard goes. After a 5xx \
         other than 501 and 505 a write may be performed at once, later, or never, as after 202 (RFC 9110, 15.3.3).";
    ANSWERED "live/answered" Live ""
        "Every request is answered, to the end of the answer."
        "Seen only by waiting: what has not come after a long time may still come. A server that closes the connection \
         instead has said that no answer will come, and may do so at any time.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own_and_an_explanation() {
        let names: BTreeSet<_> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), RULES.len());
        for rule in RULES {
            let explanation = explain(rule.name).unwrap();
            assert_eq!(explanation.clause.is_empty(), !rule.name.starts_with("rfc"), "{}", rule.name);
            if let Some(section) = rule.name.strip_prefix("rfc").and_then(|name| name.split_once('-')) {
                let (rfc, section) = (section.0, section.1.split('/').next().unwrap());
                assert!(explanation.clause.starts_with(&format!("RFC {rfc}, {section}")), "{}", rule.name);
            }
        }
        assert_eq!(explain("no/such-rule"), None);
    }
}
