//! The packet id at the beginning of a deflated body: without the tables of a decompressor, whose
//! preparation takes most of the time when only a few bytes are wanted.
//!
//! Source: RFC 1950 (zlib) and RFC 1951 (deflate).

/// Fills `out` with the first bytes that the zlib `stream` inflates to, up to the end of a VarInt, and
/// returns their number. Returns `None` if the stream is cut off, corrupt or unusual: then a decompressor
/// has to decide. A fault behind these bytes goes unnoticed.
pub(super) fn inflate_head(stream: &[u8], out: &mut [u8]) -> Option<usize> {
    let (&[method, flags], deflated) = stream.split_first_chunk()?;
    let usual = method & 0x0f == 8 && method >> 4 <= 7 && flags & 0x20 == 0;
    if !usual || u16::from_be_bytes([method, flags]) % 31 != 0 {
        return None;
    }
    let mut bits = Bits { bytes: deflated, held: 0, count: 0 };
    let mut filled = 0;
    while !is_whole(out, filled) {
        let last = bits.take(1)? == 1;
        match bits.take(2)? {
            0 => stored(&mut bits, out, &mut filled)?,
            1 => {
                let (literals, distances) = (FIXED_LITERALS, [5; 32]);
                huffman(&mut bits, &literals, &distances, out, &mut filled)?;
            }
            2 => {
                let (lengths, literals, all) = code_lengths(&mut bits)?;
                let (literals, distances) = lengths[..all].split_at(literals);
                huffman(&mut bits, literals, distances, out, &mut filled)?;
            }
            _ => return None,
        }
        if last && !is_whole(out, filled) {
            return None;
        }
    }
    Some(filled)
}

/// Returns whether the VarInt in `out` has ended, or does not fit.
fn is_whole(out: &[u8], filled: usize) -> bool {
    filled == out.len() || out[..filled].last().is_some_and(|byte| byte & 0x80 == 0)
}

/// Copies from a stored block.
fn stored(bits: &mut Bits<'_>, out: &mut [u8], filled: &mut usize) -> Option<()> {
    bits.align();
    let (length, check) = (bits.take(16)?, bits.take(16)?);
    if length != !check & 0xffff {
        return None;
    }
    for _ in 0..length {
        if is_whole(out, *filled) {
            break;
        }
        out[*filled] = bits.take(8)? as u8;
        *filled += 1;
    }
    Some(())
}

/// Decodes symbols until `out` has a whole VarInt or the block ends. The codes have these lengths.
fn huffman(
    bits: &mut Bits<'_>,
    literals: &[u8],
    distances: &[u8],
    out: &mut [u8],
    filled: &mut usize,
) -> Option<()> {
    let (literals, distances) = (Code::new(literals)?, Code::new(distances)?);
    while !is_whole(out, *filled) {
        let symbol = literals.symbol(bits)?;
        match symbol {
            0..256 => {
                out[*filled] = symbol as u8;
                *filled += 1;
            }
            256 => return Some(()),
            257..265 => copy(bits, symbol - 254, &distances, out, filled)?,
            // More than the few bytes that are wanted; how many more does not matter, but the extra bits
            // of the length are in front of the distance.
            265..285 => {
                bits.take(u32::from(symbol - 261) / 4)?;
                copy(bits, 258, &distances, out, filled)?;
            }
            285 => copy(bits, 258, &distances, out, filled)?,
            _ => return None,
        }
    }
    Some(())
}

/// Repeats up to `length` of the bytes in front.
fn copy(
    bits: &mut Bits<'_>,
    length: u16,
    distances: &Code<'_>,
    out: &mut [u8],
    filled: &mut usize,
) -> Option<()> {
    // Longer ones reach in front of the first bytes.
    let distance = match distances.symbol(bits)? {
        symbol @ 0..4 => usize::from(symbol) + 1,
        _ => return None,
    };
    for _ in 0..usize::from(length).min(out.len() - *filled) {
        out[*filled] = out[filled.checked_sub(distance)?];
        *filled += 1;
    }
    Some(())
}

/// Reads the lengths of the codes of a dynamic block: those of literals, then those of distances. Returns
/// also how many are of literals, and how many there are.
fn code_lengths(bits: &mut Bits<'_>) -> Option<([u8; 286 + 30], usize, usize)> {
    let literals = bits.take(5)? as usize + 257;
    let all = literals + bits.take(5)? as usize + 1;
    let count = bits.take(4)? as usize + 4;
    if literals > 286 || all > literals + 30 {
        return None;
    }
    let table = lengths_table(bits, count)?;
    let (mut lengths, mut place) = ([0; 286 + 30], 0);
    while place < all {
        let ahead = bits.peek(7 + 7);
        let (symbol, used) = table[ahead as usize % table.len()];
        let extra = ahead >> used;
        let (length, times, used) = match symbol {
            16 => (lengths[place.checked_sub(1)?], 3 + (extra & 3), used + 2),
            17 => (0, 3 + (extra & 7), used + 3),
            18 => (0, 11 + (extra & 127), used + 7),
            length => (length, 1, used),
        };
        bits.take(used)?;
        let end = place + times as usize;
        if end > all {
            return None;
        }
        if length > 0 {
            lengths[place..end].iter_mut().for_each(|it| *it = length);
        }
        place = end;
    }
    // A block has an end.
    (lengths[256] != 0).then_some((lengths, literals, all))
}

/// Reads the code of code lengths, `count` of which are given. Returns the symbol and the length of the
/// code that 7 bits begin with, which is the longest that there is.
fn lengths_table(bits: &mut Bits<'_>, count: usize) -> Option<[(u8, u32); 128]> {
    let mut lengths = [0; 19];
    for place in &ORDER[..count] {
        lengths[*place] = bits.take(3)? as u8;
    }
    Code::new(&lengths)?;
    let mut table = [(0, 0); 128];
    // The codes of a length are in the order of their symbols, and follow those that are shorter.
    let mut code = 0u32;
    for length in 1..=7 {
        let of_length = (0u8..).zip(&lengths).filter(|(_, it)| u32::from(**it) == length);
        for (symbol, _) in of_length {
            let reversed = (code.reverse_bits() >> (32 - length)) as usize;
            table[reversed..].iter_mut().step_by(1 << length).for_each(|it| *it = (symbol, length));
            code += 1;
        }
        code <<= 1;
    }
    Some(table)
}

/// A canonical Huffman code.
struct Code<'a> {
    /// The length of each symbol's code in bits; 0 if it has none.
    lengths: &'a [u8],
    /// The number of codes of each length.
    counts: [u16; 16],
}

impl<'a> Code<'a> {
    /// Returns the code with these lengths, unless it is not complete.
    fn new(lengths: &'a [u8]) -> Option<Self> {
        let mut counts = [0; 16];
        lengths.iter().for_each(|length| counts[usize::from(*length)] += 1);
        counts[0] = 0;
        let used = |(length, count): (usize, &u16)| usize::from(*count) << (15 - length);
        let sum: usize = counts.iter().enumerate().map(used).sum();
        (sum == 1 << 15).then_some(Self { lengths, counts })
    }

    /// Decodes the next symbol: finds how many codes of its length precede it, then the symbol.
    fn symbol(&self, bits: &mut Bits<'_>) -> Option<u16> {
        let (mut code, mut first) = (0, 0);
        for (length, count) in (1u8..).zip(&self.counts[1..]) {
            code |= bits.take(1)?;
            let count = u32::from(*count);
            if code - first < count {
                let of_length = (0u16..).zip(self.lengths).filter(|(_, it)| **it == length);
                return of_length.map(|(symbol, _)| symbol).nth((code - first) as usize);
            }
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}

/// Reads bits, the lowest of each byte first.
struct Bits<'a> {
    bytes: &'a [u8],
    /// Bits taken from `bytes`, the next one lowest; 0 beyond `count`.
    held: u64,
    count: u32,
}

impl Bits<'_> {
    /// Removes and returns up to 16 bits; `None` at the end of the stream.
    fn take(&mut self, count: u32) -> Option<u32> {
        let bits = self.peek(count);
        self.count = self.count.checked_sub(count)?;
        self.held >>= count;
        Some(bits)
    }

    /// Returns up to 16 bits; those beyond the end are 0.
    fn peek(&mut self, count: u32) -> u32 {
        if self.count < count {
            self.fill();
        }
        self.held as u32 & ((1 << count) - 1)
    }

    /// Takes as many bytes as there is room for.
    fn fill(&mut self) {
        let room = (64 - self.count as usize) / 8;
        let taken = room.min(self.bytes.len());
        let (taken, rest) = self.bytes.split_at(taken);
        let mut word = [0; 8];
        word[..taken.len()].copy_from_slice(taken);
        self.held |= u64::from_le_bytes(word) << self.count;
        self.count += 8 * taken.len() as u32;
        self.bytes = rest;
    }

    /// Drops the rest of a byte.
    fn align(&mut self) {
        let rest = self.count % 8;
        self.held >>= rest;
        self.count -= rest;
    }
}

/// The lengths of the codes of literals in a block that does not have its own.
const FIXED_LITERALS: [u8; 288] = {
    let mut lengths = [8; 288];
    let mut symbol = 144;
    while symbol < 280 {
        lengths[symbol] = if symbol < 256 { 9 } else { 7 };
        symbol += 1;
    }
    lengths
};

/// The order in which the lengths of the codes for lengths come.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, FlushCompress};
    use proptest::prelude::*;

    use super::*;
    use crate::codec::Inflater;

    fn deflated(body: &[u8], level: u32, flush: FlushCompress) -> Vec<u8> {
        let mut stream = Vec::with_capacity(body.len() + 100);
        Compress::new(Compression::new(level), true)
            .compress_vec(body, &mut stream, flush)
            .unwrap();
        stream
    }

    /// Both ways to the first bytes; the second has as many as there are after the first.
    fn heads(stream: &[u8], count: usize) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let (mut ours, mut theirs) = (vec![0; count], vec![0; count]);
        let filled = inflate_head(stream, &mut ours);
        let inflated = Inflater::new().head(stream, &mut theirs).ok();
        if let Some(filled) = filled {
            ours.truncate(filled);
            theirs.truncate(filled);
            assert!(is_whole(&ours, filled) || filled == count);
        }
        (filled.map(|_| ours), inflated.map(|()| theirs))
    }

    #[test]
    fn reads_stored_fixed_and_dynamic_blocks() {
        let text: Vec<u8> =
            b"a dynamic block pays off in a text with letters of different frequency: ee"
                .iter()
                .map(|letter| letter | 0x80)
                .collect();
        let long = text.repeat(3);
        for (body, level, kind) in
            [(&[0xa1, 0x80, 0x80, 0x80, 0x80, 0][..], 6, 1), (&long[..], 9, 2), (&text[..6], 0, 0)]
        {
            let stream = deflated(body, level, FlushCompress::Finish);
            assert_eq!(stream[2] >> 1 & 3, kind, "the kind of the block");
            for count in 0..=5 {
                let (ours, theirs) = heads(&stream, count);
                assert_eq!(ours.as_deref(), Some(&body[..count]));
                assert_eq!(ours, theirs);
            }
        }
    }

    #[test]
    fn stops_at_the_end_of_the_id() {
        for (body, id) in [(&b"abc"[..], 1), (b"\x80a", 2), (b"\x80\x80\x80\x80\x80a", 5)] {
            for level in [0, 6] {
                let stream = deflated(body, level, FlushCompress::Finish);
                assert_eq!(heads(&stream, 5).0.as_deref(), Some(&body[..id]));
            }
        }
    }

    #[test]
    fn an_empty_block_may_come_first() {
        let mut deflater = Compress::new(Compression::best(), true);
        let mut stream = Vec::with_capacity(100);
        deflater.compress_vec(b"", &mut stream, FlushCompress::Sync).unwrap();
        deflater.compress_vec(b"\xf0\xf1abcdef", &mut stream, FlushCompress::Finish).unwrap();
        assert_eq!(heads(&stream, 5).0.as_deref(), Some(&b"\xf0\xf1a"[..]));
    }

    proptest! {
        #[test]
        fn what_it_reads_is_what_a_decompressor_reads(
            body in prop::collection::vec(prop_oneof![1 => 0u8..4, 3 => 0x80u8..0x84, 1 => any::<u8>()], 5..600),
            level in 0u32..=9,
            fault in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let mut stream = deflated(&body, level, FlushCompress::Finish);
            let sound = fault.is_none();
            if let Some((place, byte)) = fault {
                let place = place.index(stream.len());
                stream[place] = byte;
            }
            let (ours, theirs) = heads(&stream, 5);
            if theirs.is_some() {
                prop_assert!(ours.is_none() || ours == theirs, "{ours:?} {theirs:?}");
            }
            let id = body.iter().take(4).take_while(|byte| **byte >= 0x80).count() + 1;
            prop_assert!(!sound || theirs.as_deref() == Some(&body[..id]));
        }
    }
}
