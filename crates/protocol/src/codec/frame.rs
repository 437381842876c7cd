use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::deflater::deflate;
use super::{CodecError, Inflater, MemoryBudget, Reservation};
use crate::wire::{VarInt, WireError, write_varint};

/// The bytes of one packet, delimited and decrypted. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Frame {
    wire: Bytes,
    /// Offset of the content in `wire`. 0 <= start <= wire.len()
    start: usize,
    threshold: Option<usize>,
    content: Content,
}

impl Frame {
    /// Creates an uncompressed frame around a body.
    ///
    /// # Panics
    /// If the body has 2 GiB or more, which no length prefix can express.
    #[inline]
    #[must_use]
    pub fn from_body(body: Bytes) -> Self {
        Self::encode(&body, None)
    }

    /// Creates a frame for a packet of an unframed stream: its wire bytes are the body alone.
    #[must_use]
    pub fn bare(body: Bytes) -> Self {
        Self { wire: body, start: 0, threshold: None, content: Content::Bare }
    }

    /// Creates a frame for a datagram. Its body follows the first `magic` bytes, which are not part
    /// of the packet.
    #[must_use]
    pub fn datagram(wire: Bytes, magic: usize) -> Self {
        let start = magic.min(wire.len());
        Self { wire, start, threshold: None, content: Content::Bare }
    }

    /// Creates a frame of which only the size of its body is known: it has no bytes.
    #[must_use]
    pub fn outline(size: usize) -> Self {
        Self { wire: Bytes::new(), start: 0, threshold: None, content: Content::refused(size, 0) }
    }

    /// Frames a body, deflating it if it has at least `threshold` bytes.
    pub(super) fn encode(body: &[u8], threshold: Option<usize>) -> Self {
        let deflated = match threshold {
            Some(threshold) if body.len() >= threshold && !body.is_empty() => Some(deflate(body)),
            _ => None,
        };
        let data = deflated.as_deref().unwrap_or(body);
        let data_length =
            threshold.map(|_| if deflated.is_some() { number(body.len()) } else { 0 });
        let length = number(data.len() + data_length.map_or(0, VarInt::size));

        let start = VarInt::size(length) + data_length.map_or(0, VarInt::size);
        let mut wire = Vec::with_capacity(start + data.len());
        write_varint(&mut wire, length);
        if let Some(data_length) = data_length {
            write_varint(&mut wire, data_length);
        }
        wire.extend_from_slice(data);

        let content = match deflated {
            Some(_) => Content::Deflated { size: body.len(), body: Arc::default() },
            None => Content::Stored,
        };
        Self { wire: Bytes::from(wire), start, threshold, content }
    }

    /// Creates a received frame from `wire`, whose length prefix has `prefix` bytes.
    #[inline]
    pub(super) fn received(
        wire: Bytes,
        prefix: usize,
        threshold: Option<usize>,
        limit: usize,
        budget: Option<&MemoryBudget>,
    ) -> Self {
        if threshold.is_none() {
            return Self { wire, start: prefix, threshold, content: Content::Stored };
        }
        let (start, content) = match data_length(&wire[prefix..]) {
            Ok((0, taken)) => (prefix + taken, Content::Stored),
            Ok((size, taken)) if size > limit => (prefix + taken, Content::refused(size, limit)),
            Ok((size, taken)) => {
                // A small body needs no budget.
                let budget = budget.filter(|_| size > Reservation::FREE).cloned();
                let body = Arc::new(Inflated { body: OnceLock::new(), budget });
                (prefix + taken, Content::Deflated { size, body })
            }
            Err(error) => (prefix, Content::Headless(error)),
        };
        Self { wire, start, threshold, content }
    }

    /// Returns the frame with the rule that its body is not inflated to more than `limit` bytes; `None`
    /// if it is not above that, or not deflated.
    #[must_use]
    pub fn limited(&self, limit: usize) -> Option<Self> {
        let Content::Deflated { size, .. } = self.content else { return None };
        if size <= limit {
            return None;
        }
        Some(Self { content: Content::refused(size, limit), wire: self.wire.clone(), ..*self })
    }

    /// Shares the inflated body with no clone any more: it is inflated again when it is asked for, and then kept by
    /// this frame alone.
    pub fn unshare(&mut self) {
        if let Content::Deflated { body, .. } = &mut self.content
            && !matches!(body.body.get(), Some(Err(_)))
        {
            *body = Arc::new(Inflated { body: OnceLock::new(), budget: body.budget.clone() });
        }
    }

    /// Copies the bytes of the wire, so that what was received with them can be freed.
    pub fn detach(&mut self) {
        self.wire = Bytes::copy_from_slice(&self.wire);
    }

    /// Returns the decrypted bytes as received, length prefix included.
    #[inline]
    #[must_use]
    pub fn wire(&self) -> &Bytes {
        &self.wire
    }

    /// Returns the body: packet id and fields. A deflated body is inflated once, kept, and shared
    /// by all clones of the frame; it is not kept if the budget of its stream is used up.
    ///
    /// # Errors
    /// If the header is invalid, or the body exceeds the limit or does not inflate to its declared
    /// size. The frame can still be forwarded.
    #[inline]
    pub fn body(&self) -> Result<Bytes, CodecError> {
        match &self.content {
            Content::Stored | Content::Bare => Ok(self.wire.slice(self.start..)),
            Content::Deflated { size, body } => {
                body.get_or_init(*size, || Inflater::with(|it| it.body(self.data(), *size)))
            }
            Content::Headless(error) => Err(error.clone()),
        }
    }

    /// Passes the body to `read`, like [`Frame::body`], but shares it with nobody: counting who holds the
    /// bytes takes longer than looking at a small body.
    #[inline]
    pub fn with_body<T>(&self, read: impl FnOnce(&[u8]) -> T) -> Result<T, CodecError> {
        Ok(match &self.content {
            Content::Stored | Content::Bare => read(self.data()),
            Content::Deflated { .. } | Content::Headless(_) => read(&self.body()?),
        })
    }

    /// Returns the first bytes of the body, as many as `buffer` has room for, or all if the body is
    /// shorter. A deflated body is inflated only that far, into `buffer`; nothing is allocated or kept,
    /// and the size limit does not apply.
    ///
    /// # Errors
    /// If the header is invalid, or the deflated body is corrupt in the part that was needed. Only
    /// [`Frame::body`] checks the rest.
    pub fn head<'h>(&'h self, buffer: &'h mut [u8]) -> Result<&'h [u8], CodecError> {
        let count = self.size().min(buffer.len());
        match &self.content {
            Content::Stored | Content::Bare => Ok(&self.data()[..count]),
            Content::Deflated { body, .. } => match body.known() {
                Some(body) => Ok(&body[..count]),
                None => {
                    let head = &mut buffer[..count];
                    Inflater::with(|inflater| inflater.head(self.data(), head))?;
                    Ok(head)
                }
            },
            Content::Headless(error) => Err(error.clone()),
        }
    }

    /// Returns the body size from the header, without inflating. If the header is invalid, returns
    /// the number of bytes after the length prefix.
    #[inline]
    #[must_use]
    pub fn size(&self) -> usize {
        match self.content {
            Content::Deflated { size, .. } => size,
            Content::Stored | Content::Bare | Content::Headless(_) => self.data().len(),
        }
    }

    /// Returns how many bytes are kept in memory: those received, and the inflated body if somebody
    /// asked for it.
    #[inline]
    pub fn memory(&self) -> usize {
        let inflated = match &self.content {
            Content::Deflated { body, .. } => body.known(),
            Content::Stored | Content::Bare | Content::Headless(_) => None,
        };
        self.wire.len() + inflated.map_or(0, Bytes::len)
    }

    /// Returns whether the body is deflated on the wire.
    #[must_use]
    pub fn is_deflated(&self) -> bool {
        matches!(self.content, Content::Deflated { .. })
    }

    /// Returns whether the packet has no length prefix, as in an unframed stream or a datagram.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        matches!(self.content, Content::Bare)
    }

    /// Returns whether the length on the wire takes more than the three bytes that the game reads, whatever
    /// number it is.
    #[inline]
    #[must_use]
    pub fn has_long_length(&self) -> bool {
        let length = self.wire.get(..3).filter(|_| !self.is_bare());
        length.is_some_and(|bytes| bytes.iter().all(|byte| byte & 0x80 != 0))
    }

    /// Returns the compression threshold in force when the frame was created or received.
    #[inline]
    #[must_use]
    pub fn threshold(&self) -> Option<usize> {
        self.threshold
    }

    /// Returns whether a leg with this threshold accepts the frame as it is.
    ///
    /// The thresholds may differ, as long as the body has the same form under both.
    #[inline]
    pub(super) fn suits(&self, threshold: Option<usize>) -> bool {
        if self.threshold == threshold {
            return true;
        }
        match (self.threshold, threshold) {
            (Some(_), Some(threshold)) => self.is_deflated() == (self.size() >= threshold),
            // A frame of length 0 has no packet id and is forwarded as received.
            (None, _) => self.size() == 0,
            (_, None) => false,
        }
    }

    /// Returns the content: the body, stored or deflated.
    #[inline]
    fn data(&self) -> &[u8] {
        &self.wire[self.start..]
    }
}

/// The part of a frame after its header.
#[derive(Debug, Clone)]
enum Content {
    /// The body, uncompressed.
    Stored,
    /// The body of a packet without a header.
    Bare,
    /// A zlib stream, and its inflated body once that was requested.
    Deflated { size: usize, body: Arc<Inflated> },
    /// Bytes without a known meaning, because the data length is invalid.
    Headless(CodecError),
}

impl Content {
    /// Returns a deflated body of `size` bytes that is not inflated, because that is more than `limit`.
    fn refused(size: usize, limit: usize) -> Self {
        let refused = Err(CodecError::InflatedLimit { size, limit });
        let body = Arc::new(Inflated { body: OnceLock::from(refused), budget: None });
        Self::Deflated { size, body }
    }
}

/// An inflated body, once somebody asked for it.
#[derive(Debug, Default)]
struct Inflated {
    body: OnceLock<Result<(Bytes, Reservation), CodecError>>,
    /// The budget of the body; `None` if the body needs none.
    budget: Option<MemoryBudget>,
}

impl Inflated {
    fn known(&self) -> Option<&Bytes> {
        match self.body.get()? {
            Ok((body, _)) => Some(body),
            Err(_) => None,
        }
    }

    /// Returns the body of `size` bytes. It is kept unless the budget is used up.
    fn get_or_init(
        &self,
        size: usize,
        inflate: impl FnOnce() -> Result<Bytes, CodecError>,
    ) -> Result<Bytes, CodecError> {
        if let Some(known) = self.body.get() {
            return known.as_ref().map(|(body, _)| body.clone()).map_err(Clone::clone);
        }
        let mut reservation = self.budget.as_ref().map(MemoryBudget::reservation);
        if !reservation.as_mut().is_none_or(|it| it.try_resize(size)) {
            return inflate();
        }
        let reservation = reservation.unwrap_or_default();
        let body = self.body.get_or_init(|| inflate().map(|body| (body, reservation)));
        body.as_ref().map(|(body, _)| body.clone()).map_err(Clone::clone)
    }
}

/// Returns the data length in front of `bytes`, and the number of bytes that it takes.
#[inline]
pub(super) fn data_length(bytes: &[u8]) -> Result<(usize, usize), CodecError> {
    let read = VarInt::read(bytes).map_err(|error| match error {
        WireError::Incomplete { .. } => CodecError::MissingDataLength { bytes: bytes.len() },
        _ => CodecError::DataLength,
    })?;
    let size = usize::try_from(read.value)
        .map_err(|_| CodecError::NegativeDataLength { length: read.value })?;
    Ok((size, read.length))
}

fn number(length: usize) -> i32 {
    i32::try_from(length).expect("a packet has less than 2 GiB")
}

#[cfg(test)]
mod tests {
    use hex_literal::hex;

    use super::*;

    fn received(wire: &[u8], threshold: Option<usize>) -> Frame {
        let prefix = VarInt::read(wire).unwrap().length;
        Frame::received(Bytes::copy_from_slice(wire), prefix, threshold, 1000, None)
    }

    fn head(frame: &Frame, count: usize) -> Result<Vec<u8>, CodecError> {
        frame.head(&mut vec![0; count]).map(<[u8]>::to_vec)
    }

    #[test]
    fn a_frame_is_a_value_that_threads_can_share() {
        fn shared<T: Send + Sync + Clone>() {}
        shared::<Frame>();
    }

    #[test]
    fn a_body_follows_the_length_or_the_data_length() {
        let plain = received(&hex!("03 0a0b0c"), None);
        assert_eq!(plain.body().unwrap()[..], hex!("0a0b0c"));
        let stored = received(&hex!("04 00 0a0b0c"), Some(64));
        assert_eq!(stored.body().unwrap()[..], hex!("0a0b0c"));
        assert_eq!((plain.size(), stored.size()), (3, 3));
        assert_eq!((plain.threshold(), stored.threshold()), (None, Some(64)));
        assert!(!plain.is_deflated() && !stored.is_deflated());
        assert_eq!(stored.wire()[..], hex!("04 00 0a0b0c"));
        let long = received(&hex!("8680 00 8000 0a0b0c"), Some(64));
        assert_eq!(long.body().unwrap()[..], hex!("0a0b0c"));
    }

    #[test]
    fn a_frame_made_from_a_body_has_a_length() {
        let frame = Frame::from_body(Bytes::from(vec![7; 200]));
        assert_eq!(frame.wire()[..3], hex!("c801 07"));
        assert_eq!(frame.body().unwrap(), vec![7; 200]);
        assert_eq!(frame.size(), 200);
    }

    #[test]
    fn a_deflated_body_is_inflated_once_for_all_clones() {
        let frame = Frame::encode(&[5; 300], Some(256));
        let clone = frame.clone();
        assert!(frame.is_deflated());
        assert_eq!(frame.size(), 300);
        let body = frame.body().unwrap();
        assert_eq!(body, vec![5; 300]);
        assert_eq!(clone.body().unwrap().as_ptr(), body.as_ptr());
    }

    #[test]
    fn an_inflated_body_is_kept_as_long_as_there_is_memory_for_it() {
        let budget = MemoryBudget::new(300_000);
        let wire = Frame::encode(&[5; 200_000], Some(0)).wire().clone();
        let prefix = VarInt::read(&wire).unwrap().length;
        let frame = || Frame::received(wire.clone(), prefix, Some(0), 1 << 20, Some(&budget));
        let (one, other) = (frame(), frame());
        let same = |frame: &Frame| frame.body().unwrap().as_ptr() == frame.body().unwrap().as_ptr();
        assert!(same(&one) && budget.used() >= 200_000);
        assert_eq!(other.body().unwrap(), vec![5; 200_000]);
        assert_eq!(other.memory(), wire.len());
        assert_eq!(one.memory(), wire.len() + 200_000);
        let clone = one.clone();
        drop(one);
        assert!(budget.used() > 0);
        drop(clone);
        assert_eq!(budget.used(), 0);
        assert!(same(&other));
    }

    #[test]
    fn the_head_is_the_front_of_the_body_however_that_is_stored() {
        let body: Vec<u8> = (0..=255).cycle().take(300).collect();
        let plain = Frame::encode(&body, None);
        let deflated = Frame::encode(&body, Some(0));
        let inflated = Frame::encode(&body, Some(0));
        inflated.body().unwrap();
        for frame in [plain, deflated, inflated] {
            for count in [0, 1, 16, 300, 301] {
                assert_eq!(head(&frame, count).unwrap(), body[..count.min(300)]);
            }
        }
    }

    #[test]
    fn a_frame_of_length_0_has_an_empty_body_or_no_data_length() {
        let plain = received(&hex!("00"), None);
        assert_eq!(plain.body().unwrap(), "");
        assert_eq!(head(&plain, 4).unwrap(), [0u8; 0]);
        let headless = received(&hex!("00"), Some(64));
        assert_eq!(headless.body(), Err(CodecError::MissingDataLength { bytes: 0 }));
        assert_eq!(headless.size(), 0);
    }

    #[test]
    fn an_invalid_data_length_is_an_error_of_the_body() {
        for (wire, error) in [
            (&hex!("02 ffff")[..], CodecError::MissingDataLength { bytes: 2 }),
            (&hex!("06 ffffffffff01"), CodecError::DataLength),
            (&hex!("05 ffffffff0f"), CodecError::NegativeDataLength { length: -1 }),
        ] {
            let frame = received(wire, Some(64));
            assert_eq!(frame.body(), Err(error.clone()));
            assert_eq!(head(&frame, 1), Err(error));
            assert_eq!(frame.wire()[..], *wire);
            assert_eq!(frame.size(), wire.len() - 1);
        }
    }

    #[test]
    fn a_body_beyond_the_limit_is_not_inflated_but_its_head_is() {
        let bomb = Frame::encode(&[9; 1001], Some(64));
        let frame = received(bomb.wire(), Some(64));
        let error = CodecError::InflatedLimit { size: 1001, limit: 1000 };
        assert_eq!(error.to_string(), "body inflates to 1001 bytes, and the limit is 1000");
        assert_eq!(frame.body(), Err(error));
        assert_eq!(frame.size(), 1001);
        assert_eq!(head(&frame, 3).unwrap(), [9, 9, 9]);

        let most = Frame::encode(&[9; 1000], Some(64));
        assert_eq!(received(most.wire(), Some(64)).body().unwrap(), vec![9; 1000]);
    }

    #[test]
    fn a_zip_bomb_is_stopped_at_its_declared_size() {
        let bomb = Frame::encode(&[0; 1 << 20], Some(64));
        let mut wire = bomb.wire().to_vec();
        let prefix = VarInt::read(&wire).unwrap().length;
        wire[prefix..prefix + 3].copy_from_slice(&hex!("e48700"));
        let frame = received(&wire, Some(64));
        assert_eq!(frame.size(), 996);
        assert_eq!(frame.body(), Err(CodecError::InflatedLong { declared: 996 }));
    }
}
