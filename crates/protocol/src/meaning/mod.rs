//! What is known of packets and fields: the creeper behind `type=50`, the degrees behind `yaw=64`, the most
//! characters of a name.
//!
//! The knowledge is rows of the files in `data`, each of which is read when it is first needed; the names of
//! items, blocks and entities of each version are in `data/registries.bin`. A [`FieldTracker`] goes along
//! with a walk and gives the [`FieldMeaning`] of each value. Nothing here changes a value, and a packet that
//! nobody looks at is not annotated.

pub(crate) mod annotation;
pub(crate) mod client;
mod components;
mod diagnose;
pub(crate) mod disconnects;
mod field_meaning;
pub(crate) mod field_meanings;
mod field_tracker;
mod limit_tracker;
mod limits;
mod meaning_visitor;
mod metadata;
mod nbt_size;
mod order;
pub(crate) mod packed;
mod redaction;
pub(crate) mod registries;
mod renamed;
pub(crate) mod rhythm;
pub(crate) mod rows;
pub(crate) mod session_memory;
#[cfg(test)]
mod tests;
pub(crate) mod unit;

pub use annotation::Known;
pub use client::{Answer, ClientRow, Grade, is_unhurt, tick_rank};
pub use components::is_component;
pub use diagnose::{Stance, diagnose};
pub use disconnects::{DisconnectText, DisconnectTopic, disconnect_words};
pub use field_meaning::FieldMeaning;
pub use field_meanings::FieldMeanings;
pub use field_tracker::FieldTracker;
pub use limit_tracker::{Breach, LimitTracker};
use limits::Limits;
pub use meaning_visitor::{each_value, meanings};
pub use metadata::{metadata_type, metadata_type_name};
pub use order::{Awaited, NeededRegistries, is_automatic, needs_world};
pub use redaction::{GameWords, Kept, Part};
pub use registries::registry;
pub use renamed::{other_fields, other_packets};
pub use rhythm::{Rhythm, is_answered_aside};
pub use session_memory::{About, SessionMemory};

pub use crate::schema::{Registry, RegistryKind};
