use std::fmt;
use std::sync::Arc;

use super::{Packet, Undecoded};
use crate::codec::{CodecError, Inflater};
use crate::schema::{
    Catalog, DecodeError, Direction, Family, Flow, Leaf, Name, Protocol, Release, Scalar, State,
    Visitor,
};
use crate::wire::VarInt;

/// A guess at what was meant by a packet that does not decode.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ReadAs {
    /// Its sender compresses, but no Set Compression was seen.
    Compressed,
    /// Its sender does not compress, although Set Compression was seen.
    Uncompressed,
    /// It belongs to another state.
    State(State),
    /// Its sender speaks another version.
    Version(Arc<Protocol>),
}

/// What a packet that does not decode reads as. As text: ``reads as `teams` of 1.20.4``.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reading {
    /// The guess.
    pub how: ReadAs,
    /// The packet's name in it.
    pub packet: Name,
    /// The state of the packet in it.
    pub state: State,
    is_sure: bool,
}

impl ReadAs {
    /// Returns the guesses that are tried for a packet: forms of the frame, other states, the nearest versions,
    /// and one version of each era. At most 24.
    #[must_use]
    pub fn candidates(packet: &Packet) -> Vec<Self> {
        let protocol = &packet.context().protocol;
        let is_early = matches!(packet.state(), State::Handshaking | State::Status);
        if protocol.family() != Family::Java || is_early || packet.frame().is_none() {
            return Vec::new();
        }
        let forms = [Self::Compressed, Self::Uncompressed].into_iter();
        let versions = versions_around(protocol).into_iter().map(Self::Version);
        forms
            .chain(others(packet.state()).map(Self::State))
            .chain(versions)
            .take(MOST_GUESSES)
            .collect()
    }

    /// Reads a packet so; returns `None` if it does not decode whole.
    #[must_use]
    pub fn read(&self, packet: &Packet) -> Option<Reading> {
        let is_small = packet.size().max(packet.wire_size()) <= MOST_BYTES;
        let frame = packet.frame().filter(|_| is_small)?;
        let protocol = &packet.context().protocol;
        let found = match self {
            Self::Compressed => {
                let body = inflated(frame.threshold().is_none().then(|| frame.body().ok())??)?;
                in_any_state(protocol, packet, &body)
            }
            Self::Uncompressed => {
                frame.threshold()?;
                let length = VarInt::read(frame.wire()).ok()?.length;
                in_any_state(protocol, packet, frame.wire().get(length..)?)
            }
            Self::State(state) => in_state(protocol, *state, packet, &frame.body().ok()?),
            Self::Version(protocol) => in_any_state(protocol, packet, &frame.body().ok()?),
        };
        let (packet, state, is_sure) = found?;
        Some(Reading { how: self.clone(), packet, state, is_sure })
    }
}

impl Reading {
    /// Finds what a packet that does not decode reads as; `None` if it decodes, or if no guess is sure.
    #[must_use]
    pub fn of(packet: &Packet) -> Option<Self> {
        let is_unread = matches!(packet.error()?, Undecoded::Codec(_) | Undecoded::Decode(_));
        let candidates = is_unread.then(|| ReadAs::candidates(packet))?;
        candidates.iter().find_map(|it| it.read(packet).filter(Self::is_sure))
    }

    /// Returns whether the packet has something that no accident produces: a text, a list or NBT that fits, or
    /// the name of the packet that it is taken for.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.is_sure
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reads as `{}` ", self.packet)?;
        match &self.how {
            ReadAs::Compressed => f.write_str("compressed, though no Set Compression came"),
            ReadAs::Uncompressed => f.write_str("uncompressed, though Set Compression came"),
            ReadAs::State(state) => write!(f, "of the state {state}"),
            ReadAs::Version(protocol) => write!(f, "of {}", protocol.newest_name()),
        }
    }
}

/// Returns the body in a frame of a compressed stream that was taken for a plain one.
fn inflated(frame: bytes::Bytes) -> Option<bytes::Bytes> {
    let size = VarInt::read(&frame).ok()?;
    let data = frame.slice(size.length..);
    let declared = usize::try_from(size.value).ok().filter(|size| *size <= MOST_BYTES)?;
    if declared == 0 {
        return Some(data);
    }
    let body: Result<_, CodecError> = Inflater::with(|it| it.whole(&data, declared));
    body.ok().filter(|body| body.len() == declared)
}

type Found = (Name, State, bool);

/// Reads a body in the packet's own state, or in another: what told of the change was not read either.
fn in_any_state(protocol: &Protocol, packet: &Packet, body: &[u8]) -> Option<Found> {
    let mut states = std::iter::once(packet.state()).chain(others(packet.state()));
    states.find_map(|state| in_state(protocol, state, packet, body))
}

/// Returns the states besides one in which a packet may have been sent.
fn others(state: State) -> impl Iterator<Item = State> {
    let all = [State::Play, State::Configuration, State::Login].into_iter();
    all.filter(move |other| *other != state)
}

fn in_state(protocol: &Protocol, state: State, packet: &Packet, body: &[u8]) -> Option<Found> {
    let direction: Direction = packet.direction();
    let (kind, start) = protocol.identify(state, direction, body).ok()?;
    let mut evidence = Evidence { left: body.len(), is_usual: true, parts: 0 };
    let walked: Result<usize, DecodeError> = protocol.walk_dyn(kind, body, start, &mut evidence);
    walked.ok()?;
    if !evidence.is_usual {
        return None;
    }
    let is_same = packet.kind().is_some_and(|own| own.name() == kind.name());
    let is_sure = evidence.parts > 0 || is_same && body.len() >= start + LONG;
    Some((kind.name().clone(), state, is_sure))
}

/// Looks for what an accident would hardly produce.
struct Evidence {
    /// Bytes of the body minus twice those in unstructured fields; 0 if such fields make up half of it.
    left: usize,
    /// `false` if a field has a form that no program writes.
    is_usual: bool,
    /// The fields that only fit if the layout does.
    parts: usize,
}

impl Visitor for Evidence {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        self.is_usual &= leaf.is_usual();
        match leaf.value {
            Scalar::Text(bytes, encoding) => {
                let text = encoding.decode_lossy(bytes);
                self.is_usual &= !text.contains(|it: char| it.is_control() && it != '\n');
                self.parts += usize::from(text.len() >= SHORTEST);
            }
            Scalar::Nbt { bytes, .. } => self.parts += usize::from(bytes.len() > SHORTEST),
            Scalar::Name(..) => {}
            // Behind a length that fits.
            Scalar::Bytes(bytes) if leaf.wire.len() > bytes.len() => {
                self.parts += usize::from(bytes.len() >= SHORTEST);
            }
            // Any bytes are bytes.
            Scalar::Bytes(bytes) => {
                self.left = self.left.saturating_sub(2 * bytes.len());
                self.is_usual &= self.left > 0;
            }
            _ => {}
        }
        Flow::Continue(())
    }

    fn open_list(&mut self, _at: usize, count: Option<usize>) -> Flow {
        self.parts += usize::from(count.is_some_and(|count| count > 1));
        Flow::Continue(())
    }
}

/// Returns the releases nearest to a version, and one of each era.
fn versions_around(protocol: &Protocol) -> Vec<Arc<Protocol>> {
    let catalog = Catalog::embedded();
    let own = protocol.release();
    let is_release = |name: &Name| name.chars().all(|it| it.is_ascii_digit() || it == '.');
    let releases = catalog.versions().filter(|(_, names)| names.iter().any(is_release));
    let releases = releases.map(|(number, _)| Release::new(Family::Java, number));
    let releases: Vec<Release> = releases.filter(|it| *it != own).collect();
    let place = releases.partition_point(|it| *it < own);
    let near = (1..=NEAR).flat_map(|step| {
        let before = place.checked_sub(step).and_then(|place| releases.get(place));
        [before, releases.get(place + step - 1)]
    });
    let near = near.flatten().filter_map(|it| Some(catalog.find(it.number())?.protocol));
    let mut all: Vec<Arc<Protocol>> = Vec::new();
    for protocol in near.chain(ERAS.iter().filter_map(|name| catalog.by_name(name))) {
        let is_new = all.iter().all(|it| it.release() != protocol.release());
        if is_new && protocol.release() != own {
            all.push(protocol);
        }
    }
    all
}

/// The releases before and after a version that are tried.
const NEAR: usize = 4;

/// Releases of which each stands for those around it.
const ERAS: [&str; 8] =
    ["1.7.10", "1.8.9", "1.12.2", "1.16.5", "1.18.2", "1.19.4", "1.20.4", "1.21.4"];

/// Most guesses at a packet.
const MOST_GUESSES: usize = 24;

/// The largest packet at which is guessed, in bytes.
const MOST_BYTES: usize = 256 << 10;

/// The fewest bytes of a text, or behind a length, that say something.
const SHORTEST: usize = 3;

/// The fewest bytes of fields of a packet that say something if its name is known from elsewhere.
const LONG: usize = 8;
