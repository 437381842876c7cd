use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value as Json;

use super::random::Random;

/// Turns fields of a scene into fields of a packet.
///
/// A text has a value in the place of `{name}`, `{name.field}` and `{name+1}`, and becomes that value
/// if it is nothing else. An object of one of these members is replaced by what it stands for:
///
/// | member | stands for |
/// | --- | --- |
/// | `$use` | a definition of the scene |
/// | `$text` | a value, such as a chat component, as JSON text |
/// | `$bytes` | the bytes of a text |
/// | `$random` | as many random bytes, from one number and below another |
/// | `$repeat` | a text as often as a number says, or a value, within a list |
/// | `$join` | texts one after the other |
/// | `$complete` | the words of a list that begin with the last word of a text |
#[derive(Debug, Clone, Copy)]
pub(super) struct Template<'a> {
    pub(super) define: &'a Json,
    pub(super) seed: u64,
}

impl Template<'_> {
    /// Makes the value that `json` describes, with names of `given`.
    pub(super) fn expand(&self, json: &Json, given: &Json) -> Json {
        match json {
            Json::String(text) => fill(text, given),
            Json::Array(items) => {
                let mut out = Vec::with_capacity(items.len());
                for item in items {
                    match (self.expand(item, given), item.get("$repeat")) {
                        (Json::Array(repeated), Some(_)) => out.extend(repeated),
                        (item, _) => out.push(item),
                    }
                }
                Json::Array(out)
            }
            Json::Object(fields) => match fields.iter().next() {
                Some((form, value)) if form.starts_with('$') => self.form(form, value, given),
                _ => Json::Object(
                    fields
                        .iter()
                        .map(|(name, value)| (name.clone(), self.expand(value, given)))
                        .collect(),
                ),
            },
            plain => plain.clone(),
        }
    }

    fn form(&self, form: &str, value: &Json, given: &Json) -> Json {
        if form == "$use" {
            return self.expand(&self.define[value.as_str().unwrap_or_default()], given);
        }
        let value = self.expand(value, given);
        match form {
            "$text" => value.to_string().into(),
            "$bytes" => base64(text(&value).as_bytes()),
            "$random" => {
                let [count, from, below] = [0, 1, 2].map(|at| value[at].as_u64().unwrap_or(0));
                let mut random = Random::named(self.seed, "bytes");
                let byte = || (from as u32 + random.below((below - from) as u32)) as u8;
                base64(&std::iter::repeat_with(byte).take(count as usize).collect::<Vec<_>>())
            }
            "$repeat" => {
                let count = value[0].as_u64().unwrap_or(0) as usize;
                match &value[1] {
                    Json::String(text) => text.repeat(count).into(),
                    item => vec![item.clone(); count].into(),
                }
            }
            "$join" => value.as_array().into_iter().flatten().map(text).collect::<String>().into(),
            "$complete" => {
                let begun = text(&value[0]).rsplit(' ').next().unwrap_or_default();
                let words = value[1].as_array().into_iter().flatten();
                words.filter(|word| text(word).starts_with(begun)).cloned().collect()
            }
            form => unreachable!("the embedded scene uses `{form}`"),
        }
    }
}

/// Puts values in the places of names in braces.
fn fill(template: &str, given: &Json) -> Json {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, (path, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        let value = lookup(path, given);
        if path.len() + 2 == template.len() {
            return value;
        }
        filled.push_str(before);
        match value {
            Json::String(text) => filled.push_str(&text),
            other => filled.push_str(&other.to_string()),
        }
        rest = after;
    }
    filled.push_str(rest);
    filled.into()
}

fn lookup(path: &str, given: &Json) -> Json {
    let (path, more) = path.split_once('+').unwrap_or((path, "0"));
    let value = path.split('.').fold(given, |value, field| &value[field]);
    match (value.as_i64(), more.parse::<i64>()) {
        (Some(int), Ok(more)) => int.saturating_add(more).into(),
        _ => value.clone(),
    }
}

fn text(json: &Json) -> &str {
    json.as_str().unwrap_or_default()
}

fn base64(bytes: &[u8]) -> Json {
    BASE64_STANDARD.encode(bytes).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_is_replaced_by_what_it_stands_for() {
        let define = json!({ "none": { "id": -1 }, "words": ["/bye", "/help"] });
        let template = Template { define: &define, seed: 1 };
        let given = json!({ "player": "A\"{x}", "at": { "y": 7 }, "text": "say /h", "on": true });
        for (json, expanded) in [
            (json!("<{player}> {at.y+1}!"), json!("<A\"{x}> 8!")),
            (json!(["{at.y}", "{at.y+3}", "{on}", "{at}"]), json!([7, 10, true, { "y": 7 }])),
            (json!({ "a": { "$use": "none" } }), json!({ "a": { "id": -1 } })),
            (json!({ "$text": ["{player}"] }), json!(r#"["A\"{x}"]"#)),
            (json!({ "$bytes": { "$join": ["a", "b"] } }), json!("YWI=")),
            (
                json!([0, { "$repeat": [2, { "$use": "none" }] }]),
                json!([0, { "id": -1 }, { "id": -1 }]),
            ),
            (json!([{ "$repeat": [3, "ab"] }]), json!(["ababab"])),
            (json!({ "$complete": ["{text}", { "$use": "words" }] }), json!(["/help"])),
        ] {
            assert_eq!(template.expand(&json, &given), expanded, "{json}");
        }
        let random = |seed| {
            let template = Template { define: &define, seed };
            let text = template.expand(&json!({ "$random": [1000, 4, 44] }), &given);
            BASE64_STANDARD.decode(text.as_str().unwrap()).unwrap()
        };
        assert_eq!((random(1).len(), random(1)), (1000, random(1)));
        assert!(random(1) != random(2) && random(1).iter().all(|byte| (4..44).contains(byte)));
    }
}
