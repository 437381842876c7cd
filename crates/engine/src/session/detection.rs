use std::sync::Arc;

use super::Session;
use super::phase::{Phase, Reach, Refusal, leave};
use super::unframed::not_understood;
use crate::capture::Record;
use crate::link::{
    Detected, Notice, Output, Preamble, PreambleRead, Side, detect, detect_last, urgent,
};
use mitmcraft_protocol::packet::{Content, RawReason, Timestamp};
use mitmcraft_protocol::schema::{Direction, LEGACY_PING_ID};

/// Detection of the protocol that the client speaks.
impl Session {
    /// Decides which protocol the client speaks. Returns whether that has been decided now.
    pub(super) fn detect(&mut self) -> bool {
        let now = self.now();
        match &self.phase {
            Phase::Detect(detection) if detection.reach != Reach::Unknown => {}
            _ => return false,
        }
        while self.pass_preamble() {}
        let Phase::Detect(detection) = &self.phase else { return false };
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

    /// Forwards and records a PROXY header that nobody asked for: what follows it is the game's, and goes on as
    /// it is, since the header tells the server as much as the host does. Returns whether there was one.
    fn pass_preamble(&mut self) -> bool {
        let Phase::Detect(detection) = &mut self.phase else { return false };
        let Ok(PreambleRead::Whole(preamble)) = Preamble::read(&detection.held) else {
            return false;
        };
        let header = detection.held.split_to(preamble.length).freeze();
        let refused = matches!(detection.reach, Reach::Refused(..));
        if let Preamble { addresses: Some(addresses), version, .. } = preamble {
            let (session, source) = (self.context().session, addresses.source);
            let notice = Notice::UnaskedPreamble { session, version, source };
            self.outputs.push_back(Output::Notice(notice));
        }
        if !self.config.keep_host {
            Arc::make_mut(&mut self.config).keep_host = true;
        }
        let content = Content::Raw(header, RawReason::NotMinecraft);
        let packet = self.delivery.recorder.packet(Direction::Serverbound, content);
        self.delivery.recorder.remark(packet.seq(), HEADER);
        if refused {
            self.record(Record::passed(packet));
        } else if let Some(incoming) = self.admit(packet, None, None) {
            self.forward(incoming);
        }
        true
    }

    /// Forwards the first bytes of a possible ping, whose form only the answer tells, and of what may be
    /// anything; holds them if a rule may change the ping, or if there is no server.
    fn forward_urgent(&mut self) {
        let Phase::Detect(detection) = &self.phase else { return };
        let (urgent, sent) = (urgent(&detection.held), self.ends.server.ahead);
        if urgent <= sent {
            return;
        }
        let refused = matches!(detection.reach, Reach::Refused(..));
        let ping = detection.held.first() == Some(&LEGACY_PING_ID);
        let holds = refused || ping && sent == 0 && self.rules_want_ping();
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
            Detected::Handshake | Detected::Malformed => {}
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

/// Why bytes are taken as a header of a proxy.
const HEADER: &str =
    "taken as a PROXY header, because it is a whole one; what follows is read as the game's";
