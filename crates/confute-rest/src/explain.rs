//! Explanations of the rules: the requirement behind each, and an exchange that breaks it.

use confute_run::Explanation;

use crate::rules;

struct Entry {
    rule: &'static str,
    explanation: Explanation,
}

const fn entry(
    rule: &'static str,
    clause: &'static str,
    text: &'static str,
    why: &'static str,
    example: &'static [&'static str],
    confused_with: &'static [&'static str],
) -> Entry {
    Entry { rule, explanation: Explanation { clause, text, why, example, curl: "", confused_with } }
}

/// Returns the explanation of a rule.
pub(crate) fn of(rule: &str) -> Option<Explanation> {
    ENTRIES.iter().find(|entry| entry.rule == rule).map(|entry| entry.explanation)
}

/// Returns the clause behind a rule, if there is one.
pub(crate) fn clause(rule: &str) -> Option<&'static str> {
    of(rule).map(|explanation| explanation.clause).filter(|clause| !clause.is_empty())
}

static ENTRIES: &[Entry] = &[
    entry(
        rules::CREATED_IS_THERE.name,
        "RFC 9110, 15.3.2",
        "201 says that the request has created the item. From then on a read of it succeeds, until it is removed. 404 or 410 is a \
         violation; a refusal for another reason (401, 429, …) is not.",
        "The client believes that its data is stored.",
        &["A: POST /todos {title: a} → 201, id 7", "A: GET /todos/7 → 404"],
        &[rules::READS_LATEST.name, rules::LIST_AGREES.name],
    ),
    entry(
        rules::DELETED_IS_GONE.name,
        "RFC 9110, 9.3.5",
        "After the response to a DELETE reads of the item end in 404 or 410. An item that somebody else creates with the same id is \
         another one, and no violation.",
        "Data that comes back after it was removed.",
        &["A: DELETE /todos/7 → 204", "A: GET /todos/7 → 200 {title: a}"],
        &[rules::READS_LATEST.name, rules::LIST_AGREES.name],
    ),
    entry(
        rules::READS_LATEST.name,
        "",
        "A read that is sent after the response to a write shows what that write stored, or a later one. Caches and replicas may \
         break this on purpose: allow the rule then.",
        "",
        &[
            "A: PUT /todos/7 {title: a} → 200",
            "A: PUT /todos/7 {title: b} → 200",
            "B: GET /todos/7 → 200 {title: a}",
        ],
        &[rules::UPDATE_KEPT.name],
    ),
    entry(
        rules::UPDATE_KEPT.name,
        "",
        "Each update that was confirmed takes effect. Two PATCHes of different fields at the same time must both be kept: a service \
         that reads the item, changes it and writes it back without a lock loses one of them.",
        "Lost updates are silent: both clients were told that their change is stored.",
        &[
            "A and B at once: PATCH /todos/7 {title: a}, PATCH /todos/7 {done: true}",
            "both → 200",
            "A: GET /todos/7 → 200 {title: a, done: false}",
        ],
        &[rules::READS_LATEST.name, rules::PATCH_KEEPS.name],
    ),
    entry(
        rules::AS_SENT.name,
        "RFC 9110, 9.3.4",
        "A field that the client decides on comes back with the value that was sent. Fields that the server computes, and those that \
         did not come back as sent before the first case, are not compared.",
        "",
        &["A: POST /todos {title: a} → 201, id 7", "A: GET /todos/7 → 200 {title: }"],
        &[rules::UPDATE_KEPT.name],
    ),
    entry(
        rules::RESPONSE_OWN.name,
        "RFC 9110, 15.3.1",
        "The content of a response to PUT or PATCH represents the result of this request. A service that stores the item and reads it \
         again for the response may show the result of another request that came between.",
        "A warning: the standard asks for the result of the action, and not for the state right after it.",
        &[
            "A and B at once: PUT /todos/7 {title: a}, PUT /todos/7 {title: b}",
            "A → 200 {title: b}",
            "B → 200 {title: b}",
        ],
        &[rules::UPDATE_KEPT.name, rules::AS_SENT.name],
    ),
    entry(
        rules::PATCH_KEEPS.name,
        "RFC 5789, 2; RFC 7396",
        "A PATCH changes the fields that it names. The others keep their values.",
        "",
        &["A: PATCH /todos/7 {done: true} → 200", "A: GET /todos/7 → 200 {title: , done: true}"],
        &[rules::UPDATE_KEPT.name],
    ),
    entry(
        rules::ID_UNIQUE.name,
        "",
        "An id names one item. A create that returns the id of an item that exists has overwritten it, or two items have one name.",
        "Two clients that create at the same time get each other's data.",
        &["A and B at once: POST /todos", "A → 201, id 7", "B → 201, id 7"],
        &[rules::ID_REUSED.name],
    ),
    entry(
        rules::ID_REUSED.name,
        "",
        "The id of a removed item should stay unused: who still has a link to it would see, change or remove the new item. SQLite \
         without AUTOINCREMENT gives the highest id again.",
        "A warning, because no standard forbids it.",
        &["A: POST /todos → 201, id 7", "A: DELETE /todos/7 → 204", "A: POST /todos → 201, id 7"],
        &[rules::ID_UNIQUE.name],
    ),
    entry(
        rules::LIST_AGREES.name,
        "",
        "A list that is sent after the response to a create contains the item once; after the response to a removal it does not \
         contain it; and the fields that it shows are those of the item. Items of others are ignored. A list that may be a page is \
         not required to contain anything.",
        "",
        &["A: POST /todos {title: a} → 201, id 7", "A: GET /todos → 200 []"],
        &[rules::CREATED_IS_THERE.name],
    ),
    entry(
        rules::PAGES_AGREE.name,
        "",
        "Where `offset` counts the items before a page, the tester lets each page begin with the          last item of the one before; if that item is unchanged on both, nothing moved over the border, so an item that was not written          meanwhile is on one of the pages. Pages by number, cursor or link may lack items: others may have removed some before them.",
        "A client that goes through all pages misses an item.",
        &[
            "A: POST /todos {title: a} → 201, id 7",
            "A: GET /todos?limit=9 → 200 [5, 6]",
            "A: GET /todos?limit=9&offset=1 → 200 [6]",
        ],
        &[rules::LIST_AGREES.name],
    ),
    entry(
        rules::FILTER_AGREES.name,
        "",
        "A query parameter with the name of a field selects the items with that value of the field, if the survey saw it do so before the          first case. An item whose value contains the wanted one as a part may be listed or not.",
        "An index that is not updated with the item.",
        &["A: PATCH /todos/7 {done: true} → 200", "A: GET /todos?done=true → 200 []"],
        &[rules::LIST_AGREES.name],
    ),
    entry(
        rules::IF_MATCH.name,
        "RFC 9110, 13.1.1",
        "A write with If-Match is performed only if the entity tag is the current one. Otherwise the response is 412, and nothing \
         changes. The same holds for a version that a replacement names.",
        "It is how clients avoid to overwrite each other.",
        &[
            "A: GET /todos/7 → 200, ETag: \"1\"",
            "B: PUT /todos/7 {title: b} → 200",
            "A: PUT /todos/7, If-Match: \"1\" → 200",
        ],
        &[rules::IF_MATCH_RACE.name],
    ),
    entry(
        rules::IF_MATCH_RACE.name,
        "RFC 9110, 13.1.1",
        "Of several writes with the same If-Match one is performed, also if they arrive at the same time. A service that compares the \
         tag before it takes the lock performs more.",
        "It is a lost update that the client tried to avoid.",
        &[
            "A: GET /todos/7 → 200, ETag: \"1\"",
            "A and B at once: PUT /todos/7, If-Match: \"1\"",
            "both → 200",
        ],
        &[rules::IF_MATCH.name],
    ),
    entry(
        rules::TAG_CHANGES.name,
        "RFC 9110, 8.8.1",
        "A strong entity tag changes whenever the content does.",
        "With the same tag for other content every If-Match is in vain.",
        &[
            "A: GET /todos/7 → 200 {title: a}, ETag: \"1\"",
            "A: PUT /todos/7 {title: b} → 200",
            "A: GET /todos/7 → 200 {title: b}, ETag: \"1\"",
        ],
        &[rules::TAG_STEADY.name],
    ),
    entry(
        rules::TAG_STEADY.name,
        "",
        "A tag stays as long as nobody writes. A write with the current tag is not refused with 412.",
        "A warning: no standard forbids it, but clients have to repeat their work.",
        &["A: GET /todos/7 → 200, ETag: \"1\"", "A: PUT /todos/7, If-Match: \"1\" → 412"],
        &[rules::TAG_CHANGES.name],
    ),
    entry(
        rules::SCHEMA.name,
        "",
        "A response has the form that the document gives for its status. A warning, because the document may be wrong in place of the \
         service; --strict makes it a violation.",
        "",
        &["A: GET /todos/7 → 200 {title: 5}, but the schema says that `title` is a string"],
        &[rules::READABLE.name],
    ),
    entry(
        rules::READABLE.name,
        "RFC 9112; RFC 8259",
        "A response is HTTP/1.1, and content that is announced as JSON is JSON.",
        "",
        &["A: GET /todos/7 → 200, Content-Type: application/json, and the content {title: "],
        &[rules::SCHEMA.name],
    ),
    entry(
        rules::SERVES.name,
        "RFC 9110, 15.6",
        "A request that is valid by the document is performed, or refused with a reason (4xx). 5xx says that the server failed. What \
         became of a write is then open, and its item is left alone.",
        "A warning, because a server may fail under load.",
        &["A: PUT /todos/7 {title: a} → 500"],
        &[],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_explained() {
        for rule in rules::ALL {
            assert!(of(rule.name).is_some_and(|one| !one.example.is_empty()), "{}", rule.name);
        }
    }
}
