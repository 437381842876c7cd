use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::time::Duration;

use mitmcraft_protocol::packet::Timestamp;

use super::{Answer, FullStat, Kind, Request, Stat};

/// A Query server. It stores nothing about its clients: a token is derived from the client's
/// address, the time and a secret.
#[derive(Debug)]
pub struct QueryServer {
    secret: u64,
}

impl QueryServer {
    /// Creates a server with a secret, which must be random so that nobody can guess tokens.
    #[must_use]
    pub fn new(secret: u64) -> Self {
        Self { secret }
    }

    /// Returns the answer to a datagram; `None` if it is not a request, or if its token is expired
    /// or another client's.
    #[must_use]
    pub fn answer(
        &self,
        at: Timestamp,
        client: SocketAddr,
        datagram: &[u8],
        stat: &FullStat,
    ) -> Option<Vec<u8>> {
        let period = at.0 / PERIOD.as_nanos() as u64;
        let answer = match Request::decode(datagram).ok()? {
            Request::Handshake { session } => {
                Answer::Handshake { session, token: self.token(client, period) }
            }
            Request::Stat { kind, session, token } => {
                let known = [period, period.wrapping_sub(1)];
                if !known.into_iter().any(|period| self.token(client, period) == token) {
                    return None;
                }
                let stat = match kind {
                    Kind::Basic => Stat::Basic(stat.to_basic()),
                    Kind::Full => Stat::Full(stat.clone()),
                };
                Answer::Stat { session, stat }
            }
        };
        answer.encode().ok()
    }

    fn token(&self, client: SocketAddr, period: u64) -> i32 {
        let mut hasher = DefaultHasher::new();
        (self.secret, client, period).hash(&mut hasher);
        // 32 bits of the hash suffice.
        hasher.finish() as i32
    }
}

/// A token is valid for at least this time, and for at most twice as long.
const PERIOD: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_for_one_client_and_a_while() {
        let server = QueryServer::new(1);
        let (one, other) = ("127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap());
        let stat = FullStat::default();
        let at = |seconds: u64| Timestamp::default().plus(Duration::from_secs(1000 + seconds));
        let handshake = Request::Handshake { session: 1 }.encode().unwrap();
        let answer = server.answer(at(0), one, &handshake, &stat).unwrap();
        let Ok(Answer::Handshake { token, .. }) = Answer::decode(&answer) else { panic!() };
        let request = Request::Stat { kind: Kind::Full, session: 1, token }.encode().unwrap();
        assert!(server.answer(at(0), one, &request, &stat).is_some());
        assert!(server.answer(at(7), one, &request, &stat).is_some());
        assert!(server.answer(at(30), one, &request, &stat).is_some());
        assert!(server.answer(at(90), one, &request, &stat).is_none());
        assert!(server.answer(at(61), one, &request, &stat).is_none());
        assert!(server.answer(at(0), other, &request, &stat).is_none());
        assert!(server.answer(at(0), one, b"GET / HTTP/1.1", &stat).is_none());
    }
}
