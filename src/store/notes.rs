use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use super::Store;
use mitmcraft_engine::capture::{CommentEditor, CommentError, Comments};

/// The outcome of [`Store::save_notes`].
#[derive(Debug)]
#[non_exhaustive]
pub enum SavedNotes {
    /// Nobody has noted anything.
    Nothing,
    /// They are saved in the captures of the run when that ends.
    AtEnd,
    /// There is no capture to save them in.
    NoCapture,
    /// They were saved in captures, or not.
    Saved {
        /// The captures that have such packets.
        captures: Vec<SavedCapture>,
        /// The number of packets whose notes were not saved, because the store does not have their bytes.
        missing: usize,
    },
}

/// The outcome of [`Store::save_notes`] for one capture.
#[derive(Debug)]
#[non_exhaustive]
pub struct SavedCapture {
    /// The capture.
    pub path: PathBuf,
    /// The number of packets with new notes.
    pub packets: usize,
    /// The number of those that the capture has; or why it is as it was.
    pub result: Result<usize, CommentError>,
}

impl Store {
    /// Lets what people note be saved in the capture that was begun last, or in that of a run that has ended.
    pub fn save_in(&self, editor: CommentEditor) {
        let offset = self.lock().captures.offset();
        self.editors.lock().unwrap_or_else(PoisonError::into_inner).push((offset, editor));
    }

    /// Saves what people noted in the captures, which are written anew for that: call it where waiting for the disk
    /// delays nothing else. [`saved`](Self::saved) has the outcome, too, and has none until then.
    pub fn save_notes(&self) -> Arc<SavedNotes> {
        // Before the lock, so that the last of several calls has the last word.
        let mut editors = self.editors.lock().unwrap_or_else(PoisonError::into_inner);
        self.lock().saved = None;
        let saved = Arc::new(self.save_with(&mut editors));
        self.lock().saved = Some(Arc::clone(&saved));
        saved
    }

    /// Returns the outcome of [`save_notes`](Self::save_notes) when it was called last; `None` until that is known.
    #[must_use]
    pub fn saved(&self) -> Option<Arc<SavedNotes>> {
        self.lock().saved.clone()
    }

    fn save_with(&self, editors: &mut [(u64, CommentEditor)]) -> SavedNotes {
        let (snapshot, touched, is_run) = {
            let inner = self.lock();
            (inner.snapshot(), inner.touched.clone(), inner.captures.is_empty() && !inner.complete)
        };
        if is_run && editors.is_empty() {
            return SavedNotes::AtEnd;
        }
        if touched.is_empty() {
            return SavedNotes::Nothing;
        }
        if editors.is_empty() {
            return SavedNotes::NoCapture;
        }
        let records = touched.iter().filter_map(|row| snapshot.record(*row));
        let ids = records.map(|it| ((it.packet.context().session, it.packet.seq()), it.comment));
        let comments: Vec<_> = ids.collect();
        let missing = touched.len() - comments.len();
        let offsets: Vec<u64> = editors.iter().map(|(offset, _)| *offset).collect();
        let mut captures = Vec::new();
        for (offset, editor) in editors {
            let next = offsets.iter().find(|it| *it > offset).copied().unwrap_or(u64::MAX);
            let here = |session: u64| *offset < session && session <= next;
            let here = comments.iter().filter(|((session, _), _)| here(*session));
            let here: Comments = here
                .map(|((session, seq), comment)| ((session - *offset, *seq), comment.clone()))
                .collect();
            if !here.is_empty() {
                let (path, packets) = (editor.path().to_owned(), here.len());
                captures.push(SavedCapture { path, packets, result: editor.save(&here) });
            }
        }
        match captures.is_empty() && missing == 0 {
            true => SavedNotes::NoCapture,
            false => SavedNotes::Saved { captures, missing },
        }
    }
}
