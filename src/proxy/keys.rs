use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

use rsa::RsaPrivateKey;
use rsa::rand_core::{OsRng, RngCore as _};

use crate::link::KeyMaterial;

/// Keys that are ready before they are wanted. Cheap to clone.
///
/// A thread fills it with up to [`READY`] keys and ends with the pool. Who finds it empty makes a key
/// of their own: nobody ever waits for the pool. One that was not started is always empty.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyPool {
    ready: Option<Arc<Mutex<Receiver<KeyMaterial>>>>,
}

impl KeyPool {
    /// Begins to fill one.
    pub(super) fn start() -> Self {
        // The one in hand waits beside those in the channel.
        let (sender, receiver) = sync_channel(READY - 1);
        let fill = move || {
            while let Ok(material) = generate() {
                if sender.send(material).is_err() {
                    break;
                }
            }
        };
        // Without a thread every key is made when it is wanted.
        let thread = std::thread::Builder::new().name("keys".into()).spawn(fill);
        Self { ready: thread.ok().map(|_| Arc::new(Mutex::new(receiver))) }
    }

    /// A key from the pool, else a new one. Blocks while it is made.
    pub(super) fn take(&self) -> Result<KeyMaterial, rsa::Error> {
        let ready = self.ready.as_ref().and_then(|ready| ready.lock().ok()?.try_recv().ok());
        ready.map_or_else(generate, Ok)
    }
}

/// A key and random numbers for one session. Takes 10 to 40 ms of a core, now and then 0.7 s.
fn generate() -> Result<KeyMaterial, rsa::Error> {
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

/// What the game's servers use, and all clients take.
const KEY_BITS: usize = 1024;

/// Keys that are ready: for a few players who come at once.
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
