//! Prints entries as a line, a tree of fields, or hex; with or without colours, safe for any terminal.

mod annotator;
mod column;
mod component;
mod contents;
mod cut;
mod escape;
mod event;
mod field_lines;
mod field_value;
mod info;
mod inside;
mod line;
mod marks;
mod numbers;
mod options;
mod paint;
mod payload;
mod plural;
mod scalar;
mod short;
mod toml;
mod tree;
mod xml;

pub use annotator::{LineAnnotation, LineAnnotator};
pub use column::Column;
pub use contents::contents_lines;
pub use cut::cut;
pub use escape::{
    Composed, Escaped, EscapedJson, EscapedJsonWriter, EscapedLines, Styled, shell_quoted,
};
pub use event::end_reason;
pub use field_lines::{FieldLine, FieldLines};
pub use field_value::{field_json, field_text};
pub use info::{write_info, write_summary};
pub(crate) use line::packet_name;
pub use line::{write_annotated_line, write_line};
pub use options::{LineOptions, TimeForm, Verbosity};
pub(crate) use plural::count;
pub(crate) use scalar::ByteSize;
pub use toml::{toml_key, toml_string};
pub(crate) use xml::{xml, xml_attribute};
