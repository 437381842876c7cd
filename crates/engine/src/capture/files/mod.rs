//! Capture files: the format by name, compression, one file per session, rotation, retention.

mod claim;
mod comment_editor;
mod compressed_writer;
mod create;
mod file_name;
mod file_sink;
mod file_type;
mod growing_file;
mod keep;
mod lake;
mod manifest;
mod name_pattern;
mod named_files;
mod open;
mod retention;
mod rotating_sink;
mod rotation;
mod session_sink;
mod spool;
mod unpack;

pub use claim::{ClaimError, check_file, check_file_name, claim_file};
pub use comment_editor::{CommentEditor, CommentError, Comments};
pub use create::{
    CaptureTarget, CreateError, CreateOptions, check_capture_name, create_sink, write_sink,
};
pub(crate) use file_name::is_device;
pub use file_type::{Compression, FileType, Format};
pub use keep::Keep;
pub use lake::{CompactedPart, Lake, OpenLake};
pub use name_pattern::{UnknownPlaceholder, file_time};
pub use named_files::NamedFiles;
pub use open::{Entries, is_table, open_capture, open_table, read_capture, read_capture_within};
pub use rotation::Rotation;
pub(super) use spool::spool;
pub use unpack::{is_packed, unpack};
