use std::fs::File;
use std::sync::Arc;

/// The place of a packet's body in an uncompressed capture, where it is read again when it is asked for.
#[derive(Debug, Clone)]
pub struct InCapture {
    /// The capture.
    pub file: Arc<File>,
    /// The offset of the body's first byte.
    pub at: u64,
}
