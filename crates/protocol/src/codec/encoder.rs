use bytes::Bytes;

use super::cipher::{Encryptor, Key};
use super::{Decoder, Frame, MemoryBudget, Reservation};

/// Frames and encrypts the packets of one direction of a leg.
///
/// Pending bytes are not bounded here: the owner stops adding packets while [`Encoder::pending`] is
/// long.
#[derive(Debug, Default)]
pub struct Encoder {
    /// Encrypted bytes; those before `start` were written.
    out: Vec<u8>,
    /// 0 <= start <= out.len(), and 0 if nothing is pending
    start: usize,
    threshold: Option<usize>,
    cipher: Option<Box<Encryptor>>,
    /// `true` if packets are written without frames.
    bare: bool,
    /// `true` if all output is discarded.
    mute: bool,
    /// The memory of `out`.
    reservation: Reservation,
}

impl Encoder {
    /// Creates an encoder of a framed stream without cipher and without compression.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts the pending bytes in `budget` from now on. They may exceed it: what is pending has been
    /// received, and its owner stops adding to it.
    pub fn set_budget(&mut self, budget: &MemoryBudget) {
        self.reservation = budget.reservation();
        self.reservation.resize(self.out.capacity());
    }

    /// Forwards a frame: as the bytes that were received if they suit this leg's compression,
    /// otherwise framed again. A frame whose body does not inflate is forwarded as received.
    #[inline]
    pub fn forward(&mut self, frame: &Frame) {
        match self.bare || frame.suits(self.threshold) {
            true => self.put(frame.wire()),
            false => self.reframe(frame),
        }
    }

    fn reframe(&mut self, frame: &Frame) {
        match frame.body() {
            Ok(body) => {
                self.send(&body);
            }
            Err(_) => self.put(frame.wire()),
        }
    }

    /// Frames a body, deflating it if it reaches the threshold. Returns the frame that was sent.
    ///
    /// # Panics
    /// If the body has 2 GiB or more, which no length prefix can express.
    pub fn send(&mut self, body: &[u8]) -> Frame {
        let frame = if self.bare {
            Frame::bare(Bytes::copy_from_slice(body))
        } else {
            Frame::encode(body, self.threshold)
        };
        self.put(frame.wire());
        frame
    }

    /// Appends bytes without framing them, for pieces of frames and for opaque streams. They are
    /// still encrypted.
    pub fn put(&mut self, bytes: &[u8]) {
        if self.mute {
            return;
        }
        if self.start > KEPT && self.start >= self.out.len() - self.start {
            self.out.drain(..self.start);
            self.start = 0;
        }
        match &mut self.cipher {
            Some(cipher) => cipher.put(bytes, &mut self.out),
            None => self.out.extend_from_slice(bytes),
        }
        self.reservation.resize(self.out.capacity());
    }

    /// Offers the ciphertext of `unit`, the bytes of the last unit that `from` returned, if `from` keeps it.
    /// Until it is [withdrawn](Self::withdraw), these bytes are sent with this ciphertext instead of being
    /// encrypted again, if the result is the same. After the first difference, `from` no longer keeps ciphertext.
    #[inline]
    pub fn offer(&mut self, from: &mut Decoder, unit: &Bytes) {
        let Some(secret) = from.kept_secret() else { return };
        match self.cipher.as_mut().filter(|cipher| cipher.is_in_step(secret)) {
            Some(cipher) => cipher.offered = from.ciphertext(unit),
            None => from.forget_ciphertext(),
        }
    }

    /// Withdraws what was [offered](Self::offer).
    #[inline]
    pub fn withdraw(&mut self) {
        if let Some(cipher) = &mut self.cipher {
            cipher.offered = None;
        }
    }

    /// Appends the first `count` bytes of the [buffer](Decoder::peek) of `from`, whole frames that were
    /// [viewed](Decoder::view), and takes them off there.
    pub fn pass(&mut self, from: &mut Decoder, count: usize) {
        if from.is_clear() {
            self.put(&from.peek()[..count]);
            return from.skip(count);
        }
        let frames = from.split(count);
        self.offer(from, &frames);
        self.put(&frames);
        self.withdraw();
    }

    /// Marks the first `count` bytes of [`Encoder::pending`] as written.
    ///
    /// # Panics
    /// If fewer are pending.
    pub fn advance(&mut self, count: usize) {
        assert!(count <= self.pending().len(), "more was written than there was");
        self.start += count;
        if self.start < self.out.len() {
            return;
        }
        self.start = 0;
        self.out.clear();
        if self.out.capacity() > KEPT {
            self.out = Vec::new();
            self.reservation.resize(0);
        }
    }

    /// Switches to unframed mode: bodies are written without length prefixes.
    pub fn set_bare(&mut self) {
        self.bare = true;
    }

    /// Discards all further output, for a leg without a peer.
    pub fn set_mute(&mut self) {
        self.mute = true;
    }

    /// Compresses bodies of at least `threshold` bytes from the next frame on; `None` turns
    /// compression off.
    pub fn set_compression(&mut self, threshold: Option<usize>) {
        self.threshold = threshold;
    }

    /// Encrypts with `secret` from the next byte on. Does nothing if a cipher is already set.
    pub fn set_cipher(&mut self, secret: &[u8; 16]) {
        self.set_key(&Key::new(secret));
    }

    pub(super) fn set_key(&mut self, key: &Key) {
        self.cipher.get_or_insert_with(|| Box::new(Encryptor::new(key)));
    }

    /// Returns whether a cipher is set, and nothing has been encrypted with it yet.
    pub fn has_unused_cipher(&self) -> bool {
        self.cipher.as_ref().is_some_and(|cipher| cipher.is_unused())
    }

    /// Returns the number of bytes that were encrypted, not sent as they came.
    #[cfg(any(test, feature = "test-support"))]
    pub fn encrypted_bytes(&self) -> usize {
        self.cipher.as_ref().map_or(0, |cipher| cipher.encrypted)
    }

    /// Forgets what is still to be written and discards all further output: the peer is gone.
    pub fn close(&mut self) {
        self.advance(self.pending().len());
        self.set_mute();
    }

    /// Returns whether what is still to be written takes more memory than is left for others.
    #[inline]
    #[must_use]
    pub fn is_pressed(&self) -> bool {
        self.reservation.is_pressed()
    }

    /// Returns the encrypted bytes that are still to be written.
    #[inline]
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        &self.out[self.start..]
    }
}

/// Capacity kept by an encoder with nothing to write: enough for most bursts, and small for an idle
/// session.
const KEPT: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use hex_literal::hex;

    use super::*;
    use crate::codec::{Decoder, Limits, Unit};

    fn encoder(threshold: Option<usize>) -> Encoder {
        let mut encoder = Encoder::new();
        encoder.set_compression(threshold);
        encoder
    }

    fn only_frame(bytes: &[u8], threshold: Option<usize>) -> Frame {
        let mut decoder = Decoder::new(Limits::default());
        decoder.set_compression(threshold);
        decoder.receive(bytes);
        let Some(Unit::Frame(frame)) = decoder.poll() else { panic!("no frame") };
        assert_eq!(decoder.buffered(), 0);
        frame
    }

    const THRESHOLDS: [Option<usize>; 4] = [None, Some(0), Some(64), Some(256)];
    const SIZES: [usize; 9] = [0, 1, 63, 64, 65, 255, 256, 257, 70_000];

    #[test]
    fn sends_the_known_bytes() {
        let mut out = encoder(None);
        out.send(&hex!("00 01"));
        assert_eq!(out.pending(), hex!("02 00 01"));
        let mut out = encoder(Some(3));
        out.send(&hex!("00 01"));
        assert_eq!(out.pending(), hex!("03 00 00 01"));
        let mut out = encoder(Some(2));
        out.send(&hex!("00 01"));
        assert_eq!(out.pending()[1..4], hex!("02 78 5e"));
    }

    #[test]
    fn a_body_of_exactly_the_threshold_is_deflated() {
        for threshold in THRESHOLDS {
            for size in SIZES {
                let body = vec![1; size];
                let mut out = encoder(threshold);
                let sent = out.send(&body);
                assert_eq!(sent.wire(), out.pending());
                let frame = only_frame(out.pending(), threshold);
                let deflated = size > 0 && threshold.is_some_and(|threshold| size >= threshold);
                for frame in [sent, frame] {
                    assert_eq!(frame.is_deflated(), deflated, "{size} with {threshold:?}");
                    assert_eq!(frame.size(), size);
                    assert_eq!(frame.body().unwrap(), body);
                }
            }
        }
    }

    #[test]
    fn forwards_between_any_two_thresholds_what_the_other_leg_would_have_sent() {
        for from in THRESHOLDS {
            for to in THRESHOLDS {
                for size in SIZES {
                    let body = vec![1; size];
                    let frame = only_frame(encoder(from).send(&body).wire(), from);
                    let mut out = encoder(to);
                    out.forward(&frame);
                    if from == to || (from.is_none() && size == 0) {
                        assert_eq!(out.pending(), frame.wire());
                        continue;
                    }
                    assert_eq!(out.pending(), encoder(to).send(&body).wire());
                }
            }
        }
    }

    #[test]
    fn forwards_frames_unchanged_if_they_cannot_be_reframed() {
        for wire in [&hex!("00")[..], &hex!("03 ffffff"), &hex!("06 8001 789c ffff")] {
            let frame = only_frame(wire, Some(64));
            for to in THRESHOLDS {
                let mut out = encoder(to);
                out.forward(&frame);
                assert_eq!(out.pending(), wire, "to {to:?}");
            }
        }
    }

    #[test]
    fn a_padded_length_is_forwarded_unchanged() {
        let mut out = encoder(None);
        out.forward(&only_frame(&hex!("8280 00 0102"), None));
        assert_eq!(out.pending(), hex!("8280 00 0102"));
    }

    #[test]
    fn encrypts_from_the_next_byte_on() {
        let mut out = Encoder::new();
        out.put(b"plain");
        out.set_cipher(b"0123456789abcdef");
        out.put(b"se");
        out.put(b"cret");
        out.set_cipher(b"another secret, ");
        out.put(b"!");
        assert_eq!(&out.pending()[..5], b"plain");
        let mut decoder = Decoder::default();
        decoder.set_opaque();
        decoder.receive(&out.pending()[..5]);
        assert_eq!(decoder.take_rest(), Bytes::from_static(b"plain"));
        decoder.set_cipher(b"0123456789abcdef");
        decoder.receive(&out.pending()[5..]);
        assert_eq!(decoder.take_rest(), Bytes::from_static(b"secret!"));
    }

    #[test]
    fn partial_writes_lose_nothing_and_do_not_pile_up() {
        let mut out = Encoder::new();
        let mut written = Vec::new();
        for round in 0..2000_u32 {
            out.put(&round.to_be_bytes().repeat(256));
            let count = out.pending().len().min(1023);
            written.extend_from_slice(&out.pending()[..count]);
            out.advance(count);
        }
        assert!(out.out.capacity() <= 8 * KEPT, "{} bytes", out.out.capacity());
        written.extend_from_slice(out.pending());
        let whole: Vec<u8> =
            (0..2000_u32).flat_map(|round| round.to_be_bytes().repeat(256)).collect();
        assert!(written == whole);
    }

    #[test]
    fn an_encoder_with_nothing_to_write_holds_little() {
        let mut out = Encoder::new();
        out.put(&vec![0; 1 << 20]);
        out.advance(1 << 20);
        assert_eq!(out.out.capacity(), 0);
        out.put(&[0; 100]);
        out.advance(100);
        assert!(out.pending().is_empty() && out.out.capacity() > 0);
    }
}
