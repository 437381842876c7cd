use serde_json::{Value as Json, json};

use super::edit::{field, replace};
use super::patches::{LAST, Patch, SNAPSHOT_21W07A, add_nbt_tag};

/// What the tables of `minecraft-data` leave open.
///
/// Values that a version has without data, where they have a default: any other value is one that the version does not
/// have, and nobody knows what follows it. Components of items from clients, where they have bytes.
///
/// The counts are those of the registry `particle_type` in the game's reports, which are also in `particles.json`.
pub(crate) const KNOWN: &[Patch] = &[
    Patch {
        name: "50 particles (1.13)",
        reason: COUNTED,
        versions: 393..=404,
        apply: |tables| particles(tables, 50),
    },
    Patch {
        name: "58 particles (1.14)",
        reason: COUNTED,
        versions: 477..=498,
        apply: |tables| particles(tables, 58),
    },
    Patch {
        name: "62 particles (1.15)",
        reason: COUNTED,
        versions: 573..=578,
        apply: |tables| particles(tables, 62),
    },
    Patch {
        name: "71 particles (20w13b)",
        reason: COUNTED,
        versions: 709..=710,
        apply: |tables| particles(tables, 71),
    },
    Patch {
        name: "72 particles (1.16)",
        reason: COUNTED,
        versions: 734..=754,
        apply: |tables| particles(tables, 72),
    },
    Patch {
        name: "89 particles (1.17)",
        reason: COUNTED,
        versions: 755..=756,
        apply: |tables| particles(tables, 89),
    },
    Patch {
        name: "88 particles (1.18)",
        reason: COUNTED,
        versions: 757..=758,
        apply: |tables| particles(tables, 88),
    },
    Patch {
        name: "93 particles (1.19)",
        reason: COUNTED,
        versions: 759..=761,
        apply: |tables| particles(tables, 93),
    },
    Patch {
        name: "96 particles (1.19.4)",
        reason: COUNTED,
        versions: 762..=762,
        apply: |tables| particles(tables, 96),
    },
    Patch {
        name: "95 particles (1.20)",
        reason: COUNTED,
        versions: 763..=764,
        apply: |tables| particles(tables, 95),
    },
    Patch {
        name: "101 particles (1.20.3)",
        reason: COUNTED,
        versions: 765..=765,
        apply: |tables| particles(tables, 101),
    },
    Patch {
        name: "84 particles (21w07a)",
        reason: COUNTED,
        versions: SNAPSHOT_21W07A..=SNAPSHOT_21W07A,
        apply: |tables| particles(tables, 84),
    },
    Patch {
        name: "the parser of any NBT (21w07a)",
        reason: "As from 1.14 on.",
        versions: SNAPSHOT_21W07A..=SNAPSHOT_21W07A,
        apply: add_nbt_tag,
    },
    Patch {
        name: "components of items from clients are read within their length (1.21.5)",
        reason: "Each has its length in front of it, and is otherwise as in items from servers; the tables have bytes.",
        versions: 770..=LAST,
        apply: |tables| {
            let types = &mut tables["types"];
            let data = field(&mut types["SlotComponent"], "data");
            let layouts = data.take();
            *data = json!("SlotComponentData");
            types["SlotComponentData"] = layouts;
            let sized = json!(["sized", { "countType": "varint", "type": "SlotComponentData" }]);
            let data = field(&mut types["UntrustedSlotComponent"], "data");
            replace(data, &json!("ByteArray"), sized)
        },
    },
];

const COUNTED: &str =
    "The game's reports. A particle whose number the game does not have cannot be read by anyone.";

/// Gives each particle a case: void for those without data.
fn particles(tables: &mut Json, count: usize) -> bool {
    let Some(data) = tables["types"]["particleData"][1].as_object_mut() else { return false };
    let had_default = data.remove("default") == Some(json!("void"));
    let Some(cases) = data.get_mut("fields").and_then(Json::as_object_mut) else { return false };
    let highest = cases.keys().filter_map(|key| key.parse::<usize>().ok()).max();
    for number in 0..count {
        cases.entry(number.to_string()).or_insert_with(|| json!("void"));
    }
    had_default && highest.is_some_and(|highest| highest < count)
}
