//! Packets that do not decode, without what may be private in them, and with their faults.

use std::collections::HashSet;
use std::io::{self, Read as _, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::policy::FieldContext;
use super::pseudonyms::Pseudonyms;
use crate::capture::{RawKind, raw_content};
use crate::filter::SplitMix64;
use mitmcraft_protocol::codec::{CodecError, Frame};
use mitmcraft_protocol::meaning::Part;
use mitmcraft_protocol::packet::{Content, Packet};
use mitmcraft_protocol::schema::{Flow, Leaf, Measure, Name, Scalar, Visitor, parse_uuid};
use mitmcraft_protocol::wire::{Encoding, write_varint};

/// Returns the body of a packet with fillers for texts, bytes and all that follows the place at which it
/// stops to decode. It has the same length, the same numbers up to that place, and the same error at the
/// same place. `None` if there is no such body.
pub(super) fn blank_body(
    packet: &Packet,
    body: &Bytes,
    pseudonyms: &Pseudonyms,
    names: &HashSet<String>,
) -> Option<Bytes> {
    let field = FieldContext::of(packet);
    let start = packet.fields_at();
    let mut blanks = Blanks {
        body: body.to_vec(),
        end: start,
        name: None,
        field,
        pseudonyms,
        names,
        fits: true,
    };
    let fault = packet.walk_dyn(&mut blanks).err();
    let Blanks { body: blank, end, fits, .. } = blanks;
    if !fits {
        return None;
    }
    // A number of items or a length may follow the last field, and NBT that has the fault.
    let fits = |tail: &dyn Fn(&mut [u8])| {
        let mut blank = blank.clone();
        blank[end..].copy_from_slice(&body[end..]);
        tail(&mut blank[end..]);
        let mut other = packet.clone();
        other.replace_body(Bytes::copy_from_slice(&blank));
        let same = match (&fault, other.walk_dyn(&mut Measure).err()) {
            (None, None) => true,
            (Some(fault), Some(other)) => {
                fault.at() == other.at() && fault.to_string() == other.to_string()
            }
            _ => false,
        };
        (same && other.id() == packet.id()).then(|| Bytes::from(blank))
    };
    let kept = 0..=MAX_NUMBER.min(body.len() - end);
    let mut filled = kept.clone().flat_map(|kept| [(kept, 0), (kept, 0xff)]);
    let mut nbt = kept.flat_map(|kept| [(kept, true), (kept, false)]);
    filled.find_map(|(kept, filler)| fits(&|tail| tail[kept..].fill(filler))).or_else(|| {
        nbt.find_map(|(kept, named)| fits(&|tail| blank_nbt(&mut tail[kept..], named, names)))
    })
}

/// A copy of a body in which values that may be private are replaced, in place.
struct Blanks<'a> {
    body: Vec<u8>,
    /// The end of the fields that decode.
    end: usize,
    /// The name of the field.
    name: Option<Name>,
    field: FieldContext<'a>,
    pseudonyms: &'a Pseudonyms,
    names: &'a HashSet<String>,
    /// `false` if a value cannot be replaced in place.
    fits: bool,
}

impl Visitor for Blanks<'_> {
    fn leaf(&mut self, leaf: &Leaf<'_>) -> Flow {
        let name = self.name.clone();
        let field = FieldContext { name: name.as_deref().unwrap_or_default(), ..self.field };
        let span = leaf.span();
        self.end = span.end;
        let value = |content: &[u8]| span.end - content.len()..span.end;
        match leaf.value {
            Scalar::Text(text, encoding) => {
                let known = || self.names.contains(&*encoding.decode_lossy(text));
                if !field.keeps(Part::Text) || known() {
                    let filler: &[u8] = if encoding == Encoding::Utf16 { b"\0x" } else { b"x" };
                    let blank = filler.iter().cycle();
                    self.body[value(text)].iter_mut().zip(blank).for_each(|(to, from)| *to = *from);
                    self.fits &= leaf.wire.ends_with(text);
                }
            }
            Scalar::Uuid(uuid) => {
                let other = self.pseudonyms.uuid(uuid).to_be_bytes();
                self.fits &= leaf.wire.len() == other.len();
                if self.fits {
                    self.body[span].copy_from_slice(&other);
                }
            }
            Scalar::Bytes(bytes) if !field.keeps(Part::Bytes) => {
                self.body[value(bytes)].fill(0);
                self.fits &= leaf.wire.ends_with(bytes);
            }
            Scalar::Nbt { bytes, named } if !field.keeps(Part::Nbt) => {
                blank_nbt(&mut self.body[value(bytes)], named, self.names);
                self.fits &= leaf.wire.ends_with(bytes);
            }
            Scalar::CompressedNbt(_) => self.fits &= field.keeps(Part::Nbt),
            _ => {}
        }
        Flow::Continue(())
    }

    fn field(&mut self, name: &Name) -> Flow {
        self.name = Some(name.clone());
        Flow::Continue(())
    }
}

/// Returns a frame that does not inflate, with the same id, threshold and error as `frame`, and nothing
/// else of its body. `None` if there is no such frame, or if `effort` bytes of attempts do not find it: the rest of
/// them is left.
pub(super) fn blank_frame(packet: &Packet, frame: &Frame, effort: &mut usize) -> Option<Content> {
    let fault = frame.with_body(|_| ()).err()?;
    let kind = RawKind::of(packet.content())?;
    if let CodecError::MissingDataLength { .. }
    | CodecError::DataLength
    | CodecError::NegativeDataLength { .. } = fault
    {
        // The number that has the fault stands at the beginning.
        let mut wire = frame.wire().to_vec();
        let inside = wire.len() - frame.size() + frame.size().min(MAX_NUMBER);
        wire[inside..].fill(0);
        return raw_content(&kind, wire.into()).ok();
    }
    let declared = frame.size();
    let mut id = Vec::new();
    if let Some(number) = packet.id() {
        write_varint(&mut id, number);
    }
    let streams: Box<dyn Iterator<Item = Vec<u8>>> = match fault {
        CodecError::InflatedShort { inflated, .. } => Box::new(deflated(&id, inflated).into_iter()),
        CodecError::InflatedLong { .. } => {
            Box::new(deflated(&id, declared.checked_add(1)?).into_iter())
        }
        CodecError::InflatedLimit { .. } => Box::new(deflated(&id, 64).into_iter()),
        CodecError::Zlib { at, length } => {
            // Which garbage is detected at which byte is not known beforehand.
            let seeds = 0..if length <= SHORT { 256 } else { (LONG / length).clamp(1, 16) as u64 };
            let ends = at.saturating_sub(16)..=at;
            let tries = ends.flat_map(move |end| seeds.clone().map(move |seed| (end, seed)));
            let id = &id;
            let tries = tries.filter_map(move |(end, seed)| corrupt(id, end, length, seed));
            Box::new([vec![0; length]].into_iter().chain(tries))
        }
        _ => return None,
    };
    let mut affordable = streams.map_while(|stream| {
        *effort = effort.checked_sub(ATTEMPT + stream.len())?;
        Some(stream)
    });
    affordable.find_map(|stream| {
        let mut inside = Vec::new();
        write_varint(&mut inside, i32::try_from(declared).ok()?);
        inside.extend_from_slice(&stream);
        let mut wire = Vec::new();
        write_varint(&mut wire, i32::try_from(inside.len()).ok()?);
        wire.extend_from_slice(&inside);
        let content = raw_content(&kind, wire.into()).ok()?;
        let mut other = packet.clone();
        other.set_content(content.clone());
        let same = other.id() == packet.id()
            && other.body().is_err_and(|error| error.to_string() == fault.to_string());
        same.then_some(content)
    })
}

/// Deflates a body of that size: the id, and zeros.
fn deflated(id: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&id[..id.len().min(size)]).ok()?;
    let mut zeros = io::repeat(0).take(size.saturating_sub(id.len()) as u64);
    io::copy(&mut zeros, &mut encoder).ok()?;
    encoder.finish().ok()
}

/// Returns a zlib stream (RFC 1950) of that length that contains the id. From byte `end` on it is garbage.
fn corrupt(id: &[u8], end: usize, length: usize, seed: u64) -> Option<Vec<u8>> {
    let mut stream = match end {
        // One block with fixed codes, which begins with the id.
        ..=SHORTEST_STORED => {
            let bytes: Vec<u8> = id.iter().copied().chain(0..32).collect();
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&bytes).ok()?;
            encoder.finish().ok()?.into_iter().take(end).collect()
        }
        _ => stored(id, end),
    };
    let mut random = SplitMix64::new(seed << 32 | end as u64);
    (0..GARBAGE / 8).for_each(|_| stream.extend_from_slice(&random.next_u64().to_le_bytes()));
    (end <= length).then(|| {
        stream.resize(length, 0);
        stream
    })
}

/// Returns the beginning of a zlib stream whose blocks are stored (RFC 1951, section 3.2.4): the id, and
/// zeros up to byte `end`.
fn stored(id: &[u8], end: usize) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut id = id.iter().copied();
    while stream.len() + STORED_HEADER < end {
        let size = (end - stream.len() - STORED_HEADER).min(usize::from(u16::MAX)) as u16;
        stream.push(0);
        stream.extend_from_slice(&size.to_le_bytes());
        stream.extend_from_slice(&(!size).to_le_bytes());
        stream.extend((0..size).map(|_| id.next().unwrap_or(0)));
    }
    stream
}

/// Blanks the texts and byte arrays in NBT, and what follows it or its fault. Its keys and numbers stay,
/// except for players' names and UUIDs.
fn blank_nbt(bytes: &mut [u8], named: bool, names: &HashSet<String>) {
    let mut nbt = NbtBlanks { bytes, at: 0, names };
    let _ = nbt.root(named);
    let at = nbt.at.min(bytes.len());
    // The type of a tag, or the first byte of a length, may be the fault.
    let rest = (at + MAX_NUMBER).min(bytes.len());
    bytes[rest..].fill(0);
}

/// A place in NBT that is being blanked.
struct NbtBlanks<'a> {
    bytes: &'a mut [u8],
    at: usize,
    names: &'a HashSet<String>,
}

impl NbtBlanks<'_> {
    fn root(&mut self, named: bool) -> Option<()> {
        let kind = self.number(1)?;
        let key = if named { self.key()? } else { String::new() };
        self.tag(kind, &key, 0)
    }

    /// Blanks the payload of a tag. `None` if it is not well-formed.
    fn tag(&mut self, kind: usize, key: &str, depth: usize) -> Option<()> {
        match kind {
            1 => self.skip(1),
            2 => self.skip(2),
            3 | 5 => self.skip(4),
            4 if key.ends_with("Most") || key.ends_with("Least") => self.fill(8, 0),
            4 | 6 => self.skip(8),
            7 => {
                let length = self.number(4)?;
                self.fill(length, 0)
            }
            8 => {
                let length = self.number(2)?;
                self.fill(length, b'x')
            }
            9 if depth < MAX_DEPTH => {
                let kind = self.number(1)?;
                let count = self.number(4)?;
                (0..count).try_for_each(|_| self.tag(kind, key, depth + 1))
            }
            10 if depth < MAX_DEPTH => loop {
                let kind = self.number(1)?;
                if kind == 0 {
                    return Some(());
                }
                let key = self.key()?;
                self.tag(kind, &key, depth + 1)?;
            },
            11 | 12 => {
                let (count, size) = (self.number(4)?, if kind == 11 { 4 } else { 8 });
                // Four integers are a UUID.
                match (kind, count) {
                    (11, 4) => self.fill(16, 0),
                    _ => self.skip(count.checked_mul(size)?),
                }
            }
            _ => {
                self.at -= 1;
                None
            }
        }
    }

    /// Reads a key, and blanks it if it names a player.
    fn key(&mut self) -> Option<String> {
        let length = self.number(2)?;
        let start = self.at;
        self.skip(length)?;
        let key = Encoding::ModifiedUtf8.decode_lossy(&self.bytes[start..self.at]).into_owned();
        if self.names.contains(&key) || parse_uuid(&key).is_some() {
            self.bytes[start..self.at].fill(b'x');
        }
        Some(key)
    }

    fn number(&mut self, size: usize) -> Option<usize> {
        let bytes = self.bytes.get(self.at..self.at + size)?;
        let number = bytes.iter().fold(0, |all, byte| all << 8 | usize::from(*byte));
        self.at += size;
        Some(number)
    }

    fn skip(&mut self, length: usize) -> Option<()> {
        let end = self.at.checked_add(length)?;
        if end > self.bytes.len() {
            return None;
        }
        self.at = end;
        Some(())
    }

    /// Fills as many of the next bytes as there are.
    fn fill(&mut self, length: usize, filler: u8) -> Option<()> {
        let start = self.at;
        let end = start.checked_add(length)?;
        let there = end.min(self.bytes.len());
        self.bytes[start..there].fill(filler);
        self.at = there;
        (there == end).then_some(())
    }
}

/// Greatest depth of NBT, as in the game.
const MAX_DEPTH: usize = 512;

/// Effort in bytes of an attempt, besides its length.
const ATTEMPT: usize = 256;

/// Greatest length in bytes of a stream for which many kinds of garbage are tried.
const SHORT: usize = 1 << 10;

/// The number of kinds that are tried for a longer stream, times its length.
const LONG: usize = 1 << 20;

/// Bytes of garbage in a corrupt stream.
const GARBAGE: usize = 64;

/// Greatest length in bytes of a number of items.
const MAX_NUMBER: usize = 5;

/// Bytes of a stream that are too few for a stored block with an id.
const SHORTEST_STORED: usize = 12;

/// Bytes of a stored block before its data.
const STORED_HEADER: usize = 5;
