use std::ops::RangeInclusive;
use std::sync::LazyLock;

use toml::de::DeValue;

use super::annotation::Known;
use super::rows::{Entry, Fields, Table, names};
use crate::packet::Diagnostic;
use crate::schema::{Family, PacketType, Release, Scalar};

/// The limits of the fields of a type of packet in one version: rows of `data/limits.toml`.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    release: Release,
    fields: &'static Fields<Limit>,
}

/// A limit that the game sets for a field of a packet that decodes.
#[derive(Debug, Default)]
pub struct Limit {
    diagnostic: Option<Diagnostic>,
    accepted: Accepted,
}

/// The values that the game accepts.
#[derive(Debug, Default)]
enum Accepted {
    #[default]
    Anything,
    /// Texts up to a number of UTF-16 units.
    Characters(usize),
    Numbers(RangeInclusive<f64>),
    /// Buffers up to a number of bytes.
    Bytes(usize),
    /// The name of a thing, as `minecraft:stone`; without a namespace, of the game's own.
    Identifier,
    /// Lists whose number of elements is in a range.
    Counts(RangeInclusive<f64>),
    /// The hash of a resource pack, or an empty text.
    Hash {
        is_lower: bool,
    },
}

impl Limits {
    /// Returns the limits of a type of packet; `None` if it has none in any version.
    #[must_use]
    pub fn of(release: Release, packet: &PacketType) -> Option<Self> {
        Some(Self { release, fields: table().of(release, packet)? })
    }

    /// Iterates over the limits of the field at `path` (names separated by dots, without indexes). `other`
    /// returns the values of other fields, on which some depend.
    pub fn at<'k>(
        self,
        path: &str,
        other: impl Fn(&str) -> Option<Known<'k>>,
    ) -> impl Iterator<Item = &'static Limit> {
        let rows = self.fields.at(path, self.release);
        rows.filter(move |row| row.when.iter().all(|it| it.holds(&other))).map(|row| row.entry)
    }

    /// Returns whether a breach of any of them is a diagnostic in this version.
    pub(super) fn diagnose(self) -> bool {
        let mut rows = self.fields.rows.values().flatten();
        rows.any(|it| it.versions.contains(self.release) && it.entry.diagnostic.is_some())
    }

    /// Returns whether the limit of another field depends on the value at `path`.
    #[must_use]
    pub fn decides(self, path: &str) -> bool {
        self.fields.deciding.contains(path)
    }
}

impl Limit {
    /// Returns the diagnostic that a breach of the limit is; `None` if it is a matter of `lint` alone.
    #[must_use]
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        self.diagnostic
    }

    /// Returns whether the limit is the form of an identifier.
    #[must_use]
    pub fn is_identifier(&self) -> bool {
        matches!(self.accepted, Accepted::Identifier)
    }

    /// Returns why the game refuses a value; `None` if it does not.
    #[must_use]
    pub fn refusal(&self, value: &Scalar<'_>) -> Option<String> {
        match (&self.accepted, value) {
            (Accepted::Characters(most), Scalar::Text(bytes, encoding)) => {
                let units = encoding.decode_lossy(bytes).encode_utf16().count();
                let refusal = || format!("{units} characters, the game reads up to {most}");
                (units > *most).then(refusal)
            }
            (Accepted::Numbers(range), _) => {
                let number = match *value {
                    Scalar::Int(int) => int as f64,
                    Scalar::Float32(float) => float.into(),
                    Scalar::Float64(float) => float,
                    _ => return None,
                };
                let refusal =
                    || format!("{number}: the game knows {} to {}", range.start(), range.end());
                (!range.contains(&number)).then(refusal)
            }
            (Accepted::Bytes(most), Scalar::Bytes(bytes)) => {
                let refusal = || format!("{} bytes, the game reads up to {most}", bytes.len());
                (bytes.len() > *most).then(refusal)
            }
            (Accepted::Identifier, Scalar::Text(bytes, encoding)) => {
                let text = encoding.decode_lossy(bytes);
                let refused = text.chars().find(|char| !is_in_identifier(*char));
                let several = text.matches(':').count() > 1;
                match refused {
                    Some(char) => Some(format!("{char:?} cannot be in an identifier")),
                    None => several.then(|| "an identifier has one colon at most".to_owned()),
                }
            }
            (Accepted::Hash { is_lower }, Scalar::Text(bytes, _)) => {
                let is_digit = |byte: &u8| {
                    byte.is_ascii_hexdigit() && !(*is_lower && byte.is_ascii_uppercase())
                };
                let is_hash = bytes.len() == HASH && bytes.iter().all(is_digit);
                let refusal = || format!("no hash of {HASH} hexadecimal digits");
                (!bytes.is_empty() && !is_hash).then(refusal)
            }
            _ => None,
        }
    }

    /// Returns whether the game refuses a list with so many elements.
    #[must_use]
    pub fn refuses_count(&self, count: usize) -> bool {
        matches!(&self.accepted, Accepted::Counts(range) if !range.contains(&(count as f64)))
    }
}

/// Returns whether the game accepts a character of an identifier. `/` belongs to the path alone.
fn is_in_identifier(char: char) -> bool {
    matches!(char, 'a'..='z' | '0'..='9' | '_' | '-' | '.' | '/' | ':')
}

impl Entry for Limit {
    fn take(&mut self, key: &str, value: &DeValue<'_>) -> Option<()> {
        match key {
            "rule" => self.diagnostic = Some(value.as_str()?.parse().ok()?),
            "characters" => {
                let most = value.as_integer()?.as_str().parse().ok()?;
                self.accepted = Accepted::Characters(most);
            }
            "numbers" => self.accepted = Accepted::Numbers(range(value.as_str()?)?),
            "count" => self.accepted = Accepted::Counts(range(value.as_str()?)?),
            "bytes" => self.accepted = Accepted::Bytes(value.as_integer()?.as_str().parse().ok()?),
            "form" => {
                self.accepted = match value.as_str()? {
                    "hash" => Accepted::Hash { is_lower: false },
                    "lower-case hash" => Accepted::Hash { is_lower: true },
                    "identifier" => Accepted::Identifier,
                    _ => return None,
                };
            }
            _ => return None,
        }
        Some(())
    }
}

/// Reads `0..5`, `0..` or `finite`.
fn range(text: &str) -> Option<RangeInclusive<f64>> {
    if text == "finite" {
        return Some(f64::MIN..=f64::MAX);
    }
    let (least, most) = text.split_once("..")?;
    let most = if most.is_empty() { f64::INFINITY } else { most.parse().ok()? };
    Some(least.parse().ok()?..=most)
}

/// Returns the limits of all packets, read from the data file on first use.
pub(crate) fn table() -> &'static Table<Limit> {
    static TABLE: LazyLock<Table<Limit>> =
        LazyLock::new(|| Table::read(&[(Family::Java, FILE)], "limit", names));
    &TABLE
}

const FILE: &str = include_str!("data/limits.toml");

/// Digits of the hash of a resource pack.
const HASH: usize = 40;
