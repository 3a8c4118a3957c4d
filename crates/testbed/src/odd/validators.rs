//! The validators of a version at one moment.

use std::time::Duration;

use super::habits::Habits;
use super::store::Version;
use super::table::Oddity;
use crate::embedded::date;
use crate::embedded::switches::mix;
use crate::embedded::tag::Tag;

/// Time after a write during which a tag is weak.
const RIPENS: Duration = Duration::from_millis(50);
/// Time after a write during which there is no tag.
const COMES: Duration = Duration::from_millis(20);
/// Time after a write at which the tag is replaced.
const CHANGES: Duration = Duration::from_millis(30);
/// Length of the alternating periods with and without coding, in milliseconds.
const CODED: u128 = 40;
/// Number of bytes from which content is coded.
const BIG: usize = 100;
/// Number of seconds by which a wrong clock is slow.
const SLOW: u64 = 3600;
/// Number of seconds that a coarse date is truncated to a multiple of.
const COARSE: u64 = 10;
/// Number of seconds that a rounded date is rounded up to a multiple of.
const ROUNDED: u64 = 4;
/// Number of consecutive writes that share a tag, for a twin.
const SHARED: u64 = 5;

/// The validators and the coding of the selected representation.
#[derive(Debug, Clone)]
pub(super) struct Current {
    pub(super) tag: Option<Tag>,
    /// Value of Last-Modified.
    pub(super) date: Option<u64>,
    /// `true` if the date identifies the content (RFC 9110, 8.8.2.2).
    pub(super) is_strong_date: bool,
    /// `true` if the representation is coded with gzip.
    pub(super) coded: bool,
}

impl Current {
    /// Returns the current validators of a version.
    pub(super) fn of(version: &Version, habits: &Habits) -> Self {
        let coded = habits.has(Oddity::AlwaysCoded)
            || habits.has(Oddity::BigCoded) && version.content.len() >= BIG
            || habits.has(Oddity::CodingTag)
                && !(version.written.elapsed().as_millis() / CODED).is_multiple_of(2);
        let date = date_of(version, habits);
        let rounds = [Oddity::CoarseDate, Oddity::RoundedDate, Oddity::EpochDate];
        Self {
            tag: tag_of(version, coded, habits),
            date,
            is_strong_date: version.alone
                && date::now() > version.modified
                && !rounds.iter().any(|odd| habits.has(*odd)),
            coded,
        }
    }
}

fn tag_of(version: &Version, coded: bool, habits: &Habits) -> Option<Tag> {
    let strong = |opaque: Vec<u8>| Some(Tag { weak: false, opaque });
    let name = |number: u64| format!("{:x}", mix(number)).into_bytes();
    let number = version.number;
    let age = version.written.elapsed();
    if habits.has(Oddity::NoTag) {
        return None;
    }
    if habits.has(Oddity::WeakTag) {
        return Some(Tag { weak: true, opaque: name(number) });
    }
    if habits.has(Oddity::RipeningTag) {
        let number = if habits.breaks(Oddity::RipeningTag) { version.first } else { number };
        return Some(Tag { weak: age < RIPENS, opaque: name(number) });
    }
    if habits.has(Oddity::LateTag) && age < COMES {
        let old = version.before.filter(|_| habits.breaks(Oddity::LateTag));
        return old.and_then(|old| strong(name(old)));
    }
    if habits.has(Oddity::ChangingTag) && age >= CHANGES {
        return strong(match version.before.filter(|_| habits.breaks(Oddity::ChangingTag)) {
            Some(old) => name(old),
            None => [&name(number)[..], b"-settled"].concat(),
        });
    }
    if habits.breaks(Oddity::ContentTag) {
        return strong(version.content.len().to_string().into_bytes());
    }
    let mut opaque = if habits.has(Oddity::ContentTag) { hash(&version.content) } else { name(number) };
    if habits.breaks(Oddity::AlwaysCoded) {
        opaque = name(number / SHARED);
    }
    if habits.has(Oddity::StrangeTag) {
        opaque = [b"a,b\\", &opaque[..], b",\xe9!"].concat();
    }
    if coded {
        opaque = match version.before.filter(|_| habits.breaks(Oddity::CodingTag)) {
            Some(old) => name(old),
            None => [&opaque[..], b"-gzip"].concat(),
        };
    }
    strong(opaque)
}

/// Returns the tag in the response to HEAD, for the twin that sends another one than with GET.
pub(super) fn former_tag(version: &Version) -> Option<Tag> {
    version.before.map(|number| Tag { weak: false, opaque: format!("{:x}", mix(number)).into_bytes() })
}

fn hash(content: &[u8]) -> Vec<u8> {
    let mixed = content.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| mix(hash ^ u64::from(*byte)));
    format!("{mixed:x}-{}", content.len()).into_bytes()
}

fn date_of(version: &Version, habits: &Habits) -> Option<u64> {
    let slow = if habits.keeps(Oddity::WrongClock) { SLOW } else { 0 };
    let modified = version.modified - slow;
    if habits.keeps(Oddity::NoClock) {
        return None;
    }
    Some(if habits.has(Oddity::CoarseDate) {
        modified - modified % COARSE
    } else if habits.has(Oddity::RoundedDate) {
        let up = modified.next_multiple_of(ROUNDED);
        if habits.breaks(Oddity::RoundedDate) { up } else { up.min(date::now() - slow) }
    } else if habits.has(Oddity::EpochDate) {
        0
    } else {
        modified
    })
}

/// Returns the time according to the clock of the server.
pub(super) fn clock(habits: &Habits) -> u64 {
    date::now() - if habits.has(Oddity::WrongClock) { SLOW } else { 0 }
}

/// Encodes content as a gzip member of stored blocks (RFC 1952; RFC 1951, 3.2.4).
pub(super) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut coded = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let mut blocks = content.chunks(0xffff).peekable();
    if blocks.peek().is_none() {
        coded.extend_from_slice(&[1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        coded.push(u8::from(blocks.peek().is_none()));
        coded.extend_from_slice(&length.to_le_bytes());
        coded.extend_from_slice(&(!length).to_le_bytes());
        coded.extend_from_slice(block);
    }
    coded.extend_from_slice(&crc(content).to_le_bytes());
    coded.extend_from_slice(&(content.len() as u32).to_le_bytes());
    coded
}

fn crc(content: &[u8]) -> u32 {
    let step = |crc: u32, _: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !content.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_has_the_checksum_that_everybody_computes() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
        assert_eq!(gzip(b"").len(), 10 + 5 + 8);
    }
}
