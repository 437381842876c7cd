use std::sync::Arc;
use std::time::Duration;

use super::answers::Answers;
use super::clock::Clock;
use super::flow::{Flow, TAIL};
use super::measured::Measured;
use super::shares::{SLOT, Shares};
use crate::capture::Record;
use mitmcraft_protocol::meaning::Rhythm;
use mitmcraft_protocol::packet::{Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Direction, Role, State, Value};

/// What a session showed of its clocks, its answers and its traffic in up to [`MAX_SECONDS`]. Times are in
/// seconds since its beginning.
#[derive(Debug)]
pub(super) struct Observed {
    pub(super) context: Arc<Context>,
    pub(super) begin: Timestamp,
    pub(super) server: Clock,
    pub(super) client: Clock,
    /// All packets of the server and of the client.
    pub(super) down: Flow,
    pub(super) up: Flow,
    /// What the client sends by its clock.
    pub(super) moves: Flow,
    /// Seconds in which a client whose ticks cannot be counted sends one at least.
    pub(super) move_every: Option<f64>,
    pub(super) answers: Answers,
    pub(super) shares: Shares,
    /// The time of the first packet of the game.
    pub(super) played_from: Option<f64>,
    /// When the player has loaded the last world that was entered.
    pub(super) entering: f64,
    /// The times when players entered a world.
    pub(super) entered: Vec<f64>,
    /// Ticks per second that the server has announced; `None` while it is frozen.
    rate: Option<f64>,
    /// The last age of the world, in ticks.
    age: Option<i64>,
    /// Positions of the server that the client is about to repeat.
    teleports: u32,
    /// The number of the last packet, and `true` once packets were missing before one: then neither ticks nor
    /// silences tell anything.
    seq: Option<u64>,
    pub(super) is_partial: bool,
    /// `true` if the last packet ended the game's state, so that the others do not count.
    is_away: bool,
    /// The latest time of a packet.
    now: f64,
}

impl Observed {
    pub(super) fn new(context: Arc<Context>, begin: Timestamp) -> Self {
        Self {
            context,
            begin,
            server: Clock::default(),
            client: Clock::default(),
            down: Flow::new(SERVER_GAP),
            up: Flow::new(CLIENT_GAP),
            moves: Flow::new(MOVE_GAP),
            move_every: None,
            answers: Answers::default(),
            shares: Shares::default(),
            played_from: None,
            entering: 0.0,
            entered: Vec::new(),
            rate: Some(TICKS),
            age: None,
            teleports: 0,
            seq: None,
            is_partial: false,
            is_away: false,
            now: 0.0,
        }
    }

    /// Returns one that goes on at a moment: with all that is still open, and the last seconds, whose times are
    /// negative.
    pub(super) fn next(&mut self, at: Timestamp) -> Self {
        let length = (self.time(at) / SLOT).floor() * SLOT;
        let begin = self.moment(length);
        let entered = self.entered.iter().map(|it| it - length);
        Self {
            context: Arc::clone(&self.context),
            begin,
            server: self.server.next(length),
            client: self.client.next(length),
            down: self.down.next(length),
            up: self.up.next(length),
            moves: self.moves.next(length),
            move_every: self.move_every,
            answers: self.answers.next(length),
            shares: self.shares.next(length),
            played_from: self.played_from.filter(|_| !self.is_away).map(|_| self.now - length),
            entering: self.entering - length,
            entered: entered.filter(|it| it + ENTERING > -TAIL).collect(),
            rate: self.rate,
            age: self.age,
            teleports: self.teleports,
            seq: self.seq,
            is_partial: false,
            is_away: self.is_away,
            now: 0.0,
        }
    }

    /// Returns whether the client's ticks can be counted. Programs that play, unlike the game, send less while their
    /// player stands.
    pub(super) fn counts_ticks(&self) -> bool {
        !self.is_partial && self.move_every.is_none() && self.moves.each_second <= SECONDS_OF_A_GAME
    }

    /// Returns the seconds in which the client sends a move at least; `None` if even that is uncertain.
    pub(super) fn sure_moves(&self) -> Option<f64> {
        let gaps = self.moves.gaps(0.0, f64::INFINITY).count();
        let every = self.move_every.filter(|_| !self.is_partial);
        every.filter(|_| self.moves.each_second >= (2 * gaps).max(MIN_SECONDS))
    }

    /// Returns whether the player was entering a world at a time.
    pub(super) fn is_entering(&self, at: f64) -> bool {
        self.entered.iter().any(|it| (*it..it + ENTERING).contains(&at))
    }

    /// Returns the moment of a time in seconds since the beginning.
    pub(super) fn moment(&self, seconds: f64) -> Timestamp {
        let time = Duration::from_secs_f64(seconds.abs());
        match seconds {
            ..0.0 => Timestamp(self.begin.0.saturating_sub(Timestamp(0).plus(time).0)),
            _ => self.begin.plus(time),
        }
    }

    /// Returns a time in seconds since the beginning.
    pub(super) fn time(&self, at: Timestamp) -> f64 {
        at.since(self.begin).as_secs_f64()
    }

    /// Takes the number of a packet, also of one that the proxy made.
    pub(super) fn number(&mut self, seq: u64) {
        if self.seq.is_some_and(|last| seq > last + 1) {
            self.is_partial = true;
            self.answers.forget_order();
        }
        self.seq = self.seq.max(Some(seq));
    }

    /// Takes a packet that came from a peer.
    pub(super) fn take(&mut self, record: &Record, measured: &mut Measured) {
        let packet = &record.packet;
        if !Arc::ptr_eq(&self.context, packet.context()) {
            self.context = Arc::clone(packet.context());
        }
        if packet.state() != State::Play {
            self.leave();
            return;
        }
        // Where time goes back, it stands still.
        self.now = self.now.max(self.time(packet.at()));
        let at = self.now;
        self.played_from.get_or_insert(at);
        self.is_away = false;
        let (direction, seq) = (packet.direction(), packet.seq());
        let flow = match direction {
            Direction::Clientbound => &mut self.down,
            Direction::Serverbound => &mut self.up,
        };
        let silence = flow.last.map_or(0.0, |(last, _)| at - last);
        flow.take(at, packet.wire_size(), seq);
        let longest = match direction {
            Direction::Clientbound => &mut measured.server_silence,
            Direction::Serverbound => &mut measured.client_silence,
        };
        *longest = longest.max(silence);
        self.shares.take(packet, at);
        if let Some((question, took)) = self.answers.take(packet, at) {
            let took = Duration::from_secs_f64(took);
            measured.trips.entry(question).or_default().count(took);
        }
        self.take_clock(packet, at);
        let name = packet.kind().map(|kind| &**kind.name());
        match (direction, name) {
            (Direction::Clientbound, Some("respawn" | "login")) => self.enter(at),
            (Direction::Clientbound, Some("position" | "position_look")) => self.teleports += 1,
            (Direction::Clientbound, Some("set_ticking_state")) => self.take_rate(packet),
            (Direction::Serverbound, Some("chunk_batch_received")) => {
                let per_tick =
                    packet.value().ok().and_then(|it| it.get("chunksPerTick")?.as_float());
                if let Some(per_tick) = per_tick {
                    measured.take_chunks(per_tick);
                }
            }
            _ => {}
        }
        if packet.role() == Some(Role::StartConfiguration) {
            self.leave();
        }
    }

    fn take_clock(&mut self, packet: &Packet, at: f64) {
        let release = packet.context().protocol.release();
        let Some(kind) = packet.kind() else { return };
        let Some((rhythm, age)) = Rhythm::of(release, kind) else { return };
        if packet.direction() == Direction::Clientbound {
            let fields = packet.value().ok();
            let age = age.and_then(|age| fields.as_ref()?.get(age)?.as_int());
            self.take_age(age, at, packet.seq());
            return;
        }
        // A client repeats each position of the server besides.
        if &**kind.name() == "position_look" && self.teleports > 0 {
            self.teleports -= 1;
            return;
        }
        if at < self.entering {
            return;
        }
        let Some(rate) = self.rate else { return self.client.restart() };
        let every = f64::from(rhythm.ticks) / rate.min(TICKS);
        self.moves.take(at, packet.wire_size(), packet.seq());
        if rhythm.is_at_least {
            self.move_every = Some(every);
        } else {
            self.client.beat(at, every, packet.seq());
        }
    }

    fn take_age(&mut self, age: Option<i64>, at: f64, seq: u64) {
        if at < self.entering {
            return;
        }
        let before = std::mem::replace(&mut self.age, age);
        let (Some(age), Some(before), Some(rate)) = (age, before, self.rate) else {
            self.server.restart();
            return;
        };
        let ticks = age.wrapping_sub(before);
        match ticks {
            0 => {}
            1..=MAX_TICKS => self.server.beat(at, ticks as f64 / rate, seq),
            // A command has set the time, or another world has its own.
            _ => self.server.restart(),
        }
    }

    fn take_rate(&mut self, packet: &Packet) {
        let Ok(fields) = packet.value() else { return };
        let is_frozen = fields.get("is_frozen").map(Value::plain) == Some(&Value::Bool(true));
        let rate = fields
            .get("tick_rate")
            .and_then(Value::as_float)
            .filter(|rate| rate.is_finite() && *rate >= 1.0);
        let rate = rate.filter(|_| !is_frozen);
        if rate != self.rate {
            self.rate = rate;
            self.server.restart();
            self.client.restart();
            self.age = None;
        }
    }

    /// Notes that the player enters a world, which both games then load.
    fn enter(&mut self, at: f64) {
        self.entering = at + ENTERING;
        if self.entered.last().is_none_or(|last| at - last >= 1.0) {
            self.entered.push(at);
        }
        self.server.restart();
        self.client.restart();
        (self.age, self.teleports, self.moves.last) = (None, 0, None);
    }

    fn leave(&mut self) {
        if !self.is_away {
            self.server.restart();
            self.client.restart();
            (self.age, self.is_away) = (None, true);
            (self.down.last, self.up.last, self.moves.last) = (None, None, None);
        }
    }
}

/// Seconds that are observed before they are judged.
pub(super) const MAX_SECONDS: f64 = 1800.0;

/// Seconds after entering a world in which both games load it, so nothing is expected of them.
const ENTERING: f64 = 15.0;

/// Ticks per second of a game, unless its server announces others.
pub(super) const TICKS: f64 = 20.0;

/// Ticks by which a world can get on between two packets with its age.
const MAX_TICKS: i64 = 20 * 120;

/// Ticks of a game that is counted, and came a second after the one before.
const SECONDS_OF_A_GAME: usize = 5;

/// Moves that came a second after the one before, of a client that sends one in each second.
const MIN_SECONDS: usize = 3;

/// Seconds without packets that are a gap: of the server, the client and its moves.
const SERVER_GAP: f64 = 0.25;
const CLIENT_GAP: f64 = 1.5;
const MOVE_GAP: f64 = 1.3;
