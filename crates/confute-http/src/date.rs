//! Dates as HTTP writes them (RFC 9110, section 5.6.7), beside the bytes that were sent.
//!
//! Years before 1970 are not understood. The century of a two-digit year does not depend on today's date: 70 to 99 are
//! of the last century.

use std::time::{Duration, SystemTime};

use crate::wire::grammar::trim;

/// A date and how it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Date {
    /// What was sent.
    pub bytes: Vec<u8>,
    /// When that is.
    pub time: SystemTime,
    /// In which form.
    pub form: DateForm,
}

/// The form of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateForm {
    /// `Sun, 06 Nov 1994 08:49:37 GMT`, the only one that may be sent.
    Imf,
    /// `Sunday, 06-Nov-94 08:49:37 GMT`
    Rfc850,
    /// `Sun Nov  6 08:49:37 1994`
    Asctime,
}

/// Not a date, or one before 1970.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a date as HTTP writes it, or before 1970: {}", .0.escape_ascii())]
pub struct BadDate(pub Vec<u8>);

impl Date {
    /// Reads a field value that is a date.
    pub fn parse(value: &[u8]) -> Result<Self, BadDate> {
        Self::read(value).ok_or_else(|| BadDate(value.to_vec()))
    }

    fn read(value: &[u8]) -> Option<Self> {
        let text =
            std::str::from_utf8(value).ok().filter(|text| text.trim() == *text && trim(value) == value)?;
        // The one time that is legal but unknown to the library: a leap second.
        let known = text.replace(" 23:59:60", " 23:59:59");
        let leap = Duration::from_secs((known != text).into());
        let time = httpdate::parse_http_date(&known).ok()? + leap;
        let form = match text.find(',') {
            Some(3) => DateForm::Imf,
            Some(_) => DateForm::Rfc850,
            None => DateForm::Asctime,
        };
        Some(Date { bytes: value.to_vec(), time, form })
    }

    /// A time as it should be sent, without its fraction of a second; `None` before 1970 or after 9999.
    pub fn format(time: SystemTime) -> Option<String> {
        let seconds = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
        (seconds < 253_402_300_800).then(|| httpdate::fmt_http_date(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: u64 = 784_111_777;

    #[test]
    fn three_forms() {
        let forms = [
            ("Sun, 06 Nov 1994 08:49:37 GMT", DateForm::Imf),
            ("Sunday, 06-Nov-94 08:49:37 GMT", DateForm::Rfc850),
            ("Sun Nov  6 08:49:37 1994", DateForm::Asctime),
        ];
        for (text, form) in forms {
            let date = Date::parse(text.as_bytes()).unwrap();
            assert_eq!((date.time, date.form), (SystemTime::UNIX_EPOCH + Duration::from_secs(TIME), form));
            assert_eq!(date.bytes, text.as_bytes());
        }
        let leap = Date::parse(b"Sat, 31 Dec 2016 23:59:60 GMT").unwrap().time;
        assert_eq!(leap, Date::parse(b"Sun, 01 Jan 2017 00:00:00 GMT").unwrap().time);
        assert_eq!(Date::format(leap).unwrap(), "Sun, 01 Jan 2017 00:00:00 GMT");
        assert_eq!(Date::format(SystemTime::UNIX_EPOCH - Duration::from_secs(1)), None);
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
            assert!(Date::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
