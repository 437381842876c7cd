use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// Clients of a service that have not shown yet that they may use it. When there are too many of them, the
/// longest connected makes room, so that silent clients lock nobody out. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Newcomers {
    most: usize,
    /// The longest connected first.
    clients: Arc<Mutex<VecDeque<oneshot::Sender<Infallible>>>>,
}

/// A client that has not shown yet that it may stay. Dropping it frees its place.
#[derive(Debug)]
pub(crate) struct Newcomer(oneshot::Receiver<Infallible>);

impl Newcomers {
    /// Lets that many clients be there at a time.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, clients: Arc::default() }
    }

    /// Takes a client in. If there are too many, the longest connected has to go.
    pub(crate) fn arrive(&self) -> Newcomer {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|client| !client.is_closed());
        if clients.len() >= self.most {
            clients.pop_front();
        }
        let (keep, stays) = oneshot::channel();
        clients.push_back(keep);
        Newcomer(stays)
    }
}

impl Newcomer {
    /// Waits until the client has to make room.
    pub(crate) async fn must_go(&mut self) {
        let _ = (&mut self.0).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn the_longest_connected_makes_room_and_who_has_shown_who_it_is_needs_none() {
        let newcomers = Newcomers::new(2);
        let goes = |it: &mut Newcomer| it.must_go().now_or_never().is_some();
        let (mut first, second) = (newcomers.arrive(), newcomers.arrive());
        assert!(!goes(&mut first));
        drop(second);
        let mut third = newcomers.arrive();
        assert!(!goes(&mut first) && !goes(&mut third));
        let mut fourth = newcomers.arrive();
        assert!(goes(&mut first) && !goes(&mut third) && !goes(&mut fourth));
    }
}
