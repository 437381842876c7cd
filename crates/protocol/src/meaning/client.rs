//! What a client of the game never does: the rows of `data/client.toml`.

use std::sync::LazyLock;

use toml::de::{DeTable, DeValue};

use super::rows::{Entry, Table, Versions};
use crate::schema::{Direction, Family, PacketType, Release};
use crate::wire::named;

named! {
    /// What follows when a packet breaks a rule.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
    pub enum Grade {
        /// The peer ends the session, or the player never sees the world.
        #[default]
        Ends => "ends",
        /// The peer corrects or ignores the packet, or anticheats flag it.
        Corrects => "corrects",
        /// Nothing, but the game does not do this.
        Differs => "differs",
    }

    /// All grades, the gravest first.
    pub const ALL;

    /// Returns the name in files: `ends`.
    pub fn name;
}

impl Grade {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|grade| grade.name() == text)
    }
}

/// A rule for clients, as a version has it: a row of `[[rule]]`.
#[derive(Debug)]
pub struct ClientRow {
    /// What follows.
    pub grade: Grade,
    /// `false` if it is not proven for all of its versions.
    pub certain: bool,
    /// What follows, in words.
    pub then: &'static str,
    pub(crate) versions: Versions,
}

impl ClientRow {
    /// Returns the row of a rule in a version; `None` if the version has no such rule.
    #[must_use]
    pub fn find(rule: &str, release: Release) -> Option<&'static Self> {
        let (_, rows) = rules().iter().find(|(name, _)| name == rule)?;
        rows.iter().find(|row| row.versions.contains(release))
    }
}

/// A packet of the server that a client answers: a row of `[[answer]]`.
#[derive(Debug, Default)]
pub struct Answer {
    /// The name of the answer.
    pub by: String,
    /// The field of both packets whose value is the same, if they have one.
    pub number: Option<String>,
    /// The field of the question that is `true` if it needs no answer.
    pub unless: Option<String>,
    /// `true` if questions are answered in order.
    pub is_in_order: bool,
    /// What follows if nothing was asked.
    pub unasked: Grade,
    /// What follows if the last answer is given once more.
    pub repeated: Option<Grade>,
    /// What follows if there is no answer; `None` if a player may take any time.
    pub missing: Option<Grade>,
}

impl Answer {
    /// Returns the row of a packet of the server.
    #[must_use]
    pub fn to(release: Release, packet: &PacketType) -> Option<&'static Self> {
        answers().of(release, packet)?.at("", release).next().map(|row| row.entry)
    }

    /// Returns the name of the question and the row of a packet with which a client answers.
    #[must_use]
    pub fn by(release: Release, packet: &PacketType) -> Option<(&'static str, &'static Self)> {
        let place = (release.family(), packet.state(), Direction::Clientbound);
        let mut rows = answers()
            .iter()
            .filter(|(at, ..)| *at == place)
            .flat_map(|(_, name, fields)| fields.at("", release).map(move |row| (name, row.entry)));
        rows.find(|(_, row)| *row.by == **packet.name())
    }
}

/// Returns the rank of a packet of a client among those of a tick; `None` if it may come anywhere, or if ticks of
/// the version cannot be told apart.
#[must_use]
pub fn tick_rank(release: Release, packet: &PacketType) -> Option<u8> {
    order().of(release, packet)?.at("", release).next().map(|row| row.entry.0)
}

/// Returns whether a server ends the session of a player who attacks an entity of a type.
#[must_use]
pub fn is_unhurt(release: Release, entity: &str) -> bool {
    unhurt().iter().any(|(name, versions)| name == entity && versions.contains(release))
}

/// A row of `[[order]]`.
#[derive(Debug, Default)]
pub(crate) struct Rank(u8);

impl Entry for Rank {
    fn take(&mut self, key: &str, value: &DeValue<'_>) -> Option<()> {
        self.0 = value.as_integer().filter(|_| key == "rank")?.as_str().parse().ok()?;
        Some(())
    }
}

impl Entry for Answer {
    fn take(&mut self, key: &str, value: &DeValue<'_>) -> Option<()> {
        let grade = || Grade::parse(value.as_str()?);
        match key {
            "by" => self.by = value.as_str()?.to_owned(),
            "number" => self.number = Some(value.as_str()?.to_owned()),
            "unless" => self.unless = Some(value.as_str()?.to_owned()),
            "in-order" => self.is_in_order = value.as_bool()?,
            "unasked" => self.unasked = grade()?,
            "repeated" => self.repeated = Some(grade()?),
            "missing" => self.missing = Some(grade()?),
            _ => return None,
        }
        Some(())
    }
}

/// Returns the rules by name, read from the data file on first use.
pub(crate) fn rules() -> &'static [(String, Vec<ClientRow>)] {
    static RULES: LazyLock<Vec<(String, Vec<ClientRow>)>> = LazyLock::new(|| {
        let file = DeTable::parse(FILE).expect(READ);
        let rules = file.get_ref().get("rule").and_then(|it| it.get_ref().as_array());
        rules
            .into_iter()
            .flat_map(|it| it.iter())
            .map(|it| rule(it.get_ref()).expect(READ))
            .collect()
    });
    &RULES
}

fn rule(entry: &DeValue<'_>) -> Option<(String, Vec<ClientRow>)> {
    let text =
        |table: &DeTable<'_>, key: &str| Some(table.get(key)?.get_ref().as_str()?.to_owned());
    let entry = entry.as_table()?;
    let rows = entry.get("rows")?.get_ref().as_array()?.iter().map(|row| {
        let row = row.get_ref().as_table()?;
        Some(ClientRow {
            grade: Grade::parse(&text(row, "grade")?)?,
            certain: row.get("certain").is_none_or(|it| it.get_ref().as_bool() != Some(false)),
            // It is there for as long as the program runs.
            then: Box::leak(text(row, "then")?.into_boxed_str()),
            versions: Versions::parse(Family::Java, &text(row, "versions")?)?,
        })
    });
    Some((text(entry, "name")?, rows.collect::<Option<_>>()?))
}

/// Returns the types of entities that cannot be attacked, read from the data file on first use.
pub(crate) fn unhurt() -> &'static [(String, Versions)] {
    static UNHURT: LazyLock<Vec<(String, Versions)>> = LazyLock::new(|| {
        let file = DeTable::parse(FILE).expect(READ);
        let rows = file.get_ref().get("unhurt").and_then(|it| it.get_ref().as_array());
        let entities = rows
            .into_iter()
            .flat_map(|it| it.iter())
            .filter_map(|row| row.get_ref().as_table()?.get("entities")?.get_ref().as_array());
        let entity = |entry: &DeValue<'_>| {
            let (name, versions) = entry.as_str()?.split_once(' ')?;
            Some((name.to_owned(), Versions::parse(Family::Java, versions)?))
        };
        entities.flat_map(|it| it.iter()).map(|it| entity(it.get_ref()).expect(READ)).collect()
    });
    &UNHURT
}

/// Returns the answers, read from the data file on first use.
pub(crate) fn answers() -> &'static Table<Answer> {
    static TABLE: LazyLock<Table<Answer>> =
        LazyLock::new(|| Table::read(&[(Family::Java, FILE)], "answer", str::to_owned));
    &TABLE
}

/// Returns the order of packets in a tick, read from the data file on first use.
pub(crate) fn order() -> &'static Table<Rank> {
    static TABLE: LazyLock<Table<Rank>> =
        LazyLock::new(|| Table::read(&[(Family::Java, FILE)], "order", str::to_owned));
    &TABLE
}

const FILE: &str = include_str!("data/client.toml");

const READ: &str = "a test reads the data files";
