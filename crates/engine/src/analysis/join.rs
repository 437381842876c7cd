use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Duration;

use crate::capture::{Entry, EventKind, Record};
use mitmcraft_protocol::meaning::{Awaited, is_automatic};
use mitmcraft_protocol::packet::{Content, Packet, Timestamp};
use mitmcraft_protocol::schema::{Direction, Family, Release, Role, State, Value};

/// Finds sessions whose client does not get on, and for what it waits: an answer of the login or the
/// configuration, or what it needs before it shows the world.
///
/// Packets are looked at until the client is in the world. Memory is bounded.
#[derive(Debug, Default)]
pub struct JoinCheck {
    /// The sessions that are open.
    sessions: HashMap<u64, Joining>,
}

/// A session whose client does not get on. As text, it is one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StuckJoin {
    /// The session's number.
    pub session: u64,
    /// The missing packets in words: `the client waits for its world: no position; no chunk at 0, 0`.
    pub missing: String,
    /// The whole sentence after the session.
    sentence: String,
}

#[derive(Debug, Default)]
struct Joining {
    join: Join,
    /// `true` while nothing need be looked at: the client is in the world.
    is_settled: bool,
    is_reported: bool,
    /// The number of the last packet; 0 before the first.
    last: u64,
    /// `true` if packets are missing, so that nothing is known of what did not come.
    has_gaps: bool,
}

/// The progress of a client from its login to the world that it shows.
#[derive(Debug, Default)]
pub(crate) struct Join {
    /// The last packet that leads on from the login or the configuration.
    last: Option<Record>,
    /// The number of the last packet of the server that a client in that state has to answer.
    pub(crate) asked: u64,
    /// The world that the client is to show.
    world: Option<World>,
    /// The name or number of the last world.
    name: Option<Value>,
}

/// A world that a client is to show.
#[derive(Debug)]
struct World {
    /// Join Game or Respawn, until the world is shown; and its number.
    begin: Option<Record>,
    seq: u64,
    release: Release,
    /// The packets that the client still needs before it shows the world.
    awaited: Vec<Awaited>,
    /// Where the server has put the player.
    place: Option<[f64; 3]>,
    /// The chunks that have come; at most [`MAX_CHUNKS`].
    chunks: HashSet<(i64, i64)>,
    /// `true` for a player who sees the world also without a chunk.
    needs_no_chunk: bool,
    /// `true` once a player did something in the world.
    has_acted: bool,
    /// `true` once everything has come.
    is_shown: bool,
}

/// The point at which the join of a session has stopped.
#[derive(Debug)]
pub(crate) struct Waiting<'j> {
    /// The last packet that led on.
    pub(crate) record: &'j Record,
    /// The direction of what is missing.
    pub(crate) owed: Direction,
    /// The missing packets in words: `no position; no chunk at 0, 0`.
    missing: String,
    /// The client's behaviour if they never come, in words.
    then: String,
    /// The time since that packet.
    pub(crate) time: Duration,
    /// `true` if the player has done something without it, or has to decide.
    pub(crate) is_up_to_player: bool,
}

impl JoinCheck {
    /// Takes the next entry, and returns a session that is stuck: once for each session.
    pub fn take(&mut self, entry: &Entry) -> Option<StuckJoin> {
        let number = entry.context().session;
        match entry {
            Entry::Packet(record) => {
                if self.sessions.len() >= MAX_SESSIONS && !self.sessions.contains_key(&number) {
                    return None;
                }
                let joining = self.sessions.entry(number).or_default();
                let number_of_packet = record.packet.seq();
                joining.has_gaps |= number_of_packet > joining.last + 1;
                joining.last = joining.last.max(number_of_packet);
                if joining.is_settled || joining.has_gaps || !record.outcome.went() {
                    return None;
                }
                joining.join.take(record);
                if joining.join.is_in_world() {
                    (joining.join, joining.is_settled) = (Join::default(), true);
                }
                joining.report(number, record.packet.at())
            }
            Entry::Event(event) => match event.kind {
                EventKind::Open => None,
                EventKind::State(_) => {
                    if let Some(joining) = self.sessions.get_mut(&number) {
                        joining.is_settled = false;
                    }
                    None
                }
                EventKind::Close(_) => self.sessions.remove(&number)?.report(number, event.at),
            },
        }
    }

    /// Returns what a session waits for that is stuck at a time.
    #[must_use]
    pub fn missing(&self, session: u64, now: Timestamp) -> Option<String> {
        let joining = self.sessions.get(&session).filter(|it| !it.is_settled && !it.has_gaps)?;
        Some(joining.join.waits(now).filter(|it| !it.is_up_to_player)?.missing)
    }
}

impl Joining {
    fn report(&mut self, session: u64, now: Timestamp) -> Option<StuckJoin> {
        if self.is_reported || self.is_settled || self.has_gaps {
            return None;
        }
        let waiting = self.join.waits(now).filter(|it| !it.is_up_to_player)?;
        self.is_reported = true;
        let kind = waiting.record.packet.kind();
        let name = kind.map_or_else(|| "?".to_owned(), |kind| kind.name().to_string());
        let (seconds, seq) = (waiting.time.as_secs(), waiting.record.packet.seq());
        let sentence = format!(
            "{}, for {seconds} s after packet {seq} (`{name}`){}",
            waiting.missing, waiting.then
        );
        Some(StuckJoin { session, missing: waiting.missing, sentence })
    }
}

impl fmt::Display for StuckJoin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {} is stuck: {}", self.session, self.sentence)
    }
}

impl Join {
    /// Takes the next packet of the session.
    pub(crate) fn take(&mut self, record: &Record) {
        let packet = &record.packet;
        let protocol = &packet.context().protocol;
        if protocol.family() != Family::Java {
            return;
        }
        let (release, is_clientbound) =
            (protocol.release(), packet.direction() == Direction::Clientbound);
        match packet.role() {
            Some(Role::JoinGame) => {
                self.name = world_name(packet);
                self.world = Some(World::new(record));
                self.last = None;
                return;
            }
            Some(Role::LoginSuccess | Role::StartConfiguration | Role::FinishConfiguration)
                if is_clientbound =>
            {
                (self.asked, self.world) = (packet.seq(), None);
                self.last = Some(record.clone());
                return;
            }
            Some(Role::KeepAlive | Role::PluginMessage | Role::Disconnect) => return,
            _ => {}
        }
        let Some(kind) = packet.kind() else {
            // What was not kept may be what the client waits for.
            if let (Content::Raw(..), Some(world)) = (packet.content(), &mut self.world) {
                world.is_shown = true;
            }
            return;
        };
        match (packet.state(), &mut self.world) {
            (State::Login | State::Configuration, _) if leads_on(packet) => {
                self.last = Some(record.clone());
            }
            (State::Play, Some(_)) if is_clientbound && &**kind.name() == "respawn" => {
                let name = world_name(packet);
                // From 1.16 to 1.18 the game waits after each of them.
                let is_any = release >= Release::V1_16_RC1 && release < Release::V1_19;
                if is_any || name.is_some() && name != self.name {
                    self.world = Some(World::new(record));
                }
                self.name = name;
            }
            (State::Play, Some(world)) if is_clientbound => world.take(packet),
            (State::Play, Some(world)) => world.has_acted |= !is_automatic(release, kind),
            (State::Play, None) if packet.role() == Some(Role::ConfigurationAcknowledged) => {
                self.last = Some(record.clone());
            }
            _ => {}
        }
    }

    /// Returns whether the client is in the world, as far as is known.
    fn is_in_world(&self) -> bool {
        self.last.is_none() && self.world.as_ref().is_some_and(|it| it.is_shown || it.has_acted)
    }

    /// Returns the number of the packet with which the present wait has begun; `None` before the first.
    pub(crate) fn begun(&self) -> Option<u64> {
        let last = self.last.as_ref().map(|record| record.packet.seq());
        last.or_else(|| self.world.as_ref().map(|world| world.seq))
    }

    /// Returns what the client, or the server, waits for at a time, if it has waited for long enough.
    pub(crate) fn waits(&self, now: Timestamp) -> Option<Waiting<'_>> {
        let (record, owed, missing, then, is_up_to_player) = match (&self.last, &self.world) {
            (Some(last), _) => {
                let (owed, words) = missing_answer(&last.packet);
                (last, owed, words.to_owned(), String::new(), is_for_player(&last.packet))
            }
            (None, Some(world)) if !world.is_shown => {
                let missing = world.missing();
                let words: Vec<String> =
                    missing.iter().map(|(what, _)| format!("no {what}")).collect();
                let words = format!("the client waits for its world: {}", words.join("; "));
                // The game goes on without all of them, or not at all.
                let patience = missing.iter().map(|(_, patience)| *patience);
                let patience = patience.reduce(|one, other| Some(one?.max(other?)))?;
                let then = match patience {
                    Some(time) => format!("; it goes on without after {} s", time.as_secs()),
                    None => "; it waits without a limit".to_owned(),
                };
                (world.begin.as_ref()?, Direction::Clientbound, words, then, world.has_acted)
            }
            _ => return None,
        };
        let time = now.since(record.packet.at());
        (time >= ENOUGH).then_some(Waiting { record, owed, missing, then, time, is_up_to_player })
    }
}

impl Waiting<'_> {
    /// Returns what is missing, and for how long.
    pub(crate) fn reason(&self) -> String {
        let Self { missing, then, time, .. } = self;
        format!("{missing}, for {} s after this packet{then}", time.as_secs())
    }
}

impl World {
    fn new(begin: &Record) -> Self {
        let packet = &begin.packet;
        let release = packet.context().protocol.release();
        let needs_no_chunk = release >= Release::V1_19_3 && is_spectator(packet);
        Self {
            begin: Some(begin.clone()),
            seq: packet.seq(),
            release,
            awaited: Awaited::of(release),
            place: None,
            chunks: HashSet::new(),
            needs_no_chunk,
            has_acted: false,
            is_shown: false,
        }
    }

    /// Takes the next packet of the server.
    fn take(&mut self, packet: &Packet) {
        if self.is_shown {
            return;
        }
        let name = packet.kind().map(|kind| &**kind.name());
        let is_chunk = self.awaited.iter().any(|it| it.is_at_player && it.is_in(packet));
        if is_chunk {
            self.take_chunks(packet);
        } else if packet.role() == Some(Role::Teleport) {
            self.take_place(packet);
        } else if name == Some("update_health") && self.release >= Release::V1_19_3 {
            self.needs_no_chunk |= packet
                .value()
                .ok()
                .is_some_and(|it| float(&it, "health").is_some_and(|it| it <= 0.0));
        }
        self.awaited.retain(|it| it.is_at_player || !it.is_in(packet));
        let is_placed = self.place.is_some() || self.needs_no_chunk;
        if is_placed && self.missing().is_empty() {
            // What is large is not kept for as long as the session lasts.
            (self.is_shown, self.begin, self.chunks) = (true, None, HashSet::new());
        }
    }

    fn take_chunks(&mut self, packet: &Packet) {
        let Ok(fields) = packet.value() else { return };
        let all = fields.get("meta").and_then(Value::as_list);
        for chunk in all.unwrap_or_else(|| std::slice::from_ref(&fields)) {
            let number = |name| chunk.get(name).and_then(Value::as_int);
            if let (Some(x), Some(z)) = (number("x"), number("z"))
                && self.chunks.len() < MAX_CHUNKS
            {
                self.chunks.insert((x, z));
            }
        }
    }

    fn take_place(&mut self, packet: &Packet) {
        let Ok(fields) = packet.value() else { return };
        let before = self.place.unwrap_or_default();
        let axes = [("x", 1), ("y", 2), ("z", 4)].into_iter().zip(before);
        let place = axes.map(|((axis, bit), before)| {
            let flags = fields.get("flags")?;
            let is_relative = match flags.get(axis).map(Value::plain) {
                Some(flag) => *flag == Value::Bool(true),
                None => flags.as_int()? & bit != 0,
            };
            let value = float(&fields, axis)?;
            Some(if is_relative { before + value } else { value })
        });
        if let Some(place) = place.collect::<Option<Vec<f64>>>()
            && let Ok(place) = <[f64; 3]>::try_from(place)
        {
            self.place = Some(place);
        }
    }

    /// Returns what has not come, each with the time after which the game goes on without.
    fn missing(&self) -> Vec<(String, Option<Duration>)> {
        let home =
            self.place.map(|[x, y, z]| (y, ((x / 16.0).floor() as i64, (z / 16.0).floor() as i64)));
        // Outside of the world there are no chunks.
        let is_outside = home.is_some_and(|(y, _)| !(-64.0..320.0).contains(&y));
        let has_chunk = match home {
            Some((_, at)) => self.chunks.contains(&at) || self.chunks.len() == MAX_CHUNKS,
            None => !self.chunks.is_empty(),
        };
        let needs_no_chunk = self.needs_no_chunk || is_outside && self.release >= Release::V1_19;
        let missing =
            self.awaited.iter().filter(|it| !it.is_at_player || !has_chunk && !needs_no_chunk);
        missing
            .map(|it| match home.filter(|_| it.is_at_player) {
                Some((_, (x, z))) => (format!("{} at {x}, {z}", it.what), it.patience),
                None => (it.what.to_owned(), it.patience),
            })
            .collect()
    }
}

/// Returns the name or number of the world that a packet is about.
fn world_name(packet: &Packet) -> Option<Value> {
    let fields = packet.value().ok()?;
    let state = fields.get("worldState");
    let name = state.and_then(|it| it.get("name")).or_else(|| fields.get("worldName"));
    name.or_else(|| fields.get("dimension")).map(|it| it.plain().clone())
}

/// Returns whether the player whom a packet brings into a world is a spectator.
fn is_spectator(packet: &Packet) -> bool {
    let Ok(fields) = packet.value() else { return false };
    let state = fields.get("worldState").unwrap_or(&fields);
    let mode = ["gamemode", "gameMode"].into_iter().find_map(|name| state.get(name));
    mode.is_some_and(|it| it.as_int() == Some(3) || it.as_text() == Some("spectator"))
}

/// Returns a number with a point.
fn float(fields: &Value, name: &str) -> Option<f64> {
    match fields.get(name)?.plain() {
        Value::Float64(value) => Some(*value),
        Value::Float32(value) => Some(f64::from(*value)),
        _ => None,
    }
}

/// The time for which nothing leads on before it is noteworthy.
const ENOUGH: Duration = Duration::from_secs(5);

/// Chunks that are noted while the client waits: more than any server sends before.
const MAX_CHUNKS: usize = 8192;

/// Open sessions that are looked at.
const MAX_SESSIONS: usize = 4096;

/// Returns whether a packet of the login or the configuration leads on to the next.
fn leads_on(packet: &Packet) -> bool {
    let aside = ["ping", "pong", "settings", "store_cookie", "custom_report_details"];
    packet.kind().is_some_and(|kind| !aside.contains(&&**kind.name()))
}

/// Returns whether a person answers a packet of the server.
fn is_for_player(packet: &Packet) -> bool {
    let names = ["add_resource_pack", "code_of_conduct", "resource_pack_send"];
    packet.kind().is_some_and(|kind| names.contains(&&**kind.name()))
}

/// Returns whose answer did not come after the last packet of a login or configuration, and which it is.
fn missing_answer(packet: &Packet) -> (Direction, &'static str) {
    let is_clientbound = packet.direction() == Direction::Clientbound;
    let is_old = packet.context().protocol.release() < Release::V1_20_2;
    let asks = packet.kind().is_some_and(|kind| QUESTIONS.contains(&&**kind.name()));
    let no_answer = (Direction::Serverbound, "the client has not answered");
    let no_game = (Direction::Clientbound, "the server has sent no Join Game");
    match packet.role() {
        Some(Role::LoginSuccess) if is_old => no_game,
        Some(
            Role::EncryptionRequest
            | Role::LoginSuccess
            | Role::StartConfiguration
            | Role::FinishConfiguration,
        ) if is_clientbound => no_answer,
        Some(Role::FinishConfiguration) => no_game,
        _ if is_clientbound && asks => no_answer,
        _ if packet.state() == State::Login && packet.role() != Some(Role::LoginAcknowledged) => {
            (Direction::Clientbound, "the server has not let the client in")
        }
        _ => (Direction::Clientbound, "the server has not finished the configuration"),
    }
}

/// Packets of the server that a client, or its player, answers.
const QUESTIONS: [&str; 6] = [
    "add_resource_pack",
    "code_of_conduct",
    "cookie_request",
    "login_plugin_request",
    "resource_pack_send",
    "select_known_packs",
];
