use std::fmt;
use std::sync::Arc;

use aes::Aes128;
use aes::cipher::consts::U16;
use aes::cipher::{
    Block, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, KeyInit,
};

use super::ciphertext::{Ciphertext, shift};

/// A shared secret, expanded once for all streams that use it: the schedule of its keys is most of a cipher.
#[derive(Clone)]
pub(super) struct Key {
    aes: Arc<Aes128>,
    secret: [u8; 16],
}

impl Key {
    pub(super) fn new(secret: &[u8; 16]) -> Self {
        Self { aes: Arc::new(Aes128::new(secret.into())), secret: *secret }
    }

    pub(super) fn secret(&self) -> &[u8; 16] {
        &self.secret
    }
}

/// Encrypts a stream with AES-128 in CFB8 mode. Each byte depends on the previous one, so the work
/// is serial.
pub(super) struct Encryptor {
    key: Key,
    /// The last 16 bytes of ciphertext, the oldest in the lowest bits.
    window: u128,
    /// The bytes that are being forwarded, if their ciphertext is known.
    pub(super) offered: Option<Ciphertext>,
    /// `false` once received bytes would have had other ciphertext here.
    in_step: bool,
    /// The number of bytes that were encrypted.
    #[cfg(any(test, feature = "test-support"))]
    pub(super) encrypted: usize,
}

impl Encryptor {
    /// Starts a stream. The shared secret is both the key and the initialisation vector.
    pub(super) fn new(key: &Key) -> Self {
        Self {
            key: key.clone(),
            window: u128::from_le_bytes(key.secret),
            offered: None,
            in_step: true,
            #[cfg(any(test, feature = "test-support"))]
            encrypted: 0,
        }
    }

    /// Returns whether bytes that were encrypted with `secret` may have the same ciphertext here.
    pub(super) fn is_in_step(&self, secret: &[u8; 16]) -> bool {
        self.in_step && self.key.secret == *secret
    }

    /// Returns whether nothing has been encrypted yet.
    pub(super) fn is_unused(&self) -> bool {
        self.window.to_le_bytes() == self.key.secret
    }

    /// Appends the ciphertext of the next bytes of the stream to `out`: the one that is offered, if they would
    /// have it here too.
    pub(super) fn put(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if let Some(offered) = self.offered.take_if(|it| it.is_of(bytes)) {
            let mut window = self.window.to_le_bytes();
            if offered.before == window {
                shift(&mut window, &offered.text);
                self.window = u128::from_le_bytes(window);
                return out.extend_from_slice(&offered.text);
            }
            self.in_step = false;
        }
        let end = out.len();
        out.extend_from_slice(bytes);
        self.encrypt(&mut out[end..]);
    }

    /// Encrypts the next bytes of the stream in place.
    fn encrypt(&mut self, bytes: &mut [u8]) {
        #[cfg(any(test, feature = "test-support"))]
        {
            self.encrypted += bytes.len();
        }
        self.key.aes.encrypt_with_backend(Serial { window: &mut self.window, bytes });
    }
}

/// Omits the secret.
impl fmt::Debug for Encryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encryptor").field("in_step", &self.in_step).finish_non_exhaustive()
    }
}

/// Decrypts a stream encrypted by an [`Encryptor`].
///
/// The key stream byte for each position is the first byte of the AES block of the 16 preceding
/// ciphertext bytes. All of these are known when ciphertext arrives, so many blocks are computed at
/// once:
///
/// ```text
/// before           chunk
/// b0 b1 .. b14 b15 c0 c1 c2 ..
/// [-- window 0 --]             c0 ^= aes(window 0)[0]
///    [-- window 1 ---]         c1 ^= aes(window 1)[0]
/// ```
pub(super) struct Decryptor {
    aes: Arc<Aes128>,
    /// The last 16 bytes of ciphertext.
    before: [u8; 16],
}

impl Decryptor {
    /// Starts a stream. The shared secret is both the key and the initialisation vector.
    pub(super) fn new(key: &Key) -> Self {
        Self { aes: Arc::clone(&key.aes), before: key.secret }
    }

    /// Decrypts the next bytes of the stream in place.
    pub(super) fn decrypt(&mut self, bytes: &mut [u8]) {
        let mut text = [0; 16 + WINDOWS];
        let mut blocks = [Block::<Aes128>::default(); WINDOWS];
        for chunk in bytes.chunks_mut(WINDOWS) {
            text[..16].copy_from_slice(&self.before);
            text[16..16 + chunk.len()].copy_from_slice(chunk);
            for (block, window) in blocks.iter_mut().zip(text.windows(16)) {
                block.copy_from_slice(window);
            }
            self.before.copy_from_slice(&text[chunk.len()..chunk.len() + 16]);

            let blocks = &mut blocks[..chunk.len()];
            self.aes.encrypt_blocks(blocks);
            for (byte, block) in chunk.iter_mut().zip(blocks) {
                *byte ^= block[0];
            }
        }
    }
}

/// Omits the secret.
impl fmt::Debug for Decryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decryptor")
    }
}

/// The encryption loop, compiled for the AES instructions that the machine has. The window is
/// shifted in a register; shifting it in memory, as `cfb8` does, takes a third longer.
struct Serial<'a> {
    window: &'a mut u128,
    bytes: &'a mut [u8],
}

impl BlockSizeUser for Serial<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Serial<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let mut window = *self.window;
        for byte in self.bytes {
            let mut block = Block::<Aes128>::from(window.to_le_bytes());
            backend.encrypt_block((&mut block).into());
            *byte ^= block[0];
            window = window >> 8 | u128::from(*byte) << 120;
        }
        *self.window = window;
    }
}

/// Blocks computed at once: fills the widest AES instructions and takes 1 KiB of stack.
const WINDOWS: usize = 64;

#[cfg(test)]
mod tests {
    use aes::cipher::KeyIvInit;
    use hex_literal::hex;
    use proptest::prelude::*;

    use super::*;

    /// NIST SP 800-38A, F.3.7 and F.3.8: CFB8-AES128.
    #[test]
    fn encrypts_and_decrypts_the_test_vectors_of_the_standard() {
        let key = hex!("2b7e151628aed2a6abf7158809cf4f3c");
        let before = hex!("000102030405060708090a0b0c0d0e0f");
        let plain = hex!("6bc1bee22e409f96e93d7e117393172a ae2d");
        let secret = hex!("3b79424c9c0dd436bace9e0ed4586a4f 32b9");

        let mut bytes = plain;
        let window = u128::from_le_bytes(before);
        let mut encryptor = Encryptor { window, ..Encryptor::new(&Key::new(&key)) };
        encryptor.encrypt(&mut bytes);
        assert_eq!(bytes, secret);

        let mut decryptor = Decryptor { aes: Key::new(&key).aes, before };
        decryptor.decrypt(&mut bytes);
        assert_eq!(bytes, plain);
    }

    proptest! {
        #[test]
        fn any_split_equals_cfb8_of_the_whole(
            secret: [u8; 16],
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
        ) {
            let plain = parts.concat();
            let mut theirs = plain.clone();
            cfb8::Encryptor::<Aes128>::new(&secret.into(), &secret.into()).encrypt(&mut theirs);

            let mut encryptor = Encryptor::new(&Key::new(&secret));
            let mut decryptor = Decryptor::new(&Key::new(&secret));
            let mut encrypted = Vec::new();
            let mut decrypted = Vec::new();
            for mut part in parts {
                encryptor.encrypt(&mut part);
                encrypted.extend_from_slice(&part);
                decryptor.decrypt(&mut part);
                decrypted.extend_from_slice(&part);
            }
            prop_assert_eq!(encrypted, theirs);
            prop_assert_eq!(decrypted, plain);
        }
    }
}
