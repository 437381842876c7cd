//! Requests about filter files.

use tokio::sync::mpsc;

use crate::proxy::{RuleEditor, SaveError};
use crate::view::protocol::{Answer, Failure, Message, Query, Request, RuleFile, SavedRules};

/// The requests of one page about filter files, answered one after the other beside all others: a file that does not
/// answer delays nothing else.
pub(super) struct RuleDesk {
    questions: mpsc::Sender<Query>,
    answered: mpsc::Receiver<Message>,
}

impl RuleDesk {
    /// Creates a desk, which works until it is dropped.
    pub(super) fn new(editor: Option<RuleEditor>) -> Self {
        let (questions, mut asked) = mpsc::channel::<Query>(MAX_WAITING);
        let (sender, answered) = mpsc::channel(1);
        tokio::spawn(async move {
            while let Some(Query { id, request }) = asked.recv().await {
                let editor = editor.clone();
                let work = move || answer(editor.as_ref(), &request);
                let Ok(answer) = tokio::task::spawn_blocking(work).await else { return };
                if let Some(answer) = answer
                    && sender.send(Message::answer(id, answer)).await.is_err()
                {
                    return;
                }
            }
        });
        Self { questions, answered }
    }

    /// Returns whether a request is about filter files.
    pub(super) fn answers(request: &Request) -> bool {
        use Request::{CheckRules, RuleCounts, Rules, SaveRules};
        matches!(request, Rules {} | RuleCounts {} | CheckRules { .. } | SaveRules { .. })
    }

    /// Takes a request about filter files.
    ///
    /// # Errors
    /// The answer, if too many wait for a file that does not answer.
    pub(super) fn take(&self, query: Query) -> Result<(), Box<Message>> {
        let id = query.id;
        self.questions.try_send(query).map_err(|_| {
            let error = Failure::new("earlier requests about filter files still wait for a file");
            Box::new(Message::Error { id, error })
        })
    }

    /// Returns the next answer.
    pub(super) async fn next(&mut self) -> Option<Message> {
        self.answered.recv().await
    }
}

/// Maximum number of requests that wait for a file.
const MAX_WAITING: usize = 16;

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
            Err(_) if editor.is_awaited() => (None, None),
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
