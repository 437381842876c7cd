//! The first bytes of a deflated body, for its packet id: without the tables of a decompressor, whose
//! preparation takes most of the time when only a few bytes are wanted.
//!
//! Source: RFC 1950 (zlib) and RFC 1951 (deflate).

/// Fills `out` with the first bytes that the zlib `stream` inflates to. Returns `None` if the stream is
/// cut off, corrupt or unusual: then a decompressor has to decide. A fault behind these bytes goes
/// unnoticed.
pub(super) fn inflate_head(stream: &[u8], out: &mut [u8]) -> Option<()> {
    let (&[method, flags], deflated) = stream.split_first_chunk()?;
    let usual = method & 0x0f == 8 && method >> 4 <= 7 && flags & 0x20 == 0;
    if !usual || u16::from_be_bytes([method, flags]) % 31 != 0 {
        return None;
    }
    let mut bits = Bits { bytes: deflated, held: 0, count: 0 };
    let mut filled = 0;
    while filled < out.len() {
        let last = bits.take(1)? == 1;
        match bits.take(2)? {
            0 => filled += stored(&mut bits, &mut out[filled..])?,
            1 => huffman(&mut bits, &Code::fixed(), &Code::fixed_distances(), out, &mut filled)?,
            2 => {
                let (literals, distances) = codes(&mut bits)?;
                huffman(&mut bits, &literals, &distances, out, &mut filled)?;
            }
            _ => return None,
        }
        if last && filled < out.len() {
            return None;
        }
    }
    Some(())
}

/// Copies from a stored block.
fn stored(bits: &mut Bits<'_>, out: &mut [u8]) -> Option<usize> {
    bits.align();
    let (length, check) = (bits.take(16)?, bits.take(16)?);
    if length != !check & 0xffff {
        return None;
    }
    let count = (length as usize).min(out.len());
    for byte in &mut out[..count] {
        *byte = bits.take(8)? as u8;
    }
    Some(count)
}

/// Decodes symbols until `out` is full or the block ends.
fn huffman(
    bits: &mut Bits<'_>,
    literals: &Code,
    distances: &Code,
    out: &mut [u8],
    filled: &mut usize,
) -> Option<()> {
    while *filled < out.len() {
        let symbol = literals.symbol(bits)?;
        match symbol {
            0..256 => {
                out[*filled] = symbol as u8;
                *filled += 1;
            }
            256 => return Some(()),
            257..265 => copy(bits, symbol - 254, distances, out, filled)?,
            // More than the few bytes that are wanted; how many more does not matter, but the extra bits
            // of the length are in front of the distance.
            265..285 => {
                bits.take(u32::from(symbol - 261) / 4)?;
                copy(bits, 258, distances, out, filled)?;
            }
            285 => copy(bits, 258, distances, out, filled)?,
            _ => return None,
        }
    }
    Some(())
}

/// Repeats up to `length` of the bytes in front.
fn copy(
    bits: &mut Bits<'_>,
    length: u16,
    distances: &Code,
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

/// Reads the codes of a dynamic block.
fn codes(bits: &mut Bits<'_>) -> Option<(Code, Code)> {
    let literals = bits.take(5)? as usize + 257;
    let distances = bits.take(5)? as usize + 1;
    let count = bits.take(4)? as usize + 4;
    if literals > 286 || distances > 30 {
        return None;
    }
    let mut lengths = [0; 19];
    for place in &ORDER[..count] {
        lengths[*place] = bits.take(3)? as u8;
    }
    // All codes of lengths have 7 bits at most: one table serves them.
    let code = Code::new(&lengths)?;
    let mut table = [(0, 0); 128];
    for (entry, reversed) in table.iter_mut().zip(0u32..) {
        let mut ahead = Bits { bytes: &[], held: reversed.into(), count: 7 };
        let symbol = code.symbol(&mut ahead)?;
        *entry = (symbol as u8, 7 - ahead.count as u8);
    }
    let mut lengths = [0; 286 + 30];
    let mut place = 0;
    while place < literals + distances {
        let (symbol, used) = table[bits.peek(7) as usize];
        bits.take(used.into())?;
        let (length, times) = match symbol {
            16 => (lengths[place.checked_sub(1)?], bits.take(2)? + 3),
            17 => (0, bits.take(3)? + 3),
            18 => (0, bits.take(7)? + 11),
            length => (length, 1),
        };
        let end = place + times as usize;
        if end > literals + distances {
            return None;
        }
        lengths[place..end].fill(length);
        place = end;
    }
    // A block has an end.
    if lengths[256] == 0 {
        return None;
    }
    let distances = Code::new(&lengths[literals..place])?;
    Some((Code::new(&lengths[..literals])?, distances))
}

/// A canonical Huffman code.
struct Code {
    /// The length of each symbol's code in bits; 0 if it has none.
    lengths: [u8; 288],
    /// The number of codes of each length.
    counts: [u16; 16],
}

impl Code {
    /// Returns the code with these lengths, unless it is not complete.
    fn new(given: &[u8]) -> Option<Self> {
        let (mut lengths, mut counts) = ([0; 288], [0; 16]);
        lengths[..given.len()].copy_from_slice(given);
        given.iter().for_each(|length| counts[usize::from(*length)] += 1);
        counts[0] = 0;
        let used = |(length, count): (usize, &u16)| usize::from(*count) << (15 - length);
        let sum: usize = counts.iter().enumerate().map(used).sum();
        (sum == 1 << 15).then_some(Self { lengths, counts })
    }

    fn fixed() -> Self {
        let mut lengths = [8; 288];
        lengths[144..256].fill(9);
        lengths[256..280].fill(7);
        let mut counts = [0; 16];
        counts[7..10].copy_from_slice(&[24, 152, 112]);
        Self { lengths, counts }
    }

    fn fixed_distances() -> Self {
        let (mut lengths, mut counts) = ([0; 288], [0; 16]);
        lengths[..32].fill(5);
        counts[5] = 32;
        Self { lengths, counts }
    }

    /// Decodes the next symbol: finds how many codes of its length precede it, then the symbol.
    fn symbol(&self, bits: &mut Bits<'_>) -> Option<u16> {
        let (mut code, mut first) = (0, 0);
        for (length, count) in (1u8..).zip(&self.counts[1..]) {
            code |= bits.take(1)?;
            let count = u32::from(*count);
            if code - first < count {
                let of_length = (0u16..).zip(&self.lengths).filter(|(_, it)| **it == length);
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
        while self.count < count {
            let Some((&byte, rest)) = self.bytes.split_first() else { break };
            (self.bytes, self.held) = (rest, self.held | u64::from(byte) << self.count);
            self.count += 8;
        }
        self.held as u32 & ((1 << count) - 1)
    }

    /// Drops the rest of a byte.
    fn align(&mut self) {
        let rest = self.count % 8;
        self.held >>= rest;
        self.count -= rest;
    }
}

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

    /// Both ways to the first bytes.
    fn heads(stream: &[u8], count: usize) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let (mut ours, mut theirs) = (vec![0; count], vec![0; count]);
        let filled = inflate_head(stream, &mut ours).map(|()| ours);
        let inflated = Inflater::new().head(stream, &mut theirs).ok().map(|()| theirs);
        (filled, inflated)
    }

    #[test]
    fn reads_stored_fixed_and_dynamic_blocks() {
        let text =
            b"a dynamic block pays off in a text with letters of different frequency: eeeeee";
        let long = text.repeat(3);
        for (body, level, kind) in
            [(&[0x21, 0, 0, 0, 0, 0, 0][..], 6, 1), (&long[..], 9, 2), (&b"stored"[..], 0, 0)]
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
    fn an_empty_block_may_come_first() {
        let mut deflater = Compress::new(Compression::best(), true);
        let mut stream = Vec::with_capacity(100);
        deflater.compress_vec(b"", &mut stream, FlushCompress::Sync).unwrap();
        deflater.compress_vec(b"abcdef", &mut stream, FlushCompress::Finish).unwrap();
        assert_eq!(heads(&stream, 5).0.as_deref(), Some(&b"abcde"[..]));
    }

    proptest! {
        #[test]
        fn what_it_reads_is_what_a_decompressor_reads(
            body in prop::collection::vec(prop_oneof![3 => 0u8..4, 1 => any::<u8>()], 5..600),
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
            prop_assert!(!sound || theirs.as_deref() == Some(&body[..5]));
        }
    }
}
