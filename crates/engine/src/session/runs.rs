//! The fast way through a session whose packets nobody records or judges: frames are found, counted and
//! forwarded where they lie, as one slice from the bytes that were received to those to be sent.
//!
//! Forwarding without a capture is a use of its own: rules, redirected accounts, a page with nothing but
//! counts. Then a packet takes 0.020 µs instead of the 0.228 µs of the ordinary way: with 1,000 players who
//! get 1,000 packets per second each, 2 % of a processor instead of 23 %. The price is a second way for
//! the same packet, so it is narrow: it begins only where nothing but forwarding can happen
//! ([`Session::passes_runs`]), with the right to pass that only the player's identity grants, and it ends at the first
//! frame of which that is not certain. `tests/runs.rs` plays random sessions both ways and compares bytes,
//! counts and ends; the fuzz target `session` does so with whatever bytes.

use super::Session;
use super::identity::Passage;
use super::phase::Phase;
use crate::link::{Delivery, Side};
use mitmcraft_protocol::schema::{Family, Role, State};
use mitmcraft_protocol::wire::VarInt;

impl Session {
    /// Forwards whole frames at the front of `bytes`, which `side` has sent. Returns the bytes that are
    /// still to be received.
    pub(super) fn pass_received<'b>(&mut self, side: Side, mut bytes: &'b [u8]) -> &'b [u8] {
        let Some(passage) = self.passes_runs(side) else { return bytes };
        if !self.ends[side].leg.decoder.is_clear() {
            return bytes;
        }
        // The frame that the last read has cut comes first.
        while self.ends[side].leg.decoder.buffered() > 0 {
            let decoder = &mut self.ends[side].leg.decoder;
            let missing = decoder.missing().min(bytes.len());
            if missing == 0 {
                return bytes;
            }
            decoder.receive(&bytes[..missing]);
            bytes = &bytes[missing..];
            self.pass_run(passage, side, None);
        }
        let passed = self.pass_run(passage, side, Some(bytes));
        &bytes[passed..]
    }

    /// Forwards whole frames that `side` has sent and that wait in its decoder. Returns whether there
    /// were any.
    pub(super) fn pass_buffered(&mut self, side: Side) -> bool {
        self.passes_runs(side).is_some_and(|passage| self.pass_run(passage, side, None) > 0)
    }

    /// Returns the right to forward frames from `side`, unless one is of a special type; `None` if each of
    /// them has to be handled.
    fn passes_runs(&mut self, side: Side) -> Option<Passage> {
        // Rules that ask for diagnostics need the times of keep-alives.
        if self.delivery.pipeline.asks_diagnostics() {
            return None;
        }
        let recorder = &mut self.delivery.recorder;
        let (direction, protocol) = (side.sends(), &recorder.context.protocol);
        let only_forwards = recorder.states[direction] == State::Play
            && protocol.family() == Family::Java
            && recorder.tally.is_some()
            && matches!(self.phase, Phase::Frames)
            && self.control.lets_run(direction)
            && self.is_drained(direction)
            && self.ends.client.threshold == self.ends.server.threshold
            && self.ends[side.other()].ahead == 0;
        self.identity.passage(direction).filter(|_| only_forwards)
    }

    /// Forwards and counts the frames at the front of `bytes`, or of what waits in the decoder of
    /// `side`, up to the first that has a role, that a filter may want, or that is not whole. Returns
    /// the number of bytes.
    fn pass_run(&mut self, _: Passage, side: Side, bytes: Option<&[u8]>) -> usize {
        let direction = side.sends();
        let Delivery { recorder, guard, pipeline, .. } = &mut self.delivery;
        let protocol = recorder.context.protocol.clone();
        let Some(mut tally) = recorder.tally.as_mut().and_then(|tally| tally.of(&protocol)) else {
            return 0;
        };
        let asking = self.control.asking.as_ref();
        let (from, to) = self.ends.pair_mut(side);
        let (decoder, encoder) = (&mut from.leg.decoder, &mut to.leg.encoder);
        let run = bytes.unwrap_or_else(|| decoder.peek());
        let (mut end, mut packets) = (0, 0);
        while let Some(frame) = decoder.view(&run[end..]) {
            let mut buffer = [0; VarInt::MAX];
            let Some(head) = frame.head(&mut buffer) else { break };
            let Ok((kind, _)) = protocol.identify(State::Play, direction, head) else { break };
            let large = frame.is_deflated() && self.role_limits.exceeds(direction, frame.size());
            let (size, wire) = (frame.size(), frame.wire().len());
            let role = kind.role().filter(|_| !large);
            if !is_only_forwarded(role)
                || pipeline.wants_type(&protocol, kind)
                || asking.is_some_and(|asking| asking.asks_about(&protocol, kind))
            {
                break;
            }
            tally.count(kind, size, wire);
            if role == Some(Role::BundleDelimiter) {
                guard.bundled = !guard.bundled;
            }
            end += wire;
            packets += 1;
        }
        if end > 0 {
            match bytes {
                Some(bytes) => {
                    encoder.put(&bytes[..end]);
                    decoder.pass_by(end);
                }
                None => encoder.pass(decoder, end),
            }
            recorder.count_unrecorded(direction, packets);
        }
        end
    }
}

/// Returns whether the session does nothing about a packet of the game with this role, except that its
/// [`Guard`](crate::link::Guard) counts bundle delimiters.
fn is_only_forwarded(role: Option<Role>) -> bool {
    match role {
        None => true,
        Some(
            Role::BundleDelimiter
            | Role::KeepAlive
            | Role::Chat
            | Role::PlayerChat
            | Role::Command
            | Role::Teleport
            | Role::TeleportConfirm
            | Role::Movement
            | Role::Transaction
            | Role::Echo
            | Role::Time
            | Role::Momentary
            | Role::Spawn
            | Role::Title
            | Role::ResourcePack
            | Role::PluginMessage,
        ) => true,
        Some(_) => false,
    }
}
