use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, PacketType, Role, State, Value};

/// A kind of request that is answered with the number in it. The time until the answer is a round
/// trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exchange {
    /// The ping that follows a status, and its answer.
    StatusPing,
    /// A keep-alive and its answer.
    KeepAlive,
    /// A ping of the server in the game, and the client's pong.
    Ping,
    /// A ping of the client in the game, and the server's answer.
    PingRequest,
    /// A teleport and its confirmation.
    Teleport,
    /// A transaction of the server in a window, and the client's confirmation.
    Transaction,
    /// A click in a window, and the transaction that confirms it.
    Click,
    /// A question of a server's plugin during the login, and its answer.
    LoginPlugin,
}

/// The part of a packet in exchanges of request and answer: what it answers, and what it asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeRole {
    /// The exchange of which it answers a request, if one with its number is open.
    pub answers: Option<Exchange>,
    /// The exchange of which it is a request, if it is no answer.
    pub asks: Option<Exchange>,
    /// The number that a request and its answer have in common.
    pub number: i64,
}

impl Exchange {
    /// All exchanges with their names.
    pub(super) const ALL: [(Self, &str); 8] = [
        (Self::StatusPing, "status ping"),
        (Self::KeepAlive, "keep-alive"),
        (Self::Ping, "ping"),
        (Self::PingRequest, "ping request"),
        (Self::Teleport, "teleport confirm"),
        (Self::Transaction, "transaction"),
        (Self::Click, "window click"),
        (Self::LoginPlugin, "login plugin"),
    ];

    /// The direction of the request.
    pub(super) fn asked(self) -> Direction {
        match self {
            Self::StatusPing | Self::PingRequest | Self::Click => Direction::Serverbound,
            _ => Direction::Clientbound,
        }
    }

    /// Returns whether packets of a type belong to exchanges, as far as the type alone tells.
    #[must_use]
    pub fn has(kind: &PacketType) -> bool {
        Self::numbered(kind).is_some()
    }

    /// Returns the role of a packet if it belongs to an exchange.
    #[must_use]
    pub fn role(packet: &Packet) -> Option<ExchangeRole> {
        let is_clientbound = packet.direction() == Direction::Clientbound;
        let (exchange, fields) = Self::numbered(packet.kind()?)?;
        let number = number(&packet.value().ok()?, fields)?;
        let (answers, asks) = match exchange {
            // The server answers a click or makes a request of its own.
            Self::Transaction if is_clientbound => (Some(Self::Click), Some(exchange)),
            _ if packet.direction() == exchange.asked() => (None, Some(exchange)),
            _ => (Some(exchange), None),
        };
        Some(ExchangeRole { answers, asks, number })
    }

    /// Returns the exchange of the packets of a type, and the fields of their number.
    fn numbered(kind: &PacketType) -> Option<(Self, &'static [&'static str])> {
        let is_clientbound = kind.direction() == Direction::Clientbound;
        let game = matches!(kind.state(), State::Play | State::Configuration);
        Some(match (kind.role(), &**kind.name()) {
            (Some(Role::KeepAlive), _) => (Self::KeepAlive, &["keepAliveId"]),
            (Some(Role::Ping), _) => (Self::StatusPing, &["time"]),
            (_, "ping" | "pong") if game => (Self::Ping, &["id"]),
            (_, "ping_request" | "ping_response") => (Self::PingRequest, &["id"]),
            (_, "position") if is_clientbound => (Self::Teleport, &["teleportId"]),
            (_, "teleport_confirm") => (Self::Teleport, &["teleportId"]),
            (_, "window_click") => (Self::Click, &["windowId", "action"]),
            (_, "transaction") => (Self::Transaction, &["windowId", "action"]),
            (_, "login_plugin_request" | "login_plugin_response") => {
                (Self::LoginPlugin, &["messageId"])
            }
            _ => return None,
        })
    }
}

/// Combines the numbers in these fields into one.
fn number(value: &Value, fields: &[&str]) -> Option<i64> {
    fields.iter().try_fold(0i64, |number, field| {
        let int = match value.get(field)?.plain() {
            Value::Int(int) => *int,
            Value::Unsigned(int) => int.cast_signed(),
            _ => return None,
        };
        Some(number.wrapping_mul(1 << 32).wrapping_add(int))
    })
}
