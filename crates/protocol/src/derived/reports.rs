use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use thiserror::Error;

use crate::schema::{Direction, Registry, State};

/// The reports of the game's data generator that tell numbers and names: packets, registries, states of blocks.
#[derive(Debug)]
pub struct Reports {
    pub(super) packets: Vec<ReportedPacket>,
    /// The numbers and names of each registry, both without `minecraft:`.
    pub(super) registries: BTreeMap<String, Vec<(i64, String)>>,
    /// The blocks in the order of their numbers, in the notation of descriptions.
    pub(super) blocks: Vec<String>,
}

/// A packet in the reports.
#[derive(Debug)]
pub(super) struct ReportedPacket {
    pub(super) state: State,
    pub(super) direction: Direction,
    pub(super) id: u16,
    pub(super) name: String,
}

/// The error of a report that has not the form that the game gives it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}: {at}{cause}", at = place(at))]
#[non_exhaustive]
pub struct ReportError {
    /// The name of the file.
    pub file: &'static str,
    /// The place in it, for example `play.clientbound.minecraft:bundle_delimiter`; empty for the whole file.
    pub at: String,
    /// The problem.
    pub cause: String,
}

impl Reports {
    /// The name of the report with the ids of packets, which the game writes since 1.21.
    pub const PACKETS: &str = "packets.json";

    /// The name of the report with the registries.
    pub const REGISTRIES: &str = "registries.json";

    /// The name of the report with the states of blocks.
    pub const BLOCKS: &str = "blocks.json";

    /// Reads the texts of the three reports.
    ///
    /// # Errors
    /// [`ReportError`] with the file and the place in it.
    pub fn parse(packets: &str, registries: &str, blocks: &str) -> Result<Self, ReportError> {
        Ok(Self {
            packets: read_packets(&Report::parse(Self::PACKETS, packets)?)?,
            registries: read_registries(&Report::parse(Self::REGISTRIES, registries)?)?,
            blocks: read_blocks(&Report::parse(Self::BLOCKS, blocks)?)?,
        })
    }
}

fn read_packets(file: &Report) -> Result<Vec<ReportedPacket>, ReportError> {
    let mut packets = Vec::new();
    for (word, sides) in file.object("", &file.json)? {
        let state = if word == "handshake" { Some(State::Handshaking) } else { word.parse().ok() };
        let state = state.ok_or_else(|| file.fault(word, "unknown state"))?;
        for (side, list) in file.object(word, sides)? {
            let at = format!("{word}.{side}");
            let direction = side.parse().map_err(|_| file.fault(&at, "unknown direction"))?;
            for (id, name) in file.numbers(&at, list)? {
                let unfit = |_| file.fault(&format!("{at}.{name}"), "the id is above 65535");
                packets.push(ReportedPacket {
                    state,
                    direction,
                    id: u16::try_from(id).map_err(unfit)?,
                    name,
                });
            }
        }
    }
    match packets.is_empty() {
        true => Err(file.fault("", "no packets")),
        false => Ok(packets),
    }
}

fn read_registries(file: &Report) -> Result<BTreeMap<String, Vec<(i64, String)>>, ReportError> {
    let registries = file.object("", &file.json)?.iter().map(|(name, registry)| {
        let at = format!("{name}.entries");
        let entries = registry.get("entries").unwrap_or(&Json::Null);
        Ok((bare(name).to_owned(), file.numbers(&at, entries)?))
    });
    registries.collect()
}

/// Reads blocks, and checks that their states have the numbers that follow from their properties: the last property
/// counts fastest.
fn read_blocks(file: &Report) -> Result<Vec<String>, ReportError> {
    let mut blocks = Vec::new();
    for (name, block) in file.object("", &file.json)? {
        file.check_name(name, name)?;
        let states = block.get("states").and_then(Json::as_array);
        let states = states.ok_or_else(|| file.fault(name, "no list `states`"))?;
        let id = |state: &Json| {
            let id = i32::try_from(state.get("id")?.as_u64()?).ok()?;
            u64::try_from(id).ok()
        };
        let first = states.iter().filter_map(id).min().unwrap_or_default();
        let mut properties = Vec::new();
        for (property, values) in
            block.get("properties").and_then(Json::as_object).into_iter().flatten()
        {
            let at = format!("{name}.properties.{property}");
            let values = values.as_array().and_then(|all| all.iter().map(Json::as_str).collect());
            let values: Vec<&str> =
                values.ok_or_else(|| file.fault(&at, "expected a list of texts"))?;
            for word in values.iter().chain([&property.as_str()]) {
                file.check_name(&at, word)?;
            }
            properties.push((property, values));
        }
        let count = properties
            .iter()
            .try_fold(1, |count: usize, (_, values)| count.checked_mul(values.len()));
        if count != Some(states.len()) {
            return Err(file.fault(name, "not one state for each combination of the properties"));
        }
        for state in states {
            let place = id(state).and_then(|id| usize::try_from(id - first).ok());
            let mut place = place.ok_or_else(|| file.fault(name, "a state without an `id`"))?;
            let has = |property: &str| state.get("properties")?.get(property)?.as_str();
            let is_here = properties.iter().rev().all(|(property, values)| {
                let value = values[place % values.len()];
                place /= values.len();
                has(property) == Some(value)
            });
            if !is_here || place != 0 {
                let cause = "the ids of the states do not follow from the properties";
                return Err(file.fault(name, cause));
            }
        }
        let lists = properties.iter().map(|(name, values)| format!("{name}={}", values.join(",")));
        let lists: Vec<String> = lists.collect();
        let token = match lists.is_empty() {
            true => bare(name).to_owned(),
            false => format!("{}[{}]", bare(name), lists.join(";")),
        };
        blocks.push((first, states.len() as u64, token));
    }
    blocks.sort_unstable();
    let bare = |token: &str| token.split('[').next().unwrap_or(token).to_owned();
    match blocks.windows(2).find(|pair| pair[0].0 + pair[0].1 > pair[1].0) {
        Some(pair) => {
            let [one, two] = [&pair[0].2, &pair[1].2].map(|token| bare(token));
            Err(file.fault("", &format!("`{one}` and `{two}` have states with the same `id`")))
        }
        None => Ok(Registry::tokens_of(blocks)),
    }
}

/// Returns a name without the namespace that the game's own things have.
pub(super) fn bare(name: &str) -> &str {
    name.strip_prefix("minecraft:").unwrap_or(name)
}

/// The JSON of a report.
struct Report {
    name: &'static str,
    json: Json,
}

impl Report {
    fn parse(name: &'static str, text: &str) -> Result<Self, ReportError> {
        let fault = |error: serde_json::Error| {
            let cause = format!("no JSON: {error}");
            ReportError { file: name, at: String::new(), cause }
        };
        Ok(Self { name, json: serde_json::from_str(text).map_err(fault)? })
    }

    fn fault(&self, at: &str, cause: &str) -> ReportError {
        ReportError { file: self.name, at: at.to_owned(), cause: cause.to_owned() }
    }

    fn object<'j>(&self, at: &str, json: &'j Json) -> Result<&'j Map<String, Json>, ReportError> {
        json.as_object().ok_or_else(|| self.fault(at, "expected an object"))
    }

    /// Reads entries with a `protocol_id` each, by their numbers.
    fn numbers(&self, at: &str, entries: &Json) -> Result<Vec<(i64, String)>, ReportError> {
        let mut numbers = Vec::new();
        for (name, entry) in self.object(at, entries)? {
            let at = format!("{at}.{name}");
            self.check_name(&at, name)?;
            let number = entry.get("protocol_id").and_then(Json::as_u64);
            let number = number.and_then(|number| i32::try_from(number).ok());
            let number = number.ok_or_else(|| self.fault(&at, "no `protocol_id`"))?;
            numbers.push((i64::from(number), bare(name).to_owned()));
        }
        numbers.sort_unstable();
        match numbers.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => {
                let cause =
                    format!("`{}` and `{}` have the same `protocol_id`", pair[0].1, pair[1].1);
                Err(self.fault(at, &cause))
            }
            None => Ok(numbers),
        }
    }

    /// Checks that a name has only characters that the game allows.
    fn check_name(&self, at: &str, name: &str) -> Result<(), ReportError> {
        let plain = |it: char| it.is_ascii_alphanumeric() || "_-./:".contains(it);
        match !name.is_empty() && name.chars().all(plain) {
            true => Ok(()),
            false => Err(self.fault(at, &format!("`{name}` is not a name"))),
        }
    }
}

fn place(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!("{at}: ") }
}
