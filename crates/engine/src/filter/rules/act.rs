//! The actions of a rule. Either all are done, or, if one fails, none.

use std::time::Duration;

use bytes::Bytes;

use super::EditError;
use super::edit::{self, Change, Form};
use super::edit_path::EditPath;
use super::payload_edit;
use super::progress::Progress;
use super::rule::{Actions, Body, Rule};
use super::template::Template;
use crate::filter::{Delay, Effects, Injection, Notes, Verdict};
use crate::lang::amount::{Jittered, Rate};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, PacketType, Protocol, Shape, State, Value};

pub(super) fn act(
    rule: &Rule,
    packet: &Packet,
    progress: &mut Progress,
    effects: &mut Effects,
) -> Result<Verdict, EditError> {
    let actions = &rule.actions;
    let text = |template: &Option<Template>| {
        template.as_ref().map(|template| template.text(packet)).transpose()
    };
    let (comment, reason) = (text(&actions.comment)?, text(&actions.close)?);
    let sends = actions.send.iter().map(|send| {
        let (body, framed) = body_of(&send.body, packet, send.direction)?;
        let rule = Some(rule.name.clone());
        Ok(Injection { direction: send.direction, before: send.before, body, framed, rule })
    });
    let sends: Vec<Injection> = sends.collect::<Result<_, EditError>>()?;
    let done = if actions.drops() {
        Verdict::Drop
    } else {
        rewrite(rule, packet, progress)?.map_or(Verdict::Pass, Verdict::Replace)
    };
    // Nothing fails from here on.
    note(actions, comment, &mut effects.notes);
    effects.sends.extend(sends);
    if actions.copy > 0 {
        effects.copies += actions.copy;
        effects.copied_by.push(rule.name.clone());
    }
    if let Some(by) = delay(rule, packet, progress) {
        let (before, reorder) =
            effects.delay.map_or((Duration::ZERO, true), |delay| (delay.by, delay.reorder));
        effects.delay = Some(Delay { by: before + by, reorder: reorder && actions.reorder });
    }
    if reason.is_some() {
        effects.close = reason;
    }
    Ok(done)
}

fn note(actions: &Actions, comment: Option<String>, notes: &mut Notes) {
    if let Some(show) = actions.show {
        notes.hidden = !show;
    }
    if let Some(record) = actions.record {
        notes.unrecorded = !record;
    }
    notes.detail = actions.detail.or(notes.detail);
    notes.comments.extend(comment);
    for tag in &actions.tags {
        if !notes.tags.contains(tag) {
            notes.tags.push(tag.clone());
        }
    }
    notes.ring = actions.write.or(notes.ring);
}

/// Returns the body that replaces the packet's, if it is another.
fn rewrite(
    rule: &Rule,
    packet: &Packet,
    progress: &mut Progress,
) -> Result<Option<Bytes>, EditError> {
    let actions = &rule.actions;
    if !actions.rewrites() {
        return Ok(None);
    }
    let mut body = match &actions.replace {
        Some(replace) => body_of(replace, packet, packet.direction())?.0,
        None if actions.set.is_empty() && actions.remove.is_empty() => packet.body()?,
        None => edited(actions, packet)?,
    };
    if let Some(truncate) = actions.truncate {
        body.truncate(truncate);
    }
    if let Some(count) = actions.corrupt {
        let below = |limit| progress.below(limit, rule, packet);
        body = corrupt(&body, packet.fields_at(), count, below);
    }
    let came = packet.body()?;
    Ok((body != came).then_some(body))
}

fn edited(actions: &Actions, packet: &Packet) -> Result<Bytes, EditError> {
    let set = |(path, template): &(EditPath, Template)| {
        let new = template.value(packet).map_err(|why| why.at(path))?;
        Ok((path.clone(), Some(new)))
    };
    let sets = actions.set.iter().map(set);
    let removes = actions.remove.iter().map(|path| Ok((path.clone(), None)));
    apply_changes(packet, None, &sets.chain(removes).collect::<Result<Vec<_>, EditError>>()?)
}

/// Returns the packet's body with fields set, or removed where there is no value. Removals come last. `decoded` is
/// [`Packet::value`], if the caller has it.
///
/// # Errors
/// [`EditError::Field`] if the error is about one of the changes, otherwise another.
pub(crate) fn apply_changes(
    packet: &Packet,
    decoded: Option<Value>,
    changes: &[Change],
) -> Result<Bytes, EditError> {
    let ty = packet.kind().ok_or(EditError::UnknownType)?;
    let protocol = &packet.context().protocol;
    let has_own = || Shape::of(protocol, ty).field("payload").is_some();
    let (inside, edits): (Vec<_>, Vec<_>) =
        changes.iter().partition(|(path, _)| path.in_payload().is_some() && !has_own());
    let mut body = packet.body()?;
    if !edits.is_empty() {
        let value = decoded.map_or_else(|| packet.value(), Ok)?;
        body = edit::rewrite(protocol, ty, value, &edits, Form::Packet)?.into();
    }
    if !inside.is_empty() {
        let inner = |(path, new): &Change| Some((path.in_payload()?, new.clone()));
        let inside: Vec<_> = inside.into_iter().filter_map(inner).collect();
        let edits: Vec<_> = inside.iter().collect();
        body = payload_edit::rewrite(protocol, ty, (&body, packet.fields_at()), &edits)?.into();
    }
    Ok(body)
}

/// Returns the bytes of a packet that a rule makes, and whether they get a frame.
fn body_of(body: &Body, packet: &Packet, direction: Direction) -> Result<(Bytes, bool), EditError> {
    match body {
        Body::Bytes(bytes) => Ok((bytes.clone(), true)),
        Body::Raw(bytes) => Ok((bytes.clone(), false)),
        Body::Fields(name, template) => {
            let ty = target(name.as_deref(), packet, direction)?;
            let value = template.value(packet).map_err(|why| why.of_packet(ty.name()))?;
            Ok((edit::build(&packet.context().protocol, ty, value)?.into(), true))
        }
    }
}

fn target<'p>(
    name: Option<&str>,
    packet: &'p Packet,
    direction: Direction,
) -> Result<&'p PacketType, EditError> {
    let Some(name) = name else {
        return packet.kind().ok_or(EditError::UnknownType);
    };
    named(&packet.context().protocol, packet.state(), direction, name)
}

/// Returns the packet with this name, by its version or official, in a state.
pub(crate) fn named<'p>(
    protocol: &'p Protocol,
    state: State,
    direction: Direction,
    name: &str,
) -> Result<&'p PacketType, EditError> {
    protocol.named_or_official(state, direction, name).ok_or_else(|| EditError::NoPacket {
        direction,
        name: name.to_owned(),
        state,
        version: protocol.newest_name().to_owned(),
    })
}

/// Changes up to `count` random bytes of the fields.
fn corrupt(
    body: &[u8],
    start: usize,
    count: usize,
    mut below: impl FnMut(usize) -> usize,
) -> Bytes {
    let mut bytes = body.to_vec();
    let room = bytes.len().saturating_sub(start);
    if room > 0 {
        for _ in 0..count {
            // Never 0, so that the byte changes.
            let flip = 1 + below(255) as u8;
            bytes[start + below(room)] ^= flip;
        }
    }
    bytes.into()
}

/// Returns the delay of the packet.
fn delay(rule: &Rule, packet: &Packet, progress: &mut Progress) -> Option<Duration> {
    let actions = &rule.actions;
    let mut total = None;
    if let Some(Jittered { mean, jitter }) = actions.delay {
        let mut wait = mean;
        if !jitter.is_zero() {
            let offset = jitter.mul_f64(2.0 * progress.unit(rule, packet));
            wait = (mean + offset).saturating_sub(jitter);
        }
        total = Some(wait);
    }
    if let Some(Rate(rate)) = actions.throttle {
        let free = &mut progress.free[packet.direction()];
        let seconds = packet.wire_size() as f64 / rate as f64;
        let start = (*free).max(packet.at());
        *free = start.plus(Duration::from_secs_f64(seconds));
        total = Some(total.unwrap_or_default() + free.since(packet.at()));
    }
    total
}
