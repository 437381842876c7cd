//! The `fields` of packets as types of other languages: JSON Schema, and TypeScript made from it.

mod json_schema;
mod members;
mod typescript;

pub use json_schema::json_schema;
pub use typescript::typescript;
