use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::{Form, PingError, legacy};
use mitmcraft_protocol::packet::StyledText;
use mitmcraft_protocol::schema::Value;

/// The status of a server. Fields that its form does not have, or that the server omitted, are
/// `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Status {
    /// The form of the ping that the server answered.
    pub form: Form,
    /// The response as received: JSON since 1.7, the text of a kick before.
    pub answer: String,
    /// The MOTD as received: a chat component in JSON since 1.7, text with `§` codes before.
    pub description: String,
    /// The game version, as the server words it.
    pub version: Option<String>,
    /// The protocol number.
    pub protocol: Option<i64>,
    /// Number of players online.
    pub online: Option<i64>,
    /// Maximum number of players.
    pub max: Option<i64>,
    /// Some of the players online.
    pub sample: Vec<Player>,
    /// The icon: a PNG image of 64 x 64 pixels.
    pub favicon: Option<Bytes>,
    /// Name and content of the member that Forge adds: `modinfo` (up to 1.12) or `forgeData`.
    pub mods: Option<(String, Json)>,
    /// The number of bytes behind the status, which mods append.
    pub left: usize,
    /// Time from the ping to its answer; before 1.7, from the request to the response.
    pub latency: Option<Duration>,
}

/// A player listed in a [`Status`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Player {
    /// The player's name. Some servers put advertisements here.
    pub name: String,
    /// The player's UUID as text.
    pub id: String,
}

impl Status {
    /// Creates a status with a MOTD and no other fields.
    #[must_use]
    pub fn new(form: Form, description: impl Into<String>) -> Self {
        Self { form, description: description.into(), ..Self::default() }
    }

    /// Reads the JSON of a status response (1.7 and later). Members that are missing or of another
    /// type are `None`; [`answer`](Self::answer) keeps the whole text.
    ///
    /// # Errors
    /// [`PingError::Json`] if it is not a JSON object.
    pub fn from_json(answer: &str) -> Result<Self, PingError> {
        let json: Json =
            serde_json::from_str(answer).map_err(|error| PingError::Json(error.to_string()))?;
        let Json::Object(json) = json else {
            return Err(PingError::Json("it is of another type".into()));
        };
        let part = |object: &str, key: &str| json.get(object).and_then(|it| it.get(key)).cloned();
        let text = |json: Option<Json>| json.and_then(|it| it.as_str().map(str::to_owned));
        let int = |json: Option<Json>| json.as_ref().and_then(integer);
        let sample = part("players", "sample").and_then(|it| it.as_array().cloned());
        Ok(Self {
            answer: answer.to_owned(),
            version: text(part("version", "name")),
            protocol: int(part("version", "protocol")),
            online: int(part("players", "online")),
            max: int(part("players", "max")),
            sample: sample.unwrap_or_default().iter().map(player).collect(),
            favicon: json.get("favicon").and_then(Json::as_str).and_then(icon),
            mods: MODS
                .iter()
                .find_map(|name| json.get(*name).map(|it| ((*name).to_owned(), it.clone()))),
            ..Self::new(Form::V1_7, json.get("description").map_or(String::new(), Json::to_string))
        })
    }

    /// Reads the text of a response before 1.7.
    ///
    /// # Errors
    /// [`PingError::Kick`] if it is not a status.
    pub fn from_kick(form: Form, answer: &str) -> Result<Self, PingError> {
        let parts = legacy::parts(answer).ok_or_else(|| PingError::Kick(answer.to_owned()))?;
        let text = |name: &str| parts.get(name).and_then(Value::as_text);
        let int = |name: &str| parts.get(name).and_then(Value::as_int);
        Ok(Self {
            answer: answer.to_owned(),
            version: text("version").map(str::to_owned),
            protocol: int("protocolVersion"),
            online: int("online"),
            max: int("max"),
            ..Self::new(form, text("motd").unwrap_or_default())
        })
    }

    /// Returns the MOTD with its colours.
    #[must_use]
    pub fn motd(&self) -> StyledText {
        StyledText::parse(&self.description)
    }

    /// Returns whether the server enforces signed chat. Servers say it since 1.19.1, and `true` only if
    /// they are in online mode; `None` if this one does not.
    #[must_use]
    pub fn enforces_signed_chat(&self) -> Option<bool> {
        serde_json::from_str::<Json>(&self.answer).ok()?.get("enforcesSecureChat")?.as_bool()
    }

    /// Returns how many mods the server lists; `None` if it lists none in a form that is known.
    #[must_use]
    pub fn mod_count(&self) -> Option<usize> {
        let (_, mods) = self.mods.as_ref()?;
        if let Some(count) = mods.get(PACKED).and_then(Json::as_str).and_then(packed_count) {
            return Some(count);
        }
        MOD_LISTS.iter().find_map(|key| mods.get(key)?.as_array()).map(Vec::len)
    }

    /// Returns the JSON of a status response (1.7 and later).
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut players =
            json!({ "max": self.max.unwrap_or(0), "online": self.online.unwrap_or(0) });
        if !self.sample.is_empty() {
            let sample = self.sample.iter();
            players["sample"] = sample.map(|it| json!({ "name": it.name, "id": it.id })).collect();
        }
        let description = serde_json::from_str(&self.description);
        let mut json = json!({
            "version": {
                "name": self.version.as_deref().unwrap_or(""),
                "protocol": self.protocol.unwrap_or(-1),
            },
            "players": players,
            "description": description.unwrap_or_else(|_| Json::from(self.description.as_str())),
        });
        if let Some(favicon) = &self.favicon {
            json["favicon"] = format!("{ICON}{}", STANDARD.encode(favicon)).into();
        }
        if let Some((name, mods)) = &self.mods {
            json[name.as_str()] = mods.clone();
        }
        json.to_string()
    }

    /// Returns the text of a response before 1.7. Separators within a part are replaced by spaces.
    #[must_use]
    pub fn to_kick(&self, form: Form) -> String {
        let (online, max) = (self.online.unwrap_or(0), self.max.unwrap_or(0));
        match form {
            Form::Beta => format!("{}§{online}§{max}", self.motd().plain()),
            Form::V1_4 | Form::V1_6 | Form::V1_7 => {
                let part = |text: &str| text.replace('\0', " ");
                let (version, motd) = (self.version.as_deref(), self.motd().codes());
                let (version, motd) = (part(version.unwrap_or("")), part(&motd));
                let protocol = self.protocol.unwrap_or(-1);
                format!("{MARK}{protocol}\0{version}\0{motd}\0{online}\0{max}")
            }
        }
    }
}

/// Returns an integer. Some servers write their numbers as floats.
fn integer(json: &Json) -> Option<i64> {
    let whole = |float: f64| (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64);
    json.as_i64().or_else(|| json.as_f64().and_then(whole))
}

fn player(json: &Json) -> Player {
    let text = |key: &str| json.get(key).and_then(Json::as_str).unwrap_or("").to_owned();
    Player { name: text("name"), id: text("id") }
}

/// Returns the number at the front of a packed list of mods: 15 bits in each character, the lowest first. The
/// first two characters are the size in bytes; a bool and the number, in two bytes, follow.
fn packed_count(text: &str) -> Option<usize> {
    let mut units = text.encode_utf16().map(usize::from);
    let size = units.next()? | units.next()? << 15;
    let bits = (units.next()? & 0x7fff) | (units.next()? & 0x7fff) << 15;
    (size >= 3 && bits & 0xff <= 1).then_some((bits >> 8 & 0xff) << 8 | bits >> 16 & 0xff)
}

/// Decodes the icon. Early servers break the base64 into lines.
fn icon(text: &str) -> Option<Bytes> {
    let data: String = text.strip_prefix(ICON)?.split_ascii_whitespace().collect();
    STANDARD.decode(data).ok().map(Bytes::from)
}

/// Start of a response text of 1.4 to 1.6.
const MARK: &str = "§1\0";

/// Prefix of the icon's base64.
const ICON: &str = "data:image/png;base64,";

/// Members of those that Forge adds, with a list of mods each: of `modinfo`, and of `forgeData`.
const MOD_LISTS: [&str; 2] = ["modList", "mods"];

/// The member of `forgeData` with a packed list (1.18 and later), beside which `mods` is empty.
const PACKED: &str = "d";

/// Members in which Forge lists a server's mods.
const MODS: [&str; 2] = ["modinfo", "forgeData"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_documented_status_with_forges_additions() {
        let answer = r#"{"version":{"name":"1.7.9","protocol":5},"players":{"max":100,"online":5,
            "sample":[{"name":"thinkofdeath","id":"4566e69f-c907-48ee-8d71-d7ba5aa00d20"}]},
            "description":{"text":"Hello world"},"favicon":"data:image/png;base64,iVBO\nRw==",
            "modinfo":{"type":"FML","modList":[{"modid":"mcp","version":"8.09"}]}}"#;
        let status = Status::from_json(answer).unwrap();
        assert_eq!(status.version.as_deref(), Some("1.7.9"));
        assert_eq!((status.protocol, status.online, status.max), (Some(5), Some(5), Some(100)));
        assert_eq!(status.sample[0].name, "thinkofdeath");
        assert_eq!(status.motd().plain(), "Hello world");
        assert_eq!(status.favicon.as_deref(), Some(&b"\x89PNG"[..]));
        let (name, mods) = status.mods.clone().unwrap();
        assert_eq!((name.as_str(), &mods["modList"][0]["modid"]), ("modinfo", &json!("mcp")));
        let again = Status::from_json(&status.to_json()).unwrap();
        assert_eq!(again, Status { answer: again.answer.clone(), ..status });
    }

    #[test]
    fn counts_the_mods_of_every_form_of_list() {
        let packed = |bytes: &[u8]| -> String {
            let bit =
                |at: usize| bytes.get(at / 8).map_or(0, |byte| u32::from(byte >> (at % 8) & 1));
            let unit = |place: usize| (0..15).fold(0, |unit, it| unit | bit(place * 15 + it) << it);
            let units = (0..(bytes.len() * 8).div_ceil(15)).map(unit);
            let size = u32::try_from(bytes.len()).unwrap();
            [size & 0x7fff, size >> 15]
                .into_iter()
                .chain(units)
                .filter_map(char::from_u32)
                .collect()
        };
        let list = [&[0, 0x01, 0x2c][..], &[2; 40]].concat();
        for (member, count) in [
            (json!({ "modinfo": { "type": "FML", "modList": [{}, {}] } }), Some(2)),
            (json!({ "forgeData": { "mods": [{}], "fmlNetworkVersion": 2 } }), Some(1)),
            (json!({ "forgeData": { "mods": [], "d": packed(&list) } }), Some(300)),
            (json!({ "forgeData": { "mods": [], "d": packed(&[1, 0, 7]) } }), Some(7)),
            (json!({ "forgeData": { "mods": [{}], "d": "" } }), Some(1)),
            (json!({ "forgeData": { "d": "ab" } }), None),
            (json!({ "modinfo": true }), None),
            (json!({}), None),
        ] {
            let status = Status::from_json(&member.to_string()).unwrap();
            assert_eq!(status.mod_count(), count, "{member}");
        }
    }

    #[test]
    fn accepts_a_status_with_missing_or_unusual_members() {
        let status = Status::from_json(r#"{"players":{"max":20.0,"sample":null}}"#).unwrap();
        assert_eq!((status.max, status.online, status.version), (Some(20), None, None));
        assert!(status.sample.is_empty() && status.description.is_empty());
        for text in ["", "[]", "\"hi\"", "{"] {
            assert!(matches!(Status::from_json(text), Err(PingError::Json(_))), "{text}");
        }
    }

    #[test]
    fn a_status_from_before_1_7_reads_back() {
        let mut status = Status::new(Form::V1_4, "§4Red \u{1f600}");
        status.version = Some("1.5.2".into());
        (status.protocol, status.online, status.max) = (Some(61), Some(-1), Some(20));
        let kick = status.to_kick(Form::V1_4);
        assert_eq!(kick, "§1\x0061\x001.5.2\0§4Red \u{1f600}\0-1\x0020");
        let read = Status::from_kick(Form::V1_4, &kick).unwrap();
        assert_eq!(read, Status { answer: kick, ..status.clone() });
        assert_eq!(status.to_kick(Form::Beta), "Red \u{1f600}§-1§20");
    }
}
