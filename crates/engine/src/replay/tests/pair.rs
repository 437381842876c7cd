//! Server and client of a recorded session, replayed against each other: each receives what its
//! recorded counterpart received.

use std::sync::LazyLock;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rsa::RsaPrivateKey;

use super::*;
use crate::capture::EventKind;
use crate::filter::Pipeline;
use crate::link::{Engine, Input, KeyMaterial, Opening, Output, PerSide, Side, Upstream};
use crate::replay::{
    ClientOptions, ClientReplay, Pace, PlayOptions, ServerOptions, ServerReplay, Tally, TallyCounts,
};
use mitmcraft_protocol::packet::Timestamp;
use mitmcraft_protocol::schema::{Direction, State};

/// Sizes of the chunks in which bytes are carried.
pub(super) const SIZES: [usize; 3] = [1, 7, usize::MAX];

/// A connected server and client, and a clock that jumps to the next timeout.
pub(super) struct Pair<S, C> {
    pub(super) server: S,
    pub(super) client: C,
    pub(super) server_entries: Vec<Entry>,
    pub(super) client_entries: Vec<Entry>,
    pub(super) clock: Timestamp,
    size: usize,
    /// `true` if the other engine has closed the connection to this side.
    ends: PerSide<bool>,
    /// `true` if this side has been notified of that.
    notified: PerSide<bool>,
}

impl<S: Engine, C: Engine> Pair<S, C> {
    pub(super) fn new(server: S, client: C, size: usize) -> Self {
        let (server_entries, client_entries) = (Vec::new(), Vec::new());
        let (ends, notified, clock) = (PerSide::default(), PerSide::default(), START);
        Self { server, client, server_entries, client_entries, clock, size, ends, notified }
    }

    /// Runs until both are over, for at most this time.
    pub(super) fn run_for(&mut self, seconds: u64) {
        let until = START.0 + seconds * 1_000_000_000;
        loop {
            while self.step() {}
            let over = self.server.is_over() && self.client.is_over();
            let due = [self.server.poll_timeout(), self.client.poll_timeout()];
            let Some(next) = due.into_iter().flatten().min().filter(|_| !over) else { break };
            self.clock = self.clock.max(next);
            if self.clock.0 > until {
                break;
            }
            for (engine, due) in
                [&mut self.server as &mut dyn Engine, &mut self.client].into_iter().zip(due)
            {
                if due.is_some_and(|due| due <= self.clock) {
                    engine.handle(self.clock, Input::Timeout);
                }
            }
        }
        self.server.take_entries(&mut self.server_entries);
        self.client.take_entries(&mut self.client_entries);
    }

    pub(super) fn run(&mut self) {
        self.run_for(3600);
        assert!(self.server.is_over() && self.client.is_over(), "nothing is due any more");
    }

    /// Runs until both are over, and returns their records.
    pub(super) fn played(mut self) -> Played {
        self.run();
        let Self { server_entries, client_entries, clock, .. } = self;
        Played { server_entries, client_entries, clock }
    }

    fn step(&mut self) -> bool {
        let mut moved = false;
        for peer in [Side::Client, Side::Server] {
            let (ours, theirs): (&mut dyn Engine, &mut dyn Engine) = match peer {
                Side::Client => (&mut self.server, &mut self.client),
                Side::Server => (&mut self.client, &mut self.server),
            };
            while let Some(output) = ours.poll_output() {
                moved = true;
                match output {
                    Output::GenerateKey => ours.handle(self.clock, Input::Key(material())),
                    Output::Shutdown(_) | Output::Close(_) | Output::Reset(_) => {
                        self.ends[peer] = true
                    }
                    Output::LogKey(_) | Output::Notice(_) => {}
                    _ => panic!("{output:?}"),
                }
            }
            let count = ours.pending(peer).len().min(self.size);
            if count > 0 && (theirs.is_over() || theirs.wants_read(peer.other())) {
                let bytes = ours.pending(peer)[..count].to_vec();
                theirs.handle(self.clock, Input::Received(peer.other(), &bytes));
                ours.advance(peer, count);
                moved = true;
            }
            let ended = self.ends[peer] && ours.pending(peer).is_empty();
            if ended && !std::mem::replace(&mut self.notified[peer], true) {
                theirs.handle(self.clock, Input::Closed(peer.other()));
                moved = true;
            }
        }
        moved
    }
}

/// The records of both ends of a replay.
pub(super) struct Played {
    pub(super) server_entries: Vec<Entry>,
    pub(super) client_entries: Vec<Entry>,
    pub(super) clock: Timestamp,
}

impl Played {
    /// Runs a server and a client, each alone or with a session without filters before it.
    pub(super) fn between(
        server: ServerReplay,
        client: ClientReplay,
        size: usize,
        filtered: bool,
    ) -> Self {
        if filtered {
            let none = Pipeline::default;
            return Pair::new(server.filtered(none()), client.filtered(none()), size).played();
        }
        Pair::new(server, client, size).played()
    }
}

const START: Timestamp = Timestamp(1_800_000_000_000_000_000);

pub(super) fn material() -> Box<KeyMaterial> {
    static KEY: LazyLock<RsaPrivateKey> =
        LazyLock::new(|| RsaPrivateKey::new(&mut ChaCha20Rng::from_seed([3; 32]), 1024).unwrap());
    Box::new(KeyMaterial { key: KEY.clone(), secret: [7; 16], token: [6; 4], seed: [8; 32] })
}

fn opening(seed: [u8; 32]) -> Opening {
    let [client, server] = [50_000, 25_566].map(|port| ([127, 0, 0, 1], port).into());
    Opening { session: 1, at: START, client, server, seed }
}

pub(super) fn server_options(recording: Arc<Recording>, pace: Pace) -> ServerOptions {
    let play = PlayOptions { pace, ..PlayOptions::default() };
    ServerOptions { play, ..ServerOptions::new(recording) }
}

pub(super) fn server(options: ServerOptions, tally: &Tally) -> ServerReplay {
    let mut seed = [0; 32];
    seed[0] = 41;
    ServerReplay::new(Arc::new(options), &opening(seed), tally.clone())
}

pub(super) fn client_options(recording: Arc<Recording>) -> ClientOptions {
    let play = PlayOptions { pace: Pace::LOCKSTEP, ..PlayOptions::default() };
    ClientOptions { play, ..ClientOptions::new(recording) }
}

pub(super) fn client(options: ClientOptions, name: &str, tally: &Tally) -> ClientReplay {
    let upstream = Upstream { host: "mc.example.org".into(), port: 25_566 };
    ClientReplay::new(Arc::new(options), &opening([9; 32]), &upstream, name, tally.clone())
}

/// Returns names and bodies of the packets in `direction` in the game, without keep-alives, which
/// differ in each session.
pub(super) fn game(entries: &[Entry], direction: Direction) -> Vec<(String, Vec<u8>)> {
    let records = entries.iter().filter_map(Entry::record);
    records
        .filter(|it| it.packet.direction() == direction && it.packet.state() == State::Play)
        .filter(|it| name(it) != "keep_alive")
        .map(|it| (name(it), it.packet.body().unwrap().to_vec()))
        .collect()
}

pub(super) fn reason(entries: &[Entry]) -> String {
    let Some(Entry::Event(event)) = entries.last() else { panic!("{:?}", entries.last()) };
    let EventKind::Close(summary) = &event.kind else { panic!("{event:?}") };
    summary.reason.clone()
}

#[test]
fn both_ends_see_the_recorded_session_with_any_encryption_and_compression() {
    for (file, encrypt) in [("session-1.8.jsonl", true), ("session-1.8-encrypted.pcapng", false)] {
        let recorded = capture(file);
        let ways = SIZES.into_iter().zip([Some(64), None, Some(0)]);
        for ((size, threshold), filtered) in ways.flat_map(|way| [(way, false), (way, true)]) {
            let tally = [Tally::default(), Tally::default()];
            let recording = recording(file);
            let options = ServerOptions {
                encrypt,
                threshold,
                ..server_options(Arc::clone(&recording), Pace::LOCKSTEP)
            };
            let pair = Played::between(
                server(options, &tally[0]),
                client(client_options(recording), "Somebody", &tally[1]),
                size,
                filtered,
            );
            assert_eq!(
                game(&pair.client_entries, Direction::Clientbound),
                game(&recorded, Direction::Clientbound),
            );
            assert_eq!(
                game(&pair.server_entries, Direction::Serverbound),
                game(&recorded, Direction::Serverbound),
            );
            let counted: Vec<TallyCounts> = tally.iter().map(Tally::counts).collect();
            for counted in counted {
                assert_eq!((counted.sessions, counted.playing, counted.finished), (1, 0, 1));
                assert_eq!((counted.extra, counted.missed), (0, 0));
            }
            assert_eq!(reason(&pair.client_entries), "disconnected by the server: see you");
            assert!(pair.clock.since(START).as_secs() < 1, "no packet was waited for in vain");
            let success = pair
                .client_entries
                .iter()
                .filter_map(Entry::record)
                .find(|it| name(it) == "success");
            let success = success.unwrap();
            assert_eq!(text(success, "username"), "Somebody");
            assert_eq!(text(success, "uuid"), "f3d28cb0-7225-3cb1-baeb-2dadd2be89ae");
            let undecoded = pair.server_entries.iter().filter_map(Entry::record);
            assert_eq!(undecoded.filter(|it| it.packet.error().is_some()).count(), 0);
        }
    }
}
