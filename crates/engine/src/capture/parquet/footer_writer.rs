use std::io::{self, Write};

/// Writes a Parquet file whose statistics of floats other readers use.
///
/// Each column names the order of its values at the end of the footer. That of floats is one that readers of today
/// do not know, so that they ignore their minimum and maximum. Without NaN, which is in neither, it is the usual one.
pub(super) struct FooterWriter {
    writer: Box<dyn Write + Send>,
    /// The last bytes, as many as hold the orders and what follows them.
    held: Vec<u8>,
    orders: usize,
}

impl FooterWriter {
    /// Creates the writer of a file with that many columns.
    pub(super) fn new(writer: Box<dyn Write + Send>, columns: usize) -> Self {
        Self { writer, held: Vec::new(), orders: columns * ORDER.len() }
    }

    /// Writes the end of the footer. Nothing may follow.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let end = self.held.len().saturating_sub(END);
        let start = end.saturating_sub(self.orders);
        for order in self.held[start..end].chunks_exact_mut(ORDER.len()) {
            if order == TOTAL_ORDER {
                order.copy_from_slice(&ORDER);
            }
        }
        self.writer.write_all(&std::mem::take(&mut self.held))?;
        self.writer.flush()
    }
}

impl Write for FooterWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let keep = self.orders + END;
        let excess = (self.held.len() + bytes.len()).saturating_sub(keep);
        let old = excess.min(self.held.len());
        self.writer.write_all(&self.held[..old])?;
        self.held.drain(..old);
        let (written, kept) = bytes.split_at(excess - old);
        self.writer.write_all(written)?;
        self.held.extend_from_slice(kept);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// `ColumnOrder` in Thrift's compact protocol: field 1, `TYPE_ORDER`, an empty struct.
const ORDER: [u8; 3] = [0x1c, 0, 0];

/// Field 2, the total order of IEEE 754.
const TOTAL_ORDER: [u8; 3] = [0x2c, 0, 0];

/// The end of the structure of the footer, its length, and `PAR1`.
const END: usize = 1 + 4 + 4;
