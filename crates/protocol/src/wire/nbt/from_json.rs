use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::{Map, Value};

use super::{
    Compound, List, MAX_TEXT, Nbt, NbtJsonError, Tag, TagType, json_place::Place, tag::encode,
};
use crate::wire::Reader;

impl Nbt {
    /// Reads the JSON form that [`Nbt::write_json`] writes. Unknown members are ignored, and so is
    /// `base64` if it is not the document that the other members say: these were edited.
    ///
    /// `serde_json` accepts at most 128 levels of JSON by default, which is about 60 levels of NBT.
    ///
    /// # Errors
    /// [`NbtJsonError`] with the path to the offending value.
    pub fn from_json(value: &Value) -> Result<Self, NbtJsonError> {
        let place = &Place::root();
        let object = object(value, place)?;
        if let Some(exact) = exact(object, value) {
            return Ok(exact);
        }
        let name = object.get("name").map(|name| text(name, &place.key("name"))).transpose()?;
        Ok(Self { name, root: typed_tag(value, place)? })
    }
}

/// Reads the document whose bytes are in `base64`, if its JSON form is `value`.
fn exact(object: &Map<String, Value>, value: &Value) -> Option<Nbt> {
    let bytes = STANDARD.decode(object.get("base64")?.as_str()?).ok()?;
    let mut reader = Reader::new(&bytes);
    let nbt = Nbt::read(&mut reader, object.contains_key("name")).ok()??;
    let mut json = Vec::new();
    nbt.write_json(&mut json);
    let same = serde_json::from_slice::<Value>(&json).is_ok_and(|json| json == *value);
    (same && reader.left() == 0).then_some(nbt)
}

/// Reads a tag from `{"type":..,"value":..}`.
fn typed_tag(value: &Value, place: &Place<'_>) -> Result<Tag, NbtJsonError> {
    let typed = object(value, place)?;
    let kind = tag_type(typed, place)?;
    tag(kind, member(typed, "value", place)?, &place.key("value"))
}

/// Reads a tag of a known type from its bare value.
fn tag(kind: TagType, value: &Value, place: &Place<'_>) -> Result<Tag, NbtJsonError> {
    match kind {
        TagType::List => list(value, &place.deeper()?),
        TagType::Compound => compound(value, &place.deeper()?),
        _ => leaf(kind, value, place),
    }
}

fn list(value: &Value, place: &Place<'_>) -> Result<Tag, NbtJsonError> {
    let typed = object(value, place)?;
    let element = tag_type(typed, place)?;
    let count = typed.get("count");
    let empty_count = count.map_or(Ok(0), |count| int(count, &place.key("count"), "int"))?;
    let values = array(member(typed, "value", place)?, &place.key("value"))?;
    if !values.is_empty() && (element == TagType::End || empty_count != 0) || empty_count > 0 {
        return Err(NbtJsonError::Count { path: place.path(), items: values.len() });
    }
    let place = &place.key("value");
    let mut items = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        items.push(tag(element, value, &place.index(index))?);
    }
    Ok(Tag::List(List { element, items, empty_count }))
}

fn compound(value: &Value, place: &Place<'_>) -> Result<Tag, NbtJsonError> {
    let object = object(value, place)?;
    let mut entries = Vec::with_capacity(object.len());
    for (key, value) in object {
        let place = &place.key(key);
        entries.push((raw(key, place)?, typed_tag(value, place)?));
    }
    Ok(Tag::Compound(Compound { entries }))
}

fn leaf(kind: TagType, value: &Value, place: &Place<'_>) -> Result<Tag, NbtJsonError> {
    let name = kind.name();
    Ok(match kind {
        TagType::Byte => Tag::Byte(int(value, place, name)?),
        TagType::Short => Tag::Short(int(value, place, name)?),
        TagType::Int => Tag::Int(int(value, place, name)?),
        TagType::Long => Tag::Long(int(value, place, name)?),
        TagType::Float => Tag::Float(float(value, place)?),
        TagType::Double => Tag::Double(double(value, place)?),
        TagType::ByteArray => {
            let bytes = ints(value, place, "byte")?.into_iter().map(i8::cast_unsigned);
            Tag::ByteArray(bytes.collect())
        }
        TagType::Text => Tag::Text(text(value, place)?),
        TagType::IntArray => Tag::IntArray(ints(value, place, "int")?),
        TagType::LongArray => Tag::LongArray(ints(value, place, "long")?),
        TagType::End | TagType::List | TagType::Compound => {
            return Err(NbtJsonError::TagType { path: place.path(), name: name.to_owned() });
        }
    })
}

fn ints<T: TryFrom<i64>>(
    value: &Value,
    place: &Place<'_>,
    kind: &'static str,
) -> Result<Vec<T>, NbtJsonError> {
    let values = array(value, place)?.iter().enumerate();
    values.map(|(index, value)| int(value, &place.index(index), kind)).collect()
}

fn int<T: TryFrom<i64>>(
    value: &Value,
    place: &Place<'_>,
    kind: &'static str,
) -> Result<T, NbtJsonError> {
    let Value::Number(number) = value else {
        return Err(place.expected("an integer"));
    };
    let int = number.as_i64().and_then(|int| T::try_from(int).ok());
    int.ok_or_else(|| NbtJsonError::Range { path: place.path(), number: number.to_string(), kind })
}

fn float(value: &Value, place: &Place<'_>) -> Result<f32, NbtJsonError> {
    let Value::Number(number) = value else {
        return not_finite(value, place).map(|value| value as f32);
    };
    // Parsed from the decimal: rounding to 64 bits first and to 32 bits afterwards is wrong for
    // some numbers (7.038531e-26).
    let number = number.to_string();
    match number.parse::<f32>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(NbtJsonError::Range { path: place.path(), number, kind: "float" }),
    }
}

fn double(value: &Value, place: &Place<'_>) -> Result<f64, NbtJsonError> {
    value.as_f64().map_or_else(|| not_finite(value, place), Ok)
}

fn not_finite(value: &Value, place: &Place<'_>) -> Result<f64, NbtJsonError> {
    match value.as_str() {
        Some("NaN") => Ok(f64::NAN),
        Some("Infinity") => Ok(f64::INFINITY),
        Some("-Infinity") => Ok(f64::NEG_INFINITY),
        _ => Err(place.expected("a number, \"NaN\", \"Infinity\" or \"-Infinity\"")),
    }
}

/// Returns the raw bytes of a string or of `{"base64":".."}`.
fn text(value: &Value, place: &Place<'_>) -> Result<Bytes, NbtJsonError> {
    match value {
        Value::String(text) => raw(text, place),
        Value::Object(object) => {
            let base64 = member(object, "base64", place)?;
            let place = &place.key("base64");
            let base64 = base64.as_str().ok_or_else(|| place.expected("a string"))?;
            let Ok(bytes) = STANDARD.decode(base64) else {
                return Err(NbtJsonError::Base64 { path: place.path() });
            };
            check_text(&bytes, place)?;
            Ok(bytes.into())
        }
        _ => Err(place.expected("a string or an object with `base64`")),
    }
}

/// Returns the modified UTF-8 of a string.
fn raw(text: &str, place: &Place<'_>) -> Result<Bytes, NbtJsonError> {
    let bytes = encode(text);
    check_text(&bytes, place)?;
    Ok(Bytes::copy_from_slice(&bytes))
}

fn check_text(bytes: &[u8], place: &Place<'_>) -> Result<(), NbtJsonError> {
    let (length, limit) = (bytes.len(), MAX_TEXT);
    if length > limit {
        return Err(NbtJsonError::TextLength { path: place.path(), length, limit });
    }
    Ok(())
}

fn tag_type(typed: &Map<String, Value>, place: &Place<'_>) -> Result<TagType, NbtJsonError> {
    let name = member(typed, "type", place)?;
    let place = &place.key("type");
    let name = name.as_str().ok_or_else(|| place.expected("a string"))?;
    let unknown = || NbtJsonError::TagType { path: place.path(), name: name.to_owned() };
    TagType::named(name).ok_or_else(unknown)
}

fn member<'v>(
    object: &'v Map<String, Value>,
    member: &'static str,
    place: &Place<'_>,
) -> Result<&'v Value, NbtJsonError> {
    object.get(member).ok_or_else(|| NbtJsonError::Missing { path: place.path(), member })
}

fn object<'v>(value: &'v Value, place: &Place<'_>) -> Result<&'v Map<String, Value>, NbtJsonError> {
    value.as_object().ok_or_else(|| place.expected("an object"))
}

fn array<'v>(value: &'v Value, place: &Place<'_>) -> Result<&'v [Value], NbtJsonError> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| place.expected("an array"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    use crate::wire::nbt::{
        MAX_DEPTH,
        samples::{Content, documents},
    };

    fn error(value: &Value) -> String {
        Nbt::from_json(value).unwrap_err().to_string()
    }

    #[test]
    fn errors_say_where_and_what() {
        let list = |list: Value| {
            let list = json!({"type": "list", "value": list});
            error(&json!({"type": "compound", "value": {"x": list}}))
        };
        assert_eq!(error(&json!([])), "$: expected an object");
        assert_eq!(error(&json!({"type": "int"})), "$: `value` is missing");
        assert_eq!(
            error(&json!({"type": "text", "value": ""})),
            "$.type: `text` is not a valid tag type here"
        );
        assert_eq!(
            list(json!({"type": "byte", "value": [0, 1, 200]})),
            "$.value.x.value.value[2]: 200 does not fit into type `byte`"
        );
        assert_eq!(
            list(json!({"type": "float", "value": [1e39]})),
            "$.value.x.value.value[0]: 1e+39 does not fit into type `float`"
        );
        assert_eq!(
            list(json!({"type": "string", "value": [{"base64": "/w"}]})),
            "$.value.x.value.value[0].base64: invalid base64"
        );
        for bad in [
            json!({"type": "end", "value": [1]}),
            json!({"type": "int", "value": [1], "count": -1}),
            json!({"type": "int", "value": [], "count": 1}),
        ] {
            assert!(list(bad).starts_with("$.value.x.value: "));
        }
        assert_eq!(
            error(&json!({"type": "string", "value": "\0".repeat(32768)})),
            "$.value: 65536 bytes of text are too long (65535 at most)"
        );
    }

    #[test]
    fn the_deepest_tree_is_read_and_a_deeper_one_is_rejected() {
        let nested = |levels| {
            let innermost = json!({"type": "end", "value": []});
            let list =
                (1..levels).fold(innermost, |inner, _| json!({"type": "list", "value": [inner]}));
            json!({"type": "list", "value": list})
        };
        assert!(Nbt::from_json(&nested(512)).is_ok());
        let error = Nbt::from_json(&nested(513)).unwrap_err();
        assert!(matches!(error, NbtJsonError::Depth { limit: MAX_DEPTH, .. }));
    }

    #[test]
    fn bytes_beside_an_edited_value_are_ignored() {
        let bytes = [10, 1, 0, 1, b'a', 1, 1, 0, 1, b'a', 2, 0];
        let nbt = Nbt::read(&mut Reader::new(&bytes), false).unwrap().unwrap();
        let mut json = Vec::new();
        nbt.write_json(&mut json);
        let mut value: Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(Nbt::from_json(&value), Ok(nbt));
        value["value"]["a"]["value"] = json!(3);
        let a = (Bytes::from_static(b"a"), Tag::Byte(3));
        let edited = Nbt { name: None, root: Tag::Compound(Compound { entries: vec![a] }) };
        assert_eq!(Nbt::from_json(&value), Ok(edited.clone()));
        value["base64"] = json!("?");
        assert_eq!(Nbt::from_json(&value), Ok(edited));
    }

    #[test]
    fn a_decimal_is_rounded_once() {
        let value = serde_json::from_str(r#"{"type":"float","value":7.038531e-26}"#).unwrap();
        assert_eq!(Nbt::from_json(&value).unwrap().root, Tag::Float(7.038_531e-26));
    }

    proptest! {
        #[test]
        fn json_reads_back_to_the_same_bytes(nbt in documents(Content::Any)) {
            let (mut bytes, mut json, mut again) = (Vec::new(), Vec::new(), Vec::new());
            nbt.write(&mut bytes);
            nbt.write_json(&mut json);
            let value = serde_json::from_slice(&json).unwrap();
            Nbt::from_json(&value).unwrap().write(&mut again);
            prop_assert_eq!(again, bytes);
        }

        #[test]
        fn every_number_is_exact_in_json(float: u32, double: u64) {
            for root in [Tag::Float(f32::from_bits(float)), Tag::Double(f64::from_bits(double))] {
                let nbt = Nbt { name: None, root };
                let (mut bytes, mut json, mut again) = (Vec::new(), Vec::new(), Vec::new());
                nbt.write(&mut bytes);
                nbt.write_json(&mut json);
                let value = serde_json::from_slice(&json).unwrap();
                Nbt::from_json(&value).unwrap().write(&mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
