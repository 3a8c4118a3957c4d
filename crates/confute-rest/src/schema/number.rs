//! Numbers.

use serde_json::{Map, Value};

use super::Error;
use super::sample::Walk;

/// Width of a range that is bounded on one side only.
const WIDTH: f64 = 99.0;

/// The range that a schema allows, in steps.
struct Range {
    low: f64,
    high: f64,
    step: Option<f64>,
    exclusive: (bool, bool),
}

impl Range {
    fn of(schema: &Map<String, Value>) -> Self {
        let get = |key: &str| schema.get(key).and_then(Value::as_f64);
        let lows = (get("minimum"), get("exclusiveMinimum"));
        let highs = (get("maximum"), get("exclusiveMaximum"));
        let low = lows.0.into_iter().chain(lows.1).reduce(f64::max);
        let high = highs.0.into_iter().chain(highs.1).reduce(f64::min);
        let (from, to) = match (low, high) {
            (None, None) => (0.0, WIDTH),
            (Some(low), None) => (low, low + WIDTH),
            (None, Some(high)) => (if high >= 0.0 { 0.0 } else { high - WIDTH }, high),
            (Some(low), Some(high)) => (low, high),
        };
        let step = get("multipleOf").filter(|step| *step > 0.0);
        Self {
            low: from,
            high: to,
            step,
            exclusive: (lows.1.is_some() && lows.1 == low, highs.1.is_some() && highs.1 == high),
        }
    }

    /// Chooses a multiple of `step` in the range, if there is one. The first in the range is the simplest.
    fn choose(&self, walk: &mut Walk<'_>, step: f64) -> Option<f64> {
        let mut first = (self.low / step).ceil();
        let mut last = (self.high / step).floor();
        if self.exclusive.0 && first * step <= self.low {
            first += 1.0;
        }
        if self.exclusive.1 && last * step >= self.high {
            last -= 1.0;
        }
        if !first.is_finite() || !last.is_finite() || last < first {
            return None;
        }
        // Not more than this many, so that the sum stays exact.
        let many =
            (1_u16..=1000).take_while(|count| first + f64::from(count - 1) <= last).last().unwrap_or(1);
        let chosen = first + f64::from((walk.pick)(many.into()) as u16);
        Some(chosen * step)
    }
}

/// Makes a whole number.
pub(super) fn integer(walk: &mut Walk<'_>, schema: &Map<String, Value>) -> Result<Value, Error> {
    let range = Range::of(schema);
    let step = range.step.map_or(1.0, |step| if step.fract() == 0.0 { step } else { 1.0 });
    match range.choose(walk, step) {
        Some(number) if number.abs() < 9.0e15 => Ok(Value::from(number as i64)),
        Some(_) => walk.fail("its numbers are too large to be exact"),
        None => walk.fail("there is no whole number in its range"),
    }
}

/// Makes a number: a multiple of one half if possible.
pub(super) fn number(walk: &mut Walk<'_>, schema: &Map<String, Value>) -> Result<Value, Error> {
    let range = Range::of(schema);
    let steps = match range.step {
        Some(step) => vec![step],
        None => vec![0.5, (range.high - range.low) / 4.0],
    };
    for step in steps.into_iter().filter(|step| *step > 0.0) {
        if let Some(number) = range.choose(walk, step) {
            return Ok(tidy(number));
        }
    }
    if range.low <= range.high && range.exclusive == (false, false) {
        return Ok(tidy(range.low));
    }
    walk.fail("there is no number in its range")
}

/// Writes a whole number without a fraction.
fn tidy(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9.0e15 {
        Value::from(number as i64)
    } else {
        Value::from(number)
    }
}
