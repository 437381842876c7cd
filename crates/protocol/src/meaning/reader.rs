use std::collections::HashMap;

use toml::de::{DeTable, DeValue};

use super::RegistryKind;
use super::annotation::{Annotation, Condition, Names};
use super::field_meanings::{Fields, Place, Use};
use super::packed::Packed;
use super::unit::Unit;
use super::version::Version;
use crate::schema::{Direction, Family, State};

/// Reads a data file into `tables`. `docs/meanings.md` describes the form.
///
/// # Errors
/// The place in the file that cannot be read, and the reason.
pub(super) fn read(
    family: Family,
    text: &str,
    tables: &mut HashMap<Place, Fields>,
) -> Result<(), String> {
    let file = DeTable::parse(text).map_err(|error| error.to_string())?;
    let entries = file.get_ref().get("meaning").and_then(|it| it.get_ref().as_array());
    for entry in entries.ok_or("no `[[meaning]]`")?.iter() {
        let line = text[..entry.span().start].lines().count();
        let table = entry.get_ref().as_table().ok_or("`meaning` is no table")?;
        read_entry(family, table, tables).ok_or_else(|| format!("{family}, line {line}"))?;
    }
    Ok(())
}

fn read_entry(
    family: Family,
    table: &DeTable<'_>,
    tables: &mut HashMap<Place, Fields>,
) -> Option<()> {
    let mut annotation = Annotation::default();
    let mut uses = Vec::new();
    let mut state = State::Play;
    for (key, value) in table {
        let value = value.get_ref();
        match key.get_ref().as_ref() {
            "values" => annotation.values = numbered(value)?,
            "flags" => annotation.flags = numbered(value)?,
            "unit" => annotation.unit = Some(Unit::named(value.as_str()?)?),
            "bits" => annotation.packed = Some(Packed::parse(texts(value)?.into_iter())?),
            "registry" => annotation.names = Some(names(value.as_str()?)?),
            "things" => annotation.things = value.as_bool()?,
            "other" => annotation.other = Some(value.as_str()?.to_owned()),
            "when" => annotation.when = Some(condition(value.as_table()?)?),
            "state" => state = value.as_str()?.parse().ok()?,
            key => {
                let direction: Direction = key.parse().ok()?;
                uses.extend(texts(value)?.into_iter().map(|text| (direction, text)));
            }
        }
    }
    // They are there for as long as the program runs.
    let annotation: &'static Annotation = Box::leak(Box::new(annotation));
    for (direction, text) in uses {
        let (head, paths) = text.split_once(": ")?;
        let (packet, versions) = head.split_once(' ')?;
        let place = |number: &str| Some(Version::place(number.parse().ok()?));
        let (first, last) = match versions.split_once('-') {
            Some((first, "")) => (place(first)?, i32::MAX),
            Some((first, last)) => (place(first)?, place(last)?),
            None => (place(versions)?, place(versions)?),
        };
        let place = Place { family, state, direction, packet: packet.to_owned() };
        let fields = tables.entry(place).or_default();
        for path in paths.split(' ') {
            fields.entry(path.to_owned()).or_default().push(Use { first, last, annotation });
        }
    }
    Some(())
}

fn names(kind: &str) -> Option<Names> {
    if kind == "kind of block" {
        return Some(Names::KindsOfBlocks);
    }
    if kind.starts_with("minecraft:") {
        // It is there for as long as the program runs.
        return Some(Names::Sent(Box::leak(kind.into())));
    }
    RegistryKind::ALL.into_iter().find(|it| it.name() == kind).map(Names::Of)
}

fn condition(table: &DeTable<'_>) -> Option<Condition> {
    let fields = table.get("field")?.get_ref().as_str()?.split(' ').map(str::to_owned).collect();
    let is = table.get("is")?.get_ref().as_array()?.iter();
    let is = is.map(|number| integer(number.get_ref().as_integer()?.as_str()));
    Some(Condition { fields, is: is.collect::<Option<_>>()? })
}

/// Reads a table of names by number, in the order of the numbers.
fn numbered(value: &DeValue<'_>) -> Option<Box<[(i64, String)]>> {
    let pairs = value.as_table()?.iter().map(|(number, name)| {
        Some((integer(number.get_ref())?, name.get_ref().as_str()?.to_owned()))
    });
    let mut pairs = pairs.collect::<Option<Vec<_>>>()?;
    pairs.sort_by_key(|(number, _)| *number);
    Some(pairs.into())
}

fn integer(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn texts<'t>(value: &'t DeValue<'_>) -> Option<Vec<&'t str>> {
    value.as_array()?.iter().map(|text| text.get_ref().as_str()).collect()
}
