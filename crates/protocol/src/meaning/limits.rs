use std::ops::RangeInclusive;
use std::sync::LazyLock;

use toml::de::DeValue;

use super::Grade;
use super::annotation::Known;
use super::nbt_size::nbt_size;
use super::rows::{Entry, Fields, Row, Table, names, texts};
use crate::packet::Diagnostic;
use crate::schema::{Direction, Family, PacketType, Release, Scalar, State};

/// The limits of the fields of a type of packet in one version: rows of `data/limits.toml`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    release: Release,
    /// The limits of the packet's own fields, and those of the fields of a type in any packet.
    own: Option<&'static Fields<Limit>>,
    any: Option<&'static Fields<Limit>>,
}

/// A limit that the game sets for a field of a packet that decodes.
#[derive(Debug)]
pub(crate) struct Limit {
    rule: Option<Diagnostic>,
    /// `false` if the game may accept a breach.
    pub(crate) certain: bool,
    /// What follows from a breach.
    pub(super) grade: Grade,
    /// The consequence in words, if it is not that of the rule.
    pub(super) then: Option<String>,
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
    /// Buffers whose number of bytes is in a range.
    Bytes(RangeInclusive<f64>),
    /// The name of a thing, as `minecraft:stone`; without a namespace, of the game's own.
    Identifier,
    /// Lists whose number of elements is in a range.
    Counts(RangeInclusive<f64>),
    /// The hash of a resource pack, or an empty text.
    Hash {
        is_lower: bool,
    },
    /// Texts of these.
    Names(Vec<String>),
    /// The name of a player: visible characters of ASCII.
    PlayerName,
    /// What a player writes: no `§` and no control characters.
    Message,
    /// Bytes of which the last has no bit beyond this number of them.
    Bits(usize),
    /// NBT up to a size by the game's own count.
    Nbt(usize),
    /// Packets that inflate to at most so many bytes.
    Inflated(usize),
}

impl Limits {
    /// Returns the limits of a type of packet; `None` if there are none, or, for packets that cannot break those of
    /// any packet (`is_large`), none of their own.
    pub(crate) fn of(release: Release, packet: &PacketType, is_large: bool) -> Option<Self> {
        let own = table().of(release, packet);
        let are_own = |own: &Fields<Limit>| {
            own.rows.values().flatten().any(|it| it.versions.contains(release))
        };
        if !is_large && !own.is_some_and(are_own) {
            return None;
        }
        let any = table().shared(release, packet);
        (own.is_some() || any.is_some()).then_some(Self { release, own, any })
    }

    /// Returns the most bytes to which the game inflates a packet; `None` if it inflates any.
    pub(crate) fn inflated(release: Release, state: State, to: Direction) -> Option<usize> {
        let rows = table().any((release.family(), state, to))?.at("", release);
        rows.filter_map(|row| row.entry.most_inflated()).next()
    }

    /// Iterates over the limits of the field at `path` (names separated by dots, without indexes). `other`
    /// returns the values of other fields, on which some depend.
    pub(super) fn at<'k>(
        self,
        path: &str,
        other: impl Fn(&str) -> Option<Known<'k>>,
    ) -> impl Iterator<Item = &'static Limit> {
        let fields = [self.own, self.any].into_iter().flatten();
        let rows = fields.flat_map(move |fields| fields.ending(path, self.release));
        rows.filter(move |row: &&Row<Limit>| row.when.iter().all(|it| it.holds(&other)))
            .map(|row| row.entry)
    }

    /// Returns the limit of all fields of a type: `(text)`, `(component)` or `(nbt)`.
    pub(super) fn of_type(self, name: &str) -> Option<&'static Limit> {
        self.any?.at(name, self.release).next().map(|row| row.entry)
    }

    /// Returns the name by which conditions know the field at `path`, if the limit of another depends on it.
    pub(super) fn decides(self, path: &str) -> Option<&'static str> {
        let fields = [self.own, self.any].into_iter().flatten();
        let mut fields = fields.flat_map(|fields| &fields.deciding);
        let is = |field: &&String| match field.strip_prefix('*') {
            Some(end) => path.ends_with(end),
            None => *field == path,
        };
        fields.find(is).map(String::as_str)
    }
}

impl Limit {
    /// Returns the diagnostic that a breach of the limit is.
    pub(crate) fn diagnostic(&self) -> Diagnostic {
        self.rule.unwrap_or(match &self.accepted {
            Accepted::Characters(_) => Diagnostic::TextTooLong,
            Accepted::Bytes(_) | Accepted::Counts(_) => Diagnostic::LengthInvalid,
            Accepted::Identifier => Diagnostic::IdentifierInvalid,
            Accepted::Hash { .. } => Diagnostic::PackHashInvalid,
            Accepted::PlayerName | Accepted::Message => Diagnostic::CharactersInvalid,
            Accepted::Nbt(_) => Diagnostic::NbtTooLarge,
            Accepted::Inflated(_) => Diagnostic::InflatedTooLong,
            Accepted::Anything | Accepted::Numbers(_) | Accepted::Names(_) | Accepted::Bits(_) => {
                Diagnostic::NumberInvalid
            }
        })
    }

    /// Returns a key that is less for a limit whose breach is graver.
    pub(super) fn gravity(&self) -> (Grade, bool) {
        (self.grade, !self.certain)
    }

    /// Returns whether the limit is one of a text's length, or of the size of NBT.
    pub(super) fn is_of_size(&self) -> bool {
        matches!(self.accepted, Accepted::Characters(_) | Accepted::Nbt(_))
    }

    /// Returns why the game refuses a value; `None` if it does not.
    pub(super) fn refusal(&self, value: &Scalar<'_>) -> Option<String> {
        match (&self.accepted, value) {
            (Accepted::Characters(most), Scalar::Text(bytes, encoding)) if bytes.len() > *most => {
                let units = encoding.decode_lossy(bytes).encode_utf16().count();
                let refusal = || format!("{units} characters, the game reads up to {most}");
                (units > *most).then(refusal)
            }
            (Accepted::Numbers(range), _) => {
                let number = match *value {
                    Scalar::Int(int) | Scalar::Name(_, int) => int as f64,
                    Scalar::Unsigned(int) => int as f64,
                    Scalar::Float32(float) => float.into(),
                    Scalar::Float64(float) => float,
                    _ => return None,
                };
                let refusal =
                    || format!("{number}: the game knows {} to {}", range.start(), range.end());
                (!range.contains(&number)).then(refusal)
            }
            (Accepted::Bytes(range), Scalar::Bytes(bytes)) => {
                let is_out = !range.contains(&(bytes.len() as f64));
                is_out.then(|| format!("{} bytes, the game reads {}", bytes.len(), words(range)))
            }
            (Accepted::Identifier, Scalar::Text(bytes, encoding)) => {
                identifier_fault(&encoding.decode_lossy(bytes))
            }
            (Accepted::Hash { is_lower }, Scalar::Text(bytes, _)) => {
                let is_digit = |byte: &u8| {
                    byte.is_ascii_hexdigit() && !(*is_lower && byte.is_ascii_uppercase())
                };
                let is_hash = bytes.len() == HASH && bytes.iter().all(is_digit);
                let refusal = || format!("no hash of {HASH} hexadecimal digits");
                (!bytes.is_empty() && !is_hash).then(refusal)
            }
            (Accepted::Names(names), Scalar::Text(bytes, encoding)) => {
                let text = encoding.decode_lossy(bytes);
                let refusal = || format!("{text:?} is no name that the game knows");
                (!names.iter().any(|name| *name == text)).then(refusal)
            }
            (Accepted::PlayerName, Scalar::Text(bytes, encoding)) => {
                refused_char(&encoding.decode_lossy(bytes), |char| !matches!(char, '!'..='~'))
            }
            (Accepted::Message, Scalar::Text(bytes, encoding)) => {
                let is_refused = |char| matches!(char, '\0'..' ' | '\x7f' | '§');
                refused_char(&encoding.decode_lossy(bytes), is_refused)
            }
            (Accepted::Bits(count), Scalar::Bytes(bytes)) => {
                let beyond = u32::from(*bytes.get(count / 8)?) >> (count % 8);
                (beyond != 0).then(|| format!("a bit beyond the {count} that the game has"))
            }
            // No byte on the wire counts for more than an empty compound.
            (Accepted::Nbt(most), Scalar::Nbt { bytes, .. }) if bytes.len() > most / 48 => {
                let size = nbt_size(&value.nbt()?.root);
                let refusal =
                    || format!("NBT of {size} bytes by the game's count, it reads up to {most}");
                (size > *most).then(refusal)
            }
            _ => None,
        }
    }

    /// Returns why the game refuses a list with so many elements; `None` if it does not.
    pub(super) fn refuses_count(&self, count: usize) -> Option<String> {
        let Accepted::Counts(range) = &self.accepted else { return None };
        let is_out = !range.contains(&(count as f64));
        is_out.then(|| format!("{count} elements, the game reads {}", words(range)))
    }

    fn most_inflated(&self) -> Option<usize> {
        match self.accepted {
            Accepted::Inflated(most) => Some(most),
            _ => None,
        }
    }
}

impl Default for Limit {
    fn default() -> Self {
        let (rule, grade, then, accepted) = (None, Grade::Ends, None, Accepted::Anything);
        Self { rule, certain: true, grade, then, accepted }
    }
}

/// What a limit accepts at most and at least, for the test that plants each.
#[cfg(test)]
pub(super) enum Bound {
    Characters(usize),
    Numbers(RangeInclusive<f64>),
    Lengths(RangeInclusive<f64>),
    Identifier,
    Hash(String),
    /// Some texts that are accepted, and some that are not.
    Texts(Vec<String>, Vec<String>),
    Bits(usize),
    Nbt(usize),
    Inflated(usize),
}

#[cfg(test)]
impl Limit {
    pub(super) fn bound(&self) -> Bound {
        match &self.accepted {
            Accepted::Characters(most) => Bound::Characters(*most),
            Accepted::Anything => Bound::Numbers(f64::NEG_INFINITY..=f64::INFINITY),
            Accepted::Numbers(range) => Bound::Numbers(range.clone()),
            Accepted::Bytes(range) | Accepted::Counts(range) => Bound::Lengths(range.clone()),
            Accepted::Identifier => Bound::Identifier,
            Accepted::Hash { .. } => Bound::Hash("0a".repeat(HASH / 2)),
            Accepted::Names(names) => Bound::Texts(names.clone(), vec!["Nothing".to_owned()]),
            Accepted::PlayerName => Bound::Texts(
                ["!", "~Az_09~"].map(str::to_owned).into(),
                ["a b", "a\x7f", "ä"].map(str::to_owned).into(),
            ),
            Accepted::Message => Bound::Texts(
                ["a b", "ä", "\u{80}"].map(str::to_owned).into(),
                ["a\x1f", "\x7fb", "§4"].map(str::to_owned).into(),
            ),
            Accepted::Bits(count) => Bound::Bits(*count),
            Accepted::Nbt(most) => Bound::Nbt(*most),
            Accepted::Inflated(most) => Bound::Inflated(*most),
        }
    }
}

#[cfg(test)]
impl Limits {
    /// Returns whether the field at `path` has a limit of its size of its own.
    pub(super) fn has_size(self, path: &str) -> bool {
        let mut rows = self.own.into_iter().flat_map(|own| own.ending(path, self.release));
        rows.any(|row| row.entry.is_of_size())
    }
}

/// Returns why a text is no identifier; `None` if it is one.
fn identifier_fault(text: &str) -> Option<String> {
    let (namespace, path) = text.split_once(':').unwrap_or(("", text));
    let is_common = |char: char| matches!(char, 'a'..='z' | '0'..='9' | '_' | '-' | '.');
    let refused = namespace.chars().find(|char| !is_common(*char));
    let refused = refused.or_else(|| path.chars().find(|it| !is_common(*it) && *it != '/'))?;
    Some(match refused {
        ':' => "an identifier has one colon at most".to_owned(),
        '/' => "`/` cannot be in the namespace of an identifier".to_owned(),
        char => format!("{char:?} cannot be in an identifier"),
    })
}

/// Returns why a text with a refused character is refused.
fn refused_char(text: &str, is_refused: impl Fn(char) -> bool) -> Option<String> {
    let refused = text.chars().find(|char| is_refused(*char))?;
    Some(format!("the game refuses the character {refused:?}"))
}

/// Returns a range in words.
fn words(range: &RangeInclusive<f64>) -> String {
    match (*range.start(), *range.end()) {
        (least, most) if least == most => format!("{least} alone"),
        (0.0, most) => format!("up to {most}"),
        (least, f64::INFINITY) => format!("at least {least}"),
        (least, most) => format!("{least} to {most}"),
    }
}

impl Entry for Limit {
    fn take(&mut self, key: &str, value: &DeValue<'_>) -> Option<()> {
        let number = |value: &DeValue<'_>| value.as_integer()?.as_str().parse().ok();
        match key {
            "rule" => self.rule = Some(value.as_str()?.parse().ok()?),
            "certain" => self.certain = value.as_bool()?,
            "grade" => self.grade = Grade::parse(value.as_str()?)?,
            "then" => self.then = Some(value.as_str()?.to_owned()),
            "names" => {
                let names = texts(value)?.into_iter().map(str::to_owned);
                self.accepted = Accepted::Names(names.collect());
            }
            "bits" => self.accepted = Accepted::Bits(number(value)?),
            "characters" => self.accepted = Accepted::Characters(number(value)?),
            "nbt" => self.accepted = Accepted::Nbt(number(value)?),
            "inflated" => self.accepted = Accepted::Inflated(number(value)?),
            "numbers" => self.accepted = Accepted::Numbers(range(value.as_str()?)?),
            "count" => self.accepted = Accepted::Counts(range(value.as_str()?)?),
            "bytes" => self.accepted = Accepted::Bytes(range(value.as_str()?)?),
            "form" => {
                self.accepted = match value.as_str()? {
                    "hash" => Accepted::Hash { is_lower: false },
                    "lower-case hash" => Accepted::Hash { is_lower: true },
                    "identifier" => Accepted::Identifier,
                    "player name" => Accepted::PlayerName,
                    "message" => Accepted::Message,
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
