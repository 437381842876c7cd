//! The fast way through a session whose packets nobody records or judges: frames are found, counted and
//! forwarded where they lie, as one slice from the bytes that were received to those to be sent.

use super::Session;
use super::phase::Phase;
use crate::link::{Delivery, PerSide, Side};
use crate::schema::{Direction, Family, Role, State};
use crate::wire::VarInt;

impl Session {
    /// Forwards whole frames at the front of `bytes`, which `side` has sent. Returns the bytes that are
    /// still to be received.
    pub(super) fn pass_received<'b>(&mut self, side: Side, mut bytes: &'b [u8]) -> &'b [u8] {
        if !self.ends[side].leg.decoder.is_clear() || !self.passes_runs(side) {
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
            self.pass_run(side, None);
        }
        let passed = self.pass_run(side, Some(bytes));
        &bytes[passed..]
    }

    /// Forwards whole frames that `side` has sent and that wait in its decoder. Returns whether there
    /// were any.
    pub(super) fn pass_buffered(&mut self, side: Side) -> bool {
        self.passes_runs(side) && self.pass_run(side, None) > 0
    }

    /// Returns whether frames from `side` are forwarded unless one is of a special type.
    fn passes_runs(&mut self, side: Side) -> bool {
        // Rules that ask for diagnostics need the times of keep-alives.
        if self.delivery.pipeline.asks_diagnostics() {
            return false;
        }
        let recorder = &mut self.delivery.recorder;
        let (direction, protocol) = (side.sends(), &recorder.context.protocol);
        recorder.states[direction] == State::Play
            && protocol.family() == Family::Java
            && recorder.tally().is_some()
            && matches!(self.phase, Phase::Frames)
            && !self.control.is_engaged()
            && self.is_drained(direction)
            && self.ends.client.threshold() == self.ends.server.threshold()
            && self.ends[side.other()].ahead() == 0
            && !(direction == Direction::Serverbound && self.is_unverified())
    }

    /// Forwards and counts the frames at the front of `bytes`, or of what waits in the decoder of
    /// `side`, up to the first that has a role, that a filter may want, or that is not whole. Returns
    /// the number of bytes.
    fn pass_run(&mut self, side: Side, bytes: Option<&[u8]>) -> usize {
        let direction = side.sends();
        let Delivery { recorder, guard, pipeline, .. } = &mut self.delivery;
        let protocol = recorder.context.protocol.clone();
        let Some(tally) = recorder.tally() else { return 0 };
        let PerSide { client, server } = &mut self.ends;
        let (from, to) = match side {
            Side::Client => (&mut client.leg, &mut server.leg),
            Side::Server => (&mut server.leg, &mut client.leg),
        };
        let run = bytes.unwrap_or_else(|| from.decoder.peek());
        let (mut end, mut packets) = (0, 0);
        while let Some(frame) = from.decoder.view(&run[end..]) {
            let mut buffer = [0; VarInt::MAX];
            let Some(head) = frame.head(&mut buffer) else { break };
            let Ok((kind, _)) = protocol.identify(State::Play, direction, head) else { break };
            let large = frame.is_deflated() && self.role_limits.exceeds(direction, frame.size());
            let (size, wire) = (frame.size(), frame.wire().len());
            let role = kind.role().filter(|_| !large);
            if !is_only_forwarded(role)
                || pipeline.wants_type(&protocol, kind)
                || !tally.count(&protocol, kind, size, wire)
            {
                break;
            }
            if role == Some(Role::BundleDelimiter) {
                guard.on_delimiter();
            }
            end += wire;
            packets += 1;
        }
        if end > 0 {
            to.encoder.put(&run[..end]);
            match bytes {
                Some(_) => from.decoder.pass_by(end),
                None => from.decoder.skip(end),
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
