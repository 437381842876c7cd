use std::collections::BTreeSet;
use std::io::{self, Seek, Write};

use serde_json::{Value as Json, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{Explainer, Trigger};
use crate::analysis::{Channels, Redactor, Sort, Stats};
use crate::capture::{Entry, LeftOut, PcapngSink, Sink as _};
use crate::report::Report as _;
use crate::text::LineOptions;
use mitmcraft_protocol::packet::{Context, Origin, Packet, Timestamp};
use mitmcraft_protocol::schema::{PerDirection, Role};

/// What happened to a session, as a file to hand over: a zip archive with a capture, which every command opens, and
/// what is known about it. `docs/disconnected.md` lists its members.
#[derive(Debug)]
pub struct Incident {
    /// The session's last entries.
    pub entries: Vec<Entry>,
    /// What is missing before and between them.
    pub left_out: LeftOut,
    /// Why the file is written.
    pub trigger: Trigger,
    /// The rule that the packet breaks, if the trigger is a packet with a fault.
    pub rule: Option<String>,
    /// The time of the trigger.
    pub at: Timestamp,
    /// What is known of the session's beginning.
    pub known: Acquaintance,
}

/// Facts from the whole session that its last entries may no longer show: brands, channels, whether a player logged in.
#[derive(Debug, Clone, Default)]
pub struct Acquaintance {
    brands: PerDirection<Option<String>>,
    channels: PerDirection<BTreeSet<String>>,
    /// `true` once a player has said its name.
    pub(super) has_player: bool,
    /// `true` once the server has let a player in.
    has_entered: bool,
    /// `true` once the server has told the client to leave.
    pub(super) is_kicked: bool,
}

impl Acquaintance {
    /// Takes the next packet of the session.
    pub fn take(&mut self, packet: &Packet) {
        match packet.role() {
            Some(Role::LoginStart | Role::UnframedLogin) => self.has_player = true,
            Some(Role::LoginSuccess | Role::JoinGame) => self.has_entered = true,
            Some(Role::Disconnect) => self.is_kicked |= packet.origin() == Origin::Server,
            Some(Role::PluginMessage) => self.take_message(packet),
            _ => {}
        }
    }

    /// Returns whether the server has let a player in. Visits of scanners end before.
    #[must_use]
    pub fn has_entered(&self) -> bool {
        self.has_entered
    }

    fn take_message(&mut self, packet: &Packet) {
        let name = Channels::name(packet).filter(|it| it.len() <= MAX_NAME);
        let Some(channel) = name else { return };
        if BRANDS.contains(&&*channel)
            && let Ok(value) = packet.value_with_payload()
            && let Some(payload) = value.get("payload")
            && let Some(brand) = payload.get("brand").and_then(|it| it.as_text())
        {
            self.brands[packet.direction()] = Some(brand.chars().take(MAX_NAME).collect());
        }
        let channels = &mut self.channels[packet.direction()];
        if channels.len() < MAX_CHANNELS {
            channels.insert(channel);
        }
    }
}

impl Incident {
    /// The name of the files, with placeholders for what the session has.
    pub const NAME: &str = "incident-{time}-{player}.zip";

    /// Returns whether a file's name is that of an incident file.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        let front = Self::NAME.split('{').next().unwrap_or_default();
        let end = Self::NAME.rsplit('}').next().unwrap_or_default();
        name.starts_with(front) && name.ends_with(end)
    }

    /// Writes the archive. With a seed, all of it is redacted.
    ///
    /// # Errors
    /// [`io::Error`] if it cannot be written.
    pub fn write(self, out: impl Write + Seek + Send, seed: Option<&[u8]>) -> io::Result<()> {
        let mut redactor = seed.map(Redactor::new);
        let (mut explainer, mut stats) = (Explainer::default(), Stats::default());
        let mut zip = ZipWriter::new(out);
        zip.start_file(CAPTURE, member().large_file(true))?;
        let mut capture = PcapngSink::new(&mut zip)?;
        let (mut context, mut packets) = (None, 0u64);
        for mut entry in self.entries {
            // Nothing that is inflated here is kept in the ring.
            entry.unshare();
            let entry = match &mut redactor {
                Some(redactor) => redactor.redact(entry),
                None => entry,
            };
            capture.write(&entry)?;
            explainer.write(&entry)?;
            stats.write(&entry)?;
            packets += u64::from(entry.record().is_some());
            context = Some(entry.context().clone());
        }
        capture.finish()?;
        drop(capture);
        let report = explainer.into_report();
        let mut text = String::new();
        report.write_text(&mut text, &LineOptions::default());
        let stats = stats.report(Sort::default());
        let session = json!({
            "v": 1,
            "mitmcraft": env!("CARGO_PKG_VERSION"),
            "redacted": redactor.is_some(),
            "trigger": { "kind": self.trigger.name(), "rule": self.rule, "time": self.at.to_string() },
            "session": context.as_deref().map(session),
            "brands": {
                "client": self.known.brands.serverbound,
                "server": self.known.brands.clientbound,
            },
            "channels": {
                "client": self.known.channels.serverbound,
                "server": self.known.channels.clientbound,
            },
            "packets": packets,
            "left_out": {
                "old": self.left_out.old,
                "dropped": self.left_out.dropped,
                "chunk_bodies": self.left_out.bodies,
            },
        });
        for (name, content) in [
            ("report.txt", text),
            ("report.json", format!("{:#}\n", report.json())),
            ("session.json", format!("{session:#}\n")),
            ("statistics.json", format!("{:#}\n", stats.json())),
            ("timeline.svg", stats.svg()),
        ] {
            zip.start_file(name, member())?;
            zip.write_all(content.as_bytes())?;
        }
        zip.finish()?.flush()
    }
}

/// Describes a session.
fn session(context: &Context) -> Json {
    json!({
        "number": context.session,
        "player": context.player,
        "client": context.client.to_string(),
        "server": context.server.map(|server| server.to_string()),
        "upstream": context.upstream,
        "opened": context.opened.to_string(),
        "version": context.game_version(),
        "protocol": context.version.unwrap_or_else(|| context.protocol.version()),
    })
}

fn member() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_level(Some(FAST))
}

/// The name of the capture in the archive.
const CAPTURE: &str = "capture.pcapng";

/// The level of compression: a session goes on meanwhile.
const FAST: i64 = 3;

/// The channels on which peers say which program they are.
const BRANDS: [&str; 2] = ["MC|Brand", "minecraft:brand"];

/// Bytes of a channel's name and characters of a brand that are kept.
const MAX_NAME: usize = 128;

/// Channels of each direction that are kept.
const MAX_CHANNELS: usize = 64;
