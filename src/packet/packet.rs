use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;

use super::{Context, Timestamp};
use crate::codec::{CodecError, Frame, Inflater};
use crate::schema::{
    DecodeCause, DecodeError, Direction, JsonVisitor, Measure, PacketType, Role, State,
    UnknownName, Value, Visitor,
};

/// What was seen on one leg: most often a frame; always every byte of it.
///
/// Cheap to clone and to make: the id is looked up, and the body inflated and decoded, only when
/// somebody asks.
#[derive(Debug, Clone)]
pub struct Packet {
    /// The session's share of it.
    pub context: Arc<Context>,
    /// Counts the packets of a session from 1, both directions together.
    pub seq: u64,
    /// When the last byte of it came, or when it was made.
    pub at: Timestamp,
    /// Which way it travels.
    pub direction: Direction,
    /// What its id means.
    pub state: State,
    /// Who made it.
    pub origin: Origin,
    /// Its bytes.
    pub content: Content,
    /// Bytes on the wire, where the content does not tell: it was read from a capture, which keeps
    /// bodies and not what they were compressed to.
    wire_size: Option<NonZeroU32>,
    identity: Cell<Option<Identity>>,
}

/// The bytes of a [`Packet`].
#[derive(Debug, Clone)]
pub enum Content {
    /// One whole frame.
    Frame(Frame),
    /// Bytes that are no frame, and why.
    Raw(Bytes, RawReason),
}

/// The reason why bytes are recorded without a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RawReason {
    /// The connection is not Minecraft's, or not of a generation that is understood.
    NotMinecraft,
    /// The direction is no longer understood, from here on.
    Opaque(String),
    /// A part of a frame beyond the limit: its declared length, and what is still to come.
    Oversize {
        /// Bytes that the length prefix declares.
        frame: usize,
        /// Bytes of them still to come after this part.
        left: usize,
    },
    /// The connection ended in mid-frame.
    CutOff,
    /// A rule sent these bytes without a frame around them.
    Injected,
}

impl RawReason {
    /// Returns the reason for bytes in which no packets are found, after `fault` if there was one.
    #[must_use]
    pub fn unreadable(fault: Option<Arc<CodecError>>) -> Self {
        fault.map_or(Self::NotMinecraft, |fault| Self::Opaque(fault.to_string()))
    }
}

impl fmt::Display for RawReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMinecraft => f.write_str("not Minecraft: relayed as it came"),
            Self::Opaque(why) => write!(f, "no longer understood: {why}"),
            Self::Oversize { frame, left } => {
                write!(f, "part of a frame of {frame} bytes, beyond the limit; {left} to come")
            }
            Self::CutOff => f.write_str("connection ended within a frame"),
            Self::Injected => f.write_str("sent by a rule, without a frame"),
        }
    }
}

/// Who made a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The client.
    Client,
    /// The server.
    Server,
    /// The proxy, by itself or by a rule.
    Proxy,
}

impl Origin {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Client, Self::Server, Self::Proxy];

    /// `client`, `server` or `proxy`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Proxy => "proxy",
        }
    }

    /// The peer that packets of that direction come from.
    #[must_use]
    pub fn of(direction: Direction) -> Self {
        match direction {
            Direction::Clientbound => Self::Server,
            Direction::Serverbound => Self::Client,
        }
    }
}

impl FromStr for Origin {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL.into_iter().find(|it| it.name() == text).ok_or_else(|| UnknownName(text.into()))
    }
}

/// Why a packet has no fields to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undecoded {
    /// It is no frame.
    #[error("{0}")]
    Raw(RawReason),
    /// The frame does not open.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// The body is not what its id says.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl Undecoded {
    /// Offset in the body at which decoding stopped.
    #[must_use]
    pub fn at(&self) -> usize {
        match self {
            Self::Decode(error) => error.at,
            Self::Raw(_) | Self::Codec(_) => 0,
        }
    }
}

/// What the id of a body means. Every packet carries one, so it is small.
#[derive(Debug, Clone, Copy)]
struct Identity {
    id: i32,
    /// Place among the protocol's packets.
    packet: Option<u16>,
    /// Offset of the first field.
    start: u8,
}

impl Packet {
    /// A packet as it was seen.
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
        let (wire_size, identity) = (None, Cell::new(None));
        Self { context, seq, at, direction, state, origin, content, wire_size, identity }
    }

    /// Puts a frame around another body in the place of its content.
    pub fn replace_body(&mut self, body: Bytes) {
        let bare = self.frame().filter(|frame| frame.is_bare());
        self.content = Content::Frame(match bare {
            Some(frame) => {
                // What stands before the body of a datagram stays.
                let magic = frame.wire().slice(..frame.wire().len() - frame.size());
                Frame::datagram(Bytes::from([magic.clone(), body].concat()), magic.len())
            }
            None => Frame::from_body(body),
        });
        self.wire_size = None;
        self.identity = Cell::new(None);
    }

    /// Says how many bytes it had on the wire, when its content is not what was there.
    pub fn set_wire_size(&mut self, bytes: usize) {
        self.wire_size = u32::try_from(bytes).ok().and_then(NonZeroU32::new);
    }

    /// The frame, when it is one.
    #[must_use]
    pub fn frame(&self) -> Option<&Frame> {
        match &self.content {
            Content::Frame(frame) => Some(frame),
            Content::Raw(..) => None,
        }
    }

    /// Id and fields, inflated.
    ///
    /// # Errors
    /// [`Undecoded`] when it is no frame, or one that does not open.
    pub fn body(&self) -> Result<Bytes, Undecoded> {
        match &self.content {
            Content::Frame(frame) => Ok(frame.body()?),
            Content::Raw(_, reason) => Err(Undecoded::Raw(reason.clone())),
        }
    }

    /// Bytes of id and fields, without inflating; all bytes when it is no frame.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.content {
            Content::Frame(frame) => frame.size(),
            Content::Raw(bytes, _) => bytes.len(),
        }
    }

    /// Bytes on the wire, the length prefix among them.
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

    /// The packet id, when there is one.
    #[must_use]
    pub fn id(&self) -> Option<i32> {
        self.identity().ok().map(|identity| identity.id)
    }

    /// What the id means; None when it means nothing here.
    #[must_use]
    pub fn kind(&self) -> Option<&PacketType> {
        let place = self.identity().ok()?.packet?;
        self.context.protocol.packets().get(usize::from(place))
    }

    /// The role of the packet's type; `None` if the type is unknown or has no role.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        self.kind()?.role()
    }

    /// Offset of the first field in the body.
    #[must_use]
    pub fn fields_at(&self) -> usize {
        self.identity().map_or(0, |identity| usize::from(identity.start))
    }

    /// Shows the fields to a visitor; it has seen all up to the error, if there is one.
    ///
    /// # Errors
    /// [`Undecoded`]: why there are no fields, or not all.
    pub fn walk(&self, visitor: &mut impl Visitor) -> Result<(), Undecoded> {
        let identity = self.identity()?;
        let Some(place) = identity.packet else {
            let (state, direction) = (self.state, self.direction);
            let cause = DecodeCause::UnknownId { id: identity.id, state, direction };
            return Err(DecodeError { at: 0, path: String::new(), cause }.into());
        };
        let protocol = &self.context.protocol;
        let body = self.body()?;
        let packet = &protocol.packets()[usize::from(place)];
        protocol.walk(packet, &body, usize::from(identity.start), visitor)?;
        Ok(())
    }

    /// Why it does not decode, if it does not. Decodes all of it.
    #[must_use]
    pub fn error(&self) -> Option<Undecoded> {
        self.walk(&mut Measure).err()
    }

    /// The fields, decoded.
    ///
    /// # Errors
    /// [`Undecoded`]: why there are none.
    pub fn value(&self) -> Result<Value, Undecoded> {
        let body = self.body()?;
        let protocol = &self.context.protocol;
        let (packet, start) = protocol.identify(self.state, self.direction, &body)?;
        Ok(protocol.decode(packet, &body, start)?)
    }

    /// Appends the fields as JSON: all up to the error, if there is one.
    ///
    /// # Errors
    /// [`Undecoded`]; nothing is appended when not even the first field is there.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<(), Undecoded> {
        let mut visitor = JsonVisitor::new(out);
        let walked = self.walk(&mut visitor);
        visitor.finish();
        walked
    }

    fn identity(&self) -> Result<Identity, Undecoded> {
        if let Some(known) = self.identity.get() {
            return Ok(known);
        }
        let identity = self.identify()?;
        self.identity.set(Some(identity));
        Ok(identity)
    }

    fn identify(&self) -> Result<Identity, Undecoded> {
        let frame = match &self.content {
            Content::Frame(frame) => frame,
            Content::Raw(_, reason) => return Err(Undecoded::Raw(reason.clone())),
        };
        let mut head = [0; crate::wire::VarInt::MAX];
        let length = Inflater::with(|inflater| frame.head(inflater, &mut head))?;
        let protocol = &self.context.protocol;
        match protocol.identify(self.state, self.direction, &head[..length]) {
            Ok((packet, start)) => {
                let place = protocol.place(packet);
                // An id takes 5 bytes at most.
                Ok(Identity { id: packet.id(), packet: Some(place), start: start as u8 })
            }
            Err(DecodeError { cause: DecodeCause::UnknownId { id, .. }, .. }) => {
                Ok(Identity { id, packet: None, start: 0 })
            }
            Err(error) => Err(error.into()),
        }
    }
}
