use std::io;
use std::path::PathBuf;

use super::{BodyPlaces, Entry, Wire};

/// A destination of entries: a file, a screen, a counter.
///
/// Only [`write`](Self::write) has to be implemented. A sink that passes entries on to another one
/// also implements [`inner`](Self::inner); the provided methods but those about the wire then call
/// the inner sink's.
pub trait Sink: Send {
    /// Takes an entry. The entries of a session arrive in the order in which they happened.
    ///
    /// # Errors
    /// [`io::Error`] if the entry cannot be written; entries written before remain valid.
    fn write(&mut self, entry: &Entry) -> io::Result<()>;

    /// Takes an entry like [`write`](Self::write), and may keep it: no other sink needs it any more.
    ///
    /// # Errors
    /// [`io::Error`] if the entry cannot be written, as for [`write`](Self::write).
    fn take(&mut self, entry: Entry) -> io::Result<()> {
        self.write(&entry)
    }

    /// The sink that this one passes entries on to, if there is one.
    fn inner(&mut self) -> Option<&mut dyn Sink> {
        None
    }

    /// Takes bytes or an event of one of the proxy's connections. Ignored unless implemented: a
    /// sink that selects or changes entries must not let the raw bytes through by default.
    ///
    /// # Errors
    /// [`io::Error`] if it cannot be written.
    fn wire(&mut self, wire: &Wire) -> io::Result<()> {
        let _ = wire;
        Ok(())
    }

    /// Returns `true` if the sink uses what is passed to [`wire`](Self::wire).
    fn wants_wire(&self) -> bool {
        false
    }

    /// Returns `false` if the sink does without packets that were forwarded unchanged, because it is
    /// told their counts elsewhere. If no sink wants them, no records of them are made.
    fn wants_packets(&self) -> bool {
        true
    }

    /// Starts reporting the file offset of each packet. Returns `None` unless the sink writes every
    /// entry, unmodified, to one uncompressed file.
    fn body_places(&mut self) -> Option<BodyPlaces> {
        None
    }

    /// Takes what it could not record since the last call, though it goes on.
    fn take_unrecorded(&mut self) -> Unrecorded {
        self.inner().map(|inner| inner.take_unrecorded()).unwrap_or_default()
    }

    /// Returns the number of entries that were taken and are not written yet. If [`finish`](Self::finish)
    /// fails, they are lost.
    fn unwritten(&mut self) -> u64 {
        self.inner().map_or(0, |inner| inner.unwritten())
    }

    /// Signals that no entry follows immediately, so that a sink that people watch can catch up.
    ///
    /// # Errors
    /// [`io::Error`] if pending output cannot be written.
    fn batch_done(&mut self) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.batch_done())
    }

    /// Makes all entries taken so far visible to readers of the file.
    ///
    /// # Errors
    /// [`io::Error`] if pending output cannot be written.
    fn flush(&mut self) -> io::Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.flush())
    }

    /// Writes what the format has at its end. No entry may follow.
    ///
    /// # Errors
    /// [`io::Error`] if pending output or the end cannot be written.
    fn finish(&mut self) -> io::Result<()> {
        match self.inner() {
            Some(inner) => inner.finish(),
            None => self.flush(),
        }
    }
}

/// Losses of a [`Sink`] that goes on: sessions without a file, and files that were deleted.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Unrecorded {
    /// The sessions whose file could not be created, by number, and why.
    pub sessions: Vec<(u64, io::Error)>,
    /// Number of entries of such sessions.
    pub entries: u64,
    /// Files that were deleted while they were written: what they hold is lost.
    pub deleted: Vec<PathBuf>,
}

impl Sink for Box<dyn Sink> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        (**self).write(entry)
    }

    fn inner(&mut self) -> Option<&mut dyn Sink> {
        Some(&mut **self)
    }

    fn wire(&mut self, wire: &Wire) -> io::Result<()> {
        (**self).wire(wire)
    }

    fn wants_wire(&self) -> bool {
        (**self).wants_wire()
    }

    fn wants_packets(&self) -> bool {
        (**self).wants_packets()
    }

    fn body_places(&mut self) -> Option<BodyPlaces> {
        (**self).body_places()
    }

    fn take(&mut self, entry: Entry) -> io::Result<()> {
        (**self).take(entry)
    }
}
