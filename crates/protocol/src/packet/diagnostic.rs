use crate::schema::by_name;
use crate::wire::named;

named! {
    /// A breach of the game's rules for which a peer would end the connection, or crash.
    ///
    /// The proxy enforces none of them. `docs/diagnostics.md` has the table of them all, with the section
    /// of the document that states the rule.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum Diagnostic {
        /// The body is compressed, but shorter than the threshold.
        CompressedBelowThreshold => "compressed-below-threshold",
        /// The body is not compressed, but as long as the threshold or longer.
        UncompressedAboveThreshold => "uncompressed-above-threshold",
        /// The client has answered a keep-alive too late.
        KeepAliveLate => "keep-alive-late",
        /// The client has not answered a keep-alive in time.
        KeepAliveUnanswered => "keep-alive-unanswered",
        /// The client has answered a keep-alive that it was not sent.
        KeepAliveUnasked => "keep-alive-unasked",
        /// The server has sent no keep-alive for too long.
        KeepAliveOverdue => "keep-alive-overdue",
        /// A message or command is longer than the version allows.
        ChatTooLong => "chat-too-long",
        /// A text component is not JSON.
        JsonInvalid => "json-invalid",
        /// The dimension does not exist.
        DimensionInvalid => "dimension-invalid",
        /// A position is outside the world, or not a number.
        PositionOutOfRange => "position-out-of-range",
        /// The eyes are not as far above the feet as those of a player.
        StanceIllegal => "stance-illegal",
        /// The number of the item in a player's hand is negative.
        HeldItemInvalid => "held-item-invalid",
        /// An entity appears without metadata.
        MetadataMissing => "metadata-missing",
        /// The name of a painting is longer than any that exists.
        PaintingTitleTooLong => "painting-title-too-long",
        /// The name of a member of a team is longer than the version allows.
        TeamMemberTooLong => "team-member-too-long",
        /// The hash of a resource pack has not the form of one.
        PackHashInvalid => "pack-hash-invalid",
        /// The length of a frame takes more than three bytes.
        FrameTooLong => "frame-too-long",
        /// A packet inflates to more bytes than the version reads.
        InflatedTooLong => "inflated-too-long",
        /// A text is longer than the version reads.
        TextTooLong => "text-too-long",
        /// Bytes or a list have a length that the version does not read.
        LengthInvalid => "length-invalid",
        /// A number or a name stands for nothing that the game has.
        NumberInvalid => "number-invalid",
        /// An identifier has a character that the game does not accept.
        IdentifierInvalid => "identifier-invalid",
        /// A name or a message has a character that the game does not accept.
        CharactersInvalid => "characters-invalid",
        /// NBT is larger, by the game's own count, than the game reads.
        NbtTooLarge => "nbt-too-large",
    }

    /// All diagnostics.
    pub const ALL;

    /// Returns the name in captures, expressions and statistics: `chat-too-long`.
    pub fn name;
}

impl Diagnostic {
    /// Returns whether the packet's body alone shows it, so that captures need not store it.
    #[must_use]
    pub fn is_of_body(self) -> bool {
        !matches!(
            self,
            Self::CompressedBelowThreshold
                | Self::UncompressedAboveThreshold
                | Self::KeepAliveLate
                | Self::KeepAliveUnanswered
                | Self::KeepAliveUnasked
                | Self::KeepAliveOverdue
                | Self::FrameTooLong
        )
    }

    /// Returns the fault and its limit in words, as they stand in `docs/diagnostics.md`.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::CompressedBelowThreshold => {
                "the body is compressed, but shorter than the compression threshold"
            }
            Self::UncompressedAboveThreshold => {
                "the body is not compressed, but at least as long as the compression threshold"
            }
            Self::KeepAliveLate => {
                "the client answered a keep-alive after more than 30 s (15 s since 1.12.2)"
            }
            Self::KeepAliveUnanswered => {
                "the client has not answered an earlier keep-alive for 30 s (15 s since 1.12.2)"
            }
            Self::KeepAliveUnasked => {
                "the client answered a keep-alive that it was not sent (since 1.12.2)"
            }
            Self::KeepAliveOverdue => {
                "the server had sent no keep-alive for more than 20 s (30 s since 1.9)"
            }
            Self::ChatTooLong => {
                "a message or command is longer than 100 characters (256 since 1.11)"
            }
            Self::JsonInvalid => "a text component is not valid JSON",
            Self::DimensionInvalid => "the number names no dimension of the game",
            Self::PositionOutOfRange => {
                "a coordinate or angle is not finite, or beyond the version's limit"
            }
            Self::StanceIllegal => "the eyes are less than 0.1 or more than 1.65 above the feet",
            Self::HeldItemInvalid => "the number of the item in a player's hand is negative",
            Self::MetadataMissing => "a player or mob appears without metadata",
            Self::PaintingTitleTooLong => "the name of a painting is longer than 13 characters",
            Self::TeamMemberTooLong => {
                "the name of a member of a team is longer than 40 characters"
            }
            Self::PackHashInvalid => {
                "the hash of a resource pack is not 40 hexadecimal digits, in lower case up to 1.8"
            }
            Self::FrameTooLong => "the length of the frame takes more than three bytes",
            Self::InflatedTooLong => {
                "the packet inflates to more than 2,097,152 bytes, or a client's to more than 8,388,608 since \
                 1.17"
            }
            Self::TextTooLong => "a text is longer than the game reads",
            Self::LengthInvalid => "bytes or a list are longer or shorter than the game reads",
            Self::NumberInvalid => "a number or a name stands for nothing that the game has",
            Self::IdentifierInvalid => {
                "an identifier has a character other than `a-z 0-9 _ . - /`, or two colons"
            }
            Self::CharactersInvalid => {
                "a name or a message has a character that the game does not accept"
            }
            Self::NbtTooLarge => "NBT is larger than the game reads, by the game's own count",
        }
    }
}

by_name!(Diagnostic);
