//! HTTP dates (RFC 9110, 5.6.7), as seconds since 1970.
//!
//! All three formats are parsed, one is written. A value that is no date yields `None`, and a condition that uses it
//! is ignored.

use std::time::{SystemTime, UNIX_EPOCH};

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const LONG_DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const SECONDS_A_DAY: u64 = 86_400;

/// Returns the current time.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Formats a date like `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn format(seconds: u64) -> String {
    let (days, second) = (seconds / SECONDS_A_DAY, seconds % SECONDS_A_DAY);
    let (year, month, day) = civil(days);
    format!(
        "{}, {day:02} {} {year:04} {:02}:{:02}:{:02} GMT",
        DAYS[(days % 7) as usize],
        MONTHS[month as usize - 1],
        second / 3600,
        second / 60 % 60,
        second % 60,
    )
}

/// Parses any of the three formats; a date before 1970 counts as 1970.
pub(crate) fn parse(text: &str) -> Option<u64> {
    imf(text).or_else(|| rfc850(text)).or_else(|| asctime(text))
}

fn imf(text: &str) -> Option<u64> {
    let (name, rest) = text.split_once(", ")?;
    DAYS.iter().find(|&&it| it == name)?;
    let [day, month, year, time, "GMT"] = words(rest)? else { return None };
    seconds(digits(year, 4)?, month, digits(day, 2)?, time)
}

fn rfc850(text: &str) -> Option<u64> {
    let (name, rest) = text.split_once(", ")?;
    LONG_DAYS.iter().find(|&&it| it == name)?;
    let [date, time, "GMT"] = words(rest)? else { return None };
    let mut parts = date.split('-');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    // A two-digit year that appears to be more than fifty years in the future is of the last century.
    let this_year = civil(now() / SECONDS_A_DAY).0;
    let year = this_year - this_year % 100 + digits(year, 2)?;
    let year = if year > this_year + 50 { year - 100 } else { year };
    seconds(year, month, digits(day, 2)?, time)
}

fn asctime(text: &str) -> Option<u64> {
    let (name, rest) = text.split_once(' ')?;
    DAYS.iter().find(|&&it| it == name)?;
    let (month, rest) = rest.split_once(' ')?;
    let (day, rest) = rest.split_at_checked(2)?;
    let day = digits(day.trim_start(), day.trim_start().len())?;
    let [time, year] = words(rest.strip_prefix(' ')?)?;
    seconds(digits(year, 4)?, month, day, time)
}

fn words<const N: usize>(text: &str) -> Option<[&str; N]> {
    text.split(' ').collect::<Vec<_>>().try_into().ok()
}

fn digits(text: &str, count: usize) -> Option<u64> {
    let good = text.len() == count && count > 0 && text.bytes().all(|it| it.is_ascii_digit());
    if good { text.parse().ok() } else { None }
}

fn seconds(year: u64, month: &str, day: u64, time: &str) -> Option<u64> {
    let month = MONTHS.iter().position(|&it| it == month)? as u64 + 1;
    let mut parts = time.split(':');
    let (hour, minute, second) =
        (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    // A leap second is a valid second.
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 || day == 0 {
        return None;
    }
    if year < 1970 {
        return (day <= 31).then_some(0);
    }
    let days = days_before(year, month) + day - 1;
    // The day exists if it survives the round trip through the number of days.
    (civil(days) == (year, month, day)).then_some(days * SECONDS_A_DAY + hour * 3600 + minute * 60 + second)
}

fn leap(year: u64) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

fn month_length(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the number of days from the start of 1970 to the first day of a month.
fn days_before(year: u64, month: u64) -> u64 {
    let before = year - 1;
    let leaps = before / 4 - before / 100 + before / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
    (year - 1970) * 365 + leaps + (1..month).map(|it| month_length(year, it)).sum::<u64>()
}

/// Returns the year, month and day that is `days` days after the start of 1970.
fn civil(days: u64) -> (u64, u64, u64) {
    let mut year = 1970 + days / 366;
    while days_before(year + 1, 1) <= days {
        year += 1;
    }
    let mut month = 1;
    while month < 12 && days_before(year, month + 1) <= days {
        month += 1;
    }
    (year, month, days - days_before(year, month) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_formats_of_rfc_9110_5_6_7() {
        for text in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(parse(text), Some(784_111_777), "{text}");
        }
        assert_eq!(format(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
    }

    #[test]
    fn every_day_leads_back_to_itself() {
        for day in 0..60_000 {
            let second = day * SECONDS_A_DAY + 86_399;
            assert_eq!(parse(&format(second)), Some(second));
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in ["", "yesterday", "Sun, 31 Feb 1999 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "0"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
