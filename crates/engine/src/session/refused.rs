use std::time::Duration;

use super::Session;
use super::closing::Half;
use super::phase::{Detection, Phase, Reach};
use crate::link::{Side, disconnect_body, status_body};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Direction, Role, State};

/// Sessions whose upstream cannot be reached: the player is shown why.
impl Session {
    /// Ends a session without a server, for a reason that the record has; players are told `text`.
    pub(super) fn on_refused(&mut self, reason: String, text: String) {
        self.closing.set_reason(reason);
        self.set_unreachable(text);
    }

    /// Whether it is still unknown if there is a server.
    pub(super) fn is_connecting(&self) -> bool {
        matches!(&self.phase, Phase::Detect(detection) if detection.reach == Reach::Unknown)
    }

    /// Gives up connecting, for a reason in words for the player.
    pub(super) fn set_unreachable(&mut self, reason: String) {
        let linger = self.linger_time();
        if let Phase::Detect(detection) = &mut self.phase {
            detection.reach = Reach::Refused(reason, linger);
        }
    }

    /// Has what a client has sent decoded and answered although the session ends without a server. Returns
    /// whether anything may change by that.
    pub(super) fn give_up_connecting(&mut self) -> bool {
        if self.is_connecting() {
            self.set_unreachable(self.closing.reason().unwrap_or_default().to_owned());
        }
        let now = self.now();
        match &mut self.phase {
            Phase::Detect(Detection { reach: Reach::Refused(..), settle, .. })
                if settle.is_none_or(|settle| settle > now) =>
            {
                *settle = Some(now);
                true
            }
            _ => false,
        }
    }

    pub(super) fn on_refused_packet(&mut self, packet: Packet) {
        let Phase::Refused(refusal) = &self.phase else { return };
        let reason = refusal.reason.clone();
        let recorded = self.closing.reason().unwrap_or(&reason).to_owned();
        let role = packet.kind().and_then(|packet| packet.role());
        let body = match role {
            _ if matches!(self.closing.half(Direction::Clientbound), Half::Shut | Half::Lost) => {
                None
            }
            Some(Role::Handshake) => {
                if self.read_handshake(&packet).is_none() {
                    self.delivery.swallow(packet, &recorded);
                    return self.closing.end_now();
                }
                None
            }
            Some(Role::StatusRequest) => {
                status_body(self.context(), &format!("mitmcraft: {reason}"))
            }
            Some(Role::Ping) => packet.body().ok().map(|body| body.to_vec()),
            Some(Role::LoginStart) => self.login_disconnect(&reason),
            Some(Role::Greeting | Role::UnframedLogin) => {
                let text = format!("mitmcraft: {reason}");
                disconnect_body(&self.context().protocol, State::Play, &text)
            }
            _ => None,
        };
        let state = packet.state();
        if matches!(role, Some(Role::LoginStart | Role::Greeting | Role::UnframedLogin)) {
            self.note_player(&packet);
        }
        self.delivery.swallow(packet, &recorded);
        if let Some(body) = body {
            self.send(Direction::Clientbound, state, body);
        }
        if matches!(
            role,
            Some(Role::Ping | Role::LoginStart | Role::Greeting | Role::UnframedLogin)
        ) {
            self.dismiss_refused();
        }
    }

    /// Tells the client that nothing more comes, and waits a while for it to go.
    pub(super) fn dismiss_refused(&mut self) {
        self.shutdown(Side::Client);
        let linger = self.now().plus(GOODBYE);
        if let Phase::Refused(refusal) = &mut self.phase {
            refusal.linger = linger;
        }
    }
}

/// Time that a client may take to close after its answer.
const GOODBYE: Duration = Duration::from_secs(1);
