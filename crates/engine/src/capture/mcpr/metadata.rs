use serde_json::Value as Json;

use super::McprFault;
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::wire::Escaped;

/// The part of `metaData.json` that says how a recording is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::capture) struct Metadata {
    /// The protocol number.
    pub(super) protocol: i32,
    /// `true` if the recording begins with the login, from file format 14 on; otherwise in the game.
    pub(super) has_login: bool,
    /// The time of the first packet; the epoch if it is not known.
    pub(super) begun: Timestamp,
    /// The server's name; empty if it is not known.
    pub(super) server: String,
}

impl Metadata {
    /// Parses the text of a `metaData.json`.
    pub(in crate::capture) fn parse(text: &[u8]) -> Result<Self, McprFault> {
        let json: Json =
            serde_json::from_slice(text).map_err(|it| McprFault::Metadata(it.to_string()))?;
        if !json.is_object() {
            return Err(McprFault::Metadata("not a JSON object".to_owned()));
        }
        let format = json["fileFormatVersion"].as_i64();
        let named = json["protocol"].as_i64().and_then(|it| i32::try_from(it).ok());
        let Some(protocol) = named.or_else(|| protocol_of(format?)) else {
            let version = json["mcversion"].as_str();
            let version = version.map(|it| it.chars().take(MAX_SHOWN).collect::<String>());
            let version = version.map(|it| Escaped(&it).to_string());
            return Err(McprFault::NoProtocol { format, version });
        };
        let millis = json["date"].as_u64().unwrap_or_default();
        let server = json["serverName"].as_str().unwrap_or_default();
        Ok(Self {
            protocol,
            has_login: format.is_none_or(|format| format >= WITH_LOGIN),
            begun: Timestamp(millis.checked_mul(1_000_000).unwrap_or_default()),
            server: server.chars().take(MAX_SERVER).collect(),
        })
    }
}

/// Returns the protocol of a file format that has no number for it: ReplayStudio's `ReplayMetaData`.
fn protocol_of(format: i64) -> Option<i32> {
    Some(match format {
        0 | 1 => 47,
        2 => 110,
        3 => 210,
        4 => 315,
        5 => 316,
        6 => 335,
        7 => 338,
        8 => 5,
        9 => 340,
        _ => return None,
    })
}

/// The first file format whose recordings begin with the login.
const WITH_LOGIN: i64 = 14;

/// Characters of a version's name that a message shows.
const MAX_SHOWN: usize = 40;

/// Characters of a server's name that are kept.
const MAX_SERVER: usize = 255;
