//! A server and a client of the game on a simulated clock, with a proxy between them that records when packets
//! come. It shares nothing with the analysis: games have ticks, links have delays and bandwidths.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::capture::{Entry, Event, EventKind, Record, Summary};
use crate::lint::tests::context;
use crate::lint::tests::planted::body::{Body, body};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Content, Context, Packet, Timestamp};
use mitmcraft_protocol::schema::{Direction, State};

/// What is to happen in a session. Times are in milliseconds.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) version: i32,
    pub(super) seed: u64,
    pub(super) length: f64,
    /// Ticks of the server that take long: when, and for how long.
    pub(super) stalls: Vec<(f64, f64)>,
    /// Ticks of the server that all take so long: from when to when.
    pub(super) slow_server: Option<(f64, f64, f64)>,
    /// The time with which the server catches up.
    pub(super) catch_up: f64,
    /// Moments at which the client's game stands still, and for how long.
    pub(super) freezes: Vec<(f64, f64)>,
    /// The time that a tick of the client takes, from when to when.
    pub(super) slow_client: Option<(f64, f64, f64)>,
    /// `true` if the client answers keep-alives in its game too.
    pub(super) one_thread: bool,
    pub(super) links: [Link; 4],
    /// A plugin channel that floods the connection: from when to when, the bytes per tick, and whether the server sends
    /// them.
    pub(super) flood: Option<(f64, f64, usize, bool)>,
    pub(super) entities: u32,
    /// Chunks per second, and the bytes of each.
    pub(super) chunks: (f64, usize),
    pub(super) join_chunks: u32,
    /// `true` if the player walks; otherwise it stands or idles.
    pub(super) walks: bool,
    pub(super) pings: bool,
    pub(super) debug_pings: bool,
    /// `true` if the time of day stands still.
    pub(super) no_daylight: bool,
    /// Ticks per second, announced from a time on.
    pub(super) rate: Option<(f64, f64, bool)>,
    /// When the player changes its world.
    pub(super) respawn: Option<f64>,
    /// When the clock is set, so that the server sends the time besides.
    pub(super) time_set: Option<f64>,
    pub(super) frame: f64,
    /// `true` if the client is no game, and sends moves only when its player has moved.
    pub(super) is_program: bool,
    /// `true` if the end is recorded.
    pub(super) closes: bool,
}

/// One direction of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) delay: f64,
    /// More delay, of which a part is random: from when to when.
    pub(super) worse: Option<(f64, f64, f64, f64)>,
    /// Bytes per millisecond.
    pub(super) speed: f64,
    /// Bytes per millisecond from when to when.
    pub(super) slow: Option<(f64, f64, f64)>,
    /// When nothing comes, and for how long.
    pub(super) down: Option<(f64, f64)>,
    pub(super) noise: f64,
    free: f64,
    last: f64,
}

/// From the server to the proxy, on to the client, from the client to the proxy, on to the server.
pub(super) const SERVER_PROXY: usize = 0;
pub(super) const PROXY_CLIENT: usize = 1;
pub(super) const CLIENT_PROXY: usize = 2;
pub(super) const PROXY_SERVER: usize = 3;

#[derive(Debug, Clone, PartialEq)]
enum Happening {
    ServerTick,
    /// The server sends what a tick made that has begun at a time.
    ServerSends(f64),
    ClientTick,
    /// A packet comes out of a link.
    Arrival(usize, Sent),
    /// The client's game gets to a packet.
    Handled(Sent),
}

#[derive(Debug, Clone, PartialEq)]
struct Sent {
    name: &'static str,
    number: i64,
    bytes: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number from 0 to 1.
    pub(super) fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn range(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }
}

impl Link {
    pub(super) fn new(delay: f64) -> Self {
        let (worse, slow, down) = (None, None, None);
        Self { delay, worse, speed: 1500.0, slow, down, noise: 4.0, free: 0.0, last: 0.0 }
    }

    /// Returns when bytes arrive, in order.
    fn pass(&mut self, now: f64, bytes: usize, random: &mut Random) -> f64 {
        let begin = now.max(self.free);
        let speed = match self.slow {
            Some((from, to, speed)) if (from..to).contains(&begin) => speed,
            _ => self.speed,
        };
        self.free = begin + bytes as f64 / speed;
        let mut delay = self.delay + self.noise * random.unit() * random.unit();
        if let Some((from, to, more, jitter)) = self.worse
            && (from..to).contains(&now)
        {
            delay += more + jitter * random.unit();
        }
        let mut at = self.free + delay;
        if let Some((from, length)) = self.down
            && (from..from + length).contains(&at)
        {
            at = from + length;
        }
        self.last = self.last.max(at);
        self.last
    }
}

impl Plan {
    pub(super) fn healthy(version: i32, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let near = random.range(0.2, 2.0);
        let far = random.range(10.0, 60.0);
        Self {
            version,
            seed,
            length: 180_000.0,
            stalls: Vec::new(),
            slow_server: None,
            catch_up: if seed.is_multiple_of(2) { 2000.0 } else { 1000.0 },
            freezes: Vec::new(),
            slow_client: None,
            one_thread: false,
            links: [Link::new(near), Link::new(far), Link::new(far), Link::new(near)],
            flood: None,
            entities: 1 + (seed % 4) as u32,
            chunks: (random.range(1.0, 3.0), 6000),
            join_chunks: 100,
            walks: !seed.is_multiple_of(3),
            pings: seed.is_multiple_of(2),
            debug_pings: false,
            no_daylight: false,
            rate: None,
            respawn: None,
            time_set: None,
            frame: 10.0,
            is_program: false,
            closes: true,
        }
    }

    /// Plays the session, and returns what the proxy recorded.
    pub(super) fn play(self) -> Vec<Entry> {
        let context = Arc::new(context(self.version));
        let random = Random::new(self.seed ^ 0x5eed);
        let mut world = World {
            random,
            context,
            entries: Vec::new(),
            heap: BinaryHeap::new(),
            order: 0,
            seq: 0,
            ticks: 0,
            age: 1_000_000,
            due: 0.0,
            kept: 0.0,
            keep: 0,
            chunk_debt: 0.0,
            since_move: 0,
            client_ticks: 0,
            busy: 0.0,
            client_due: 0.0,
            teleport: 0,
            plan: self,
        };
        world.run();
        world.entries
    }
}

struct World {
    plan: Plan,
    random: Random,
    context: Arc<Context>,
    entries: Vec<Entry>,
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
    order: u64,
    seq: u64,
    ticks: u64,
    age: i64,
    due: f64,
    kept: f64,
    keep: i64,
    chunk_debt: f64,
    since_move: u32,
    client_ticks: u64,
    /// The time until which the client's game is busy.
    busy: f64,
    client_due: f64,
    teleport: i32,
}

impl World {
    fn run(&mut self) {
        let mut happenings: Vec<Option<Happening>> = Vec::new();
        let mut new = vec![(0.0, Happening::ServerTick), (400.0, Happening::ClientTick)];
        self.client_due = 400.0;
        loop {
            for (at, happening) in new.drain(..) {
                self.order += 1;
                self.heap.push(Reverse(((at * 1000.0) as u64, self.order, happenings.len())));
                happenings.push(Some(happening));
            }
            let Some(Reverse((at, _, place))) = self.heap.pop() else { break };
            let now = at as f64 / 1000.0;
            if now > self.plan.length {
                break;
            }
            match happenings[place].take().unwrap() {
                Happening::ServerTick => self.server_tick(now, &mut new),
                Happening::ServerSends(begun) => self.server_sends(begun, now, &mut new),
                Happening::ClientTick => self.client_tick(now, &mut new),
                Happening::Arrival(link, sent) => self.arrive(now, link, sent, &mut new),
                Happening::Handled(sent) => self.handle(now, &sent, &mut new),
            }
        }
        if self.plan.closes {
            let close = Summary { reason: "the client left".to_owned(), ..Summary::default() };
            let (context, at) = (Arc::clone(&self.context), moment(self.plan.length));
            self.entries.push(Entry::Event(Event { context, at, kind: EventKind::Close(close) }));
        }
    }

    fn rate(&self, now: f64) -> f64 {
        match self.plan.rate {
            Some((from, rate, _)) if now >= from => rate,
            _ => 20.0,
        }
    }

    fn server_tick(&mut self, now: f64, new: &mut Vec<(f64, Happening)>) {
        let mut took = self.random.range(6.0, 22.0);
        if let Some(place) = self.plan.stalls.iter().position(|(at, _)| *at <= now) {
            took += self.plan.stalls.remove(place).1;
        }
        if let Some((from, to, slow)) = self.plan.slow_server
            && (from..to).contains(&now)
        {
            took = slow * self.random.range(0.9, 1.1);
        }
        new.push((now + took, Happening::ServerSends(now)));
    }

    fn server_sends(&mut self, now: f64, end: f64, new: &mut Vec<(f64, Happening)>) {
        let version = self.plan.version;
        let is_frozen = self.plan.rate.is_some_and(|(from, _, frozen)| frozen && now >= from);
        if self.ticks == 0 {
            self.send(end, SERVER_PROXY, "login", 0, body(), new);
            self.position(end, new);
            let chunks = self.plan.join_chunks;
            self.chunks(end, chunks, new);
        }
        self.ticks += 1;
        self.age += i64::from(!is_frozen);
        if let Some((from, rate, frozen)) = self.plan.rate
            && now >= from
            && now < from + 1000.0 / rate
            && version >= 765
        {
            let state = body().f32(rate as f32).i8(i8::from(frozen));
            self.send(end, SERVER_PROXY, "set_ticking_state", 0, state, new);
        }
        if let Some(at) = self.plan.respawn.filter(|at| *at <= now) {
            self.plan.respawn = None;
            self.send(end, SERVER_PROXY, "respawn", 0, body(), new);
            self.position(end, new);
            self.age = 77;
            self.chunks(end, 60, new);
            self.plan.freezes.push((at, 3500.0));
        }
        let is_set = self.plan.time_set.is_some_and(|at| at <= now);
        if is_set {
            self.plan.time_set = None;
        }
        if self.ticks.is_multiple_of(20) || is_set {
            self.time(end, new);
        }
        for entity in 0..self.plan.entities {
            if self.random.unit() < 0.8 {
                self.entity_move(end, entity as i32, new);
            }
        }
        self.chunk_debt += self.plan.chunks.0 / 20.0;
        if self.chunk_debt >= 1.0 && self.ticks > 40 {
            self.chunks(end, self.chunk_debt as u32, new);
            self.chunk_debt = self.chunk_debt.fract();
        }
        let every = if version < 340 { 2000.0 } else { 15_000.0 };
        if end - self.kept >= every {
            (self.kept, self.keep) = (end, self.keep + 1);
            let number = self.keep;
            let keep =
                if version < 340 { body().varint(number as i32) } else { body().i64(number) };
            self.send(end, SERVER_PROXY, "keep_alive", number, keep, new);
        }
        if self.plan.pings && self.ticks % 20 == 7 {
            self.keep += 1;
            let number = self.keep;
            if version >= 755 {
                self.send(end, SERVER_PROXY, "ping", number, body().i32(number as i32), new);
            } else {
                let ask = body().i8(0).i16(number as i16).i8(0);
                self.send(end, SERVER_PROXY, "transaction", number, ask, new);
            }
        }
        if let Some((from, to, bytes, false)) = self.plan.flood
            && (from..to).contains(&now)
        {
            let noise = body().text("shop:prices").raw(&vec![7; bytes]);
            self.send(end, SERVER_PROXY, "custom_payload", 0, noise, new);
        }
        let between = 1000.0 / self.rate(now);
        self.due += between;
        // A server that is too far behind skips what it cannot catch up with.
        if end - self.due > self.plan.catch_up {
            self.due = match self.plan.catch_up {
                ..1500.0 => end - self.plan.catch_up,
                _ => end,
            };
        }
        new.push((end.max(self.due), Happening::ServerTick));
    }

    fn time(&mut self, at: f64, new: &mut Vec<(f64, Happening)>) {
        let day = if self.plan.no_daylight { -6000 } else { self.age % 24000 };
        let time = body().i64(self.age);
        let time = match self.plan.version {
            ..768 => time.i64(day),
            768..775 => time.i64(day.abs()).i8(i8::from(!self.plan.no_daylight)),
            _ => time.varint(0),
        };
        self.send(at, SERVER_PROXY, "update_time", 0, time, new);
    }

    fn position(&mut self, at: f64, new: &mut Vec<(f64, Happening)>) {
        self.teleport += 1;
        let place = |it: Body| it.f64(8.0).f64(70.0).f64(8.0);
        let position = match self.plan.version {
            ..107 => place(body()).f32(0.0).f32(0.0).i8(0),
            107..755 => place(body()).f32(0.0).f32(0.0).i8(0).varint(self.teleport),
            755..762 => place(body()).f32(0.0).f32(0.0).i8(0).varint(self.teleport).i8(0),
            762..768 => place(body()).f32(0.0).f32(0.0).i8(0).varint(self.teleport),
            _ => place(body().varint(self.teleport))
                .f64(0.0)
                .f64(0.0)
                .f64(0.0)
                .f32(0.0)
                .f32(0.0)
                .i32(0),
        };
        let number = i64::from(self.teleport);
        self.send(at, SERVER_PROXY, "position", number, position, new);
    }

    fn entity_move(&mut self, at: f64, entity: i32, new: &mut Vec<(f64, Happening)>) {
        let id = body().varint(1000 + entity);
        let moved = match self.plan.version {
            ..107 => id.i8(1).i8(0).i8(1).i8(1),
            107..777 => id.i16(12).i16(0).i16(7).i8(1),
            _ => id.varint(0).i16(12).i16(0).i16(7),
        };
        self.send(at, SERVER_PROXY, "rel_entity_move", 0, moved, new);
    }

    fn chunks(&mut self, at: f64, count: u32, new: &mut Vec<(f64, Happening)>) {
        let has_batches = self.plan.version >= 764;
        if has_batches {
            self.send(at, SERVER_PROXY, "chunk_batch_start", 0, body(), new);
        }
        for _ in 0..count {
            let x = (self.random.unit() * 40.0) as i32;
            let chunk = body().i32(x).i32(3).raw(&vec![0; self.plan.chunks.1]);
            self.send(at, SERVER_PROXY, "map_chunk", 0, chunk, new);
        }
        if has_batches {
            let finished = body().varint(count as i32);
            self.send(at, SERVER_PROXY, "chunk_batch_finished", 0, finished, new);
        }
    }

    fn client_tick(&mut self, now: f64, new: &mut Vec<(f64, Happening)>) {
        if let Some(place) = self.plan.freezes.iter().position(|(at, _)| *at <= now) {
            let length = self.plan.freezes.remove(place).1;
            self.busy = self.busy.max(now + length);
        }
        if self.busy > now + 1.0 {
            new.push((self.busy, Happening::ClientTick));
            return;
        }
        // The game runs at most ten ticks in a frame and forgets the others.
        let every = 1000.0 / self.rate(now).min(20.0);
        let missed = ((now - self.client_due) / every).floor().max(0.0);
        let ticks = (missed + 1.0).min(10.0);
        for _ in 0..ticks as u32 {
            self.one_client_tick(now, new);
        }
        self.client_due += (missed + 1.0) * every;
        if let Some((from, to, slow)) = self.plan.slow_client
            && (from..to).contains(&now)
        {
            self.busy = now + slow * self.random.range(0.8, 1.2);
            self.client_due = self.busy;
        }
        let next = self.client_due.max(now + 1.0);
        let next = (next / self.plan.frame).ceil() * self.plan.frame;
        new.push((next, Happening::ClientTick));
    }

    fn one_client_tick(&mut self, now: f64, new: &mut Vec<(f64, Happening)>) {
        let version = self.plan.version;
        self.client_ticks += 1;
        // Players walk for some seconds, and stand for some.
        let walks = self.plan.walks && (self.client_ticks / 100) % 3 != 2;
        self.since_move += 1;
        let must = self.since_move >= 20 && !self.plan.is_program;
        let flags = |it: Body| it.i8(1);
        if walks || must {
            self.since_move = 0;
            let place = body().f64(8.0 + self.client_ticks as f64 * 0.01).f64(70.0).f64(8.0);
            self.send(now, CLIENT_PROXY, "position", 0, flags(place), new);
        } else if version <= 47 && !self.plan.is_program {
            self.send(now, CLIENT_PROXY, "flying", 0, flags(body()), new);
        }
        if version >= 768 {
            self.send(now, CLIENT_PROXY, "tick_end", 0, body(), new);
        }
        if self.plan.debug_pings && version >= 764 && self.client_ticks % 20 == 3 {
            self.keep += 1;
            let number = self.keep;
            self.send(now, CLIENT_PROXY, "ping_request", number, body().i64(number), new);
        }
        if let Some((from, to, bytes, true)) = self.plan.flood
            && (from..to).contains(&now)
        {
            let noise = body().text("map:tiles").raw(&vec![7; bytes]);
            self.send(now, CLIENT_PROXY, "custom_payload", 0, noise, new);
        }
    }

    fn arrive(&mut self, now: f64, link: usize, sent: Sent, new: &mut Vec<(f64, Happening)>) {
        match link {
            SERVER_PROXY | CLIENT_PROXY => {
                let direction = match link {
                    SERVER_PROXY => Direction::Clientbound,
                    _ => Direction::Serverbound,
                };
                self.record(now, direction, &sent);
                let next = if link == SERVER_PROXY { PROXY_CLIENT } else { PROXY_SERVER };
                let at = self.plan.links[next].pass(now, sent.bytes.len() + 2, &mut self.random);
                new.push((at, Happening::Arrival(next, sent)));
            }
            PROXY_CLIENT => {
                let is_aside = sent.name == "keep_alive" && !self.plan.one_thread;
                let at = if is_aside { now + 0.3 } else { now.max(self.busy) + 2.0 };
                let is_asked =
                    ["keep_alive", "ping", "transaction", "position", "chunk_batch_finished"];
                if is_asked.contains(&sent.name) {
                    new.push((at, Happening::Handled(sent)));
                }
            }
            _ => {
                if sent.name == "ping_request" {
                    let (number, body) = (sent.number, body().i64(sent.number));
                    self.send(now + 0.2, SERVER_PROXY, "ping_response", number, body, new);
                }
            }
        }
    }

    /// Answers a packet.
    fn handle(&mut self, now: f64, sent: &Sent, new: &mut Vec<(f64, Happening)>) {
        // A game that has been busy meanwhile gets to it later.
        let is_aside = sent.name == "keep_alive" && !self.plan.one_thread;
        if !is_aside && self.busy > now + 1.0 {
            new.push((self.busy + 1.0, Happening::Handled(sent.clone())));
            return;
        }
        let version = self.plan.version;
        let number = sent.number;
        match sent.name {
            "keep_alive" => {
                let keep =
                    if version < 340 { body().varint(number as i32) } else { body().i64(number) };
                self.send(now, CLIENT_PROXY, "keep_alive", number, keep, new);
            }
            "ping" => self.send(now, CLIENT_PROXY, "pong", number, body().i32(number as i32), new),
            "transaction" => {
                let answer = body().i8(0).i16(number as i16).i8(1);
                self.send(now, CLIENT_PROXY, "transaction", number, answer, new);
            }
            "position" => {
                if version >= 107 {
                    let confirm = body().varint(number as i32);
                    let place = |it: Body| it.f64(8.0).f64(70.0).f64(8.0).f32(0.0).f32(0.0);
                    let confirm = if version >= 777 { place(confirm) } else { confirm };
                    self.send(now, CLIENT_PROXY, "teleport_confirm", number, confirm, new);
                }
                let look = body().f64(8.0).f64(70.0).f64(8.0).f32(0.0).f32(0.0).i8(1);
                self.send(now, CLIENT_PROXY, "position_look", 0, look, new);
            }
            _ => {
                let report = body().f32(9.5);
                self.send(now, CLIENT_PROXY, "chunk_batch_received", 0, report, new);
            }
        }
    }

    fn send(
        &mut self,
        now: f64,
        link: usize,
        name: &'static str,
        number: i64,
        body: Body,
        new: &mut Vec<(f64, Happening)>,
    ) {
        let at = self.plan.links[link].pass(now, body.bytes.len() + 3, &mut self.random);
        new.push((at, Happening::Arrival(link, Sent { name, number, bytes: body.bytes })));
    }

    fn record(&mut self, now: f64, direction: Direction, sent: &Sent) {
        let protocol = &self.context.protocol;
        let kind = protocol.named(State::Play, direction, sent.name).unwrap();
        let bytes = body().varint(kind.id()).raw(&sent.bytes).bytes;
        self.seq += 1;
        let content = Content::Frame(Frame::from_body(bytes.into()));
        let context = Arc::clone(&self.context);
        let packet = Packet::new(context, self.seq, moment(now), direction, State::Play, content);
        self.entries.push(Entry::Packet(Record::passed(packet)));
    }
}

/// Returns the moment so many milliseconds after noon of a day.
pub(super) fn moment(at: f64) -> Timestamp {
    Timestamp(1_800_000_000_000_000_000 + (at * 1e6) as u64)
}
