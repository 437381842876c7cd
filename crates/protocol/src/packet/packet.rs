use std::cell::Cell;
use std::num::NonZeroU32;
use std::sync::Arc;

use bytes::Bytes;

use super::{
    Context, Diagnostic, Diagnostics, Origin, RawReason, StyledText, Timestamp, Undecoded,
    plain_text,
};
use crate::codec::Frame;
use crate::schema::{
    DecodeCause, DecodeError, Direction, JsonVisitor, Measure, PacketType, Protocol, Role, State,
    Value, Visitor,
};
use crate::wire::VarInt;

/// A packet seen on one leg: usually a frame, otherwise raw bytes. Together, packets hold every
/// byte of a leg.
///
/// Cheap to create and to clone: the id is looked up, and the body inflated and decoded, on demand.
/// The looked-up id is cached in a `Cell`, so that a packet is `Send` but not `Sync`.
#[derive(Debug, Clone)]
pub struct Packet {
    context: Arc<Context>,
    seq: u64,
    at: Timestamp,
    direction: Direction,
    state: State,
    origin: Origin,
    content: Content,
    /// The size on the wire where `content` does not tell it: captures keep bodies, not their
    /// compressed form.
    wire_size: Option<NonZeroU32>,
    /// The diagnostics that follow from earlier packets and from the form of its frame on the wire.
    noted: Diagnostics,
    /// The looked-up id, which depends on `context.protocol`, `direction`, `state` and `content`: a
    /// change of any of them clears it.
    identity: Cell<Option<Identity>>,
}

/// The bytes of a [`Packet`].
#[derive(Debug, Clone)]
pub enum Content {
    /// A whole frame.
    Frame(Frame),
    /// Bytes that are not a frame, and the reason.
    Raw(Bytes, RawReason),
}

/// The looked-up id of a body. Every packet carries one, so it is small.
#[derive(Debug, Clone, Copy)]
struct Identity {
    id: i32,
    /// The place among the protocol's packets; `None` for an unassigned id.
    packet: Option<u16>,
    /// The offset of the first field.
    start: u8,
}

impl Packet {
    /// Creates a packet that came from the peer that sends in `direction`.
    #[must_use]
    pub fn new(
        context: Arc<Context>,
        seq: u64,
        at: Timestamp,
        direction: Direction,
        state: State,
        content: Content,
    ) -> Self {
        let origin = Origin::of(direction);
        let (wire_size, noted, identity) = (None, Diagnostics::NONE, Cell::new(None));
        Self { context, seq, at, direction, state, origin, content, wire_size, noted, identity }
    }

    /// Replaces the content by a frame with another body. What followed from earlier packets remains.
    pub fn replace_body(&mut self, body: Bytes) {
        let bare = self.frame().filter(|frame| frame.is_bare());
        self.set_content(Content::Frame(match bare {
            Some(frame) => {
                // The bytes before the body of a datagram are kept.
                let magic = frame.wire().slice(..frame.wire().len() - frame.size());
                Frame::datagram(Bytes::from([magic.clone(), body].concat()), magic.len())
            }
            None => Frame::from_body(body),
        }));
    }

    /// Replaces the content. What followed from earlier packets remains.
    pub fn set_content(&mut self, content: Content) {
        self.content = content;
        self.wire_size = None;
        self.identity = Cell::new(None);
    }

    /// Shares the inflated body with no clone any more, so that none is kept because of another.
    pub fn unshare(&mut self) {
        if let Content::Frame(frame) = &mut self.content {
            frame.unshare();
        }
    }

    /// Copies the bytes, so that those that were received with them can be freed.
    pub fn detach(&mut self) {
        match &mut self.content {
            Content::Frame(frame) => frame.detach(),
            Content::Raw(bytes, _) => *bytes = Bytes::copy_from_slice(bytes),
        }
    }

    /// Sets the context, by whose protocol the packet is decoded from now on.
    pub fn set_context(&mut self, context: Arc<Context>) {
        if !Arc::ptr_eq(&self.context.protocol, &context.protocol) {
            self.identity = Cell::new(None);
        }
        self.context = context;
    }

    /// Sets the state in which the packet's id is defined.
    pub fn set_state(&mut self, state: State) {
        if self.state != state {
            self.identity = Cell::new(None);
        }
        self.state = state;
    }

    /// Sets the packet's number in its session.
    pub fn set_seq(&mut self, seq: u64) {
        self.seq = seq;
    }

    /// Sets the time when the packet's last byte arrived, or when it was made.
    pub fn set_at(&mut self, at: Timestamp) {
        self.at = at;
    }

    /// Sets the peer that made the packet; [`new`](Self::new) takes it from the direction.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// Sets the size on the wire, where it is not that of the content.
    pub fn set_wire_size(&mut self, bytes: usize) {
        self.wire_size = u32::try_from(bytes).ok().and_then(NonZeroU32::new);
    }

    /// Adds diagnostics that the packet's bytes do not show.
    pub fn note(&mut self, noted: Diagnostics) {
        self.noted = self.noted.and(noted);
    }

    /// Returns the diagnostics that the packet's body does not show: those of its frame's compression, and
    /// those that follow from earlier packets.
    #[must_use]
    pub fn noted(&self) -> Diagnostics {
        let frame = match &self.content {
            Content::Frame(frame) => frame,
            // The first part of a frame has its length in it.
            Content::Raw(bytes, RawReason::Oversize { frame, left })
                if *frame > MOST_FRAME && left.saturating_add(bytes.len()) > *frame =>
            {
                return self.noted.and(Diagnostics::from_iter([Diagnostic::FrameTooLong]));
            }
            Content::Raw(..) => return self.noted,
        };
        let Some(threshold) = frame.threshold() else { return self.noted };
        let breach = match (frame.is_deflated(), frame.size() >= threshold) {
            (true, false) => Diagnostic::CompressedBelowThreshold,
            (false, true) if frame.size() > 0 => Diagnostic::UncompressedAboveThreshold,
            _ => return self.noted,
        };
        self.noted.and(Diagnostics::from_iter([breach]))
    }

    /// Returns the state that the packet shares with other packets of its session.
    #[inline]
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Returns the packet's number in its session, from 1, both directions together.
    #[inline]
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns the time when the packet's last byte arrived, or when it was made.
    #[inline]
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Returns the direction in which the packet travels.
    #[inline]
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns the state in which the packet's id is defined.
    #[inline]
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns the peer that made the packet.
    #[inline]
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Returns the packet's bytes.
    #[inline]
    #[must_use]
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Returns the frame, if the packet is one.
    #[must_use]
    pub fn frame(&self) -> Option<&Frame> {
        match &self.content {
            Content::Frame(frame) => Some(frame),
            Content::Raw(..) => None,
        }
    }

    /// Returns the inflated body: id and fields.
    ///
    /// # Errors
    /// [`Undecoded`] if the packet is not a frame, or cannot be inflated.
    #[inline]
    pub fn body(&self) -> Result<Bytes, Undecoded> {
        match &self.content {
            Content::Frame(frame) => Ok(frame.body()?),
            Content::Raw(bytes, reason) => Err(Undecoded::of_raw(bytes, reason)),
        }
    }

    /// Returns the inflated body, or the bytes as received if there is none.
    #[must_use]
    pub fn body_or_bytes(&self) -> Bytes {
        match (&self.content, self.body()) {
            (_, Ok(body)) => body,
            (Content::Frame(frame), Err(_)) => frame.wire().clone(),
            (Content::Raw(bytes, _), Err(_)) => bytes.clone(),
        }
    }

    /// Returns the size of the inflated body without inflating it; of raw bytes, their number.
    #[inline]
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.content {
            Content::Frame(frame) => frame.size(),
            Content::Raw(bytes, _) => bytes.len(),
        }
    }

    /// Returns the size on the wire, including the length prefix.
    #[must_use]
    pub fn wire_size(&self) -> usize {
        if let Some(bytes) = self.wire_size {
            return bytes.get() as usize;
        }
        match &self.content {
            Content::Frame(frame) => frame.wire().len(),
            Content::Raw(bytes, _) => bytes.len(),
        }
    }

    /// Returns how many bytes are kept in memory: those on the wire, and the inflated body if somebody
    /// asked for it.
    pub fn memory(&self) -> usize {
        match &self.content {
            Content::Frame(frame) => frame.memory(),
            Content::Raw(bytes, _) => bytes.len(),
        }
    }

    /// Returns the packet id, if there is one.
    #[must_use]
    #[inline]
    pub fn id(&self) -> Option<i32> {
        Some(self.known_identity()?.id)
    }

    /// Returns the packet's type; `None` if its id is unassigned.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> Option<&PacketType> {
        let place = self.known_identity()?.packet?;
        self.context.protocol.packets().get(usize::from(place))
    }

    /// Returns the role of the packet's type; `None` if the type is unknown or has no role.
    #[inline]
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        self.kind()?.role()
    }

    /// Returns the offset of the first field in the body.
    #[inline]
    #[must_use]
    pub fn fields_at(&self) -> usize {
        self.known_identity().map_or(0, |identity| usize::from(identity.start))
    }

    /// Walks through the fields with a visitor, up to the first error.
    ///
    /// # Errors
    /// [`Undecoded`]: the reason why not all fields could be decoded.
    pub fn walk(&self, visitor: &mut impl Visitor) -> Result<(), Undecoded> {
        self.with_type(|protocol, packet, body, start| {
            protocol.walk(packet, body, start, visitor).map(drop)
        })
    }

    /// Walks through the fields as [`walk`](Self::walk) does. It is compiled once for all visitors, so that
    /// each call of a method is indirect: for visitors whose speed does not matter.
    ///
    /// # Errors
    /// [`Undecoded`]: the reason why not all fields could be decoded.
    pub fn walk_dyn(&self, visitor: &mut dyn Visitor) -> Result<(), Undecoded> {
        self.with_type(|protocol, packet, body, start| {
            protocol.walk_dyn(packet, body, start, visitor).map(drop)
        })
    }

    /// Walks through the fields with a visitor as [`walk`](Self::walk) does, and through those of the
    /// payload of a plugin channel, if its layout is known, as the field `payload`: what is to be shown, so
    /// that a handshake's host without anything behind it is not repeated.
    ///
    /// # Errors
    /// [`Undecoded`]: the reason why not all fields could be decoded.
    pub fn walk_with_payload(&self, visitor: &mut impl Visitor) -> Result<(), Undecoded> {
        self.with_type(|protocol, packet, body, start| {
            let payload = protocol.payload(packet, body, start);
            let payload = payload.filter(|payload| protocol.has_parts(payload, body));
            match payload {
                Some(it) => protocol.walk_and_payload(packet, (body, start), &it, visitor),
                None => protocol.walk(packet, body, start, visitor),
            }
            .map(drop)
        })
    }

    /// Returns whether the packet is a handshake, or the message of a plugin channel whose layout is known.
    #[must_use]
    pub fn has_payload(&self) -> bool {
        matches!(self.role(), Some(Role::Handshake | Role::PluginMessage))
            && self
                .with_type(|protocol, packet, body, start| {
                    Ok(protocol.payload(packet, body, start).is_some())
                })
                .unwrap_or(false)
    }

    // Inlined into a loop over packets, it takes the registers that the walk needs.
    #[inline(never)]
    fn with_type<T>(
        &self,
        read: impl FnOnce(&Protocol, &PacketType, &[u8], usize) -> Result<T, DecodeError>,
    ) -> Result<T, Undecoded> {
        let identity = self.identity()?;
        let Some(place) = identity.packet else {
            let (state, direction) = (self.state, self.direction);
            let cause = DecodeCause::UnknownId { id: identity.id, state, direction };
            return Err(DecodeError::new(0, cause).into());
        };
        let protocol = &self.context.protocol;
        let packet = &protocol.packets()[usize::from(place)];
        Ok(self.with_body(|body| read(protocol, packet, body, usize::from(identity.start)))??)
    }

    /// Inflates a compressed body. Before the id is asked for, this spares inflating its first bytes alone.
    #[inline]
    pub fn inflate(&self) {
        let _ = self.with_body(|_| ());
    }

    #[inline]
    fn with_body<T>(&self, read: impl FnOnce(&[u8]) -> T) -> Result<T, Undecoded> {
        match &self.content {
            Content::Frame(frame) => Ok(frame.with_body(read)?),
            Content::Raw(bytes, reason) => Err(Undecoded::of_raw(bytes, reason)),
        }
    }

    /// Decodes the whole packet, and returns the error if there is one.
    #[must_use]
    pub fn error(&self) -> Option<Undecoded> {
        let fits = |kind| {
            let (protocol, at) = (&self.context.protocol, self.fields_at());
            self.with_body(|body| protocol.fits(kind, body, at)).unwrap_or_default()
        };
        if self.kind().is_some_and(fits) {
            return None;
        }
        self.walk(&mut Measure).err()
    }

    /// Decodes the fields.
    ///
    /// # Errors
    /// [`Undecoded`]: the reason why the fields could not be decoded.
    pub fn value(&self) -> Result<Value, Undecoded> {
        self.with_type(Protocol::decode)
    }

    /// Decodes the fields to be read only: lists of single bytes are [`Value::Bytes`].
    ///
    /// # Errors
    /// [`Undecoded`]: the reason why the fields could not be decoded.
    pub fn packed_value(&self) -> Result<Value, Undecoded> {
        self.with_type(Protocol::decode_packed)
    }

    /// Decodes the fields, with the payload of a plugin channel, if its layout is known, as a last field
    /// `payload`.
    ///
    /// # Errors
    /// [`Undecoded`]: the reason why the fields could not be decoded.
    pub fn value_with_payload(&self) -> Result<Value, Undecoded> {
        self.with_type(Protocol::decode_with_payload)
    }

    /// Returns the text of the field `reason`, as a player reads it in a Disconnect.
    pub fn reason(&self) -> Option<String> {
        match self.value().ok()?.get("reason")?.plain() {
            // Since 1.20.3.
            Value::Nbt(nbt) => StyledText::from_nbt(&nbt.root).map(|text| text.plain()),
            reason => reason.as_text().map(plain_text),
        }
    }

    /// Appends the fields as JSON, up to the first error.
    ///
    /// # Errors
    /// [`Undecoded`]; if not even the first field could be decoded, nothing is appended.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<(), Undecoded> {
        let mut visitor = JsonVisitor::new(out);
        let walked = self.walk(&mut visitor);
        visitor.finish();
        walked
    }

    /// Returns the identity, if the packet has one. In most packets it is known already.
    #[inline]
    fn known_identity(&self) -> Option<Identity> {
        match self.identity.get() {
            Some(known) => Some(known),
            None => self.identity().ok(),
        }
    }

    fn identity(&self) -> Result<Identity, Undecoded> {
        if let Some(known) = self.identity.get() {
            return Ok(known);
        }
        let identity = self.identify()?;
        self.identity.set(Some(identity));
        Ok(identity)
    }

    /// Identifies the Disconnect of another state. A server whose decoder fails during the login says so with
    /// that of the game.
    #[cold]
    fn stray_disconnect(&self, body: &[u8]) -> Option<Identity> {
        let protocol = &self.context.protocol;
        let of = |state| {
            let (packet, start) = protocol.identify(state, self.direction, body).ok()?;
            let is_whole = packet.role() == Some(Role::Disconnect)
                && protocol.walk_dyn(packet, body, start, &mut Measure).is_ok();
            // An id takes 5 bytes at most.
            let start = start as u8;
            is_whole.then(|| Identity {
                id: packet.id(),
                packet: Some(protocol.place(packet)),
                start,
            })
        };
        State::ALL.into_iter().find_map(of)
    }

    fn identify(&self) -> Result<Identity, Undecoded> {
        let frame = match &self.content {
            Content::Frame(frame) => frame,
            Content::Raw(bytes, reason) => return Err(Undecoded::of_raw(bytes, reason)),
        };
        let mut buffer = [0; VarInt::MAX];
        let head = frame.head(&mut buffer)?;
        let protocol = &self.context.protocol;
        match protocol.identify(self.state, self.direction, head) {
            Ok((packet, start)) => {
                let place = protocol.place(packet);
                // An id takes 5 bytes at most.
                Ok(Identity { id: packet.id(), packet: Some(place), start: start as u8 })
            }
            Err(DecodeError { cause: DecodeCause::UnknownId { id, .. }, .. }) => {
                let stray = frame.body().ok().and_then(|body| self.stray_disconnect(&body));
                Ok(stray.unwrap_or(Identity { id, packet: None, start: 0 }))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The longest frame whose length takes three bytes.
const MOST_FRAME: usize = (1 << 21) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Catalog;

    fn context(version: i32) -> Arc<Context> {
        let protocol = Catalog::embedded().find(version).unwrap().protocol;
        Context::new(1, Timestamp(0), ([127, 0, 0, 1], 50000).into(), protocol).into()
    }

    /// Returns a packet of 1.8 whose id has been looked up.
    fn keep_alive() -> Packet {
        let content = Content::Frame(Frame::from_body(Bytes::from_static(&[0x00, 5])));
        let direction = Direction::Clientbound;
        let packet = Packet::new(context(47), 1, Timestamp(0), direction, State::Play, content);
        assert_eq!(named(&packet), Some("keep_alive"));
        packet
    }

    #[test]
    fn a_disconnect_of_the_game_is_read_in_the_login() {
        let reason = br#"{"text":"Internal Exception"}"#;
        let of = |id: u8, text: &[u8]| {
            let body = [&[id, text.len() as u8], text].concat();
            let (state, direction) = (State::Login, Direction::Clientbound);
            let content = Content::Frame(Frame::from_body(body.into()));
            Packet::new(context(754), 1, Timestamp(0), direction, state, content)
        };
        let kick = of(0x19, reason);
        assert_eq!((named(&kick), kick.error()), (Some("kick_disconnect"), None));
        assert_eq!(kick.reason().as_deref(), Some("Internal Exception"));
        let mut cut = of(0x19, reason);
        cut.replace_body(Bytes::from_static(&[0x19, 0x20, b'{']));
        assert_eq!(named(&cut), None, "it is not whole");
        assert_eq!(named(&of(0x1a, reason)), None, "another packet of the game");
    }

    fn named(packet: &Packet) -> Option<&str> {
        packet.kind().map(|kind| &**kind.name())
    }

    // The looked-up id was kept when a public field was assigned.
    #[test]
    fn a_packet_whose_state_context_or_content_changes_is_identified_anew() {
        let mut packet = keep_alive();
        packet.set_state(State::Login);
        assert_eq!(named(&packet), Some("disconnect"));

        let mut packet = keep_alive();
        packet.set_context(context(767));
        assert_eq!(named(&packet), Some("bundle_delimiter"));

        let mut packet = keep_alive();
        packet.set_content(Content::Frame(Frame::from_body(Bytes::from_static(&[0x01]))));
        assert_eq!(named(&packet), Some("login"));

        let mut packet = keep_alive();
        packet.replace_body(Bytes::from_static(&[0x02]));
        assert_eq!(named(&packet), Some("chat"));

        let mut packet = keep_alive();
        packet.set_content(Content::Raw(Bytes::new(), RawReason::CutOff));
        assert_eq!((packet.id(), named(&packet)), (None, None));
    }
}
