use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The name of a packet, a field or a mapped value; shared, so that values carry it for free.
pub type Name = Arc<str>;

/// Which way a packet travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// From the server to the client.
    Clientbound,
    /// From the client to the server.
    Serverbound,
}

impl Direction {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Clientbound, Self::Serverbound];

    /// The other one.
    #[must_use]
    pub fn reverse(self) -> Self {
        match self {
            Self::Clientbound => Self::Serverbound,
            Self::Serverbound => Self::Clientbound,
        }
    }

    /// `clientbound` or `serverbound`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Clientbound => "clientbound",
            Self::Serverbound => "serverbound",
        }
    }

    /// What ProtoDef calls it.
    pub(super) fn side(self) -> &'static str {
        match self {
            Self::Clientbound => "toClient",
            Self::Serverbound => "toServer",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Direction {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL.into_iter().find(|it| it.name() == text).ok_or_else(|| UnknownName(text.into()))
    }
}

/// What decides the meaning of a packet id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Before the handshake.
    Handshaking,
    /// Server List Ping.
    Status,
    /// Login, with encryption and compression.
    Login,
    /// Registries and resource packs, since 1.20.2.
    Configuration,
    /// The game.
    Play,
}

impl State {
    /// All of them, in the order in which a session comes through them.
    pub const ALL: [Self; 5] =
        [Self::Handshaking, Self::Status, Self::Login, Self::Configuration, Self::Play];

    /// `handshaking`, `status`, `login`, `configuration` or `play`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Handshaking => "handshaking",
            Self::Status => "status",
            Self::Login => "login",
            Self::Configuration => "configuration",
            Self::Play => "play",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for State {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL.into_iter().find(|it| it.name() == text).ok_or_else(|| UnknownName(text.into()))
    }
}

/// A word that names no state or direction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown name `{0}`")]
pub struct UnknownName(pub String);

/// What a packet means to the session, whatever a version calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Opens a connection: version, address, next state.
    Handshake,
    /// Asks for the status.
    StatusRequest,
    /// The status, as JSON.
    StatusResponse,
    /// The ping of the status state and its answer.
    Ping,
    /// The player's name.
    LoginStart,
    /// The server's public key and verify token.
    EncryptionRequest,
    /// The shared secret and the token, encrypted.
    EncryptionResponse,
    /// The player's name, and the server's answer: how it wants the name proved. Before 1.7.
    Greeting,
    /// Protocol number and player's name in one. Before 1.7.
    Login,
    /// The threshold, from the next packet on.
    SetCompression,
    /// Ends the login state.
    LoginSuccess,
    /// The client's answer to it, since 1.20.2.
    LoginAcknowledged,
    /// Back from play to configuration.
    StartConfiguration,
    /// The client's answer to it.
    ConfigurationAcknowledged,
    /// Ends the configuration state; both sides send it.
    FinishConfiguration,
    /// Ends the session, with a reason.
    Disconnect,
    /// Must be answered with the same number.
    KeepAlive,
    /// Sends the client to another server, since 1.20.5.
    Transfer,
    /// A text that the player reads or wrote.
    Chat,
    /// What a player said, with his name and since 1.19 with his signature.
    PlayerChat,
    /// A command that the player wrote, since 1.19.
    Command,
    /// The key with which the player signs chat, since 1.19.3.
    ChatSession,
    /// What the server is, and whether it insists on signed chat; since 1.19.
    ServerData,
    /// The first or the last of a bundle, since 1.19.4.
    BundleDelimiter,
    /// Begins the game, with the player's entity id.
    Join,
    /// Puts the player somewhere; the client says that it is there.
    Teleport,
    /// The client's answer to it, since 1.9.
    TeleportConfirm,
    /// Where the player is and looks.
    Movement,
    /// Whether a click in a window was accepted, and the client's apology if not; up to 1.16.
    Transaction,
    /// Must be answered with the same number, since 1.17.
    Echo,
    /// The time of day.
    Time,
    /// Seen or heard for a moment, after which nothing is as it would not be without it.
    Momentary,
}

impl Role {
    /// Whether the packet changes how what comes after it is read, or what the session waits for.
    #[must_use]
    pub fn drives(self) -> bool {
        match self {
            Self::Handshake
            | Self::EncryptionRequest
            | Self::EncryptionResponse
            | Self::SetCompression
            | Self::LoginSuccess
            | Self::LoginAcknowledged
            | Self::StartConfiguration
            | Self::ConfigurationAcknowledged
            | Self::FinishConfiguration => true,
            Self::StatusRequest
            | Self::Greeting
            | Self::Login
            | Self::StatusResponse
            | Self::Ping
            | Self::LoginStart
            | Self::Disconnect
            | Self::KeepAlive
            | Self::Transfer
            | Self::Chat
            | Self::PlayerChat
            | Self::Command
            | Self::ChatSession
            | Self::ServerData
            | Self::BundleDelimiter
            | Self::Join
            | Self::Teleport
            | Self::TeleportConfirm
            | Self::Movement
            | Self::Transaction
            | Self::Echo
            | Self::Time
            | Self::Momentary => false,
        }
    }

    /// The role of a packet by the names that the tables of all versions use.
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
            (Login, Clientbound, "encryption_begin") => Self::EncryptionRequest,
            (Login, Serverbound, "encryption_begin") => Self::EncryptionResponse,
            (Login, Clientbound, "compress") => Self::SetCompression,
            (Play, Clientbound, "set_compression") => Self::SetCompression,
            (Play, _, "handshake") => Self::Greeting,
            (Play, Serverbound, "login") => Self::Login,
            (Play, Clientbound, "login") => Self::Join,
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
            _ => return None,
        })
    }
}
