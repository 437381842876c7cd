use serde_json::Value as Json;

/// What a chat component says, without its colours.
pub(super) fn plain_text(component: &str) -> String {
    let mut out = String::new();
    match serde_json::from_str(component) {
        Ok(json) => append(&json, &mut out),
        // Some servers send bare text.
        Err(_) => out.push_str(component),
    }
    out
}

fn append(json: &Json, out: &mut String) {
    match json {
        Json::String(text) => out.push_str(text),
        Json::Array(parts) => parts.iter().for_each(|part| append(part, out)),
        Json::Object(fields) => {
            let text = |name| fields.get(name).and_then(Json::as_str);
            out.push_str(text("text").unwrap_or_default());
            if let Some(key) = text("translate") {
                translate(key, fields.get("with").unwrap_or(&Json::Null), out);
            }
            append(fields.get("extra").unwrap_or(&Json::Null), out);
        }
        _ => {}
    }
}

fn translate(key: &str, with: &Json, out: &mut String) {
    let (before, between) = match key {
        "chat.type.text" => ("<", "> "),
        _ => (key, " "),
    };
    out.push_str(before);
    for (index, part) in with.as_array().into_iter().flatten().enumerate() {
        if index > 0 || before == key {
            out.push_str(between);
        }
        append(part, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_says_its_text_and_its_parts() {
        for (component, text) in [
            (
                r#"{"text":"a ","color":"red","extra":["b",{"text":" c","extra":[" d"]}]}"#,
                "a b c d",
            ),
            (r#"{"translate":"chat.type.text","with":["Steve",{"text":"hi ☃"}]}"#, "<Steve> hi ☃"),
            (r#"{"translate":"death","with":["Steve"]}"#, "death Steve"),
            (r#"["a",{"text":"b"}]"#, "ab"),
            (r#""quoted""#, "quoted"),
            ("bare", "bare"),
            ("", ""),
        ] {
            assert_eq!(plain_text(component), text, "{component}");
        }
    }
}
