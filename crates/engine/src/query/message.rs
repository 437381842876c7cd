use std::sync::Arc;

use mitmcraft_protocol::schema::{Catalog, Direction, Protocol, State, Value, query_magic};

use super::{BasicStat, FullStat, Kind, QueryError, Stat};

/// A message of a Query client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// A request for a token.
    Handshake {
        /// The client's own number, which the answer repeats.
        session: i32,
    },
    /// A request for a stat.
    Stat {
        /// The kind of stat.
        kind: Kind,
        /// The client's own number, which the answer repeats.
        session: i32,
        /// The token of the handshake.
        token: i32,
    },
}

/// A message of a Query server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A token, valid for about 30 s.
    Handshake {
        /// The client's session number.
        session: i32,
        /// The token to send with a stat request.
        token: i32,
    },
    /// A stat.
    Stat {
        /// The client's session number.
        session: i32,
        /// The stat.
        stat: Stat,
    },
}

impl Request {
    /// Decodes a datagram.
    ///
    /// # Errors
    /// Returns [`QueryError`] if it is not a request.
    pub fn decode(datagram: &[u8]) -> Result<Self, QueryError> {
        let body =
            datagram.strip_prefix(query_magic(Direction::Serverbound)).ok_or(QueryError::Magic)?;
        let (name, value) = decode(Direction::Serverbound, body)?;
        let session = int(&value, "sessionId");
        if name == HANDSHAKE {
            return Ok(Self::Handshake { session });
        }
        let full = value.get("padding").is_some_and(|it| *it.plain() != Value::Absent);
        let kind = if full { Kind::Full } else { Kind::Basic };
        Ok(Self::Stat { kind, session, token: int(&value, "token") })
    }

    /// Encodes the datagram.
    ///
    /// # Errors
    /// Never fails with the embedded description.
    pub fn encode(&self) -> Result<Vec<u8>, QueryError> {
        let (name, value) = match *self {
            Self::Handshake { session } => {
                (HANDSHAKE, Value::map([("sessionId", Value::from(session))]))
            }
            Self::Stat { kind, session, token } => {
                let padding = match kind {
                    Kind::Basic => Value::Absent,
                    Kind::Full => Value::Bytes(PADDING.into()),
                };
                let value = Value::map([
                    ("sessionId", Value::from(session)),
                    ("token", Value::from(token)),
                    ("padding", padding),
                ]);
                (STAT, value)
            }
        };
        let body = encode(Direction::Serverbound, name, &value)?;
        Ok([query_magic(Direction::Serverbound), &body].concat())
    }
}

impl Answer {
    /// Decodes a datagram.
    ///
    /// # Errors
    /// Returns [`QueryError`] if it is not an answer.
    pub fn decode(datagram: &[u8]) -> Result<Self, QueryError> {
        let (name, value) = match decode(Direction::Clientbound, datagram) {
            Ok(decoded) => decoded,
            Err(error) => return Self::with_nuls(datagram).ok_or(error),
        };
        let session = int(&value, "sessionId");
        if name == HANDSHAKE {
            let token = value.get("token").and_then(Value::as_text).unwrap_or("").trim();
            let token = token.parse().map_err(|_| QueryError::Token(token.to_owned()))?;
            return Ok(Self::Handshake { session, token });
        }
        let part = |name: &str| value.get(name).filter(|it| *it.plain() != Value::Absent);
        let stat = match (part("full"), part("basic")) {
            (Some(full), _) => {
                let full = FullStat::from_value(full);
                match Self::with_nuls(datagram).filter(|_| full.is_cut()) {
                    Some(answer) => return Ok(answer),
                    None => Stat::Full(full),
                }
            }
            (None, Some(basic)) => Stat::Basic(BasicStat::from_value(basic)),
            (None, None) => return Err(QueryError::Unexpected),
        };
        Ok(Self::Stat { session, stat })
    }

    /// Reads a full stat whose values contain NULs.
    fn with_nuls(datagram: &[u8]) -> Option<Self> {
        let (id, rest) = datagram.split_first()?;
        let (session, rest) = rest.split_first_chunk()?;
        let stat = FullStat::with_nuls(rest).filter(|_| *id == 0)?;
        Some(Self::Stat { session: i32::from_be_bytes(*session), stat: Stat::Full(stat) })
    }

    /// Encodes the datagram.
    ///
    /// # Errors
    /// Never fails with the embedded description.
    pub fn encode(&self) -> Result<Vec<u8>, QueryError> {
        match self {
            Self::Handshake { session, token } => {
                let value = Value::map([
                    ("sessionId", Value::from(*session)),
                    ("token", Value::from(token.to_string().as_str())),
                ]);
                encode(Direction::Clientbound, HANDSHAKE, &value)
            }
            Self::Stat { session, stat } => {
                let stat = match stat {
                    Stat::Basic(basic) => ("basic", basic.to_value()),
                    Stat::Full(full) => ("full", full.to_value()),
                };
                let value = Value::map([("sessionId", Value::from(*session)), stat]);
                encode(Direction::Clientbound, STAT, &value)
            }
        }
    }

    /// The client's session number.
    #[must_use]
    pub fn session(&self) -> i32 {
        match self {
            Self::Handshake { session, .. } | Self::Stat { session, .. } => *session,
        }
    }
}

fn decode(direction: Direction, body: &[u8]) -> Result<(String, Value), QueryError> {
    let protocol = protocol();
    let (packet, start) = protocol.identify(State::Status, direction, body)?;
    let value = protocol.decode(packet, body, start)?;
    Ok((packet.name().to_string(), value))
}

fn encode(direction: Direction, name: &str, value: &Value) -> Result<Vec<u8>, QueryError> {
    let protocol = protocol();
    let packet = protocol.named(State::Status, direction, name).expect("both names are described");
    Ok(protocol.encode(packet, value)?)
}

fn int(value: &Value, name: &str) -> i32 {
    // Both are 32-bit fields in the description.
    value.get(name).and_then(Value::as_int).map_or(0, |int| int as i32)
}

fn protocol() -> Arc<Protocol> {
    Catalog::embedded().query()
}

/// The bits of a session number that the game keeps.
pub const SESSION_MASK: i32 = 0x0f0f_0f0f;

/// The padding that makes a stat request a full one.
const PADDING: &[u8] = &[0; 4];

const HANDSHAKE: &str = "handshake";
const STAT: &str = "stat";

#[cfg(test)]
mod tests {
    use hex_literal::hex;

    use super::*;

    #[test]
    fn requests_are_those_of_the_document() {
        let handshake = Request::Handshake { session: 1 };
        assert_eq!(handshake.encode().unwrap(), hex!("fefd 09 00000001"));
        let stat = |kind| Request::Stat { kind, session: 1, token: 0x3a0d5f };
        assert_eq!(stat(Kind::Basic).encode().unwrap(), hex!("fefd 00 00000001 003a0d5f"));
        assert_eq!(stat(Kind::Full).encode().unwrap(), hex!("fefd 00 00000001 003a0d5f 00000000"));
        for request in [handshake, stat(Kind::Basic), stat(Kind::Full)] {
            assert_eq!(Request::decode(&request.encode().unwrap()), Ok(request));
        }
    }

    #[test]
    fn answers_read_back_whatever_their_text() {
        let basic = BasicStat { motd: "Zoë".into(), port: 25565, ..BasicStat::default() };
        let full = FullStat {
            values: vec![
                ("hostname".into(), "Zoë 中文".into()),
                ("plugins".into(), String::new()),
                ("hostname".into(), "::1".into()),
            ],
            players: vec!["Notch".into(), "é".into()],
        };
        assert_eq!((full.to_basic().motd.as_str(), &*full.to_basic().host), ("Zoë 中文", "::1"));
        let session = -7;
        for answer in [
            Answer::Handshake { session, token: i32::MIN },
            Answer::Stat { session, stat: Stat::Basic(basic) },
            Answer::Stat { session, stat: Stat::Full(full) },
            Answer::Stat { session, stat: Stat::Full(FullStat::default()) },
        ] {
            assert_eq!(Answer::decode(&answer.encode().unwrap()), Ok(answer));
        }
    }

    #[test]
    fn a_nul_in_a_value_takes_nothing_from_the_others() {
        let stat = |motd: &[u8], map: &[u8]| {
            let pairs: [&[u8]; 8] =
                [b"hostname", motd, b"gametype", b"SMP", b"map", map, b"hostip", b"::1"];
            let pairs = pairs.join(&0);
            let start = b"\0\0\0\0\x07splitnum\0\x80\0";
            let datagram = [start, &pairs[..], b"\0\0\x01player_\0\0Notch\0jeb_\0\0"].concat();
            let Ok(Answer::Stat { session: 7, stat: Stat::Full(full) }) = Answer::decode(&datagram)
            else {
                panic!("{motd:?}: {:?}", Answer::decode(&datagram))
            };
            assert_eq!(full.players, ["Notch", "jeb_"], "{motd:?}");
            assert_eq!(full.values.len(), 4, "{motd:?}: {full:?}");
            assert_eq!(full.value("hostip"), Some("::1"), "{motd:?}");
            ["hostname", "map"].map(|key| full.value(key).unwrap().to_owned())
        };
        for motd in ["plain", "", "A\0B", "\0x", "x\0", "A\0B\0C", "A\0\0B", "\0", "\0\0\0"] {
            assert_eq!(stat(motd.as_bytes(), b"world"), [motd, "world"]);
            if !motd.is_empty() {
                assert_eq!(stat(motd.as_bytes(), b"a\0b"), [motd, "a\0b"]);
            }
        }
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let error = |datagram: &[u8]| Answer::decode(datagram).unwrap_err().to_string();
        assert_eq!(error(&hex!("09 00000001 3100 00")), "1 byte left after the last field");
        assert_eq!(error(&hex!("09 00000001 7800")), "the token `x` is not a 32-bit number");
        assert!(error(&hex!("00 00000001 6100 6200")).starts_with("basic.world: "));
        assert_eq!(error(&hex!("07")), "no clientbound packet 0x07 in state status");
        assert_eq!(Request::decode(&hex!("09 00000001")), Err(QueryError::Magic));
    }
}
