use super::Session;
use crate::filter::{EditError, Effects, Injection, Verdict, apply_changes, build, named};
use crate::link::{
    Asked, Decided, Decider, Notice, Otherwise, Output, PIPE, RuledPacket, RuledSend, RuledVerdict,
    Ruling, RulingError, Unruled,
};
use bytes::Bytes;
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, PacketType, Role, State, Value};

/// What becomes of packets on which a program was asked to decide.
impl Session {
    /// Handles a packet whose question is answered, or never will be. A person may have held it, too, and has
    /// forwarded it then.
    pub(super) fn on_answered(
        &mut self,
        packet: Packet,
        role: Option<Role>,
        asked: Asked,
        person: Option<Decided>,
    ) {
        let ruling = asked.ruling.unwrap_or(Err(Unruled::Ended));
        let decided = ruling.and_then(|ruling| {
            self.carry_out(ruling, &packet, role).map_err(|reason| {
                self.outputs
                    .push_back(Output::Notice(Notice::Unapplied { reason: reason.clone() }));
                Unruled::Unfit(reason)
            })
        });
        let mut decided = match (decided, self.control.otherwise()) {
            (Ok(decided), _) => decided,
            (Err(reason), Otherwise::Close) => return self.close_undecided(packet, &reason),
            (Err(reason), Otherwise::Pass) => {
                let mut effects = Effects::default();
                effects.notes.remark(not_decided(&reason));
                Decided { by: Decider::Program, verdict: Verdict::Pass, effects }
            }
        };
        let said = person.into_iter().flat_map(|it| it.effects.notes.comments);
        decided.effects.notes.comments.extend(said);
        self.on_admitted(packet, role, Some(Box::new(decided)));
    }

    /// Drops a packet on which the program has not decided, and ends the session.
    fn close_undecided(&mut self, mut packet: Packet, reason: &Unruled) {
        self.delivery.recorder.number(&mut packet);
        let comment = not_decided(reason);
        self.swallow(packet, &comment);
        if *reason != Unruled::Ended && !self.closing.has_stopped() {
            self.close_with(UNDECIDED, format!("closed at a packet {comment}"));
        }
    }

    /// Returns the decision that a ruling means for a packet, in the present states.
    ///
    /// # Errors
    /// The reason why it cannot be carried out.
    fn carry_out(
        &self,
        ruling: Ruling,
        packet: &Packet,
        role: Option<Role>,
    ) -> Result<Decided, RulingError> {
        let mut effects = Effects::default();
        let verdict = match ruling.verdict {
            RuledVerdict::Pass => Verdict::Pass,
            RuledVerdict::Drop => Verdict::Drop,
            RuledVerdict::Set(fields) => {
                let fields = fields.into_iter();
                let fields = fields.map(|(path, json)| (path, Some(Value::from_json(&json))));
                replaced(packet, apply_changes(packet, None, &fields.collect::<Vec<_>>())?)
            }
            RuledVerdict::Replace(with) => {
                let (state, direction) = (packet.state(), packet.direction());
                replaced(packet, self.body(with, state, direction, packet.kind())?)
            }
        };
        if let Verdict::Replace(body) = &verdict {
            let becomes = self.role_of(packet.state(), packet.direction(), body);
            if becomes != role && becomes.is_some_and(Role::drives) {
                return Err(RulingError::Drives);
            }
        }
        if verdict != Verdict::Pass {
            effects.notes.rules.push(PIPE.to_owned());
        }
        for RuledSend { direction, before, packet } in ruling.sends {
            let state = self.delivery.recorder.states[direction];
            let body = self.body(packet, state, direction, None)?;
            if self.role_of(state, direction, &body).is_some_and(Role::drives) {
                return Err(RulingError::SendDrives);
            }
            let rule = Some(PIPE.to_owned());
            effects.sends.push(Injection { direction, before, body, framed: true, rule });
        }
        Ok(Decided { by: Decider::Program, verdict, effects })
    }

    /// Returns the body of a packet that a program gives; without a name it has the type `kind`.
    fn body(
        &self,
        packet: RuledPacket,
        state: State,
        direction: Direction,
        kind: Option<&PacketType>,
    ) -> Result<Bytes, EditError> {
        let protocol = &self.context().protocol;
        let (name, fields) = match packet {
            RuledPacket::Body(body) => return Ok(body),
            RuledPacket::Fields(name, fields) => (name, fields),
        };
        let kind = match name {
            None => kind.ok_or(EditError::UnknownType)?,
            Some(name) => named(protocol, state, direction, &name)?,
        };
        build(protocol, kind, Value::from_json(&fields)).map(Bytes::from)
    }

    fn role_of(&self, state: State, direction: Direction, body: &Bytes) -> Option<Role> {
        let (kind, _) = self.context().protocol.identify(state, direction, body).ok()?;
        kind.role()
    }
}

/// Returns the verdict that `body` goes in the place of a packet.
fn replaced(packet: &Packet, body: Bytes) -> Verdict {
    if packet.body().is_ok_and(|came| came == body) {
        return Verdict::Pass;
    }
    Verdict::Replace(body)
}

fn not_decided(reason: &Unruled) -> String {
    format!("not decided by `{PIPE}`: {reason}")
}

/// The text for a player whose session ends because a program has not decided.
const UNDECIDED: &str = "a packet could not be checked";
