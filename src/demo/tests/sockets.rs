//! Demos over real sockets.

use std::io;

use tokio::net::TcpSocket;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::*;
use crate::proxy::{self, Clock, LogHandle, LogOptions, LogWriter};
use mitmcraft_engine::capture::Sink;
use mitmcraft_engine::link::Upstream;
use mitmcraft_engine::ping::Form;
use mitmcraft_engine::query::{Kind, QueryOptions, Stat};

struct ChannelSink(UnboundedSender<Entry>);

impl Sink for ChannelSink {
    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        self.0.send(entry.clone()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn log() -> (LogHandle, UnboundedReceiver<Entry>) {
    let (sender, receiver) = unbounded_channel();
    let sink = ("test".to_owned(), Box::new(ChannelSink(sender)) as Box<dyn Sink>);
    let (log, _) = LogWriter::start(vec![sink], LogOptions::default()).unwrap();
    (log, receiver)
}

/// All entries, once nothing writes to the log any more.
async fn entries(mut receiver: UnboundedReceiver<Entry>) -> Vec<Entry> {
    let mut entries = Vec::new();
    while let Some(entry) = receiver.recv().await {
        entries.push(entry);
    }
    entries
}

fn session(entries: &[Entry], session: u64) -> Vec<Entry> {
    entries.iter().filter(|entry| entry.context().session == session).cloned().collect()
}

async fn bind(options: &DemoOptions, log: LogHandle) -> DemoServer {
    let any = ([127, 0, 0, 1], 0).into();
    DemoServer::bind(any, options.clone(), log).await.unwrap()
}

#[tokio::test]
async fn plays_over_real_sockets_and_both_ends_saw_the_same() {
    let options = DemoOptions {
        tick: Duration::from_millis(5),
        keep_alive: Duration::from_millis(50),
        duration: Duration::from_millis(300),
        ..DemoOptions::default()
    };
    let [(server_log, server_seen), (first_log, first_seen), (second_log, second_seen)] =
        [log(), log(), log()];
    let server = bind(&options, server_log).await;
    let address = server.local_addr();
    let first = play(address, options.clone(), first_log);
    let (first, second) = tokio::join!(first, play(address, options, second_log));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.kick.as_deref(), Some("Goodbye, Steve ☃"));
    // What the server says by itself and what it answers can come in either order.
    let said = |report: &DemoReport| {
        let mut lines = report.chat.clone();
        lines.sort();
        lines
    };
    assert_eq!(said(&first), said(&second));

    server.stop().await;
    let server_seen = entries(server_seen).await;
    let sessions: BTreeSet<u64> = server_seen.iter().map(|it| it.context().session).collect();
    assert_eq!(sessions.len(), 4);
    for seen in [entries(first_seen).await, entries(second_seen).await] {
        for direction in Direction::ALL {
            for number in [1, 2] {
                let ours = bodies(&session(&seen, number), direction);
                let same = |other: &u64| bodies(&session(&server_seen, *other), direction) == ours;
                assert!(sessions.iter().any(same), "{direction}");
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_stops_kicks_its_players() {
    let options =
        DemoOptions { duration: Duration::from_secs(60), encrypt: false, ..DemoOptions::default() };
    let ((server_log, _seen), (client_log, mut seen)) = (log(), log());
    let server = bind(&options, server_log).await;
    let playing = tokio::spawn(play(server.local_addr(), options, client_log));
    let in_game = |entry: &Entry| {
        wire::packets(std::slice::from_ref(entry)).any(|packet| packet.state() == State::Play)
    };
    while !in_game(&seen.recv().await.unwrap()) {}
    server.stop().await;
    let error = playing.await.unwrap().unwrap_err();
    assert!(matches!(error, DemoError::Disconnected { state: State::Play, .. }), "{error:?}");
}

#[tokio::test]
async fn an_address_that_refuses_connections_is_an_error() {
    // A socket that is bound and does not listen keeps its port from others.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = socket.local_addr().unwrap();
    let played = play(address, DemoOptions::default(), log().0).await;
    assert!(matches!(played, Err(DemoError::Connect(_))));
}

#[tokio::test]
async fn one_port_answers_every_ping_query_and_a_player_of_alpha() {
    let options = DemoOptions {
        tick: Duration::from_millis(1),
        duration: Duration::from_millis(20),
        ..DemoOptions::default()
    };
    let (server_log, seen) = log();
    let server = bind(&options, server_log).await;
    let address = server.local_addr();
    let upstream = Upstream { host: address.ip().to_string(), port: address.port() };
    let clock = Clock::new();
    for form in Form::ALL {
        let status = proxy::ping(&clock, &upstream, form, options.timeout).await.unwrap();
        assert!(status.motd().plain().starts_with("mitmcraft demo"), "{form}: {status:?}");
        assert_eq!((status.online, status.max), (Some(2), Some(20)));
    }
    let stat = proxy::query(&clock, &upstream, Kind::Full, QueryOptions::default()).await.unwrap();
    let Stat::Full(stat) = stat else { panic!("{stat:?}") };
    assert_eq!(stat.players, ["Alex", "Steffi"]);
    assert!(stat.values.contains(&("hostport".into(), address.port().to_string())));
    let report = play_alpha(address, options, log().0).await.unwrap();
    assert_eq!(report.kick.as_deref(), Some("Goodbye!"));
    server.stop().await;
    let seen = entries(seen).await;
    let players: BTreeSet<&str> =
        seen.iter().filter_map(|entry| entry.context().player.as_deref()).collect();
    assert_eq!(players, BTreeSet::from(["Steve"]));
    assert_eq!(undecoded(&seen), 0);
}
