//! Requests about filter files.

use crate::proxy::{RuleEditor, SaveError};
use crate::view::protocol::{Answer, Failure, Request, RuleFile, SavedRules};

/// Answers a request about filter files. This reads and writes them. Returns `None` for other requests.
pub(super) fn answer(
    editor: Option<&RuleEditor>,
    request: &Request,
) -> Option<Result<Answer, Failure>> {
    Some(match request {
        Request::Rules {} => Ok(Answer::Rules {
            // Before they are read, so that no change is missed.
            versions: versions(editor),
            files: editor.map(files).unwrap_or_default(),
            counts: editor.map(RuleEditor::counts).unwrap_or_default(),
        }),
        Request::RuleCounts {} => {
            let counts = editor.map(RuleEditor::counts).unwrap_or_default();
            Ok(Answer::RuleCounts { counts, versions: versions(editor) })
        }
        Request::CheckRules { text } => {
            let faults = editor.map(|editor| editor.check(text)).unwrap_or_default();
            Ok(Answer::CheckRules { faults })
        }
        Request::SaveRules { file, base, text } => {
            let saved = match editor {
                Some(editor) => editor.save(*file, base.as_deref(), text),
                None => Err(SaveError::Unknown),
            };
            match saved {
                Ok(()) => Ok(SavedRules::Saved {}),
                Err(SaveError::Changed { text }) => Ok(SavedRules::Changed { text }),
                Err(SaveError::Faults(faults)) => Ok(SavedRules::Faulty { faults }),
                Err(error) => Err(Failure::new(error.to_string())),
            }
            .map(Answer::SaveRules)
        }
        _ => return None,
    })
}

fn files(editor: &RuleEditor) -> Vec<RuleFile> {
    let files = editor.paths().iter().enumerate();
    let files = files.map(|(file, path)| {
        let (text, error) = match editor.read(file) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(error.to_string())),
        };
        RuleFile { path: path.display().to_string(), text, error }
    });
    files.collect()
}

fn versions(editor: Option<&RuleEditor>) -> Vec<String> {
    let files = editor.map_or(0..0, |editor| 0..editor.paths().len());
    files.filter_map(|file| Some(editor?.version(file))).collect()
}
