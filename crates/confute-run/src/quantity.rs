//! Durations and sizes, as people write them.

use std::time::Duration;

/// Parses a duration such as `500ms`, `30s`, `1.5m`, `2h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("min", 60.0), ("h", 3600.0)];
    let seconds = quantity(text, &units).ok_or("expected a time such as 500ms, 30s or 5m")?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "that duration is too long".to_owned())
}

/// Parses a size such as `64MiB`, `1GiB`, `500MB`.
pub fn size(text: &str) -> Result<usize, String> {
    const KIB: f64 = 1024.0;
    let units = [
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", KIB),
        ("MiB", KIB * KIB),
        ("GiB", KIB * KIB * KIB),
    ];
    let bytes = quantity(text, &units).ok_or("expected a size such as 64MiB or 1GiB")?;
    if bytes >= 2f64.powi(63) {
        return Err("that size is too large".to_owned());
    }
    #[expect(clippy::cast_sign_loss, reason = "quantities have no sign")]
    Ok(bytes as usize)
}

/// Parses a decimal number with one of these units, without regard to case, and returns their product.
fn quantity(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim()))?;
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(size("1GiB"), Ok(1 << 30));
        assert_eq!(size("2 kb"), Ok(2000));
        for wrong in ["", "30", "s", "-1s", "1.2.3s", "1e3s", "3 fortnights", "99999999999999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "1", "GiB", "1TiB", "99999999999999GiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
