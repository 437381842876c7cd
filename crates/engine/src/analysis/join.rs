use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Duration;

use crate::capture::{Entry, EventKind, Record};
use mitmcraft_protocol::meaning::{Awaited, is_automatic};
use mitmcraft_protocol::packet::{Content, Packet, Timestamp};
use mitmcraft_protocol::schema::{Direction, Family, Release, Role, State, Value};

/// Finds sessions that are stuck before the client shows the world, and names what is missing: an answer of the
/// login or the configuration, or a packet that the client needs for its world.
///
/// Packets are examined until the client is in the world. Memory is bounded.
#[derive(Debug, Default)]
pub struct JoinCheck {
    /// The sessions that are open; at most [`MAX_SESSIONS`].
    sessions: HashMap<u64, Joining>,
    /// The memory that their joins take, in bytes; at most [`MAX_KEPT`].
    kept: usize,
}

/// A session that is stuck before its client shows the world. As text, it is one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StuckJoin {
    /// The session's number.
    pub session: u64,
    /// The missing packets in words: `the client waits for its world: no position; no chunk at 0, 0`.
    pub missing: String,
    /// The rest of the sentence, after the session's number.
    sentence: String,
}

#[derive(Debug, Default)]
struct Joining {
    join: Join,
    /// The memory that the join takes, in bytes.
    memory: usize,
    /// `true` while no packet needs to be examined, because the client is in the world.
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
    /// The last packet that is a step of the login or the configuration.
    last: Option<Record>,
    /// The number of the server's last packet with which a state ends, which a client has to answer.
    pub(crate) asked: u64,
    /// The world that the client shows next.
    world: Option<World>,
    /// The name or number of the last world.
    name: Option<Value>,
}

/// A world that the client is entering: it shows the world once all packets that it awaits have come.
#[derive(Debug)]
struct World {
    /// The Join Game or Respawn packet; `None` once the world is shown.
    begin: Option<Record>,
    /// The number of that packet.
    seq: u64,
    release: Release,
    /// The packets that the client still needs before it shows the world.
    awaited: Vec<Awaited>,
    /// The player's position, once the server has set it.
    place: Option<[f64; 3]>,
    /// The positions of the chunks received; at most [`MAX_CHUNKS`].
    chunks: HashSet<(i64, i64)>,
    /// `true` for a player who sees the world without a chunk: a spectator, or one who is dead.
    needs_no_chunk: bool,
    /// `true` once the player has acted in the world.
    has_acted: bool,
    /// `true` once the client has received everything that it needs.
    is_shown: bool,
}

/// The point at which the join of a session has stopped.
#[derive(Debug)]
pub(crate) struct Waiting<'j> {
    /// The last step of the join.
    pub(crate) record: &'j Record,
    /// The direction of the missing packets.
    pub(crate) owed: Direction,
    /// The missing packets in words: `no position; no chunk at 0, 0`.
    missing: String,
    /// The client's behaviour if they never come, as the end of a sentence.
    then: String,
    /// The time since that packet.
    pub(crate) time: Duration,
    /// `true` if the player has acted without the missing packets, or has to decide something.
    pub(crate) is_up_to_player: bool,
}

impl JoinCheck {
    /// Takes the next entry, and returns its session if that is stuck: once for each session.
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
                if joining.has_gaps {
                    // Nothing that is kept will be judged.
                    self.kept -= std::mem::take(&mut joining.memory);
                    joining.join = Join::default();
                }
                if joining.is_settled || joining.has_gaps || !record.outcome.went() {
                    return None;
                }
                joining.join.take(record);
                if joining.join.is_in_world() {
                    (joining.join, joining.is_settled) = (Join::default(), true);
                }
                let memory = joining.join.memory();
                if self.kept - joining.memory + memory > MAX_KEPT {
                    // Nothing is known of a session that is not kept.
                    (joining.join, joining.has_gaps) = (Join::default(), true);
                }
                self.kept -= joining.memory;
                joining.memory = if joining.has_gaps { 0 } else { memory };
                self.kept += joining.memory;
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
                EventKind::Close(_) => {
                    let mut joining = self.sessions.remove(&number)?;
                    self.kept -= joining.memory;
                    joining.report(number, event.at)
                }
            },
        }
    }

    /// Returns the missing packets of a session in words, if it is stuck at `now`.
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
            "{} for {seconds} s after packet {seq} (`{name}`){}",
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
            // Bytes that were not kept may be what the client waits for.
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
            (State::Play, Some(world)) => {
                world.has_acted = world.has_acted || !is_automatic(release, kind);
            }
            (State::Play, None) if packet.role() == Some(Role::ConfigurationAcknowledged) => {
                self.last = Some(record.clone());
            }
            _ => {}
        }
    }

    /// Returns the memory that the packets and chunks kept take, in bytes.
    fn memory(&self) -> usize {
        let world = self.world.as_ref();
        let records = [self.last.as_ref(), world.and_then(|it| it.begin.as_ref())];
        let chunks = world.map_or(0, |it| it.chunks.capacity() * size_of::<(i64, i64)>());
        records.into_iter().flatten().map(Record::memory).sum::<usize>() + chunks
    }

    /// Returns whether the client is known to be in the world.
    fn is_in_world(&self) -> bool {
        self.last.is_none() && self.world.as_ref().is_some_and(|it| it.is_shown || it.has_acted)
    }

    /// Returns the number of the packet with which the current wait began; `None` before the first.
    pub(crate) fn begun(&self) -> Option<u64> {
        let last = self.last.as_ref().map(|record| record.packet.seq());
        last.or_else(|| self.world.as_ref().map(|world| world.seq))
    }

    /// Returns what the client or the server is waiting for at `now`, once it has waited for long enough to be
    /// reported.
    pub(crate) fn waits(&self, now: Timestamp) -> Option<Waiting<'_>> {
        let is_over = |record: &Record| now.since(record.packet.at()) >= ENOUGH;
        let (record, owed, missing, then, is_up_to_player) = match (&self.last, &self.world) {
            (Some(last), _) if is_over(last) => {
                let (owed, words) = missing_answer(&last.packet);
                (last, owed, words.to_owned(), String::new(), is_for_player(&last.packet))
            }
            (None, Some(world)) if !world.is_shown => {
                let begin = world.begin.as_ref().filter(|it| is_over(it))?;
                let missing = world.missing();
                let words: Vec<String> =
                    missing.iter().map(|(what, _)| format!("no {what}")).collect();
                let words = format!("the client waits for its world: {}", words.join("; "));
                // The game continues without all of them, or not at all.
                let patience = missing.iter().map(|(_, patience)| *patience);
                let patience = patience.reduce(|one, other| Some(one?.max(other?)))?;
                let then = match patience {
                    Some(time) => format!("; after {} s it continues without it", time.as_secs()),
                    None => "; it waits forever".to_owned(),
                };
                (begin, Direction::Clientbound, words, then, world.has_acted)
            }
            _ => return None,
        };
        let time = now.since(record.packet.at());
        Some(Waiting { record, owed, missing, then, time, is_up_to_player })
    }
}

impl Waiting<'_> {
    /// Returns what is missing, and for how long, in words.
    pub(crate) fn reason(&self) -> String {
        let Self { missing, then, time, .. } = self;
        format!("{missing} for {} s after this packet{then}", time.as_secs())
    }
}

impl World {
    fn new(begin: &Record) -> Self {
        let packet = &begin.packet;
        let release = packet.context().protocol.release();
        let is_spectator = || packet.value().is_ok_and(|it| game_mode(&it) == Some(SPECTATOR));
        let needs_no_chunk = release >= Release::V1_19_3 && is_spectator();
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
            self.needs_no_chunk |= packet.value().ok().is_some_and(|it| {
                it.get("health").and_then(Value::as_float).is_some_and(|it| it <= 0.0)
            });
        }
        self.awaited.retain(|it| it.is_at_player || !it.is_in(packet));
        let is_placed = self.place.is_some() || self.needs_no_chunk;
        if is_placed && self.missing().is_empty() {
            // Nothing large is kept for the rest of the session.
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
            let value = fields.get(axis)?.as_float()?;
            Some(if is_relative { before + value } else { value })
        });
        if let Some(place) = place.collect::<Option<Vec<f64>>>()
            && let Ok(place) = <[f64; 3]>::try_from(place)
        {
            self.place = Some(place);
        }
    }

    /// Returns the missing packets in words, each with the time after which the game continues without it.
    fn missing(&self) -> Vec<(String, Option<Duration>)> {
        let home =
            self.place.map(|[x, y, z]| (y, ((x / 16.0).floor() as i64, (z / 16.0).floor() as i64)));
        // There are no chunks outside of the world.
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

/// Returns the name or number of the world to which a packet brings the player.
fn world_name(packet: &Packet) -> Option<Value> {
    let fields = packet.value().ok()?;
    let state = fields.get("worldState");
    let name = state.and_then(|it| it.get("name")).or_else(|| fields.get("worldName"));
    name.or_else(|| fields.get("dimension")).map(|it| it.plain().clone())
}

/// Returns the number of the game mode that a packet with these fields gives the player.
pub(crate) fn game_mode(fields: &Value) -> Option<i64> {
    let state = fields.get("worldState").unwrap_or(fields);
    let mode = ["gamemode", "gameMode"].into_iter().find_map(|name| state.get(name))?;
    match mode.as_text() {
        Some(text) => MODES.iter().position(|it| *it == text).and_then(|it| i64::try_from(it).ok()),
        // The bit above is that of hardcore.
        None => mode.as_int().map(|it| it & 7),
    }
}

/// The names of the game modes, by their numbers.
const MODES: [&str; 4] = ["survival", "creative", "adventure", "spectator"];

/// The number of the mode of spectators.
const SPECTATOR: i64 = 3;

/// The time without a step of the join after which it is reported.
const ENOUGH: Duration = Duration::from_secs(5);

/// The most chunks whose positions are kept while the client waits: more than any server sends before.
const MAX_CHUNKS: usize = 8192;

/// The most open sessions that are examined.
const MAX_SESSIONS: usize = 4096;

/// The most memory that the joins of all sessions take, in bytes.
const MAX_KEPT: usize = 32 << 20;

/// Returns whether a packet of the login or the configuration is a step of it.
fn leads_on(packet: &Packet) -> bool {
    let aside = ["ping", "pong", "settings", "store_cookie", "custom_report_details"];
    packet.kind().is_some_and(|kind| !aside.contains(&&**kind.name()))
}

/// Returns whether the player, and not the client by itself, answers a packet of the server.
fn is_for_player(packet: &Packet) -> bool {
    let names = ["add_resource_pack", "code_of_conduct", "resource_pack_send"];
    packet.kind().is_some_and(|kind| names.contains(&&**kind.name()))
}

/// Returns the direction of the answer that did not follow the last step of a login or configuration, and a sentence
/// about it.
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
