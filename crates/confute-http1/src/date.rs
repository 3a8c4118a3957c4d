//! Dates in HTTP (RFC 9110, section 5.6.7).
//!
//! Years before 1970 are not understood. The century of a two-digit year does not depend on today's date: 70 to 99 are
//! 1970 to 1999.

use std::time::{Duration, SystemTime};

use crate::grammar::trim;

/// The last date that can be written, in seconds since 1970.
pub const LAST: i64 = 253_402_300_799;

/// Parses a field value that is a date, in any of the three forms. Returns the time since 1970.
pub fn parse(value: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.trim() == *text && trim(value) == value)?;
    // A leap second is legal but unknown to the library.
    let known = text.replace(" 23:59:60", " 23:59:59");
    let leap = Duration::from_secs((known != text).into());
    let time = httpdate::parse_http_date(&known).ok()? + leap;
    time.duration_since(SystemTime::UNIX_EPOCH).ok()
}

/// Formats this second since 1970 in the form to send. Dates before 1970, or too late to be written, become the nearest
/// date that can be written.
pub fn format(seconds: i64) -> String {
    let seconds = seconds.clamp(0, LAST).unsigned_abs();
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<u64> {
        parse(text.as_bytes()).map(|time| time.as_secs())
    }

    #[test]
    fn three_forms() {
        for text in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(seconds(text), Some(784_111_777), "{text}");
        }
        let leap = seconds("Sat, 31 Dec 2016 23:59:60 GMT");
        assert_eq!(leap, seconds("Sun, 01 Jan 2017 00:00:00 GMT"));
        assert_eq!(leap.map(|leap| format(leap.cast_signed())).unwrap(), "Sun, 01 Jan 2017 00:00:00 GMT");
        assert_eq!((format(-1), format(i64::MAX)), (format(0), format(LAST)));
    }

    #[test]
    fn case_space_and_weekday_matter() {
        for bad in [
            "",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "sun, 06 nov 1994 08:49:37 GMT",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            " Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:60 GMT",
        ] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
