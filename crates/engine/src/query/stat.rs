use mitmcraft_protocol::schema::Value;
use mitmcraft_protocol::wire::Encoding;

/// The kind of stat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// MOTD, map, counts and address.
    Basic,
    /// The basic stat with version, plugins and the players' names.
    Full,
}

/// A stat of either kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stat {
    /// A basic stat.
    Basic(BasicStat),
    /// A full stat.
    Full(FullStat),
}

/// A basic stat. Counts are text, as they are sent: servers are free to send anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BasicStat {
    /// The MOTD, with `§` codes.
    pub motd: String,
    /// The game type, `SMP`.
    pub game_type: String,
    /// The map.
    pub world: String,
    /// Players on the server.
    pub players: String,
    /// The maximum number of players.
    pub max_players: String,
    /// The port that the server reports as its own.
    pub port: u16,
    /// The address that the server reports as its own.
    pub host: String,
}

/// A full stat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FullStat {
    /// Keys and values in order; old servers have `hostname` twice.
    pub values: Vec<(String, String)>,
    /// The players' names.
    pub players: Vec<String>,
}

impl BasicStat {
    pub(super) fn from_value(value: &Value) -> Self {
        let text = |name: &str| text(value.get(name));
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
    /// Returns the first value of a key.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Converts to a basic stat.
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

    /// Reads a datagram whose values contain NULs, as those of characters whose code ends with `00` do: the
    /// value of a key that servers send ends where the next such key begins. Returns `None` if it has not the
    /// parts of a full stat.
    pub(super) fn with_nuls(datagram: &[u8]) -> Option<Self> {
        let place = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).position(|it| it == part);
        let pairs = &datagram[place(datagram, HEADER)? + HEADER.len()..];
        let (pairs, players) = pairs.split_at(place(pairs, SEPARATOR)?);
        let text = |bytes: &[u8]| Encoding::Latin1.decode_lossy(bytes).into_owned();
        let pairs = pairs.strip_suffix(b"\0\0").unwrap_or(pairs);
        let texts: Vec<String> = pairs.split(|byte| *byte == 0).map(text).collect();
        let is_key = |place: &usize| KEYS.contains(&texts[*place].as_str());
        let (mut values, mut at) = (Vec::new(), 0);
        while at + 1 < texts.len() {
            let next = match is_key(&at) {
                true => (at + 2..texts.len()).find(is_key).unwrap_or(texts.len()),
                false => at + 2,
            };
            values.push((texts[at].clone(), texts[at + 1..next].join("\0")));
            at = next;
        }
        // Each name ends with a NUL, and another one ends the list.
        let players = players[SEPARATOR.len()..].strip_suffix(b"\0")?;
        let players = match players.strip_suffix(b"\0") {
            Some(players) => players.split(|byte| *byte == 0).map(text).collect(),
            None if players.is_empty() => Vec::new(),
            None => return None,
        };
        Some(Self { values, players })
    }

    /// Returns whether the value of the first key seems to end too early, so that what follows is not a key,
    /// but the key behind it comes later, be it in place of a value.
    pub(super) fn is_cut(&self) -> bool {
        let [(first, _), rest @ ..] = &self.values[..] else { return false };
        let mut rest = rest.iter();
        first == KEYS[0]
            && rest.clone().next().is_some_and(|(second, _)| !KEYS.contains(&second.as_str()))
            && rest.any(|(key, value)| [key, value].into_iter().any(|it| it == KEYS[1]))
    }

    pub(super) fn from_value(value: &Value) -> Self {
        let list = |name: &str| value.get(name).and_then(Value::as_list).unwrap_or_default().iter();
        let pair = |it: &Value| (text(it.get("key")), text(it.get("value")));
        Self {
            values: list("values").map(pair).collect(),
            players: list("players").map(|name| text(Some(name))).collect(),
        }
    }

    /// Encodes the pairs and names. An empty key or name would end its list, and is left out.
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

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_text).unwrap_or_default().to_owned()
}

/// Returns a text as a field. A NUL would end the field, and becomes a space.
fn field(text: &str) -> Value {
    Value::from(text.replace('\0', " ").as_str())
}

/// The keys that the game's server sends, in its order.
const KEYS: [&str; 10] = [
    "hostname",
    "gametype",
    "game_id",
    "version",
    "plugins",
    "map",
    "numplayers",
    "maxplayers",
    "hostport",
    "hostip",
];

/// The constant bytes before the pairs; their meaning is unknown.
const HEADER: &[u8] = b"splitnum\0\x80\0";

/// The constant bytes between the pairs and the names.
const SEPARATOR: &[u8] = b"\x01player_\0\0";
