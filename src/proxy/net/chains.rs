use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

/// Recognises a chain of proxies that leads back to this one, in which each session begins another one: many sessions
/// from one address, begun within one second with equal first bytes, of which the server has answered none. Cheap to
/// clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Chains(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Sessions without an answer, by the address of their client. As many as there are such sessions.
    links: Mutex<HashMap<IpAddr, Vec<Known>>>,
    answered: Notify,
}

#[derive(Debug)]
struct Known {
    session: u64,
    began: Instant,
    /// The first bytes of the client; none before they have come.
    first: Vec<u8>,
}

/// A session that may be part of a chain, until its server answers or it ends.
#[derive(Debug)]
pub(super) struct Link {
    chains: Chains,
    address: IpAddr,
    session: u64,
}

impl Chains {
    /// Adds a session that begins.
    pub(super) fn begin(&self, address: IpAddr, session: u64) -> Link {
        let known = Known { session, began: Instant::now(), first: Vec::new() };
        self.with(|links| links.entry(address).or_default().push(known));
        Link { chains: self.clone(), address, session }
    }

    /// Returns whether a new client continues a chain. Takes at most two seconds, and none unless
    /// [`MAX_LINKS`] sessions wait for an answer: what the client says first, without consuming it, and one for an answer.
    pub(super) async fn continues(&self, address: IpAddr, client: &TcpStream) -> bool {
        let arrived = Instant::now();
        if self.count(address, arrived, &[]) < MAX_LINKS {
            return false;
        }
        let mut first = [0; FIRST];
        let Ok(Ok(count)) = timeout(WITHIN, client.peek(&mut first)).await else { return false };
        let until = Instant::now() + WITHIN;
        loop {
            let answered = self.0.answered.notified();
            let mut answered = std::pin::pin!(answered);
            answered.as_mut().enable();
            if count < LEAST || self.count(address, arrived, &first[..count]) < MAX_LINKS {
                return false;
            }
            if timeout_at(until, answered).await.is_err() {
                return true;
            }
        }
    }

    /// Counts the sessions that began within the second before a client arrived, and whose first bytes are its.
    fn count(&self, address: IpAddr, arrived: Instant, first: &[u8]) -> usize {
        self.with(|links| {
            let known = links.get(&address).into_iter().flatten();
            let recent = known.filter(|it| arrived.saturating_duration_since(it.began) <= WITHIN);
            recent.filter(|it| it.first.starts_with(first)).count()
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<IpAddr, Vec<Known>>) -> T) -> T {
        act(&mut self.0.links.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Link {
    /// Notes what the client says first.
    pub(super) fn says(&self, bytes: &[u8]) {
        self.chains.with(|links| {
            let mut known = links.get_mut(&self.address).into_iter().flatten();
            if let Some(known) = known.find(|it| it.session == self.session)
                && known.first.is_empty()
            {
                known.first = bytes[..bytes.len().min(FIRST)].to_vec();
            }
        });
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.chains.with(|links| {
            if let Some(known) = links.get_mut(&self.address) {
                known.retain(|it| it.session != self.session);
                if known.is_empty() {
                    links.remove(&self.address);
                }
            }
        });
        self.chains.0.answered.notify_waiters();
    }
}

/// The most sessions that may wait for an answer. One more is taken for a part of a chain.
const MAX_LINKS: usize = 16;

/// The time within which the sessions of a chain begin, and that each wait takes at most.
const WITHIN: Duration = Duration::from_secs(1);

/// The bytes of a client that are compared.
const FIRST: usize = 64;

/// The fewest of them that say anything: a handshake is longer.
const LEAST: usize = 8;

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    use super::*;

    /// Returns a client that has said something.
    async fn saying(bytes: &[u8]) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (mut client, accepted) = (client.unwrap(), accepted.unwrap().0);
        client.write_all(bytes).await.unwrap();
        accepted.readable().await.unwrap();
        (client, accepted)
    }

    #[tokio::test]
    async fn many_equal_sessions_without_an_answer_are_a_chain() {
        let (_client, accepted) = saying(b"handshake").await;
        tokio::time::pause();
        let chains = Chains::default();
        let address = IpAddr::from([127, 0, 0, 1]);
        let mut links = Vec::new();
        for session in 0..16 {
            assert!(!chains.continues(address, &accepted).await, "{session}");
            links.push(chains.begin(address, session));
        }
        assert!(!chains.continues(address, &accepted).await, "nobody has said anything");
        // A byte may be of anybody.
        links.iter().for_each(|link| link.says(b"h"));
        assert!(!chains.continues(address, &accepted).await);
        links.clear();
        links.extend((0..16).map(|session| chains.begin(address, session)));
        links.iter().for_each(|link| link.says(b"handshake and more"));
        links[3].says(b"other bytes, later");
        assert!(!chains.continues(IpAddr::from([127, 0, 0, 2]), &accepted).await);
        assert!(chains.continues(address, &accepted).await);
        // An answer, or an end, while the client is judged.
        let (judged, ()) = tokio::join!(chains.continues(address, &accepted), async {
            tokio::time::sleep(WITHIN / 2).await;
            links.pop();
        });
        assert!(!judged);
        // Sessions that began long before.
        tokio::time::sleep(WITHIN * 2).await;
        links.push(chains.begin(address, 17));
        assert!(!chains.continues(address, &accepted).await);
        links.clear();
        assert!(chains.with(|links| links.is_empty()));
    }

    #[tokio::test]
    async fn sessions_that_say_different_things_are_no_chain() {
        let (_client, accepted) = saying(b"handshake").await;
        let chains = Chains::default();
        let address = IpAddr::from([127, 0, 0, 1]);
        let links: Vec<Link> = (0..40).map(|session| chains.begin(address, session)).collect();
        for (number, link) in links.iter().enumerate() {
            link.says(if number < 15 { &b"handshake"[..] } else { b"something else" });
        }
        assert!(!chains.continues(address, &accepted).await);
    }
}
