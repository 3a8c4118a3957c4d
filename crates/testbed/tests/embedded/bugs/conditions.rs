//! Tests of the bugs in conditions and ranges.

use super::{Lab, tests};

const LONG_AGO: &str = "Sat, 29 Oct 1994 19:43:31 GMT";
const FAR_AHEAD: &str = "Fri, 29 Oct 2094 19:43:31 GMT";

/// Puts `0123456789` at `/a`, sends a request in which the current tag replaces `TAG`, and returns 1 if the response
/// has that status.
fn answered(lab: &Lab, line: &str, fields: &str, status: u16) -> usize {
    let (_server, mut client) = lab.server();
    let tag = client.put("/a", "0123456789").tag().to_owned();
    let before = client.get("/a");
    let answer = client.ask(line, &fields.replace("TAG", &tag), "other");
    // A correct server changes nothing when it refuses; a wrong one reports success when it changes something.
    let changed = client.get("/a") != before && before.status == 200;
    assert!(!changed || answer.status < 300, "{} and yet changed", answer.status);
    usize::from(answer.status == status)
}

tests! {
    if_match_ignored_on_put IfMatchIgnoredOnPut |lab| answered(lab, "PUT /a", "If-Match: \"x\"", 204);
    if_match_ignored_on_delete IfMatchIgnoredOnDelete |lab| answered(lab, "DELETE /a", "If-Match: \"x\"", 204);
    if_match_weak IfMatchWeak |lab| answered(lab, "PUT /a", "If-Match: W/TAG", 204);
    if_match_stops_at_weak IfMatchStopsAtWeak |lab| answered(lab, "PUT /a", "If-Match: W/\"x\", TAG", 412);
    if_match_star_on_missing IfMatchStarOnMissing |lab| answered(lab, "PUT /b", "If-Match: *", 201);
    if_none_match_strong_on_put IfNoneMatchStrongOnPut |lab| answered(lab, "PUT /a", "If-None-Match: W/TAG", 204);
    if_none_match_strong_on_get IfNoneMatchStrongOnGet |lab| answered(lab, "GET /a", "If-None-Match: W/TAG", 200);
    if_none_match_ignored_on_put IfNoneMatchIgnoredOnPut |lab| answered(lab, "PUT /a", "If-None-Match: *", 204);
    if_none_match_star_on_missing IfNoneMatchStarOnMissing |lab| answered(lab, "PUT /b", "If-None-Match: *", 412);
    not_modified_for_put NotModifiedForPut |lab| answered(lab, "PUT /a", "If-None-Match: TAG", 304);
    first_tag_only FirstTagOnly |lab| answered(lab, "GET /a", "If-None-Match: \"x\", TAG", 200);
    first_line_only FirstLineOnly |lab| answered(lab, "PUT /a", "If-Match: \"x\"\nIf-Match: TAG", 412);
    if_modified_since_beside_if_none_match IfModifiedSinceBesideIfNoneMatch
        |lab| answered(lab, "GET /a", &format!("If-None-Match: \"x\"\nIf-Modified-Since: {FAR_AHEAD}"), 304);
    if_unmodified_since_beside_if_match IfUnmodifiedSinceBesideIfMatch
        |lab| answered(lab, "PUT /a", &format!("If-Match: TAG\nIf-Unmodified-Since: {LONG_AGO}"), 412);
    if_unmodified_since_ignored IfUnmodifiedSinceIgnored
        |lab| answered(lab, "PUT /a", &format!("If-Unmodified-Since: {LONG_AGO}"), 204);
    condition_on_missing ConditionOnMissing |lab| answered(lab, "GET /b", "If-Match: \"x\"", 412);
    if_match_ignored_on_get IfMatchIgnoredOnGet |lab| answered(lab, "GET /a", "If-Match: \"x\"", 200);
    if_none_match_ignored_on_delete IfNoneMatchIgnoredOnDelete
        |lab| answered(lab, "DELETE /a", "If-None-Match: TAG", 204);
    if_none_match_ignored_on_get IfNoneMatchIgnoredOnGet |lab| answered(lab, "GET /a", "If-None-Match: TAG", 200);
    if_modified_since_ignored IfModifiedSinceIgnored
        |lab| answered(lab, "GET /a", &format!("If-Modified-Since: {FAR_AHEAD}"), 200);
    options_conditional OptionsConditional |lab| answered(lab, "OPTIONS /a", "If-Match: \"x\"", 412);
    not_modified_unasked NotModifiedUnasked
        |lab| now_and_then(lab, "GET /a", 304);
    failed_unasked FailedUnasked |lab| now_and_then(lab, "PUT /a", 412);
    not_modified_tag_altered NotModifiedTagAltered |lab| {
        let (_server, mut client) = lab.server();
        let tag = client.put("/a", "1").tag().to_owned();
        let answer = client.ask("GET /a", &format!("If-None-Match: {tag}"), "");
        usize::from(answer.status == 304 && answer.tag() != tag)
    };

    range_one_short RangeOneShort |lab| part(lab, "2-4", "23", "2-4");
    content_range_exclusive ContentRangeExclusive |lab| part(lab, "2-4", "234", "2-5");
    suffix_from_start SuffixFromStart |lab| part(lab, "-3", "012", "7-9");
    beyond_end_is_206 BeyondEndIs206 |lab| part(lab, "10-", "", "10-9");
    range_from_start RangeFromStart |lab| part(lab, "2-4", "012", "0-2");
    range_denied RangeDenied |lab| {
        let (_server, mut client) = lab.server();
        client.put("/a", "0123456789");
        (0..8).filter(|_| client.ask("GET /a", "Range: bytes=0-1", "").status == 416).count()
    };
    range_on_head RangeOnHead |lab| answered(lab, "HEAD /a", "Range: bytes=0-1", 206);
    if_range_ignored IfRangeIgnored |lab| answered(lab, "GET /a", "Range: bytes=0-1\nIf-Range: \"x\"", 206);
    if_range_weak IfRangeWeak |lab| answered(lab, "GET /a", "Range: bytes=0-1\nIf-Range: W/TAG", 206);
}

/// Counts the responses with this status among those to some requests without conditions.
fn now_and_then(lab: &Lab, line: &str, status: u16) -> usize {
    let (_server, mut client) = lab.server();
    client.put("/a", "0123456789");
    (0..12).filter(|_| client.ask(line, "", "").status == status).count()
}

/// Returns 1 if a range of `0123456789` is answered with 206, this content and this Content-Range.
fn part(lab: &Lab, range: &str, body: &str, told: &str) -> usize {
    let (_server, mut client) = lab.server();
    client.put("/a", "0123456789");
    let answer = client.ask("GET /a", &format!("Range: bytes={range}"), "");
    let told = format!("bytes {told}/10");
    usize::from(answer.status == 206 && answer.text() == body && answer.field("content-range") == Some(&told))
}
