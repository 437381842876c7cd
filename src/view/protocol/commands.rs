//! Requests to the controller.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::Value as Json;

use super::{Failure, HeldDecision, Request};
use crate::control::{self, HeldId, Span};
use mitmcraft_engine::lang::Expr;
use mitmcraft_engine::lang::amount::Period;
use mitmcraft_engine::link::{Breakpoint, Decision, Payload, Side, Transmission};
use mitmcraft_protocol::schema::{Catalog, Direction};
use mitmcraft_protocol::wire::parse_hex;

impl Request {
    /// Returns what the controller is asked; `None` if the request is not for it.
    ///
    /// # Errors
    /// If an expression, a time or the content of a packet cannot be read.
    pub fn for_controller(&self, catalog: &Catalog) -> Option<Result<control::Request, Failure>> {
        use control::Request::{
            Break, Content, Decide, DecideSpans, ForwardAll, Kick, List, Send, Stop, Undecided,
        };
        Some(match self.clone() {
            Self::Break { condition, overtaken } => {
                breakpoint(&condition, overtaken, catalog).map(Break)
            }
            Self::Held { session, held } => Ok(Content(HeldId { session, held })),
            Self::HeldRows { start, count, anchor } => {
                Ok(List { start, count: count.min(MAX_ROWS), anchor })
            }
            Self::StillHeld { numbers, spans } => {
                checked(spans).map(|spans| Undecided(numbers, spans))
            }
            Self::Decide { session, held, spans, decision } => {
                let decision = match decision {
                    HeldDecision::Forward => Decision::Forward,
                    HeldDecision::Drop => Decision::Drop,
                };
                match session {
                    Some(session) if spans.is_empty() => Ok(Decide(session, held, decision)),
                    None if held.is_empty() => {
                        checked(spans).map(|spans| DecideSpans(spans, decision))
                    }
                    _ => Err(Failure::new("there must be a `session` with `held`, or `spans`")),
                }
            }
            Self::Forward { session, held } => Ok(Decide(session, vec![held], Decision::Forward)),
            Self::Drop { session, held } => Ok(Decide(session, vec![held], Decision::Drop)),
            Self::Edit { session, held, fields, body } => {
                let edit = |payload| Decide(session, vec![held], Decision::Edit(payload));
                payload(fields, body).map(edit)
            }
            Self::ForwardAll { session } => Ok(ForwardAll(session)),
            Self::Send { session, to, packet, fields, body, times, interval, resent } => {
                let transmission = |payload| {
                    let direction = match to {
                        Side::Client => Direction::Clientbound,
                        Side::Server => Direction::Serverbound,
                    };
                    let times = times.unwrap_or(1);
                    let interval = interval.as_deref().map_or(Ok(TICK), period)?;
                    Ok(Transmission { direction, packet, payload, times, interval, resent })
                };
                payload(fields, body).and_then(transmission).map(|it| Send(session, it))
            }
            Self::Stop { number } => Ok(Stop(number)),
            Self::Kick { session, text } => {
                let text = text.filter(|text| !text.is_empty());
                Ok(Kick(session, text.unwrap_or_else(|| "kicked".to_owned())))
            }
            _ => return None,
        })
    }
}

fn checked(spans: Vec<Span>) -> Result<Vec<Span>, Failure> {
    if spans.len() > MAX_SPANS {
        return Err(Failure::new(format!("there can be at most {MAX_SPANS} spans")));
    }
    Ok(spans)
}

fn breakpoint(
    text: &str,
    overtaken: bool,
    catalog: &Catalog,
) -> Result<Option<Breakpoint>, Failure> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    match Expr::parse(text, catalog) {
        Ok((condition, _)) => Ok(Some(Breakpoint { condition, overtaken })),
        Err(error) => Err(Failure::of_expression(&error, text)),
    }
}

fn period(text: &str) -> Result<Duration, Failure> {
    text.parse::<Period>().map(|it| it.0).map_err(|error| Failure::new(error.to_string()))
}

fn payload(fields: Option<Json>, body: Option<String>) -> Result<Payload, Failure> {
    if let Some(fields) = fields {
        return Ok(Payload::Fields(match fields {
            Json::String(text) => serde_json::from_str(&text)
                .map_err(|error| Failure::new(format!("`fields` are not JSON: {error}")))?,
            fields => fields,
        }));
    }
    let text = body.ok_or_else(|| Failure::new("there must be `fields` or a `body`"))?;
    read_body(&text).map(Payload::Body)
}

/// Reads id and fields: base64, or hex digits after `0x`.
///
/// # Errors
/// If it is neither, or too long.
pub fn read_body(text: &str) -> Result<Bytes, Failure> {
    let bytes = match text.strip_prefix("0x") {
        Some(digits) => parse_hex(&digits.split_ascii_whitespace().collect::<String>()),
        None => BASE64_STANDARD.decode(text).ok(),
    };
    let bytes =
        bytes.ok_or_else(|| Failure::new("`body` must be base64, or hex digits after `0x`"))?;
    if bytes.len() > MAX_BODY {
        return Err(Failure::new("`body` is too long"));
    }
    Ok(Bytes::from(bytes))
}

/// Most held packets of an answer.
const MAX_ROWS: usize = 500;

/// Most spans of held packets in a request.
const MAX_SPANS: usize = 1000;

/// The game's own interval.
const TICK: Duration = Duration::from_millis(50);

/// The longest body that the game accepts.
const MAX_BODY: usize = 2 << 20;
