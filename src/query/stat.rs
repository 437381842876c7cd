use crate::schema::Value;

use super::text::{field, shown};

/// Which stat is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// MOTD, map, counts and address.
    Basic,
    /// Version, plugins and the players' names too.
    Full,
}

/// An answer to a stat request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stat {
    /// To a basic one.
    Basic(BasicStat),
    /// To a full one.
    Full(FullStat),
}

/// The basic stat. Counts are text, as they came: servers are free to say other things.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BasicStat {
    /// The MOTD, with `§` codes.
    pub motd: String,
    /// `SMP`.
    pub game_type: String,
    /// The map.
    pub world: String,
    /// Players on the server.
    pub players: String,
    /// Players that it has room for.
    pub max_players: String,
    /// Where it says to listen.
    pub port: u16,
    /// Where it says to listen.
    pub host: String,
}

/// The full stat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FullStat {
    /// Keys and values in order; old servers have `hostname` twice.
    pub values: Vec<(String, String)>,
    /// The players' names.
    pub players: Vec<String>,
}

impl BasicStat {
    pub(super) fn from_value(value: &Value) -> Self {
        let text =
            |name: &str| value.get(name).and_then(Value::as_text).map_or(String::new(), shown);
        let port = value.get("hostPort").and_then(Value::as_int);
        Self {
            motd: text("motd"),
            game_type: text("gameType"),
            world: text("world"),
            players: text("numPlayers"),
            max_players: text("maxPlayers"),
            port: port.and_then(|port| u16::try_from(port).ok()).unwrap_or(0),
            host: text("hostname"),
        }
    }

    pub(super) fn to_value(&self) -> Value {
        Value::map([
            ("motd", field(&self.motd)),
            ("gameType", field(&self.game_type)),
            ("world", field(&self.world)),
            ("numPlayers", field(&self.players)),
            ("maxPlayers", field(&self.max_players)),
            ("hostPort", Value::Int(self.port.into())),
            ("hostname", field(&self.host)),
        ])
    }
}

impl FullStat {
    /// The first value of that key.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The same as a basic stat.
    #[must_use]
    pub fn to_basic(&self) -> BasicStat {
        let text = |key: &str| self.value(key).unwrap_or("").to_owned();
        let hosts = self.values.iter().filter(|(key, _)| key == "hostname").skip(1);
        let host = self.value("hostip").or_else(|| hosts.map(|(_, it)| it.as_str()).next());
        BasicStat {
            motd: text("hostname"),
            game_type: text("gametype"),
            world: text("map"),
            players: text("numplayers"),
            max_players: text("maxplayers"),
            port: self.value("hostport").and_then(|port| port.parse().ok()).unwrap_or(0),
            host: host.unwrap_or("").to_owned(),
        }
    }

    pub(super) fn from_value(value: &Value) -> Self {
        let list = |name: &str| match value.get(name).map(Value::plain) {
            Some(Value::List(items)) => items.clone(),
            _ => Vec::new(),
        };
        let text =
            |value: Option<&Value>| value.and_then(Value::as_text).map_or(String::new(), shown);
        let pair = |it: &Value| (text(it.get("key")), text(it.get("value")));
        Self {
            values: list("values").iter().map(pair).collect(),
            players: list("players").iter().map(|name| text(Some(name))).collect(),
        }
    }

    /// An empty key or name would end its list, and is left out.
    pub(super) fn to_value(&self) -> Value {
        let pairs = self.values.iter().filter(|(key, _)| !key.is_empty());
        let pair = |(key, value): &(String, String)| {
            Value::map([("key", field(key)), ("value", field(value))])
        };
        let players = self.players.iter().filter(|name| !name.is_empty());
        Value::map([
            ("header", Value::Bytes(HEADER.into())),
            ("values", Value::List(pairs.map(pair).collect())),
            ("separator", Value::Bytes(SEPARATOR.into())),
            ("players", Value::List(players.map(|name| field(name)).collect())),
        ])
    }
}

/// What comes before the pairs; nobody knows why.
const HEADER: &[u8] = b"splitnum\0\x80\0";

/// What comes between the pairs and the names.
const SEPARATOR: &[u8] = b"\x01player_\0\0";
