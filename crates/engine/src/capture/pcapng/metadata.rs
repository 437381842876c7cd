use super::derived::DirectionState;
use crate::capture::Outcome;
use crate::capture::head::{ProtocolId, RawKind};
use mitmcraft_protocol::packet::{Diagnostics, Origin, RawReason};
use mitmcraft_protocol::schema::{DescriptionId, Family, State};
use mitmcraft_protocol::wire::{Reader, write_varint, write_varlong};

/// The facts about a packet that its option contains: those that are not derived from the packets
/// before it. `docs/capture-formats.md` specifies the bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    /// The session, and what holds for the following packets of the same direction too.
    pub(super) lasting: Option<(u64, DirectionState)>,
    pub(super) seq: Option<u64>,
    pub(super) wire: Option<usize>,
    /// Who made it, unless it is the peer that sends in its direction, what became of it, and what its
    /// body does not show.
    pub(super) made: Option<(Option<Origin>, Outcome, Diagnostics)>,
    pub(super) of: Option<u64>,
    pub(super) comment: Option<String>,
    pub(super) raw: Option<RawKind>,
    /// Bytes of the packet in the stream, if they take several segments.
    pub(super) streamed: Option<usize>,
}

impl Metadata {
    /// Reads the bytes of an option. Returns `None` if they are invalid.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let reader = &mut reader;
        let has = reader.u8().ok()?;
        let mut metadata = Self::default();
        if has & DIRECTION_STATE != 0 {
            metadata.lasting = Some((number(reader)?, read_direction_state(reader)?));
        }
        if has & SEQ != 0 {
            metadata.seq = Some(number(reader)?);
        }
        if has & WIRE != 0 {
            metadata.wire = Some(size(reader)?);
        }
        if has & MADE != 0 {
            let place = reader.u8().ok()?;
            let origin = match place & !HAS_NOTED {
                PEER => None,
                place => Some(*Origin::ALL.get(usize::from(place))?),
            };
            let outcome = pick(&Outcome::ALL, reader)?;
            let noted = match place & HAS_NOTED {
                0 => Diagnostics::NONE,
                _ => Diagnostics::of_bits(u32::try_from(number(reader)?).ok()?),
            };
            metadata.made = Some((origin, outcome, noted));
        }
        if has & OF != 0 {
            metadata.of = Some(number(reader)?);
        }
        if has & COMMENT != 0 {
            metadata.comment = Some(text(reader)?);
        }
        if has & RAW != 0 {
            metadata.raw = Some(read_raw(reader)?);
        }
        if has & STREAMED != 0 {
            metadata.streamed = Some(size(reader)?);
        }
        Some(metadata)
    }

    /// Appends the bytes of the option.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.push(0);
        let mut has = 0;
        if let Some((session, lasting)) = &self.lasting {
            has |= DIRECTION_STATE;
            put_number(out, *session);
            write_direction_state(out, lasting);
        }
        if let Some(seq) = self.seq {
            has |= SEQ;
            put_number(out, seq);
        }
        if let Some(wire) = self.wire {
            has |= WIRE;
            put_number(out, wire as u64);
        }
        if let Some((origin, outcome, noted)) = self.made {
            has |= MADE;
            let place = origin.map_or(PEER, |origin| place_of(&Origin::ALL, origin));
            out.push(place | if noted.is_empty() { 0 } else { HAS_NOTED });
            out.push(place_of(&Outcome::ALL, outcome));
            if !noted.is_empty() {
                put_number(out, noted.bits().into());
            }
        }
        if let Some(of) = self.of {
            has |= OF;
            put_number(out, of);
        }
        if let Some(comment) = &self.comment {
            has |= COMMENT;
            put_text(out, comment);
        }
        if let Some(raw) = &self.raw {
            has |= RAW;
            write_raw(out, raw);
        }
        if let Some(streamed) = self.streamed {
            has |= STREAMED;
            put_number(out, streamed as u64);
        }
        out[start] = has;
    }
}

fn read_direction_state(reader: &mut Reader<'_>) -> Option<DirectionState> {
    let state = pick(&State::ALL, reader)?;
    let family = pick(&Family::ALL, reader)?;
    let version = reader.varint().ok()?.value;
    let bits = reader.u8().ok()?;
    let table = match bits & HAS_TABLE {
        0 => None,
        _ => Some(DescriptionId(u32::from_be_bytes(reader.array().ok()?))),
    };
    let (guess, marked) = (bits & IS_GUESS != 0, bits & IS_MARKED != 0);
    Some(DirectionState { state, protocol: ProtocolId { family, version, table }, guess, marked })
}

fn write_direction_state(out: &mut Vec<u8>, lasting: &DirectionState) {
    let DirectionState { state, protocol, guess, marked } = *lasting;
    out.push(place_of(&State::ALL, state));
    out.push(place_of(&Family::ALL, protocol.family));
    write_varint(out, protocol.version);
    let bit = |is: bool, bit: u8| if is { bit } else { 0 };
    out.push(
        bit(guess, IS_GUESS) | bit(marked, IS_MARKED) | bit(protocol.table.is_some(), HAS_TABLE),
    );
    if let Some(table) = protocol.table {
        out.extend_from_slice(&table.0.to_be_bytes());
    }
}

fn read_raw(reader: &mut Reader<'_>) -> Option<RawKind> {
    Some(match reader.u8().ok()? {
        0 => RawKind::Bytes(RawReason::NotMinecraft),
        1 => RawKind::Bytes(RawReason::Opaque(text(reader)?)),
        2 => RawKind::Bytes(RawReason::Oversize { frame: large(reader)?, left: large(reader)? }),
        3 => RawKind::Bytes(RawReason::CutOff),
        4 => RawKind::Bytes(RawReason::Injected),
        5 => RawKind::Frame { threshold: maybe(reader)?, limit: maybe(reader)? },
        _ => return None,
    })
}

fn write_raw(out: &mut Vec<u8>, raw: &RawKind) {
    match raw {
        RawKind::Bytes(RawReason::NotMinecraft) => out.push(0),
        RawKind::Bytes(RawReason::Opaque(why)) => {
            out.push(1);
            put_text(out, why);
        }
        RawKind::Bytes(RawReason::Oversize { frame, left }) => {
            out.push(2);
            put_number(out, *frame as u64);
            put_number(out, *left as u64);
        }
        RawKind::Bytes(RawReason::CutOff) => out.push(3),
        RawKind::Bytes(RawReason::Injected) => out.push(4),
        RawKind::Frame { threshold, limit } => {
            out.push(5);
            for value in [threshold, limit] {
                put_number(out, value.map_or(0, |value| value as u64 + 1));
            }
        }
    }
}

fn number(reader: &mut Reader<'_>) -> Option<u64> {
    Some(reader.varlong().ok()?.value.cast_unsigned())
}

fn put_number(out: &mut Vec<u8>, number: u64) {
    write_varlong(out, number.cast_signed());
}

fn large(reader: &mut Reader<'_>) -> Option<usize> {
    usize::try_from(number(reader)?).ok()
}

/// Reads a number that may be absent, which 0 stands for.
fn maybe(reader: &mut Reader<'_>) -> Option<Option<usize>> {
    Some(large(reader)?.checked_sub(1))
}

/// Reads a size of at most 4 GiB.
fn size(reader: &mut Reader<'_>) -> Option<usize> {
    large(reader).filter(|size| u32::try_from(*size).is_ok())
}

fn text(reader: &mut Reader<'_>) -> Option<String> {
    let length = large(reader)?;
    String::from_utf8(reader.take(length).ok()?.to_vec()).ok()
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn pick<T: Copy>(all: &[T], reader: &mut Reader<'_>) -> Option<T> {
    all.get(usize::from(reader.u8().ok()?)).copied()
}

/// Returns the place of an item in the list of all.
fn place_of<T: PartialEq>(all: &[T], item: T) -> u8 {
    all.iter().position(|it| *it == item).unwrap_or_default() as u8
}

// The bits of the first byte: which parts follow, in this order.
const DIRECTION_STATE: u8 = 0x01;
const SEQ: u8 = 0x02;
const WIRE: u8 = 0x04;
const MADE: u8 = 0x08;
const OF: u8 = 0x10;
const COMMENT: u8 = 0x20;
const RAW: u8 = 0x40;
const STREAMED: u8 = 0x80;

// The bits of a direction state.
const IS_GUESS: u8 = 1;
const IS_MARKED: u8 = 2;
const HAS_TABLE: u8 = 4;

/// The place of the peer that sends in the packet's direction, in a list of origins.
const PEER: u8 = 3;

/// Added to the place of the origin if the number of the diagnostics follows the outcome.
const HAS_NOTED: u8 = 0x80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_comes_back_and_a_part_that_is_cut_off_is_invalid() {
        let lasting = DirectionState {
            state: State::Play,
            protocol: ProtocolId {
                family: Family::Java,
                version: -7,
                table: Some(DescriptionId(0x9abc_def0)),
            },
            guess: true,
            marked: true,
        };
        let noted = Diagnostics::of_bits(0x1fff);
        let whole = |raw| Metadata {
            lasting: Some((u64::MAX, lasting)),
            seq: Some(1 << 40),
            wire: Some(300),
            made: Some((Some(Origin::Proxy), Outcome::Send, noted)),
            of: Some(u64::MAX),
            comment: Some("why: \u{fc}".to_owned()),
            raw,
            streamed: Some(65_001),
        };
        for raw in [
            None,
            Some(RawKind::Bytes(RawReason::NotMinecraft)),
            Some(RawKind::Bytes(RawReason::Opaque("frame length".to_owned()))),
            Some(RawKind::Bytes(RawReason::Oversize { frame: usize::MAX, left: 0 })),
            Some(RawKind::Bytes(RawReason::CutOff)),
            Some(RawKind::Bytes(RawReason::Injected)),
            Some(RawKind::Frame { threshold: Some(0), limit: None }),
            Some(RawKind::Frame { threshold: None, limit: Some(9) }),
        ] {
            let metadata = whole(raw);
            let mut bytes = Vec::new();
            metadata.write(&mut bytes);
            for end in 0..bytes.len() {
                assert_eq!(Metadata::read(&bytes[..end]), None, "{end} of {bytes:02x?}");
            }
            assert_eq!(Metadata::read(&bytes).as_ref(), Some(&metadata));
            // A local block is padded with spaces.
            bytes.extend_from_slice(b"  ");
            assert_eq!(Metadata::read(&bytes), Some(metadata));
        }
        assert_eq!(Metadata::read(&[0]), Some(Metadata::default()));
    }
}
