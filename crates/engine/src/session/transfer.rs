use super::Session;
use super::incoming::Incoming;
use crate::filter::Verdict;
use crate::link::{ANY_VERSION, Detected, Handshake, Output, behind_preambles, detect};
use crate::link::{Transfer, Upstream};
use mitmcraft_protocol::codec::{Leg, Limits, Unit};
use mitmcraft_protocol::packet::Packet;
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};

/// The origin of a newly connected client, judged by its first bytes: transferred here, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Too few bytes to tell.
    Unsure,
    /// The client is the expected one with this index.
    Of(usize),
    /// The client is not expected.
    Stranger,
}

impl Arrival {
    /// Decides by the handshake, which says that the client was transferred, and the player's name.
    #[must_use]
    pub fn of(bytes: &[u8], catalog: &Catalog, awaited: &[Transfer]) -> Self {
        let bytes = behind_preambles(bytes);
        match detect(bytes) {
            Detected::Handshake => {}
            Detected::Unsure => return Self::Unsure,
            _ => return Self::Stranger,
        }
        let mut decoder = Leg::new(Limits::default()).decoder;
        decoder.receive(bytes);
        let read = |unit: &Unit, version, state| {
            let Unit::Frame(frame) = unit else { return None };
            let body = frame.body().ok()?;
            let protocol = catalog.find(version)?.protocol;
            let (packet, start) = protocol.identify(state, Direction::Serverbound, &body).ok()?;
            protocol.decode(packet, &body, start).ok()
        };
        let Some(unit) = decoder.poll() else { return Self::Unsure };
        let handshake = read(&unit, ANY_VERSION, State::Handshaking);
        let handshake = handshake.as_ref().and_then(Handshake::of).filter(|it| it.transferred);
        let Some(handshake) = handshake else { return Self::Stranger };
        let Some(unit) = decoder.poll() else { return Self::Unsure };
        let start = read(&unit, handshake.version, State::Login);
        let player = start.as_ref().and_then(|start| start.get("username")?.as_text());
        let place = awaited.iter().position(|it| Some(it.player.as_str()) == player);
        place.map_or(Self::Stranger, Self::Of)
    }
}

/// Transfers (1.20.5 on).
impl Session {
    /// Sends the client back to the proxy, and announces where to connect it then.
    pub(super) fn on_transfer(&mut self, incoming: Incoming) {
        let Incoming { packet, role, decided, .. } = incoming;
        let mut judgement = self.delivery.judge(&packet, role, decided);
        let mut told = packet.clone();
        match &judgement.verdict {
            Verdict::Drop => return self.deliver(packet, judgement),
            Verdict::Replace(body) => told.replace_body(body.clone()),
            Verdict::Pass => {}
        }
        if let Some((body, transfer)) = self.followed(&told) {
            let comment = format!(
                "the client will return to the proxy, which connects it to {}",
                transfer.target
            );
            judgement.effects.notes.comments.push(comment);
            judgement.verdict = Verdict::Replace(body.into());
            self.outputs.push_back(Output::Transfer(Box::new(transfer)));
        }
        self.deliver(packet, judgement);
    }

    /// Builds the Transfer with the proxy's address, as the client knows it. Returns `None` if
    /// transfers are not followed, or if the packet names no target.
    fn followed(&self, packet: &Packet) -> Option<(Vec<u8>, Transfer)> {
        let address = self.address.as_ref().filter(|_| self.config.follow_transfers)?;
        let value = packet.value().ok()?;
        let target = Upstream {
            host: value.get("host")?.as_text()?.to_owned(),
            port: value.get("port")?.as_int()?.try_into().ok()?,
        };
        let back = Value::map([
            ("host", Value::from(address.host.as_str())),
            ("port", Value::Int(address.port.into())),
        ]);
        let body = packet.context().protocol.encode(packet.kind()?, &back).ok()?;
        let (client, player) = (self.context().client.ip(), self.context().player.clone()?);
        Some((body, Transfer { client, player, target }))
    }
}
