use super::Session;
use super::phase::{Phase, Reach, Refusal, leave};
use super::unframed::not_understood;
use crate::link::{Detected, Side, detect, detect_last, urgent};
use mitmcraft_protocol::packet::{RawReason, Timestamp};

/// Detection of the protocol that the client speaks.
impl Session {
    /// Decides which protocol the client speaks. Returns whether that has been decided now.
    pub(super) fn detect(&mut self) -> bool {
        let now = self.now();
        let Phase::Detect(detection) = &self.phase else { return false };
        if detection.reach == Reach::Unknown {
            return false;
        }
        let settled = detection.settle.is_some_and(|settle| settle <= now);
        let server_speaks_first = self.ends.server.leg.decoder.buffered() > 0;
        let detected = if server_speaks_first || self.closing.is_closed(Side::Client) || settled {
            detect_last(&detection.held)
        } else {
            detect(&detection.held)
        };
        if detected == Detected::Unsure {
            self.forward_urgent();
            return false;
        }
        let detection = leave!(self.phase, Phase::Detect(detection) => detection);
        let Some(detection) = detection else { return false };
        self.on_detected(detected, detection.reach, detection.settle);
        self.ends.client.leg.decoder.receive(&detection.held);
        true
    }

    /// Forwards the first bytes of a possible ping, whose form only the answer tells; holds them if
    /// a rule may change the ping, or if there is no server.
    fn forward_urgent(&mut self) {
        let Phase::Detect(detection) = &self.phase else { return };
        let (urgent, sent) = (urgent(&detection.held), self.ends.server.ahead);
        if urgent <= sent {
            return;
        }
        let refused = matches!(detection.reach, Reach::Refused(..));
        let holds = refused || sent == 0 && self.rules_want_ping();
        let settle = self.settle_time();
        let Phase::Detect(detection) = &mut self.phase else { return };
        if holds {
            detection.settle.get_or_insert(settle);
        } else {
            self.ends.server.send_ahead(&detection.held[sent..urgent]);
        }
    }

    fn on_detected(&mut self, detected: Detected, reach: Reach, settle: Option<Timestamp>) {
        let mut ping = None;
        match detected {
            Detected::Handshake => {}
            Detected::LegacyPing => ping = Some(self.begin_legacy_ping(settle)),
            Detected::Unframed(text) => self.begin_unframed(text),
            Detected::Release(version) => self.begin_release(version.into()),
            Detected::UnknownLogin(version) => self.relay(not_understood(version)),
            Detected::Other | Detected::Unsure => self.relay(RawReason::NotMinecraft),
        }
        if let Reach::Refused(reason, linger) = reach {
            if let Some(ping) = &mut ping {
                ping.settle.get_or_insert_with(|| self.settle_time());
            }
            self.phase = Phase::Refused(Refusal { reason, ping, linger });
        } else if let Some(ping) = ping {
            self.phase = Phase::LegacyPing(ping);
        }
    }

    /// Finds the packets that `side` sends from now on by measuring them.
    pub(super) fn measure(&mut self, side: Side) {
        let recorder = &self.delivery.recorder;
        let state = recorder.states[side.sends()];
        self.ends[side].measure(&recorder.context.protocol, state, side.sends());
    }
}
