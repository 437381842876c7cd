//! Protocol descriptions: the layout of every packet of every version, as data.
//!
//! A [`Catalog`] gives the [`Protocol`] of a version, which is compiled on first use from a
//! ProtoDef description into a type tree. One walk reads a packet by that tree and reports its
//! parts to a [`Visitor`]: [`Measure`] finds the end, [`JsonVisitor`] writes JSON, [`SpanVisitor`]
//! records the bytes of each field. [`Protocol::decode`] builds a lossless [`Value`] and
//! [`Protocol::encode`] writes it back. No packet is parsed by hand-written code.

use serde_json::{Map, Value as Json, json};

mod alpha;
mod catalog;
mod channels;
mod compile;
mod decode;
mod describe;
mod description;
mod embedded;
mod emit;
mod encode;
mod error;
mod family;
#[cfg(any(test, feature = "test-support"))]
mod generate;
mod given;
mod gzip;
mod json;
mod kinds;
mod layout;
mod legacy;
mod name_path;
mod names;
mod number;
mod official;
mod outline;
mod packet;
mod packet_places;
mod partial;
mod payload;
mod per_direction;
mod protocol;
mod query;
mod registry;
mod release;
mod scope;
mod spans;
mod stop;
#[cfg(test)]
mod tests;
mod text_forms;
pub(crate) mod types;
mod unframed;
mod uuid;
mod value;
pub(crate) mod vec3;
mod visitor;
mod walk;

pub use alpha::LEGACY_PING_ID;
pub use catalog::{Catalog, Match};
pub use describe::Shape;
pub use description::{Description, DescriptionId};
pub use emit::{json_schema, typescript};
pub use error::{DecodeCause, DecodeError, EncodeCause, EncodeError, SchemaError};
pub use family::Family;
#[cfg(any(test, feature = "test-support"))]
pub use generate::random_body;
pub use json::JsonVisitor;
pub use kinds::{Kind, Kinds};
pub use layout::LayoutField;
pub use name_path::NamePath;
pub(crate) use names::by_name;
pub use names::{Direction, Name, Role, State, UnknownName};
pub(crate) use number::parse_int;
pub use official::{OfficialName, official_names};
pub use packet::PacketType;
pub use payload::Payload;
pub use payload::payload_name;
pub use per_direction::PerDirection;
pub use protocol::Protocol;
pub use query::query_magic;
pub(crate) use registry::OwnRegistries;
pub use registry::{Registry, RegistryKind};
pub use release::Release;
pub use spans::{Span, SpanVisitor};
pub use uuid::{format_uuid, parse_uuid};
pub use value::{Exact, Value};
pub use visitor::{Flow, Leaf, Measure, Scalar, Visitor};

/// Names that an error message lists at most when it says which ones would be valid.
pub const MAX_LISTED: usize = 12;

/// Returns ProtoDef's definition of `packet`: a mapper of ids of type `id` to names, and a switch on their
/// names to types.
fn packet_types(id: &str, names: Map<String, Json>, types: Map<String, Json>) -> Json {
    json!(["container", [
        { "name": "name", "type": ["mapper", { "type": id, "mappings": names }] },
        { "name": "params", "type": ["switch", { "compareTo": "name", "fields": types }] },
    ]])
}

/// The field name of those bits of flags that have no name.
pub(crate) fn rest_name() -> Name {
    use std::sync::LazyLock;
    static REST: LazyLock<Name> = LazyLock::new(|| Name::from("_rest"));
    Name::clone(&REST)
}
