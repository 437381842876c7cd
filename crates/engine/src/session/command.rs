use std::time::Duration;

use bytes::Bytes;

use super::Session;
use super::control::Repeat;
use super::phase::Phase;
use crate::filter::{Verdict, encode_json};
use crate::link::{
    Action, Command, CommandError, Decision, MAX_PENDING, Payload, Release, Report, Side,
    Transmission,
};
use mitmcraft_protocol::schema::{Direction, PacketType, Protocol, Role, Value};

/// Carries out what people command.
impl Session {
    pub(super) fn on_command(&mut self, command: Command) {
        let Command { number: command, action } = command;
        if self.keys.is_some() {
            return;
        }
        self.control.engaged = true;
        let done = match action {
            Action::Break(breakpoint) => {
                self.control.breakpoint = breakpoint;
                Ok(())
            }
            Action::Decide { held, decision } => self.on_decisions(&held, decision),
            Action::ForwardAll => {
                for direction in Direction::ALL {
                    self.control.forward_all(direction, Release::Forwarded, self.now());
                }
                Ok(())
            }
            Action::Send(transmission) => self.on_transmission(command, transmission),
            Action::Stop(sending) => {
                self.control.stop_repeats(sending);
                Ok(())
            }
            Action::Kick(text) => {
                self.control.report(Report::Done { command });
                return self.kick(text);
            }
        };
        self.control.report(match done {
            Ok(()) => Report::Done { command },
            Err(error) => Report::Refused { command, error },
        });
    }

    pub(super) fn on_control_timeout(&mut self) {
        let now = self.now();
        self.control.forward_overdue(now);
        let mut repeats = std::mem::take(&mut self.control.repeats);
        repeats.retain_mut(|repeat| {
            if repeat.next > now {
                return true;
            }
            let over = !self.repeat(repeat);
            let Repeat { command, left, reported, .. } = *repeat;
            if over || reported.plus(PROGRESS) <= now {
                repeat.reported = now;
                self.control.report(Report::Repeating { command, left, over });
            }
            !over
        });
        self.control.repeats = repeats;
    }

    fn on_decisions(&mut self, held: &[u64], decision: Decision) -> Result<(), CommandError> {
        if let [held] = *held {
            return self.on_decision(held, decision);
        }
        let mut failed = Vec::new();
        let mut reason = None;
        for held in held {
            match self.on_decision(*held, decision.clone()) {
                Ok(()) | Err(CommandError::NotHeld(_)) => {}
                Err(error) => {
                    failed.push(*held);
                    reason.get_or_insert_with(|| error.to_string());
                }
            }
        }
        reason.map_or(Ok(()), |reason| Err(CommandError::NotAll { held: failed, reason }))
    }

    fn on_decision(&mut self, held: u64, decision: Decision) -> Result<(), CommandError> {
        let Some(waiting) = self.control.held(held) else {
            return Err(CommandError::NotHeld(held));
        };
        let (packet, role) = (&waiting.packet, waiting.role);
        let direction = packet.direction();
        let verdict = match decision {
            Decision::Forward => Verdict::Pass,
            Decision::Drop => Verdict::Drop,
            Decision::Edit(payload) => {
                let protocol = &packet.context().protocol;
                let body = encode(protocol, packet.kind(), payload)?;
                let became = protocol.identify(packet.state(), direction, &body).ok();
                let becomes = became.and_then(|(kind, _)| kind.role());
                if becomes != role && becomes.is_some_and(Role::drives) {
                    return Err(CommandError::DrivesConnection);
                }
                Verdict::Replace(body)
            }
        };
        if verdict != Verdict::Pass
            && let Some(reason) = self.delivery.refusal(packet, role, &verdict)
        {
            return Err(CommandError::Guarded(reason));
        }
        self.control.decide(direction, held, verdict, self.now());
        Ok(())
    }

    fn on_transmission(&mut self, command: u64, sent: Transmission) -> Result<(), CommandError> {
        let Transmission { direction, packet, payload, times, interval, resent } = sent;
        if !matches!(self.phase, Phase::Frames) {
            return Err(CommandError::NotReady);
        }
        if times == 0 || times > MAX_TIMES {
            return Err(CommandError::Times(MAX_TIMES));
        }
        let (protocol, state) =
            (&self.context().protocol, self.delivery.recorder.states[direction]);
        let kind = match &packet {
            Some(name) => {
                let found = protocol.named(state, direction, name);
                Some(found.ok_or_else(|| {
                    let name = name.clone();
                    CommandError::NoSuchPacket { direction, name, state }
                })?)
            }
            None => None,
        };
        let body = encode(protocol, kind, payload)?;
        if let Some(reason) = self.delivery.guard.refuses(&self.delivery.recorder, direction, &body)
        {
            return Err(CommandError::Guarded(reason));
        }
        let comment = match resent {
            Some(number) => format!("packet {number} again, sent by hand"),
            None => "sent by hand".to_owned(),
        };
        let interval = interval.max(MIN_INTERVAL);
        let now = self.now();
        let (left, next, reported) = (times, now, now);
        let mut repeat =
            Repeat { command, direction, state, body, comment, left, interval, next, reported };
        if self.repeat(&mut repeat) {
            if self.control.repeats.len() >= MAX_REPEATS {
                return Err(CommandError::TooManyRepeats(MAX_REPEATS));
            }
            let left = repeat.left;
            self.control.repeats.push(repeat);
            self.control.report(Report::Repeating { command, left, over: false });
        }
        Ok(())
    }

    /// Sends a packet once, unless its receiver has to catch up. Returns `true` if there are more to send.
    fn repeat(&mut self, repeat: &mut Repeat) -> bool {
        let Repeat { direction, state, .. } = *repeat;
        repeat.next = self.now().plus(repeat.interval);
        if self.delivery.recorder.states[direction] != state {
            let (command, error) = (repeat.command, CommandError::StateChanged(repeat.left));
            self.control.report(Report::Refused { command, error });
            return false;
        }
        if self.ends[Side::from(direction).other()].is_full(MAX_PENDING)
            || self.delivery.queues[direction].is_full()
        {
            return true;
        }
        repeat.left -= 1;
        let (body, comment) = (repeat.body.clone(), repeat.comment.clone());
        self.delivery.send_at_will(&mut self.ends, direction, body, comment);
        repeat.left > 0
    }

    fn kick(&mut self, text: String) {
        self.discard_rest();
        self.closing.set_reason(format!("ended by hand: {text}"));
        self.stop(text, String::new());
    }
}

/// Encodes a packet as a person gives it.
fn encode(
    protocol: &Protocol,
    kind: Option<&PacketType>,
    payload: Payload,
) -> Result<Bytes, CommandError> {
    let fields = match payload {
        Payload::Body(body) if body.is_empty() => return Err(CommandError::Empty),
        Payload::Body(body) => return Ok(body),
        Payload::Fields(fields) => fields,
    };
    let Some(kind) = kind else {
        return Err(CommandError::UnknownType);
    };
    encode_json(protocol, kind, &fields).map(Bytes::from).map_err(|cause| {
        let failed = protocol.encode(kind, &Value::from_json(&fields)).err();
        let path = failed.map(|failed| failed.path).unwrap_or_default();
        CommandError::Encode { path, cause: Box::new(cause) }
    })
}

/// Times that one command sends a packet at most.
const MAX_TIMES: u32 = 100_000;

/// Commands whose packets are being repeated at the same time, at most.
const MAX_REPEATS: usize = 16;

/// Time between two reports of how far a repetition is.
const PROGRESS: Duration = Duration::from_millis(500);

/// The shortest time between two of the same packet.
const MIN_INTERVAL: Duration = Duration::from_millis(1);
