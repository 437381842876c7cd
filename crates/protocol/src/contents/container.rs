use bytes::Bytes;

use super::ContentsError;
use crate::wire::Reader;

/// Numbers packed into longs, each of the same width, with or without a palette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// The width of an entry in bits, 0 if all are the same.
    pub bits: u8,
    /// The numbers that the entries stand for.
    pub palette: Palette,
    /// `true` up to 1.15, where an entry can begin in one long and end in the next.
    pub straddles: bool,
    /// The longs, big-endian.
    pub data: Bytes,
}

/// The numbers that the entries of a [`Container`] stand for: numbers of block states or of biomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Palette {
    /// All have this number.
    Single(u32),
    /// The places of their numbers here.
    Indirect(Box<[u32]>),
    /// The numbers themselves.
    Direct,
}

/// The form in which a version writes containers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) entries: usize,
    /// The least width of an entry with a palette.
    pub(super) least: u8,
    /// The greatest width of an entry with a palette.
    pub(super) most: u8,
    /// `true` if a width of 0 stands for a single number.
    pub(super) singles: bool,
    /// `true` if entries without a palette have an empty one, up to 1.12.
    pub(super) always_palette: bool,
    pub(super) straddles: bool,
    /// `true` if the number of longs is given, up to 1.21.4.
    pub(super) counted: bool,
}

impl Container {
    /// Reads a container of the section at `section`.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        all: &Bytes,
        form: Form,
        section: usize,
    ) -> Result<Self, ContentsError> {
        let data = |error| ContentsError::Data { section, error };
        let declared = reader.u8().map_err(data)?;
        if declared > MAX_BITS {
            return Err(ContentsError::Width { section, bits: declared });
        }
        let (bits, palette) = match declared {
            0 if form.singles => {
                let number = reader.varint().map_err(data)?.value;
                (0, Palette::Single(number.cast_unsigned()))
            }
            bits if bits <= form.most => {
                let entries = read_palette(reader, form, section)?;
                (bits.max(form.least), Palette::Indirect(entries))
            }
            bits => {
                if form.always_palette {
                    read_palette(reader, form, section)?;
                }
                (bits, Palette::Direct)
            }
        };
        let expected = longs(bits, form);
        if form.counted {
            let found = reader.varint().map_err(data)?.value;
            let count = usize::try_from(found).ok();
            // The game ignores the longs of a single number.
            if bits == 0 {
                let count = count.and_then(|count| count.checked_mul(8)).unwrap_or(usize::MAX);
                reader.take(count).map_err(data)?;
            } else if count != Some(expected) {
                return Err(ContentsError::Longs { section, found, bits, expected });
            }
        }
        let start = reader.position();
        reader.take(expected * 8).map_err(data)?;
        let data = all.slice(start..reader.position());
        Ok(Self { bits, palette, straddles: form.straddles, data })
    }

    /// Returns the number of entry `index`; `None` if there is none, or its palette does not have it.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<u32> {
        let entry = match &self.palette {
            Palette::Single(number) => return Some(*number),
            Palette::Indirect(_) | Palette::Direct => self.entry(index)?,
        };
        match &self.palette {
            Palette::Indirect(palette) => palette.get(entry as usize).copied(),
            _ => Some(entry),
        }
    }

    fn entry(&self, index: usize) -> Option<u32> {
        let bits = usize::from(self.bits);
        let (place, shift) = match self.straddles {
            true => (index * bits / 64, index * bits % 64),
            false => (index / (64 / bits), index % (64 / bits) * bits),
        };
        let mut entry = self.long(place)? >> shift;
        if shift + bits > 64 {
            entry |= self.long(place + 1)? << (64 - shift);
        }
        // An entry has at most 32 bits.
        Some((entry & ((1 << bits) - 1)) as u32)
    }

    fn long(&self, place: usize) -> Option<u64> {
        let bytes = self.data.get(place * 8..place * 8 + 8)?;
        Some(u64::from_be_bytes(*bytes.first_chunk()?))
    }
}

fn read_palette(
    reader: &mut Reader<'_>,
    form: Form,
    section: usize,
) -> Result<Box<[u32]>, ContentsError> {
    let data = |error| ContentsError::Data { section, error };
    let entries = reader.varint().map_err(data)?.value;
    let count = usize::try_from(entries).ok().filter(|count| *count <= form.entries);
    let count = count.ok_or(ContentsError::Palette { section, entries, blocks: form.entries })?;
    let numbers = (0..count).map(|_| Ok(reader.varint().map_err(data)?.value.cast_unsigned()));
    numbers.collect()
}

/// Returns how many longs the entries take.
fn longs(bits: u8, form: Form) -> usize {
    let bits = usize::from(bits);
    match bits {
        0 => 0,
        _ if form.straddles => (form.entries * bits).div_ceil(64),
        _ => form.entries.div_ceil(64 / bits),
    }
}

/// No number of a block is wider.
const MAX_BITS: u8 = 32;
