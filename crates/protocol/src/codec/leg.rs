use super::cipher::Key;
use super::{Decoder, Encoder, Limits, MemoryBudget};

/// One of the proxy's two connections: both directions, with their cipher and compression.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Leg {
    /// Decodes what the peer sends.
    pub decoder: Decoder,
    /// Encodes what is sent to the peer.
    pub encoder: Encoder,
}

impl Leg {
    /// Creates a leg without cipher and without compression.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { decoder: Decoder::new(limits), encoder: Encoder::new() }
    }

    /// Counts what both directions buffer in `budget` from now on.
    pub fn set_budget(&mut self, budget: &MemoryBudget) {
        self.decoder.set_budget(budget);
        self.encoder.set_budget(budget);
    }

    /// Compresses bodies of at least `threshold` bytes in both directions, from the next frame on.
    ///
    /// A negative threshold on the wire turns compression off and is `None` here:
    /// `usize::try_from(number).ok()`.
    pub fn set_compression(&mut self, threshold: Option<usize>) {
        self.decoder.set_compression(threshold);
        self.encoder.set_compression(threshold);
    }

    /// Sets the cipher of both directions: decrypts all bytes not yet polled, and encrypts all
    /// bytes not yet added.
    pub fn set_cipher(&mut self, secret: &[u8; 16]) {
        let key = Key::new(secret);
        self.decoder.set_key(&key);
        self.encoder.set_key(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Unit;

    /// Passes everything pending in `from` to `to`, `size` bytes at a time, and returns the bodies.
    fn carry(from: &mut Leg, to: &mut Leg, size: usize) -> Vec<Vec<u8>> {
        let mut bodies = Vec::new();
        while !from.encoder.pending().is_empty() {
            let count = from.encoder.pending().len().min(size);
            to.decoder.receive(&from.encoder.pending()[..count]);
            from.encoder.advance(count);
            while let Some(unit) = to.decoder.poll() {
                let Unit::Frame(frame) = unit else { panic!("{unit:?}") };
                bodies.push(frame.body().unwrap().to_vec());
            }
        }
        bodies
    }

    #[test]
    fn two_ends_that_switch_together_understand_each_other() {
        for size in [1, 7, usize::MAX] {
            let mut near = Leg::new(Limits::default());
            let mut far = Leg::new(Limits::default());
            for step in 0..3 {
                for body in [vec![], vec![1; 63], vec![2; 64], vec![3; 5000]] {
                    near.encoder.send(&body);
                    assert_eq!(carry(&mut near, &mut far, size), [&body[..]]);
                    far.encoder.send(&body);
                    assert_eq!(carry(&mut far, &mut near, size), [&body[..]]);
                }
                for leg in [&mut near, &mut far] {
                    match step {
                        0 => leg.set_cipher(b"0123456789abcdef"),
                        1 => leg.set_compression(Some(64)),
                        _ => leg.set_compression(None),
                    }
                }
            }
        }
    }

    /// What a leg keeps for ciphertext in step is less than what its two streams share.
    #[test]
    fn both_directions_of_a_leg_share_the_schedule_of_their_keys() {
        use crate::codec::cipher::{Decryptor, Encryptor};
        use crate::codec::ciphertext::KeptCiphertext;
        let streams = size_of::<Encryptor>() + size_of::<Decryptor>() + size_of::<KeptCiphertext>();
        assert!(streams < size_of::<aes::Aes128>(), "{streams}");
    }

    #[test]
    fn a_negative_threshold_on_the_wire_is_none() {
        let mut leg = Leg::default();
        leg.set_compression(usize::try_from(-1).ok());
        leg.encoder.send(&[1; 1000]);
        assert_eq!(leg.encoder.pending().len(), 1002);
    }
}
