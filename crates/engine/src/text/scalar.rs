use std::fmt::{self, Display, Write as _};

use super::escape::{Escaped, Quoted};
use mitmcraft_protocol::meaning::FieldMeaning;
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Name, Scalar, format_uuid};
use mitmcraft_protocol::wire::{Nbt, Reader};

/// Displays a number of bytes with a unit: `12.3 KiB`.
pub(crate) struct ByteSize(pub(crate) u64);

impl Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let mut size = self.0 as f64 / 1024.0;
        for unit in ["KiB", "MiB", "GiB"] {
            // Values above would be displayed as 1024.0.
            if size < 1023.95 {
                return write!(f, "{size:.1} {unit}");
            }
            size /= 1024.0;
        }
        write!(f, "{size:.1} TiB")
    }
}

/// Displays a time of day: `12:31:07.123`.
pub(super) struct TimeOfDay {
    millis: u64,
}

impl TimeOfDay {
    /// Takes the time of day at `at`, `offset` seconds east of UTC.
    pub(super) fn new(at: Timestamp, offset: i32) -> Self {
        let local = i128::from(at.0) / 1_000_000 + i128::from(offset) * 1000;
        Self { millis: u64::try_from(local.rem_euclid(DAY)).unwrap_or(0) }
    }
}

impl Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.millis / 1000, self.millis % 1000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{hour:02}:{minute:02}:{second:02}.{millis:03}")
    }
}

/// Displays a date and a time of day: `2026-11-20 12:31:07.123`.
pub(super) struct LocalTime(Timestamp);

impl LocalTime {
    /// Takes the time at `at`, `offset` seconds east of UTC.
    pub(super) fn new(at: Timestamp, offset: i32) -> Self {
        let local = i128::from(at.0) + i128::from(offset) * 1_000_000_000;
        Self(Timestamp(u64::try_from(local).unwrap_or(0)))
    }
}

impl Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        write!(f, "{} {}", &text[..10], &text[11..23])
    }
}

/// Appends a scalar; an integer whose bits have names, as a field's meaning or name says, in hex. `limit` is
/// the greatest number of characters of text; with `inside`, the content of NBT is shown.
pub(super) fn write_scalar(
    out: &mut String,
    scalar: &Scalar<'_>,
    meaning: Option<FieldMeaning>,
    name: Option<&Name>,
    width: usize,
    limit: usize,
    inside: bool,
) {
    let flags = meaning.is_some_and(|meaning| meaning.is_flags());
    let bits = name.is_some_and(|name| name.to_ascii_lowercase().contains("bitmap"));
    let digits = 2 * width;
    // Writing to a string does not fail.
    let _ = match *scalar {
        Scalar::Absent => write!(out, "none"),
        Scalar::Bool(bool) => write!(out, "{bool}"),
        Scalar::Int(int) if bits || flags => {
            let mask = u64::MAX >> (64 - 8 * width.clamp(1, 8));
            write!(out, "0x{:0digits$x}", int.cast_unsigned() & mask)
        }
        Scalar::Int(int) => write!(out, "{int}"),
        Scalar::Unsigned(int) if bits => write!(out, "0x{int:0digits$x}"),
        Scalar::Unsigned(int) => write!(out, "{int}"),
        Scalar::Float32(float) => write!(out, "{float:?}"),
        Scalar::Float64(float) => write!(out, "{float:?}"),
        Scalar::Text(bytes, encoding) => {
            write!(out, "{}", Quoted(&encoding.decode_lossy(bytes), limit))
        }
        Scalar::Name(name, _) => write!(out, "{}", Escaped(name)),
        Scalar::Uuid(uuid) => write!(out, "{}", format_uuid(uuid)),
        Scalar::Bytes(bytes) => write!(out, "[{}]", ByteSize(bytes.len() as u64)),
        Scalar::Nbt { bytes, named } if inside => {
            let mut json = Vec::new();
            if let Ok(Some(nbt)) = Nbt::read(&mut Reader::new(bytes), named) {
                nbt.write_json(&mut json);
            }
            write!(out, "{}", Escaped(String::from_utf8_lossy(&json)))
        }
        Scalar::Nbt { bytes, .. } => write!(out, "[NBT, {}]", ByteSize(bytes.len() as u64)),
        Scalar::CompressedNbt(bytes) => {
            write!(out, "[NBT in gzip, {}]", ByteSize(bytes.len() as u64))
        }
    };
}

/// Appends the first of some bytes in hex.
pub(super) fn write_bytes(out: &mut String, bytes: &[u8]) {
    for byte in bytes.iter().take(MAX_BYTES) {
        let _ = write!(out, " {byte:02x}");
    }
    if bytes.len() > MAX_BYTES {
        let _ = write!(out, " .. {} more", ByteSize((bytes.len() - MAX_BYTES) as u64));
    }
}

/// Appends at most `limit` bytes as lines of 16 bytes, in hex and as text.
pub(super) fn write_hex_dump(out: &mut String, bytes: &[u8], limit: usize) {
    let shown = &bytes[..bytes.len().min(limit)];
    for (line, chunk) in shown.chunks(16).enumerate() {
        let _ = write!(out, "    {:04x} ", line * 16);
        for place in 0..16 {
            if place == 8 {
                out.push(' ');
            }
            match chunk.get(place) {
                Some(byte) => {
                    let _ = write!(out, " {byte:02x}");
                }
                None => out.push_str("   "),
            }
        }
        out.push_str("  ");
        out.extend(chunk.iter().map(|byte| match byte {
            0x20..0x7f => char::from(*byte),
            _ => '.',
        }));
        out.push('\n');
    }
    if shown.len() < bytes.len() {
        let _ = writeln!(out, "    .. {} more", ByteSize((bytes.len() - shown.len()) as u64));
    }
}

/// Milliseconds of a day.
const DAY: i128 = 86_400_000;

/// Greatest number of bytes shown of a buffer.
const MAX_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_decimal() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (12_600, "12.3 KiB"),
            (1_048_575, "1.0 MiB"),
            (3 << 30, "3.0 GiB"),
            (u64::MAX, "16777216.0 TiB"),
        ] {
            assert_eq!(ByteSize(bytes).to_string(), text);
        }
    }

    #[test]
    fn times_of_day_follow_the_offset() {
        let at = Timestamp::parse("2026-11-20T12:31:07.123999999Z").unwrap();
        assert_eq!(TimeOfDay::new(at, 0).to_string(), "12:31:07.123");
        assert_eq!(TimeOfDay::new(at, -13 * 3600).to_string(), "23:31:07.123");
        assert_eq!(TimeOfDay::new(at, 20_700).to_string(), "18:16:07.123");
        assert_eq!(LocalTime::new(at, 0).to_string(), "2026-11-20 12:31:07.123");
        assert_eq!(LocalTime::new(at, 12 * 3600).to_string(), "2026-11-21 00:31:07.123");
        assert_eq!(LocalTime::new(Timestamp(0), -1).to_string(), "1970-01-01 00:00:00.000");
        assert_eq!(LocalTime::new(Timestamp(u64::MAX), 50_400).to_string().len(), 23);
        assert_eq!(TimeOfDay::new(Timestamp(0), -1).to_string(), "23:59:59.000");
    }
}
