//! The rules of an origin server that a single response breaks by itself: each has a [`ResponseCheck`].
//!
//! To add such a rule, add an entry here, and a bug with `rewrites` in `crates/testbed/src/embedded/bug.rs`. The example
//! of the entry is the trace that shows the rule: a test reads the lines that begin with `<` as a response.

use std::time::Duration;

use super::content;
use crate::rules::{ResponseCheck, rules};
use confute_http1::RawResponse;
use confute_http1::date;

rules! {
    content::END;
    NOT_LATER "rfc9110-8.8.2.1/not-later-than-date" Must "RFC 9110, 8.8.2.1" {
        summary: "Last-Modified MUST NOT be later than Date.",
        text: "A date that is yet to come is replaced by that of the response. One second is overlooked: the two may \
         be read from clocks that are updated one after the other. If the response took a second or longer, nothing \
         is compared: Date may be the time when the server began to respond, before it waited for a write.",
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
    IMF_FIXDATE "rfc9110-5.6.7/imf-fixdate" Must "RFC 9110, 5.6.7" {
        summary: "Date and Last-Modified MUST be written like Sun, 06 Nov 1994 08:49:37 GMT (IMF-fixdate).",
        text: "All timestamps that a server generates have this format, with upper and lower case as shown. A recipient \
         must accept the two obsolete formats as well, but no sender may generate them.",
        why: "A client that reads a fixed number of characters gets a wrong date, or none: it keeps content for too \
         long, or downloads it again.",
        example: ["> GET /r", "< 200 OK", "< Date: Sunday, 06-Nov-94 08:49:37 GMT"],
        curl: "curl -sI $URL | grep -E '^(Date|Last-Modified)'  # like Sun, 06 Nov 1994 08:49:37 GMT",
        confused_with: ["rfc9110-8.8.2.1/not-later-than-date", "rfc9112-2.1/grammar"],
        deviations: [
            Response 1 "A date in another format is overlooked.",
        ],
        check: ResponseCheck {
            shows: "a date that is no IMF-fixdate",
            breaks: has_other_date,
            python: "any(not re.fullmatch('(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} \
             (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT', value) \
             for name, value in response.fields if name.lower() in ('date', 'last-modified'))",
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

fn has_other_date(response: &RawResponse) -> bool {
    let fields = response.fields();
    fields.all("Date").chain(fields.all("Last-Modified")).any(|value| !is_fixdate(&value))
}

/// Returns `true` if a value conforms to the grammar of IMF-fixdate, whether or not the calendar has such a day.
fn is_fixdate(value: &[u8]) -> bool {
    const DAYS: [&[u8]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];
    const MONTHS: [&[u8]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let shape = b"???, 00 ??? 0000 00:00:00 GMT";
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'?' => true,
        b'0' => byte.is_ascii_digit(),
        other => byte == other,
    };
    value.len() == shape.len()
        && value.iter().zip(shape).all(fits)
        && DAYS.contains(&&value[..3])
        && MONTHS.contains(&&value[8..11])
}
