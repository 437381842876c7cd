use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, Role, State, Value};

/// A kind of request that is answered with the number in it. The time until the answer is a round
/// trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Exchange {
    StatusPing,
    KeepAlive,
    Ping,
    PingRequest,
    Teleport,
    Transaction,
    Click,
    LoginPlugin,
}

/// The role of a packet in an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExchangeRole {
    /// A request with that number.
    Asks(Exchange, i64),
    /// The answer to the request with that number.
    Answers(Exchange, i64),
    /// The answer to an open request of the second kind with that number, otherwise a request of the
    /// first kind.
    Either(Exchange, Exchange, i64),
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

    /// Returns the role of a packet if it belongs to an exchange.
    pub(super) fn role(packet: &Packet) -> Option<ExchangeRole> {
        use Direction::{Clientbound, Serverbound};
        let known = packet.kind()?;
        let game = matches!(packet.state(), State::Play | State::Configuration);
        let (exchange, fields): (Self, &[&str]) = match (known.role(), &**known.name()) {
            (Some(Role::KeepAlive), _) => (Self::KeepAlive, &["keepAliveId"]),
            (Some(Role::Ping), _) => (Self::StatusPing, &["time"]),
            (_, "ping" | "pong") if game => (Self::Ping, &["id"]),
            (_, "ping_request" | "ping_response") => (Self::PingRequest, &["id"]),
            (_, "position") if packet.direction() == Clientbound => {
                (Self::Teleport, &["teleportId"])
            }
            (_, "teleport_confirm") => (Self::Teleport, &["teleportId"]),
            (_, "window_click") => (Self::Click, &["windowId", "action"]),
            (_, "transaction") => (Self::Transaction, &["windowId", "action"]),
            (_, "login_plugin_request" | "login_plugin_response") => {
                (Self::LoginPlugin, &["messageId"])
            }
            _ => return None,
        };
        let number = number(&packet.value().ok()?, fields)?;
        let asks = packet.direction() == exchange.asked();
        Some(match (exchange, packet.direction()) {
            // The server answers a click or makes a request of its own.
            (Self::Transaction, Clientbound) => {
                ExchangeRole::Either(Self::Transaction, Self::Click, number)
            }
            (Self::Transaction, Serverbound) => ExchangeRole::Answers(exchange, number),
            _ if asks => ExchangeRole::Asks(exchange, number),
            _ => ExchangeRole::Answers(exchange, number),
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
