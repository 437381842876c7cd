/// Cuts bytes into lines. A line is bounded: see [`Lines::MAX`].
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Bytes that no line feed has ended yet.
    rest: Vec<u8>,
}

impl Lines {
    /// Longest line: larger than the answer that replaces the largest packet.
    pub(super) const MAX: usize = 32 << 20;

    /// Calls `each` for every line that `bytes` end, without its line feed, until it returns `false`. Returns
    /// whether the bytes behind the last line feed are still within the limit.
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8]) -> bool) -> bool {
        let mut left = bytes;
        while let Some(end) = left.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = (&left[..end], &left[end + 1..]);
            left = behind;
            let goes_on = if self.rest.is_empty() {
                each(line)
            } else {
                self.rest.extend_from_slice(line);
                let whole = std::mem::take(&mut self.rest);
                each(&whole)
            };
            if !goes_on {
                return true;
            }
        }
        self.rest.extend_from_slice(left);
        self.rest.len() <= Self::MAX
    }

    /// Forgets the bytes that no line feed has ended.
    pub(super) fn clear(&mut self) {
        self.rest = Vec::new();
    }
}
