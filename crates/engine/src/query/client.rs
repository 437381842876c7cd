use std::time::Duration;

use mitmcraft_protocol::packet::Timestamp;

use super::{Answer, Kind, QueryError, Request, SESSION_MASK, Stat};

/// A Query client that asks a server for a stat: a handshake for the token, then the request, each
/// repeated if no answer comes.
///
/// Send the datagrams of [`take_output`](Self::take_output), pass in what arrives, and call
/// [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout).
#[derive(Debug)]
pub struct Query {
    kind: Kind,
    session: i32,
    options: QueryOptions,
    /// 1 <= tries <= options.tries
    tries: u32,
    phase: Phase,
    deadline: Timestamp,
    output: Option<Vec<u8>>,
    /// The fault of the last datagram that was not an answer.
    heard: Option<Box<QueryError>>,
}

/// Retries and timeouts of a [`Query`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryOptions {
    /// The number of tries; at least 1.
    pub tries: u32,
    /// The wait for an answer before the next try.
    pub timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Handshake,
    Stat,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self { tries: 3, timeout: Duration::from_secs(2) }
    }
}

impl Query {
    /// Starts asking for a stat. `random` distinguishes the answers from those to others.
    ///
    /// # Errors Returns [`QueryError::Encode`] only if the embedded description is broken, which a
    /// test rules out.
    pub fn new(
        at: Timestamp,
        kind: Kind,
        random: u32,
        options: QueryOptions,
    ) -> Result<Self, QueryError> {
        let session = random.cast_signed() & SESSION_MASK;
        let mut query = Self {
            kind,
            session,
            options,
            tries: 1,
            phase: Phase::Handshake,
            deadline: at,
            output: None,
            heard: None,
        };
        query.ask(at, Phase::Handshake, Request::Handshake { session })?;
        Ok(query)
    }

    /// Returns the next datagram to send.
    pub fn take_output(&mut self) -> Option<Vec<u8>> {
        self.output.take()
    }

    /// Handles a datagram; returns the stat once it has arrived. Datagrams that do not answer the
    /// request are ignored: anybody can send one.
    ///
    /// # Errors Returns [`QueryError::Encode`] only if the embedded description is broken, which a
    /// test rules out.
    pub fn handle_received(
        &mut self,
        at: Timestamp,
        datagram: &[u8],
    ) -> Result<Option<Stat>, QueryError> {
        let answer = match Answer::decode(datagram) {
            Ok(answer) if (answer.session() ^ self.session) & SESSION_MASK == 0 => answer,
            Ok(_) => return self.pass_over(QueryError::Unexpected),
            Err(error) => return self.pass_over(error),
        };
        match (answer, self.phase) {
            (Answer::Handshake { token, .. }, Phase::Handshake) => {
                let (kind, session) = (self.kind, self.session);
                self.ask(at, Phase::Stat, Request::Stat { kind, session, token })?;
                Ok(None)
            }
            (Answer::Stat { stat, .. }, Phase::Stat) => Ok(Some(stat)),
            // A late answer to an earlier try.
            (Answer::Handshake { .. }, Phase::Stat) => Ok(None),
            (Answer::Stat { .. }, Phase::Handshake) => self.pass_over(QueryError::Unexpected),
        }
    }

    /// Handles the time of [`poll_timeout`](Self::poll_timeout): tries again, starting with the
    /// handshake, because the token may have been the reason.
    ///
    /// # Errors
    /// Returns [`QueryError::Timeout`] after the last try.
    pub fn handle_timeout(&mut self, at: Timestamp) -> Result<(), QueryError> {
        if at < self.deadline {
            return Ok(());
        }
        if self.tries >= self.options.tries {
            return Err(QueryError::Timeout { tries: self.tries, heard: self.heard.take() });
        }
        self.tries += 1;
        self.ask(at, Phase::Handshake, Request::Handshake { session: self.session })
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout).
    #[must_use]
    pub fn poll_timeout(&self) -> Timestamp {
        self.deadline
    }

    fn ask(&mut self, at: Timestamp, phase: Phase, request: Request) -> Result<(), QueryError> {
        self.phase = phase;
        self.deadline = at.plus(self.options.timeout);
        self.output = Some(request.encode()?);
        Ok(())
    }

    fn pass_over(&mut self, error: QueryError) -> Result<Option<Stat>, QueryError> {
        self.heard = Some(Box::new(error));
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use hex_literal::hex;

    use super::super::{FullStat, QueryServer};
    use super::*;

    const AT: Timestamp = Timestamp(1_000_000_000);

    fn stat() -> FullStat {
        FullStat {
            values: vec![("hostname".into(), "hi".into()), ("map".into(), "world".into())],
            players: vec!["Notch".into()],
        }
    }

    fn client() -> SocketAddr {
        "127.0.0.1:4000".parse().unwrap()
    }

    fn seconds(seconds: u64) -> Timestamp {
        AT.plus(Duration::from_secs(seconds))
    }

    #[test]
    fn asks_for_a_token_and_then_for_the_stat() {
        for kind in [Kind::Basic, Kind::Full] {
            let server = QueryServer::new(7);
            let mut query = Query::new(AT, kind, 0xffff_ffff, QueryOptions::default()).unwrap();
            let handshake = query.take_output().unwrap();
            assert_eq!(handshake, hex!("fefd 09 0f0f0f0f"));
            let answer = server.answer(AT, client(), &handshake, &stat()).unwrap();
            assert_eq!(query.handle_received(AT, &answer), Ok(None));
            let request = query.take_output().unwrap();
            let answer = server.answer(AT, client(), &request, &stat()).unwrap();
            let expected = match kind {
                Kind::Basic => Stat::Basic(stat().to_basic()),
                Kind::Full => Stat::Full(stat()),
            };
            assert_eq!(query.handle_received(AT, &answer), Ok(Some(expected)));
        }
    }

    #[test]
    fn tries_again_and_says_what_it_heard_instead() {
        let options = QueryOptions { tries: 2, timeout: Duration::from_secs(1) };
        let mut query = Query::new(AT, Kind::Full, 1, options).unwrap();
        assert_eq!(query.poll_timeout(), seconds(1));
        assert!(query.take_output().is_some());
        assert_eq!(query.handle_timeout(AT), Ok(()));
        assert_eq!(query.take_output(), None);
        assert_eq!(query.handle_timeout(seconds(1)), Ok(()));
        assert_eq!(query.take_output().unwrap(), hex!("fefd 09 00000001"));
        assert_eq!(query.handle_received(seconds(1), &hex!("09 00000001 31")), Ok(None));
        let error = query.handle_timeout(seconds(2)).unwrap_err().to_string();
        assert!(error.starts_with("no answer after 2 tries: token: "), "{error}");
    }

    #[test]
    fn passes_over_answers_to_others() {
        let mut query = Query::new(AT, Kind::Full, 1, QueryOptions::default()).unwrap();
        query.take_output();
        assert_eq!(query.handle_received(AT, &hex!("09 00000002 3100")), Ok(None));
        assert_eq!(query.take_output(), None);
        assert_eq!(query.handle_received(AT, &hex!("09 f0f0f0f1 3100")), Ok(None));
        assert_eq!(query.take_output().unwrap(), hex!("fefd 00 00000001 00000001 00000000"));
    }
}
