//! Prints entries as a line, a tree of fields, or hex; with or without colours, safe for any terminal.

mod annotator;
mod component;
mod cut;
mod escape;
mod event;
mod info;
mod inside;
mod line;
mod marks;
mod numbers;
mod options;
mod paint;
mod scalar;
mod short;
mod tree;

pub use annotator::{LineAnnotation, LineAnnotator};
pub use escape::{Escaped, EscapedJson, EscapedJsonWriter, EscapedLines, Styled};
pub use info::write_info;
pub use line::write_line;
pub use options::{LineOptions, Verbosity};
pub(crate) use scalar::ByteSize;
