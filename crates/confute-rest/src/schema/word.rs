//! Strings: words, and the formats that services ask for.

use serde_json::{Map, Value};

use super::Error;
use super::object::count;
use super::pattern;
use super::sample::Walk;

/// Makes a string.
pub(super) fn string(walk: &mut Walk<'_>, schema: &Map<String, Value>) -> Result<Value, Error> {
    let minimum = count(schema, "minLength").unwrap_or(0);
    let maximum = count(schema, "maxLength").unwrap_or(u64::MAX);
    if minimum > maximum {
        return walk.fail("minLength is more than maxLength");
    }
    if minimum > 1_000_000 {
        return walk.fail("it needs more than 1,000,000 characters");
    }
    if let Some(text) = schema.get("pattern").and_then(Value::as_str) {
        return match pattern::matching(text, (minimum, maximum), walk.pick) {
            Ok(made) => Ok(Value::String(made)),
            Err(reason) => walk.fail(reason),
        };
    }
    if let Some(made) =
        schema.get("format").and_then(Value::as_str).and_then(|format| formatted(walk, format))
    {
        return Ok(Value::String(made));
    }
    let low = minimum.max(3.min(maximum));
    let length = low + (walk.pick)(6.min(maximum - low) + 1);
    Ok(Value::String(word(walk, length)))
}

/// Makes a word of lower-case letters.
fn word(walk: &mut Walk<'_>, length: u64) -> String {
    (0..length).map(|_| char::from(b'a' + (walk.pick)(26) as u8)).collect()
}

fn formatted(walk: &mut Walk<'_>, format: &str) -> Option<String> {
    let mut two = |low: u64, many: u64| format!("{:02}", low + (walk.pick)(many));
    let date = |two: &mut dyn FnMut(u64, u64) -> String| format!("2024-{}-{}", two(1, 12), two(1, 28));
    let time =
        |two: &mut dyn FnMut(u64, u64) -> String| format!("{}:{}:{}", two(0, 24), two(0, 60), two(0, 60));
    Some(match format {
        "date" => date(&mut two),
        "time" => format!("{}Z", time(&mut two)),
        "date-time" => format!("{}T{}Z", date(&mut two), time(&mut two)),
        "duration" => format!("P{}D", 1 + (walk.pick)(30)),
        "email" | "idn-email" => format!("{}@example.com", word(walk, 8)),
        "hostname" | "idn-hostname" => format!("{}.example.com", word(walk, 8)),
        "ipv4" => format!("192.0.2.{}", 1 + (walk.pick)(250)),
        "ipv6" => format!("2001:db8::{:x}", 1 + (walk.pick)(250)),
        "uri" | "url" | "iri" | "uri-reference" | "iri-reference" => {
            format!("https://example.com/{}", word(walk, 8))
        }
        "uuid" => {
            let (high, low) = ((walk.pick)(1 << 32), (walk.pick)(1 << 32));
            format!(
                "{high:08x}-{:04x}-4{:03x}-8{:03x}-{low:08x}0000",
                low & 0xffff,
                high & 0xfff,
                low & 0xfff
            )
        }
        "byte" | "base64" => "YWJj".to_owned(),
        "decimal" => format!("{}", 1 + (walk.pick)(99)),
        "json-pointer" => format!("/{}", word(walk, 4)),
        "regex" => word(walk, 4),
        _ => return None,
    })
}
