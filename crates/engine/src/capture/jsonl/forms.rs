use super::super::{Entry, EventKind};
use super::line::{Form, Meanings};
use mitmcraft_protocol::meaning::SessionMemory;

/// Chooses the form of each entry of a file. Follows the entities of the sessions, as what they are
/// decides what values mean.
#[derive(Debug, Default)]
pub(in crate::capture) struct Forms {
    /// `true` if packets are written without their bytes.
    pub(in crate::capture) no_bodies: bool,
    /// `None` if what values mean is not wanted.
    pub(in crate::capture) memory: Option<SessionMemory>,
}

impl Forms {
    /// Returns the form of the next entry.
    pub(in crate::capture) fn of(&mut self, entry: &Entry) -> Form {
        let meanings = self.memory.as_mut().map(|memory| match entry {
            Entry::Packet(record) => Meanings { about: memory.take(&record.packet) },
            Entry::Event(event) => {
                if let EventKind::Close(_) = event.kind {
                    memory.forget(event.context.session);
                }
                Meanings { about: None }
            }
        });
        if self.no_bodies { Form::NoBody(meanings) } else { Form::Full(meanings) }
    }
}
