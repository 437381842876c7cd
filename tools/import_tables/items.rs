use serde_json::{Value as Json, json};

use super::edit::{component, container, define, field, holder, insert, remove, replace};
use super::patches::{LAST, Patch};

/// Errors of `minecraft-data` in the data of items since 1.20.5, shown by second witnesses.
pub(crate) const ITEMS: &[Patch] = &[
    Patch {
        name: "both ends of a range of a block's property are optional",
        reason: "ViaVersion (`StatePropertyMatcher`) and Botcraft; the tables have two strings.",
        versions: 766..=LAST,
        apply: |tables| {
            let value = field(&mut tables["types"]["ItemBlockProperty"], "value");
            let range = &mut value[1]["fields"]["false"];
            let end = json!(["option", "string"]);
            ["minValue", "maxValue"]
                .into_iter()
                .all(|name| replace(field(range, name), &json!("string"), end.clone()))
        },
    },
    Patch {
        name: "the NBT of a block's predicate follows a bool",
        reason: "ViaVersion (`BlockPredicate`), MCProtocolLib (`readBlockPredicate`) and Botcraft; the tables have \
                 NBT that can be one zero byte.",
        versions: 766..=LAST,
        apply: |tables| {
            let nbt = field(&mut tables["types"]["ItemBlockPredicate"], "nbt");
            replace(nbt, &json!("anonOptionalNbt"), optional_nbt())
        },
    },
    Patch {
        name: "the filtered text of a book's page follows a bool",
        reason: "ViaVersion (`FilterableComponent`), MCProtocolLib (`readFilterable`), Botcraft and mscts (26.3); \
                 the tables have NBT that can be one zero byte.",
        versions: 766..=LAST,
        apply: |tables| {
            let filtered = field(&mut tables["types"]["ItemWrittenBookPage"], "filteredContent");
            replace(filtered, &json!("anonOptionalNbt"), optional_nbt())
        },
    },
    Patch {
        name: "food of 1.20.5 leaves nothing behind, and its effects have details",
        reason: "ViaVersion (`FoodProperties1_20_5.TYPE1_20_5`), MCProtocolLib 1.20.6 and Botcraft; the tables \
                 have an item of 1.21 and the number of the effect alone.",
        versions: 766..=766,
        apply: |tables| {
            let food = component(tables, "food");
            remove(food, "usingConvertsTo") && detailed(food)
        },
    },
    Patch {
        name: "food of 1.21 may leave an item behind, and its effects have details",
        reason: "ViaVersion (`FoodProperties1_20_5.TYPE1_21`), MCProtocolLib 1.21 and Botcraft; the tables have no \
                 flag before the item, and the number of the effect alone.",
        versions: 767..=767,
        apply: |tables| {
            let food = component(tables, "food");
            let item = field(food, "usingConvertsTo");
            replace(item, &json!("Slot"), json!(["option", "Slot"])) && detailed(food)
        },
    },
    Patch {
        name: "a potion has no name (1.20.5, 1.21)",
        reason: "ViaVersion (`PotionContents`), MCProtocolLib 1.20.6 and 1.21, and Botcraft: it came with 1.21.2.",
        versions: 766..=767,
        apply: |tables| remove(component(tables, "potion_contents"), "customName"),
    },
    Patch {
        name: "the material of a trim has the index of its model (1.20.5 to 1.21.2)",
        reason: "ViaVersion (`ArmorTrimMaterial`), MCProtocolLib and Botcraft; it went with 1.21.4.",
        versions: 766..=768,
        apply: |tables| {
            let material = &mut tables["types"]["ArmorTrimMaterial"];
            insert(material, "itemModelIndex", json!("f32"), Some("overrideArmorAssets"))
        },
    },
    Patch {
        name: "armour that looks otherwise with a trim is a number (1.20.5, 1.21)",
        reason: "ViaVersion (`ArmorTrimMaterial.TYPE1_20_5`), MCProtocolLib 1.20.6 and 1.21, and Botcraft; names came \
                 with 1.21.2.",
        versions: 766..=767,
        apply: |tables| {
            let assets = field(&mut tables["types"]["ArmorTrimMaterial"], "overrideArmorAssets");
            replace(field(&mut assets[1]["type"], "key"), &json!("string"), json!("varint"))
        },
    },
    Patch {
        name: "an instrument has its duration in ticks and no description (1.20.5, 1.21)",
        reason: "ViaVersion (`Instrument1_20_5`), MCProtocolLib 1.20.6 and 1.21; Botcraft agrees about the duration.",
        versions: 766..=767,
        apply: |tables| {
            let instrument = &mut tables["types"]["InstrumentData"];
            replace(field(instrument, "useDuration"), &json!("f32"), json!("varint"))
                && remove(instrument, "description")
        },
    },
    Patch {
        name: "the data of a custom model is a number (1.21.2)",
        reason: "ViaVersion (`CUSTOM_MODEL_DATA1_20_5`), MCProtocolLib 1.21.2 and Botcraft; lists came with 1.21.4.",
        versions: 768..=768,
        apply: |tables| define(component(tables, "custom_model_data"), json!("varint")),
    },
    Patch {
        name: "a layer of a banner has a pattern, not a sound (1.21.2)",
        reason: "ViaVersion (`BannerPatternLayer`), MCProtocolLib 1.21.2, Botcraft, and the tables of other versions.",
        versions: 768..=768,
        apply: |tables| {
            let pattern = field(&mut tables["types"]["BannerPatternLayer"], "pattern");
            replace(pattern, &json!("ItemSoundHolder"), holder("patternId", "BannerPattern"))
        },
    },
    Patch {
        name: "a predicate of components has NBT (1.21.5 to 1.21.9)",
        reason: "ViaVersion (`DataComponentPredicate.TYPE1_21_5`); the tables have the number alone.",
        versions: 770..=773,
        apply: |tables| predicates(tables, &[("type", json!("varint"))]),
    },
    Patch {
        name: "a predicate of components has a flag and NBT (1.21.11)",
        reason: "ViaVersion (`DataComponentPredicate.TYPE1_21_11`), MCProtocolLib (`readDataComponentMatchers`) and \
                 Botcraft; the tables have the number alone.",
        versions: 774..=LAST,
        apply: |tables| {
            predicates(tables, &[("isPredicate", json!("bool")), ("type", json!("varint"))])
        },
    },
    Patch {
        name: "two values of a profile are bools (1.21.9)",
        reason: "ViaVersion (`ResolvableProfileType`), Botcraft and mscts (26.3): whether it is complete, and whether \
                 the arms are slim. The tables have VarInts.",
        versions: 773..=LAST,
        apply: |tables| {
            let profile = json!(["container", [
                { "name": "complete", "type": "bool" },
                { "anon": true, "type": ["switch", {
                    "compareTo": "complete",
                    "fields": { "false": "PartialResolvableProfile", "true": "GameProfile" },
                }] },
                { "name": "skinPatch", "type": "PlayerSkinPatch" },
            ]]);
            let types = &mut tables["types"];
            let skin = &mut types["PlayerSkinPatch"];
            remove(skin, "model")
                && insert(skin, "slim", json!(["option", "bool"]), None)
                && define(&mut types["ResolvableProfile"], profile)
        },
    },
];

fn optional_nbt() -> Json {
    json!(["option", "anonymousNbt"])
}

/// Gives the effects of food their details.
fn detailed(food: &mut Json) -> bool {
    let effect = field(&mut field(food, "effects")[1]["type"], "effect");
    replace(effect, &json!("varint"), json!("ItemPotionEffect"))
}

/// Gives predicates of components these fields, and NBT.
fn predicates(tables: &mut Json, head: &[(&str, Json)]) -> bool {
    let matchers = field(&mut tables["types"]["DataComponentMatchers"], "partialMatchers");
    let predicate = container(&[head, &[("predicate", json!("anonymousNbt"))]].concat());
    replace(&mut matchers[1]["type"], &json!("varint"), predicate)
}
