use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::Value as Json;

use crate::lang::Expr;
use crate::lang::amount::Period;
use crate::link::{Action, Breakpoint, Decision, Payload, Transmission};
use crate::schema::{Catalog, Direction};

/// A request of a user interface.
#[derive(Debug)]
pub(super) enum Request {
    /// Hold what matches in all sessions.
    Break(Option<Breakpoint>),
    /// Ask for the content of a held packet.
    Held(Target),
    /// Forward everything.
    ForwardAll(Option<u64>),
    /// Decide on a held packet.
    Decide(Target, Decision),
    /// Do something in a session.
    Act(u64, Action),
}

/// A held packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Target {
    pub(super) session: u64,
    pub(super) held: u64,
}

/// Why a request cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestError {
    pub(super) message: String,
    /// The path of the field to blame, if there is one.
    pub(super) path: String,
    /// The part of the condition to blame, in bytes, and a hint.
    pub(super) condition: Option<(std::ops::Range<usize>, Option<String>)>,
}

impl From<&str> for RequestError {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl From<String> for RequestError {
    fn from(message: String) -> Self {
        Self { message, path: String::new(), condition: None }
    }
}

impl Request {
    /// Reads a request.
    pub(super) fn read(json: &Json, catalog: &Catalog) -> Result<Self, RequestError> {
        let number = |key: &str| {
            let number = json.get(key).and_then(Json::as_u64);
            number.ok_or_else(|| RequestError::from(format!("`{key}` must be a number")))
        };
        let target =
            || Ok::<_, RequestError>(Target { session: number("session")?, held: number("held")? });
        Ok(match json.get("do").and_then(Json::as_str) {
            Some("break") => Self::Break(breakpoint(json, catalog)?),
            Some("held") => Self::Held(target()?),
            Some("forward_all") => {
                let one = json.get("session").is_some_and(|it| !it.is_null());
                Self::ForwardAll(one.then(|| number("session")).transpose()?)
            }
            Some("forward") => Self::Decide(target()?, Decision::Forward),
            Some("drop") => Self::Decide(target()?, Decision::Drop),
            Some("edit") => Self::Decide(target()?, Decision::Edit(payload(json)?)),
            Some("send") => Self::Act(number("session")?, Action::Send(transmission(json)?)),
            Some("kick") => {
                let text = json.get("text").and_then(Json::as_str).unwrap_or_default();
                let text = if text.is_empty() { "kicked" } else { text };
                Self::Act(number("session")?, Action::Kick(text.to_owned()))
            }
            _ => return Err("unknown request".into()),
        })
    }
}

fn breakpoint(json: &Json, catalog: &Catalog) -> Result<Option<Breakpoint>, RequestError> {
    let text = json.get("where").and_then(Json::as_str).unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(None);
    }
    let overtaken = json.get("overtaken").and_then(Json::as_bool).unwrap_or_default();
    match Expr::parse(text, catalog) {
        Ok((condition, _)) => Ok(Some(Breakpoint { condition, overtaken })),
        Err(error) => Err(RequestError {
            message: error.message.to_string(),
            path: String::new(),
            condition: Some((error.span.clone(), error.hint.clone())),
        }),
    }
}

fn transmission(json: &Json) -> Result<Transmission, RequestError> {
    let direction = match json.get("to").and_then(Json::as_str) {
        Some("client") => Direction::Clientbound,
        Some("server") => Direction::Serverbound,
        _ => return Err("`to` must be `client` or `server`".into()),
    };
    let times = match json.get("times") {
        None | Some(Json::Null) => 1,
        Some(times) => times.as_u64().and_then(|it| u32::try_from(it).ok()).unwrap_or(0),
    };
    let interval = match json.get("interval").and_then(Json::as_str) {
        Some(text) => text.parse::<Period>().map_err(|error| error.to_string())?.0,
        None => TICK,
    };
    Ok(Transmission {
        direction,
        packet: json.get("packet").and_then(Json::as_str).map(str::to_owned),
        payload: payload(json)?,
        times,
        interval,
        resent: json.get("resent").and_then(Json::as_u64),
    })
}

/// Reads `fields`, or `body` in base64 or as hex digits after `0x`.
fn payload(json: &Json) -> Result<Payload, RequestError> {
    if let Some(fields) = json.get("fields").filter(|it| !it.is_null()) {
        // As text, from a page that would lose digits of long numbers.
        return Ok(Payload::Fields(match fields {
            Json::String(text) => serde_json::from_str(text)
                .map_err(|error| format!("`fields` are not JSON: {error}"))?,
            fields => fields.clone(),
        }));
    }
    let Some(text) = json.get("body").and_then(Json::as_str) else {
        return Err("there must be `fields` or a `body`".into());
    };
    let bytes = match text.strip_prefix("0x") {
        Some(digits) => hex(digits),
        None => BASE64_STANDARD.decode(text).ok(),
    };
    let bytes = bytes.ok_or("`body` must be base64, or hex digits after `0x`")?;
    if bytes.len() > MAX_BODY {
        return Err("`body` is too long".into());
    }
    Ok(Payload::Body(Bytes::from(bytes)))
}

/// Reads hex digits, two per byte, with any white space between bytes.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|it| !it.is_ascii_whitespace()).collect();
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8; 2]| u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok();
    pairs.iter().map(byte).collect()
}

/// The game's own interval.
const TICK: Duration = Duration::from_millis(50);

/// The longest body that the game accepts.
const MAX_BODY: usize = 2 << 20;
