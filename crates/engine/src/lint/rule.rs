use super::ClientRule;
use mitmcraft_protocol::meaning::Grade;
use mitmcraft_protocol::packet::Diagnostic;
use mitmcraft_protocol::schema::Direction;

/// A rule of the game that a packet of a server or a client can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LintRule {
    /// The stream of frames cannot be read.
    FrameInvalid,
    /// The version has no packet with this id in this state.
    IdUnknown,
    /// The packet ends before its last field.
    BytesMissing,
    /// Bytes are left after the last field.
    BytesLeft,
    /// A field has a form that its type does not have.
    FieldInvalid,
    /// The sections of a chunk do not have the form or length that the packet declares.
    ChunkInvalid,
    /// A number stands for nothing in the version's registry.
    EntryUnknown,
    /// A number stands for nothing in a registry that the server has sent.
    EntryUnsent,
    /// A text component in NBT is invalid.
    TextInvalid,
    /// A bundle has more packets than the game collects.
    BundleTooLong,
    /// The session ended within a bundle.
    BundleOpen,
    /// A packet comes before the one that makes what it changes.
    OrderWrong,
    /// A registry that the game needs was not sent.
    RegistryMissing,
    /// The server sent nothing for longer than the game waits.
    ServerSilent,
    /// A value in the metadata of an entity is of another type than the game reads.
    MetadataInvalid,
    /// Attributes are of an entity that has none.
    AttributesInvalid,
    /// A message of a plugin has a channel that the client has not registered.
    ChannelUnregistered,
    /// The server does not read what a proxy forwards of the player.
    ForwardingUnread,
    /// The client waits for something before it shows the world.
    JoinIncomplete,
    /// The server speaks another version than the client.
    VersionDiffers,
    /// A diagnostic of `docs/diagnostics.md`.
    Diagnosed(Diagnostic),
    /// Something that clients of the game do not do.
    Client(ClientRule),
}

impl LintRule {
    /// The rules about packets of either side, and about servers.
    const COMMON: [Self; 43] = [
        Self::FrameInvalid,
        Self::IdUnknown,
        Self::BytesMissing,
        Self::BytesLeft,
        Self::FieldInvalid,
        Self::ChunkInvalid,
        Self::EntryUnknown,
        Self::EntryUnsent,
        Self::TextInvalid,
        Self::BundleTooLong,
        Self::BundleOpen,
        Self::OrderWrong,
        Self::RegistryMissing,
        Self::ServerSilent,
        Self::MetadataInvalid,
        Self::AttributesInvalid,
        Self::ChannelUnregistered,
        Self::ForwardingUnread,
        Self::JoinIncomplete,
        Self::VersionDiffers,
        Self::Diagnosed(Diagnostic::CompressedBelowThreshold),
        Self::Diagnosed(Diagnostic::UncompressedAboveThreshold),
        Self::Diagnosed(Diagnostic::InflatedTooLong),
        Self::Diagnosed(Diagnostic::KeepAliveLate),
        Self::Diagnosed(Diagnostic::KeepAliveUnanswered),
        Self::Diagnosed(Diagnostic::KeepAliveUnasked),
        Self::Diagnosed(Diagnostic::KeepAliveOverdue),
        Self::Diagnosed(Diagnostic::TextTooLong),
        Self::Diagnosed(Diagnostic::LengthInvalid),
        Self::Diagnosed(Diagnostic::NumberInvalid),
        Self::Diagnosed(Diagnostic::IdentifierInvalid),
        Self::Diagnosed(Diagnostic::CharactersInvalid),
        Self::Diagnosed(Diagnostic::NbtTooLarge),
        Self::Diagnosed(Diagnostic::ChatTooLong),
        Self::Diagnosed(Diagnostic::PositionOutOfRange),
        Self::Diagnosed(Diagnostic::StanceIllegal),
        Self::Diagnosed(Diagnostic::JsonInvalid),
        Self::Diagnosed(Diagnostic::DimensionInvalid),
        Self::Diagnosed(Diagnostic::HeldItemInvalid),
        Self::Diagnosed(Diagnostic::MetadataMissing),
        Self::Diagnosed(Diagnostic::PaintingTitleTooLong),
        Self::Diagnosed(Diagnostic::TeamMemberTooLong),
        Self::Diagnosed(Diagnostic::PackHashInvalid),
    ];

    /// Iterates over all rules: first those of decoding, then those about sessions, the diagnostics, and what
    /// clients do not do.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::COMMON.into_iter().chain(ClientRule::ALL.into_iter().map(Self::Client))
    }

    /// Returns what follows if a packet breaks the rule; for a client's rule, that depends on the version.
    #[must_use]
    pub fn grade(self) -> Grade {
        match self {
            Self::ChannelUnregistered | Self::Diagnosed(Diagnostic::UncompressedAboveThreshold) => {
                Grade::Differs
            }
            _ => Grade::Ends,
        }
    }

    /// Returns the rule's name: `bytes-left`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FrameInvalid => "frame-invalid",
            Self::IdUnknown => "id-unknown",
            Self::BytesMissing => "bytes-missing",
            Self::BytesLeft => "bytes-left",
            Self::FieldInvalid => "field-invalid",
            Self::ChunkInvalid => "chunk-invalid",
            Self::EntryUnknown => "entry-unknown",
            Self::EntryUnsent => "entry-unsent",
            Self::TextInvalid => "text-invalid",
            Self::BundleTooLong => "bundle-too-long",
            Self::BundleOpen => "bundle-open",
            Self::OrderWrong => "order-wrong",
            Self::RegistryMissing => "registry-missing",
            Self::ServerSilent => "server-silent",
            Self::MetadataInvalid => "metadata-invalid",
            Self::AttributesInvalid => "attributes-invalid",
            Self::ChannelUnregistered => "channel-unregistered",
            Self::ForwardingUnread => "forwarding-unread",
            Self::JoinIncomplete => "join-incomplete",
            Self::VersionDiffers => "version-differs",
            Self::Client(rule) => rule.name(),
            Self::Diagnosed(diagnostic) => diagnostic.name(),
        }
    }

    /// Returns what the player sees, in words. For a client's rule, the row of its version says that.
    #[must_use]
    pub fn player_sees(self) -> &'static str {
        match self {
            Self::FrameInvalid => {
                "the connection is lost: `Internal Exception: ..DecoderException`"
            }
            Self::IdUnknown => "the connection is lost: `Bad packet id`",
            Self::BytesMissing | Self::FieldInvalid => {
                "the connection is lost: `Internal Exception: ..DecoderException`, or `Network Protocol \
                 Error` since 1.20.5"
            }
            Self::BytesLeft => {
                "the connection is lost: `.. was larger than I expected, found .. bytes extra`"
            }
            Self::ChunkInvalid => {
                "the connection is lost, or the chunk has other blocks than were meant"
            }
            Self::EntryUnknown | Self::EntryUnsent => {
                "since 1.20.5 the connection is lost; before, something else appears, or nothing, or the \
                 game crashes"
            }
            Self::TextInvalid => "the connection is lost: the text cannot be parsed",
            Self::BundleTooLong => "the connection is lost: `Too many packets in a bundle`",
            Self::BundleOpen => "nothing of what the bundle contains",
            Self::OrderWrong => "the game crashes, or the connection is lost",
            Self::RegistryMissing => {
                "the connection is lost: `Registry must be non-empty`, or the game crashes: `Missing \
                 registry`"
            }
            Self::ServerSilent => "the connection is lost: `Timed out`",
            Self::MetadataInvalid | Self::AttributesInvalid => {
                "the game crashes, or since 1.20.5 the connection is lost: `Network Protocol Error`"
            }
            Self::ChannelUnregistered => "nothing: the mods of the client do not read the message",
            Self::ForwardingUnread => {
                "the server does not let the player in, or knows another UUID, skin and address"
            }
            Self::JoinIncomplete => "`Loading terrain`, `Joining world` or `Reconfiguring`",
            Self::VersionDiffers => "the connection is lost, or nothing works",
            Self::Client(_) => "the server decides",
            Self::Diagnosed(diagnostic) => match diagnostic {
                Diagnostic::CompressedBelowThreshold | Diagnostic::InflatedTooLong => {
                    "the connection is lost: `Badly compressed packet`"
                }
                Diagnostic::KeepAliveOverdue
                | Diagnostic::KeepAliveLate
                | Diagnostic::KeepAliveUnanswered
                | Diagnostic::KeepAliveUnasked => "the connection is lost: `Timed out`",
                Diagnostic::LengthInvalid => {
                    "the connection is lost: `Payload may not be larger than .. bytes`, or `.. elements exceeded \
                     max size of: ..`"
                }
                Diagnostic::NumberInvalid => {
                    "the connection is lost or the game crashes: `ArrayIndexOutOfBoundsException`, or \
                     `IndexOutOfBoundsException`"
                }
                Diagnostic::IdentifierInvalid => {
                    "the connection is lost: `Non [a-z0-9_.-] character in namespace of location`"
                }
                Diagnostic::CharactersInvalid => {
                    "the connection is lost: `Illegal characters in chat`, or `Invalid characters in username`"
                }
                Diagnostic::NbtTooLarge => {
                    "the connection is lost: `Tried to read NBT tag that was too big`"
                }
                Diagnostic::PositionOutOfRange | Diagnostic::StanceIllegal => {
                    "the connection is lost: `Invalid move player packet received`"
                }
                Diagnostic::JsonInvalid => "the connection is lost: the text cannot be parsed",
                Diagnostic::DimensionInvalid | Diagnostic::HeldItemInvalid => "the game crashes",
                Diagnostic::MetadataMissing => "the game crashes, or the connection is lost",
                Diagnostic::PackHashInvalid => {
                    "the resource pack is not verified, or, if the hash is longer, the connection is lost"
                }
                Diagnostic::PaintingTitleTooLong
                | Diagnostic::TeamMemberTooLong
                | Diagnostic::ChatTooLong
                | Diagnostic::TextTooLong => {
                    "the connection is lost: `The received encoded string buffer length is longer ..`"
                }
                _ => "the connection is lost",
            },
        }
    }
}

/// The side whose packets are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LintSide {
    /// What the server sends, as a client of its version takes it.
    #[default]
    Server,
    /// What the client sends, as a server of its version takes it.
    Client,
    /// What both send.
    Both,
}

impl LintSide {
    /// Returns whether packets of a direction are judged.
    #[must_use]
    pub fn judges(self, direction: Direction) -> bool {
        match self {
            Self::Server => direction == Direction::Clientbound,
            Self::Client => direction == Direction::Serverbound,
            Self::Both => true,
        }
    }
}
