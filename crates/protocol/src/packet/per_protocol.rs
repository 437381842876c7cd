use std::sync::{Arc, OnceLock};

use crate::schema::Protocol;

/// Values derived from protocols, each computed when its protocol is first met.
///
/// A chain of cells that are set once: sessions share it, and a lookup takes no lock.
#[derive(Debug)]
pub struct PerProtocol<T>(OnceLock<Box<Link<T>>>);

#[derive(Debug)]
struct Link<T> {
    /// Kept alive, so that its address identifies it.
    protocol: Arc<Protocol>,
    value: T,
    next: PerProtocol<T>,
}

impl<T> PerProtocol<T> {
    /// Returns the value of `protocol`, computed by `init` if there is none yet.
    #[inline]
    pub fn get_or_init(&self, protocol: &Arc<Protocol>, init: impl FnOnce() -> T) -> &T {
        let mut init = Some(init);
        let mut cell = self;
        loop {
            let link = cell.0.get_or_init(|| {
                let init = init.take().expect("only one cell is set for a protocol");
                let (protocol, next) = (Arc::clone(protocol), Self::default());
                Box::new(Link { protocol, value: init(), next })
            });
            if Arc::ptr_eq(&link.protocol, protocol) {
                return &link.value;
            }
            cell = &link.next;
        }
    }
}

impl<T> Default for PerProtocol<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}
