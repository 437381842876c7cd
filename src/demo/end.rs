use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::message::{Message, Received};
use super::{DemoError, DemoPacket};
use crate::codec::{Bare, Frame, Leg, Limits, Unit};
use crate::schema::{Catalog, DecodeCause, DecodeError, Direction, Name, Protocol, State};

/// One end of a connection: bytes to packets and back, and what went over it.
#[derive(Debug)]
pub(super) struct End {
    leg: Leg,
    protocol: Arc<Protocol>,
    state: State,
    /// What this end sends.
    direction: Direction,
    sent: BTreeMap<Name, u64>,
    received: BTreeMap<Name, u64>,
    undecoded: u64,
    /// Kept only when asked for.
    packets: Option<Vec<DemoPacket>>,
}

impl End {
    /// An end that sends in that direction.
    pub(super) fn new(direction: Direction, record: bool) -> Self {
        let found = Catalog::embedded().find(VERSION).expect("the embedded catalog has 1.8");
        let leg = Leg::new(Limits::default());
        Self::with(leg, found.protocol, State::Handshaking, direction, record)
    }

    /// The same for Alpha, which has one state and no frames.
    pub(super) fn alpha(direction: Direction, record: bool) -> Self {
        let protocol = Catalog::embedded().alpha(ALPHA_VERSION).protocol;
        let mut leg = Leg::new(Limits::default());
        let bare = Bare::new(Arc::clone(&protocol), State::Play, direction.reverse());
        leg.decoder.set_bare(bare);
        leg.encoder.set_bare();
        Self::with(leg, protocol, State::Play, direction, record)
    }

    fn with(
        leg: Leg,
        protocol: Arc<Protocol>,
        state: State,
        direction: Direction,
        record: bool,
    ) -> Self {
        Self {
            leg,
            protocol,
            state,
            direction,
            sent: BTreeMap::new(),
            received: BTreeMap::new(),
            undecoded: 0,
            packets: record.then(Vec::new),
        }
    }

    /// Takes bytes as they came from the socket.
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        self.leg.decoder.receive(bytes);
    }

    /// The next packet that came. In the game, one that does not decode is passed over.
    pub(super) fn poll(&mut self) -> Result<Option<Received>, DemoError> {
        while let Some(unit) = self.leg.decoder.poll() {
            let frame = match unit {
                Unit::Frame(frame) => frame,
                Unit::Piece { frame, .. } => return Err(DemoError::Oversize(frame)),
                Unit::Opaque { reason, .. } => {
                    return Err(match reason {
                        Some(reason) => DemoError::Codec(Arc::unwrap_or_clone(reason)),
                        None => DemoError::Closed(self.state),
                    });
                }
            };
            if let Some(received) = self.decode(&frame)? {
                return Ok(Some(received));
            }
        }
        Ok(None)
    }

    /// Sends a packet of the present state.
    pub(super) fn send(&mut self, message: &Message) -> Result<(), DemoError> {
        let fault = |source| DemoError::Encode { packet: message.name, source };
        let protocol = Arc::clone(&self.protocol);
        let packet = protocol.named(self.state, self.direction, message.name);
        let packet = packet.ok_or_else(|| fault(None))?;
        let body = protocol.encode(packet, &message.value).map_err(|error| fault(Some(error)))?;
        self.leg.encoder.send(&body);
        *self.sent.entry(Name::clone(packet.name())).or_default() += 1;
        self.note(self.direction, Some(packet.name()), body);
        Ok(())
    }

    /// Counts the first `count` bytes of [`End::pending`] as written.
    pub(super) fn advance(&mut self, count: usize) {
        self.leg.encoder.advance(count);
    }

    pub(super) fn set_state(&mut self, state: State) {
        self.state = state;
    }

    pub(super) fn set_compression(&mut self, threshold: Option<usize>) {
        self.leg.set_compression(threshold);
    }

    pub(super) fn set_cipher(&mut self, secret: &[u8; 16]) {
        self.leg.set_cipher(secret);
    }

    /// What waits to be written.
    pub(super) fn pending(&self) -> &[u8] {
        self.leg.encoder.pending()
    }

    /// Whether so much waits to be written that no more should be made.
    pub(super) fn is_full(&self) -> bool {
        self.pending().len() > MAX_PENDING
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    /// How often each packet was sent and received, and how many did not decode.
    pub(super) fn counts(&self) -> (&BTreeMap<Name, u64>, &BTreeMap<Name, u64>, u64) {
        (&self.sent, &self.received, self.undecoded)
    }

    /// The packets that were recorded, as those of the connection of that number.
    pub(super) fn take_packets(&mut self, connection: usize) -> Vec<DemoPacket> {
        let mut packets = self.packets.as_mut().map(std::mem::take).unwrap_or_default();
        packets.iter_mut().for_each(|packet| packet.connection = connection);
        packets
    }

    fn decode(&mut self, frame: &Frame) -> Result<Option<Received>, DemoError> {
        let body = frame.body()?;
        let protocol = Arc::clone(&self.protocol);
        let direction = self.direction.reverse();
        let packet = match protocol.identify(self.state, direction, &body) {
            Ok((packet, start)) => {
                *self.received.entry(Name::clone(packet.name())).or_default() += 1;
                self.note(direction, Some(packet.name()), body.clone());
                protocol.decode(packet, &body, start).map(|value| (packet, value))
            }
            Err(error) => {
                self.note(direction, None, body);
                Err(error)
            }
        };
        match packet {
            Ok((packet, value)) => Ok(Some(Received { name: Name::clone(packet.name()), value })),
            Err(source) => self.pass_over(source),
        }
    }

    fn pass_over(&mut self, source: DecodeError) -> Result<Option<Received>, DemoError> {
        // A frame of length 0 is no packet, in no state.
        if self.state != State::Play && source.cause != DecodeCause::Empty {
            return Err(DemoError::Decode { state: self.state, source });
        }
        self.undecoded += 1;
        Ok(None)
    }

    fn note(&mut self, direction: Direction, name: Option<&Name>, body: impl Into<Bytes>) {
        let Some(packets) = &mut self.packets else { return };
        packets.push(DemoPacket {
            connection: 0,
            direction,
            state: self.state,
            name: name.cloned(),
            body: body.into(),
        });
    }
}

/// Alpha 1.2.3.
pub(super) const ALPHA_VERSION: i32 = 5;

/// Minecraft 1.8.
pub(super) const VERSION: i32 = 47;

/// A demo that waits with more than this has met a peer that does not read: it holds the landscape
/// of the beginning, and little more.
const MAX_PENDING: usize = 1 << 20;
