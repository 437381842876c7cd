/// Takes parameters off the front of an input. Everything that is missing reads as 0.
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn u8(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes([self.u8(), self.u8()])
    }

    /// A run of bytes with its length in front.
    pub fn chunk(&mut self) -> &'a [u8] {
        let length = usize::from(self.u16()).min(self.0.len());
        let (chunk, rest) = self.0.split_at(length);
        self.0 = rest;
        chunk
    }

    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
