use serde_json::{Map, Value as Json};
use thiserror::Error;

use crate::filter::{EditPath, hex};
use crate::link::{RuledPacket, RuledSend, RuledVerdict, Ruling};
use mitmcraft_protocol::schema::Direction;

/// A line of a program that decides on packets.
#[derive(Debug)]
pub(super) struct Answer {
    /// The number of the question.
    pub(super) id: u64,
    pub(super) ruling: Ruling,
}

impl Answer {
    /// Parses a line.
    ///
    /// # Errors
    /// The reason why it is not an answer.
    pub(super) fn parse(line: &[u8]) -> Result<Self, AnswerError> {
        let json: Json =
            serde_json::from_slice(line).map_err(|error| AnswerError::Json(error.to_string()))?;
        let Json::Object(mut keys) = json else { return Err(AnswerError::NoObject) };
        let id = keys.remove("id").ok_or(AnswerError::NoId)?;
        let id = id.as_u64().ok_or(AnswerError::Id(id))?;
        let sends = keys.remove("send").map_or(Ok(Vec::new()), sends)?;
        let mut verdicts = Vec::new();
        for (key, value) in keys {
            verdicts.push(match &*key {
                "pass" | "drop" if value != Json::Bool(true) => {
                    return Err(AnswerError::NotTrue(key));
                }
                "pass" => RuledVerdict::Pass,
                "drop" => RuledVerdict::Drop,
                "set" => RuledVerdict::Set(fields(value)?),
                "replace" => RuledVerdict::Replace(packet(object(value, "replace")?, "replace")?),
                _ => return Err(AnswerError::UnknownKey { key, of: "an answer" }),
            });
        }
        let verdict = match verdicts.len() {
            0 if sends.is_empty() => return Err(AnswerError::NotOne),
            // What only sends leaves the packet as it is.
            0 => RuledVerdict::Pass,
            1 => verdicts.remove(0),
            _ => return Err(AnswerError::NotOne),
        };
        Ok(Self { id, ruling: Ruling { verdict, sends, size: line.len() } })
    }
}

/// Reads the fields to set, by their paths.
fn fields(json: Json) -> Result<Vec<(EditPath, Json)>, AnswerError> {
    let fields = object(json, "set")?.into_iter().map(|(path, value)| {
        let parsed = EditPath::parse(&path)
            .map_err(|(why, _)| AnswerError::Path { path: path.clone(), why })?;
        Ok((parsed, value))
    });
    fields.collect()
}

/// Reads the packets to send: a list, or one.
fn sends(json: Json) -> Result<Vec<RuledSend>, AnswerError> {
    let list = match json {
        Json::Array(list) => list,
        one => vec![one],
    };
    if list.len() > MAX_SENDS {
        return Err(AnswerError::TooManySends);
    }
    list.into_iter().map(send).collect()
}

fn send(json: Json) -> Result<RuledSend, AnswerError> {
    let mut keys = object(json, "send")?;
    let to = keys.remove("to").ok_or(AnswerError::NoReceiver)?;
    let direction = match to.as_str() {
        Some("client") => Direction::Clientbound,
        Some("server") => Direction::Serverbound,
        _ => return Err(AnswerError::Receiver(to)),
    };
    let place = keys.remove("place");
    let before = match place.as_ref().map(Json::as_str) {
        None | Some(Some("after")) => false,
        Some(Some("before")) => true,
        Some(_) => return Err(AnswerError::Place),
    };
    let packet = packet(keys, "send")?;
    if let RuledPacket::Fields(None, _) = packet {
        return Err(AnswerError::NoName);
    }
    Ok(RuledSend { direction, before, packet })
}

/// Reads a packet, given by its fields or in hex.
fn packet(mut keys: Map<String, Json>, of: &'static str) -> Result<RuledPacket, AnswerError> {
    let (name, fields, bytes) = (keys.remove("packet"), keys.remove("fields"), keys.remove("hex"));
    if let Some((key, _)) = keys.into_iter().next() {
        let of = if of == "send" { "`send`" } else { "`replace`" };
        return Err(AnswerError::UnknownKey { key, of });
    }
    match (name, fields, bytes) {
        (None, None, Some(bytes)) => {
            let body = bytes.as_str().and_then(hex);
            let body = body.ok_or(AnswerError::Hex(of))?;
            Ok(RuledPacket::Body(body))
        }
        (_, _, Some(_)) => Err(AnswerError::HexAndMore(of)),
        (None, None, None) => Err(AnswerError::NoBody(of)),
        (name, fields, None) => {
            let name = match name {
                None => None,
                Some(Json::String(name)) => Some(name),
                Some(_) => return Err(AnswerError::Name(of)),
            };
            let fields = object(fields.unwrap_or_else(|| Json::Object(Map::new())), "fields")?;
            Ok(RuledPacket::Fields(name, Json::Object(fields)))
        }
    }
}

fn object(json: Json, key: &'static str) -> Result<Map<String, Json>, AnswerError> {
    match json {
        Json::Object(keys) => Ok(keys),
        _ => Err(AnswerError::NotObject(key)),
    }
}

/// The reason why a line is not an answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// It is not JSON, for the reason that the text gives.
    #[error("{0}")]
    Json(String),
    /// It is another value than an object.
    #[error("it is not an object")]
    NoObject,
    /// It does not say which question it answers.
    #[error("it has no `id`")]
    NoId,
    /// Its `id` is not a number.
    #[error("`id` is {0}, not the number of a packet")]
    Id(Json),
    /// A key has another value than `true`.
    #[error("`{0}` can only be `true`")]
    NotTrue(String),
    /// It has a key that there is not.
    #[error("`{key}` is not a key of {of}")]
    UnknownKey {
        /// The key.
        key: String,
        /// What has it.
        of: &'static str,
    },
    /// It decides nothing, or several things.
    #[error("it must have one of `pass`, `drop`, `set` and `replace`")]
    NotOne,
    /// The path of a field is invalid.
    #[error("`{path}`: {why}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It sends more packets than an answer can.
    #[error("`send` has more than {MAX_SENDS} packets")]
    TooManySends,
    /// A packet to send has no receiver.
    #[error("`send` has no `to`")]
    NoReceiver,
    /// The receiver of a packet to send is neither peer.
    #[error("`to` is {0}: expected \"client\" or \"server\"")]
    Receiver(Json),
    /// The place of a packet to send is unknown.
    #[error("`place` is neither \"before\" nor \"after\"")]
    Place,
    /// A packet to send has no name.
    #[error("`send` has no `packet`, the name of what to send")]
    NoName,
    /// A packet's name is not a text.
    #[error("`packet` of `{0}` is not a name")]
    Name(&'static str),
    /// A packet's bytes are not in hex.
    #[error("`hex` of `{0}` is not bytes in hex")]
    Hex(&'static str),
    /// A packet is given by its bytes and otherwise.
    #[error("`{0}` has `hex` and more than that")]
    HexAndMore(&'static str),
    /// A packet has no content.
    #[error("`{0}` has neither `fields` nor `hex`")]
    NoBody(&'static str),
    /// A key has another value than an object.
    #[error("`{0}` is not an object")]
    NotObject(&'static str),
}

/// Most packets that one answer sends.
const MAX_SENDS: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_answer_is_read() {
        for (line, wanted) in [
            (r#"{"id":1,"pass":true}"#, "Pass"),
            (r#" {"drop":true,"id":1} "#, "Drop"),
            (r##"{"id":1,"set":{"a.b[0]":null,"r#/x":1}}"##, "Set"),
            (r#"{"id":1,"replace":{"fields":{"a":1}}}"#, "Replace(Fields(None"),
            (
                r#"{"id":1,"replace":{"packet":"chat"}}"#,
                "Replace(Fields(Some(\"chat\"), Object {})",
            ),
            (r#"{"id":1,"replace":{"hex":"01 02"}}"#, "Replace(Body(b\"\\x01\\x02\"))"),
            (r#"{"id":1,"send":{"to":"client","packet":"chat"}}"#, "Pass"),
        ] {
            let answer = Answer::parse(line.as_bytes()).unwrap();
            let read = format!("{:?}", answer.ruling.verdict);
            assert!(answer.id == 1 && read.starts_with(wanted), "{line}: {read}");
        }
        let sends = r#"{"id":1,"drop":true,"send":[
            {"to":"client","packet":"chat","fields":{"a":1},"place":"before"},
            {"to":"server","hex":"00","place":"after"}]}"#;
        let sends = Answer::parse(sends.as_bytes()).unwrap().ruling.sends;
        let places: Vec<_> = sends.iter().map(|it| (it.direction, it.before)).collect();
        assert_eq!(places, [(Direction::Clientbound, true), (Direction::Serverbound, false)]);
    }

    #[test]
    fn what_is_not_an_answer_is_refused_with_the_reason() {
        for (line, wanted) in [
            ("hello", "expected value"),
            ("[]", "it is not an object"),
            (r#"{"pass":true}"#, "it has no `id`"),
            (r#"{"id":"1","pass":true}"#, "`id` is \"1\", not the number of a packet"),
            (r#"{"id":-1,"pass":true}"#, "`id` is -1"),
            (r#"{"id":1}"#, "it must have one of"),
            (r#"{"id":1,"send":[]}"#, "it must have one of"),
            (r#"{"id":1,"pass":true,"drop":true}"#, "it must have one of"),
            (r#"{"id":1,"drop":false}"#, "`drop` can only be `true`"),
            (r#"{"id":1,"kick":"x"}"#, "`kick` is not a key of an answer"),
            (r#"{"id":1,"set":[]}"#, "`set` is not an object"),
            (r#"{"id":1,"set":{"a..b":1}}"#, "`a..b`: "),
            (r#"{"id":1,"replace":{}}"#, "`replace` has neither `fields` nor `hex`"),
            (r#"{"id":1,"replace":{"hex":"0"}}"#, "`hex` of `replace` is not bytes in hex"),
            (r#"{"id":1,"replace":{"hex":"00","fields":{}}}"#, "has `hex` and more"),
            (r#"{"id":1,"replace":{"packet":1}}"#, "is not a name"),
            (r#"{"id":1,"replace":{"fields":1}}"#, "`fields` is not an object"),
            (r#"{"id":1,"send":[{"packet":"chat"}]}"#, "`send` has no `to`"),
            (r#"{"id":1,"send":[{"to":"all"}]}"#, "expected \"client\" or \"server\""),
            (r#"{"id":1,"send":[{"to":"client","place":1,"hex":"00"}]}"#, "`place` is neither"),
            (r#"{"id":1,"send":[{"to":"client","fields":{}}]}"#, "`send` has no `packet`"),
            (
                r#"{"id":1,"send":[{"to":"client","packet":"a","x":1}]}"#,
                "`x` is not a key of `send`",
            ),
        ] {
            let said = Answer::parse(line.as_bytes()).unwrap_err();
            assert!(said.to_string().contains(wanted), "{line}: {said}");
        }
        let many = format!(r#"{{"id":1,"send":[{}0]}}"#, "0,".repeat(1000));
        assert_eq!(Answer::parse(many.as_bytes()).unwrap_err(), AnswerError::TooManySends);
        assert!(Answer::parse("[".repeat(100_000).as_bytes()).is_err(), "no stack overflow");
        assert!(Answer::parse(b"\xff").is_err());
    }
}
