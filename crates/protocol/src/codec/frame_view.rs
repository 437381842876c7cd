use super::Inflater;
use super::frame::data_length;
use super::inflate_head::inflate_head;
use crate::wire::VarInt;

/// A whole frame among received bytes, read where it lies: nothing is copied or allocated.
#[derive(Debug, Clone, Copy)]
pub struct FrameView<'a> {
    wire: &'a [u8],
    /// The content: the body, stored or deflated.
    data: &'a [u8],
    /// The size of the inflated body; `None` if the body is stored.
    deflated: Option<usize>,
}

impl<'a> FrameView<'a> {
    /// Reads the frame of up to `limit` bytes at the front of `bytes`. Returns `None` if it is not
    /// whole, is larger, or has an invalid header: then [`Decoder::poll`](super::Decoder::poll) decides.
    #[inline]
    pub(super) fn read(bytes: &'a [u8], threshold: Option<usize>, limit: usize) -> Option<Self> {
        let prefix = VarInt::read(bytes).ok()?;
        let length = usize::try_from(prefix.value).ok().filter(|length| *length <= limit)?;
        let wire = bytes.get(..prefix.length + length)?;
        let data = &wire[prefix.length..];
        if threshold.is_none() {
            return Some(Self { wire, data, deflated: None });
        }
        let (size, taken) = data_length(data).ok()?;
        Some(Self { wire, data: &data[taken..], deflated: (size > 0).then_some(size) })
    }

    /// Returns the bytes as received, length prefix included.
    pub fn wire(&self) -> &'a [u8] {
        self.wire
    }

    /// Returns the size of the inflated body.
    pub fn size(&self) -> usize {
        self.deflated.unwrap_or(self.data.len())
    }

    /// Returns whether the body is deflated.
    pub fn is_deflated(&self) -> bool {
        self.deflated.is_some()
    }

    /// Returns the first bytes of the body, with the whole packet id; `None` if they do not inflate.
    #[inline]
    pub fn head<'h>(&self, buffer: &'h mut [u8; VarInt::MAX]) -> Option<&'h [u8]>
    where
        'a: 'h,
    {
        let Some(size) = self.deflated else {
            return Some(&self.data[..self.data.len().min(VarInt::MAX)]);
        };
        let head = &mut buffer[..size.min(VarInt::MAX)];
        let filled = inflate_head(self.data, head).or_else(|| {
            Inflater::with(|inflater| inflater.head(self.data, head)).ok()?;
            Some(head.len())
        });
        Some(&head[..filled?])
    }
}
