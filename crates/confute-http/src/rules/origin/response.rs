//! The rules of an origin server that a single response breaks by itself: each has a [`ResponseCheck`].
//!
//! To add such a rule, add an entry here, and a bug with `rewrites` in `crates/testbed/src/embedded/bug.rs`. The example
//! of the entry is the trace that shows the rule: a test reads the lines that begin with `<` as a response.

use std::time::Duration;

use super::content;
use crate::date;
use crate::rules::{ResponseCheck, rules};
use crate::wire::RawResponse;

rules! {
    content::END;
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
        check: ResponseCheck {
            shows: "Last-Modified after Date",
            breaks: is_later,
            python: "None not in (response.date(), response.date('Date')) and \
             response.date() > response.date('Date') + 1",
        },
    }
}

/// Tolerated difference between two clocks of a server: one is updated after the other.
const CLOCKS: Duration = Duration::from_secs(1);

fn is_later(response: &RawResponse) -> bool {
    let time = |name| date::parse(&response.fields().only(name)?);
    let (modified, date) = (time("Last-Modified"), time("Date"));
    modified.zip(date).is_some_and(|(modified, date)| modified > date + CLOCKS)
}
