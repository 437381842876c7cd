//! Prints records: as a line, as a tree of fields, as hex; in colours, and safe for any terminal.

mod info;
mod inside;
mod line;
mod memory;
mod options;
mod paint;
mod scalar;
mod short;
mod tree;

pub use info::write_info;
pub use line::write_line;
pub use memory::{LineMemory, Margin};
pub use options::{LineOptions, Verbosity};
pub(crate) use scalar::{Escaped, Size};
