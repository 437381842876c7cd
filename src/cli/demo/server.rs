use std::hash::{BuildHasher as _, RandomState};
use std::io::Cursor;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context as _;
use mitmcraft::proxy::{Clock, EngineRunner, Listener, LogHandle, Stop};
use mitmcraft_engine::capture::read_capture;
use mitmcraft_engine::link::Engine;
use mitmcraft_engine::query::{FullStat, QueryServer};
use mitmcraft_engine::replay::{Recording, ServerOptions, ServerReplay, Tally};
use mitmcraft_protocol::schema::Catalog;
use tokio::net::UdpSocket;
use tokio::sync::watch;

/// An embedded recording, of which the demo plays both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scene {
    /// A player of 1.8.
    Java,
    /// A player of Alpha 1.2.3 (protocol 5).
    Alpha,
}

impl Scene {
    /// Reads the recording.
    pub(super) fn recording(self) -> anyhow::Result<Arc<Recording>> {
        let session = match self {
            Self::Java => JAVA,
            Self::Alpha => ALPHA,
        };
        let entries = read_capture(Cursor::new(SESSIONS), Catalog::embedded())?;
        let recording = Recording::read(entries, Some(session));
        Ok(Arc::new(recording.context("the demo's recording cannot be read")?))
    }

    fn options(self) -> anyhow::Result<Arc<ServerOptions>> {
        let mut options = ServerOptions::new(self.recording()?);
        options.encrypt = true;
        Ok(Arc::new(options))
    }
}

/// A server that plays its side of a scene to each client, and answers every Server List Ping, and Query.
pub(super) struct Server {
    /// Its address.
    pub(super) address: SocketAddr,
    /// Its UDP address for Query.
    pub(super) query: SocketAddr,
    scene: watch::Sender<Arc<ServerOptions>>,
}

impl Server {
    /// Starts to serve [`Scene::Java`] on free ports of this machine, as long as the program runs. What the server
    /// sees goes to `log`.
    pub(super) async fn start(log: LogHandle) -> anyhow::Result<Self> {
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = Listener::bind(free, MAX_CLIENTS).await?;
        let socket = UdpSocket::bind(free).await?;
        let (address, query) = (listener.local_addr()?, socket.local_addr()?);
        let (scene, shown) = watch::channel(Scene::Java.options()?);
        tokio::spawn(answer(socket, stat(query)));
        tokio::spawn(async move {
            let server = |opening| -> Box<dyn Engine> {
                let options = Arc::clone(&shown.borrow());
                Box::new(ServerReplay::new(options, &opening, Tally::default()))
            };
            EngineRunner::new(log).serve(listener, &Stop::new(), server).await;
        });
        Ok(Self { address, query, scene })
    }

    /// Plays `scene` to the clients that come from now on.
    pub(super) fn show(&self, scene: Scene) -> anyhow::Result<()> {
        self.scene.send_replace(scene.options()?);
        Ok(())
    }
}

/// Answers Query as long as the program runs.
async fn answer(socket: UdpSocket, stat: FullStat) {
    // The standard library seeds its hashers from the system.
    let (server, clock) = (QueryServer::new(RandomState::new().hash_one(0)), Clock::new());
    let mut buffer = [0; MAX_REQUEST];
    loop {
        // What cannot be received or sent is lost, as datagrams are.
        let Ok((count, client)) = socket.recv_from(&mut buffer).await else { continue };
        if let Some(answer) = server.answer(clock.now(), client, &buffer[..count], &stat) {
            let _ = socket.send_to(&answer, client).await;
        }
    }
}

fn stat(address: SocketAddr) -> FullStat {
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let values = [
        ("hostname", "mitmcraft demo"),
        ("gametype", "SMP"),
        ("game_id", "MINECRAFT"),
        ("version", "1.8"),
        ("plugins", ""),
        ("map", "world"),
        ("numplayers", "2"),
        ("maxplayers", "20"),
        ("hostport", &port),
        ("hostip", &host),
    ];
    FullStat {
        values: values.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
        players: vec!["Alex".into(), "Steffi".into()],
    }
}

/// The recorded sessions: a status request, and a game of each scene.
const SESSIONS: &[u8] = include_bytes!("data/sessions.pcapng.zst");

/// The numbers of the games in the recording.
const ALPHA: u64 = 2;
const JAVA: u64 = 3;

/// More clients than the demo has.
const MAX_CLIENTS: usize = 64;

/// More bytes than any request has.
const MAX_REQUEST: usize = 2048;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_recordings_can_be_played_and_show_most_of_what_the_game_has() {
        for (scene, version, packets) in [(Scene::Java, 47, 800), (Scene::Alpha, 5, 40)] {
            let recording = scene.recording().unwrap();
            assert_eq!((recording.version(), recording.left_out), (version, 0), "{scene:?}");
            assert!(recording.len() > packets && recording.status.is_some(), "{scene:?}");
            assert_eq!(recording.context.player.as_deref(), Some("Steve"));
        }
        let entries = read_capture(Cursor::new(SESSIONS), Catalog::embedded()).unwrap();
        let mut names = BTreeSet::new();
        for entry in entries.map(Result::unwrap) {
            let Some(record) = entry.record() else { continue };
            assert!(record.packet.error().is_none(), "{:?}", record.packet);
            names.extend(record.packet.kind().map(|kind| kind.name().to_string()));
        }
        for name in ["chat", "explosion", "keep_alive", "map_chunk", "map_chunk_bulk", "position"] {
            assert!(names.contains(name), "{name}");
        }
        assert!(names.len() > 60, "{}", names.len());
    }
}
