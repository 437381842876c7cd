//! Entries held for browsing: one small row per packet in memory, bodies in a file, and conditions
//! evaluated over both.
//!
//! A [`Store`] is fed by entries, as a sink of a run or from a capture. A [`Snapshot`] is what it held at
//! one moment, and stays as it is; [`Matches`] finds the packets in it that an expression selects,
//! slice by slice, the newest first.

mod annotation;
mod archive;
mod captures;
mod chunk;
mod chunk_matches;
mod decisions;
mod details;
mod extra;
mod in_capture;
mod inner;
mod job;
mod limit;
mod losses;
mod matches;
mod moved;
mod notes;
mod open_chunk;
mod options;
mod row;
mod session;
mod snapshot;
mod spool;
#[expect(clippy::module_inception, reason = "one type per file, named after it")]
mod store;
#[cfg(test)]
mod tests;
mod text_search;

pub use annotation::Annotation;
use archive::{Archive, RecentRows};
use chunk::{Chunk, Loaded, Rows};
use chunk_matches::ChunkMatches;
use decisions::Decisions;
pub use details::Details;
use extra::Extra;
pub use in_capture::InCapture;
use job::Job;
pub use limit::Limit;
pub use losses::Losses;
pub use matches::{Matches, Selection};
use moved::{Moved, Part};
pub use notes::{SavedCapture, SavedNotes};
use open_chunk::OpenChunk;
pub use options::StoreOptions;
pub use row::Row;
pub use session::StoredSession;
pub use snapshot::Snapshot;
#[cfg(test)]
pub(crate) use spool::{Disk, TemporaryFolder};
use spool::{Spool, Stored};
pub use store::Store;
pub use text_search::search_expression;

/// The notes of people, by row.
type Annotations = std::collections::BTreeMap<u64, Annotation>;

/// Most rows of a chunk. Rows refer to their context by a 16-bit index.
const CHUNK_ROWS: usize = 4096;

/// Bytes of bodies from which a chunk is full.
const CHUNK_BYTES: usize = 1 << 20;
