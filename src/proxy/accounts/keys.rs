use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

use rsa::RsaPrivateKey;
use rsa::rand_core::{OsRng, RngCore as _};

use mitmcraft_engine::link::KeyMaterial;
use mitmcraft_protocol::wire::to_hex;

/// RSA keys that are generated in advance. Cheap to clone.
///
/// A thread keeps up to [`READY`] keys ready, and ends with the pool. If the pool is empty, a key is
/// generated on demand. A pool that was not started is always empty.
#[derive(Debug, Clone, Default)]
pub(in crate::proxy) struct KeyPool {
    ready: Option<Arc<Mutex<Receiver<KeyMaterial>>>>,
}

impl KeyPool {
    /// Creates a pool and starts its thread.
    pub(in crate::proxy) fn start() -> Self {
        // The thread holds one more key than the channel.
        let (sender, receiver) = sync_channel(READY - 1);
        let fill = move || {
            while let Ok(material) = generate() {
                if sender.send(material).is_err() {
                    break;
                }
            }
        };
        // Without a thread, every key is generated on demand.
        let thread = std::thread::Builder::new().name("keys".into()).spawn(fill);
        Self { ready: thread.ok().map(|_| Arc::new(Mutex::new(receiver))) }
    }

    /// Returns a key from the pool, or a new one, and blocks while it is generated.
    pub(in crate::proxy) fn take(&self) -> Result<KeyMaterial, rsa::Error> {
        let ready = self.ready.as_ref().and_then(|ready| ready.lock().ok()?.try_recv().ok());
        ready.map_or_else(generate, Ok)
    }
}

/// Generates a key and random numbers for one session. This takes 10 to 40 ms of a core, rarely 0.7 s.
fn generate() -> Result<KeyMaterial, rsa::Error> {
    let key = RsaPrivateKey::new(&mut OsRng, KEY_BITS)?;
    let mut material = KeyMaterial { key, secret: [0; 16], token: [0; 4], seed: [0; 32] };
    OsRng.fill_bytes(&mut material.secret);
    OsRng.fill_bytes(&mut material.token);
    OsRng.fill_bytes(&mut material.seed);
    Ok(material)
}

/// Returns a random seed.
pub(in crate::proxy) fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    OsRng.fill_bytes(&mut seed);
    seed
}

/// Returns 128 random bits as 32 hex digits.
pub(crate) fn random_key() -> String {
    to_hex(&seed()[..16], "")
}

/// Size of RSA keys in bits: that of the game's servers, accepted by all clients.
const KEY_BITS: usize = 1024;

/// Number of keys in advance: enough for a few players who connect at the same time.
const READY: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_a_new_one_whether_the_pool_has_one_or_not() {
        let pool = KeyPool::start();
        let mut keys: Vec<_> = (0..READY + 2).map(|_| pool.take().unwrap()).collect();
        assert!(keys.iter().all(|it| rsa::traits::PublicKeyParts::size(&it.key) == 128));
        keys.sort_by_key(|it| it.secret);
        keys.dedup_by_key(|it| it.secret);
        assert_eq!(keys.len(), READY + 2);
        keys.dedup_by(|one, other| one.key == other.key);
        assert_eq!(keys.len(), READY + 2);
    }
}
