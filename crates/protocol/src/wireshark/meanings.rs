use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use super::tables::quoted;
use crate::meaning::RegistryKind;
use crate::meaning::annotation::{Annotation, Condition, Expected, Names, Side};
use crate::meaning::field_meanings::table;
use crate::meaning::registries::Registries;
use crate::meaning::rows::{ANY, Row, names};
use crate::meaning::session_memory::WINDOWS;
use crate::meaning::unit::Unit;
use crate::schema::{Catalog, Direction, Family, Protocol};

/// Writes the meanings of values in these versions as Lua tables, and the names of all versions.
pub(super) fn write(out: &mut String, protocols: &[Arc<Protocol>]) {
    let mut numbers: HashMap<*const Annotation, usize> = HashMap::new();
    let (mut meanings, mut uses) = (String::new(), String::new());
    let mut sorted: Vec<_> = table().iter().collect();
    sorted.sort_by_key(|((_, state, direction), packet, _)| (*packet, *state, *direction));
    for ((family, _, direction), packet, fields) in sorted {
        if family != Family::Java {
            continue;
        }
        let side = if direction == Direction::Clientbound { "C" } else { "S" };
        let fields: BTreeMap<_, _> = fields.rows.iter().collect();
        for of_field in fields.values() {
            for it in *of_field {
                let next = numbers.len() + 1;
                let number = *numbers.entry(std::ptr::from_ref(it.entry)).or_insert_with(|| {
                    write_meaning(&mut meanings, it);
                    next
                });
                let path = names(&it.path);
                let key = if packet == ANY { path } else { format!("{packet}.{path}") };
                let first = it.versions.first.number();
                let last = it.versions.last.map(|last| last.number().to_string());
                let last = last.as_deref().unwrap_or("-");
                let _ = writeln!(uses, "{side} {first} {last} {key} {number}");
            }
        }
    }
    let mut games = String::new();
    for (number, _) in Catalog::embedded().versions() {
        if let Some(text) = Unit::GameVersion.text(number.into()) {
            let _ = writeln!(games, "[{number}]={},", quoted(&text));
        }
    }
    let mut names = String::new();
    for protocol in protocols {
        let kinds = RegistryKind::ALL.into_iter().filter(|kind| *kind != RegistryKind::Metadata);
        let of = kinds.map(|kind| {
            let own = protocol.own_registries().and_then(|own| own.get(kind));
            let own = own.map(|own| quoted(&own.tokens().join(" ")));
            let line = || Some(Registries::line(protocol.release(), kind)?.to_string());
            let names = own.or_else(line).map(|names| format!("{kind}={names},"));
            names.unwrap_or_default()
        });
        let _ = writeln!(names, "[{}]={{{}}},", protocol.version(), of.collect::<String>());
    }
    let windows: String = WINDOWS
        .iter()
        .flat_map(|(names, window)| names.iter().map(move |name| (name, window)))
        .map(|(name, window)| format!("[{}]={},", quoted(name), quoted(window)))
        .collect();
    let lines = Registries::lines_before(RegistryKind::Metadata);
    let _ = write!(
        out,
        "local MEANINGS = {{\n{meanings}}}\nlocal USES = [==[\n{uses}]==]\n\
         local WINDOWS = {{{windows}}}\n\
         local GAMES = {{\n{games}}}\n\
         local NAMES = {{\n{names}}}\nlocal NAME_LINES = [==[\n{lines}\n]==]\n\n"
    );
}

fn write_meaning(out: &mut String, row: &Row<Annotation>) {
    let annotation = row.entry;
    out.push('{');
    if !annotation.values.is_empty() {
        let values = annotation.values.iter();
        let values = values.map(|(number, name)| format!("[{number}]={},", quoted(name)));
        let _ = write!(out, "values={{{}}},", values.collect::<String>());
    }
    if !annotation.flags.is_empty() {
        let flags =
            annotation.flags.iter().map(|(bit, name)| format!("{{{bit},{}}},", quoted(name)));
        let _ = write!(out, "flags={{{}}},", flags.collect::<String>());
    }
    if !annotation.ranges.is_empty() {
        let ranges = annotation.ranges.iter().map(|range| {
            let side = match range.side {
                Side::Below => "<",
                Side::AtMost => "<=",
                Side::Above => ">",
            };
            format!("{{\"{side}\",{:?},{}}},", range.limit, quoted(&range.name))
        });
        let _ = write!(out, "ranges={{{}}},", ranges.collect::<String>());
    }
    match annotation.unit {
        Some(Unit::OutOf { most }) => {
            let _ = write!(out, "most={most},");
        }
        Some(unit) => {
            let _ = match unit.scale() {
                Some((per, unit)) => write!(out, "per={per:?},unit={},", quoted(unit)),
                None => write!(out, "form={},", quoted(unit.form().unwrap_or_default())),
            };
        }
        None => {}
    }
    if let Some(packed) = &annotation.packed {
        let parts = packed.parts().map(|(bits, name, kind, names)| {
            let kind = kind.map_or_else(|| "false".to_owned(), |kind| format!("\"{kind}\""));
            let names: String = names.iter().map(|name| quoted(name) + ",").collect();
            format!("{{{bits},{},{kind},{{{names}}}}},", quoted(name))
        });
        let _ = write!(out, "bits={{{}}},", parts.collect::<String>());
    }
    match annotation.names {
        Some(Names::Of(kind)) => {
            let _ = write!(out, "names=\"{kind}\",");
        }
        Some(Names::KindsOfBlocks) => out.push_str("kinds=true,"),
        Some(Names::Sent(_)) | None => {}
    }
    if let Some(other) = &annotation.other {
        let _ = write!(out, "other={},", quoted(other));
    }
    if !row.when.is_empty() {
        let when: String = row.when.iter().map(condition).collect();
        let _ = write!(out, "when={{{when}}},");
    }
    out.push_str("},\n");
}

/// Returns a condition as a table: the fields, the values, and whether the field comes later.
fn condition(condition: &Condition) -> String {
    let fields = condition.fields.iter().map(|field| quoted(&names(field)) + ",");
    let is = condition.is.iter().map(|expected| match expected {
        Expected::Number(number) => format!("[{number}]=true,"),
        Expected::Name(name) => format!("[{}]=true,", quoted(name)),
    });
    let (fields, is) = (fields.collect::<String>(), is.collect::<String>());
    format!("{{{{{fields}}},{{{is}}},{}}},", condition.later)
}
