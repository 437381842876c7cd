//! Two engines with a wire between them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;

use super::super::Opening;
use mitmcraft_engine::capture::Entry;
use mitmcraft_engine::link::{Engine, Input, KeyMaterial, Output, Side};
use mitmcraft_protocol::packet::{Packet, Timestamp};
use mitmcraft_protocol::schema::Direction;

/// Two engines with a wire between them that carries at most `size` bytes at once, and a clock that
/// jumps to the next time at which something is due.
pub(super) struct Wire<C, S> {
    pub(super) client: C,
    pub(super) server: S,
    pub(super) client_entries: Vec<Entry>,
    pub(super) server_entries: Vec<Entry>,
    clock: Timestamp,
    size: usize,
}

impl<C: Engine, S: Engine> Wire<C, S> {
    pub(super) fn new(client: C, server: S, size: usize) -> Self {
        let (client_entries, server_entries) = (Vec::new(), Vec::new());
        Self { client, server, client_entries, server_entries, clock: START, size }
    }

    /// Runs until both engines are over.
    pub(super) fn run(&mut self) {
        let Self { client, server, .. } = self;
        while !(client.is_over() && server.is_over()) {
            answer_outputs(client, self.clock);
            answer_outputs(server, self.clock);
            if carry(client, server, Side::Server, self.clock, self.size)
                | carry(server, client, Side::Client, self.clock, self.size)
            {
                continue;
            }
            if client.is_over() {
                server.handle(self.clock, Input::Closed(Side::Client));
            } else if server.is_over() {
                client.handle(self.clock, Input::Closed(Side::Server));
            }
            let due = [client.poll_timeout(), server.poll_timeout()];
            self.clock = due.into_iter().flatten().min().unwrap_or(self.clock).max(self.clock);
            wake(client, self.clock);
            wake(server, self.clock);
        }
        client.take_entries(&mut self.client_entries);
        server.take_entries(&mut self.server_entries);
    }
}

fn wake(engine: &mut impl Engine, now: Timestamp) {
    if engine.poll_timeout().is_some_and(|due| due <= now) {
        engine.handle(now, Input::Timeout);
    }
}

/// Carries bytes from an engine to its peer; whether there were any.
fn carry(
    from: &mut impl Engine,
    to: &mut impl Engine,
    peer: Side,
    now: Timestamp,
    size: usize,
) -> bool {
    let count = from.pending(peer).len().min(size);
    if count == 0 || !(to.wants_read(peer.other()) || to.is_over()) {
        return false;
    }
    let bytes = from.pending(peer)[..count].to_vec();
    from.advance(peer, count);
    to.handle(now, Input::Received(peer.other(), &bytes));
    true
}

/// Gives an engine the key that it asks for.
pub(super) fn answer_outputs(engine: &mut impl Engine, now: Timestamp) {
    while let Some(output) = engine.poll_output() {
        if output == Output::GenerateKey {
            engine.handle(now, Input::Key(Box::new(MATERIAL.clone())));
        }
    }
}

pub(super) fn opening() -> Opening {
    Opening {
        session: 1,
        at: START,
        client: ([127, 0, 0, 1], 1).into(),
        server: ([127, 0, 0, 1], 2).into(),
        seed: [9; 32],
    }
}

pub(super) fn packets(entries: &[Entry]) -> impl Iterator<Item = &Packet> {
    entries.iter().filter_map(Entry::record).map(|record| &record.packet)
}

/// The bodies that travelled in a direction.
pub(super) fn bodies(entries: &[Entry], direction: Direction) -> Vec<Bytes> {
    let packets = packets(entries).filter(|packet| packet.direction() == direction);
    packets.map(|packet| packet.body().unwrap()).collect()
}

/// How often each packet travelled in a direction.
pub(super) fn counts(entries: &[Entry], direction: Direction) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for packet in packets(entries).filter(|packet| packet.direction() == direction) {
        *counts.entry(packet.kind().unwrap().name().to_string()).or_default() += 1;
    }
    counts
}

pub(super) const START: Timestamp = Timestamp(1_800_000_000_000_000_000);

static MATERIAL: LazyLock<KeyMaterial> = LazyLock::new(|| {
    let key = rsa::RsaPrivateKey::new(&mut ChaCha20Rng::from_seed([4; 32]), 1024).unwrap();
    KeyMaterial { key, secret: [1; 16], token: [2; 4], seed: [3; 32] }
});
