//! The demo's game, recorded, and each of its ends with a replay in the place of the other.

use super::*;
use mitmcraft_engine::link::Upstream;
use mitmcraft_engine::replay::{
    ClientOptions, ClientReplay, Pace, Recording, ServerOptions, ServerReplay, Tally,
};
use mitmcraft_protocol::packet::Packet;

/// A whole game as its client saw it: what came of it, its entries, and these as a recording.
fn recorded() -> (DemoReport, Vec<Entry>, Arc<Recording>) {
    let Wire { client, client_entries, .. } = game();
    let recording = Recording::read(client_entries.iter().cloned().map(Ok), None).unwrap();
    (client.finish().unwrap(), client_entries, Arc::new(recording))
}

#[test]
fn the_client_plays_with_a_recorded_server_as_with_the_live_one() {
    let (live, live_entries, recording) = recorded();
    let mut options = ServerOptions::new(recording);
    options.play.pace = Pace::LOCKSTEP;
    options.threshold = Some(100);
    options.encrypt = true;
    for size in [1, 7, usize::MAX] {
        let tally = Tally::default();
        let server = ServerReplay::new(Arc::new(options.clone()), &opening(), tally.clone());
        let client = client(&DemoOptions::default(), Visit::Game);
        let mut wire = Wire::new(client, server, size);
        wire.run();
        let report = wire.client.finish().unwrap();
        assert_eq!((report.encrypted, report.threshold), (true, Some(100)));
        assert_eq!(
            (&report.uuid, &report.chat, &report.kick),
            (&live.uuid, &live.chat, &live.kick)
        );
        let without_own = |entries: &[Entry]| {
            let mut received = counts(entries, Direction::Clientbound);
            // The replay makes these itself.
            let own = ["keep_alive", "compress", "encryption_begin"];
            received.retain(|name, _| !own.contains(&&**name));
            received
        };
        assert_eq!(without_own(&wire.client_entries), without_own(&live_entries));
        assert_eq!((tally.counts().finished, tally.counts().missed), (1, 0));
    }
}

#[test]
fn the_server_plays_with_a_recorded_client_as_with_the_live_one() {
    let (_, live_entries, recording) = recorded();
    for size in [1, 7, usize::MAX] {
        let mut options = ClientOptions::new(Arc::clone(&recording));
        options.play.pace = Pace::FAITHFUL;
        let upstream = Upstream { host: "localhost".into(), port: 25565 };
        let tally = Tally::default();
        let client =
            ClientReplay::new(Arc::new(options), &opening(), &upstream, "Alex", tally.clone());
        let mut wire = Wire::new(client, server(&DemoOptions::default()), size);
        wire.run();
        let last = wire.server_entries.last().unwrap();
        assert_eq!(last.context().player.as_deref(), Some("Alex"));
        let chat = |entries: &[Entry]| {
            let serverbound =
                wire::packets(entries).filter(|it| it.direction() == Direction::Serverbound);
            // What follows the farewell is not read any more, and has no kind.
            let is_chat = |it: &&Packet| it.kind().is_some_and(|kind| **kind.name() == *"chat");
            let chat = serverbound.filter(is_chat);
            chat.map(|it| it.body().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(chat(&wire.server_entries), chat(&live_entries));
        assert_eq!(tally.counts().finished, 1);
    }
}
