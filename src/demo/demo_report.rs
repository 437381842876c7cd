use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use super::DemoPacket;
use super::end::End;
use crate::schema::Name;

/// What the client saw, on all of its connections. One of Alpha has no status, UUID, encryption or
/// compression.
#[derive(Debug, Clone, Default)]
pub struct DemoReport {
    /// The status as it came, JSON.
    pub status: String,
    /// From the status ping to its answer.
    pub latency: Duration,
    /// The player's UUID, as the server gave it.
    pub uuid: String,
    /// Whether the server asked for encryption.
    pub encrypted: bool,
    /// The compression that the server asked for.
    pub threshold: Option<usize>,
    /// How often each packet came.
    pub received: BTreeMap<Name, u64>,
    /// How often each packet was sent.
    pub sent: BTreeMap<Name, u64>,
    /// Packets that did not decode, and were passed over.
    pub undecoded: u64,
    /// Every chat message, as plain text.
    pub chat: Vec<String>,
    /// Why the server kicked the player, as plain text.
    pub kick: Option<String>,
    /// Every packet in the order in which the client sent and received them; empty unless
    /// [`DemoOptions::record`](super::DemoOptions::record).
    pub packets: Vec<DemoPacket>,
}

impl DemoReport {
    /// Adds what went over a connection, as that of that number.
    pub(super) fn add(&mut self, end: &mut End, connection: usize) {
        let (sent, received, undecoded) = end.counts();
        for (report, counts) in [(&mut self.sent, sent), (&mut self.received, received)] {
            for (name, count) in counts {
                *report.entry(Name::clone(name)).or_default() += count;
            }
        }
        self.undecoded += undecoded;
        self.packets.extend(end.take_packets(connection));
    }
}

/// What the server saw of one connection.
#[derive(Debug, Clone)]
pub struct DemoVisit {
    /// Counts the server's connections from 0, in the order in which they were accepted.
    pub connection: usize,
    /// Where it came from.
    pub client: SocketAddr,
    /// The player, if it got as far as to log in.
    pub player: Option<String>,
    /// Every packet in the order in which the server sent and received them.
    pub packets: Vec<DemoPacket>,
}
