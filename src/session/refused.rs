use std::time::Duration;

use super::Session;
use super::phase::{Phase, Reach};
use crate::link::{Side, disconnect_body, status_body};
use crate::packet::Packet;
use crate::schema::{Direction, Role, State};

/// Sessions whose upstream cannot be reached: the player is shown why.
impl Session {
    /// Ends a session without a server, for a reason that the record has; players are told `text`.
    pub(super) fn on_refused(&mut self, reason: String, text: String) {
        self.reason = Some(reason);
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

    /// Decodes and answers what a client has sent although the session ends without a server.
    pub(super) fn give_up_connecting(&mut self) {
        if self.is_connecting() {
            self.set_unreachable(self.reason.clone().unwrap_or_default());
        }
        let now = self.now();
        if let Phase::Detect(detection) = &mut self.phase
            && let Reach::Refused(..) = detection.reach
        {
            detection.settle = Some(now);
            self.pump();
        }
        self.on_refused_ping(&[], true);
    }

    pub(super) fn on_refused_packet(&mut self, packet: Packet) {
        let Phase::Refused(refusal) = &self.phase else { return };
        let reason = refusal.reason.clone();
        let recorded = self.reason.clone().unwrap_or_else(|| reason.clone());
        let role = packet.kind().and_then(|packet| packet.role());
        let body = match role {
            _ if self.ends.client.shut || self.ends.client.lost => None,
            Some(Role::Handshake) => {
                if self.read_handshake(&packet).is_none() {
                    self.swallow(packet, &recorded);
                    return self.end();
                }
                None
            }
            Some(Role::StatusRequest) => {
                status_body(self.context(), &format!("mitmcraft: {reason}"))
            }
            Some(Role::Ping) => packet.body().ok().map(|body| body.to_vec()),
            Some(Role::LoginStart) => self.login_disconnect(&reason),
            Some(Role::Greeting | Role::Login) => {
                let text = format!("mitmcraft: {reason}");
                disconnect_body(&self.context().protocol, State::Play, &text)
            }
            _ => None,
        };
        let state = packet.state();
        if matches!(role, Some(Role::LoginStart | Role::Greeting | Role::Login)) {
            self.note_player(&packet);
        }
        self.swallow(packet, &recorded);
        if let Some(body) = body {
            self.send(Direction::Clientbound, state, body);
        }
        if matches!(role, Some(Role::Ping | Role::LoginStart | Role::Greeting | Role::Login)) {
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
