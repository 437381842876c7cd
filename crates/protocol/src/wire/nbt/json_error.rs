use thiserror::Error;

/// The error of reading NBT from JSON. `path` leads to the value from the root `$`, as in
/// `$.value.x.value[2]`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NbtJsonError {
    /// A JSON value of the wrong kind.
    #[error("{path}: expected {expected}")]
    Kind {
        /// Path of the value.
        path: String,
        /// The kind that was expected.
        expected: &'static str,
    },
    /// An object without a required member.
    #[error("{path}: `{member}` is missing")]
    Missing {
        /// Path of the object.
        path: String,
        /// Key of the missing member.
        member: &'static str,
    },
    /// An unknown tag type, or one that is not allowed for the tag.
    #[error("{path}: `{name}` is not a valid tag type here")]
    TagType {
        /// Path of the type name.
        path: String,
        /// The type name.
        name: String,
    },
    /// A number outside the range of its type.
    #[error("{path}: {number} does not fit into type `{kind}`")]
    Range {
        /// Path of the number.
        path: String,
        /// The number as written.
        number: String,
        /// Name of the type.
        kind: &'static str,
    },
    /// A name or string with more bytes than its length prefix can count.
    #[error("{path}: {length} bytes of text are too long ({limit} at most)")]
    TextLength {
        /// Path of the text.
        path: String,
        /// Length of the text, in bytes.
        length: usize,
        /// The longest length allowed, in bytes.
        limit: usize,
    },
    /// Invalid or unpadded base64.
    #[error("{path}: invalid base64")]
    Base64 {
        /// Path of the base64 string.
        path: String,
    },
    /// A list of type `end` that has items, or a `count` that is positive or accompanies items.
    #[error("{path}: {items} items do not fit the list's `type` or `count`")]
    Count {
        /// Path of the list.
        path: String,
        /// Number of items.
        items: usize,
    },
    /// Compounds and lists nested deeper than the game's limit.
    #[error("{path}: nested deeper than {limit} levels")]
    Depth {
        /// Path of the first compound or list beyond the limit.
        path: String,
        /// The deepest nesting allowed.
        limit: usize,
    },
}
