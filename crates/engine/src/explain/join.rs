use std::time::Duration;

use super::{Certainty, EndKind, Ending, Evidence, Watched};
use crate::capture::Record;
use mitmcraft_protocol::meaning::{Awaited, DisconnectTopic, is_automatic};
use mitmcraft_protocol::packet::{Content, Packet};
use mitmcraft_protocol::schema::{Direction, Family, Release, Role, State};

/// How far a client has come on its way into the world, and what it waits for.
#[derive(Debug, Default)]
pub(super) struct Join {
    /// The last packet that leads on from the login or the configuration.
    last: Option<Record>,
    /// The number of the last packet of the server that a client in that state has to answer.
    pub(super) asked: u64,
    /// Join Game, and for what the client still waits behind it.
    game: Option<(Record, Vec<Awaited>)>,
    /// `true` once a player did something in the world.
    has_acted: bool,
}

impl Join {
    /// Takes the next packet of the session.
    pub(super) fn take(&mut self, record: &Record) {
        let packet = &record.packet;
        let protocol = &packet.context().protocol;
        if protocol.family() != Family::Java || !record.outcome.went() {
            return;
        }
        let (release, is_clientbound) =
            (protocol.release(), packet.direction() == Direction::Clientbound);
        match packet.role() {
            Some(Role::JoinGame) => {
                self.game = Some((record.clone(), Awaited::of(release)));
                (self.last, self.has_acted) = (None, false);
                return;
            }
            Some(Role::LoginSuccess | Role::StartConfiguration | Role::FinishConfiguration)
                if is_clientbound =>
            {
                (self.asked, self.game) = (packet.seq(), None);
                self.last = Some(record.clone());
                return;
            }
            Some(Role::KeepAlive | Role::PluginMessage | Role::Disconnect) => return,
            _ => {}
        }
        let Some(kind) = packet.kind() else {
            // What was not kept may be what the client waits for.
            if let (Content::Raw(..), Some((_, awaited))) = (packet.content(), &mut self.game) {
                awaited.clear();
            }
            return;
        };
        match (packet.state(), &mut self.game) {
            (State::Login | State::Configuration, _) if leads_on(packet) => {
                self.last = Some(record.clone());
            }
            (State::Play, Some((_, awaited))) if is_clientbound => {
                awaited.retain(|what| !what.is_in(packet));
            }
            (State::Play, Some(_)) => self.has_acted |= !is_automatic(release, kind),
            (State::Play, None) if packet.role() == Some(Role::ConfigurationAcknowledged) => {
                self.last = Some(record.clone());
            }
            _ => {}
        }
    }

    /// Returns what the client, or the server, still waited for at the end.
    pub(super) fn waits(&self, session: &Watched, ending: &Ending) -> Option<Evidence> {
        let certainty = match ending.kind {
            EndKind::Open | EndKind::Left | EndKind::Refused => Certainty::Likely,
            EndKind::Kicked if ending.topic() == Some(DisconnectTopic::Silence) => {
                Certainty::Likely
            }
            EndKind::Dropped | EndKind::LostClient | EndKind::LostServer => Certainty::Possible,
            EndKind::Kicked | EndKind::Stopped | EndKind::Unreachable | EndKind::Proxy => {
                return None;
            }
        };
        let (record, words) = match (&self.last, &self.game) {
            (Some(last), _) => (last, missing_answer(&last.packet)),
            (None, Some((game, awaited))) if !self.has_acted && !awaited.is_empty() => {
                let what: Vec<&str> = awaited.iter().map(|it| it.what).collect();
                (game, format!("the server has not sent {}", list(&what)))
            }
            _ => return None,
        };
        let waited = session.end().since(record.packet.at());
        let reason = format!("{words}, for {} s after this packet", waited.as_secs());
        (waited >= ENOUGH)
            .then(|| Evidence::of(session, record, certainty, "join-incomplete", reason))
    }
}

/// Returns whether a packet of the login or the configuration leads on to the next.
fn leads_on(packet: &Packet) -> bool {
    let aside = ["ping", "pong", "settings", "store_cookie", "custom_report_details"];
    packet.kind().is_some_and(|kind| !aside.contains(&&**kind.name()))
}

/// Says which answer did not come after the last packet of a login or configuration.
fn missing_answer(packet: &Packet) -> String {
    let is_clientbound = packet.direction() == Direction::Clientbound;
    let is_old = packet.context().protocol.release() < Release::V1_20_2;
    let asks = packet.kind().is_some_and(|kind| QUESTIONS.contains(&&**kind.name()));
    match packet.role() {
        Some(Role::LoginSuccess) if is_old => "the server has sent no Join Game".to_owned(),
        Some(
            Role::EncryptionRequest
            | Role::LoginSuccess
            | Role::StartConfiguration
            | Role::FinishConfiguration,
        ) if is_clientbound => "the client has not answered".to_owned(),
        Some(Role::FinishConfiguration) => "the server has sent no Join Game".to_owned(),
        _ if is_clientbound && asks => "the client has not answered".to_owned(),
        _ if packet.state() == State::Login && packet.role() != Some(Role::LoginAcknowledged) => {
            "the server has not let the client in".to_owned()
        }
        _ => "the server has not finished the configuration".to_owned(),
    }
}

/// Joins words: `a, b or c`.
fn list(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// The time for which nothing leads on before it is noteworthy.
const ENOUGH: Duration = Duration::from_secs(5);

/// Packets of the server that a client, or its player, answers.
const QUESTIONS: [&str; 6] = [
    "add_resource_pack",
    "code_of_conduct",
    "cookie_request",
    "login_plugin_request",
    "resource_pack_send",
    "select_known_packs",
];
