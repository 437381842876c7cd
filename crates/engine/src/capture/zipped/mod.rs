//! Zip archives: a reader that believes nothing of what they say, and captures in them.

mod fault;
mod reader;
#[cfg(test)]
mod tests;
mod zipped_capture;

pub use fault::ZipFault;
pub(super) use reader::MEMBER;
pub use reader::ZipReader;
pub(super) use zipped_capture::{ZippedForm, read_zipped};
