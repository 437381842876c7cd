use crate::packet::Timestamp;
use crate::schema::Catalog;

/// The unit of a number on the wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unit {
    /// A fraction of a block.
    Blocks {
        per: f64,
    },
    /// A fraction of a block, in each tick.
    BlocksPerTick {
        per: f64,
    },
    /// A fraction of a turn.
    Turn {
        per: f64,
    },
    /// A fraction of 100 %.
    Share {
        per: f64,
    },
    /// 1/20 second.
    Ticks,
    /// Ticks since midnight plus six hours.
    TimeOfDay,
    /// A time of day; negative if the sun stands still.
    TimeOfDayOrFixed,
    Milliseconds,
    Seconds,
    /// One less than a level that players see.
    LevelAboveOne,
    /// One less than a size.
    SizeLessOne,
    /// One more than a number, or 0 for none.
    PlusOne,
    /// A bit for each section of a chunk, the lowest first.
    Sections,
    /// Part of 250.
    Of250,
    /// A number out of the greatest.
    OutOf {
        most: f64,
    },
    /// A number of something: `chunks`.
    Count {
        of: &'static str,
    },
    /// Milliseconds since 1970.
    UnixTime,
    /// Red, green and blue, 8 bits each.
    Color,
    /// A protocol number.
    GameVersion,
}

impl Unit {
    /// Returns the unit that a data file calls `name`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let forms = [
            Self::TimeOfDay,
            Self::TimeOfDayOrFixed,
            Self::LevelAboveOne,
            Self::SizeLessOne,
            Self::PlusOne,
            Self::Sections,
            Self::Of250,
            Self::GameVersion,
            Self::UnixTime,
            Self::Color,
        ];
        if let Some(unit) = forms.into_iter().find(|unit| unit.form() == Some(name)) {
            return Some(unit);
        }
        Some(match name {
            "ticks" => Self::Ticks,
            "ms" => Self::Milliseconds,
            "seconds" => Self::Seconds,
            "chunks" => Self::Count { of: " chunks" },
            "players" => Self::Count { of: " players" },
            "semitones" => Self::Count { of: " semitones" },
            _ if name.starts_with("out of ") => {
                Self::OutOf { most: name.strip_prefix("out of ")?.parse().ok()? }
            }
            "1" => Self::Share { per: 1.0 },
            _ => {
                let fraction = name.strip_prefix("1/")?;
                let (number, of) = fraction.split_once(' ').unwrap_or((fraction, ""));
                let per = number.parse().ok()?;
                match of {
                    "" => Self::Share { per },
                    "block" => Self::Blocks { per },
                    "block per tick" => Self::BlocksPerTick { per },
                    "turn" => Self::Turn { per },
                    _ => return None,
                }
            }
        })
    }

    /// Returns the number by which a value on the wire is divided, and the unit of the result; `None`
    /// if the unit is no factor.
    pub(crate) fn scale(self) -> Option<(f64, &'static str)> {
        Some(match self {
            Self::Blocks { per } => (per, " blocks"),
            Self::BlocksPerTick { per } => (per, " blocks/tick"),
            Self::Turn { per } => (per / 360.0, "°"),
            Self::Share { per } => (per / 100.0, " %"),
            Self::Ticks => (20.0, " s"),
            Self::Milliseconds => (1.0, " ms"),
            Self::Seconds => (1.0, " s"),
            Self::Count { of } => (1.0, of),
            _ => return None,
        })
    }

    /// Returns the name of a unit that is no factor, as data files have it.
    pub(crate) fn form(self) -> Option<&'static str> {
        Some(match self {
            Self::TimeOfDay => "time of day",
            Self::TimeOfDayOrFixed => "time of day or fixed",
            Self::PlusOne => "plus 1",
            Self::LevelAboveOne => "level above 1",
            Self::SizeLessOne => "size less 1",
            Self::Sections => "sections",
            Self::Of250 => "of 250",
            Self::GameVersion => "game version",
            Self::UnixTime => "unix ms",
            Self::Color => "color",
            _ => return None,
        })
    }

    /// Returns a value in words: `100.06`, `90°`, `30 s`.
    pub(crate) fn text(self, value: f64) -> Option<String> {
        if let Some((per, unit)) = self.scale() {
            // Positions are blocks wherever players see them.
            let unit = if matches!(self, Self::Blocks { .. }) { "" } else { unit };
            return Some(format!("{}{unit}", rounded(value / per)));
        }
        match self {
            Self::Of250 => return Some(format!("{}/250", rounded(value * 250.0))),
            Self::OutOf { most } => return Some(format!("{}/{most}", rounded(value))),
            _ => {}
        }
        // The others are integers.
        let int = value as i64;
        Some(match self {
            Self::TimeOfDay => time_of_day(int.rem_euclid(DAY)),
            Self::TimeOfDayOrFixed => {
                let fixed = if int < 0 { ", fixed" } else { "" };
                time_of_day((int % DAY).abs()) + fixed
            }
            Self::PlusOne if int == 0 => "none".to_owned(),
            Self::PlusOne => int.saturating_sub(1).to_string(),
            Self::LevelAboveOne => format!("level {}", int + 1),
            Self::SizeLessOne => (int + 1).to_string(),
            Self::Sections => sections(int.cast_unsigned()),
            Self::UnixTime => {
                // A time in this century; else it counts from another moment.
                let millis = u64::try_from(int).ok().filter(|it| CENTURY.contains(it))?;
                format!("{}Z", &Timestamp(millis * 1_000_000).to_string()[..23])
            }
            Self::Color => format!("#{:06x}", int & 0xff_ffff),
            Self::GameVersion => {
                let version = i32::try_from(int).ok()?;
                let mut versions = Catalog::embedded().versions();
                let (_, names) = versions.find(|(number, _)| *number == version)?;
                match (names.first()?, names.last()?) {
                    (first, last) if first == last => first.to_string(),
                    (first, last) => format!("{first}-{last}"),
                }
            }
            _ => return None,
        })
    }
}

/// Writes a number with three significant decimals at most, and no more than it needs.
fn rounded(number: f64) -> String {
    let decimals = if number.abs() < 1.0 { 3 } else { 2 };
    let text = format!("{number:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Names the bits that are set: `sections 0-3, 7`.
fn sections(bits: u64) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for bit in (0..u64::BITS).filter(|bit| bits >> bit & 1 == 1) {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == bit => *end = bit,
            _ => runs.push((bit, bit)),
        }
    }
    let run = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    match (runs.as_slice(), bits.count_ones()) {
        ([], _) => "no sections".to_owned(),
        (runs, 1) => format!("section {}", run(&runs[0])),
        (runs, _) => format!("sections {}", runs.iter().map(run).collect::<Vec<_>>().join(", ")),
    }
}

/// The milliseconds of the years 2000 to 2099.
const CENTURY: std::ops::Range<u64> = 946_684_800_000..4_102_444_800_000;

/// Displays ticks since 6 in the morning, less than a day of them: `12:31`.
fn time_of_day(ticks: i64) -> String {
    format!("{:02}:{:02}", (ticks / 1000 + 6) % 24, ticks % 1000 * 60 / 1000)
}

/// Ticks of a day.
const DAY: i64 = 24_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn text(unit: &str, value: f64) -> String {
        Unit::named(unit).unwrap().text(value).unwrap()
    }

    #[test]
    fn values_are_in_the_units_of_players() {
        for (unit, value, expected) in [
            ("1/32 block", 3202.0, "100.06"),
            ("1/32 block", -320.0, "-10"),
            ("1/32 block", -1.0, "-0.031"),
            ("1/256 turn", 64.0, "90°"),
            ("1/256 turn", -64.0, "-90°"),
            ("1/8000 block per tick", -1343.0, "-0.168 blocks/tick"),
            ("1/32000 block per tick", -1343.0, "-0.042 blocks/tick"),
            ("ticks", 600.0, "30 s"),
            ("ms", 35.0, "35 ms"),
            ("seconds", 15.0, "15 s"),
            ("1/63", 63.0, "100 %"),
            ("1", 0.5, "50 %"),
            ("time of day", 0.0, "06:00"),
            ("time of day", 6000.0, "12:00"),
            ("time of day", 18_500.0, "00:30"),
            ("time of day", -6000.0, "00:00"),
            ("time of day or fixed", -6000.0, "12:00, fixed"),
            ("time of day or fixed", 30_000.0, "12:00"),
            ("plus 1", 0.0, "none"),
            ("plus 1", 43.0, "42"),
            ("level above 1", 0.0, "level 1"),
            ("size less 1", 127.0, "128"),
            ("sections", 255.0, "sections 0-7"),
            ("sections", 139.0, "sections 0-1, 3, 7"),
            ("sections", 1.0, "section 0"),
            ("sections", 0.0, "no sections"),
            ("out of 20", 18.5, "18.5/20"),
            ("chunks", 10.0, "10 chunks"),
            ("unix ms", 1_418_000_000_123.0, "2014-12-08T00:53:20.123Z"),
            ("color", 3694022.0, "#385dc6"),
            ("game version", 47.0, "1.8-1.8.9"),
            ("game version", 763.0, "1.20-1.20.1"),
        ] {
            assert_eq!(text(unit, value), expected, "{unit} {value}");
        }
        // Uptimes are no dates.
        assert_eq!(Unit::UnixTime.text(86_400_000.0), None);
        assert_eq!(Unit::named("1/x block"), None);
        assert_eq!(Unit::named("out of x"), None);
        assert_eq!(Unit::named("furlongs"), None);
    }
}
