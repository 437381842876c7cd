use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::Stored;
use super::row::Form;
use mitmcraft_engine::capture::BodyPlace;

/// The places of the bytes of a chunk's rows in the capture that the run writes.
#[derive(Debug, Clone, Default)]
pub(super) struct Moved {
    /// The offset in the capture of the first of them.
    pub(super) at: Option<u64>,
    /// The end of the last of them, from `at`.
    pub(super) length: usize,
    /// The start of each row's bytes if they are one part, with the highest bit for base64; or [`NONE`].
    /// Most packets have one part, whose length the row has.
    starts: Vec<u32>,
    /// The parts of others, by row.
    parts: BTreeMap<usize, Vec<Part>>,
}

/// A part of a packet's bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Its offset from that of the chunk.
    pub(super) start: u32,
    /// Its length in bytes of the packet.
    pub(super) length: u32,
    pub(super) base64: bool,
}

impl Moved {
    /// Takes the places of a row, which has `length` bytes.
    pub(super) fn push(&mut self, row: usize, form: Form, length: usize, places: &[BodyPlace]) {
        self.starts.resize(row, NONE);
        let all: usize = places.iter().map(|place| place.length as usize).sum();
        // The length prefix that may precede the packet.
        let prefix = all.checked_sub(length).and_then(|it| u32::try_from(it).ok());
        let start = match (places, prefix) {
            ([], _) | (_, None) => None,
            (&[only], Some(mut prefix)) if form != Form::Extra => {
                self.part(only, &mut prefix).and_then(|part| self.start(row, part))
            }
            (several, Some(mut prefix)) => {
                let parts = several.iter().map(|place| self.part(*place, &mut prefix)).collect();
                if let Some(parts) = parts {
                    self.parts.insert(row, parts);
                }
                None
            }
        };
        self.starts.push(start.unwrap_or(NONE));
    }

    /// Returns the start of the only part of a row; `None` if it is too large and has become one of
    /// several.
    fn start(&mut self, row: usize, part: Part) -> Option<u32> {
        if part.start >= BASE64 - 1 {
            self.parts.insert(row, vec![part]);
            return None;
        }
        Some(part.start | if part.base64 { BASE64 } else { 0 })
    }

    /// Returns the parts of a row's bytes, of which it has `length`; none if they are not in the capture.
    pub(super) fn parts(&self, row: usize, length: u32) -> Vec<Part> {
        match self.starts.get(row) {
            Some(start) if *start != NONE => {
                let (start, base64) = (start & (BASE64 - 1), start & BASE64 != 0);
                vec![Part { start, length, base64 }]
            }
            _ => self.parts.get(&row).cloned().unwrap_or_default(),
        }
    }

    /// Returns the part of a packet at a place, without what it has of the length prefix, of which
    /// `prefix` bytes are left; `None` if it cannot be read.
    fn part(&mut self, place: BodyPlace, prefix: &mut u32) -> Option<Part> {
        let BodyPlace { at, length, base64 } = place;
        let base = *self.at.get_or_insert(at);
        let skipped = (*prefix).min(length);
        *prefix -= skipped;
        if skipped > 0 && base64 {
            return None;
        }
        let start = u32::try_from(at.checked_sub(base)?).ok()?.checked_add(skipped)?;
        let part = Part { start, length: length - skipped, base64 };
        self.length = self.length.max(start as usize + part.stored());
        Some(part)
    }
}

impl Part {
    /// Returns how many bytes of the capture it takes.
    pub(super) fn stored(self) -> usize {
        let length = self.length as usize;
        if self.base64 { length.div_ceil(3) * 4 } else { length }
    }

    /// Appends the part, read from the chunk's bytes in the capture.
    pub(super) fn append(self, captured: &Stored, out: &mut Vec<u8>) -> Option<()> {
        let start = self.start as usize;
        let bytes = captured.part(start, start + self.stored())?;
        if self.base64 {
            return BASE64_STANDARD.decode_vec(&bytes, out).ok();
        }
        out.extend_from_slice(&bytes);
        Some(())
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.start.to_le_bytes());
        let base64 = if self.base64 { BASE64 } else { 0 };
        out.extend_from_slice(&(self.length | base64).to_le_bytes());
    }

    pub(super) fn read(bytes: &[u8; Self::SIZE]) -> Self {
        let number = |at| u32::from_le_bytes([0, 1, 2, 3].map(|byte: usize| bytes[at + byte]));
        let length = number(4);
        Self { start: number(0), length: length & (BASE64 - 1), base64: length & BASE64 != 0 }
    }

    pub(super) const SIZE: usize = 8;
}

/// The bit of a number that tells that bytes are base64.
const BASE64: u32 = 1 << 31;

/// In the place of a start: there is none, or there are several parts.
const NONE: u32 = u32::MAX;
