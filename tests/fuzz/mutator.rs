/// Makes inputs from others: always the same ones from the same seed and the same corpus.
pub(crate) struct Mutator {
    state: u64,
    words: &'static [&'static str],
}

impl Mutator {
    pub(crate) fn new(seed: u64, words: &'static [&'static str]) -> Self {
        Self { state: seed, words }
    }

    /// Returns a changed copy of one of the inputs. Those found last are taken more often.
    pub(crate) fn make(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = match self.below(4) {
            0 => self.one_of(&corpus[corpus.len() - (corpus.len() / 8).max(1)..]).clone(),
            _ => self.one_of(corpus).clone(),
        };
        for _ in 0..1 << self.below(4) {
            self.change(&mut input, corpus);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.below(input.len() + 1);
        let end = (at + 1 + self.short()).min(input.len());
        match self.below(12) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = self.next() as u8,
            2 if at < input.len() => input[at] = input[at].wrapping_add(1 + self.below(8) as u8),
            3 if at < input.len() => input[at] = input[at].wrapping_sub(1 + self.below(8) as u8),
            4 if at < end => drop(input.drain(at..end)),
            // A part twice, or elsewhere.
            5 if at < end => {
                let part = input[at..end].to_vec();
                let to = self.below(input.len() + 1);
                input.splice(to..to, part);
            }
            6 => {
                let number = *self.one_of(&NUMBERS);
                let bytes = number.to_be_bytes();
                let mut bytes = bytes[8 - (1 << self.below(4))..].to_vec();
                if self.below(2) == 0 {
                    bytes.reverse();
                }
                let end = if self.below(2) == 0 { (at + bytes.len()).min(input.len()) } else { at };
                input.splice(at..end, bytes);
            }
            7 => {
                let bytes: Vec<u8> = (0..=self.short()).map(|_| self.next() as u8).collect();
                input.splice(at..at, bytes);
            }
            8 | 9 if !self.words.is_empty() => {
                let word = self.one_of(self.words).as_bytes();
                let end = if self.below(2) == 0 { end } else { at };
                input.splice(at..end.max(at), word.iter().copied());
            }
            // A part of another input, or all of it from some place on.
            10 => {
                let other = self.one_of(corpus);
                let from = self.below(other.len() + 1);
                let to = (from + self.short() * 4).min(other.len());
                input.splice(at..at, other[from..to].iter().copied());
            }
            11 => {
                let other = self.one_of(corpus);
                let from = self.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ => input.push(self.next() as u8),
        }
    }

    /// A length, mostly short.
    fn short(&mut self) -> usize {
        let most = 1 << self.below(8);
        self.below(most)
    }

    fn one_of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// Numbers at the edges of types; varints at the edges of their lengths.
const NUMBERS: [u64; 20] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
    0x8001,
    0xff7f,
    0xffff_7f00,
    0xffff_ffff_0f00_0000,
];

/// Longest input in bytes.
const LONGEST: usize = 64 << 10;
