use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::wire::named;

/// Implements `Display` and `FromStr` for an enum that has `ALL` and `name`.
macro_rules! by_name {
    ($enum:ty) => {
        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $enum {
            type Err = $crate::schema::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|it| it.name() == text);
                found.ok_or_else(|| $crate::schema::UnknownName(text.into()))
            }
        }
    };
}
pub(crate) use by_name;

/// The name of a packet, a field or a mapped value. Shared, so that cloning it does not allocate.
pub type Name = Arc<str>;

named! {
    /// The direction in which a packet travels.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[cfg_attr(feature = "test-support", derive(ts_rs::TS))]
    pub enum Direction {
        /// From the server to the client.
        Clientbound => "clientbound",
        /// From the client to the server.
        Serverbound => "serverbound",
    }

    /// Both directions.
    pub const ALL;

    /// Returns `clientbound` or `serverbound`.
    pub fn name;
}

impl Direction {
    /// Returns the other direction.
    #[must_use]
    pub fn reverse(self) -> Self {
        match self {
            Self::Clientbound => Self::Serverbound,
            Self::Serverbound => Self::Clientbound,
        }
    }

    /// Returns ProtoDef's name, `toClient` or `toServer`.
    pub(crate) fn side(self) -> &'static str {
        match self {
            Self::Clientbound => "toClient",
            Self::Serverbound => "toServer",
        }
    }
}

by_name!(Direction);

named! {
    /// The state of a connection, which determines the meaning of packet ids.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
    )]
    #[serde(rename_all = "snake_case")]
    #[cfg_attr(feature = "test-support", derive(ts_rs::TS))]
    pub enum State {
        /// The state of a new connection: the client sends its handshake.
        #[default]
        Handshaking => "handshaking",
        /// The Server List Ping.
        Status => "status",
        /// Login, with the key exchange and the start of compression.
        Login => "login",
        /// Registries and resource packs, since 1.20.2.
        Configuration => "configuration",
        /// The game itself.
        Play => "play",
    }

    /// All states, in the order in which a session goes through them.
    pub const ALL;

    /// Returns `handshaking`, `status`, `login`, `configuration` or `play`.
    pub fn name;
}

by_name!(State);

/// The error of parsing the name of a state, direction or similar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown name `{0}`")]
pub struct UnknownName(pub String);

/// The meaning of a packet to a session, independent of its name in a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Opens a connection: protocol version, address, next state.
    Handshake,
    /// Requests the status.
    StatusRequest,
    /// The status as JSON.
    StatusResponse,
    /// The ping of the status state, and its answer.
    Ping,
    /// Starts a login with the player's name.
    LoginStart,
    /// The server's public key and verify token.
    EncryptionRequest,
    /// The shared secret and the token, encrypted.
    EncryptionResponse,
    /// The server's confirmation of the shared secret, after which it encrypts; from 1.3 to 1.6. The client
    /// encrypts from its [`EncryptionResponse`](Self::EncryptionResponse) on.
    EncryptionStarted,
    /// The player's name, and the server's answer with the required authentication; before 1.7.
    Greeting,
    /// The client's login before 1.7, with the protocol number and the player's name. The server's packet
    /// `login` is [`JoinGame`](Self::JoinGame).
    UnframedLogin,
    /// Sets the compression threshold from the next packet on.
    SetCompression,
    /// Ends the login state.
    LoginSuccess,
    /// The client's answer to [`LoginSuccess`](Self::LoginSuccess), since 1.20.2.
    LoginAcknowledged,
    /// Returns from play to configuration, since 1.20.2.
    StartConfiguration,
    /// The client's answer to [`StartConfiguration`](Self::StartConfiguration).
    ConfigurationAcknowledged,
    /// Ends the configuration state; sent by both peers.
    FinishConfiguration,
    /// Ends the session with a reason.
    Disconnect,
    /// Must be answered with the same number.
    KeepAlive,
    /// Sends the client to another server, since 1.20.5.
    Transfer,
    /// A text that the player reads or wrote.
    Chat,
    /// A player's chat message with the sender's name, and since 1.19 a signature.
    PlayerChat,
    /// A command that the player entered, since 1.19.
    Command,
    /// The key that signs the player's chat, since 1.19.3.
    ChatSession,
    /// Properties of the server, among them whether it enforces signed chat; since 1.19.
    ServerData,
    /// The start or the end of a bundle, since 1.19.4.
    BundleDelimiter,
    /// The server's packet `login` of the game: the player is in, and has this entity id.
    JoinGame,
    /// Moves the player, which the client confirms.
    Teleport,
    /// The client's answer to [`Teleport`](Self::Teleport), since 1.9.
    TeleportConfirm,
    /// The player's position and rotation, or the rotation that the server gives; since 1.21.2.
    Movement,
    /// Confirms or rejects a click in a window; the client repeats a rejection. Up to 1.16.
    Transaction,
    /// Must be answered with the same number; since 1.17.
    Echo,
    /// The time of day.
    Time,
    /// A momentary effect, such as a sound or a particle, that changes no state.
    Momentary,
    /// The appearance of an entity.
    Spawn,
    /// A title, a subtitle or a text above the hotbar, or how long they are shown.
    Title,
    /// Offers or removes a resource pack, or answers an offer.
    ResourcePack,
    /// A message of a plugin or mod on a channel of its own.
    PluginMessage,
}

impl Role {
    /// Returns whether the packet leads to another [`State`].
    #[must_use]
    pub fn changes_state(self) -> bool {
        matches!(
            self,
            Self::LoginSuccess
                | Self::LoginAcknowledged
                | Self::StartConfiguration
                | Self::ConfigurationAcknowledged
                | Self::FinishConfiguration
        )
    }

    /// Returns the state of the packets behind this one in its direction, if that is all that it changes: not for
    /// [`LoginSuccess`](Self::LoginSuccess), see [`Protocol::follow`](super::Protocol::follow).
    #[must_use]
    pub fn next_state(self) -> Option<State> {
        match self {
            Self::FinishConfiguration => Some(State::Play),
            Self::LoginAcknowledged
            | Self::StartConfiguration
            | Self::ConfigurationAcknowledged => Some(State::Configuration),
            _ => None,
        }
    }

    /// Returns whether the packet affects how later packets are decoded, or what the session waits
    /// for.
    #[must_use]
    pub fn drives(self) -> bool {
        self.changes_state()
            || matches!(
                self,
                Self::Handshake
                    | Self::EncryptionRequest
                    | Self::EncryptionResponse
                    | Self::EncryptionStarted
                    | Self::SetCompression
            )
    }

    /// Returns the roles that packets of a name have, in any state and direction.
    pub fn all_of(name: &str) -> impl Iterator<Item = Self> {
        let places = State::ALL.into_iter().flat_map(|state| Direction::ALL.map(|it| (state, it)));
        places.filter_map(move |(state, direction)| Self::of(state, direction, name))
    }

    /// Returns the role of a packet, by the names used in the tables of all versions.
    #[must_use]
    pub(super) fn of(state: State, direction: Direction, name: &str) -> Option<Self> {
        use Direction::{Clientbound, Serverbound};
        use State::{Configuration, Handshaking, Login, Play, Status};
        Some(match (state, direction, name) {
            (Handshaking, Serverbound, "set_protocol") => Self::Handshake,
            (Status, Serverbound, "ping_start") => Self::StatusRequest,
            (Status, Serverbound, "legacy_server_list_ping") => Self::StatusRequest,
            (Status, Clientbound, "server_info" | "kick_disconnect") => Self::StatusResponse,
            (Status, _, "ping") => Self::Ping,
            (Login, Serverbound, "login_start") => Self::LoginStart,
            (Login | Play, Clientbound, "encryption_begin") => Self::EncryptionRequest,
            (Login | Play, Serverbound, "encryption_begin") => Self::EncryptionResponse,
            (Play, Clientbound, "encryption_response") => Self::EncryptionStarted,
            (Login, Clientbound, "compress") => Self::SetCompression,
            (Play, Clientbound, "set_compression") => Self::SetCompression,
            (Play, _, "handshake") => Self::Greeting,
            (Play, Serverbound, "login") => Self::UnframedLogin,
            (Play, Clientbound, "login") => Self::JoinGame,
            (Login, Clientbound, "success") => Self::LoginSuccess,
            (Login, Serverbound, "login_acknowledged") => Self::LoginAcknowledged,
            (Play, Clientbound, "start_configuration") => Self::StartConfiguration,
            (Play, Serverbound, "configuration_acknowledged") => Self::ConfigurationAcknowledged,
            (Configuration, _, "finish_configuration") => Self::FinishConfiguration,
            (Login | Configuration, Clientbound, "disconnect") => Self::Disconnect,
            (Play, Clientbound, "kick_disconnect") => Self::Disconnect,
            (Configuration | Play, _, "keep_alive") => Self::KeepAlive,
            (Configuration | Play, Clientbound, "transfer") => Self::Transfer,
            (Play, _, "chat" | "chat_message") => Self::Chat,
            (Play, Clientbound, "system_chat" | "profileless_chat") => Self::Chat,
            (Play, Clientbound, "player_chat") => Self::PlayerChat,
            (Play, Serverbound, "chat_command" | "chat_command_signed") => Self::Command,
            (Play, Serverbound, "chat_session_update") => Self::ChatSession,
            (Play, Clientbound, "server_data") => Self::ServerData,
            (Play, Clientbound, "bundle_delimiter") => Self::BundleDelimiter,
            (Play, Clientbound, "position" | "position_look") => Self::Teleport,
            (Play, Serverbound, "teleport_confirm") => Self::TeleportConfirm,
            (Play, Serverbound, "flying" | "position" | "look" | "position_look") => Self::Movement,
            (Play, Clientbound, "player_rotation") => Self::Movement,
            (Play, _, "transaction") => Self::Transaction,
            (Configuration | Play, Clientbound, "ping") => Self::Echo,
            (Configuration | Play, Serverbound, "pong") => Self::Echo,
            (Play, Clientbound, "update_time") => Self::Time,
            (Play, Clientbound, "animation" | "block_break_animation" | "world_particles") => {
                Self::Momentary
            }
            (Play, Clientbound, "named_sound_effect" | "sound_effect" | "entity_sound_effect") => {
                Self::Momentary
            }
            (Play, Clientbound, "pickup_spawn" | "named_entity_spawn") => Self::Spawn,
            (Play, Clientbound, name) if name.starts_with("spawn_entity") => Self::Spawn,
            (Play, Clientbound, "title" | "clear_titles" | "action_bar") => Self::Title,
            (Play, Clientbound, name) if name.starts_with("set_title_") => Self::Title,
            (Configuration | Play, Clientbound, "resource_pack_send") => Self::ResourcePack,
            (Configuration | Play, Clientbound, "add_resource_pack" | "remove_resource_pack") => {
                Self::ResourcePack
            }
            (Configuration | Play, Serverbound, "resource_pack_receive") => Self::ResourcePack,
            (Configuration | Play, _, "custom_payload") => Self::PluginMessage,
            (Login, Clientbound, "login_plugin_request") => Self::PluginMessage,
            (Login, Serverbound, "login_plugin_response") => Self::PluginMessage,
            _ => return None,
        })
    }
}
