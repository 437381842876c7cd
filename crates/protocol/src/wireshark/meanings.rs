use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use crate::meaning::RegistryKind;
use crate::meaning::annotation::{Annotation, Names};
use crate::meaning::field_meanings::tables;
use crate::meaning::registries::Registries;
use crate::meaning::version::Version;
use crate::schema::{Direction, Family, Protocol};

/// Writes the meanings of values in these versions as Lua tables. Meanings that need more than a name, a
/// flag or a factor are left out: times of day, masks of sections, game versions.
pub(super) fn write(out: &mut String, protocols: &[Arc<Protocol>]) {
    let mut numbers: HashMap<*const Annotation, usize> = HashMap::new();
    let (mut meanings, mut uses) = (String::new(), String::new());
    let mut sorted: Vec<_> = tables().iter().collect();
    sorted.sort_by_key(|(place, _)| (&place.packet, place.state, place.direction));
    for (place, fields) in sorted {
        if place.family != Family::Java {
            continue;
        }
        let side = if place.direction == Direction::Clientbound { "C" } else { "S" };
        let fields: BTreeMap<_, _> = fields.iter().collect();
        for (path, of_field) in fields {
            for it in of_field {
                let next = numbers.len() + 1;
                let number =
                    *numbers.entry(std::ptr::from_ref(it.annotation)).or_insert_with(|| {
                        write_meaning(&mut meanings, it.annotation);
                        next
                    });
                let path = path.replace("[*]", "");
                let key =
                    if place.packet == "*" { path } else { format!("{}.{path}", place.packet) };
                let (first, last) = (f64::from(it.first) / 2.0, f64::from(it.last) / 2.0);
                let _ = writeln!(uses, "{side} {first} {last} {key} {number}");
            }
        }
    }
    let mut names = String::new();
    for protocol in protocols {
        let kinds = RegistryKind::ALL.into_iter().filter(|kind| *kind != RegistryKind::Metadata);
        let of = kinds.map(|kind| {
            let line = Registries::line(Version::of(protocol), kind);
            line.map(|line| format!("{kind}={line},")).unwrap_or_default()
        });
        let _ = writeln!(names, "[{}]={{{}}},", protocol.version(), of.collect::<String>());
    }
    let lines = Registries::lines_before(RegistryKind::Metadata);
    let _ = write!(
        out,
        "local MEANINGS = {{\n{meanings}}}\nlocal USES = [==[\n{uses}]==]\n\
         local NAMES = {{\n{names}}}\nlocal NAME_LINES = [==[\n{lines}\n]==]\n\n"
    );
}

fn write_meaning(out: &mut String, annotation: &Annotation) {
    out.push('{');
    if !annotation.values.is_empty() {
        let values = annotation.values.iter().map(|(number, name)| format!("[{number}]={name:?},"));
        let _ = write!(out, "values={{{}}},", values.collect::<String>());
    }
    if !annotation.flags.is_empty() {
        let flags = annotation.flags.iter().map(|(bit, name)| format!("{{{bit},{name:?}}},"));
        let _ = write!(out, "flags={{{}}},", flags.collect::<String>());
    }
    if let Some((per, unit)) = annotation.unit.and_then(|unit| unit.scale()) {
        let _ = write!(out, "per={per:?},unit={unit:?},");
    }
    if let Some(packed) = &annotation.packed {
        let parts = packed.parts().map(|(bits, name, kind)| {
            let kind = kind.map(|kind| format!(",\"{kind}\"")).unwrap_or_default();
            format!("{{{bits},{name:?}{kind}}},")
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
        let _ = write!(out, "other={other:?},");
    }
    if let Some(when) = &annotation.when {
        let is = when.is.iter().map(|number| format!("[{number}]=true,"));
        let is = is.collect::<String>();
        // A packet of later versions than Alpha has one field that decides.
        let field = when.fields.first().map(|field| field.replace("[*]", "")).unwrap_or_default();
        let _ = write!(out, "when={{{field:?},{{{is}}}}},");
    }
    out.push_str("},\n");
}
