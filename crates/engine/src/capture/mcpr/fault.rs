use thiserror::Error;

/// What is wrong with a recording of ReplayMod as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum McprFault {
    /// The archive has no metadata, and without its protocol number no packet has a meaning.
    #[error(
        "the recording cannot be read without its `metaData.json`, which says its version: {}",
        if *.cut_off { "the archive is cut off before it" } else { "the archive has none" }
    )]
    NoMetadata {
        /// `true` if the archive is cut off or damaged.
        cut_off: bool,
    },
    /// The metadata is not a JSON object, or too long.
    #[error("`metaData.json` of the recording is invalid: {0}")]
    Metadata(String),
    /// The metadata names neither a protocol nor a file format that has only one.
    #[error(
        "`metaData.json` of the recording has no `protocol`, and its `fileFormatVersion` {} does not tell it{}",
        .format.map_or_else(|| "(missing)".to_owned(), |it| it.to_string()),
        .version.as_ref().map(|it| format!(" (`mcversion` is `{it}`)")).unwrap_or_default()
    )]
    NoProtocol {
        /// The version of the file format, if there is one.
        format: Option<i64>,
        /// The name of the game's version, escaped, if there is one.
        version: Option<String>,
    },
}
