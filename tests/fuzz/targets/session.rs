//! Whole sessions: whatever both peers send, in whatever order things happen, every byte is
//! recorded and, unless a rule or the proxy's own part in a login changes it, forwarded.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use mitmcraft_engine::auth::{AuthError, Profile};
use mitmcraft_engine::capture::{Entry, EventKind, Outcome, Record, Summary};
use mitmcraft_engine::filter::{Pipeline, RuleSet};
use mitmcraft_engine::link::{Engine as _, Input, KeyMaterial, Output, PerSide, Side, Upstream};
use mitmcraft_engine::session::{Admitted, AuthMode, ClientLeg, Config, Session, Start};
use mitmcraft_engine::text::{LineOptions, write_line};
use mitmcraft_protocol::codec::{Leg, Limits};
use mitmcraft_protocol::packet::{Cause, Content, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State, Value};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rsa::pkcs8::EncodePublicKey as _;
use rsa::{Pkcs1v15Encrypt, RsaPrivateKey};

use super::Features;
use super::bytes::Bytes;
use super::files::check;
use super::seeds::{UNFRAMED, entries_of};

pub fn run(input: &[u8]) -> Features {
    let mut features = Features::default();
    let talk = Talk::play(input, false, false);
    talk.check(&mut features);
    // What nobody records takes a way of its own.
    let unrecorded = Talk::play(input, true, false);
    for side in Side::ALL {
        assert_eq!(unrecorded.got[side], talk.got[side], "{side:?} got other bytes");
    }
    let reason = |talk: &Talk| talk.summary().map(|it| it.reason.clone());
    assert_eq!(reason(&unrecorded), reason(&talk));
    if input.first().is_some_and(|options| options & 0x80 != 0) {
        check(&talk.entries, &mut features);
    } else {
        for entry in &talk.entries {
            features.see(match entry {
                Entry::Packet(record) => (
                    record.packet.kind().map(|kind| kind.name().to_string()),
                    record.outcome.name(),
                    record.packet.context().version,
                ),
                Entry::Event(event) => (None, event.kind.name(), event.context.version),
            });
            if let Some(comment) = entry.record().and_then(|it| it.comment.as_ref()) {
                features.say(comment);
            }
        }
    }
    if let Some(summary) = talk.summary() {
        features.say(&summary.reason);
    }
    features
}

/// A session with its two peers and its driver.
pub(super) struct Talk {
    session: Session,
    peers: PerSide<Leg>,
    now: Timestamp,
    /// Requests of the session that have no answer yet.
    asked: VecDeque<Output>,
    /// `true` if requests are answered at once.
    prompt: bool,
    reached: Reached,
    closed: PerSide<bool>,
    lost: PerSide<bool>,
    /// The bytes that each side sent.
    sent: PerSide<Vec<u8>>,
    /// The bytes that each side got.
    pub(super) got: PerSide<Vec<u8>>,
    entries: Vec<Entry>,
    /// `true` if rules delay packets, so that records are not in the order of the bytes.
    delays: bool,
    /// `true` if nothing may be changed.
    transparent: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    Connecting,
    Connected,
    Refused,
}

impl Talk {
    /// Plays a whole session; with `counted`, packets that pass unchanged are counted, not recorded; with
    /// `separate`, nothing is sent with the ciphertext that it had.
    pub(super) fn play(input: &[u8], counted: bool, separate: bool) -> Self {
        let mut input = Bytes(input);
        let mut talk = Self::new(input.u8(), input.u8(), counted, separate);
        while !input.is_empty() && !talk.session.is_over() {
            talk.step(&mut input);
        }
        talk.finish();
        talk
    }

    fn new(options: u8, rules: u8, counted: bool, separate: bool) -> Self {
        let steve = || Profile { name: "Steve".into(), id: 0x1111 };
        let auth = match options & 7 {
            0 => AuthMode::Account { profile: steve(), client: ClientLeg::AsServer },
            1 => AuthMode::Account { profile: steve(), client: ClientLeg::Plain },
            2 => AuthMode::Verify { profile: steve(), admitted: Admitted::Owner },
            3 => AuthMode::Verify { profile: steve(), admitted: Admitted::Anyone },
            _ => AuthMode::Offline,
        };
        let limits = if options & 8 != 0 { Limits::new(200, 400) } else { Limits::default() };
        let keep_host = options & 0x10 != 0;
        let file = RULES.get(usize::from(rules) % (2 * RULES.len())).copied();
        let transparent = keep_host && auth == AuthMode::Offline && file.is_none();
        // A transfer that the proxy follows is changed.
        let follow_transfers = !keep_host;
        let mut config = Config::default();
        config.auth = auth;
        config.separate_secrets = separate;
        config.limits = limits;
        config.keep_host = keep_host;
        config.follow_transfers = follow_transfers;
        let now = Timestamp(1_700_000_000_000_000_000);
        let start = Start {
            session: 7,
            at: now,
            client: SocketAddr::from(([127, 0, 0, 1], 50000)),
            upstream: Upstream { host: "mc.example.org".into(), port: 25565 },
        };
        let mut session = Session::new(Arc::new(config), start, pipeline(file)).unwrap();
        if counted {
            session.start_tally();
        }
        let mut talk = Self {
            session,
            peers: PerSide::from_fn(|_| Leg::default()),
            now,
            asked: VecDeque::new(),
            prompt: options & 0x20 == 0,
            reached: Reached::Connecting,
            closed: PerSide::from_fn(|_| false),
            lost: PerSide::default(),
            sent: PerSide::from_fn(|_| Vec::new()),
            got: PerSide::from_fn(|_| Vec::new()),
            entries: Vec::new(),
            delays: file.is_some_and(|file| file.contains("delay")),
            transparent,
        };
        talk.carry();
        if options & 0x40 == 0 {
            talk.connect(true);
        }
        talk
    }

    fn step(&mut self, input: &mut Bytes<'_>) {
        self.now = self.now.plus(Duration::from_micros(300));
        match input.u8() % 16 {
            0 => self.receive(Side::Client, input.chunk()),
            1 => self.receive(Side::Server, input.chunk()),
            2 => self.say(Side::Client, input.chunk()),
            3 => self.say(Side::Server, input.chunk()),
            4 => self.connect(true),
            5 => self.connect(false),
            6 => self.close(side(input.u8())),
            7 => self.lose(side(input.u8())),
            8 => {
                let milliseconds = u64::from(input.u16());
                self.pass(Duration::from_millis(milliseconds));
            }
            9 => {
                let well = input.u8() & 1 == 0;
                self.answer(well);
            }
            10 => {
                let threshold = input.u16();
                let threshold = (threshold < 0x8000).then(|| usize::from(threshold));
                for side in Side::ALL {
                    self.peers[side].set_compression(threshold);
                }
            }
            11 => {
                let kind = usize::from(input.u8());
                let responses = &*RESPONSES;
                self.say(Side::Client, &responses[kind % responses.len()]);
                self.peers.client.set_cipher(SECRET);
            }
            12 => self.peers.server.set_cipher(SECRET),
            13 => {
                let asks = input.u8() & 1;
                let request = if asks == 1 { &REQUEST[..] } else { &REQUEST[..REQUEST.len() - 1] };
                self.say(Side::Server, request);
            }
            14 => {
                let rules = usize::from(input.u8());
                let file = RULES.get(rules % (2 * RULES.len())).copied();
                self.transparent &= file.is_none();
                self.delays |= file.is_some_and(|file| file.contains("delay"));
                self.session.set_pipeline(pipeline(file));
            }
            _ => {
                if input.u8() == 0xff {
                    self.handle(Input::Stop(Cause::new("stopped")));
                }
            }
        }
    }

    fn connect(&mut self, well: bool) {
        if self.reached != Reached::Connecting || self.session.is_over() {
            return;
        }
        if well {
            self.reached = Reached::Connected;
            self.handle(Input::Connected(SocketAddr::from(([192, 0, 2, 1], 25565))));
        } else {
            self.reached = Reached::Refused;
            self.transparent = false;
            self.handle(Input::Refused(Cause::new("connection refused")));
        }
    }

    fn is_there(&self, side: Side) -> bool {
        side == Side::Client || self.reached == Reached::Connected
    }

    fn receive(&mut self, side: Side, bytes: &[u8]) {
        let reads = self.session.wants_read(side) && self.is_there(side) && !self.closed[side];
        if bytes.is_empty() || !reads || self.session.is_over() {
            return;
        }
        self.sent[side].extend_from_slice(bytes);
        self.handle(Input::Received(side, bytes));
    }

    fn say(&mut self, side: Side, body: &[u8]) {
        if !self.session.wants_read(side) {
            return;
        }
        let encoder = &mut self.peers[side].encoder;
        encoder.send(body);
        let bytes = encoder.pending().to_vec();
        encoder.advance(bytes.len());
        self.receive(side, &bytes);
    }

    fn close(&mut self, side: Side) {
        if self.is_there(side) && !std::mem::replace(&mut self.closed[side], true) {
            self.handle(Input::Closed(side));
        }
    }

    fn lose(&mut self, side: Side) {
        if self.is_there(side) {
            self.closed[side] = true;
            self.lost[side] = true;
            self.handle(Input::Lost(side, ErrorKind::ConnectionReset.into()));
        }
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now.plus(time);
        for turn in 0.. {
            let Some(due) = self.session.poll_timeout().filter(|due| *due <= until) else { break };
            assert!(turn < 1000, "timers without end, at {due:?}");
            self.now = self.now.max(due);
            self.handle(Input::Timeout);
        }
        self.now = until;
    }

    fn answer(&mut self, well: bool) {
        let name = "Steve".to_owned();
        match self.asked.pop_front() {
            Some(Output::GenerateKey) => {
                let (key, token) = (KEYS[1].clone(), *b"ours");
                let material = KeyMaterial { key, secret: *SECRET, token, seed: [3; 32] };
                self.handle(Input::Key(Box::new(material)));
            }
            Some(Output::Join { .. }) => {
                let joined = if well { Ok(()) } else { Err(AuthError::Token) };
                self.handle(Input::AccountJoined(joined));
            }
            Some(Output::HasJoined { .. }) => {
                let found =
                    if well { Ok(Profile { name, id: 0x1111 }) } else { Err(AuthError::Token) };
                self.handle(Input::Verified(found));
            }
            _ => {}
        }
    }

    fn handle(&mut self, input: Input<'_>) {
        self.session.handle(self.now, input);
        self.carry();
    }

    /// Does what the session asks for.
    fn carry(&mut self) {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::GenerateKey | Output::Join { .. } | Output::HasJoined { .. } => {
                    self.transparent = false;
                    self.asked.push_back(output);
                }
                _ => {}
            }
        }
        for side in Side::ALL {
            let pending = self.session.pending(side);
            self.got[side].extend_from_slice(pending);
            let count = pending.len();
            self.session.advance(side, count);
        }
        self.session.take_entries(&mut self.entries);
        while self.prompt && !self.asked.is_empty() {
            self.answer(true);
        }
    }

    /// Lets everything that is open come to its end.
    fn finish(&mut self) {
        self.connect(true);
        while !self.asked.is_empty() {
            self.answer(true);
        }
        for side in Side::ALL {
            self.close(side);
            self.pass(Duration::from_secs(300));
        }
        self.handle(Input::Stop(Cause::new("stopped")));
        assert!(self.session.is_over());
        assert!(self.session.poll_timeout().is_none(), "a timer after the end");
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        self.entries.iter().filter_map(Entry::record)
    }

    pub(super) fn summary(&self) -> Option<&Summary> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Event(event) => match &event.kind {
                EventKind::Close(summary) => Some(summary),
                _ => None,
            },
            Entry::Packet(_) => None,
        })
    }

    fn check(&self, features: &mut Features) {
        let is = |entry: Option<&Entry>, name: &str| match entry {
            Some(Entry::Event(event)) => event.kind.name() == name,
            _ => false,
        };
        assert!(is(self.entries.first(), "open") && is(self.entries.last(), "close"));
        let closes = self.entries.iter().filter(|entry| is(Some(entry), "close")).count();
        assert_eq!(closes, 1);
        if self.transparent {
            let in_order = self.entries.is_sorted_by_key(Entry::at);
            assert!(in_order, "a time goes back:\n{}", self.lines());
        }
        let summary = self.summary().unwrap();
        assert_eq!(summary.serverbound_bytes, self.sent.client.len() as u64);
        assert_eq!(summary.clientbound_bytes, self.sent.server.len() as u64);
        let encrypted = self.entries.iter().any(|entry| match entry {
            Entry::Event(event) => match &event.kind {
                EventKind::State(state) => state.client_encrypted || state.server_encrypted,
                _ => false,
            },
            Entry::Packet(_) => false,
        });
        for side in Side::ALL {
            let came = self.wires(side.sends(), |record| record.outcome.came());
            let sent = &self.sent[side];
            assert!(
                came.len() == sent.len(),
                "{} bytes of the {side:?} in the records, {} sent:\n{}",
                came.len(),
                sent.len(),
                self.lines()
            );
            if !encrypted && !self.delays {
                assert_eq!(came, self.sent[side], "bytes of the {side:?} in the records");
            }
            let went = self.wires(side.sends(), |record| record.outcome.went());
            if self.transparent && self.reached == Reached::Connected {
                assert!(!encrypted);
                let got = &self.got[side.other()];
                // A peer whose connection was reset gets nothing more.
                let fits = match self.lost[side.other()] {
                    true => went.starts_with(got),
                    false => went == *got,
                };
                assert!(fits, "{got:?} of {went:?} came from the {side:?}:\n{}", self.lines());
                for record in self.records().filter(|it| it.packet.direction() == side.sends()) {
                    let kept = matches!(record.outcome, Outcome::Pass | Outcome::Send);
                    let (seq, comment) = (record.packet.seq(), &record.comment);
                    assert!(
                        kept,
                        "{:?} of packet {seq} without a rule: {comment:?}",
                        record.outcome
                    );
                }
            }
        }
        features.see((encrypted, self.lost.client || self.lost.server, self.reached as u8));
    }

    fn lines(&self) -> String {
        let mut lines = String::new();
        for entry in &self.entries {
            write_line(&mut lines, entry, &LineOptions::default());
        }
        lines
    }

    /// The bytes on the wire of some packets of a direction, decrypted.
    fn wires(&self, direction: Direction, chosen: impl Fn(&Record) -> bool) -> Vec<u8> {
        let mut wires = Vec::new();
        for record in self.records() {
            if record.packet.direction() == direction && chosen(record) {
                match record.packet.content() {
                    Content::Frame(frame) => wires.extend_from_slice(frame.wire()),
                    Content::Raw(bytes, _) => wires.extend_from_slice(bytes),
                }
            }
        }
        wires
    }
}

fn side(choice: u8) -> Side {
    Side::ALL[usize::from(choice & 1)]
}

fn pipeline(file: Option<&str>) -> Pipeline {
    static SETS: LazyLock<Vec<RuleSet>> = LazyLock::new(|| {
        let parse = |file: &&str| RuleSet::parse(file, Catalog::embedded()).rules.unwrap();
        RULES.iter().map(parse).collect()
    });
    let mut pipeline = Pipeline::default();
    if let Some(place) = file.and_then(|file| RULES.iter().position(|it| *it == file)) {
        pipeline.push(Box::new(SETS[place].filter()));
    }
    pipeline
}

/// Filter files. Half of all inputs have no rules.
const RULES: [&str; 8] = [
    "[[rule]]\nwhen = 'serverbound'\ndrop = true\nevery = 2\n",
    "[[rule]]\nwhen = 'clientbound'\ndelay = '30ms'\n",
    "[[rule]]\nwhen = 'play or state.login'\ndelay = '20ms'\nreorder = true\nchance = 0.5\n",
    "[[rule]]\nwhen = 'chat or pkt.size < 20'\ncopy = 2\ncomment = 'seen'\n",
    "[[rule]]\nwhen = 'keep_alive or chat or ping_start or set_protocol'\nclose = 'enough'\nafter = '1s'\n",
    "[[rule]]\nwhen = 'play'\nreplace = { hex = '0501020304' }\nevery = 3\n",
    "[[rule]]\nwhen = 'serverbound'\nsend = [{ to = 'client', raw = '0102' }, { to = 'server', raw = 'ff', place = 'before' }]\n",
    "[[rule]]\nwhen = 'login_start'\nset = { username = '\"Alex\"' }\n[[rule]]\nwhen = 'set_protocol or legacy_server_list_ping'\nset = { serverHost = '\"x\"' }\n[[rule]]\nwhen = 'pkt.error'\nclose = 'broken'\n",
];

/// The client's secret, and the one that the proxy would choose: so the bytes on both legs do not depend on which
/// of them the server gets.
const SECRET: &[u8; 16] = b"client's secret!";

/// The server's key and the proxy's.
static KEYS: LazyLock<[RsaPrivateKey; 2]> = LazyLock::new(|| {
    [1, 2].map(|seed| RsaPrivateKey::new(&mut ChaCha20Rng::from_seed([seed; 32]), 1024).unwrap())
});

/// The server's Encryption Request, with the flag of 1.20.5 at its end.
static REQUEST: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let der = KEYS[0].to_public_key().to_public_key_der().unwrap();
    let der = der.as_bytes();
    let length = [(der.len() & 0x7f | 0x80) as u8, (der.len() >> 7) as u8];
    [&[1, 0][..], &length, der, b"\x04tokn\x01"].concat()
});

/// Encryption Responses: right, of 1.19, with a wrong token, with a short secret.
static RESPONSES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut random = ChaCha20Rng::from_seed([9; 32]);
    let key = KEYS[1].to_public_key();
    let mut seal = |plain: &[u8]| {
        let sealed = key.encrypt(&mut random, Pkcs1v15Encrypt, plain).unwrap();
        [&[0x80, 1][..], &sealed].concat()
    };
    let (secret, token) = (seal(SECRET), seal(b"ours"));
    let (short, wrong) = (seal(b"short"), seal(b"else"));
    vec![
        [&[1][..], &secret, &token].concat(),
        [&[1][..], &secret, &[1], &token].concat(),
        [&[1][..], &secret, &wrong].concat(),
        [&[1][..], &short, &token].concat(),
    ]
});

/// Writes inputs.
#[derive(Clone)]
struct Script(Vec<u8>);

impl Script {
    fn chunk(&mut self, step: u8, bytes: &[u8]) {
        let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
        self.0.push(step);
        self.0.extend(length);
        self.0.extend_from_slice(bytes);
    }

    fn say(&mut self, side: Side, body: &[u8]) {
        self.chunk(if side == Side::Client { 2 } else { 3 }, body);
    }

    fn put(&mut self, side: Side, bytes: &[u8]) {
        self.chunk(if side == Side::Client { 0 } else { 1 }, bytes);
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    // Without rules and transparent; with an account; with each file of rules.
    let mut starts =
        vec![[0x14, 0xff], [0x94, 0xff], [0x54, 0xff], [0x1c, 0xff], [0, 0xff], [2, 0xff]];
    starts.extend((0..RULES.len()).map(|rules| [0x84, rules as u8]));
    let talks = talks();
    for (place, start) in starts.iter().enumerate() {
        for (number, talk) in talks.iter().enumerate() {
            // Each conversation as it is; with the other starts every third.
            if place < 2 || (place + number) % 3 == 0 {
                seeds.push([&start[..], talk].concat());
            }
        }
    }
    seeds
}

fn talks() -> Vec<Vec<u8>> {
    let mut talks = Vec::new();
    let mut sample = Script(Vec::new());
    let mut compressed = false;
    for (state, direction, body) in super::seeds::bodies(700).into_iter().take(60) {
        sample.say(Side::from(direction), &body);
        if state == State::Login && direction == Direction::Clientbound && body[0] == 3 {
            assert!(!std::mem::replace(&mut compressed, true));
            sample.0.extend([10, 1, 0]);
        }
    }
    talks.push(sample.0);
    for version in [4, 5, 47, 340, 754, 759, 760, 763, 764, 767, 770, 777, 800, 0x4000_0013] {
        talks.extend(logins(version));
    }
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    let long = [
        &[0xfe, 0x01, 0xfa, 0x00, 0x0b][..],
        &wide("MC|PingHost"),
        &[0x00, 0x19, 78, 0x00, 0x09],
        &wide("localhost"),
        &[0, 0, 0x63, 0xdd],
    ]
    .concat();
    let kick = [&[0xff, 0, 5][..], &wide("A\u{a7}1\u{a7}2")].concat();
    for request in [&[0xfe][..], &[0xfe, 1], &long] {
        let mut ping = Script(Vec::new());
        ping.put(Side::Client, request);
        ping.0.extend([8, 1, 0]);
        ping.put(Side::Server, &kick);
        ping.0.extend([6, 1]);
        talks.push(ping.0);
    }
    let mut alpha = Script(Vec::new());
    alpha.put(Side::Client, b"\x02\0\x05Steve");
    alpha.put(Side::Server, b"\x02\0\x01-");
    alpha.put(Side::Client, b"\x01\0\0\0\x05\0\x05Steve\0\x08Password\0\0\0\0\0\0\0\0\0");
    alpha.put(Side::Server, b"\x01\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\x05\0\x04\0\0\0\x07");
    alpha.put(Side::Client, b"\x03\0\x05hello\0\x0a\x01\x00");
    alpha.put(Side::Server, b"\xff\0\x03bye");
    talks.push(alpha.0);
    talks.extend([UNFRAMED[0], UNFRAMED[1]].map(unframed));
    let mut web = Script(Vec::new());
    web.put(Side::Client, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    web.put(Side::Server, b"HTTP/1.1 400 Bad Request\r\n\r\n");
    talks.push(web.0);
    talks
}

/// The beginning of a session without frames: up to encryption, as what follows would need its key.
fn unframed(capture: &'static [u8]) -> Vec<u8> {
    let mut script = Script(Vec::new());
    let records = entries_of(capture).into_iter().filter_map(|entry| match entry {
        Entry::Packet(record) if record.outcome.went() => Some(record.packet),
        _ => None,
    });
    for packet in records.take(60) {
        let body = packet.body().unwrap();
        if body.len() < 700 {
            script.put(Side::from(packet.direction()), &body);
        }
        if body[0] == 0xfd {
            break;
        }
    }
    script.0
}

/// A status request, and a login with and without encryption and compression.
pub(super) fn logins(version: i32) -> Vec<Vec<u8>> {
    let protocol = Catalog::embedded().find(version).unwrap().protocol;
    let body = |state, side: Side, name: &str, mut fields: Vec<(&str, Value)>| {
        let packet = protocol.named(state, side.sends(), name)?;
        loop {
            match protocol.encode(packet, &Value::map(fields.clone())) {
                Ok(body) => return Some(body),
                Err(error) => {
                    let before = fields.len();
                    fields.retain(|(name, _)| *name != error.path);
                    if fields.len() == before {
                        return None;
                    }
                }
            }
        }
    };
    let handshake = |next: i32| {
        body(
            State::Handshaking,
            Side::Client,
            "set_protocol",
            vec![
                ("protocolVersion", version.into()),
                ("serverHost", "localhost".into()),
                ("serverPort", 25566.into()),
                ("nextState", next.into()),
            ],
        )
        .unwrap()
    };
    let mut status = Script(Vec::new());
    status.say(Side::Client, &handshake(1));
    status.say(Side::Client, &[0]);
    status.say(Side::Server, b"\x00\x02{}");
    status.say(Side::Client, b"\x01\0\0\0\0\0\0\0\x05");
    status.say(Side::Server, b"\x01\0\0\0\0\0\0\0\x05");
    let mut talks = vec![status.0];
    for (encrypt, compress) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut login = Script(Vec::new());
        login.say(Side::Client, &handshake(2));
        let name = vec![
            ("username", "Steve".into()),
            ("signature", Value::Absent),
            ("playerUUID", Value::Uuid(1)),
        ];
        login.say(Side::Client, &body(State::Login, Side::Client, "login_start", name).unwrap());
        if encrypt {
            login.0.extend([13, u8::from(version >= 766)]);
            login.0.extend([11, u8::from(matches!(version, 759 | 760)), 12]);
        }
        if compress && version >= 47 {
            login.say(Side::Server, &[3, 40]);
            login.0.extend([10, 0, 40]);
        }
        let success = vec![
            ("uuid", if version >= 735 { Value::Uuid(1) } else { "u".into() }),
            ("username", "Steve".into()),
            ("properties", Value::List(Vec::new())),
            ("strictErrorHandling", Value::Bool(false)),
        ];
        if let Some(success) = body(State::Login, Side::Server, "success", success) {
            login.say(Side::Server, &success);
        }
        if let Some(done) = body(State::Login, Side::Client, "login_acknowledged", Vec::new()) {
            login.say(Side::Client, &done);
            for side in [Side::Server, Side::Client] {
                let end = body(State::Configuration, side, "finish_configuration", Vec::new());
                login.say(side, &end.unwrap());
            }
        }
        for (side, name, fields) in [
            (Side::Client, "chat", vec![("message", "hello".into())]),
            (Side::Client, "chat_command", vec![("command", "me x".into())]),
            (Side::Server, "keep_alive", vec![("keepAliveId", 7.into())]),
            (Side::Client, "keep_alive", vec![("keepAliveId", 7.into())]),
            (Side::Server, "bundle_delimiter", Vec::new()),
            (Side::Server, "transfer", vec![("host", "other".into()), ("port", 25565.into())]),
            (Side::Server, "start_configuration", Vec::new()),
            (Side::Client, "configuration_acknowledged", Vec::new()),
        ] {
            if let Some(body) = body(State::Play, side, name, fields) {
                login.say(side, &body);
            }
        }
        login.say(Side::Server, &[0x7f; 300]);
        login.0.extend([6, 0]);
        talks.push(login.0);
    }
    talks
}

pub const WORDS: &[&str] =
    &["\u{2}\0\u{5}Steve", "\u{1}\0", "GET / HTTP/1.1\r\n", "\0\u{6}\u{0}", "\u{8}\u{7f}\u{7f}"];
