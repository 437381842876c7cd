//! Prints records: as a line, as a tree of fields, as hex; in colours, and safe for any terminal.

mod annotator;
mod info;
mod inside;
mod line;
mod options;
mod paint;
mod scalar;
mod short;
mod tree;

pub use annotator::{LineAnnotation, LineAnnotator};
pub use info::write_info;
pub use line::write_line;
pub use options::{LineOptions, Verbosity};
pub(crate) use scalar::{ByteSize, Escaped};
