use std::fmt;
use std::ptr;

use bytes::{Buf as _, Bytes, BytesMut};

use super::{MemoryBudget, Reservation};

/// Received bytes with their ciphertext, so that an encoder can send that instead of encrypting them again.
///
/// In CFB8, ciphertext depends only on the key, the 16 bytes of ciphertext before it, and the plaintext. So an
/// encoder with the same secret, whose last 16 bytes are those before the bytes, would produce the very
/// ciphertext that was received.
pub(super) struct Ciphertext {
    /// The bytes, decrypted.
    plain: Bytes,
    /// Their ciphertext.
    pub(super) text: Bytes,
    /// The 16 bytes of ciphertext before `text`.
    pub(super) before: [u8; 16],
}

impl Ciphertext {
    /// Returns whether `bytes` are the received bytes themselves, not only equal to them.
    #[inline]
    pub(super) fn is_of(&self, bytes: &[u8]) -> bool {
        ptr::eq(&*self.plain, bytes)
    }
}

/// The ciphertext of the last bytes that a decoder has received: of all that it has buffered, unless there was
/// no memory for it. Empty while nothing is buffered.
pub(super) struct KeptCiphertext {
    /// `None` before encryption starts.
    pub(super) secret: Option<[u8; 16]>,
    /// The 16 bytes of ciphertext before `text`. At the start of the stream they are the secret.
    before: [u8; 16],
    /// The ciphertext of what is buffered, behind that of bytes that were returned.
    text: BytesMut,
    /// Size of the allocation that `text` is a part of.
    allocated: usize,
    /// The memory of `text`.
    reservation: Reservation,
}

impl KeptCiphertext {
    /// Creates one without bytes, whose memory is counted in `budget`.
    pub(super) fn new(budget: Option<&MemoryBudget>) -> Self {
        let reservation = budget.map(MemoryBudget::reservation).unwrap_or_default();
        let (before, text) = ([0; 16], BytesMut::new());
        Self { secret: None, before, text, allocated: 0, reservation }
    }

    /// Starts a stream that is encrypted with `secret`.
    pub(super) fn start(&mut self, secret: &[u8; 16]) {
        self.secret = Some(*secret);
        self.before = *secret;
    }

    /// Returns the secret if none of the stream has been returned, and `buffered` bytes wait.
    pub(super) fn unused_secret(&self, buffered: usize) -> Option<[u8; 16]> {
        self.secret.filter(|secret| self.before == *secret && self.text.len() == buffered)
    }

    /// Adds received bytes, behind `buffered` bytes that wait. If a new allocation is needed, it has at least
    /// `capacity` bytes; if the budget has none, nothing is kept of what has been received.
    pub(super) fn append(&mut self, bytes: &[u8], buffered: usize, capacity: usize) {
        self.settle(buffered);
        if !self.text.try_reclaim(bytes.len()) {
            let capacity = capacity.max(self.text.len() + bytes.len());
            if !self.reservation.try_resize(capacity) {
                shift(&mut self.before, &self.text);
                shift(&mut self.before, bytes);
                return self.replace(BytesMut::new());
            }
            let mut text = BytesMut::with_capacity(capacity);
            text.extend_from_slice(&self.text);
            self.replace(text);
        }
        self.text.extend_from_slice(bytes);
    }

    /// Removes the ciphertext of `plain`, the last bytes that were returned, when `buffered` bytes wait behind
    /// them.
    pub(super) fn take(&mut self, plain: &Bytes, buffered: usize) -> Option<Ciphertext> {
        self.text.len().checked_sub(buffered + plain.len())?;
        self.settle(buffered + plain.len());
        let (text, before) = (self.text.split_to(plain.len()).freeze(), self.before);
        shift(&mut self.before, &text);
        Some(Ciphertext { plain: plain.clone(), text, before })
    }

    /// Moves the little that waits out of a large allocation.
    pub(super) fn shrink(&mut self, buffered: usize) {
        self.settle(buffered);
        if self.allocated > 0 && self.text.len() <= self.allocated / 4 {
            self.replace(BytesMut::from(&self.text[..]));
        }
    }

    /// Forgets the ciphertext of what was returned.
    fn settle(&mut self, buffered: usize) {
        let returned = self.text.len().saturating_sub(buffered);
        shift(&mut self.before, &self.text[..returned]);
        self.text.advance(returned);
    }

    /// Changes the allocation.
    fn replace(&mut self, text: BytesMut) {
        self.allocated = text.capacity();
        self.reservation.resize(self.allocated);
        self.text = text;
    }
}

/// Omits the secret.
impl fmt::Debug for KeptCiphertext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptCiphertext").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}

/// Replaces the last 16 bytes of a stream by those after `bytes` more.
#[inline]
pub(super) fn shift(last: &mut [u8; 16], bytes: &[u8]) {
    match bytes.last_chunk() {
        Some(newest) => *last = *newest,
        None => {
            last.copy_within(bytes.len().., 0);
            last[16 - bytes.len()..].copy_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::{Decoder, Encoder, Limits, Unit};

    const SECRET: &[u8; 16] = b"0123456789abcdef";

    #[test]
    fn the_last_bytes_are_those_of_the_whole() {
        let stream: Vec<u8> = (0..100).collect();
        for size in [1, 3, 15, 16, 17, 40] {
            let mut last = [0; 16];
            stream.chunks(size).for_each(|chunk| shift(&mut last, chunk));
            assert_eq!(last, stream[84..], "{size}");
        }
        let mut last = *b"0123456789abcdef";
        shift(&mut last, b"");
        shift(&mut last, b"xyz");
        assert_eq!(&last, b"3456789abcdefxyz");
    }

    /// A way in which a test treats a unit.
    #[derive(Debug, Clone)]
    enum Act {
        Forward,
        /// All whole frames that are buffered are forwarded with it.
        Run,
        Drop,
        Twice,
        /// Others are sent before.
        Behind(Vec<u8>),
        Replace(Vec<u8>),
        /// It waits, and so does all behind it.
        Wait,
        /// It waits and is overtaken.
        Overtaken,
        /// What waits is sent before.
        Release,
    }

    fn act() -> impl Strategy<Value = Act> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..40);
        prop_oneof![
            20 => Just(Act::Forward),
            4 => Just(Act::Run),
            1 => Just(Act::Drop),
            1 => Just(Act::Twice),
            1 => bytes().prop_map(Act::Behind),
            1 => bytes().prop_map(Act::Replace),
            2 => Just(Act::Wait),
            1 => Just(Act::Overtaken),
            4 => Just(Act::Release),
        ]
    }

    /// An encoder that takes what it is offered, and one that always encrypts.
    #[derive(Default)]
    struct Both {
        taking: Encoder,
        always: Encoder,
        waiting: Vec<Bytes>,
        /// `true` if what waits does not hold up what follows.
        open: bool,
    }

    impl Both {
        fn put(&mut self, bytes: &[u8]) {
            self.taking.put(bytes);
            self.always.put(bytes);
        }

        fn release(&mut self) {
            self.open = false;
            for bytes in std::mem::take(&mut self.waiting) {
                self.put(&bytes);
            }
        }

        fn act(&mut self, decoder: &mut Decoder, wire: &Bytes, act: &Act) {
            match act {
                Act::Release => {
                    self.release();
                    self.put(wire);
                }
                Act::Wait | Act::Overtaken => {
                    self.open |= matches!(act, Act::Overtaken);
                    self.waiting.push(wire.clone());
                }
                _ if !self.waiting.is_empty() && !self.open => self.waiting.push(wire.clone()),
                Act::Forward => self.put(wire),
                Act::Run => {
                    self.put(wire);
                    self.taking.withdraw();
                    let run = decoder.peek();
                    let mut end = 0;
                    while let Some(frame) = decoder.view(&run[end..]) {
                        end += frame.wire().len();
                    }
                    self.always.put(&run[..end]);
                    self.taking.pass(decoder, end);
                }
                Act::Drop => {}
                Act::Twice => (0..2).for_each(|_| self.put(wire)),
                Act::Behind(others) => {
                    self.put(others);
                    self.put(wire);
                }
                Act::Replace(others) => self.put(others),
            }
        }
    }

    /// Plays the acts on the units of a stream that is encrypted behind its first frame.
    fn play(
        mut decoder: Decoder,
        bodies: &[Vec<u8>],
        acts: &[Act],
        pieces: &[usize],
        tail: &[u8],
    ) -> (Both, Vec<u8>) {
        let mut sender = Encoder::new();
        sender.send(b"the last in the clear");
        sender.set_cipher(SECRET);
        let clear = sender.pending().len();
        bodies.iter().for_each(|body| drop(sender.send(body)));
        sender.put(tail);
        let stream = sender.pending();
        let mut both = Both::default();
        decoder.keep_ciphertext();
        let mut acts = acts.iter().cycle();
        let (mut at, mut clears) = (0, true);
        for size in pieces.iter().cycle() {
            let end = stream.len().min(at + size);
            decoder.receive(&stream[at..end]);
            at = end;
            while let Some(unit) = decoder.poll() {
                both.taking.offer(&mut decoder, unit.wire());
                match std::mem::take(&mut clears) {
                    true => {
                        both.put(unit.wire());
                        decoder.set_cipher(SECRET);
                        both.taking.set_cipher(SECRET);
                        both.always.set_cipher(SECRET);
                    }
                    false => {
                        both.act(&mut decoder, unit.wire(), acts.next().unwrap_or(&Act::Forward))
                    }
                }
                both.taking.withdraw();
            }
            if at == stream.len() {
                break;
            }
        }
        both.release();
        both.put(&decoder.take_rest());
        (both, stream[clear..].to_vec())
    }

    proptest! {
        #[test]
        fn an_encoder_that_takes_ciphertext_sends_what_one_that_encrypts_sends(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..150), 0..30),
            acts in prop::collection::vec(act(), 0..40),
            pieces in prop::collection::vec(1..400_usize, 1..5),
            tail in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let decoder = Decoder::new(Limits { frame: 100, inflated: 1000 });
            let (both, _) = play(decoder, &bodies, &acts, &pieces, &tail);
            prop_assert_eq!(both.taking.pending(), both.always.pending());
        }
    }

    #[test]
    fn what_is_forwarded_is_not_encrypted_however_the_stream_is_cut() {
        let bodies: Vec<Vec<u8>> = (0..40).map(|size| vec![7; size * 5]).collect();
        for size in (1..300).chain([usize::MAX >> 1]) {
            for act in [Act::Forward, Act::Run] {
                let (both, stream) = play(Decoder::default(), &bodies, &[act], &[size], b"");
                assert_eq!(both.taking.encrypted_bytes(), 0, "pieces of {size}");
                assert!(both.taking.pending().ends_with(&stream), "pieces of {size}");
            }
        }
    }

    #[test]
    fn from_the_first_difference_on_everything_is_encrypted() {
        let bodies = vec![vec![7; 10]; 20];
        let mut acts = vec![Act::Forward; 20];
        acts[5] = Act::Drop;
        let (both, stream) = play(Decoder::default(), &bodies, &acts, &[30], b"");
        assert_eq!(both.taking.encrypted_bytes(), 14 * 11);
        assert_eq!(both.taking.pending(), both.always.pending());
        let common = both.taking.pending()[22..].iter().zip(&stream);
        assert!(common.take_while(|(one, other)| one == other).count() >= 5 * 11);
    }

    #[test]
    fn what_waits_is_encrypted_and_what_follows_it_is_in_step_again() {
        let bodies = vec![vec![7; 10]; 20];
        let mut acts = vec![Act::Forward; 20];
        (acts[5], acts[8]) = (Act::Wait, Act::Release);
        let (both, stream) = play(Decoder::default(), &bodies, &acts, &[30], b"");
        assert_eq!(both.taking.encrypted_bytes(), 3 * 11);
        assert!(both.taking.pending().ends_with(&stream));
    }

    #[test]
    fn another_secret_is_never_in_step() {
        let mut sender = Encoder::new();
        sender.set_cipher(SECRET);
        sender.send(b"hello");
        let (mut decoder, mut encoder) = (Decoder::default(), Encoder::new());
        decoder.keep_ciphertext();
        decoder.set_cipher(SECRET);
        assert_eq!(decoder.unused_secret(), Some(*SECRET));
        encoder.set_cipher(b"another secret!!");
        decoder.receive(sender.pending());
        assert_eq!(decoder.unused_secret(), Some(*SECRET));
        let unit = decoder.poll().unwrap();
        assert_eq!(decoder.unused_secret(), None);
        assert!(encoder.has_unused_cipher());
        encoder.offer(&mut decoder, unit.wire());
        encoder.put(unit.wire());
        assert_eq!(encoder.encrypted_bytes(), 6);
        assert!(decoder.kept.is_none() && !encoder.has_unused_cipher());
    }

    #[test]
    fn ciphertext_is_kept_within_the_budget_and_not_while_nothing_is_buffered() {
        for limit in [usize::MAX >> 1, 1 << 20, 300_000, 0] {
            let budget = MemoryBudget::new(limit);
            let mut sender = Encoder::new();
            sender.set_cipher(SECRET);
            [400_000, 5, 400_000, 10].iter().for_each(|size| drop(sender.send(&vec![3; *size])));
            let (mut decoder, mut both) = (Decoder::default(), Both::default());
            decoder.set_budget(&budget);
            decoder.keep_ciphertext();
            decoder.set_cipher(SECRET);
            both.taking.set_cipher(SECRET);
            both.always.set_cipher(SECRET);
            let mut most = 0;
            for piece in sender.pending().chunks(10_000) {
                decoder.receive(piece);
                let counted = budget.used();
                most = most.max(counted);
                assert!(counted <= limit || limit == 0, "{counted} of {limit}");
                while let Some(unit) = decoder.poll() {
                    both.taking.offer(&mut decoder, unit.wire());
                    both.put(unit.wire());
                    both.taking.withdraw();
                }
                assert!(decoder.buffered() > 0 || decoder.kept.as_ref().unwrap().allocated == 0);
            }
            assert!(decoder.poll().is_none() && decoder.buffered() == 0);
            assert_eq!(both.taking.pending(), sender.pending());
            if limit > 1 << 20 {
                assert!(most >= 800_000, "{most}: both copies are counted");
                assert_eq!(both.taking.encrypted_bytes(), 0);
            }
            drop((decoder, both));
            assert_eq!(budget.used(), 0);
        }
    }

    #[test]
    fn units_keep_no_ciphertext() {
        let mut decoder = Decoder::default();
        decoder.keep_ciphertext();
        decoder.set_cipher(SECRET);
        let mut sender = Encoder::new();
        sender.set_cipher(SECRET);
        sender.send(&[1; 100]);
        decoder.receive(sender.pending());
        let Some(Unit::Frame(frame)) = decoder.poll() else { panic!() };
        assert!(decoder.poll().is_none());
        assert_eq!(decoder.kept.as_ref().unwrap().allocated, 0);
        assert_eq!(frame.memory(), 101);
        let shown = format!("{decoder:?}");
        assert!(!shown.contains(&format!("{SECRET:?}")[1..40]), "{shown}");
    }
}
