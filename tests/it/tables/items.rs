//! What second witnesses have corrected in the data of items (`tools/import_tables/items.rs`). `docs/upstream.md` has
//! more such bytes.

use hex_literal::hex;
use mitmcraft_protocol::schema::Value;

use super::{at, decoded, items};

#[test]
fn the_data_of_food_and_potions_is_that_of_its_version() {
    let food = component(766, &hex!("14 04 3f800000 01 3fcccccd 01 05 00 64 00 01 01 00 3f800000"));
    let effects = items(&food, &["effects"]);
    assert_eq!(at(&effects[0], &["effect", "details", "duration"]).as_int(), Some(100));
    let bytes = hex!("14 04 3f800000 01 3fcccccd 01 01 08 00 00 01 05 00 64 00 01 01 00 3f800000");
    let food = component(767, &bytes);
    assert_eq!(at(&food, &["usingConvertsTo", "itemId"]).as_int(), Some(8));
    let potion = component(766, &hex!("1f 01 07 01 00ff0000 00"));
    assert_eq!(at(&potion, &["potionId"]).as_int(), Some(7));
}

#[test]
fn models_patterns_and_instruments_are_those_of_their_version() {
    let trim = component(766, &hex!("23 00 0161 07 3e800000 01 03 0162 08000178 01 01"));
    let assets = items(&trim, &["material", "data", "overrideArmorAssets"]);
    assert_eq!(at(&assets[0], &["key"]).as_int(), Some(3));
    let trim = component(768, &hex!("2d 00 0161 07 3e800000 01 0163 0162 08000178 01 01"));
    let assets = items(&trim, &["material", "data", "overrideArmorAssets"]);
    assert_eq!(at(&assets[0], &["key"]).as_text(), Some("c"));
    let instrument = component(767, &hex!("28 00 01 8c01 43800000"));
    assert_eq!(at(&instrument, &["data", "useDuration"]).as_int(), Some(140));
    assert_eq!(component(768, &hex!("0e 07")).as_int(), Some(7));
    let banner = component(768, &hex!("3b 01 00 0161 0162 03"));
    let layers = items(&banner, &["layers"]);
    assert_eq!(at(&layers[0], &["pattern", "data", "translationKey"]).as_text(), Some("b"));
}

#[test]
fn what_is_optional_in_an_item_follows_a_bool() {
    let places = component(766, &hex!("0a 01 00 01 01 03616765 00 01 0131 00 01 0a00 01"));
    let predicates = items(&places, &["predicates"]);
    let properties = items(&predicates[0], &["properties"]);
    assert_eq!(at(&properties[0], &["value", "minValue"]).as_text(), Some("1"));
    let book = component(777, &hex!("39 0161 00 0162 00 02 08000178 00 08000179 01 0800017a 01"));
    assert_eq!(items(&book, &["pages"]).len(), 2);
}

#[test]
fn predicates_of_components_have_nbt() {
    for (version, bytes, kind) in [
        (770, &hex!("0b 01 00 00 00 00 01 05 0a00")[..], 5),
        (774, &hex!("0e 01 00 00 00 00 01 01 06 0a00"), 6),
    ] {
        let places = component(version, bytes);
        let predicates = items(&places, &["predicates"]);
        let partial = items(&predicates[0], &["components", "partialMatchers"]);
        assert_eq!(at(&partial[0], &["type"]).as_int(), Some(kind), "{version}");
    }
}

#[test]
fn variants_and_profiles_begin_with_a_bool() {
    let chicken = component(770, &hex!("56 01 02"));
    assert_eq!(at(&chicken, &["variant"]).as_int(), Some(2));
    let nautilus = component(774, &hex!("5e 00 0161"));
    assert_eq!(at(&nautilus, &["variant"]).as_text(), Some("a"));
    let bytes = hex!("3d 01 00000000000000000000000000000001 0161 00 00 00 00 01 01");
    let profile = component(773, &bytes);
    assert_eq!(at(&profile, &["complete"]), &Value::Bool(true));
    assert_eq!(at(&profile, &["skinPatch", "slim"]), &Value::Bool(true));
}

/// Decodes an item with one component, and returns its data.
fn component(version: i32, bytes: &[u8]) -> Value {
    let item = [&hex!("00 00 0005 01 07 01 00")[..], bytes].concat();
    let value = decoded(version, "set_slot", &item);
    at(&items(&value, &["item", "components"])[0], &["data"]).clone()
}
