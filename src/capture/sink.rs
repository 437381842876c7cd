use std::io;

use super::{Entry, Wire};

/// Where entries go: a file, a screen, a count.
pub trait Sink: Send {
    /// Takes an entry. Entries come in the order in which things happened within a session.
    ///
    /// # Errors
    /// When it cannot be written; what was written before stays valid.
    fn write(&mut self, entry: &Entry) -> io::Result<()>;

    /// Takes what has crossed one of the proxy's connections, if it wants that.
    ///
    /// # Errors
    /// When it cannot be written.
    fn wire(&mut self, wire: &Wire) -> io::Result<()> {
        let _ = wire;
        Ok(())
    }

    /// Whether it has use for [`wire`](Self::wire).
    fn wants_wire(&self) -> bool {
        false
    }

    /// Says that no entry follows at once: a sink that is looked at may want to catch up.
    ///
    /// # Errors
    /// When it cannot be written.
    fn batch_done(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Makes all that was taken visible to readers of the file.
    ///
    /// # Errors
    /// When it cannot be written.
    fn flush(&mut self) -> io::Result<()>;

    /// Writes what the format has at its end. Nothing comes after it.
    ///
    /// # Errors
    /// When it cannot be written.
    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }
}

impl Sink for Box<dyn Sink> {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        (**self).write(entry)
    }

    fn wire(&mut self, wire: &Wire) -> io::Result<()> {
        (**self).wire(wire)
    }

    fn wants_wire(&self) -> bool {
        (**self).wants_wire()
    }

    fn batch_done(&mut self) -> io::Result<()> {
        (**self).batch_done()
    }

    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        (**self).finish()
    }
}
