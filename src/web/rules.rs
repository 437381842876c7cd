//! Requests about filter files.

use serde_json::{Value as Json, json};

use crate::filter::{RuleCount, SourceFault};
use crate::proxy::{RuleEditor, SaveError};

/// Returns whether a request is about filter files.
pub(super) fn concerns(request: &Json) -> bool {
    ["rules", "rule_counts", "check_rules", "save_rules"].contains(&what(request))
}

/// Answers a request about filter files. This reads and writes them.
pub(super) fn answer(editor: Option<&RuleEditor>, request: &Json) -> Json {
    let text = |key: &str| request.get(key).and_then(Json::as_str).unwrap_or_default();
    let id = request.get("id").cloned().unwrap_or_default();
    let Some(editor) = editor else { return json!({ "id": id, "files": [], "counts": [] }) };
    let mut answer = match what(request) {
        "rules" => {
            let files = editor.paths().iter().enumerate();
            let files = files.map(|(file, path)| {
                let mut json = json!({ "path": path.display().to_string() });
                match editor.read(file) {
                    Ok(text) => json["text"] = text.into(),
                    Err(error) => json["error"] = error.to_string().into(),
                }
                json
            });
            json!({ "files": files.collect::<Vec<_>>(), "counts": counts(editor) })
        }
        "rule_counts" => json!({ "counts": counts(editor) }),
        "check_rules" => json!({ "faults": faults(&editor.check(text("text"))) }),
        _ => {
            let file = request.get("file").and_then(Json::as_u64);
            let file = file.and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX);
            match editor.save(file, text("base"), text("text")) {
                Ok(()) => json!({}),
                Err(error) => {
                    let mut json = json!({ "error": { "message": error.to_string() } });
                    match error {
                        SaveError::Changed { text } => json["error"]["text"] = text.into(),
                        SaveError::Faults(found) => json["faults"] = faults(&found),
                        _ => {}
                    }
                    json
                }
            }
        }
    };
    answer["id"] = id;
    answer
}

fn what(request: &Json) -> &str {
    request.get("do").and_then(Json::as_str).unwrap_or_default()
}

fn counts(editor: &RuleEditor) -> Json {
    let rule = |RuleCount { name, matched, acted, failed }: RuleCount| json!({ "name": name, "matched": matched, "acted": acted, "failed": failed });
    let file = |counts: Vec<RuleCount>| counts.into_iter().map(rule).collect::<Vec<_>>();
    editor.counts().into_iter().map(file).collect()
}

fn faults(faults: &[SourceFault]) -> Json {
    let fault = |it: &SourceFault| {
        json!({
            "severity": it.severity.name(),
            "message": it.message,
            "line": it.line,
            "column": it.column,
            "width": it.width,
            "text": it.text,
            "hint": it.hint,
        })
    };
    faults.iter().map(fault).collect()
}
