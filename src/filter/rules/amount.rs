//! Durations, rates and sizes as users write them.

use std::time::Duration;

/// `200ms`, `1.5s`, `2m`, `1h`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = split(text)?;
    let seconds = match unit {
        "us" | "µs" => number / 1e6,
        "ms" => number / 1e3,
        "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| *duration <= LONGEST)
}

/// A duration, and how far it may be off: `200ms ± 50ms`, `200ms +- 50ms`.
pub(super) fn delay(text: &str) -> Option<(Duration, Duration)> {
    let parts = text.split_once('±').or_else(|| text.split_once("+-"));
    let (by, jitter) = parts.or_else(|| text.split_once("+/-")).unwrap_or((text, "0s"));
    let (by, jitter) = (duration(by.trim())?, duration(jitter.trim())?);
    (jitter <= by).then_some((by, jitter))
}

/// Bytes: `16M`, `64kB`, `100`.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" | "kib" => 1024.0,
        "m" | "mb" | "mib" => 1_048_576.0,
        "g" | "gb" | "gib" => 1_073_741_824.0,
        _ => return None,
    };
    let bytes = number * factor;
    (1.0..1e15).contains(&bytes).then_some(bytes as u64)
}

/// Bytes a second: `64kB/s`.
pub(super) fn rate(text: &str) -> Option<u64> {
    bytes(text.trim().strip_suffix("/s")?.trim())
}

fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

/// A session that waits for longer is dead.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_users_write() {
        let millis = Duration::from_millis;
        assert_eq!(duration("200ms"), Some(millis(200)));
        assert_eq!(duration(" 1.5 s"), Some(millis(1500)));
        assert_eq!(duration("2m"), Some(millis(120_000)));
        for text in ["", "5", "-1s", "1 year", "1e99s", "25h", "nans", "1..2s"] {
            assert_eq!(duration(text), None, "{text}");
        }
        for text in ["200ms ± 50ms", "200ms +- 50ms", "0.2s+/-50ms"] {
            assert_eq!(delay(text), Some((millis(200), millis(50))), "{text}");
        }
        assert_eq!(delay("1s"), Some((millis(1000), millis(0))));
        assert_eq!(delay("1s ± 2s"), None);
        assert_eq!(bytes("16M"), Some(16 << 20));
        assert_eq!(bytes("0"), None);
        assert_eq!(rate("64kB/s"), Some(64 << 10));
        assert_eq!(rate("64kB"), None);
    }
}
