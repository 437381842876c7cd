use thiserror::Error;

/// Why JSON is not NBT, and where: `path` leads there from `$`, as in `$.value.x.value[2]`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NbtJsonError {
    /// Another kind of JSON value.
    #[error("{path}: expected {expected}")]
    Kind {
        /// The value's place.
        path: String,
        /// What it should have been.
        expected: &'static str,
    },
    /// An object without a member that it needs.
    #[error("{path}: `{member}` is missing")]
    Missing {
        /// The object's place.
        path: String,
        /// The member's key.
        member: &'static str,
    },
    /// A type that does not exist, or no tag can have.
    #[error("{path}: `{name}` is no type that a tag can have")]
    TagType {
        /// The place of the type's name.
        path: String,
        /// The name.
        name: String,
    },
    /// A number that its type cannot hold.
    #[error("{path}: {number} does not fit into type `{kind}`")]
    Range {
        /// The number's place.
        path: String,
        /// The number as it stands there.
        number: String,
        /// The type's name.
        kind: &'static str,
    },
    /// A name or string of more bytes than its length can say.
    #[error("{path}: {length} bytes of text are too long ({limit} at most)")]
    TextLength {
        /// The text's place.
        path: String,
        /// Its bytes.
        length: usize,
        /// The most that there may be.
        limit: usize,
    },
    /// Base64 that is none, or not padded.
    #[error("{path}: invalid base64")]
    Base64 {
        /// The place of the base64 string.
        path: String,
    },
    /// A list of ends with items, or a `count` that is above 0 or stands beside items.
    #[error("{path}: {items} items do not fit the list's `type` or `count`")]
    Count {
        /// The list's place.
        path: String,
        /// How many it has.
        items: usize,
    },
    /// Compounds and lists nested deeper than the game allows.
    #[error("{path}: nested deeper than {limit} levels")]
    Depth {
        /// The place of the first one that is too deep.
        path: String,
        /// How deep they may be.
        limit: usize,
    },
}
