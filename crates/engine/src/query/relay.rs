use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;

use crate::capture::{Entry, EventKind};
use crate::filter::{Pipeline, Verdict};
use crate::link::{DelayQueue, Delivery, Emission, Recorder, Wire, datagram};
use mitmcraft_protocol::codec::Frame;
use mitmcraft_protocol::packet::{Cause, Content, Context, RawReason, Timestamp};
use mitmcraft_protocol::schema::{Catalog, Direction, State, query_magic};

/// The man in the middle of Query: many clients, told apart by their addresses, and one server.
///
/// Each client is a session of its own, with its own filters, until it has been silent for a while.
/// There are at most [`RelayOptions::clients`]: for another one, the client that has been silent
/// longest is forgotten. Of a datagram nothing is kept except what rules delay, at most 256 KiB per
/// client and direction, so a flood costs no more memory than that and what waits in the outputs
/// and entries, which their reader empties after each datagram.
#[derive(Debug)]
pub struct Relay {
    options: RelayOptions,
    clients: HashMap<SocketAddr, Client>,
    addresses: HashMap<u64, SocketAddr>,
    outputs: VecDeque<RelayOutput>,
    entries: Vec<Entry>,
}

/// Configuration of a [`Relay`].
#[derive(Debug, Clone)]
pub struct RelayOptions {
    /// The server's address.
    pub server: SocketAddr,
    /// The server as the user named it.
    pub upstream: String,
    /// The largest number of clients at the same time.
    pub clients: usize,
    /// The time that a client may be silent before its session ends.
    pub idle: Duration,
}

/// Something that a [`Relay`] wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelayOutput {
    /// Send a datagram to the server, from a socket that is this session's alone: the server tells
    /// its clients apart by their addresses too.
    ToServer(u64, Bytes),
    /// Send a datagram to a client.
    ToClient(SocketAddr, Bytes),
    /// Close the session's socket.
    Close(u64),
}

#[derive(Debug)]
struct Client {
    delivery: Delivery,
    /// The time at which the last datagram came, from either peer.
    last: Timestamp,
}

/// The way to both peers of one client's session.
struct Datagrams<'a> {
    session: u64,
    client: SocketAddr,
    outputs: &'a mut VecDeque<RelayOutput>,
}

impl Relay {
    /// Creates a relay to a server.
    #[must_use]
    pub fn new(options: RelayOptions) -> Self {
        Self {
            options,
            clients: HashMap::new(),
            addresses: HashMap::new(),
            outputs: VecDeque::new(),
            entries: Vec::new(),
        }
    }

    /// Handles a datagram of a client. For an unknown one, `open` provides the number of the new
    /// session and its filters.
    pub fn handle_client(
        &mut self,
        at: Timestamp,
        from: SocketAddr,
        datagram: Bytes,
        open: impl FnOnce() -> (u64, Pipeline),
    ) {
        if !self.clients.contains_key(&from) {
            self.make_room(at);
            let (session, pipeline) = open();
            self.open(at, from, session, pipeline);
        }
        self.relay(at, from, Direction::Serverbound, datagram);
    }

    /// Sets the server's address for sessions that begin from now on.
    pub fn set_server(&mut self, server: SocketAddr) {
        self.options.server = server;
    }

    /// Handles a datagram of the server to a session; drops it if the session has ended.
    pub fn handle_server(&mut self, at: Timestamp, session: u64, datagram: Bytes) {
        if let Some(client) = self.addresses.get(&session).copied() {
            self.relay(at, client, Direction::Clientbound, datagram);
        }
    }

    /// Handles the moment of [`poll_timeout`](Self::poll_timeout): sends what was delayed until
    /// then, and ends the sessions of silent clients.
    pub fn handle_timeout(&mut self, at: Timestamp) {
        for (address, client) in &mut self.clients {
            client.release(*address, Some(at), &mut self.outputs);
        }
        let idle = self.options.idle;
        let silent = self.clients.iter().filter(|(_, client)| at.since(client.last) >= idle);
        let silent: Vec<SocketAddr> = silent.map(|(address, _)| *address).collect();
        for address in silent {
            self.close(at, address, "silent for too long");
        }
    }

    /// Ends all sessions.
    pub fn handle_stop(&mut self, at: Timestamp, why: &Cause) {
        let all: Vec<SocketAddr> = self.clients.keys().copied().collect();
        for address in all {
            self.close(at, address, &why.to_string());
        }
    }

    /// Returns the next thing to be done.
    pub fn poll_output(&mut self) -> Option<RelayOutput> {
        self.outputs.pop_front()
    }

    /// Returns the entries recorded since the last call.
    pub fn take_entries(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout).
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let idle = self.clients.values().map(|client| client.last.plus(self.options.idle));
        let queues = self.clients.values().flat_map(|client| client.delivery.queues.values());
        idle.chain(queues.filter_map(DelayQueue::next)).min()
    }

    /// Returns the number of open sessions.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    fn make_room(&mut self, at: Timestamp) {
        if self.clients.len() < self.options.clients.max(1) {
            return;
        }
        let silent = self.clients.iter().min_by_key(|(_, client)| client.last);
        if let Some(address) = silent.map(|(address, _)| *address) {
            self.close(at, address, "made room for another client");
        }
    }

    fn open(&mut self, at: Timestamp, from: SocketAddr, session: u64, pipeline: Pipeline) {
        let mut recorder = Recorder::new(Context {
            server: Some(self.options.server),
            upstream: self.options.upstream.clone(),
            ..Context::new(session, at, from, Catalog::embedded().query())
        });
        recorder.enter(State::Status);
        recorder.event(EventKind::Open);
        recorder.take_entries(&mut self.entries);
        self.addresses.insert(session, from);
        let delivery = Delivery::new(recorder, pipeline);
        self.clients.insert(from, Client { delivery, last: at });
    }

    fn close(&mut self, at: Timestamp, address: SocketAddr, why: &str) {
        let Some(mut client) = self.clients.remove(&address) else { return };
        client.release(address, None, &mut self.outputs);
        let recorder = &mut client.delivery.recorder;
        let session = recorder.context.session;
        self.addresses.remove(&session);
        self.outputs.push_back(RelayOutput::Close(session));
        recorder.now = at;
        recorder.close_event(why.to_owned());
        recorder.take_entries(&mut self.entries);
    }

    fn relay(&mut self, at: Timestamp, address: SocketAddr, direction: Direction, bytes: Bytes) {
        let Some(client) = self.clients.get_mut(&address) else { return };
        client.last = at;
        let close = client.relay(at, address, direction, bytes, &mut self.outputs);
        client.delivery.recorder.take_entries(&mut self.entries);
        if let Some(why) = close {
            self.close(at, address, &format!("closed by a rule: {why}"));
        }
    }
}

impl Client {
    /// Judges and forwards a datagram. Returns why a rule closes the session, if one does.
    fn relay(
        &mut self,
        at: Timestamp,
        address: SocketAddr,
        direction: Direction,
        bytes: Bytes,
        outputs: &mut VecDeque<RelayOutput>,
    ) -> Option<String> {
        let delivery = &mut self.delivery;
        let recorder = &mut delivery.recorder;
        recorder.now = at;
        recorder.count_packet(direction);
        recorder.count_bytes(direction, bytes.len());
        let (magic, length) = (query_magic(direction), bytes.len());
        let content = if bytes.starts_with(magic) {
            Content::Frame(Frame::datagram(bytes, magic.len()))
        } else {
            Content::Raw(bytes, RawReason::NotMinecraft)
        };
        let packet = recorder.packet(direction, content);
        let mut wire = Datagrams { session: recorder.context.session, client: address, outputs };
        if !delivery.pipeline.wants(&packet) {
            delivery.forward(&mut wire, packet);
            return None;
        }
        let mut judgement = delivery.judge(&packet, None, None);
        let full = delivery.queues[direction].size() + length > MAX_DELAYED;
        if judgement.effects.delay.is_some() && full {
            let comment = "dropped: rules delay too much in this direction already";
            judgement.effects.notes.remark(comment);
            judgement.verdict = Verdict::Drop;
        }
        delivery.deliver(&mut wire, packet, judgement)
    }

    /// Sends everything whose delay is over at `due`; everything if `None`.
    fn release(
        &mut self,
        client: SocketAddr,
        due: Option<Timestamp>,
        outputs: &mut VecDeque<RelayOutput>,
    ) {
        let session = self.delivery.recorder.context.session;
        let mut wire = Datagrams { session, client, outputs };
        for direction in Direction::ALL {
            self.delivery.release(&mut wire, direction, due);
        }
    }
}

impl Wire for Datagrams<'_> {
    fn write(&mut self, direction: Direction, emission: Emission) -> Option<Frame> {
        let (bytes, frame) = match emission {
            Emission::Frame(frame) => (frame.wire().clone(), None),
            Emission::Bytes(bytes) => (bytes, None),
            Emission::Body(body) => {
                let frame = datagram(direction, &body);
                (frame.wire().clone(), Some(frame))
            }
        };
        self.outputs.push_back(match direction {
            Direction::Serverbound => RelayOutput::ToServer(self.session, bytes),
            Direction::Clientbound => RelayOutput::ToClient(self.client, bytes),
        });
        frame
    }
}

/// Bytes that rules may delay for a client in one direction.
const MAX_DELAYED: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::super::{Answer, FullStat, Kind, QueryServer, Request, Stat};
    use super::*;
    use crate::capture::{Event, Outcome};
    use crate::filter::{Effects, Filter, RuleSet};
    use mitmcraft_protocol::packet::{Packet, Undecoded};
    use mitmcraft_protocol::schema::Value;

    fn relay(clients: usize) -> Relay {
        let server = "127.0.0.1:25565".parse().unwrap();
        let (upstream, idle) = ("localhost:25565".to_owned(), Duration::from_secs(60));
        Relay::new(RelayOptions { server, upstream, clients, idle })
    }

    fn client(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::default().plus(Duration::from_secs(1000 + seconds))
    }

    fn none() -> (u64, Pipeline) {
        panic!("the client is known")
    }

    fn stat() -> FullStat {
        let values = vec![("hostname".into(), "A Server".into()), ("map".into(), "world".into())];
        FullStat { values, players: vec!["Notch".into()] }
    }

    /// Asks through the relay for a full stat, as a session of that number.
    fn ask(relay: &mut Relay, port: u16, session: u64, pipeline: Pipeline) -> Option<Answer> {
        let server = QueryServer::new(3);
        // The server sees the session's own socket.
        let socket = client(10_000 + session as u16);
        let exchange = |relay: &mut Relay, request: Request, pipeline: Option<Pipeline>| {
            let request = Bytes::from(request.encode().unwrap());
            relay.handle_client(at(0), client(port), request, || {
                pipeline.map_or_else(none, |pipeline| (session, pipeline))
            });
            let Some(RelayOutput::ToServer(to, datagram)) = relay.poll_output() else {
                panic!("nothing to the server")
            };
            assert_eq!(to, session);
            let answer = server.answer(at(0), socket, &datagram, &stat()).unwrap();
            relay.handle_server(at(0), session, answer.into());
            match relay.poll_output() {
                Some(RelayOutput::ToClient(to, answer)) => {
                    assert_eq!(to, client(port));
                    Some(Answer::decode(&answer).unwrap())
                }
                None => None,
                Some(other) => panic!("{other:?}"),
            }
        };
        let handshake = exchange(relay, Request::Handshake { session: 1 }, Some(pipeline));
        let Some(Answer::Handshake { token, .. }) = handshake else { panic!("no token") };
        exchange(relay, Request::Stat { kind: Kind::Full, session: 1, token }, None)
    }

    fn outcomes(entries: &[Entry]) -> Vec<String> {
        let show = |entry: &Entry| match entry {
            Entry::Event(event) => format!("{} {}", event.context.session, event.kind.name()),
            Entry::Packet(record) => {
                let packet = &record.packet;
                let name = packet.kind().map_or("?", |it| &**it.name());
                let (session, verdict) = (packet.context().session, record.outcome.name());
                format!("{session} {} {name} {verdict}", packet.direction())
            }
        };
        entries.iter().map(show).collect()
    }

    #[test]
    fn each_client_has_its_own_session_and_gets_its_own_answers() {
        let mut relay = relay(10);
        for (port, session) in [(1, 1), (2, 2)] {
            let answer = ask(&mut relay, port, session, Pipeline::default());
            assert_eq!(answer, Some(Answer::Stat { session: 1, stat: Stat::Full(stat()) }));
        }
        let seen = outcomes(&relay.take_entries());
        assert_eq!(
            seen[..5],
            [
                "1 open",
                "1 serverbound handshake pass",
                "1 clientbound handshake pass",
                "1 serverbound stat pass",
                "1 clientbound stat pass",
            ]
        );
        assert_eq!((seen.len(), relay.clients()), (10, 2));
        relay.handle_stop(at(1), &Cause::new("stopped"));
        assert_eq!(relay.take_entries().len(), 2);
    }

    /// Does to stats of the server what it is told.
    struct Stats(fn(&Packet) -> Verdict);

    impl Filter for Stats {
        fn name(&self) -> &'static str {
            "stats"
        }

        fn apply(&mut self, packet: &Packet, _effects: &mut Effects) -> Verdict {
            let is = packet.direction() == Direction::Clientbound && packet.id() == Some(0);
            if is { self.0(packet) } else { Verdict::Pass }
        }
    }

    #[test]
    fn a_rule_drops_an_answer() {
        let mut pipeline = Pipeline::default();
        pipeline.push(Box::new(Stats(|_| Verdict::Drop)));
        let mut relay = relay(10);
        assert_eq!(ask(&mut relay, 1, 1, pipeline), None);
        assert_eq!(outcomes(&relay.take_entries())[4], "1 clientbound stat drop");
    }

    #[test]
    fn a_rule_rewrites_the_list_of_players() {
        let mut pipeline = Pipeline::default();
        pipeline.push(Box::new(Stats(|packet| {
            let Ok(Value::Map(mut fields)) = packet.value() else { panic!("no fields") };
            let full = fields.iter_mut().find(|(name, _)| &**name == "full");
            let Some((_, Value::Map(full))) = full else { panic!("no full stat") };
            let players = full.iter_mut().find(|(name, _)| &**name == "players").unwrap();
            players.1 = Value::List(vec![Value::from("Herobrine")]);
            let protocol = &packet.context().protocol;
            let body = protocol.encode(packet.kind().unwrap(), &Value::Map(fields)).unwrap();
            Verdict::Replace(body.into())
        })));
        let mut relay = relay(10);
        let Some(Answer::Stat { stat: Stat::Full(full), .. }) = ask(&mut relay, 1, 1, pipeline)
        else {
            panic!("no stat")
        };
        assert_eq!(full.players, ["Herobrine"]);
        assert_eq!(full.values, stat().values);
        let seen = outcomes(&relay.take_entries());
        assert_eq!(seen[4..], ["1 clientbound stat rewrite", "1 clientbound stat send"]);
    }

    fn rules(file: &str) -> Pipeline {
        let checked = RuleSet::parse(file, Catalog::embedded());
        let set = checked.rules.unwrap_or_else(|| panic!("{:?}", checked.faults));
        let mut pipeline = Pipeline::default();
        pipeline.push(Box::new(set.filter()));
        pipeline
    }

    fn outputs(relay: &mut Relay) -> Vec<String> {
        let show = |output| match output {
            RelayOutput::ToServer(_, datagram) => format!("server {}", datagram[2]),
            RelayOutput::ToClient(_, datagram) => format!("client {}", datagram[0]),
            RelayOutput::Close(session) => format!("close {session}"),
        };
        std::iter::from_fn(|| relay.poll_output()).map(show).collect()
    }

    #[test]
    fn a_rule_delays_a_datagram_and_what_comes_behind_it() {
        let file = "[[rule]]\nwhen = 'handshake and serverbound'\ndelay = '2s'\ncopy = 1";
        let mut relay = relay(10);
        let handshake = || Bytes::from(Request::Handshake { session: 1 }.encode().unwrap());
        let stat = Request::Stat { kind: Kind::Basic, session: 1, token: 7 };
        let stat = Bytes::from(stat.encode().unwrap());
        relay.handle_client(at(0), client(1), handshake(), || (1, rules(file)));
        relay.handle_client(at(1), client(1), stat.clone(), none);
        relay.handle_server(at(1), 1, Bytes::from_static(b"\x09\0\0\0\x017\0"));
        assert_eq!(outputs(&mut relay), ["client 9"], "the other direction goes on");
        assert_eq!(relay.poll_timeout(), Some(at(2)));
        relay.handle_timeout(at(1));
        assert_eq!(outputs(&mut relay), [""; 0]);
        relay.handle_timeout(at(2));
        assert_eq!(outputs(&mut relay), ["server 9", "server 9", "server 0"]);
        assert_eq!(relay.poll_timeout(), Some(at(61)));

        relay.handle_client(at(3), client(1), handshake(), none);
        relay.handle_stop(at(3), &Cause::new("stopped"));
        assert_eq!(outputs(&mut relay), ["server 9", "server 9", "close 1"]);
    }

    #[test]
    fn a_rule_sends_datagrams_to_both_peers_and_they_are_recorded_as_the_proxys() {
        let file = "[[rule]]\nwhen = 'handshake and serverbound'\nsend = [\
             { to = 'server', raw = '0102', place = 'before' }, \
             { to = 'client', packet = 'handshake', fields = { sessionId = 1, token = '7' } }]";
        let mut relay = relay(10);
        let handshake = Bytes::from(Request::Handshake { session: 1 }.encode().unwrap());
        relay.handle_client(at(0), client(1), handshake.clone(), || (1, rules(file)));
        let answer = Answer::Handshake { session: 1, token: 7 }.encode().unwrap();
        let sent: Vec<RelayOutput> = std::iter::from_fn(|| relay.poll_output()).collect();
        assert_eq!(
            sent,
            [
                RelayOutput::ToServer(1, Bytes::from_static(&[1, 2])),
                RelayOutput::ToServer(1, handshake.clone()),
                RelayOutput::ToClient(client(1), answer.clone().into()),
            ]
        );
        let entries = relay.take_entries();
        assert_eq!(
            outcomes(&entries)[1..],
            [
                "1 serverbound ? send",
                "1 serverbound handshake pass",
                "1 clientbound handshake send"
            ]
        );
        let wires: Vec<usize> = entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Packet(record) => Some(record.packet.wire_size()),
                Entry::Event(_) => None,
            })
            .collect();
        assert_eq!(wires, [2, handshake.len(), answer.len()]);
    }

    #[test]
    fn a_rewritten_datagram_names_the_one_it_replaces_and_bytes_that_came_are_counted() {
        let mut pipeline = Pipeline::default();
        pipeline.push(Box::new(Stats(|packet| {
            Verdict::Replace([&packet.body().unwrap()[..], &[0]].concat().into())
        })));
        let mut relay = relay(10);
        let request = Request::Stat { kind: Kind::Full, session: 1, token: 7 };
        let answer = Answer::Stat { session: 1, stat: Stat::Full(stat()) };
        let request = Bytes::from(request.encode().unwrap());
        relay.handle_client(at(0), client(1), request, || (1, pipeline));
        relay.handle_server(at(0), 1, answer.encode().unwrap().into());
        relay.handle_stop(at(1), &Cause::new("stopped"));
        let entries = relay.take_entries();
        let record = |place: usize| match &entries[place] {
            Entry::Packet(record) => record,
            Entry::Event(event) => panic!("{event:?}"),
        };
        let (came, went) = (record(entries.len() - 3), record(entries.len() - 2));
        assert_eq!((came.of, went.of), (None, Some(came.packet.seq())));
        assert_eq!(went.packet.wire_size(), came.packet.wire_size() + 1);
        let Some(Entry::Event(Event { kind: EventKind::Close(summary), .. })) = entries.last()
        else {
            panic!("no close")
        };
        let sum = |direction| {
            let came = entries.iter().filter_map(Entry::record);
            came.filter(|it| it.outcome.came() && it.packet.direction() == direction)
                .map(|it| it.packet.wire_size() as u64)
                .sum::<u64>()
        };
        assert_eq!(summary.clientbound_bytes, sum(Direction::Clientbound));
        assert_eq!(summary.serverbound_bytes, sum(Direction::Serverbound));
        assert_eq!((summary.clientbound_packets, summary.serverbound_packets), (1, 1));
    }

    #[test]
    fn what_waits_for_a_client_is_bounded() {
        let file = "[[rule]]\nwhen = 'serverbound'\ndelay = '1s'";
        let mut relay = relay(10);
        for number in 0..1000 {
            let open = || (1, rules(file));
            relay.handle_client(at(number / 1000), client(1), Bytes::from(vec![9; 1024]), open);
        }
        let lost = relay.take_entries();
        let lost = lost.iter().filter(|entry| match entry {
            Entry::Packet(record) => {
                let comment = record.comment.as_deref().unwrap_or_default();
                record.outcome == Outcome::Drop && comment.contains("rules delay too much")
            }
            Entry::Event(_) => false,
        });
        assert_eq!(lost.count(), 1000 - MAX_DELAYED / 1024);
        relay.handle_timeout(at(2));
        assert_eq!(outputs(&mut relay).len(), MAX_DELAYED / 1024);
    }

    #[test]
    fn what_is_no_query_goes_through_and_is_recorded_with_the_reason() {
        let mut relay = relay(10);
        let open = || (1, Pipeline::default());
        relay.handle_client(at(0), client(1), Bytes::from_static(b"garbage"), open);
        relay.handle_client(at(0), client(1), Bytes::from_static(b"\xfe\xfd\x09\0\0"), none);
        relay.handle_client(at(0), client(1), Bytes::new(), none);
        relay.handle_server(at(0), 1, Bytes::from_static(b"\x09\0\0\0\x0112"));
        relay.handle_server(at(0), 9, Bytes::from_static(b"to nobody"));
        let outputs = std::iter::from_fn(|| relay.poll_output()).count();
        assert_eq!(outputs, 4);
        let errors: Vec<String> = relay
            .take_entries()
            .iter()
            .filter_map(|entry| match entry {
                Entry::Packet(record) => record.packet.error().map(|error| error.to_string()),
                Entry::Event(_) => None,
            })
            .collect();
        assert_eq!(errors.len(), 4);
        assert_eq!(errors[0], "not Minecraft: relayed as it came");
        assert!(errors[1].starts_with("sessionId: "), "{errors:?}");
        assert!(errors[3].starts_with("token: "), "{errors:?}");
    }

    #[test]
    fn an_answer_cut_at_any_length_goes_through_and_is_recorded_with_reason_and_offset() {
        let stats = [Stat::Full(stat()), Stat::Basic(stat().to_basic())];
        let stats = stats.map(|stat| Answer::Stat { session: 1, stat });
        for answer in stats.into_iter().chain([Answer::Handshake { session: 1, token: -77 }]) {
            let whole = answer.encode().unwrap();
            for length in 0..=whole.len() {
                let mut relay = relay(1);
                relay.handle_client(at(0), client(1), Bytes::from_static(b"?"), || {
                    (1, Pipeline::default())
                });
                relay.handle_server(at(0), 1, Bytes::copy_from_slice(&whole[..length]));
                let sent = std::iter::from_fn(|| relay.poll_output()).last();
                let cut = Bytes::copy_from_slice(&whole[..length]);
                assert_eq!(sent, Some(RelayOutput::ToClient(client(1), cut)));
                let entries = relay.take_entries();
                let Some(Entry::Packet(record)) = entries.last() else { panic!("{entries:?}") };
                match record.packet.error() {
                    Some(Undecoded::Decode(error)) => assert!(error.at <= length, "{error}"),
                    Some(other) => panic!("{other:?}"),
                    None => assert_eq!(length, whole.len(), "{answer:?}"),
                }
                assert_eq!(relay.poll_timeout(), Some(at(60)), "only silence is waited for");
                assert_eq!(Answer::decode(&whole[..length]).is_ok(), length == whole.len());
            }
        }
    }

    #[test]
    fn a_flood_of_clients_costs_no_more_than_the_table() {
        let mut relay = relay(8);
        for port in 1..1000 {
            let open = || (u64::from(port), Pipeline::default());
            relay.handle_client(at(port.into()), client(port), Bytes::from_static(b"x"), open);
            // The first client stays: it is never the most silent one.
            relay.handle_client(at(port.into()), client(1), Bytes::from_static(b"x"), none);
        }
        assert_eq!((relay.clients(), relay.addresses.len()), (8, 8));
        assert!(relay.clients.contains_key(&client(1)));
        let closed = std::iter::from_fn(|| relay.poll_output())
            .filter(|output| matches!(output, RelayOutput::Close(_)))
            .count();
        assert_eq!(closed, 999 - 8);
    }

    #[test]
    fn a_silent_client_is_forgotten() {
        let mut relay = relay(8);
        assert_eq!(relay.poll_timeout(), None);
        relay.handle_client(at(0), client(1), Bytes::new(), || (1, Pipeline::default()));
        relay.handle_client(at(5), client(2), Bytes::new(), || (2, Pipeline::default()));
        assert_eq!(relay.poll_timeout(), Some(at(60)));
        relay.handle_timeout(at(60));
        assert_eq!((relay.clients(), relay.poll_timeout()), (1, Some(at(65))));
        let entries = relay.take_entries();
        let Some(Entry::Event(Event { kind: EventKind::Close(summary), .. })) = entries.last()
        else {
            panic!("no close")
        };
        assert_eq!(
            (summary.reason.as_str(), summary.serverbound_packets),
            ("silent for too long", 1)
        );
    }
}
