use std::collections::HashMap;

use toml::de::{DeTable, DeValue};

use super::annotation::{Annotation, Condition, Expected, Names, POSITION, Range, WINDOW};
use super::field_meanings::{Fields, Place, Use, Versions};
use super::packed::Packed;
use super::unit::Unit;
use crate::schema::{Direction, Family, Release, State, parse_int};

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
            "values" => (annotation.values, annotation.ranges) = numbered(value)?,
            "flags" => annotation.flags = numbered(value)?.0,
            "unit" => annotation.unit = Some(Unit::named(value.as_str()?)?),
            "bits" => annotation.packed = Some(Packed::parse(texts(value)?.into_iter())?),
            "registry" => annotation.names = Some(names(value.as_str()?)?),
            "things" => annotation.things = value.as_bool()?,
            "other" => annotation.other = Some(value.as_str()?.to_owned()),
            "when" => annotation.when = conditions(value)?,
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
        let (packet, range) = head.split_once(' ')?;
        let versions = versions(family, range)?;
        let place = Place { family, state, direction, packet: packet.to_owned() };
        let fields = tables.entry(place).or_default();
        for path in paths.split(' ') {
            fields.add(path, Use { versions, annotation });
        }
    }
    Some(())
}

/// Reads `47`, `4-47` or `477-`.
fn versions(family: Family, text: &str) -> Option<Versions> {
    let release = |number: &str| Some(Release::new(family, number.parse().ok()?));
    Some(match text.split_once('-') {
        Some((first, "")) => Versions { first: release(first)?, last: None },
        Some((first, last)) => Versions { first: release(first)?, last: Some(release(last)?) },
        None => Versions { first: release(text)?, last: Some(release(text)?) },
    })
}

fn names(kind: &str) -> Option<Names> {
    if kind == "kind of block" {
        return Some(Names::KindsOfBlocks);
    }
    if kind.starts_with("minecraft:") {
        // It is there for as long as the program runs.
        return Some(Names::Sent(Box::leak(kind.into())));
    }
    kind.parse().ok().map(Names::Of)
}

/// Reads one condition, or a list of conditions that all hold.
fn conditions(value: &DeValue<'_>) -> Option<Box<[Condition]>> {
    match value.as_array() {
        Some(all) => all.iter().map(|it| condition(it.get_ref().as_table()?)).collect(),
        None => Some([condition(value.as_table()?)?].into()),
    }
}

/// Reads `field` or `later` with the values in `is`, or the values of `window` or `position`.
fn condition(table: &DeTable<'_>) -> Option<Condition> {
    let get = |key: &str| table.get(key).map(|it| it.get_ref());
    let paths = |value: &DeValue<'_>| -> Option<Box<[String]>> {
        Some(value.as_str()?.split(' ').map(str::to_owned).collect())
    };
    let (fields, is) = match (get("window"), get("position")) {
        (Some(is), None) => ([WINDOW.to_owned()].into(), is),
        (None, Some(is)) => ([POSITION.to_owned()].into(), is),
        _ => (paths(get("field").or_else(|| get("later"))?)?, get("is")?),
    };
    let is = is.as_array()?.iter().map(|it| match it.get_ref() {
        DeValue::Integer(number) => Some(Expected::Number(parse_int(number.as_str())?)),
        name => Some(Expected::Name(name.as_str()?.to_owned())),
    });
    Some(Condition { fields, is: is.collect::<Option<_>>()?, later: get("later").is_some() })
}

/// Numbers with names, and ranges of them.
type Numbered = (Box<[(i64, String)]>, Box<[Range]>);

/// Reads a table of names by number, in the order of the numbers, and by range: `"<0"`.
fn numbered(value: &DeValue<'_>) -> Option<Numbered> {
    let (mut pairs, mut ranges) = (Vec::new(), Vec::new());
    for (number, name) in value.as_table()? {
        let (number, name) = (number.get_ref(), name.get_ref().as_str()?);
        match parse_int(number) {
            Some(number) => pairs.push((number, name.to_owned())),
            None => ranges.push(Range::parse(number, name)?),
        }
    }
    pairs.sort_by_key(|(number, _)| *number);
    Some((pairs.into(), ranges.into()))
}

fn texts<'t>(value: &'t DeValue<'_>) -> Option<Vec<&'t str>> {
    value.as_array()?.iter().map(|text| text.get_ref().as_str()).collect()
}
