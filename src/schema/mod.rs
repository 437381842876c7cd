//! What packets look like, as data.
//!
//! A [`Protocol`] is compiled once from a ProtoDef description into a type tree. One walk reads a
//! packet by it and shows the parts to a [`Visitor`]: [`Measure`] finds the end, [`JsonVisitor`]
//! prints, [`SpanVisitor`] says where each field's bytes are, [`Protocol::decode`] builds a lossless
//! [`Value`]; [`Protocol::encode`] is the way back. No packet is parsed by hand anywhere else.

mod alpha;
mod catalog;
mod compile;
mod decode;
mod describe;
mod dissector;
mod embedded;
mod encode;
mod error;
mod family;
mod given;
mod gzip;
mod json;
mod kinds;
mod names;
mod number;
mod packet;
mod per_direction;
mod protocol;
mod query;
mod scope;
mod spans;
mod stop;
#[cfg(test)]
mod tests;
mod text_forms;
mod types;
mod uuid;
mod value;
mod vec3;
mod visitor;
mod walk;

pub use alpha::LEGACY_PING_ID;
pub use catalog::{Catalog, Match};
pub use describe::Shape;
pub use dissector::write_dissector;
pub use error::{DecodeCause, DecodeError, EncodeError, SchemaError};
pub use family::Family;
pub use json::JsonVisitor;
pub use kinds::{Kind, Kinds};
pub use names::{Direction, Name, Role, State, UnknownName};
pub use packet::PacketType;
pub use per_direction::PerDirection;
pub use protocol::Protocol;
pub use query::query_magic;
pub use spans::{Span, SpanVisitor};
pub use uuid::{format_uuid, parse_uuid};
pub use value::{Exact, Value};
pub use visitor::{Flow, Leaf, Measure, Scalar, Visitor};

/// Names that an error message lists at most when it says which ones would be valid.
pub(crate) const MAX_LISTED: usize = 12;

/// The name of a flags' bits that have none.
fn rest_name() -> Name {
    use std::sync::LazyLock;
    static REST: LazyLock<Name> = LazyLock::new(|| Name::from("_rest"));
    Name::clone(&REST)
}
