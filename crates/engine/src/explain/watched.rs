use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::analysis::{Exchange, ExchangeRole, Join, VersionCheck, VersionMismatch};
use crate::capture::{Entry, Event, EventKind, Outcome, Record, Sink as _};
use crate::lint::{LintSide, Linter};
use mitmcraft_protocol::meaning::diagnose;
use mitmcraft_protocol::packet::{Context, Diagnostic, Origin, Timestamp, Undecoded};
use mitmcraft_protocol::schema::{Direction, PerDirection, Role, State};

/// What is known of a session that has not ended.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) source: Option<Arc<str>>,
    /// The newest context.
    pub(super) context: Arc<Context>,
    /// Judges what the client and the server got.
    pub(super) linter: Linter,
    versions: VersionCheck,
    pub(super) mismatch: Option<VersionMismatch>,
    /// The time and the reason of the end, once it has ended.
    pub(super) close: Option<(Timestamp, String)>,
    /// The time of the last entry.
    pub(super) last_at: Timestamp,
    /// The last packet that came from each peer, but for one that ends the session.
    pub(super) last: PerDirection<Option<Record>>,
    /// The last packet with which a peer ended the session.
    pub(super) disconnect: Option<Record>,
    /// `true` once the server has sent the player to another one.
    pub(super) is_transferred: bool,
    pub(super) login: Login,
    pub(super) join: Join,
    /// Questions of the server without an answer, the oldest first; at most [`MAX_QUESTIONS`].
    pub(super) questions: VecDeque<(Exchange, i64, Record)>,
    /// The last keep-alive of the server.
    pub(super) keep_alive: Option<Record>,
    /// The number of the newest packet of the server after which the client still answered.
    pub(super) answered: u64,
    /// Packets of the client that do not decode: the first of each kind.
    pub(super) unread: BTreeMap<String, Record>,
    /// Packets of the client for which a server disconnects: the last of each diagnostic.
    pub(super) diagnosed: BTreeMap<Diagnostic, Record>,
    /// The last positions that the server gave a player who moved; at most [`MAX_CORRECTIONS`].
    pub(super) corrections: VecDeque<Record>,
    has_moved: bool,
    /// The last message or command, and the last that a rule has changed.
    pub(super) chat: Option<Record>,
    pub(super) changed_chat: Option<Record>,
}

/// The packets of a login.
#[derive(Debug, Default)]
pub(super) struct Login {
    /// The first header of a proxy before the handshake.
    pub(super) preamble: Option<Record>,
    pub(super) handshake: Option<Record>,
    pub(super) start: Option<Record>,
    pub(super) encryption_request: Option<Record>,
    pub(super) encryption_response: Option<Record>,
    /// The last answer of the client to a question of a plugin.
    pub(super) plugin_response: Option<Record>,
}

impl Watched {
    pub(super) fn new(source: Option<Arc<str>>, context: Arc<Context>) -> Self {
        let last_at = context.opened;
        Self {
            source,
            context,
            linter: Linter::new(LintSide::Both),
            versions: VersionCheck::default(),
            mismatch: None,
            close: None,
            last_at,
            last: PerDirection::default(),
            disconnect: None,
            is_transferred: false,
            login: Login::default(),
            join: Join::default(),
            questions: VecDeque::new(),
            keep_alive: None,
            answered: 0,
            unread: BTreeMap::new(),
            diagnosed: BTreeMap::new(),
            corrections: VecDeque::new(),
            has_moved: false,
            chat: None,
            changed_chat: None,
        }
    }

    /// Takes the next entry of the session.
    pub(super) fn take(&mut self, entry: &Entry) -> io::Result<()> {
        self.context = Arc::clone(entry.context());
        self.last_at = self.last_at.max(entry.at());
        let mismatch = self.versions.take(entry);
        self.mismatch = self.mismatch.take().or(mismatch);
        match entry {
            Entry::Packet(record) => {
                self.linter.write(&Entry::Packet(delivered(record)))?;
                self.take_packet(record);
            }
            Entry::Event(Event { at, kind: EventKind::Close(summary), .. }) => {
                self.close = Some((*at, summary.reason.clone()));
                // What is left open is judged with the session's own end.
                self.linter.write(entry)?;
            }
            Entry::Event(_) => {}
        }
        Ok(())
    }

    /// Returns whether the client went on after a packet that it got.
    pub(super) fn client_bore(&self, record: &Record) -> bool {
        record.packet.seq() <= self.answered || went_on(self.last.serverbound.as_ref(), record)
    }

    /// Returns whether the server went on after a packet that it got.
    pub(super) fn server_bore(&self, record: &Record) -> bool {
        went_on(self.last.clientbound.as_ref(), record)
    }

    /// Returns whether a session ended right after a packet, as it does when a peer cannot read it.
    pub(super) fn ended_at(&self, record: &Record) -> bool {
        self.end().since(record.packet.at()) <= PATIENCE
    }

    /// Returns whether the server let the player into no other state.
    pub(super) fn ended_in_login(&self) -> bool {
        self.last
            .values()
            .flatten()
            .all(|it| matches!(it.packet.state(), State::Handshaking | State::Login))
    }

    /// The time of the end, as far as the capture has it.
    pub(super) fn end(&self) -> Timestamp {
        self.close.as_ref().map_or(self.last_at, |(at, _)| *at)
    }

    fn take_packet(&mut self, record: &Record) {
        let packet = &record.packet;
        let is_clientbound = packet.direction() == Direction::Clientbound;
        if packet.role() == Some(Role::Disconnect) {
            // What the proxy says after the server is about the same end.
            let is_said = self.disconnect.is_some() && packet.origin() == Origin::Proxy;
            if !is_said {
                self.disconnect = Some(record.clone());
            }
        }
        if record.outcome.went() {
            self.join.take(record);
        }
        self.take_chat(record);
        let is_header =
            || matches!(packet.error(), Some(Undecoded::Foreign(name)) if name.contains("PROXY"));
        if self.login.handshake.is_none() && packet.frame().is_none() && is_header() {
            self.login.preamble.get_or_insert_with(|| record.clone());
        }
        if record.outcome.came() && packet.role() != Some(Role::Disconnect) {
            self.last[packet.direction()] = Some(record.clone());
        }
        self.take_question(record);
        if !is_clientbound && record.outcome.went() {
            self.take_sent(record);
        }
        match packet.role() {
            Some(Role::Handshake) => self.login.handshake = Some(record.clone()),
            Some(Role::LoginStart | Role::UnframedLogin) => self.login.start = Some(record.clone()),
            Some(Role::EncryptionRequest) => {
                self.login.encryption_request = Some(record.clone());
            }
            Some(Role::EncryptionResponse) => {
                self.login.encryption_response = Some(record.clone());
            }
            Some(Role::Transfer) => self.is_transferred = true,
            Some(
                Role::LoginAcknowledged
                | Role::ConfigurationAcknowledged
                | Role::FinishConfiguration,
            ) if !is_clientbound => {
                self.answered = self.join.asked.max(self.answered);
            }
            _ => {}
        }
        if named(record, "login_plugin_response") {
            self.login.plugin_response = Some(record.clone());
        }
        self.take_movement(record);
    }

    /// Takes a packet as a question of the server, or the answer to one. An answer that a rule held back shows
    /// that the client read the question, but is none for the server.
    fn take_question(&mut self, record: &Record) {
        let Some(ExchangeRole { answers, asks, number }) = Exchange::role(&record.packet) else {
            return;
        };
        if record.packet.direction() == Direction::Clientbound {
            if record.packet.role() == Some(Role::KeepAlive) && record.outcome.came() {
                self.keep_alive = Some(record.clone());
            }
            if let Some(exchange) = asks.filter(|_| record.outcome.came()) {
                if self.questions.len() == MAX_QUESTIONS {
                    self.questions.pop_front();
                }
                self.questions.push_back((exchange, number, record.clone()));
            }
            return;
        }
        let is_answered = |(exchange, asked, _): &(Exchange, i64, Record)| {
            Some(*exchange) == answers && *asked == number
        };
        let Some(place) = self.questions.iter().position(is_answered) else { return };
        if record.outcome.came() {
            let (.., question) = &self.questions[place];
            self.answered = self.answered.max(question.packet.seq());
        }
        if record.outcome.went() {
            self.questions.remove(place);
        }
    }

    /// Takes a packet that the server got.
    fn take_sent(&mut self, record: &Record) {
        let packet = &record.packet;
        if packet.error().is_some() {
            let key = packet
                .kind()
                .map_or_else(|| format!("{:?}", packet.id()), |kind| kind.name().to_string());
            if self.unread.len() < MAX_KINDS {
                self.unread.entry(key).or_insert_with(|| record.clone());
            }
            return;
        }
        for diagnostic in diagnose(packet).iter() {
            self.diagnosed.insert(diagnostic, record.clone());
        }
    }

    fn take_movement(&mut self, record: &Record) {
        let packet = &record.packet;
        if packet.direction() == Direction::Serverbound {
            self.has_moved |= named(record, "position");
        } else if packet.role() == Some(Role::Teleport) && self.has_moved && record.outcome.came() {
            if self.corrections.len() == MAX_CORRECTIONS {
                self.corrections.pop_front();
            }
            self.corrections.push_back(record.clone());
        }
    }

    fn take_chat(&mut self, record: &Record) {
        let role = record.packet.role();
        let is_chat = matches!(role, Some(Role::Chat | Role::Command | Role::PlayerChat));
        if !is_chat {
            return;
        }
        if matches!(record.outcome, Outcome::Rewrite | Outcome::Drop)
            || record.packet.origin() == Origin::Proxy
        {
            self.changed_chat = Some(record.clone());
        }
        if record.packet.direction() == Direction::Serverbound {
            self.chat = Some(record.clone());
        }
    }
}

/// Returns whether a peer's last packet came long after another packet.
fn went_on(last: Option<&Record>, record: &Record) -> bool {
    last.is_some_and(|last| last.packet.at().since(record.packet.at()) > PATIENCE)
}

/// Returns whether a packet has that name.
pub(super) fn named(record: &Record, name: &str) -> bool {
    record.packet.kind().is_some_and(|kind| &**kind.name() == name)
}

/// Returns a packet to be judged as one that the client got: what did not go on was not sent by anybody, and
/// what the proxy made came from the server.
fn delivered(record: &Record) -> Record {
    let is_clientbound = record.packet.direction() == Direction::Clientbound;
    let outcome = match record.outcome {
        outcome if !is_clientbound => outcome,
        outcome if outcome.went() => Outcome::Pass,
        _ => Outcome::Send,
    };
    Record { outcome, ..record.clone() }
}

/// The time after which a peer that still sends has borne a packet: one that cannot read it sends no more.
const PATIENCE: Duration = Duration::from_secs(5);

const MAX_QUESTIONS: usize = 256;

const MAX_CORRECTIONS: usize = 64;

/// The most kinds of packets of which an undecoded one is kept.
const MAX_KINDS: usize = 16;
