//! The rules of a REST service.

use confute::lang::{Level, Rule};

const fn rule(name: &'static str, level: Level, summary: &'static str) -> Rule {
    Rule { name, level, summary }
}

/// A created item can be read.
pub const CREATED_IS_THERE: Rule = rule(
    "rest/created-is-there",
    Level::Store,
    "An item whose creation was confirmed can be read until it is removed.",
);
/// A removed item is gone.
pub const DELETED_IS_GONE: Rule = rule(
    "rest/deleted-is-gone",
    Level::Store,
    "An item whose removal was confirmed cannot be read any more.",
);
/// A read shows the latest write.
pub const READS_LATEST: Rule =
    rule("rest/reads-latest", Level::Store, "A read shows the latest confirmed write, not an earlier one.");
/// A confirmed update is kept.
pub const UPDATE_KEPT: Rule = rule(
    "rest/update-kept",
    Level::Store,
    "A confirmed update is kept until a later one replaces it: no update is lost.",
);
/// Fields come back as they were sent.
pub const AS_SENT: Rule =
    rule("rest/as-sent", Level::Store, "The fields that the client owns come back as they were sent.");
/// The response to a write shows the item as the write left it.
pub const RESPONSE_OWN: Rule = rule(
    "rest/response-own",
    Level::Should,
    "The response to a write shows the item as this write left it, not as a later one did.",
);
/// PATCH leaves other fields alone.
pub const PATCH_KEEPS: Rule =
    rule("rest/patch-keeps", Level::Must, "A PATCH changes only the fields that it names.");
/// No id in use is given again.
pub const ID_UNIQUE: Rule =
    rule("rest/id-unique", Level::Store, "No item gets the id of another item that exists.");
/// No id of a removed item is given again.
pub const ID_REUSED: Rule =
    rule("rest/id-reused", Level::Should, "No item gets the id of an item that was removed.");
/// Lists agree with items.
pub const LIST_AGREES: Rule = rule(
    "rest/list-agrees",
    Level::Store,
    "A list shows every item that exists, once, as it is, and no other.",
);
/// Pages agree with items.
pub const PAGES_AGREE: Rule = rule(
    "rest/pages-agree",
    Level::Should,
    "Pages that follow each other without a gap show together every item that exists.",
);
/// Filters select by the field that they name.
pub const FILTER_AGREES: Rule = rule(
    "rest/filter-agrees",
    Level::Should,
    "A filtered list shows the items whose field has the value, as they are, and no other.",
);
/// A false If-Match prevents a write.
pub const IF_MATCH: Rule =
    rule("rest/if-match", Level::Must, "A write whose If-Match (or version) is outdated is not performed.");
/// One of several conditional writes wins.
pub const IF_MATCH_RACE: Rule = rule(
    "rest/if-match-race",
    Level::Store,
    "Of several writes at once with the same If-Match (or version) one is performed.",
);
/// Validators change with the content.
pub const TAG_CHANGES: Rule = rule(
    "rest/tag-changes",
    Level::Must,
    "Different content has a different strong entity tag, or another version.",
);
/// Validators do not change by themselves.
pub const TAG_STEADY: Rule =
    rule("rest/tag-steady", Level::Steady, "The entity tag, or the version, changes only with a write.");
/// Answers fit the schema.
pub const SCHEMA: Rule =
    rule("rest/schema", Level::Should, "A response fits the schema that the document gives for it.");
/// Responses are readable.
pub const READABLE: Rule =
    rule("rest/readable", Level::Must, "A response is HTTP, and its content is what its fields announce.");
/// Valid requests are served.
pub const SERVES: Rule =
    rule("rest/serves", Level::Steady, "A valid request is not answered with a server error (5xx).");

/// All rules.
pub static ALL: &[Rule] = &[
    CREATED_IS_THERE,
    DELETED_IS_GONE,
    READS_LATEST,
    UPDATE_KEPT,
    AS_SENT,
    RESPONSE_OWN,
    PATCH_KEEPS,
    ID_UNIQUE,
    ID_REUSED,
    LIST_AGREES,
    PAGES_AGREE,
    FILTER_AGREES,
    IF_MATCH,
    IF_MATCH_RACE,
    TAG_CHANGES,
    TAG_STEADY,
    SCHEMA,
    READABLE,
    SERVES,
];
