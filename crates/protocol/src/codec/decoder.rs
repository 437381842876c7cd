use std::mem;
use std::sync::Arc;

use bytes::{Buf as _, Bytes, BytesMut};

use super::cipher::{Decryptor, Key};
use super::ciphertext::{Ciphertext, KeptCiphertext};
use super::{Bare, CodecError, Frame, FrameView, Limits, MemoryBudget, Reservation, Unit};
use crate::wire::VarInt;

/// Decrypts and delimits the bytes of one direction of a leg.
///
/// Poll until `None` after each [`receive`](Self::receive). The decoder buffers at most one
/// unfinished frame of up to [`Limits::frame`] bytes, plus what was received since then. If a
/// [`MemoryBudget`] has no room for it, the frame is returned in pieces like one beyond the limit.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The decrypted bytes not yet returned by `poll`. They begin where the last unit ended.
    buffer: BytesMut,
    /// Size of the allocation that `buffer` is a part of; `buffer.len() <= allocated`. 0 before the
    /// first allocation.
    allocated: usize,
    /// Offset of `buffer` in the decrypted stream: the number of bytes in all units returned so
    /// far.
    offset: u64,
    /// Interpretation of `buffer` and of everything received later.
    phase: Phase,
    /// Body size from which frames are compressed; `None` without compression.
    threshold: Option<usize>,
    /// Has decrypted all of `buffer`; `None` before encryption starts. Never replaced.
    cipher: Option<Box<Decryptor>>,
    /// The ciphertext of `buffer`, if somebody may send it as it is.
    pub(super) kept: Option<Box<KeptCiphertext>>,
    limits: Limits,
    /// The memory of `buffer`.
    reservation: Reservation,
    /// `true` if the budget refused the memory for the unfinished frame in `buffer`.
    starved: bool,
}

impl Decoder {
    /// Creates a decoder of a framed stream without cipher and without compression.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Counts the buffer in `budget` from now on.
    pub fn set_budget(&mut self, budget: &MemoryBudget) {
        self.reservation = budget.reservation();
        self.reservation.resize(self.allocated);
    }

    /// Buffers bytes as received from the socket, decrypting them if a cipher is set.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.make_room(bytes.len());
        let held = self.buffer.len();
        self.buffer.extend_from_slice(bytes);
        if let Some(cipher) = &mut self.cipher {
            cipher.decrypt(&mut self.buffer[held..]);
            if let Some(kept) = &mut self.kept {
                kept.append(bytes, held, self.allocated);
            }
        }
    }

    /// Returns the next unit, or `None` if it needs more bytes.
    pub fn poll(&mut self) -> Option<Unit> {
        match self.phase {
            Phase::Framed => self.poll_frame(),
            Phase::Oversize { frame, left } => self.poll_piece(frame, left),
            Phase::Bare(_) => self.poll_bare(),
            Phase::Opaque(_) => self.poll_opaque(),
        }
    }

    /// Returns whether the next byte begins a packet: the stream is understood, and no part of an
    /// oversize frame has been returned without its end.
    #[must_use]
    pub fn is_between_packets(&self) -> bool {
        matches!(self.phase, Phase::Framed | Phase::Bare(_))
    }

    /// Removes and returns the bytes that were received but form no whole unit, for a stream that
    /// ended.
    pub fn take_rest(&mut self) -> Bytes {
        self.offset += self.buffer.len() as u64;
        self.allocated = 0;
        self.reservation.resize(0);
        self.kept = None;
        mem::take(&mut self.buffer).freeze()
    }

    /// Sets the compression threshold for all frames not yet polled: bodies of at least `threshold`
    /// bytes are compressed. `None` turns compression off.
    pub fn set_compression(&mut self, threshold: Option<usize>) {
        self.threshold = threshold;
    }

    /// Decrypts all bytes not yet polled with `secret`, received or not. Does nothing if a cipher
    /// is already set.
    pub fn set_cipher(&mut self, secret: &[u8; 16]) {
        self.set_key(&Key::new(secret));
    }

    pub(super) fn set_key(&mut self, key: &Key) {
        if self.cipher.is_some() {
            return;
        }
        if let Some(kept) = &mut self.kept {
            kept.start(key.secret());
            kept.append(&self.buffer, 0, self.allocated);
        }
        self.cipher.insert(Box::new(Decryptor::new(key))).decrypt(&mut self.buffer);
    }

    /// Keeps the ciphertext of what is buffered once a cipher is set, for an encoder to which it is
    /// [offered](super::Encoder::offer). It is not kept if the budget has no memory for it.
    pub fn keep_ciphertext(&mut self) {
        if self.cipher.is_none() {
            self.kept = Some(Box::new(KeptCiphertext::new(self.reservation.budget())));
        }
    }

    /// Returns the secret of the cipher if ciphertext is kept, and nothing that was decrypted has been
    /// returned.
    pub fn unused_secret(&self) -> Option<[u8; 16]> {
        self.kept.as_ref()?.unused_secret(self.buffer.len())
    }

    /// Returns the secret of the ciphertext that is kept.
    #[inline]
    pub(super) fn kept_secret(&self) -> Option<&[u8; 16]> {
        self.kept.as_ref()?.secret.as_ref()
    }

    /// Removes and returns the ciphertext of `unit`, the last bytes that were returned.
    pub(super) fn ciphertext(&mut self, unit: &Bytes) -> Option<Ciphertext> {
        self.kept.as_mut()?.take(unit, self.buffer.len())
    }

    /// Stops keeping ciphertext.
    pub(super) fn forget_ciphertext(&mut self) {
        self.kept = None;
    }

    /// Switches to unframed mode for all bytes not yet polled; `bare` finds the packet boundaries.
    pub fn set_bare(&mut self, bare: Bare) {
        self.phase = Phase::Bare(bare);
    }

    /// Stops framing: all bytes not yet polled are returned as [`Unit::Opaque`] without a reason.
    pub fn set_opaque(&mut self) {
        if !matches!(self.phase, Phase::Opaque(_)) {
            self.phase = Phase::Opaque(None);
        }
    }

    /// Records that `bytes` bytes following those received were lost. Neither the unfinished frame
    /// nor anything after the gap can be delimited, so all of it is [`Unit::Opaque`].
    pub fn set_missing(&mut self, bytes: u64) {
        if !matches!(self.phase, Phase::Opaque(_)) {
            let at = self.offset + self.buffer.len() as u64;
            self.phase = Phase::Opaque(Some(Arc::new(CodecError::Missing { bytes, at })));
        }
    }

    /// Returns the number of bytes received but not yet polled.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// Returns the decrypted bytes not yet returned by [`poll`](Self::poll).
    #[must_use]
    pub fn peek(&self) -> &[u8] {
        &self.buffer
    }

    /// Returns whether the stream is unframed and its packet boundaries are still found.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        matches!(self.phase, Phase::Bare(_))
    }

    /// Returns the whole frame at the front of `bytes`, which are decrypted and next in the stream.
    /// Returns `None` if only [`poll`](Self::poll) can tell what they begin with.
    #[inline]
    pub fn view<'b>(&self, bytes: &'b [u8]) -> Option<FrameView<'b>> {
        match self.phase {
            Phase::Framed => FrameView::read(bytes, self.threshold, self.limits.frame),
            Phase::Oversize { .. } | Phase::Bare(_) | Phase::Opaque(_) => None,
        }
    }

    /// Takes the first `count` bytes off the [buffer](Self::peek): whole frames that were
    /// [viewed](Self::view).
    pub fn skip(&mut self, count: usize) {
        self.offset += count as u64;
        self.buffer.advance(count);
    }

    /// Takes note of `count` bytes that were [viewed](Self::view) as whole frames and never buffered.
    pub fn pass_by(&mut self, count: usize) {
        debug_assert!(self.buffer.is_empty() && self.cipher.is_none());
        self.offset += count as u64;
    }

    /// Returns whether bytes arrive in the clear.
    pub fn is_clear(&self) -> bool {
        self.cipher.is_none()
    }

    /// Returns how many bytes the unfinished frame in the buffer lacks: 1 if even its length is not
    /// known, 0 if only [`poll`](Self::poll) can tell.
    pub fn missing(&self) -> usize {
        match (&self.phase, VarInt::read(&self.buffer)) {
            (Phase::Framed, Ok(_)) => self.awaited().saturating_sub(self.buffer.len()),
            (Phase::Framed, Err(error)) if error.is_incomplete() => 1,
            _ => 0,
        }
    }

    fn poll_frame(&mut self) -> Option<Unit> {
        let prefix = match VarInt::read(&self.buffer) {
            Ok(prefix) => prefix,
            Err(error) if error.is_incomplete() => return self.wait(),
            Err(_) => return self.lose_framing(CodecError::FrameLength { at: self.offset }),
        };
        let Ok(frame) = usize::try_from(prefix.value) else {
            let error = CodecError::NegativeFrameLength { length: prefix.value, at: self.offset };
            return self.lose_framing(error);
        };
        let total = prefix.length + frame;
        if frame > self.limits.frame {
            return self.poll_piece(frame, total);
        }
        if self.buffer.len() < total {
            if self.starved && total > Reservation::FREE {
                self.reservation.budget().inspect(|budget| budget.count_streamed());
                return self.poll_piece(frame, total);
            }
            return self.wait();
        }
        let wire = self.split(total);
        let (limit, budget) = (self.limits.inflated, self.reservation.budget());
        Some(Unit::Frame(Frame::received(wire, prefix.length, self.threshold, limit, budget)))
    }

    fn poll_piece(&mut self, frame: usize, left: usize) -> Option<Unit> {
        if self.buffer.is_empty() {
            return self.wait();
        }
        let bytes = self.split(left.min(self.buffer.len()));
        let left = left - bytes.len();
        self.phase = match left {
            0 => Phase::Framed,
            _ => Phase::Oversize { frame, left },
        };
        Some(Unit::Piece { bytes, frame, left })
    }

    fn poll_bare(&mut self) -> Option<Unit> {
        let Phase::Bare(bare) = &mut self.phase else { return None };
        match bare.measure(&self.buffer, self.offset, self.limits.frame) {
            Ok(Some(end)) => Some(Unit::Frame(Frame::bare(self.split(end)))),
            Ok(None) if self.starved && bare.needed() > Reservation::FREE => {
                let (needed, at) = (bare.needed(), self.offset);
                let limit = self.reservation.budget().map_or(usize::MAX, MemoryBudget::limit);
                self.reservation.budget().inspect(|budget| budget.count_streamed());
                self.lose_framing(CodecError::Memory { needed, limit, at })
            }
            Ok(None) => self.wait(),
            Err(error) => self.lose_framing(error),
        }
    }

    fn poll_opaque(&mut self) -> Option<Unit> {
        if self.buffer.is_empty() {
            return self.wait();
        }
        let Phase::Opaque(reason) = &self.phase else { return None };
        let reason = reason.clone();
        Some(Unit::Opaque { bytes: self.split(self.buffer.len()), reason })
    }

    fn lose_framing(&mut self, reason: CodecError) -> Option<Unit> {
        self.phase = Phase::Opaque(Some(Arc::new(reason)));
        self.poll_opaque()
    }

    /// Takes the first `count` bytes off the buffer.
    #[inline]
    pub(super) fn split(&mut self, count: usize) -> Bytes {
        self.offset += count as u64;
        self.buffer.split_to(count).freeze()
    }

    /// Makes room for `additional` bytes: in the space of units that were returned and dropped if
    /// there is enough, otherwise in a new allocation, twofold but not beyond the unfinished frame.
    fn make_room(&mut self, additional: usize) {
        if self.buffer.try_reclaim(additional) {
            return;
        }
        let held = self.buffer.len();
        let least = (held + additional).max(SMALLEST);
        let grown = (2 * held).min(self.awaited() + additional).max(least);
        let refused = !self.reservation.try_resize(grown);
        let mut buffer = BytesMut::with_capacity(if refused { least } else { grown });
        buffer.extend_from_slice(&self.buffer);
        self.replace(buffer);
        self.starved |= refused;
    }

    /// Changes the allocation.
    fn replace(&mut self, buffer: BytesMut) {
        self.allocated = buffer.capacity();
        self.reservation.resize(self.allocated);
        self.buffer = buffer;
        self.starved = false;
    }

    /// Returns `None`, after moving a small rest out of a large allocation.
    fn wait(&mut self) -> Option<Unit> {
        if self.allocated > KEPT && self.buffer.len() <= self.allocated / 4 {
            self.replace(BytesMut::from(&self.buffer[..]));
        }
        if let Some(kept) = &mut self.kept {
            kept.shrink(self.buffer.len());
        }
        None
    }

    /// Returns the length of the unfinished frame at the front of `buffer`, as far as it is known.
    fn awaited(&self) -> usize {
        if let Phase::Bare(bare) = &self.phase {
            return bare.needed();
        }
        match VarInt::read(&self.buffer) {
            Ok(prefix) => prefix.length + usize::try_from(prefix.value).unwrap_or(0),
            Err(_) => 0,
        }
    }
}

/// Interpretation of the next bytes.
#[derive(Debug, Default)]
enum Phase {
    /// A frame starts.
    #[default]
    Framed,
    /// The remaining `left` bytes of a frame of `frame` bytes that is too large to be buffered.
    Oversize { frame: usize, left: usize },
    /// A packet of an unframed stream starts.
    Bare(Bare),
    /// No framing; with the error that ended it, if one did.
    Opaque(Option<Arc<CodecError>>),
}

/// Smallest allocation, shared by small reads.
const SMALLEST: usize = 2 << 10;

/// Capacity kept while little is buffered: enough for most reads, and small for an idle session.
const KEPT: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use hex_literal::hex;
    use proptest::prelude::*;

    use super::*;
    use crate::codec::Encoder;
    use crate::schema::{Catalog, Direction, State};

    const SECRET: &[u8; 16] = b"0123456789abcdef";

    /// The error that ended framing before `unit`.
    fn opaque_reason(unit: &Unit) -> String {
        let Unit::Opaque { reason: Some(reason), .. } = unit else { panic!("{unit:?}") };
        reason.to_string()
    }

    /// The units of `stream`, received in chunks of `size` bytes.
    fn units(decoder: &mut Decoder, stream: &[u8], size: usize) -> Vec<Unit> {
        let mut units = Vec::new();
        for chunk in stream.chunks(size.max(1)) {
            decoder.receive(chunk);
            while let Some(unit) = decoder.poll() {
                units.push(unit);
            }
        }
        units
    }

    fn bodies(units: &[Unit]) -> Vec<Bytes> {
        let body = |unit: &Unit| match unit {
            Unit::Frame(frame) => frame.body().unwrap(),
            other => panic!("no frame: {other:?}"),
        };
        units.iter().map(body).collect()
    }

    fn wire(units: &[Unit]) -> Vec<u8> {
        units.iter().flat_map(|unit| unit.wire().to_vec()).collect()
    }

    #[test]
    fn gives_the_same_frames_at_any_chunk_size() {
        for threshold in [None, Some(0), Some(64), Some(256)] {
            let mut encoder = Encoder::new();
            encoder.set_compression(threshold);
            let sent: Vec<Vec<u8>> =
                [0, 1, 63, 64, 256, 20_000, 5].map(|size| vec![3; size]).into();
            for body in &sent {
                encoder.send(body);
            }
            for size in [1, 7, usize::MAX] {
                let mut decoder = Decoder::default();
                decoder.set_compression(threshold);
                let units = units(&mut decoder, encoder.pending(), size);
                assert_eq!(bodies(&units), sent);
                assert_eq!(wire(&units), encoder.pending());
            }
        }
    }

    #[test]
    fn a_frame_of_length_0_is_a_frame() {
        let mut decoder = Decoder::default();
        let units = units(&mut decoder, &hex!("00 00 01 07 00"), 1);
        assert_eq!(bodies(&units), [&hex!("")[..], &hex!(""), &hex!("07"), &hex!("")]);
    }

    #[test]
    fn compression_starts_in_the_middle_of_what_was_received() {
        let mut encoder = Encoder::new();
        encoder.send(b"first");
        encoder.set_compression(Some(4));
        encoder.send(b"second");
        encoder.send(b"3rd");
        let mut decoder = Decoder::default();
        decoder.receive(encoder.pending());
        let first = decoder.poll().unwrap();
        decoder.set_compression(Some(4));
        let rest = [decoder.poll().unwrap(), decoder.poll().unwrap()];
        assert_eq!(bodies(&[first]), [&b"first"[..]]);
        assert_eq!(bodies(&rest), [&b"second"[..], b"3rd"]);
        assert!(decoder.poll().is_none());
    }

    #[test]
    fn the_cipher_starts_in_the_middle_of_what_was_received() {
        let mut encoder = Encoder::new();
        encoder.send(b"first");
        encoder.set_cipher(SECRET);
        encoder.send(b"second");
        encoder.send(b"third");
        let stream = encoder.pending();
        for received in [6, 7, 9, stream.len()] {
            let mut decoder = Decoder::default();
            decoder.receive(&stream[..received]);
            let mut all = vec![decoder.poll().unwrap()];
            decoder.set_cipher(SECRET);
            while let Some(unit) = decoder.poll() {
                all.push(unit);
            }
            all.extend(units(&mut decoder, &stream[received..], 1));
            assert_eq!(bodies(&all), [&b"first"[..], b"second", b"third"]);
        }
    }

    #[test]
    fn a_frame_beyond_the_limit_streams_through_and_the_next_one_is_a_frame() {
        let mut encoder = Encoder::new();
        encoder.send(&[1; 100]);
        encoder.send(&[2; 101]);
        encoder.send(&[3; 100]);
        for size in [1, 7, 150, usize::MAX] {
            let mut decoder = Decoder::new(Limits { frame: 100, ..Limits::default() });
            let units = units(&mut decoder, encoder.pending(), size);
            assert_eq!(wire(&units), encoder.pending());
            assert!(matches!(&units[0], Unit::Frame(frame) if frame.size() == 100));
            assert!(matches!(units.last(), Some(Unit::Frame(frame)) if frame.size() == 100));
            let mut expected = 102;
            for unit in &units[1..units.len() - 1] {
                let Unit::Piece { bytes, frame: 101, left } = unit else { panic!("{unit:?}") };
                expected -= bytes.len();
                assert_eq!(*left, expected);
            }
            assert_eq!(expected, 0);
        }
    }

    #[test]
    fn without_memory_an_unfinished_frame_goes_through_in_pieces_and_the_next_one_is_a_frame() {
        let budget = MemoryBudget::new(4 * Reservation::FREE);
        let mut encoder = Encoder::new();
        encoder.send(&[1; 60_000]);
        encoder.send(&[2; 2_000_000]);
        encoder.send(&[3; 60_000]);
        for size in [1, 1000, 60_000] {
            let mut decoder = Decoder::default();
            decoder.set_budget(&budget);
            let units = units(&mut decoder, encoder.pending(), size);
            assert_eq!(wire(&units), encoder.pending());
            assert!(matches!(&units[0], Unit::Frame(frame) if frame.size() == 60_000));
            assert!(matches!(units.last(), Some(Unit::Frame(frame)) if frame.size() == 60_000));
            let pieces = &units[1..units.len() - 1];
            assert!(pieces.iter().all(|it| matches!(it, Unit::Piece { frame: 2_000_000, .. })));
            let held = pieces.iter().map(|it| it.wire().len()).max().unwrap();
            assert!(held <= budget.limit() + size, "{held}");
            assert!(budget.streamed() > 0);
            drop((units, decoder));
            assert_eq!(budget.used(), 0);
        }
    }

    #[test]
    fn memory_that_another_stream_gives_back_is_used_for_the_next_frame() {
        let budget = MemoryBudget::new(1 << 20);
        let mut other = budget.reservation();
        assert!(other.try_resize(1 << 20));
        let mut encoder = Encoder::new();
        encoder.send(&[1; 500_000]);
        let mut decoder = Decoder::default();
        decoder.set_budget(&budget);
        let first = units(&mut decoder, encoder.pending(), 50_000);
        assert!(first.len() > 1 && first.iter().all(|it| matches!(it, Unit::Piece { .. })));
        drop(other);
        let second = units(&mut decoder, encoder.pending(), 50_000);
        assert!(matches!(&second[..], [Unit::Frame(_)]));
    }

    #[test]
    fn without_memory_an_unfinished_packet_without_a_frame_ends_framing() {
        let budget = MemoryBudget::new(0);
        let mut decoder = alpha(Limits::default().frame);
        decoder.set_budget(&budget);
        let stream = map_chunk(200_000);
        let units = units(&mut decoder, &stream, 50_000);
        assert_eq!(wire(&units), stream);
        let reason = opaque_reason(&units[0]);
        assert!(reason.ends_with("0 bytes of memory for all sessions are in use"), "{reason}");
    }

    #[test]
    fn the_largest_frame_is_never_held() {
        let mut decoder = Decoder::default();
        decoder.receive(&hex!("ffffffff07"));
        assert!(matches!(decoder.poll(), Some(Unit::Piece { frame: 0x7fff_ffff, .. })));
        for _ in 0..1000 {
            decoder.receive(&[0; 5000]);
            assert!(
                matches!(decoder.poll(), Some(Unit::Piece { bytes, .. }) if bytes.len() == 5000)
            );
            assert!(decoder.poll().is_none());
            assert_eq!(decoder.buffered(), 0);
            assert!(decoder.allocated <= KEPT);
        }
    }

    #[test]
    fn an_invalid_length_makes_the_stream_opaque_without_losing_bytes() {
        for (length, reason) in [
            (
                &hex!("ffffffffff01")[..],
                "frame length at byte 3 of the stream does not end after 5 bytes",
            ),
            (&hex!("ffffffff0f"), "frame length -1 at byte 3 of the stream is negative"),
        ] {
            let stream = [&hex!("02 0102"), length, b"what now"].concat();
            for size in [1, 7, usize::MAX] {
                let mut decoder = Decoder::default();
                let units = units(&mut decoder, &stream, size);
                assert!(matches!(&units[0], Unit::Frame(_)));
                assert!(units[1..].iter().all(|unit| opaque_reason(unit) == reason));
                assert_eq!(wire(&units), stream);
            }
        }
    }

    #[test]
    fn an_unframed_packet_beyond_the_limit_is_lost_however_it_arrives() {
        let stream = [&map_chunk(80)[..], &map_chunk(83), &[0]].concat();
        let most = map_chunk(80).len();
        for size in [1, 7, 50, usize::MAX] {
            let mut decoder = alpha(most);
            let units = units(&mut decoder, &stream, size);
            assert_eq!(units[0].wire()[..], map_chunk(80));
            let reasons: Vec<String> = units[1..].iter().map(opaque_reason).collect();
            assert!(reasons[0].starts_with("packet of 101 bytes or more"), "{size}: {reasons:?}");
        }
    }

    /// Alpha 5, clientbound.
    fn alpha(limit: usize) -> Decoder {
        let protocol = Catalog::embedded().alpha(5).protocol;
        let mut decoder = Decoder::new(Limits { frame: limit, ..Limits::default() });
        decoder.set_bare(Bare::new(protocol, State::Play, Direction::Clientbound));
        decoder
    }

    /// Map Chunk with that much data.
    fn map_chunk(data: usize) -> Vec<u8> {
        let mut body = hex!("33 00000010 0000 fffffff0 0f7f0f").to_vec();
        body.extend_from_slice(&u32::try_from(data).unwrap().to_be_bytes());
        body.resize(body.len() + data, 0x33);
        body
    }

    #[test]
    fn unframed_packets_end_where_their_fields_end() {
        let sent = [
            hex!("00").to_vec(),
            hex!("03 0002 6869").to_vec(),
            map_chunk(20_000),
            hex!("34 00000001 00000002 0002 1234 5678 0102 0304").to_vec(),
            hex!("05 ffffffff 0003 0001 40 0000 ffff 0002 01 0007").to_vec(),
            hex!("ff 0000").to_vec(),
        ];
        for size in [1, 7, usize::MAX] {
            let mut decoder = alpha(1 << 20);
            let units = units(&mut decoder, &sent.concat(), size);
            assert_eq!(bodies(&units), sent);
            assert_eq!(wire(&units), sent.concat());
            assert_eq!(decoder.buffered(), 0);
        }
    }

    #[test]
    fn an_incomplete_packet_is_measured_again_only_after_enough_bytes() {
        let mut decoder = alpha(1 << 20);
        let body = map_chunk(500_000);
        let mut looks = 0;
        for byte in &body[..body.len() - 1] {
            let Phase::Bare(bare) = &decoder.phase else { panic!() };
            looks += usize::from(decoder.buffered() + 1 >= bare.needed());
            decoder.receive(&[*byte]);
            assert!(decoder.poll().is_none());
        }
        assert!(looks < 20, "{looks}");
        decoder.receive(&body[body.len() - 1..]);
        assert!(matches!(decoder.poll(), Some(Unit::Frame(frame)) if frame.wire()[..] == body));
    }

    #[test]
    fn a_stream_becomes_opaque_where_the_end_of_a_packet_cannot_be_found() {
        for (bytes, reason) in [
            (&hex!("68 0102")[..], "unknown packet id 0x68 at byte 2 of the stream"),
            (
                &hex!("33 00000010 0000 fffffff0 0f7f0f ffffffff 00"),
                "compressedChunkData: length of -1 is out of range (0 to 134217728), at byte 16 of \
                 the stream",
            ),
            (
                &hex!("33 00000010 0000 fffffff0 0f7f0f 00100000 00"),
                "packet of 1048594 bytes or more at byte 2 of the stream, and the limit is 1048576",
            ),
        ] {
            let stream = [&hex!("00 00"), bytes, b"what now"].concat();
            for size in [1, 7, usize::MAX] {
                let mut decoder = alpha(1 << 20);
                let units = units(&mut decoder, &stream, size);
                assert!(matches!(&units[..2], [Unit::Frame(_), Unit::Frame(_)]));
                assert!(units[2..].iter().all(|unit| opaque_reason(unit) == reason));
                assert_eq!(wire(&units), stream);
            }
        }
    }

    #[test]
    fn set_opaque_ends_framing_without_a_reason() {
        let mut decoder = Decoder::default();
        decoder.receive(&hex!("05 01"));
        assert!(decoder.poll().is_none());
        decoder.set_opaque();
        let Some(Unit::Opaque { bytes, reason: None }) = decoder.poll() else { panic!() };
        assert_eq!(bytes[..], hex!("05 01"));

        let mut decoder = Decoder::default();
        decoder.receive(&[0xff; 6]);
        decoder.poll();
        decoder.set_opaque();
        decoder.receive(&[0]);
        assert!(matches!(decoder.poll(), Some(Unit::Opaque { reason: Some(_), .. })));
    }

    #[test]
    fn the_rest_of_a_truncated_stream_is_decrypted() {
        let mut encoder = Encoder::new();
        encoder.set_cipher(SECRET);
        encoder.send(b"whole");
        encoder.send(b"not whole");
        let mut decoder = Decoder::default();
        decoder.set_cipher(SECRET);
        let cut = &encoder.pending()[..9];
        assert_eq!(units(&mut decoder, cut, 2).len(), 1);
        assert_eq!(decoder.buffered(), 3);
        assert_eq!(decoder.take_rest(), Bytes::from_static(b"\x09no"));
        assert_eq!(decoder.buffered(), 0);
    }

    #[test]
    fn an_idle_decoder_holds_little_even_while_its_frames_live() {
        let mut encoder = Encoder::new();
        encoder.send(&vec![1; 1 << 20]);
        encoder.put(&hex!("05 01"));
        let mut decoder = Decoder::default();
        let units = units(&mut decoder, encoder.pending(), 10_000);
        assert_eq!(units.len(), 1);
        assert_eq!((decoder.buffered(), decoder.allocated), (2, 2));
        decoder.receive(&[0; 4]);
        assert!(decoder.poll().is_some());
        assert!(decoder.poll().is_none());
        assert!(decoder.allocated <= SMALLEST);
    }

    #[test]
    fn an_unfinished_frame_takes_little_more_than_its_bytes() {
        let mut decoder = Decoder::default();
        decoder.receive(&hex!("808040"));
        for received in 1..1000 {
            decoder.receive(&[0; 1000]);
            assert!(decoder.poll().is_none());
            assert!(decoder.allocated <= (2 * 1000 * received).max(SMALLEST) + 1003);
        }
        assert!(decoder.allocated <= (1 << 20) + 1003);
    }

    #[test]
    fn small_frames_that_live_on_share_their_allocation() {
        let mut decoder = Decoder::default();
        let units = units(&mut decoder, &hex!("03 010203").repeat(1000), 4);
        assert_eq!(units.len(), 1000);
        let mut pages: Vec<usize> =
            units.iter().map(|unit| unit.wire().as_ptr() as usize / SMALLEST).collect();
        pages.dedup();
        assert!(pages.len() <= 2 * 4000_usize.div_ceil(SMALLEST), "{} pages", pages.len());
    }

    /// Frames, oversize frames, and perhaps a tail of any bytes.
    fn streams() -> impl Strategy<Value = Vec<u8>> {
        let body = prop::collection::vec(any::<u8>(), 0..150);
        let tail = prop::collection::vec(any::<u8>(), 0..20);
        (prop::collection::vec(body, 0..12), tail).prop_map(|(bodies, tail)| {
            let mut encoder = Encoder::new();
            bodies.iter().for_each(|body| drop(encoder.send(body)));
            encoder.put(&tail);
            encoder.pending().to_vec()
        })
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_frames_and_the_whole_stream(
            stream in streams(),
            cuts in prop::collection::vec(0..2000_usize, 0..10),
            threshold in prop::option::of(0..100_usize),
            encrypted: bool,
        ) {
            let limits = Limits { frame: 100, inflated: 1000 };
            let mut whole = Decoder::new(limits);
            let mut split = Decoder::new(limits);
            let mut encoder = Encoder::new();
            for decoder in [&mut whole, &mut split] {
                decoder.set_compression(threshold);
                if encrypted {
                    decoder.set_cipher(SECRET);
                }
            }
            if encrypted {
                encoder.set_cipher(SECRET);
            }
            encoder.put(&stream);
            let sent = encoder.pending();

            let expected = units(&mut whole, sent, usize::MAX);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (sent.len() + 1)).collect();
            cuts.sort_unstable();
            cuts.push(sent.len());
            let mut got = Vec::new();
            let mut from = 0;
            for cut in cuts {
                got.extend(units(&mut split, &sent[from..cut], usize::MAX));
                from = cut;
            }

            let frames = |units: &[Unit]| -> Vec<Vec<u8>> {
                let frame = |unit: &Unit| match unit {
                    Unit::Frame(frame) => Some(frame.wire().to_vec()),
                    _ => None,
                };
                units.iter().filter_map(frame).collect()
            };
            prop_assert_eq!(frames(&got), frames(&expected));
            prop_assert_eq!([wire(&got), split.take_rest().to_vec()].concat(), stream.clone());
            prop_assert_eq!([wire(&expected), whole.take_rest().to_vec()].concat(), stream);
        }
    }
}
