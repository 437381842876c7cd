use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use mitmcraft_engine::link::Upstream;

/// Recognises a chain of proxies that leads back to this one, in which each session begins another one: many sessions
/// from one address, begun within one second with equal first bytes, of which the server has answered none. Cheap to
/// clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Chains(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Sessions without an answer, by the address of their client. As many as there are such sessions.
    links: Mutex<HashMap<IpAddr, Vec<Known>>>,
    /// When each server last answered a session: one in a loop never does. At most [`MAX_ANSWERED`].
    answered_at: Mutex<HashMap<Upstream, Instant>>,
    /// Wakes those who wait for an answer, or for the end of a session.
    changed: Notify,
}

#[derive(Debug)]
struct Known {
    session: u64,
    began: Instant,
    /// `true` once the server has accepted its connection.
    is_connected: bool,
    /// The first bytes of the client; none before they have come.
    first: Vec<u8>,
}

/// A session that may be part of a chain, until its server answers or it ends.
#[derive(Debug)]
pub(super) struct Link {
    chains: Chains,
    upstream: Upstream,
    address: IpAddr,
    session: u64,
    has_said: bool,
}

impl Chains {
    /// Adds a session with a server that begins.
    pub(super) fn begin(&self, address: IpAddr, session: u64, upstream: Upstream) -> Link {
        let began = Instant::now();
        let known = Known { session, began, is_connected: false, first: Vec::new() };
        self.with(|links| links.entry(address).or_default().push(known));
        Link { chains: self.clone(), upstream, address, session, has_said: false }
    }

    /// Returns whether a new client of a server continues a chain. Takes at most two seconds, and none unless
    /// [`MAX_LINKS`] sessions wait for an answer: what the client says first, without consuming it, and one for an answer.
    pub(super) async fn continues(
        &self,
        address: IpAddr,
        client: &TcpStream,
        upstream: &Upstream,
    ) -> bool {
        let arrived = Instant::now();
        if self.has_answered(upstream) || self.count(address, arrived, &[]) < MAX_LINKS {
            return false;
        }
        let mut first = [0; FIRST];
        let Ok(Ok(count)) = timeout(WITHIN, client.peek(&mut first)).await else { return false };
        let until = Instant::now() + WITHIN;
        loop {
            let changed = self.0.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            if count < LEAST
                || self.has_answered(upstream)
                || self.count(address, arrived, &first[..count]) < MAX_LINKS
            {
                return false;
            }
            if timeout_at(until, changed).await.is_err() {
                return true;
            }
        }
    }

    /// Counts the sessions that began within the second before a client arrived, and whose first bytes are its.
    fn count(&self, address: IpAddr, arrived: Instant, first: &[u8]) -> usize {
        self.with(|links| {
            let known = links.get(&address).into_iter().flatten();
            let recent = known.filter(|it| arrived.saturating_duration_since(it.began) <= WITHIN);
            recent.filter(|it| it.is_connected && it.first.starts_with(first)).count()
        })
    }

    /// Returns whether a server has answered anybody lately.
    fn has_answered(&self, upstream: &Upstream) -> bool {
        let answered_at = self.0.answered_at.lock().unwrap_or_else(PoisonError::into_inner);
        answered_at.get(upstream).is_some_and(|at| at.elapsed() <= TRUSTED)
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<IpAddr, Vec<Known>>) -> T) -> T {
        act(&mut self.0.links.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Link {
    /// Notes that the server has accepted the connection.
    pub(super) fn connected(&self) {
        self.note(|known| known.is_connected = true);
    }

    /// Notes what the client says first.
    pub(super) fn says(&mut self, bytes: &[u8]) {
        if !std::mem::replace(&mut self.has_said, true) {
            self.note(|known| known.first = bytes[..bytes.len().min(FIRST)].to_vec());
        }
    }

    /// Notes that the server has answered: the session is part of no chain.
    pub(super) fn answered(self) {
        let answered_at = self.chains.0.answered_at.lock();
        let mut answered_at = answered_at.unwrap_or_else(PoisonError::into_inner);
        if answered_at.len() >= MAX_ANSWERED {
            answered_at.retain(|_, at| at.elapsed() <= TRUSTED);
        }
        // One that is not noted is only examined longer.
        if answered_at.len() < MAX_ANSWERED || answered_at.contains_key(&self.upstream) {
            answered_at.insert(self.upstream.clone(), Instant::now());
        }
    }

    fn note(&self, act: impl FnOnce(&mut Known)) {
        self.chains.with(|links| {
            let mut known = links.get_mut(&self.address).into_iter().flatten();
            known.find(|it| it.session == self.session).map(act)
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
        self.chains.0.changed.notify_waiters();
    }
}

/// The most sessions that may wait for an answer. One more is taken for a part of a chain.
const MAX_LINKS: usize = 16;

/// The time within which the sessions of a chain begin, and that each wait takes at most.
const WITHIN: Duration = Duration::from_secs(1);

/// The time after an answer of a server in which none of its sessions is taken for a part of a chain.
const TRUSTED: Duration = Duration::from_secs(5);

/// The most servers whose answers are known.
const MAX_ANSWERED: usize = 1024;

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

    /// Begins sessions whose server has accepted them, and whose clients have said something.
    fn sessions(chains: &Chains, count: u64, first: &[u8]) -> Vec<Link> {
        let begin = |session| {
            let mut link = chains.begin(ADDRESS, session, server());
            link.connected();
            link.says(first);
            link
        };
        (0..count).map(begin).collect()
    }

    fn server() -> Upstream {
        Upstream { host: "real.example".into(), port: 25565 }
    }

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[tokio::test]
    async fn many_equal_sessions_without_an_answer_are_a_chain() {
        let (_client, accepted) = saying(b"handshake").await;
        let real = server();
        tokio::time::pause();
        let chains = Chains::default();
        let few = sessions(&chains, 15, b"handshake and more");
        assert!(!chains.continues(ADDRESS, &accepted, &server()).await);
        drop(few);
        let mut links = sessions(&chains, 16, b"handshake and more");
        links[3].says(b"other bytes, later");
        assert!(!chains.continues(IpAddr::from([127, 0, 0, 2]), &accepted, &server()).await);
        assert!(chains.continues(ADDRESS, &accepted, &server()).await);
        // A session that ends while the client is judged.
        let (judged, ()) = tokio::join!(chains.continues(ADDRESS, &accepted, &real), async {
            tokio::time::sleep(WITHIN / 2).await;
            links.pop();
        });
        assert!(!judged);
        drop(links);
        assert!(chains.with(|links| links.is_empty()));
        // Sessions that began long before.
        let _old = sessions(&chains, 16, b"handshake");
        tokio::time::sleep(WITHIN * 2).await;
        assert!(!chains.continues(ADDRESS, &accepted, &server()).await);
    }

    #[tokio::test]
    async fn sessions_that_say_other_things_or_reach_no_server_are_no_chain() {
        let (_client, accepted) = saying(b"handshake").await;
        let chains = Chains::default();
        // A byte may be of anybody.
        for first in [&b"something else"[..], b"h", b""] {
            let _links = sessions(&chains, 40, first);
            assert!(!chains.continues(ADDRESS, &accepted, &server()).await, "{first:?}");
        }
        let begin = |session| chains.begin(ADDRESS, session, server());
        let links: Vec<Link> = (0..40).map(begin).collect();
        links.into_iter().for_each(|mut link| link.says(b"handshake"));
        assert!(!chains.continues(ADDRESS, &accepted, &server()).await);
    }

    #[tokio::test]
    async fn a_server_that_answers_somebody_is_in_no_loop() {
        let (_client, accepted) = saying(b"handshake").await;
        let real = server();
        tokio::time::pause();
        let chains = Chains::default();
        let mut links = sessions(&chains, 40, b"handshake");
        let (judged, ()) = tokio::join!(chains.continues(ADDRESS, &accepted, &real), async {
            tokio::time::sleep(WITHIN / 2).await;
            links.remove(0).answered();
        });
        assert!(!judged);
        assert!(!chains.continues(ADDRESS, &accepted, &server()).await, "it did a moment ago");
        // Its answer says nothing about another server.
        let another = Upstream { port: 25566, ..server() };
        assert!(chains.continues(ADDRESS, &accepted, &another).await);
        assert!(!chains.continues(ADDRESS, &accepted, &server()).await);
        tokio::time::sleep(TRUSTED * 2).await;
        drop(links);
        let _links = sessions(&chains, 16, b"handshake");
        assert!(chains.continues(ADDRESS, &accepted, &server()).await);
    }

    #[tokio::test]
    async fn the_servers_that_have_answered_are_bounded() {
        let chains = Chains::default();
        for port in 0..3000 {
            chains.begin(ADDRESS, 1, Upstream { port, ..server() }).answered();
        }
        assert_eq!(chains.0.answered_at.lock().unwrap().len(), MAX_ANSWERED);
    }
}
