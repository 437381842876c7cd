use rsa::RsaPrivateKey;
use rsa::rand_core::{OsRng, RngCore as _};

use crate::session::KeyMaterial;

/// A key and random numbers for one session. Takes 10 to 40 ms of a core, now and then 0.7 s.
pub(super) fn generate() -> Result<KeyMaterial, rsa::Error> {
    let key = RsaPrivateKey::new(&mut OsRng, KEY_BITS)?;
    let mut material = KeyMaterial { key, secret: [0; 16], token: [0; 4], seed: [0; 32] };
    OsRng.fill_bytes(&mut material.secret);
    OsRng.fill_bytes(&mut material.token);
    OsRng.fill_bytes(&mut material.seed);
    Ok(material)
}

/// A random seed.
pub(super) fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    OsRng.fill_bytes(&mut seed);
    seed
}

/// A random number.
pub(super) fn number() -> u64 {
    OsRng.next_u64()
}

/// What the game's servers use, and all clients take.
const KEY_BITS: usize = 1024;
