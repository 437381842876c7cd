//! The demo's game, recorded, and each of its ends with a replay in the place of the other.

use super::*;
use crate::capture::{Entry, Record};
use crate::codec::{Frame, Limits};
use crate::link::{Engine, Input as Happened, Output, Side};
use crate::link::{KeyMaterial, Upstream};
use crate::packet::{Content, Context, Packet, Timestamp};
use crate::replay::{
    ClientOptions, ClientReplay, ClientStart, Extra, Pace, PlayOptions, Recording, ServerOptions,
    ServerReplay, ServerStart, Tally,
};

/// A whole game, as its client saw it.
fn game() -> (DemoReport, Arc<Recording>) {
    let mut wire = Wire::game(&options(), usize::MAX);
    wire.run();
    let report = wire.client.finish(1).unwrap();
    let context = Arc::new(Context {
        session: 1,
        opened: START,
        client: ([127, 0, 0, 1], 1).into(),
        server: Some(([127, 0, 0, 1], 2).into()),
        upstream: "demo:25565".into(),
        player: Some("Steve".into()),
        protocol: Catalog::embedded().find(47).unwrap().protocol,
        version: Some(47),
        guess: false,
    });
    let entries = (1..).zip(&report.packets).map(|(seq, packet)| {
        let content = Content::Frame(Frame::from_body(packet.body.clone()));
        let at = START.plus(Duration::from_millis(seq));
        let context = Arc::clone(&context);
        let packet = Packet::new(context, seq, at, packet.direction, packet.state, content);
        Ok(Entry::Packet(Record::passed(packet)))
    });
    let recording = Recording::read(entries, None).unwrap();
    (report, Arc::new(recording))
}

/// Carries bytes between an engine and a peer until both are over.
fn run(engine: &mut impl Engine, peer: &mut impl Peer, side: Side, size: usize) {
    let mut clock = Duration::ZERO;
    while !(engine.is_over() && peer.is_over()) {
        let now = START.plus(clock);
        let mut moved = false;
        while let Some(output) = engine.poll_output() {
            if output == Output::GenerateKey {
                engine.handle(now, Happened::Key(material()));
            }
        }
        let count = engine.pending(side).len().min(size);
        if count > 0 {
            let bytes = engine.pending(side)[..count].to_vec();
            peer.handle(clock, Input::Received(&bytes));
            engine.advance(side, count);
            moved = true;
        }
        let count = peer.end().pending().len().min(size);
        if count > 0 && engine.wants_read(side) {
            let bytes = peer.end().pending()[..count].to_vec();
            engine.handle(now, Happened::Received(side, &bytes));
            peer.end_mut().advance(count);
            moved = true;
        }
        if moved {
            continue;
        }
        if engine.is_over() {
            peer.handle(clock, Input::Closed);
        } else if peer.is_over() {
            engine.handle(now, Happened::Closed(side));
        } else {
            let due = engine.poll_timeout().map(|due| due.since(START));
            clock = due.into_iter().chain([peer.timeout()]).min().unwrap().max(clock);
            engine.handle(START.plus(clock), Happened::Timeout);
            peer.wake(clock);
        }
    }
}

fn material() -> Box<KeyMaterial> {
    let key = rsa::RsaPrivateKey::new(&mut ChaCha20Rng::from_seed([4; 32]), 1024).unwrap();
    Box::new(KeyMaterial { key, secret: [1; 16], token: [2; 4], seed: [3; 32] })
}

#[test]
fn the_client_plays_with_a_recorded_server_as_with_the_live_one() {
    let (live, recording) = game();
    let options = ServerOptions {
        recording,
        play: PlayOptions { pace: Pace::LOCKSTEP, ..PlayOptions::default() },
        threshold: Some(100),
        encrypt: true,
        repeat: false,
        hold: false,
        extra: Extra::Ignore,
        catalog: Catalog::embedded().clone(),
        limits: Limits::default(),
    };
    for size in [1, 7, usize::MAX] {
        let start = ServerStart {
            session: 1,
            at: START,
            client: ([127, 0, 0, 1], 1).into(),
            server: ([127, 0, 0, 1], 2).into(),
            seed: 1,
        };
        let tally = Tally::default();
        let mut server = ServerReplay::new(Arc::new(options.clone()), start, tally.clone());
        let given = Arc::new(super::options());
        let report = DemoReport::default();
        let mut client = ClientCore::game(given, random(), "localhost", 25565, report);
        run(&mut server, &mut client, Side::Client, size);
        let report = client.finish(1).unwrap();
        assert_eq!((report.encrypted, report.threshold), (true, Some(100)));
        assert_eq!(
            (&report.uuid, &report.chat, &report.kick),
            (&live.uuid, &live.chat, &live.kick)
        );
        let without_alive = |report: &DemoReport| {
            let mut received = report.received.clone();
            // Those of the login are our own.
            received.retain(|name, _| {
                !["keep_alive", "compress", "encryption_begin"].contains(&&**name)
            });
            received
        };
        assert_eq!(without_alive(&report), without_alive(&live));
        assert_eq!((tally.counted().finished, tally.counted().missed), (1, 0));
    }
}

#[test]
fn the_server_plays_with_a_recorded_client_as_with_the_live_one() {
    let (live, recording) = game();
    for size in [1, 7, usize::MAX] {
        let play = PlayOptions { pace: Pace::FAITHFUL, ..PlayOptions::default() };
        let limits = Limits::default();
        let options =
            ClientOptions { recording: Arc::clone(&recording), play, hold: false, limits };
        let start = ClientStart {
            session: 1,
            at: START,
            client: ([127, 0, 0, 1], 1).into(),
            server: ([127, 0, 0, 1], 2).into(),
            upstream: Upstream { host: "localhost".into(), port: 25565 },
            name: "Alex".into(),
            seed: [6; 32],
        };
        let tally = Tally::default();
        let mut client = ClientReplay::new(Arc::new(options), start, tally.clone());
        let mut server = ServerCore::new(house(&super::options()), [5; 32]);
        run(&mut client, &mut server, Side::Server, size);
        assert_eq!(server.player(), Some("Alex"));
        let heard = server.end_mut().take_packets(1);
        let chat = |packets: &[DemoPacket]| {
            let serverbound = packets.iter().filter(|it| it.direction == Direction::Serverbound);
            let chat = serverbound.filter(|it| it.name.as_deref() == Some("chat"));
            chat.map(|it| it.body.clone()).collect::<Vec<_>>()
        };
        assert_eq!(chat(&heard), chat(&live.packets));
        assert_eq!(tally.counted().finished, 1);
    }
}

const START: Timestamp = Timestamp(1_800_000_000_000_000_000);
