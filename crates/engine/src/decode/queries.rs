use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;

use super::end_reason::EndReason;
use crate::capture::Entry;
use crate::filter::Pipeline;
use crate::query::{Relay, RelayOptions, RelayOutput};
use mitmcraft_protocol::packet::{Cause, Timestamp};
use mitmcraft_protocol::schema::{Direction, query_magic};

/// Observes Query traffic: the clients of each server are the sessions of a [`Relay`] whose output is
/// discarded.
#[derive(Debug, Default)]
pub(super) struct Queries {
    servers: HashMap<SocketAddr, QueryServer>,
}

#[derive(Debug)]
struct QueryServer {
    relay: Relay,
    sessions: HashMap<SocketAddr, u64>,
}

impl Queries {
    /// Takes a datagram, which is ignored unless it belongs to Query. `sessions` is the number of the
    /// last session.
    pub(super) fn handle(
        &mut self,
        at: Timestamp,
        (from, to): (SocketAddr, SocketAddr),
        bytes: Bytes,
        sessions: &mut u64,
        entries: &mut Vec<Entry>,
    ) {
        if is_request(&bytes) {
            if self.servers.len() >= MAX_SERVERS && !self.servers.contains_key(&to) {
                return;
            }
            let server = self.servers.entry(to).or_insert_with(|| QueryServer::new(to));
            server.settle(at, entries);
            let known = &mut server.sessions;
            server.relay.handle_client(at, from, bytes, || {
                *sessions += 1;
                known.insert(from, *sessions);
                (*sessions, Pipeline::default())
            });
            server.settle(at, entries);
        } else if let Some(server) = self.servers.get_mut(&from)
            && let Some(session) = server.sessions.get(&to)
        {
            server.relay.handle_server(at, *session, bytes);
            server.settle(at, entries);
        }
    }

    /// Ends all sessions: the recording has ended.
    pub(super) fn end(&mut self, at: Timestamp, why: EndReason, entries: &mut Vec<Entry>) {
        let why = Cause::new(why);
        for server in self.servers.values_mut() {
            server.relay.handle_stop(at, &why);
            server.settle(at, entries);
        }
    }
}

impl QueryServer {
    fn new(address: SocketAddr) -> Self {
        let relay = Relay::new(RelayOptions {
            server: address,
            upstream: address.to_string(),
            clients: MAX_CLIENTS,
            idle: IDLE,
        });
        Self { relay, sessions: HashMap::new() }
    }

    /// Ends idle sessions, and takes the entries of the others.
    fn settle(&mut self, at: Timestamp, entries: &mut Vec<Entry>) {
        if self.relay.poll_timeout().is_some_and(|due| due <= at) {
            self.relay.handle_timeout(at);
        }
        while let Some(output) = self.relay.poll_output() {
            if let RelayOutput::Close(ended) = output {
                self.sessions.retain(|_, session| *session != ended);
            }
        }
        entries.append(&mut self.relay.take_entries());
    }
}

/// Returns `true` for a Query request: the magic, the type of a handshake or a stat, and the length of
/// its fields.
fn is_request(datagram: &[u8]) -> bool {
    let Some(rest) = datagram.strip_prefix(query_magic(Direction::Serverbound)) else {
        return false;
    };
    matches!((rest.first(), rest.len()), (Some(0x09), 5) | (Some(0x00), 9 | 13))
}

/// Servers that are tracked; requests to further ones are ignored.
const MAX_SERVERS: usize = 1000;

/// Clients of a server that are tracked at a time.
const MAX_CLIENTS: usize = 1000;

/// Time without a request after which a client's session ends.
const IDLE: Duration = Duration::from_secs(60);
