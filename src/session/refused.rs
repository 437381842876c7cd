use super::Session;
use super::phase::Phase;
use crate::link::Side;
use crate::packet::Packet;
use crate::schema::{Direction, Role, State, Value};

/// Sessions whose upstream cannot be reached: the player is told why.
impl Session {
    pub(super) fn on_refused(&mut self, why: String) {
        let reason = format!("cannot reach {}: {why}", self.upstream);
        self.reason = Some(reason.clone());
        if let Phase::Detect { reach, .. } = &mut self.phase {
            *reach = super::phase::Reach::Refused(reason);
            self.linger();
        }
    }

    pub(super) fn on_refused_packet(&mut self, packet: Packet) {
        let Phase::Refused(refusal) = &self.phase else { return };
        let reason = refusal.reason.clone();
        let role = packet.kind().and_then(|packet| packet.role());
        let body = match role {
            _ if self.is_shut(Side::Client) => None,
            Some(Role::Handshake) => {
                if self.read_handshake(&packet).is_none() {
                    self.swallow(packet, &reason);
                    return self.end();
                }
                None
            }
            Some(Role::StatusRequest) => self.status_body(&format!("mitmcraft: {reason}")),
            Some(Role::Ping) => packet.body().ok().map(|body| body.to_vec()),
            Some(Role::LoginStart) => self.disconnect_body(&reason),
            Some(Role::Greeting | Role::Login) => self.kick_body(&format!("mitmcraft: {reason}")),
            _ => None,
        };
        let state = packet.state;
        if matches!(role, Some(Role::LoginStart | Role::Greeting | Role::Login)) {
            self.note_player(&packet);
        }
        self.swallow(packet, &reason);
        if let Some(body) = body {
            self.send(Direction::Clientbound, state, &body, None);
        }
        if matches!(role, Some(Role::Ping | Role::LoginStart | Role::Greeting | Role::Login)) {
            self.shutdown(Side::Client);
            self.linger();
        }
    }

    /// A status whose text is the reason, in the client's own version, so that it is shown.
    pub(super) fn status_body(&self, reason: &str) -> Option<Vec<u8>> {
        let protocol = &self.context.protocol;
        let packet = protocol.role(State::Status, Direction::Clientbound, Role::StatusResponse)?;
        let version = self.context.version.unwrap_or_else(|| protocol.version());
        let status = serde_json::json!({
            "version": { "name": "mitmcraft", "protocol": version },
            "players": { "max": 0, "online": 0 },
            "description": { "text": reason },
        });
        let value = Value::map([("response", Value::from(status.to_string().as_str()))]);
        protocol.encode(packet, &value).ok()
    }
}
