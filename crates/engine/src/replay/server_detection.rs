use std::sync::Arc;
use std::time::Duration;

use super::server::{Detection, Phase, ServerReplay};
use crate::link::{Detected, any_unframed, behind_preambles, detect, detect_last};
use crate::ping::{Answerer, Reply};
use mitmcraft_protocol::schema::{Family, LEGACY_PING_ID, Role, State, Value};
use mitmcraft_protocol::wire::Encoding;

/// Detection of the protocol that the client speaks.
impl ServerReplay {
    pub(super) fn on_received(&mut self, bytes: &[u8]) {
        let Phase::Detect(detection) = &mut self.phase else {
            return self.endpoint.receive(bytes);
        };
        detection.held.extend_from_slice(bytes);
        let held = detection.held.clone();
        let detected = if held.len() > MAX_HELD { Detected::Other } else { detect(&held) };
        self.on_detected(detected, &held);
    }

    /// Decides what the client speaks, when it sends nothing more.
    pub(super) fn detect_last(&mut self) {
        let Phase::Detect(detection) = &mut self.phase else { return };
        let held = std::mem::take(&mut detection.held);
        if !held.is_empty() {
            self.on_detected(detect_last(&held), &held);
        }
    }

    /// Answers a ping that could have grown, and did not in time.
    pub(super) fn on_settled(&mut self) {
        let Phase::Detect(detection) = &self.phase else { return };
        let held = detection.held.clone();
        self.on_legacy_ping(&held);
    }

    fn on_detected(&mut self, detected: Detected, held: &[u8]) {
        let held = behind_preambles(held);
        match detected {
            Detected::Unsure | Detected::LegacyPing if held.first() == Some(&LEGACY_PING_ID) => {
                self.on_legacy_ping(held);
            }
            Detected::Unsure => {}
            Detected::Handshake => self.await_handshake(held),
            Detected::Unframed(text) => self.on_unframed(text, held),
            Detected::UnknownLogin(_) => self.on_unframed(Encoding::ModifiedUtf8, held),
            Detected::Release(version) => self.on_release(version.into(), held),
            Detected::LegacyPing | Detected::Malformed | Detected::Other => {
                self.endpoint.receive(held);
                self.finish("the client does not speak Minecraft");
            }
        }
    }

    fn await_handshake(&mut self, held: &[u8]) {
        self.phase = Phase::Handshake;
        self.endpoint.receive(held);
    }

    fn on_unframed(&mut self, text: Encoding, held: &[u8]) {
        let recorded = Arc::clone(self.options.recording.protocol());
        let fits = recorded.release().unframed_text() == Some(text);
        let protocol = if fits { recorded } else { any_unframed(&self.options.catalog, text) };
        self.endpoint.update_context(|context| context.protocol = protocol);
        self.endpoint.enter(State::Play);
        self.endpoint.set_bare();
        self.phase = Phase::UnframedLogin;
        self.endpoint.receive(held);
        if !fits {
            self.reject("your client speaks another version from before 1.7");
        }
    }

    /// Handles the handshake of a client from 1.3 to 1.6, which begins with its version.
    fn on_release(&mut self, version: i32, held: &[u8]) {
        let recorded = self.options.recording.protocol();
        if (recorded.family(), recorded.version()) == (Family::Legacy, version) {
            let protocol = Arc::clone(recorded);
            self.endpoint.update_context(|context| {
                context.version = Some(version);
                context.protocol = protocol;
            });
            self.endpoint.enter(State::Play);
            self.endpoint.set_bare();
            self.phase = Phase::Login;
            return self.endpoint.receive(held);
        }
        // The kick of these versions is the one that answers a ping.
        self.speak_legacy_ping();
        let text = format!("{}; your client speaks another version", self.description());
        let fields = Value::map([("reason", Value::from(text.as_str()))]);
        self.endpoint.send_role(Role::StatusResponse, &fields);
        self.leave("a client of another version");
    }

    /// Answers a ping from before 1.7 if it is complete.
    fn on_legacy_ping(&mut self, held: &[u8]) {
        let now = self.endpoint.now();
        let mut answerer = Answerer::new(self.status());
        let reply = match (answerer.handle_received(held), &self.phase) {
            (Reply::Wait, Phase::Detect(Detection { settle: Some(settle), .. }))
                if *settle <= now =>
            {
                answerer.handle_quiet()
            }
            (reply, _) => reply,
        };
        match reply {
            Reply::Wait => self.settle_later(),
            Reply::Send(answer) | Reply::Close(answer) => {
                self.speak_legacy_ping();
                self.endpoint.receive(held);
                while let Some(packet) = self.endpoint.poll() {
                    self.endpoint.record(packet);
                }
                self.endpoint.send(&answer);
                self.leave("answered a status request");
            }
            Reply::Other(_) => self.await_handshake(held),
        }
    }

    /// Sets the time from which the ping counts as complete; none if that time has come, and the
    /// ping was not.
    fn settle_later(&mut self) {
        let now = self.endpoint.now();
        let Phase::Detect(detection) = &mut self.phase else { return };
        detection.settle = match detection.settle {
            Some(settle) if settle <= now => None,
            settle => Some(settle.unwrap_or_else(|| now.plus(SETTLE))),
        };
    }

    fn speak_legacy_ping(&mut self) {
        let protocol = self.options.catalog.legacy_ping();
        self.endpoint.update_context(|context| context.protocol = protocol);
        self.endpoint.enter(State::Status);
        self.endpoint.set_bare();
    }
}

/// More bytes than any handshake has.
const MAX_HELD: usize = 4096;

/// The time that the rest of a ping from before 1.7 may take.
const SETTLE: Duration = Duration::from_millis(300);
