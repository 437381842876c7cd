use serde_json::{Map, Value as Json};

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
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        let json: Json = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let Json::Object(mut keys) = json else { return Err("it is not an object".to_owned()) };
        let id = keys.remove("id").ok_or("it has no `id`")?;
        let id = id.as_u64().ok_or_else(|| format!("`id` is {id}, not the number of a packet"))?;
        let sends = keys.remove("send").map_or(Ok(Vec::new()), sends)?;
        let mut verdicts = Vec::new();
        for (key, value) in keys {
            verdicts.push(match &*key {
                "pass" | "drop" if value != Json::Bool(true) => {
                    return Err(format!("`{key}` can only be `true`"));
                }
                "pass" => RuledVerdict::Pass,
                "drop" => RuledVerdict::Drop,
                "set" => RuledVerdict::Set(fields(value)?),
                "replace" => RuledVerdict::Replace(packet(object(value, &key)?, &key)?),
                _ => return Err(format!("`{key}` is not a key of an answer")),
            });
        }
        let verdict = match verdicts.len() {
            0 if sends.is_empty() => return Err(ONE.to_owned()),
            // What only sends leaves the packet as it is.
            0 => RuledVerdict::Pass,
            1 => verdicts.remove(0),
            _ => return Err(ONE.to_owned()),
        };
        Ok(Self { id, ruling: Ruling { verdict, sends, size: line.len() } })
    }
}

/// Reads the fields to set, by their paths.
fn fields(json: Json) -> Result<Vec<(EditPath, Json)>, String> {
    let fields = object(json, "set")?.into_iter().map(|(path, value)| {
        let parsed = EditPath::parse(&path).map_err(|(why, _)| format!("`{path}`: {why}"))?;
        Ok((parsed, value))
    });
    fields.collect()
}

/// Reads the packets to send: a list, or one.
fn sends(json: Json) -> Result<Vec<RuledSend>, String> {
    let list = match json {
        Json::Array(list) => list,
        one => vec![one],
    };
    if list.len() > MAX_SENDS {
        return Err(format!("`send` has more than {MAX_SENDS} packets"));
    }
    list.into_iter().map(send).collect()
}

fn send(json: Json) -> Result<RuledSend, String> {
    let mut keys = object(json, "send")?;
    let to = keys.remove("to").ok_or("`send` has no `to`")?;
    let direction = match to.as_str() {
        Some("client") => Direction::Clientbound,
        Some("server") => Direction::Serverbound,
        _ => return Err(format!("`to` is {to}: expected \"client\" or \"server\"")),
    };
    let place = keys.remove("place");
    let before = match place.as_ref().map(Json::as_str) {
        None | Some(Some("after")) => false,
        Some(Some("before")) => true,
        Some(_) => return Err("`place` is neither \"before\" nor \"after\"".to_owned()),
    };
    let packet = packet(keys, "send")?;
    if let RuledPacket::Fields(None, _) = packet {
        return Err("`send` has no `packet`, the name of what to send".to_owned());
    }
    Ok(RuledSend { direction, before, packet })
}

/// Reads a packet, given by its fields or in hex.
fn packet(mut keys: Map<String, Json>, of: &str) -> Result<RuledPacket, String> {
    let (name, fields, bytes) = (keys.remove("packet"), keys.remove("fields"), keys.remove("hex"));
    if let Some(key) = keys.keys().next() {
        return Err(format!("`{key}` is not a key of `{of}`"));
    }
    match (name, fields, bytes) {
        (None, None, Some(bytes)) => {
            let body = bytes.as_str().and_then(hex);
            let body = body.ok_or_else(|| format!("`hex` of `{of}` is not bytes in hex"))?;
            Ok(RuledPacket::Body(body))
        }
        (_, _, Some(_)) => Err(format!("`{of}` has `hex` and more than that")),
        (None, None, None) => Err(format!("`{of}` has neither `fields` nor `hex`")),
        (name, fields, None) => {
            let name = match name {
                None => None,
                Some(Json::String(name)) => Some(name),
                Some(_) => return Err(format!("`packet` of `{of}` is not a name")),
            };
            let fields = object(fields.unwrap_or_else(|| Json::Object(Map::new())), "fields")?;
            Ok(RuledPacket::Fields(name, Json::Object(fields)))
        }
    }
}

fn object(json: Json, key: &str) -> Result<Map<String, Json>, String> {
    match json {
        Json::Object(keys) => Ok(keys),
        _ => Err(format!("`{key}` is not an object")),
    }
}

const ONE: &str = "it must have one of `pass`, `drop`, `set` and `replace`";

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
            assert!(said.contains(wanted), "{line}: {said}");
        }
        let many = format!(r#"{{"id":1,"send":[{}0]}}"#, "0,".repeat(1000));
        assert!(Answer::parse(many.as_bytes()).unwrap_err().contains("more than 1000"));
        assert!(Answer::parse("[".repeat(100_000).as_bytes()).is_err(), "no stack overflow");
        assert!(Answer::parse(b"\xff").is_err());
    }
}
